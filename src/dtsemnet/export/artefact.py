"""What an exporter returns: a program that can be run and was checked, or a drawing that can only be looked at.

An export is a promise that another program computes what the tree computes, so an
:class:`Artefact` can be run: ``artefact.answer(rows)`` sends rows through the exported program
itself (the compiled C file, the database, the ONNX runtime) and returns leaves and outputs.
:func:`dtsemnet.export.check_export` compares them with the model's, and every exporter
calls it before it returns the artefact.

Readable views compute nothing, so nothing is compared: text and explanations are strings,
tables are data frames, and a :class:`Drawing` is the file of another program.
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
    from dtsemnet.export.check import CheckReport

__all__ = ["Artefact", "Drawing", "Predictions"]


@dataclass(frozen=True)
class Predictions:
    """What an exported program predicts for some rows; None for what it does not compute."""

    leaf: Ints | None = None
    """Leaf numbers, shape (n_rows,)."""
    output: Floats | None = None
    """Class probabilities, or the numbers predicted, shape (n_rows, n_outputs)."""
    label: Array | None = None
    """Predicted class names, shape (n_rows,)."""


@dataclass(frozen=True, repr=False)
class _File:
    """Content that can be shown and saved."""

    kind: str
    """What it is, such as "C" or "SQL"."""
    content: str | bytes
    """The text or the bytes."""

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
        unit = "characters" if isinstance(self.content, str) else "bytes"
        return f"{type(self).__name__}({self.kind}, {len(self.content):,} {unit}{self._remark()})"

    def _remark(self) -> str:
        return ""


class Drawing(_File):
    """A tree as the file of a drawing program, such as Graphviz: for reading, with nothing to run or check."""


@dataclass(frozen=True, repr=False)
class Artefact(_File):
    """A tree as a program that can be run.

    Attributes
    ----------
    kind : str
        What it is, such as "C" or "SQL".
    content : str or bytes
        The program itself.
    exact : bool
        Whether it repeats the tree's arithmetic bit for bit. If not, rows within the rounding bound of a split may
        take the other side; they are counted in ``report``.
    answer : callable
        Sends rows (:func:`dtsemnet.export.probes.read_table` says in which form) through the program.
    unit : float
        Unit roundoff of its arithmetic if it is not exact: 2**-53 for doubles, 2**-24 for floats.
    report : CheckReport or None
        What the check found; None if nothing here can run the program.
    """

    exact: bool
    answer: Callable[[Array], Predictions] = field(repr=False, compare=False)
    unit: float = 2.0**-53
    report: CheckReport | None = field(default=None, compare=False)

    def _remark(self) -> str:
        return ", not checked" if self.report is None else f", {self.report}"
