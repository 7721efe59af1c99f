"""The parameters of an estimator: which values are legal, and how they are kept in a model file.

``LEGAL`` lists the legal values by the name of the parameter, for all estimators; they
are checked when ``fit`` is called. The model file holds the model (encoder and tree);
its ``about`` block holds what only the estimator needs: class, parameters, column
names, importances, versions and a summary of training. Parameters that JSON cannot
hold are back at their defaults after loading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dtsemnet import versions
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.kernels.regression import LOSSES
from dtsemnet.training import History
from dtsemnet.tree import Identity, Model, load_document
from dtsemnet.tree.topology import MAX_DEPTH

__all__ = ["LEGAL", "Rule", "check_parameters", "describe", "number", "one_of", "or_none", "restore", "whole"]

E = TypeVar("E")
INFINITY = float("inf")


class Rule(NamedTuple):
    """Which values of a parameter are legal, as a test and in words."""

    is_legal: Callable[[Any], bool]
    words: str


def whole(low: int, high: float = INFINITY) -> Rule:
    """A whole number from ``low`` to ``high``."""

    def is_legal(value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high

    return Rule(is_legal, f"a whole number {_range(low, high)}")


def number(low: float, high: float = INFINITY, *, above: bool = False) -> Rule:
    """A finite number from ``low`` to ``high``; ``above``: larger than ``low``."""

    def is_legal(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        value = float(value)
        return (low < value if above else low <= value) and value <= high and value < INFINITY

    if above:
        return Rule(is_legal, "a positive number" if high == INFINITY else f"a number above {low}, at most {high}")
    return Rule(is_legal, f"a number {_range(low, high)}")


def one_of(*values: Any) -> Rule:
    """One of some values: strings, True, False or None."""
    *others, last = map(repr, values)

    def is_legal(value: Any) -> bool:
        return any(value is v or (isinstance(v, str) and isinstance(value, str) and value == v) for v in values)

    return Rule(is_legal, f"{', '.join(others)} or {last}" if others else last)


def or_none(rule: Rule) -> Rule:
    """What a rule allows, or None."""
    return Rule(lambda value: value is None or rule.is_legal(value), f"{rule.words}, or None")


def _range(low: float, high: float) -> str:
    return f"of at least {low}" if high == INFINITY else f"from {low} to {high}"


FLAG = one_of(True, False)
LEGAL: dict[str, Rule] = {
    "max_depth": or_none(whole(0, MAX_DEPTH)),
    "min_samples_leaf": Rule(
        lambda value: whole(1).is_legal(value) or (number(0, 1, above=True).is_legal(value) and value < 1),
        "a whole number of at least 1, or a share of the rows between 0 and 1",
    ),
    "max_leaf_nodes": or_none(whole(1)),
    "ccp_alpha": number(0),
    "effort": whole(0, 1),
    "probability": one_of("margin", "leaf"),
    "max_iter": or_none(whole(1)),
    "learning_rate": or_none(number(0, above=True)),
    "weight_decay": or_none(number(0)),
    "l1": or_none(number(0)),
    "batch_size": whole(1),
    "max_grad_norm": or_none(number(0, above=True)),
    "n_init": Rule(lambda value: value == "auto" or whole(1).is_legal(value), f"{whole(1).words}, or 'auto'"),
    "early_stopping": FLAG,
    "validation_fraction": number(0, 0.9),
    "n_iter_no_change": whole(1),
    "tol": number(0),
    "refit": FLAG,
    "missing": one_of("indicator", "error"),
    "warm_start": FLAG,
    "engine": one_of("cpu", "torch"),
    "n_jobs": or_none(
        Rule(lambda value: whole(-(10**6)).is_legal(value) and value != 0, "a whole number other than 0")
    ),
    "leaf": one_of("linear", "constant"),
    "loss": one_of(*LOSSES),
    "quantile": number(0, 1),
    "huber_delta": number(0, above=True),
    "guard": FLAG,
}


def check_parameters(estimator: Any) -> None:
    """Raise for the first parameter with an illegal value, naming it, the value and what is legal.

    Rules of the estimator's class (``_legal``) come before those of ``LEGAL``.
    """
    rules = {**LEGAL, **estimator._legal}
    for name, value in estimator.get_params(deep=False).items():
        if name in rules and not rules[name].is_legal(value):
            raise ValueError(f"{name} must be {rules[name].words}, got {value!r}.")
    if getattr(estimator, "device", None) not in (None, "cpu") and estimator.engine != "torch":
        raise ValueError(f"device={estimator.device!r} needs engine='torch'; the CPU engine knows one device.")


def describe(estimator: Any) -> dict[str, Any]:
    """The ``about`` block of a fitted estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    history: History = estimator.history_
    return {
        "estimator": type(estimator).__name__,
        "parameters": {k: v for k, v in estimator.get_params(deep=False).items() if _fits_json(v)},
        "feature_names_in": None if names is None else [str(name) for name in names],
        "class_dtype": str(estimator.classes_.dtype) if hasattr(estimator, "classes_") else None,
        "feature_importances": estimator._importance.tolist(),
        "leaf_weight": estimator._leaf_weight.tolist(),
        "cross_fit": None if estimator._cross_fit is None else estimator._cross_fit.to_dict(),
        "training": {
            "n_epochs": len(history),
            "loss": history["loss"][-1] if len(history) else None,
            "stopped": history.stopped,
        },
        "versions": versions("dtsemnet", "numpy", "scikit-learn", "python"),
    }


def restore(cls: type[E], path: str | os.PathLike[str]) -> E:
    """Make an estimator from a model file."""
    document = load_document(path)
    about = document.about or {}
    if about.get("estimator") != cls.__name__:
        raise ValueError(
            f"{os.fspath(path)} holds {about.get('estimator') or 'a model without an estimator'}, not {cls.__name__}; "
            "dtsemnet.tree.read loads any model file."
        )
    content = document.content
    model = content if isinstance(content, Model) else None
    if model is None or not isinstance(model.output, Identity):
        raise ValueError(f"{os.fspath(path)} holds no encoder, so it is no file of {cls.__name__}.save.")
    if hasattr(cls, "predict_proba") != model.tree.is_classifier:
        raise ValueError(f"{os.fspath(path)} names {cls.__name__}, but its tree is of the other kind.")
    estimator: Any = cls()
    try:
        _fill(estimator, model, about)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"about in {os.fspath(path)} is incomplete or damaged ({error!r}); the tree is not.") from None
    restored: E = estimator
    return restored


def _fill(estimator: Any, model: Model, about: dict[str, Any]) -> None:
    """Set what fitting would have set."""
    tree, columns = model.tree, model.encoder.columns
    known = estimator.get_params(deep=False)
    estimator.set_params(**{k: v for k, v in about["parameters"].items() if k in known})
    estimator.model_, estimator._scaling = model, None
    estimator.history_, estimator._n_outputs = History(), tree.n_outputs
    estimator.n_features_in_ = len(columns)
    if about["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
    if model.class_names is not None:
        name = about["class_dtype"]
        dtype = object if name.startswith(("object", "str", "StringDType")) else np.dtype(name)
        estimator.classes_ = np.array(model.class_names, dtype=dtype)
    estimator._importance = np.array(about["feature_importances"], dtype=np.float64).reshape(len(columns))
    estimator._leaf_weight = np.array(about["leaf_weight"], dtype=np.float64).reshape(tree.n_leaves)
    estimator._probability, cross_fit = model.probability, about.get("cross_fit")  # files of before have none
    estimator._cross_fit = None if cross_fit is None else CrossFit.from_dict(cross_fit, tree)


def _fits_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
