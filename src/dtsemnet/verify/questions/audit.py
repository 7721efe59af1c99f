"""An audit: what is proved about a tree on a domain, as a report that can be filed.

The tree is explored once; all statements about its leaves, classes and outputs share that walk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools
from dtsemnet.notebook import markdown
from dtsemnet.tree import Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.tree.wording import number_text
from dtsemnet.verify.proof.claims import Evidence, claims_about_leaves
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, column_number, table_rows
from dtsemnet.verify.proof.exploration import Exploration, LeafStatus, Reachability, Verdict, explore
from dtsemnet.verify.proof.file import save_proof
from dtsemnet.verify.proof.readings import Reading
from dtsemnet.verify.proof.wording import end_text, row_text, share_text, value_text
from dtsemnet.verify.questions.independent import Flips, find_flips, independent
from dtsemnet.verify.questions.monotone import monotone
from dtsemnet.verify.questions.output_bounds import OutputBounds, output_bounds
from dtsemnet.verify.questions.reachability import AnswerStatus, class_verdicts, never
from dtsemnet.verify.questions.robustness import Certified, certify

__all__ = ["Report", "Statement", "audit"]


@dataclass(frozen=True)
class Statement:
    """A claim, and whether it holds."""

    text: str
    """The claim, in words."""
    status: AnswerStatus
    """"yes" (proved), "no" (there is a counterexample) or "undecided"."""
    shown_by: str
    """The number of proofs, or a counterexample."""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Outcome of :func:`audit`."""

    model: Model
    domain: Domain
    leaves: Reachability
    outputs: tuple[OutputBounds, ...]
    certified: tuple[Certified, ...] = ()
    statements: tuple[Statement, ...] = ()
    n_outside: int = 0
    """Rows that were to be looked at, but lie outside the domain."""
    flips: tuple[tuple[str, Flips], ...] = ()
    """For each change that the answer should not depend on, the rows that it would flip."""

    def __repr__(self) -> str:
        proved = sum(claim.status == "yes" for claim in self.statements)
        return f"Report({self.leaves}; {proved} of {len(self.statements)} statements proved)"

    def _repr_html_(self) -> str:
        return markdown(self.to_markdown())

    @property
    def classes(self) -> dict[Any, LeafStatus]:
        """For each class of a classifier, whether it can come out: "reachable", "unreachable" or "undecided"."""
        if not self.model.is_classifier:
            return {}
        return {name: verdict.status for name, verdict in class_verdicts(self.model, self.leaves).items()}

    def save_proof(self, path: str | PathLike[str]) -> Path:
        """Write all that is proved and refuted as one proof file (:mod:`dtsemnet.verify.proof.file`)."""
        found = [Evidence.on(self._encoded(), partial(claims_about_leaves, self.leaves))]
        parts: list[Any] = [*self.statements, *self.outputs, *self.certified, *(outcome for _, outcome in self.flips)]
        found += [part.evidence for part in parts if part.evidence is not None]
        return save_proof(path, found)

    def to_markdown(self) -> str:
        """Write the report as Markdown."""
        model, parts = self.model, ["# What is proved about this tree", ""]
        parts += [f"- model: `{model!r}`", f"- fingerprint: `{model.fingerprint()}`", f"- domain: {self._domain()}"]
        if self.statements:
            parts += ["", "## Statements", "", "| statement | holds | shown by |", "|---|---|---|"]
            parts += [f"| {claim.text} | {claim.status} | {claim.shown_by} |" for claim in self.statements]
        parts += ["", "## Leaves", ""]
        checked = "yes" if self.leaves.check() else "no"
        parts += [f"{self.leaves}. Checked once more against the tree and the domain: {checked}.", ""]
        parts += ["| leaf | status | shown by |", "|---:|---|---|"]
        verdicts = enumerate(self.leaves.verdicts)
        parts += [f"| {leaf} | {verdict.status} | {_shown_by(verdict)} |" for leaf, verdict in verdicts]
        if self.classes:
            parts += ["", "## Classes", "", "| class | can come out |", "|---|---|"]
            words = {"reachable": "yes", "unreachable": "never, proved"}
            parts += [f"| {name} | {words.get(status, status)} |" for name, status in self.classes.items()]
        title = f"{share_text(model)} of class" if model.is_classifier else "output"
        parts += ["", "## Outputs", ""]
        if model.probability is not None:
            parts += ["`predict_proba` weighs the shares of leaves by margins, so it may lie outside these ends.", ""]
        parts += [f"| {title} | least | largest | never outside |", "|---|---:|---:|---|"]
        for bounds in self.outputs:
            name = model.class_names[bounds.output] if model.class_names is not None else bounds.output
            ends = bounds.minimum, bounds.maximum
            least, largest = (value_text(end.attained) for end in ends)
            span = ", ".join(end_text(end.certified, up=up) for end, up in zip(ends, (False, True)))
            parts.append(f"| {name} | {least} | {largest} | [{span}] |")
        if self.certified:
            parts += ["", "## Robustness", "", "Inputs outside the domain do not count.", ""]
            parts += [f"- {outcome}" for outcome in self.certified]
        if self.flips:
            parts += ["", "## Rows that a change would flip", ""]
            parts += [f"- {change}: {outcome}" for change, outcome in self.flips]
        if self.n_outside:
            parts += ["", f"Rows outside the domain, which were left out: {self.n_outside}."]
        return "\n".join(parts) + "\n"

    def _domain(self) -> str:
        """The domain column by column, as the model reads it, then its constraints."""
        encoded = self._encoded()
        names = [column.name for column in self.model.encoder.columns]
        parts = [f"{reading.column.name} {_reading(reading)}" for reading in encoded.readings]
        for a, b in zip(*(encoded.constraints or ((), ()))):
            terms = " + ".join(f"{value_text(float(a[j]))} * {names[j]}" for j in np.flatnonzero(a))
            parts.append(f"{terms or 0} <= {value_text(float(b))}")
        return "; ".join(parts)

    def _encoded(self) -> EncodedDomain:
        assert self.leaves.cuts is not None
        return self.leaves.cuts.encoded


