"""Legal values of the parameters, told in one table, checked when ``fit`` is called."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from dtsemnet.tree.topology import MAX_DEPTH

__all__ = ["check_parameters"]


def _whole(low: int, high: float = float("inf")) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high


def _number(low: float, high: float = float("inf"), *, open_low: bool = False) -> Callable[[Any], bool]:
    def legal(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        number = float(value)
        return (low < number if open_low else low <= number) and number <= high and number < float("inf")

    return legal


def _or(values: tuple[Any, ...], legal: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(value is v or (isinstance(v, str) and value == v) for v in values) or legal(value)


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return _or(values, lambda value: False)


def _nothing_or(legal: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return _or((None,), legal)


LEGAL: dict[str, tuple[Callable[[Any], bool], str]] = {
    "max_depth": (_whole(0, MAX_DEPTH), f"a whole number from 0 to {MAX_DEPTH}"),
    "max_iter": (_nothing_or(_whole(1)), "a whole number of at least 1, or None"),
    "learning_rate": (_nothing_or(_number(0, open_low=True)), "a positive number, or None"),
    "weight_decay": (_nothing_or(_number(0)), "a number of at least 0, or None"),
    "l1": (_nothing_or(_number(0)), "a number of at least 0, or None"),
    "batch_size": (_whole(1), "a whole number of at least 1"),
    "max_grad_norm": (_nothing_or(_number(0, open_low=True)), "a positive number, or None"),
    "n_init": (_or(("auto",), _whole(1)), "a whole number of at least 1, or 'auto'"),
    "early_stopping": (_one_of(True, False), "True or False"),
    "validation_fraction": (_number(0, 0.9), "a number from 0 to 0.9"),
    "n_iter_no_change": (_whole(1), "a whole number of at least 1"),
    "tol": (_number(0), "a number of at least 0"),
    "refit": (_one_of(True, False), "True or False"),
    "missing": (_one_of("indicator", "error"), "'indicator' or 'error'"),
    "warm_start": (_one_of(True, False), "True or False"),
    "engine": (_one_of("cpu", "torch"), "'cpu' or 'torch'"),
    "n_jobs": (
        _nothing_or(lambda value: _whole(-(10**6))(value) and value != 0),
        "a whole number other than 0, or None",
    ),
    "leaf": (_one_of("linear", "constant"), "'linear' or 'constant'"),
    "loss": (
        _one_of("squared_error", "absolute_error", "huber", "quantile"),
        "'squared_error', 'absolute_error', 'huber' or 'quantile'",
    ),
    "quantile": (_number(0, 1), "a number from 0 to 1"),
    "huber_delta": (_number(0, open_low=True), "a positive number"),
    "guard": (_one_of(True, False), "True or False"),
}


def check_parameters(estimator: Any) -> None:
    """Raise for the first parameter with an illegal value, naming it, the value and what is legal."""
    for name, value in estimator.get_params(deep=False).items():
        legal, words = LEGAL.get(name, (lambda value: True, ""))
        if not legal(value):
            raise ValueError(f"{name} must be {words}, got {value!r}.")
    training = getattr(estimator, "training", None)
    if training is not None and training not in estimator._TRAININGS:
        raise ValueError(f"training must be one of {', '.join(map(repr, estimator._TRAININGS))}, got {training!r}.")
    if getattr(estimator, "device", None) not in (None, "cpu") and estimator.engine != "torch":
        raise ValueError(f"device={estimator.device!r} needs engine='torch'; the CPU engine knows one device.")
