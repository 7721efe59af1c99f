"""The parameters of an estimator: which values are legal, and how they are kept in a model file.

``LEGAL`` lists the legal values by the name of the parameter, for all estimators; they
are checked when ``fit`` is called. The model file holds the model (encoder and tree);
its ``about`` block holds what only the estimator needs: class, parameters, column
names, importances, versions and a summary of training. Parameters that JSON cannot
hold are back at their defaults after loading; scalars and arrays of numpy become
numbers and lists.

A file that was received is not trusted. ``load`` reads each field of ``about`` as strictly
as the tree: lengths, types and ranges are checked, the classes are those of the tree, and
parameters are legal. Paths (``checkpoint``) are neither written nor read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dtsemnet import versions
from dtsemnet.arrays import Array, Floats
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.fit.settings import INTERACTIONS
from dtsemnet.kernels.regression import LOSSES
from dtsemnet.names import printable, shown
from dtsemnet.training import History
from dtsemnet.tree import Identity, Model, load_document
from dtsemnet.tree._validate import labels, real
from dtsemnet.tree.fields import check_json, fail, name_field, read_array, read_list, read_object
from dtsemnet.tree.topology import MAX_DEPTH

__all__ = [
    "LEGAL", "MOST_ROWS", "Rule", "check_parameters", "describe", "number", "one_of", "or_none", "restore", "whole",
]  # fmt: skip

E = TypeVar("E")
INFINITY = float("inf")
MOST_ROWS = 2**31 - 1
"""More rows or epochs than this do not fit into a batch or a lifetime."""
MOST_POINTS = 10**6
"""Larger points are no easier to add up than the numbers that they stand for."""
MOST_STARTS = 10**6
"""Each start needs a random stream and a tree in memory."""


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
        given = real(value)
        if given is None:
            return False
        return (low < given if above else low <= given) and given <= high and given < INFINITY

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
        lambda value: whole(1, MOST_ROWS).is_legal(value) or (number(0, 1, above=True).is_legal(value) and value < 1),
        "a whole number of at least 1, or a share of the rows between 0 and 1",
    ),
    "max_leaf_nodes": or_none(whole(1)),
    "ccp_alpha": number(0),
    "max_split_features": or_none(whole(1)),
    "max_leaf_features": or_none(whole(1)),
    "sparsity": one_of(None, "auto"),
    "integer_weights": Rule(
        lambda value: FLAG.is_legal(value) or whole(1, MOST_POINTS).is_legal(value),
        f"True, False or {whole(1, MOST_POINTS).words}",
    ),
    "effort": whole(0, 1),
    "probability": one_of("margin", "leaf"),
    "max_iter": or_none(whole(1)),
    "learning_rate": or_none(number(0, above=True)),
    "weight_decay": or_none(number(0)),
    "l1": or_none(number(0)),
    "batch_size": whole(1),
    "max_grad_norm": or_none(number(0, above=True)),
    "n_init": Rule(
        lambda value: (isinstance(value, str) and value == "auto") or whole(1, MOST_STARTS).is_legal(value),
        f"{whole(1, MOST_STARTS).words}, or 'auto'",
    ),
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
    "tweedie_power": Rule(
        lambda value: number(1, 2, above=True).is_legal(value) and value < 2, "a number between 1 and 2"
    ),
    "guard": FLAG,
}

NOT_KEPT = ("checkpoint", "init")
"""Parameters that no file holds: a path is of use on one machine only, and a tree to start from is not JSON."""


def _are_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(number(0).is_legal(weight) for weight in value.values())


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(column, (str, int)) for column in value)


def _is_order(value: Any) -> bool:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [None]
    return all(isinstance(sign, int) and not isinstance(sign, bool) and -1 <= sign <= 1 for sign in values)


KEPT: dict[str, Rule] = {
    "class_weight": or_none(
        Rule(lambda value: value == "balanced" or _are_weights(value), "'balanced', or weights by class")
    ),
    "categorical_features": or_none(
        Rule(lambda value: isinstance(value, str) or _are_columns(value), "a text, or a list of columns")
    ),
    "device": or_none(Rule(lambda value: isinstance(value, str), "a text")),
    "monotonic_cst": or_none(Rule(lambda value: _is_order(value), "numbers -1, 0 or 1, a list or by column")),
    "interaction_cst": or_none(
        Rule(
            lambda value: value in list(INTERACTIONS) or (isinstance(value, list) and all(map(_are_columns, value))),
            "'pairwise', 'no_interactions', or lists of columns",
        )
    ),
    "random_state": or_none(whole(0, 2**32 - 1)),
    "verbose": Rule(lambda value: isinstance(value, int), "a whole number"),
}
"""What a file may say of parameters for which ``fit`` takes more than JSON can hold."""

_NUMBER_TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|datetime64\[\w{1,2}\]")
_TEXT_TYPES = re.compile(r"[<>=|]?U\d+")


def check_parameters(estimator: Any) -> None:
    """Raise for the first parameter with an illegal value, naming it, the value and what is legal.

    Rules of the estimator's class (``_legal``) come before those of ``LEGAL``.
    """
    rules = {**LEGAL, **estimator._legal}
    for name, value in estimator.get_params(deep=False).items():
        if name in rules and not rules[name].is_legal(value):
            raise ValueError(f"{name} must be {rules[name].words}, got {shown(value)}.")
    if getattr(estimator, "device", None) not in (None, "cpu") and estimator.engine != "torch":
        raise ValueError(f"device={estimator.device!r} needs engine='torch'; the CPU engine knows one device.")


def describe(estimator: Any) -> dict[str, Any]:
    """The ``about`` block of a fitted estimator."""
    check_parameters(estimator)  # set_params may have changed them since the fit, and no file holds illegal ones
    names = getattr(estimator, "feature_names_in_", None)
    history: History = estimator.history_
    return {
        "estimator": type(estimator).__name__,
        "parameters": _describe_parameters(estimator),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "class_dtype": _describe_dtype(estimator) if hasattr(estimator, "classes_") else None,
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
    about = document.about
    if about.get("estimator") != cls.__name__:
        held = printable(about["estimator"]) if isinstance(about.get("estimator"), str) else "no estimator"
        raise ValueError(
            f"about.estimator: {os.fspath(path)} holds {held[:60]}, not {cls.__name__}; "
            "dtsemnet.tree.read loads any model file."
        )
    content = document.content
    model = content if isinstance(content, Model) else None
    if model is None or not isinstance(model.output, Identity):
        raise ValueError(f"encoder: {os.fspath(path)} holds none, so it is no file of {cls.__name__}.save.")
    takes_labels = hasattr(cls, "_restore_labels") and model.tree.n_outputs > 1
    if hasattr(cls, "predict_proba") != model.tree.is_classifier and not takes_labels:
        raise ValueError(f"about.estimator: {os.fspath(path)} names {cls.__name__}, but its tree is of the other kind.")
    estimator: Any = cls()
    try:
        _fill(estimator, model, about)
    except ValueError as error:
        raise ValueError(f"about in {os.fspath(path)} is incomplete or damaged ({error}); the tree is not.") from None
    restored: E = estimator
    return restored


def _fill(estimator: Any, model: Model, about: dict[str, Any]) -> None:
    """Set what fitting would have set."""
    for key in ("parameters", "feature_names_in", "class_dtype", "feature_importances", "leaf_weight"):
        if key not in about:
            fail(f"about.{key}", "is missing")
    tree, names = model.tree, [column.name for column in model.encoder.columns]
    _set_parameters(estimator, about["parameters"])
    estimator.model_, estimator._scaling = model, None
    estimator.history_, estimator._n_outputs = History(), tree.n_outputs
    estimator.n_features_in_ = len(names)
    if about["feature_names_in"] is not None:
        if read_list("about.feature_names_in", about["feature_names_in"], len(names)) != names:
            fail("about.feature_names_in", "must be the names of the columns of the encoder, or null")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if model.class_names is not None:
        _set_classes(estimator, model.class_names, about["class_dtype"])
    elif hasattr(estimator, "_restore_labels"):
        dtype = about["class_dtype"]
        if not isinstance(dtype, str) or not _NUMBER_TYPES.fullmatch(dtype) or dtype.startswith("datetime"):
            fail("about.class_dtype", f"must be a type of numbers, got {shown(dtype)}")
        name_field("tree.leaves", lambda: estimator._restore_labels(tree, dtype))
    estimator._importance = _read_shares("about.feature_importances", about["feature_importances"], len(names))
    estimator._leaf_weight = _read_shares("about.leaf_weight", about["leaf_weight"], tree.n_leaves)
    estimator._probability, cross_fit = model.probability, about.get("cross_fit")  # files of before have none
    if cross_fit is not None:
        estimator._cross_fit = CrossFit.from_dict(cross_fit, tree, "about.cross_fit")


def _describe_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that JSON can hold, those of numpy as Python's own."""
    kept: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        value = _plain(value)
        if name in NOT_KEPT or (name in KEPT and not KEPT[name].is_legal(value)):
            continue
        if name == "class_weight" and isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            value = [[_plain(label), weight] for label, weight in value.items()]  # keys of JSON are texts
        if _fits_json(value):
            kept[name] = value
    return kept