def audit(
    tree: Any,
    domain: Domain,
    X: Any = None,
    y: Any = None,
    *,
    epsilon: Sequence[float] = (),
    norm: Any = "inf",
    never_output: Sequence[Any] = (),
    monotone_in: Sequence[Name] = (),
    independent_of: Sequence[Name | Sequence[Name] | Mapping[Name, float | None]] = (),
    output: Any = None,
    time_limit: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Prove all at once: reachable leaves, ranges of outputs, robustness of given rows, statements.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
    X, y, norm
        For a classifier: rows whose robustness is certified on the domain, and their true classes, as in
        :func:`certify`. With ``independent_of``, the rows that a change would flip are counted, too. Rows outside the
        domain are left out and counted.
    epsilon : sequence of float, default=()
        Distances within which rows should keep their class.
    never_output : sequence of labels, default=()
        Classes that are claimed never to come out.
    monotone_in : sequence of int or str, default=()
        Columns that are claimed to raise the output, or not to change it, as they rise.
    independent_of : sequence of columns, default=()
        Columns that the answer is claimed not to depend on, all else equal: a column, several that change together, or
        a mapping of columns to the amount by which they change at most (None for any), as in :func:`independent`.
    output : label of a class, or number of an output, optional
        The output that ``monotone_in`` is about; the last class or the first output by default.
    time_limit : float, optional
        Seconds for each question; what is left then is undecided.
    progress : callable, optional
        Called with how much is done, of how much, and what it is, such as "deciding leaves".

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> report = audit(tree, Domain(0.0, 1.0), never_output=["large"])
    >>> report.statements[0].status, report.classes
    ('yes', {'small': 'reachable', 'large': 'unreachable'})
    >>> print(report.outputs[1])
    output 1: from 0 in leaf 0 to 0 in leaf 0; never outside [0, 0]
    """
    model = Model.of(tree)
    if output is None:
        output = 0 if model.class_names is None else model.class_names[-1]
    distances = [not_negative("epsilon", distance) for distance in epsilon]
    progress = progress or (lambda *_: None)
    explored = explore(model, domain, time_limit=time_limit, progress=_on("deciding leaves", progress))
    changes = [_change(given) for given in independent_of]
    ask: list[Callable[[], Statement]] = [partial(_never, explored, domain, label) for label in never_output]
    ask += [partial(_monotone, model, domain, name, output, time_limit) for name in monotone_in]
    ask += [partial(_independent, model, domain, change, time_limit) for change in changes]
    statements = []
    for k, question in enumerate(ask):
        progress(k, len(ask), "proving statements")
        statements.append(question())
    certified, flips, n_outside = [], [], 0
    if X is not None and (distances or changes):
        rows, inside = _rows_inside(explored.encoded, X)
        classes = None if y is None else np.asarray(y)[inside]
        n_outside = int((~inside).sum())
        if not len(rows):
            raise ValueError("X has no row that lies in the domain; widen the domain, or leave out X.")
        options: dict[str, Any] = {"y": classes, "domain": domain, "time_limit": time_limit}
        for distance in distances:
            shown = _on(f"certifying rows within {value_text(distance)}", progress)
            certified.append(certify(model, rows, distance, norm, **options, progress=shown))
        for change in changes:
            shown = _on("asking which rows would flip", progress)
            found = find_flips(
                model, rows, list(change), domain, by=_amounts(change), time_limit=time_limit, progress=shown
            )
            flips.append((_change_text(change), found))
    progress(0, model.tree.n_outputs, "bounding outputs")
    bounds = output_bounds(model, domain, explored=explored, time_limit=time_limit)
    return Report(
        model, domain, explored.reachability, bounds, tuple(certified), tuple(statements), n_outside, tuple(flips)
    )


def _on(what: str, progress: Callable[[int, int, str], None]) -> Callable[[int, int], None]:
    """The part of ``progress`` that is about one thing."""
    return lambda done, total: progress(done, total, what)


def _rows_inside(encoded: EncodedDomain, X: Any) -> tuple[Array, Bools]:
    """The rows of a table that lie in the domain, and which they are."""
    rows = table_rows(encoded.model, X)
    inside = np.array([encoded.contains(row) for row in rows], dtype=bool)
    return rows[inside], inside


def _never(explored: Exploration, domain: Domain, label: Any) -> Statement:
    model = explored.model
    answer = never(model, domain, label, explored=explored)
    shown_by = f"{len(answer.proofs)} proofs" if answer.witness is None else _named(model, answer.witness)
    return Statement(f"never {label!r}", answer.status, shown_by, answer.evidence)


def _monotone(model: Model, domain: Domain, name: Name, output: Any, time_limit: float | None) -> Statement:
    answer = monotone(model, name, domain, output=output, time_limit=time_limit)
    what = "the output" if model.class_names is None else f"the {share_text(model)} of {output!r}"
    if answer.low is not None and answer.high is not None:
        j = column_number(model, name)
        more = f"{value_text(answer.high[j])} in {model.encoder.columns[j].name}"
        shown_by = f"{_named(model, answer.low)} against {more}"
    elif answer:
        shown_by = f"{len(answer.proofs)} proofs"
    else:
        shown_by = f"a fall by {end_text(answer.margin, up=True)} is not ruled out"
    return Statement(f"raising {name} never lowers {what}", answer.status, shown_by, answer.evidence)


def _change(given: Any) -> dict[Name, float | None]:
    """Read one entry of ``independent_of``: columns with the amounts by which they change."""
    if isinstance(given, Mapping):
        return dict(given)
    return dict.fromkeys([given] if isinstance(given, (str, int, np.integer)) else given)


def _amounts(change: dict[Name, float | None]) -> dict[Name, float] | None:
    return {name: amount for name, amount in change.items() if amount is not None} or None


def _change_text(change: dict[Name, float | None]) -> str:
    amounts = ("" if amount is None else f" by at most {value_text(amount)}" for amount in change.values())
    return " and ".join(f"{name}{amount}" for name, amount in zip(change, amounts))


def _independent(model: Model, domain: Domain, change: dict[Name, float | None], time_limit: float | None) -> Statement:
    answer = independent(model, list(change), domain, by=_amounts(change), time_limit=time_limit)
    if answer.first is not None and answer.second is not None:
        columns = sorted(column_number(model, name) for name in change)
        names = [model.encoder.columns[j].name for j in columns]
        changed = ", ".join(f"{value_text(answer.second[j])} in {name}" for j, name in zip(columns, names))
        one, other = (value_text(label) for label in model.predict(np.stack([answer.first, answer.second])).tolist())
        shown_by = f"{_named(model, answer.first)} gets {one}, with {changed} {other}"
    elif answer:
        shown_by = f"{len(answer.proofs)} proofs"
    else:
        shown_by = "some pairs of leaves are open"
    text = f"changing {_change_text(change)} alone never changes the answer"
    return Statement(text, answer.status, shown_by, answer.evidence)


def _reading(reading: Reading) -> str:
    """What a column may hold, in words."""
    parts = []
    if reading.has_numbers:
        if reading.present and reading.low == reading.high:
            parts.append(f"= {value_text(reading.low)}")
        elif reading.present:
            parts.append(f"in [{value_text(reading.low)}, {value_text(reading.high)}]")
        parts += ["whole"] if reading.is_integer else []
    elif reading.categories:
        parts.append("in {" + ", ".join(value_text(value) for value in reading.categories) + "}")
    parts += ["unknown to the model"] if reading.may_be_unknown else []
    parts += ["missing"] if reading.may_miss else []
    return " or ".join(parts).replace(" or whole", ", whole")


def _shown_by(verdict: Verdict) -> str:
    if verdict.witness is not None:
        return "`" + ", ".join(value_text(x) for x in verdict.witness.tolist()) + "`"
    return verdict.proof.reason if verdict.proof is not None else f"margin {number_text(verdict.margin, 2)}"


def _named(model: Model, row: Array) -> str:
    return f"`{row_text(model, row)}`"
