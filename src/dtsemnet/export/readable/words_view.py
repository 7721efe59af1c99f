"""A model as text, table and explanation speak of it: columns, categories, missing values.

:func:`dtsemnet.tree.view_view` folds what is affine. Here one thing more is settled, so that no
hidden number stands between a reader and a sum: a missing number counts as 0, and what the
model fills in for it joins the weight of its indicator, ``w_missing + w * fill``. So
``0.8 visits + 7.2 (visits missing)`` is all there is to know about a column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Column, Encoder, Model, Tree, as_model, raw_view

__all__ = ["Feature", "View", "mapped", "view_of"]


@dataclass(frozen=True)
class Feature:
    """One number that splits and leaves weigh."""

    label: str
    """The column, ``column = category``, or ``column missing``."""
    column: int
    """Number of the column it comes from."""
    kind: Literal["number", "category", "missing"]

    @property
    def term(self) -> str:
        """How the feature stands in a sum: what holds or not stands in brackets."""
        return self.label if self.kind == "number" else f"({self.label})"


@dataclass(frozen=True)
class View:
    """The tree in raw units, with the features that it reads in words."""

    model: Model
    tree: Tree
    features: tuple[Feature, ...]
    encoder: Encoder
    """The model's encoder without what was folded into the tree."""
    remark: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the features."""
        return tuple(feature.label for feature in self.features)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the model."""
        return self.model.encoder.columns

    def members(self, column: int) -> list[int]:
        """Numbers of the features that a column gives."""
        return [j for j, feature in enumerate(self.features) if feature.column == column]

    def rows(self, X: Any) -> Floats:
        """Give the features of rows, in raw units, a missing number as 0."""
        rows = np.array(self.encoder.transform(X), dtype=np.float64, order="C")
        for j, feature in enumerate(self.features):
            if feature.kind == "missing" and self.features[j - 1].kind == "number":
                rows[rows[:, j] == 1, j - 1] = 0.0
        return rows


def view_of(tree: Any) -> View:
    """Make the view of a Tree, Model or fitted estimator.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[2.0, 1.0]], [-3.0], [[0.0], [1.0]])
    >>> view = view_of(Model(Encoder([Column("age", missing="indicator", fill=40.0)]), tree))
    >>> view.labels, view.tree.weight
    (('age', 'age missing'), array([[ 2., 81.]]))
    """
    model, raw = as_model(tree), raw_view(tree)
    features: list[Feature] = []
    columns: list[Column] = []
    folded = raw.tree
    weight, coef = folded.weight.copy(), None if folded.coef is None else folded.coef.copy()
    for number, column in enumerate(model.encoder.columns):
        place = len(features)
        missing = [Feature(f"{column.name} missing", number, "missing")] * (column.missing is not None)
        if column.categories is not None:
            known = [Feature(f"{column.name} = {value}", number, "category") for value in column.categories]
            features += [*known, *missing]
            columns.append(column)
            continue
        features += [Feature(raw.labels[place], number, "number"), *missing]
        plain = column.lower is None and column.upper is None
        columns.append(replace(column, center=0.0, scale=1.0) if plain else column)
        if missing:
            fill = column.fill if plain else mapped(column, column.fill)
            weight[:, place + 1] += weight[:, place] * fill
            if coef is not None:
                coef[:, :, place + 1] += coef[:, :, place] * fill
    shown = Tree(
        folded.topology, weight, folded.bias, folded.value, coef, folded.lower, folded.upper,
        class_names=folded.class_names,
    )  # fmt: skip
    return View(model, shown, tuple(features), Encoder(columns), raw.remark)


def mapped(column: Column, number: float) -> float:
    """Encode one number, by the operations of the encoder."""
    number = (number - column.center) * column.scale
    number = number if column.lower is None else max(number, column.lower)
    return number if column.upper is None else min(number, column.upper)
