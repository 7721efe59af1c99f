"""The description of a model that the page reads: a JSON object.

It has these fields. Arrays are written by :func:`pack`.

==============  ==========================================================================================
``title``       text at the top of the page
``kind``        "classifier" or "regressor"
``columns``     for each column of the input: ``name``; ``categories`` (texts) or null; ``missing``, ``fill``,
                ``center``, ``scale``, ``lower``, ``upper`` as in :class:`~dtsemnet.tree.Column`, but a fill that is a
                category by its position; for numbers ``low``, ``high`` and ``start``, the ends of the slider
                and its first value, and ``whole``, whether all values are whole numbers
``features``    for each feature of the tree: ``label``, ``column``, and ``spread``, its standard deviation in X; if
                they differ from those of a plain number also ``term``, ``kind``, ``category``, ``scale``,
                ``shift``, ``fill`` and ``in_steps``, as in :class:`~dtsemnet.tree.Feature`
``children``    the table of :class:`~dtsemnet.tree.Topology`
``weight``,     the arrays of :class:`~dtsemnet.tree.Tree`, or null if it has none
``bias``, ...
``classes``     texts, or null
``palette``     a colour for each class
``probability`` null if probabilities are the shares of the leaf; else ``rate`` and ``log``, the numbers of
                :class:`~dtsemnet.tree.MarginProbability` and its ``leaf_logs``
``squash``      null, or ``low`` and ``high`` of the :class:`~dtsemnet.tree.TanhScale` behind the leaves
``rows``        null without X; ``given``, the number of rows in X; ``number``, the positions of those that are
                embedded; ``column``, their columns; ``target``, their class codes or targets, or null
``leaves``      null without X; ``count``, the rows of each leaf; ``are``, what the rows are to the tree, if that is
                known; for regressors ``level``, their mean prediction;
                with y ``mix``, their classes counted, and ``right``, the rows predicted right, or ``error``, the
                root mean squared error of each output, and ``target``, the mean of y. A leaf without rows has null
``image``       null, or ``shape`` and ``mean``, the mean picture of each leaf (null without X)
``reading``     ``splits``, ``leaves``, ``longest`` and ``distinct``: the cost of :class:`~dtsemnet.tree.ReadingCost`
``path``        only in a page of several trees: see :mod:`dtsemnet.explorer.tree_path`
``proofs``      null, or ``status`` and ``reason`` of each leaf, and ``shares``, a text for each certified distance
==============  ==========================================================================================

The page folds affine columns into raw units for reading, and repeats the encoder and the tree
themselves for routing. It knows a row as one number per column: the number itself, the position
of its category, -1 for a category that the encoder does not know, NaN for a missing value. So it
holds what the encoder reads, and nothing else.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Column, Feature, Identity, LeafSurvey, Model, ReadableView, ReadingCost, class_colors
from dtsemnet.tree.encoder import is_missing

__all__ = ["GivenRows", "describe", "pack"]

_SPARSE = 0.25  # share of non-zeros below which positions and numbers are shorter than all numbers


def describe(
    model: Model,
    rows: GivenRows | None,
    *,
    title: str,
    max_rows: int,
    image_shape: tuple[int, int] | None,
    proofs: Any = None,
) -> dict[str, Any]:
    """Describe a model, with rows or without.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> model = Model.of(Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]))
    >>> description = describe(model, None, title="step", max_rows=0, image_shape=None)
    >>> description["kind"], description["children"], description["columns"][0]["name"], description["rows"]
    ('regressor', [[-1, -2]], 'x0', None)
    """
    tree, squash, probability = model.tree, model.output, model.probability
    classes = None if tree.class_names is None else [str(name) for name in tree.class_names]
    spread = [1.0] * tree.n_features if rows is None else rows.spread.tolist()
    cost = ReadingCost.of(model)
    arrays = {name: getattr(tree, name) for name in ("weight", "bias", "value", "coef", "lower", "upper")}
    return {
        "title": title,
        "kind": "classifier" if tree.is_classifier else "regressor",
        "columns": _columns(model, rows),
        "features": [_feature(feature, width) for feature, width in zip(ReadableView.of(model).features, spread)],
        "children": tree.topology.children.tolist(),
        **{name: None if array is None else pack(array) for name, array in arrays.items()},
        "classes": classes,
        "palette": class_colors(len(classes or ())),
        "probability": probability and {"rate": probability.rate, "log": pack(probability.leaf_logs(tree))},
        "squash": None if isinstance(squash, Identity) else {"low": list(squash.low), "high": list(squash.high)},
        "rows": None if rows is None else rows.sample(max_rows),
        "leaves": None if rows is None else rows.leaves(),
        "image": None if image_shape is None else _image(image_shape, rows),
        "proofs": None if proofs is None else _proofs(proofs),
        "reading": {
            "splits": sum(cost.columns_of_splits),
            "leaves": sum(cost.columns_of_leaves),
            "longest": cost.longest_path,
            "distinct": cost.n_distinct,
        },
    }


class GivenRows:
    """The rows given to a page, and their labels or targets, with a survey of the leaves that they reach.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> model = Model.of(Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]))
    >>> GivenRows(model, [[1.0], [3.0], [4.0]], [10.0, 20.0, 22.0]).leaves()
    {'count': [1, 2], 'level': [[10.0], [20.0]], 'error': [[0.0], [1.4142135623730951]], 'target': [[10.0], [21.0]]}
    """

    def __init__(self, model: Model, X: Any, y: Any = None, rows_are: str = "") -> None:
        self.model, self.rows_are = model, rows_are
        self.survey = LeafSurvey.of(model, X, y)
        if not self.survey.n_rows:
            raise ValueError("X must hold at least one row, got none; leave X out for a page without rows.")
        self.column = _read_columns(model, X)
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = model.transform(X).std(axis=0, dtype=np.float64)
        self.spread = np.where(np.isfinite(deviation), deviation, 1.0)

    def sample(self, max_rows: int) -> dict[str, Any]:
        """Choose the rows to embed, evenly spaced if there are more than ``max_rows``."""
        n_rows, target = self.survey.n_rows, self.survey.target
        index = np.unique(np.linspace(0, n_rows - 1, min(max_rows, n_rows)).astype(np.int64))
        return {
            "given": n_rows,
            "number": index.tolist(),
            "column": pack(self.column[index]),
            "target": None if target is None else pack(target[index]),
        }

    def leaves(self) -> dict[str, Any]:
        """Describe the leaves by all rows: counts, and the metrics that y allows."""
        survey = self.survey
        described: dict[str, Any] = {"count": survey.count.tolist()}
        if self.rows_are:
            described["are"] = self.rows_are
        if survey.class_count is not None and survey.n_correct is not None:
            described |= {"mix": survey.class_count.tolist(), "right": survey.n_correct.tolist()}
        if survey.mean_prediction is not None:
            described["level"] = _finite_rows(survey.mean_prediction)
        if survey.squared_error is not None and survey.mean_target is not None:
            described["error"] = _finite_rows(np.sqrt(survey.squared_error))
            described["target"] = _finite_rows(survey.mean_target)
        return described


def pack(array: ArrayLike) -> dict[str, Any]:
    """Write an array of float64 as a JSON object: exact, small, and quick to read.

    The numbers are written as bytes in base64, in the smallest type that holds all of them exactly (little-endian).
    If most of them are zeros, as in axis-aligned trees, only the others are written, with their positions. Negative
    zeros and NaN are kept.

    Returns
    -------
    dict
        ``shape``; ``type`` ("u1", "f4" or "f8"); ``data``, the numbers in base64. A sparse array also has ``place``,
        the flat positions of the numbers (uint32 in base64); all other numbers are 0.

    Examples
    --------
    >>> pack([[1.0, 255.0]])
    {'shape': [1, 2], 'type': 'u1', 'data': 'Af8='}
    >>> pack(np.eye(1, 8))["place"]
    'AAAAAA=='
    """
    numbers = np.asarray(array, dtype=np.float64)
    packed: dict[str, Any] = {"shape": list(numbers.shape)}
    flat = numbers.ravel()
    place = np.flatnonzero(flat.view(np.uint64))  # by bits, since -0.0 must be kept
    if len(place) < _SPARSE * flat.size:
        packed["place"] = _base64(place.astype("<u4"))
        flat = flat[place]
    kind = _smallest_type(flat)
    return packed | {"type": kind, "data": _base64(flat.astype("<" + kind))}


def _proofs(report: Any) -> dict[str, Any]:
    verdicts = report.leaves.verdicts
    return {
        "status": [verdict.status for verdict in verdicts],
        "reason": [None if verdict.proof is None else verdict.proof.reason for verdict in verdicts],
        "shares": [str(outcome) for outcome in report.certified],
    }


def _image(shape: tuple[int, int], rows: GivenRows | None) -> dict[str, Any]:
    if rows is None:
        return {"shape": list(shape), "mean": None}
    mean = np.where(rows.survey.count[:, None] > 0, rows.survey.mean(rows.column), 0.0)
    return {"shape": list(shape), "mean": pack(mean.astype(np.float32))}  # precise enough for pictures


def _feature(feature: Feature, spread: float) -> dict[str, Any]:
    """Describe a feature without the fields that most features share, since wide tables have many features."""
    category = None if feature.category is None else str(feature.category)
    default: dict[str, Any] = {"term": feature.label, "kind": "number", "category": None}
    default |= {"scale": 1, "shift": 0, "fill": None, "in_steps": False}
    entry = feature.to_dict() | {"category": category, "spread": spread}
    return {name: value for name, value in entry.items() if name not in default or value != default[name]}


def _columns(model: Model, rows: GivenRows | None) -> list[dict[str, Any]]:
    view, described = ReadableView.of(model).filled, []
    for index, column in enumerate(model.encoder.columns):
        entry: dict[str, Any] = {
            "name": column.name,
            "categories": None if column.categories is None else [str(category) for category in column.categories],
            "missing": column.missing,
        }
        entry |= {field: getattr(column, field) for field in ("fill", "center", "scale", "lower", "upper")}
        if column.categories is not None and column.fills_missing:
            entry["fill"] = column.fill_code
        if column.categories is None:
            values = np.empty(0) if rows is None else rows.column[:, index].astype(np.float64)
            weight = view.weight[:, model.encoder.features_of_column[index].start]
            # The slider spans the rows if there are any; else what the encoder, or else the splits, let one guess.
            entry |= _range_of_values(values) or _range_of_column(column) or _range_of_splits(column, weight, view.bias)
        described.append(entry)
    return described


def _range_of_values(values: Floats) -> dict[str, Any] | None:
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    median = float(np.sort(values)[(len(values) - 1) // 2])  # a value that occurs, not the mean of two
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "start": median, "whole": bool((values == np.floor(values)).all())}


def _range_of_column(column: Column) -> dict[str, Any] | None:
    """The range that the encoder clips to, or three scales around its centre, or around its fill if it has steps."""
    if column.scale in (0.0, 1.0) and (column.lower is None or column.upper is None):
        return None
    scale = column.scale or 1.0
    middle = column.fill if column.missing and column.step is not None else column.center
    ends = [
        middle + default / scale if bound is None else column.center + bound / scale
        for bound, default in ((column.lower, -3.0), (column.upper, 3.0))
    ]
    start = column.fill if column.missing else column.center if min(ends) <= column.center <= max(ends) else ends[0]
    return _range(min(ends), max(ends), start)


def _range_of_splits(column: Column, weight: Floats, bias: Floats) -> dict[str, Any]:
    """Where most splits cut the column while the others are 0: a guess at its size if no rows are given."""
    used = weight != 0
    with np.errstate(over="ignore"):
        cuts = -bias[used] / weight[used]
    cuts = cuts[np.isfinite(cuts)]
    low, high = (float(end) for end in np.quantile(cuts, [0.1, 0.9], method="nearest")) if len(cuts) else (0.0, 0.0)
    low, high = min(0.0, 2 * low), max(0.0, 2 * high)
    return _range(*((low, high) if low < high else (-1.0, 1.0)), column.fill)


def _range(low: float, high: float, start: float) -> dict[str, Any]:
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        low, high = -1.0, 1.0
    return {"low": low, "high": high, "start": start, "whole": False}


def _finite_rows(array: Floats) -> list[list[float] | None]:
    """Write an array for JSON: one list per leaf, None for a leaf without rows or with a sum that overflowed."""
    return [row.tolist() if np.isfinite(row).all() else None for row in array]


def _read_columns(model: Model, X: Any) -> Array:
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and model.encoder.is_numeric:
        return X  # numbers already: their type is kept, so that pixels travel as bytes
    given = model.encoder.read_columns(X)
    return np.stack([_read_column(column, values) for column, values in zip(model.encoder.columns, given)], axis=1)


def _read_column(column: Column, values: Array) -> Floats:
    missing = is_missing(values)
    numbers = np.full(len(values), np.nan)
    if column.categories is None:
        numbers[~missing] = values[~missing].astype(np.float64)
        return numbers
    code = {category: k for k, category in enumerate(column.categories)}
    numbers[~missing] = [code.get(value, -1) for value in values[~missing].tolist()]
    # If the encoder does nothing for missing categories, one is what an unknown category is: all zeros.
    return numbers if column.missing is not None else np.where(missing, -1.0, numbers)


def _smallest_type(flat: Floats) -> str:
    for kind in ("u1", "f4"):
        with np.errstate(over="ignore", invalid="ignore"):
            back = flat.astype(kind).astype(np.float64)
        if np.array_equal(back.view(np.uint64), flat.view(np.uint64)):
            return kind
    return "f8"


def _base64(array: Array) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
