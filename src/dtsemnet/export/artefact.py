"""What an exporter returns, and the law of exports: an artefact answers as the tree does, or it is refused.

An :class:`Artefact` can be run: ``artefact.answer(rows)`` sends rows through the exported program
itself (the compiled C file, the database, the ONNX runtime) and returns leaves and outputs.
:func:`check_export` compares them with the model's, and every exporter does so before it returns
the artefact. Readable views compute nothing, so nothing is compared: text and explanations are
strings, tables are data frames, and a :class:`Drawing` is the file of another program.

An exact artefact (Python, C in double, SQL) repeats every operation of the tree, so any
difference of leaves, labels, numbers and shares is an error. One that computes scores in another
way (float32, ONNX) may send a row to the other side of a split only if the score is within the
rounding bound

    gamma * (|w| . |x| + |b|),     gamma = (d + 6) u / (1 - (d + 6) u),

``u`` being the unit roundoff of its arithmetic. Such rows are counted and reported; a
difference anywhere else is refused.

Margin probabilities end in ``exp``, which is no IEEE operation: libraries differ in its last
digits, and in the order of the sum of K classes. So they may differ by a factor of
``1 + (16 + 2 K) u`` in an exact artefact too. In one that rounds, a margin ``m`` may also be off by
``4 u m`` and the largest sum of the rounding bounds above on any path, and a leaf's logarithm ``l``
by ``4 u (|l| + 8)``; both are carried through the formula.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.export.probes import probe_rows, read_table
from dtsemnet.files import write_atomically
from dtsemnet.notebook import block, escape, folded
from dtsemnet.tree import MarginProbability, Model, TanhScale
from dtsemnet.tree.probability import margins

__all__ = ["Artefact", "CheckReport", "Drawing", "ExportError", "Predictions", "check_export", "checked"]

BLOCK = 50_000
"""Rows that are compared at a time."""


@dataclass(frozen=True)
class Predictions:
    """What an exported program predicts for some rows; None for what it does not compute."""

    leaf: Ints | None = None
    """Leaf numbers, shape (n_rows,)."""
    output: Floats | None = None
    """Class probabilities, or the numbers predicted, shape (n_rows, n_outputs)."""
    label: Array | None = None
    """Predicted class names, shape (n_rows,)."""

    @classmethod
    def of(cls, model: Model, rows: Array) -> Predictions:
        """What the model itself predicts."""
        if model.is_classifier:
            return cls(model.apply(rows), model.predict_proba(rows), model.predict(rows))
        output = np.asarray(model.predict(rows), dtype=np.float64)
        return cls(model.apply(rows), output.reshape(len(rows), model.tree.n_outputs))


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

    def _repr_html_(self) -> str:
        """Show what it is and how its check went, and the text folded away, for notebooks."""
        text = [folded("show the text", self.content)] if isinstance(self.content, str) else []
        return block("", f"<div>{escape(repr(self))}</div>", *text)

    def _remark(self) -> str:
        return ""


class Drawing(_File):
    """A tree as the file of a drawing program, such as Graphviz: for reading, with nothing to run or check."""


@dataclass(frozen=True, repr=False)
class Artefact(_File):
    """A tree as a program that can be run."""

    exact: bool
    """Whether it repeats the tree's arithmetic bit for bit. If not, rows within the rounding bound of a split may take
    the other side; they are counted in ``report``."""
    answer: Callable[[Array], Predictions] = field(repr=False, compare=False)
    """Sends rows (:func:`dtsemnet.export.probes.read_table` says in which form) through the program."""
    unit: float = 2.0**-53
    """Unit roundoff of its arithmetic if it is not exact: 2**-53 for doubles, 2**-24 for floats."""
    accepts: Callable[[Array], Bools] | None = field(default=None, repr=False, compare=False)
    """Says which rows it answers; None for all that the tree accepts. It refuses the others, and so does the check."""
    shares_only: bool = False
    """Whether it gives the shares of the leaf for a model with margin probabilities too."""
    report: CheckReport | None = field(default=None, compare=False)
    """What the check found; None if nothing here can run the program."""

    def _remark(self) -> str:
        return ", not checked" if self.report is None else f", {self.report}"


class ExportError(ValueError):
    """An artefact disagrees with the tree it was made from."""


@dataclass(frozen=True)
class CheckReport:
    """What a check found."""

    n_rows: int
    """Rows compared."""
    n_near: int
    """Rows on another side of a split than in the tree, all within the rounding bound; 0 for an exact artefact."""
    n_beyond: int
    """Rows left out because their numbers are beyond the range of the artefact's arithmetic; X is counted, too."""
    largest_difference: float
    """Largest difference of outputs among rows in the same leaf."""

    def __str__(self) -> str:
        text = f"agrees on {self.n_rows:,} rows"
        if self.n_near:
            lie = "1 of them lies" if self.n_near == 1 else f"{self.n_near:,} of them lie"
            text += f" ({lie} so near to a split that rounding may take its other side)"
        if self.largest_difference:
            text += f", outputs within {self.largest_difference:.2g}"
        if self.n_beyond:
            rows = "row with numbers" if self.n_beyond == 1 else "rows with numbers"
            text += f"; {self.n_beyond:,} more {rows} too large or too small for it left out"
        return text


