"""The description of a model that the page reads.

A JSON object with these fields (arrays as :mod:`dtsemnet.explorer.packing` packs them):

==============  ==========================================================================================
``title``       text at the top of the page
``kind``        "classifier" or "regressor"
``columns``     for each column of the input: ``name``; ``categories`` (texts) or null; ``missing`` (whether the
                encoder has an indicator); ``fill``, ``center``, ``scale``, ``lower``, ``upper`` as in
                :class:`~dtsemnet.tree.Column`; ``low``, ``high``, ``start``, the ends of its slider and where it
                begins; ``whole``, whether all its values are whole numbers
``features``    for each feature of the tree: ``label``; ``column``; ``kind`` ("number", "category" or "missing");
                ``category``, a text or null; ``factor`` and ``shift``, which give it from raw units by
                ``x * factor + shift``; ``spread``, its standard deviation in X
``children``    the table of :class:`~dtsemnet.tree.Topology`
``weight``,     the arrays of :class:`~dtsemnet.tree.Tree`, or null where it has none
``bias``, ...
``classes``     texts, or null
``palette``     a colour for each class
``squash``      null, or ``low`` and ``high`` of the :class:`~dtsemnet.tree.TanhScale` behind the leaves
``rows``        null without X: see :mod:`dtsemnet.explorer.rows`
``leaves``      null without X: counts and metrics of all rows, see :mod:`dtsemnet.explorer.rows`
``image``       null, or ``shape`` and ``mean``, the mean picture of each leaf (null without X)
``proofs``      null, or ``status`` and ``reason`` of each leaf, and ``shares``, a text for each certified distance
==============  ==========================================================================================

The page folds affine columns into raw units for reading, and repeats the encoder and the
tree themselves for routing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.explorer.packing import pack
from dtsemnet.explorer.rows import Table
from dtsemnet.tree import Column, Identity, Model, raw_view

__all__ = ["describe"]

# Colours that people with any kind of colour vision can tell apart: Okabe and Ito's for up to seven classes, Tol's
# muted set beyond; after ten they repeat, and names tell classes apart.
_FEW = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800")
_MANY = (
    *("#4b3fb0", "#66b8e0", "#3fa294", "#1c7d3c", "#9a9a3a"),
    *("#d3b95a", "#cc6677", "#943058", "#aa4499", "#8a8a8a"),
)


def describe(
    model: Model,
    table: Table | None,
    *,
    title: str,
    max_rows: int,
    image_shape: tuple[int, int] | None,
    proofs: Any = None,
) -> dict[str, Any]:
    """Build the description of a model, with the rows of a table or without.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree, as_model
    >>> model = as_model(Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]))
    >>> found = describe(model, None, title="step", max_rows=0, image_shape=None)
    >>> found["kind"], found["children"], found["columns"][0]["name"], found["rows"]
    ('regressor', [[-1, -2]], 'x0', None)
    """
    tree, squash = model.tree, model.output
    arrays = {name: getattr(tree, name) for name in ("weight", "bias", "value", "coef", "lower", "upper")}
    return {
        "title": title,
        "kind": "classifier" if tree.is_classifier else "regressor",
        "columns": _columns(model, table),
        "features": _features(model, table),
        "children": tree.topology.children.tolist(),
        **{name: None if array is None else pack(array) for name, array in arrays.items()},
        "classes": None if tree.class_names is None else [str(name) for name in tree.class_names],
        "palette": _palette(len(tree.class_names or ())),
        "squash": None if isinstance(squash, Identity) else {"low": list(squash.low), "high": list(squash.high)},
        "rows": None if table is None else table.sample(max_rows),
        "leaves": None if table is None else table.leaves(),
        "image": None if image_shape is None else _image(image_shape, table),
        "proofs": None if proofs is None else _proofs(proofs),
    }


def _palette(n_classes: int) -> list[str]:
    colours = _FEW if n_classes <= len(_FEW) else _MANY
    return [colours[k % len(colours)] for k in range(n_classes)]


def _proofs(report: Any) -> dict[str, Any]:
    verdicts = report.leaves.verdicts
    return {
        "status": [verdict.status for verdict in verdicts],
        "reason": [None if verdict.proof is None else verdict.proof.reason for verdict in verdicts],
        "shares": [str(outcome) for outcome in report.certified],
    }


def _image(shape: tuple[int, int], table: Table | None) -> dict[str, Any]:
    # float32 is plenty for pictures that are looked at.
    mean = None if table is None else pack(table.leaf_means().astype(np.float32))
    return {"shape": list(shape), "mean": mean}


def _features(model: Model, table: Table | None) -> list[dict[str, Any]]:
    view = raw_view(model)
    spread = iter([1.0] * len(view.labels) if table is None else table.spread().tolist())
    label = iter(view.labels)
    described: list[dict[str, Any]] = []
    for number, column in enumerate(model.encoder.columns):
        known = ["number"] if column.categories is None else ["category"] * len(column.categories)
        folded = column.categories is None and column.lower is None and column.upper is None
        for k, kind in enumerate(known + ["missing"] * (column.missing is not None)):
            affine = folded and kind == "number"
            described.append(
                {
                    "label": next(label),
                    "column": number,
                    "kind": kind,
                    "category": str(column.categories[k]) if column.categories and kind == "category" else None,
                    "factor": column.scale if affine else 1.0,
                    "shift": -column.center * column.scale if affine else 0.0,
                    "spread": next(spread),
                }
            )
    return described


def _columns(model: Model, table: Table | None) -> list[dict[str, Any]]:
    view, found = raw_view(model), []
    for number, column in enumerate(model.encoder.columns):
        entry = {
            "name": column.name,
            "categories": None if column.categories is None else [str(value) for value in column.categories],
            "missing": column.missing is not None,
        }
        entry |= {field: getattr(column, field) for field in ("fill", "center", "scale", "lower", "upper")}
        if column.categories is None:
            given = None if table is None else table.known(number)
            if given is None or not len(given):
                weight = view.tree.weight[:, view.column.index(number)]
                entry |= _range_of_column(column) or _range_of_splits(column, weight, view.tree.bias)
            else:
                entry |= _range_of_values(given)
        found.append(entry)
    return found


def _range_of_values(values: Floats) -> dict[str, Any]:
    middle = float(np.sort(values)[(len(values) - 1) // 2])  # a value that occurs, not the mean of two
    low, high = float(values.min()), float(values.max())
    return {"low": low, "high": high, "start": middle, "whole": bool((values == np.floor(values)).all())}


def _range_of_column(column: Column) -> dict[str, Any] | None:
    """The range that the encoder clips to, or three scales around its centre."""
    if column.scale in (0.0, 1.0) and (column.lower is None or column.upper is None):
        return None
    scale = column.scale or 1.0
    ends = [
        column.center + (other if bound is None else bound) / scale
        for bound, other in ((column.lower, -3.0), (column.upper, 3.0))
    ]
    start = column.fill if column.missing else column.center if min(ends) <= column.center <= max(ends) else ends[0]
    return _range(min(ends), max(ends), start)


def _range_of_splits(column: Column, weight: Floats, bias: Floats) -> dict[str, Any]:
    """Where most splits cut the column while the others are 0: a guess at its size when no rows are given."""
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
