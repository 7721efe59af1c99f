"""What an exporter hands over: the text or bytes, a way to run them, and the report of their check.

An export is a promise that another program computes what the tree computes, so an
artefact can be run: ``artefact.answer(rows)`` sends rows through the exported thing itself
(the compiled C file, the database, the ONNX runtime) and gives back leaves and outputs.
:func:`dtsemnet.export.check_export` compares them with the model's, and every exporter
calls it before it hands the artefact over.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.tree.file import write_atomically

if TYPE_CHECKING:
    from dtsemnet.export.check import Report

__all__ = ["Answer", "Artefact"]


@dataclass(frozen=True)
class Answer:
    """What a program says of some rows; None where it does not tell."""

    leaf: Ints | None = None
    """Leaf numbers, shape (n_rows,)."""
    output: Floats | None = None
    """Class probabilities, or the numbers predicted, shape (n_rows, n_outputs)."""
    label: Array | None = None
    """Predicted class names, shape (n_rows,)."""


@dataclass(frozen=True)
class Artefact:
    """An exported tree.

    Attributes
    ----------
    kind : str
        What it is, such as "C" or "SQL".
    content : str or bytes
        The thing itself.
    exact : bool
        Whether it repeats the tree's arithmetic bit for bit. If not, rows within the rounding bound of a split may
        take the other side; they are counted in ``report``.
    answer : callable
        Sends rows (:func:`dtsemnet.export.check.read_table` says in which form) through the artefact.
    unit : float
        Unit roundoff of its arithmetic where it is not exact: 2**-53 for doubles, 2**-24 for floats.
    report : Report or None
        What the check saw; None where nothing here can run the artefact.
    """

    kind: str
    content: str | bytes
    exact: bool
    answer: Callable[[Array], Answer] = field(repr=False, compare=False)
    unit: float = 2.0**-53
    report: Report | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, bytes):
            raise TypeError(f"{self.kind} is bytes, not text; use .content, or .save(path).")
        return self.content

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the content to a file, which is complete or not there at all."""
        return write_atomically(path, self.content)

    def __str__(self) -> str:
        return self.content if isinstance(self.content, str) else repr(self)

    def __repr__(self) -> str:
        checked = "not checked" if self.report is None else str(self.report)
        unit = "characters" if isinstance(self.content, str) else "bytes"
        return f"Artefact({self.kind}, {len(self.content):,} {unit}, {checked})"