def _set_parameters(estimator: Any, given: Any) -> None:
    """Set parameters from a file: those that the estimator has, if they are legal."""
    known = estimator.get_params(deep=False)
    parameters = {
        name: value
        for name, value in read_object("about.parameters", given, (), given).items()
        if name in known and name not in NOT_KEPT
    }
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = _read_pairs("about.parameters.class_weight", parameters["class_weight"])
    for name, value in parameters.items():
        if name in KEPT and not KEPT[name].is_legal(value):
            fail(f"about.parameters.{name}", f"must be {KEPT[name].words}, got {shown(value)}")
    estimator.set_params(**parameters)
    name_field("about.parameters", lambda: check_parameters(estimator))


def _read_pairs(field: str, given: list[Any]) -> dict[Any, float]:
    """Read weights of classes that are not texts: pairs of a class and its weight."""
    pairs: dict[Any, float] = {}
    for i, pair in enumerate(given):
        label, weight = read_list(f"{field}[{i}]", pair, 2)
        if not isinstance(label, (str, int, float, bool)):
            fail(f"{field}[{i}]", f"must be a class and its weight, got {shown(label)}")
        pairs[label] = weight
    return pairs


def _describe_dtype(estimator: Any) -> str:
    """Name the type of the classes; "object" if no other brings them back from their names."""
    names = estimator._class_names()
    if names is None:  # labels, which are 0 or 1
        return str(estimator.classes_[0].dtype)
    found = str(estimator.classes_.dtype)
    array = _make_classes(names, found)
    return "object" if array is None else str(array.dtype)


