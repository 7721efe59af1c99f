"""Columns of a table, and the features that they give.

A :class:`Column` says how the values of one column become numbers; a :class:`Feature` is one of these
numbers, with the column that it comes from and the words for it. :mod:`dtsemnet.tree.encoder` puts
columns together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.names import printable, shown
from dtsemnet.tree._validate import Scalar, real, scalars

__all__ = ["Column", "Feature", "FeatureKind", "map_numbers"]

FeatureKind = Literal["number", "category", "missing"]


@dataclass(frozen=True)
class Column:
    """One column of the input.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : sequence of str, int, float or bool, optional
        Makes the column categorical: one 0/1 feature per category, matched by equality.
    missing : {"indicator", "fill"}, optional
        What is done with missing values. "indicator" adds a feature that is 1 if the value is missing. "fill" only
        replaces it: that is for values that training did not have. By default a missing number is an error, and a
        missing category gives zeros.
    fill : float or one of the categories, default=0.0
        Replaces missing numbers, before the affine map; with ``missing="fill"`` also missing categories.
    center, scale : float, default=0.0, 1.0
        The affine map ``(x - center) * scale``.
    lower, upper : float, optional
        Bounds that the mapped number is clipped to.

    Examples
    --------
    >>> Column("colour", categories=["red", "blue"]).feature_names
    ('colour=red', 'colour=blue')
    >>> Column("age", missing="indicator", fill=40.0).feature_names
    ('age', 'age missing')
    >>> Column("age", missing="fill", fill=40.0).feature_names
    ('age',)
    """

    name: str
    categories: tuple[Scalar, ...] | None = None
    missing: str | None = None
    fill: Any = 0.0
    center: float = 0.0
    scale: float = 1.0
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        scalars("name", [self.name])
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {shown(self.name)}; convert it by str.")
        if self.missing not in (None, "indicator", "fill"):
            raise ValueError(
                f"missing must be None, 'indicator' or 'fill', got {shown(self.missing)} in column {shown(self.name)}."
            )
        fills_category = self.fills_missing and self.categories is not None
        numbers = ("center", "scale", "lower", "upper")
        for field in numbers if fills_category else ("fill", *numbers):
            given = getattr(self, field)
            if given is None and field in ("lower", "upper"):
                continue
            if isinstance(given, bool) or not isinstance(given, Real):
                raise TypeError(f"{field} must be a number, got {shown(given)} in column {shown(self.name)}.")
            number = real(given)
            if number is None or not math.isfinite(number):
                raise ValueError(f"{field} must be finite, got {shown(given)} in column {shown(self.name)}.")
            object.__setattr__(self, field, number)
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError(
                f"lower must not exceed upper, got {self.lower} > {self.upper} in column {shown(self.name)}."
            )
        if self.categories is not None:
            object.__setattr__(self, "categories", scalars("categories", self.categories))
            if (self.center, self.scale, self.lower, self.upper) != (0.0, 1.0, None, None):
                raise ValueError(f"column {shown(self.name)} has categories, so it takes no center, scale or bounds.")
            if fills_category:
                object.__setattr__(self, "fill", self.categories[self.fill_code])
            elif self.fill != 0.0:
                raise ValueError(
                    f"column {shown(self.name)} has categories, so it takes a fill only with missing='fill'."
                )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, as trees and model files store them; readers see :attr:`Feature.label` instead."""
        names = [self.name] if self.categories is None else [f"{self.name}={value}" for value in self.categories]
        return tuple(names + [f"{self.name} missing"] * self.has_indicator)

    @property
    def has_indicator(self) -> bool:
        """Whether the column gives a feature that is 1 if the value is missing."""
        return self.missing == "indicator"

    @property
    def fills_missing(self) -> bool:
        """Whether the column reads a missing value as its fill, and nothing else tells the two apart."""
        return self.missing == "fill"

    @property
    def fill_code(self) -> int:
        """Position of the fill among the categories."""
        categories = list(self.categories or ())
        if self.fill not in categories:
            raise ValueError(
                f"fill must be one of the categories of column {shown(self.name)}, "
                f"such as [{', '.join(map(shown, categories[:3]))}], got {shown(self.fill)}."
            )
        return categories.index(self.fill)

    @property
    def is_identity(self) -> bool:
        """Whether the column passes its numbers on unchanged; it may fill missing ones."""
        return self.is_affine and self.center == 0.0 and self.scale == 1.0

    @property
    def is_affine(self) -> bool:
        """Whether the column gives one feature, by an affine map: not clipped, with no indicator beside it."""
        return self.categories is None and not self.has_indicator and not self.is_clipped

    @property
    def is_clipped(self) -> bool:
        """Whether the mapped number is clipped to a bound."""
        return self.lower is not None or self.upper is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds that the mapped number is clipped to, infinite if there are none."""
        return -np.inf if self.lower is None else self.lower, np.inf if self.upper is None else self.upper

    @property
    def step(self) -> float | None:
        """What one unit of the mapped number stands for, if that is 1, 2 or 5 times a power of ten; else None.

        Examples
        --------
        >>> Column("age", scale=0.1).step, Column("age", scale=0.3).step
        (10.0, None)
        """
        if self.categories is not None or self.is_clipped or not 0 < self.scale < math.inf:
            return None
        step = float(f"{1 / self.scale:.0e}")
        return step if f"{step:.0e}"[0] in "125" and 1 / step == self.scale else None

    def unmap(self, feature: float) -> float:
        """Give the number that is encoded so, to rounding."""
        return feature / self.scale + self.center

    def map(self, number: float) -> float:
        """Encode one number.

        Examples
        --------
        >>> Column("age", center=40.0, scale=0.1, upper=2.0).map(70.0)
        2.0
        """
        if self.is_identity:
            return float(number)
        numbers = np.array([number], dtype=np.float64)
        map_numbers(numbers, self.center, self.scale, *self.bounds)
        return float(numbers[0])


@dataclass(frozen=True)
class Feature:
    """One number that a tree reads, and where it comes from.

    Examples
    --------
    >>> from dtsemnet.tree import Encoder
    >>> encoder = Encoder([Column("age", missing="indicator"), Column("colour", categories=["red", "blue"])])
    >>> [feature.label for feature in encoder.features]
    ['age', 'age missing', 'colour = red', 'colour = blue']
    >>> [(feature.index, feature.kind, feature.column_index) for feature in encoder.features][:3]
    [(0, 'number', 0), (1, 'missing', 0), (2, 'category', 1)]
    """

    index: int
    """Position among the features."""
    column: Column
    column_index: int
    """Position of the column in the input."""
    kind: FeatureKind
    category: Scalar | None = None
    """The category for which the feature is 1."""
    in_steps: bool = False
    """Whether a number is read in steps of its column, as the tree does, and not in the units of the column."""

    @property
    def label(self) -> str:
        """The feature in words, as every readable view writes it.

        A number is called as its column, since views fold the affine map into the weights. A clipped number cannot be
        folded, so its label shows the map. Control characters are escaped (:mod:`dtsemnet.names`).
        """
        name = printable(self.column.name)
        if self.kind == "category":
            return f"{name} = {printable(self.category)}"
        if self.kind == "missing":
            return f"{name} missing"
        if self.in_steps:
            return _label_in_steps(self.column)
        return _clipped_label(self.column) if self.column.is_clipped else name

    @property
    def term(self) -> str:
        """The label as a term of a sum: in brackets if the feature is 0 or 1, or is counted in steps."""
        is_name = self.kind == "number" and (not self.in_steps or self.label == printable(self.column.name))
        return self.label if is_name or self.label.startswith("(") else f"({self.label})"

    @property
    def scale(self) -> float:
        """Factor of the affine map that views fold into the weights; 1 if there is none."""
        return self.column.scale if self._is_folded else 1.0

    @property
    def shift(self) -> float:
        """Constant of the affine map that views fold into the biases: the feature is ``scale * x + shift``."""
        return -self.column.center * self.column.scale if self._is_folded else 0.0

    @property
    def fill(self) -> float | None:
        """For the indicator of a missing number: what the number counts as, in the units of its label; else None."""
        if self.kind != "missing" or self.column.categories is not None:
            return None
        return self.column.map(self.column.fill) if self.column.is_clipped or self.in_steps else self.column.fill

    @property
    def _is_folded(self) -> bool:
        """Whether views fold the affine map into weights and biases."""
        return self.kind == "number" and not self.column.is_clipped and not self.in_steps

    def to_dict(self) -> dict[str, Any]:
        """Describe the feature in plain JSON.

        Examples
        --------
        >>> from dtsemnet.tree import Encoder
        >>> described = Encoder([Column("colour", categories=["red"])]).features[0].to_dict()
        >>> described["label"], described["kind"], described["column"], described["category"]
        ('colour = red', 'category', 0, 'red')
        """
        described: dict[str, Any] = {name: getattr(self, name) for name in ("label", "term", "kind")}
        described |= {"column": self.column_index, "category": self.category}
        return described | {name: getattr(self, name) for name in ("scale", "shift", "fill", "in_steps")}


def map_numbers(
    numbers: Floats, center: Floats | float, scale: Floats | float, lower: Floats | float, upper: Floats | float
) -> None:
    """Apply the affine map and the bounds, in place. No other code does."""
    with np.errstate(over="ignore"):  # what is clipped may overflow before; what is not is refused by the tree
        numbers -= center
        numbers *= scale
    np.maximum(numbers, lower, out=numbers)
    np.minimum(numbers, upper, out=numbers)


def _label_in_steps(column: Column) -> str:
    inner = printable(column.name)
    if column.center != 0:
        inner = f"({inner} {'-' if column.center > 0 else '+'} {abs(column.center):g})"
    return inner if column.scale == 1 else f"{inner} / {column.step:g}"


def _clipped_label(column: Column) -> str:
    inner = printable(column.name)
    if column.center != 0:
        inner = f"({inner} {'-' if column.center > 0 else '+'} {abs(column.center):g})"
    if column.scale != 1:
        inner = f"{inner} * {column.scale:g}"
    return "clip({}, {:g}, {:g})".format(inner, *column.bounds)
