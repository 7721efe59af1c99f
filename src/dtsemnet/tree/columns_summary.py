"""What became of the columns of a table: one line for each, read off the encoder of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dtsemnet.names import printable
from dtsemnet.tree.columns import Column
from dtsemnet.tree.encoder import Encoder

__all__ = ["ColumnSummary", "ColumnsSummary"]

_SHOWN = 6  # categories


@dataclass(frozen=True)
class ColumnSummary:
    """How a model reads one column."""

    name: str
    read_as: str
    """``"number"``, or the number of categories."""
    missing: str
    """What is done with a missing value."""
    features: tuple[str, ...]
    """The numbers that the tree reads, in words."""


class ColumnsSummary(tuple[ColumnSummary, ...]):
    """One :class:`ColumnSummary` per column; ``print`` shows them as a table.

    Examples
    --------
    >>> encoder = Encoder([Column("age", missing="fill", fill=40.5), Column("colour", categories=["red", "blue"])])
    >>> print(ColumnsSummary.of(encoder))
    column  read as                   missing values
    age     number                    read as 40.5
    colour  2 categories (red, blue)  count as none of them
    """

    __slots__ = ()

    @classmethod
    def of(cls, encoder: Encoder) -> ColumnsSummary:
        """Describe the columns of an encoder."""
        labels = [feature.label for feature in encoder.features]
        return cls(
            ColumnSummary(column.name, _read_as(column), _missing(column), tuple(labels[part]))
            for column, part in zip(encoder.columns, encoder.features_of_column)
        )

    def __repr__(self) -> str:
        rows = [("column", "read as", "missing values")]
        rows += [(printable(line.name), line.read_as, line.missing) for line in self]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)

    __str__ = __repr__

    def to_dict(self) -> list[dict[str, Any]]:
        """The lines as plain JSON."""
        return [vars(line) | {"features": list(line.features)} for line in self]


def _read_as(column: Column) -> str:
    if column.categories is None:
        return "number"
    n = len(column.categories)
    shown = ", ".join(printable(value) for value in column.categories[:_SHOWN]) + (", ..." if n > _SHOWN else "")
    return f"{n:,} categor{'y' if n == 1 else 'ies'} ({shown})"


def _missing(column: Column) -> str:
    if column.has_indicator:
        return "a feature of their own"
    if column.fills_missing:
        return f"read as {printable(column.fill) if column.categories else f'{column.fill:.4g}'}"
    return "refused" if column.categories is None else "count as none of them"
