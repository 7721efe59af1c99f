"""The description of a model that the page reads: a JSON object.

It has these fields. Arrays are written as :mod:`dtsemnet.explorer.packing` writes them.

==============  ==========================================================================================
``title``       text at the top of the page
``kind``        "classifier" or "regressor"
``columns``     for each column of the input: ``name``; ``categories`` (texts) or null; ``missing``, whether the
                encoder has an indicator; ``fill``, ``center``, ``scale``, ``lower``, ``upper`` as in
                :class:`~dtsemnet.tree.Column`; for numbers ``low``, ``high`` and ``start``, the ends of the slider
                and its first value, and ``whole``, whether all values are whole numbers
``features``    for each feature of the tree: ``label``, ``column``, and ``spread``, its standard deviation in X; if
                they differ from those of a plain number also ``term``, ``kind``, ``category``, ``scale``,
                ``shift`` and ``fill``, as in :class:`~dtsemnet.tree.Feature`
``children``    the table of :class:`~dtsemnet.tree.Topology`
``weight``,     the arrays of :class:`~dtsemnet.tree.Tree`, or null if it has none
``bias``, ...
``classes``     texts, or null
``palette``     a colour for each class
``squash``      null, or ``low`` and ``high`` of the :class:`~dtsemnet.tree.TanhScale` behind the leaves
``rows``        null without X; ``given``, the number of rows in X; ``number``, the positions of those that are
                embedded; ``column``, their columns; ``target``, their class codes or targets, or null
``leaves``      null without X; ``count``, the rows of each leaf; for regressors ``level``, their mean prediction;
                with y ``mix``, their classes counted, and ``right``, the rows predicted right, or ``error``, the
                root mean squared error of each output, and ``target``, the mean of y. A leaf without rows has null
``image``       null, or ``shape`` and ``mean``, the mean picture of each leaf (null without X)
``proofs``      null, or ``status`` and ``reason`` of each leaf, and ``shares``, a text for each certified distance
==============  ==========================================================================================

The page folds affine columns into raw units for reading, and repeats the encoder and the tree
themselves for routing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.explorer.packing import pack
from dtsemnet.explorer.rows import GivenRows
from dtsemnet.tree import Column, Feature, Identity, Model, ReadableView, class_colors

__all__ = ["describe"]


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
    tree, squash = model.tree, model.output
    classes = None if tree.class_names is None else [str(name) for name in tree.class_names]
    spread = [1.0] * tree.n_features if rows is None else rows.spread.tolist()
    arrays = {name: getattr(tree, name) for name in ("weight", "bias", "value", "coef", "lower", "upper")}
    return {
        "title": title,
        "kind": "classifier" if tree.is_classifier else "regressor",
        "columns": _columns(model, rows),
        "features": [_feature(feature, width) for feature, width in zip(model.encoder.features, spread)],
        "children": tree.topology.children.tolist(),
        **{name: None if array is None else pack(array) for name, array in arrays.items()},
        "classes": classes,
        "palette": class_colors(len(classes or ())),
        "squash": None if isinstance(squash, Identity) else {"low": list(squash.low), "high": list(squash.high)},
        "rows": None if rows is None else rows.sample(max_rows),
        "leaves": None if rows is None else rows.leaves(),
        "image": None if image_shape is None else _image(image_shape, rows),
        "proofs": None if proofs is None else _proofs(proofs),
    }


def _proofs(report: Any) -> dict[str, Any]:
    verdicts = report.leaves.verdicts
    return {
        "status": [verdict.status for verdict in verdicts],
        "reason": [None if verdict.proof is None else verdict.proof.reason for verdict in verdicts],
        "shares": [str(outcome) for outcome in report.certified],
    }


def _image(shape: tuple[int, int], rows: GivenRows | None) -> dict[str, Any]:
    # float32 is enough for pictures.
    mean = None if rows is None else pack(rows.leaf_means().astype(np.float32))
    return {"shape": list(shape), "mean": mean}


def _feature(feature: Feature, spread: float) -> dict[str, Any]:
    """Describe a feature without the fields that most features share, since wide tables have many features."""
    category = None if feature.category is None else str(feature.category)
    default = {"term": feature.label, "kind": "number", "category": None, "scale": 1, "shift": 0, "fill": None}
    entry = feature.to_dict() | {"category": category, "spread": spread}
    return {name: value for name, value in entry.items() if name not in default or value != default[name]}


def _columns(model: Model, rows: GivenRows | None) -> list[dict[str, Any]]:
    view, described = ReadableView.of(model).filled, []
    for index, column in enumerate(model.encoder.columns):
        entry: dict[str, Any] = {
            "name": column.name,
            "categories": None if column.categories is None else [str(category) for category in column.categories],
            "missing": column.missing is not None,
        }
        entry |= {field: getattr(column, field) for field in ("fill", "center", "scale", "lower", "upper")}
        if column.categories is None:
            values = np.empty(0) if rows is None else rows.known(index)
            weight = view.weight[:, model.encoder.features_of_column[index].start]
            # The slider spans the rows if there are any; else what the encoder, or else the splits, let one guess.
            entry |= (
                _range_of_values(values)
                if len(values)
                else _range_of_column(column) or _range_of_splits(column, weight, view.bias)
            )
        described.append(entry)
    return described


def _range_of_values(values: Floats) -> dict[str, Any]:
    median = float(np.sort(values)[(len(values) - 1) // 2])  # a value that occurs, not the mean of two
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "start": median, "whole": bool((values == np.floor(values)).all())}


def _range_of_column(column: Column) -> dict[str, Any] | None:
    """The range that the encoder clips to, or three scales around its centre."""
    if column.scale in (0.0, 1.0) and (column.lower is None or column.upper is None):
        return None
    scale = column.scale or 1.0
    ends = [
        column.center + (default if bound is None else bound) / scale
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