def _set_classes(estimator: Any, names: tuple[Any, ...], dtype: Any) -> None:
    """Set the classes of an estimator: those of the tree, in ascending order, as fitting leaves them."""
    array = _make_classes(names, dtype) if isinstance(dtype, str) else None
    if array is None:
        fail("about.class_dtype", f"must be a type that holds the class names, got {shown(dtype)}")
    try:
        ascending = bool(np.array_equal(np.unique(array), array))
    except TypeError:  # texts and numbers have no order
        ascending = False
    if not ascending:
        fail("tree.class_names", "must be in ascending order in a file of an estimator")
    estimator.classes_ = array


def _make_classes(names: tuple[Any, ...], dtype: str) -> Array | None:
    """Make an array of classes from their names; None if the type is unknown or changes one of them."""
    if _TEXT_TYPES.fullmatch(dtype) and all(isinstance(name, str) for name in names):
        return labels(names)  # of the width that the names need, whatever the file says
    array = np.empty(len(names), dtype=object)
    array[:] = names
    if dtype.startswith(("object", "str", "StringDType")):
        return array
    if not _NUMBER_TYPES.fullmatch(dtype):
        return None
    try:
        array = array.astype(np.dtype(dtype))
    except (TypeError, ValueError, OverflowError):
        return None
    back = [value if isinstance(value, (str, int, float, bool)) else str(value) for value in array.tolist()]
    same = all(type(a) is type(b) and a == b for a, b in zip(back, names))
    return array if same else None


def _read_shares(field: str, given: Any, length: int) -> Floats:
    """Read numbers of at least 0."""
    shares: Floats = read_array(field, given, (length,))
    if (shares < 0).any():
        fail(field, f"must not be negative, got {shares.min()}")
    return shares


def _plain(value: Any) -> Any:
    """Turn what numpy holds into Python's own values."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(part) for part in value), key=str)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return value


def _fits_json(value: Any) -> bool:
    try:
        check_json("parameter", value)
    except ValueError:
        return False
    return True