def check_export(
    tree: Any, artefact: Artefact, X: Any = None, *, n_rows: int = 1000, random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> CheckReport:  # fmt: skip
    """Compare an artefact with the tree it was made from.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    artefact : Artefact
    X : array_like or data frame, optional
        Rows to compare, all of them; probes start from them too.
    n_rows : int, default=1000
        Number of probes, about: random rows, rows on and beside every hyperplane, extreme values.
    random_state : int, default=0
    progress : callable, optional
        Called with the number of rows compared, and of all rows; they are compared many at a time.

    Raises
    ------
    ExportError
        If the artefact disagrees.

    Examples
    --------
    >>> from dtsemnet.export import to_python
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[0.1, 0.2]], [-0.3], [[0.0], [1.0]])
    >>> report = check_export(tree, to_python(tree), [[1.0, 1.0]], n_rows=300)
    >>> report.n_rows > 300, report.n_near, report.largest_difference
    (True, 0, 0.0)
    """
    if not isinstance(artefact, Artefact):
        raise TypeError(f"artefact must be a program that can be run, got {artefact!r}, which is only for reading.")
    model = Model.of(tree)
    if artefact.shares_only:
        model = replace(model, probability=None)
    given = None if X is None else read_table(model, X)
    rows = probe_rows(model, given, n_rows, np.random.default_rng(random_state))
    if given is not None:
        rows = np.concatenate([given, rows])
    features = model.transform(rows)
    inside = np.ones(len(rows), dtype=bool) if artefact.exact else _in_range(model, features, artefact.unit)
    if artefact.accepts is not None:
        inside &= artefact.accepts(rows)
    kept, features = rows[inside], features[inside]
    reports = []
    for start in range(0, max(1, len(kept)), BLOCK):
        if progress is not None:
            progress(start, len(kept))
        reports.append(_compare(model, artefact, kept[start : start + BLOCK], features[start : start + BLOCK]))
    n_rows, n_near = (sum(getattr(one, part) for one in reports) for part in ("n_rows", "n_near"))
    largest = max(one.largest_difference for one in reports)
    return CheckReport(n_rows, n_near, int((~inside).sum()), largest)


def checked(tree: Any, artefact: Artefact, X: Any = None, *, n_rows: int = 1000) -> Artefact:
    """Check an artefact and attach the report: the last step of every exporter."""
    return replace(artefact, report=check_export(tree, artefact, X, n_rows=n_rows))


def _compare(model: Model, artefact: Artefact, rows: Array, features: Floats) -> CheckReport:
    answer, truth = artefact.answer(rows), Predictions.of(model, rows)
    leaf, output = np.asarray(truth.leaf), np.asarray(truth.output)
    near = np.zeros(len(rows), dtype=bool) if artefact.exact else _near(model, rows, features, artefact.unit)
    wrong = np.zeros(len(rows), dtype=bool)
    if answer.leaf is not None:
        wrong |= answer.leaf != leaf
    if answer.label is not None and truth.label is not None:
        wrong |= np.array([a != b for a, b in zip(answer.label.tolist(), truth.label.tolist())], dtype=bool)
    largest = 0.0
    if answer.output is not None:
        with np.errstate(invalid="ignore"):  # inf - inf: equal, as an output that overflowed is
            difference = np.where(answer.output == output, 0.0, np.abs(answer.output - output))
        off = ~(difference <= _tolerance(model, rows, features, leaf, artefact))
        largest = float(difference[~wrong & ~off.any(axis=1)].max(initial=0.0))
        wrong |= off.any(axis=1)
    refused = np.flatnonzero(wrong & ~near)
    if len(refused):
        i = int(refused[0])
        says = {name: values[i] for name, values in vars(answer).items() if values is not None}
        raise ExportError(
            f"{artefact.kind} disagrees with the tree on {len(refused)} of {len(rows)} rows, none of them within "
            f"rounding of a split; the first is {rows[i].tolist()}: the tree reaches leaf {leaf[i]} with output "
            f"{output[i].tolist()}, the export says {says}."
        )
    return CheckReport(len(rows), int(wrong.sum()), 0, largest)


def _tolerance(model: Model, rows: Array, features: Floats, leaf: Ints, artefact: Artefact) -> Any:
    """How far the outputs of rows in the same leaf may differ: not at all if sums are repeated exactly."""
    tree, unit = model.tree, artefact.unit
    if model.probability is not None:
        return _probability_tolerance(model, model.probability, rows, features, leaf, artefact)
    bound: Any = 0.0
    if not artefact.exact:
        size = np.abs(tree.value[leaf])
        for end in tree.guard:
            size = np.maximum(size, np.where(np.isfinite(end), np.abs(end), 0.0)[leaf])
        if tree.coef is not None:
            size = size + np.einsum("nod,nd->no", np.abs(tree.coef[leaf]), _magnitude(model, rows, features))
        bound = _rounding(size, tree.n_features, unit)
    if isinstance(model.output, TanhScale):
        # tanh is no IEEE operation: libraries differ in the last digits.
        low, high = np.array(model.output.low), np.array(model.output.high)
        bound = (high - low) / 2 * bound + 8 * unit * (np.abs(low) + np.abs(high))
    return bound


def _probability_tolerance(
    model: Model, probability: MarginProbability, rows: Array, features: Floats, leaf: Ints, artefact: Artefact
) -> Floats:
    """How far margin probabilities of rows in the same leaf may differ; the opening of this module says why."""
    tree, unit = model.tree, artefact.unit
    margin, leaf_log = margins(tree, features), probability.leaf_logs(tree)[leaf]
    weight = np.exp(probability.exponents(margin, leaf_log))
    chance = weight / weight.sum(axis=1, keepdims=True)
    bound: Floats = (16 + 2 * tree.n_outputs) * unit * chance + (2.0**-120 if unit > 2.0**-50 else 2.0**-1000)
    if artefact.exact:
        return bound
    off = _path_rounding(model, rows, features, unit)[:, None] + 4 * unit * margin
    log_off = 4 * unit * (np.abs(leaf_log) + 8)
    most = np.exp(np.minimum(probability.exponents(np.maximum(margin - off, 0.0), leaf_log) + log_off, 0.0))
    least = np.exp(probability.exponents(margin + off, leaf_log) - log_off)
    moved = np.maximum(most - weight, weight - least)
    moved[np.arange(len(leaf)), tree.leaf_class[leaf]] = 0.0  # its exponent is 0, whatever the rounding
    # The sum of weights is at least 1, that of the class predicted.
    return bound + moved + chance * moved.sum(axis=1, keepdims=True)


def _path_rounding(model: Model, rows: Array, features: Floats, unit: float) -> Floats:
    """Bound the rounding error of the sum of margins on any path: the largest sum of the errors of its scores."""
    tree = model.tree
    error, largest = np.zeros((len(rows), tree.n_splits)), np.zeros(len(rows))
    # A margin is added to those above it, which rounds once more on each level.
    rounded = _score_rounding(model, rows, features, unit) + tree.depth * unit * np.abs(tree.scores(features))
    for split, children in enumerate(tree.topology.children.tolist()):
        below = error[:, split] + rounded[:, split]
        for child in children:
            if child >= 0:
                error[:, child] = below
            else:
                largest = np.maximum(largest, below)
    return largest


def _near(model: Model, rows: Array, features: Floats, unit: float) -> Bools:
    """Whether each row has a split on its path that rounding could cross."""
    tree = model.tree
    if not tree.n_splits:
        return np.zeros(len(rows), dtype=bool)
    close = np.abs(tree.scores(features)) <= _score_rounding(model, rows, features, unit)
    path = tree.decision_path(features)
    return np.asarray((np.take_along_axis(close, np.maximum(path, 0), axis=1) & (path >= 0)).any(axis=1))


def _score_rounding(model: Model, rows: Array, features: Floats, unit: float) -> Floats:
    """Bound the rounding errors of the scores of all splits."""
    tree = model.tree
    size = _magnitude(model, rows, features) @ np.abs(tree.weight).T + np.abs(tree.bias)
    return _rounding(size, tree.n_features, unit)


def _magnitude(model: Model, rows: Array, features: Floats) -> Floats:
    """Size of the numbers a feature is computed from: ``(|x| + |center|) |scale|``, or its own if it is not mapped."""
    size = np.abs(features)
    for feature in model.encoder.features:
        column, k = feature.column, feature.index
        if feature.kind == "number" and not column.is_identity:
            x = np.abs(rows[:, feature.column_index].astype(np.float64))
            x = np.where(np.isnan(x), abs(column.fill), x)
            shift = abs(column.center * column.scale)
            clipped = np.isin(features[:, k], [end for end in (column.lower, column.upper) if end is not None])
            # A number far beyond a clip does not enter the sum: only numbers as large as the clip itself round.
            mapped = np.maximum(x * abs(column.scale) + shift, size[:, k])
            size[:, k] = np.where(clipped, size[:, k] + 2 * shift, mapped)
    return size


def _in_range(model: Model, features: Floats, unit: float) -> Bools:
    """Whether no sum of a row comes near the largest number of the artefact's arithmetic."""
    tree = model.tree
    largest = 1e37 if unit > 2.0**-50 else 1e307
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(features)
        sums = [size @ np.abs(tree.weight).T] if tree.n_splits else []
        sums += [] if tree.coef is None else [size @ np.abs(tree.coef.reshape(-1, tree.n_features)).T]
        if model.probability is not None:  # margins add scores
            sums.append((size @ np.abs(tree.weight).T + np.abs(tree.bias)).sum(axis=1, keepdims=True))
        return np.asarray(np.logical_and.reduce([(part < largest).all(axis=1) for part in [size, *sums]]))


def _rounding(size: Floats, n_features: int, unit: float) -> Floats:
    """Bound the rounding error of sums by the size of what they add; underflow may add a little more."""
    n = n_features + 6
    return n * unit / (1 - n * unit) * size + n * (2.0**-126 if unit > 2.0**-50 else 2.0**-1022)
