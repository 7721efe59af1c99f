"""Is a VNN-LIB property satisfiable by a tree? sat with an input, unsat by certificates, or unknown.

``X_i`` is column ``i`` of the model. ``Y_j`` is output ``j`` of a regressor, and for a classifier the logit of class
``j`` in the network that the tree is (:func:`dtsemnet.export.to_onnx`, ``form="class network"``):

    m_l  = sum of |score| over the splits on the path to leaf l that the input violates
    Y_j  = the largest -m_l of the leaves of class j;   -1 - sum of all |score| if it has none.

So the class predicted has 0 and the others at most 0; another one has 0, too, if the input lies on a hyperplane between
them, where the tree itself goes left. ``<=`` and ``>=`` hold at equality. Scores are those that the tree computes in
doubles, sums of them are exact, and every double of the box is an input.

A box of few doubles is decided by looking at each, any other leaf by leaf. The box of a leaf that can be reached may
already settle all atoms. Else a linear program looks for a point: outputs of a regressor are affine in a leaf, each
piece of its guard being a case of its own. Logits are affine once the signs of scores are known. The positive and the
negative part of a score are variables of the program; where both are positive at its solution, the sign is split.
Farkas multipliers are checked in rational arithmetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Identity, Model
from dtsemnet.verify.proof.binding import EmptyDomain, bind
from dtsemnet.verify.proof.certificates import Farkas, Polytope, round_down, round_up
from dtsemnet.verify.proof.decision import is_small
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import roundings
from dtsemnet.verify.proof.exploration import explore_leaves
from dtsemnet.verify.proof.leaf_pairs import Line, answers, lines_of
from dtsemnet.verify.proof.linear_programs import interior
from dtsemnet.verify.proof.regions import RIGHT, Cuts, Region, least_on_box
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.proof.wording import value_text
from dtsemnet.verify.vnnlib.language import Atom, VnnProperty

__all__ = ["VnnAnswer", "answer_vnnlib"]

MAX_NODES = 500
"""Programs for one leaf and one case."""
LARGEST = Fraction(10) ** 300

VnnStatus = Literal["sat", "unsat", "unknown"]
Atoms = tuple[Atom, ...]


@dataclass(frozen=True)
class VnnAnswer:
    """Whether some input satisfies a property, with the input and its outputs."""

    status: VnnStatus
    x: tuple[float, ...] | None = None
    y: tuple[float, ...] | None = None
    """Outputs of the input, rounded to doubles."""
    n_programs: int = 0

    def to_text(self) -> str:
        """The answer as verifiers of networks write it: the word, then the counterexample if there is one.

        Examples
        --------
        >>> print(VnnAnswer("sat", (0.5,), (0.0, -1.25)).to_text())
        sat
        ((X_0 0.5)
        (Y_0 0)
        (Y_1 -1.25))
        """
        if self.x is None or self.y is None:
            return self.status
        pairs = [(f"X_{i}", value) for i, value in enumerate(self.x)]
        pairs += [(f"Y_{j}", value) for j, value in enumerate(self.y)]
        lines = "\n".join(f"({name} {value_text(value)})" for name, value in pairs)
        return f"{self.status}\n({lines})"


def answer_vnnlib(tree: Any, question: VnnProperty, *, time_limit: float | None = None) -> VnnAnswer:
    """Decide whether some input satisfies a property.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        All its columns are numbers. The outputs of a regressor are not squashed by tanh.
    question : VnnProperty
        From :func:`read_vnnlib`; it bounds every input.
    time_limit : float, optional
        Seconds; then the answer is unknown.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> from dtsemnet.verify.vnnlib import parse_vnnlib
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-1.5], [[1, 0], [0, 1]], class_names=["low", "high"])
    >>> names = "".join(f"(declare-const {name} Real)" for name in ("X_0", "X_1", "Y_0", "Y_1"))
    >>> ends = "".join(f"(assert (>= X_{i} 0))(assert (<= X_{i} 0.5))" for i in (0, 1))
    >>> answer_vnnlib(tree, parse_vnnlib(names + ends + "(assert (>= Y_1 Y_0))")).status
    'unsat'
    >>> answer_vnnlib(tree, parse_vnnlib(names + ends + "(assert (<= Y_1 -1))")).status
    'sat'
    """
    model, deadline = Model.of(tree), Deadline(time_limit)
    _check(model, question)
    status: VnnStatus = "unsat"
    n_programs = 0
    for box, atoms, choices in _groups(question):
        try:
            part = _answer_on_box(model, question, _domain(box, atoms, question.n_inputs), choices, deadline)
        except EmptyDomain:
            continue
        n_programs += part.n_programs
        if part.status == "sat":
            return VnnAnswer("sat", part.x, part.y, n_programs)
        status = "unknown" if part.status == "unknown" else status
    return VnnAnswer(status, n_programs=n_programs)


def _check(model: Model, question: VnnProperty) -> None:
    encoder = model.encoder
    if not encoder.is_numeric:
        name = next(column.name for column in encoder.columns if column.categories is not None)
        raise ValueError(
            f"VNN-LIB knows numbers alone, and column {name!r} has categories; ask about the encoded features "
            f"(model.tree), or ask by never, independent and the other questions."
        )
    if not isinstance(model.output, Identity):
        raise ValueError("the outputs are squashed by tanh, which no linear atom describes; ask about model.tree.")
    for name, asked, has in (("X", question.n_inputs, encoder.n_columns), ("Y", question.n_outputs, _n_outputs(model))):
        if asked != has:
            what = "columns" if name == "X" else "classes" if model.is_classifier else "outputs"
            raise ValueError(f"the property declares {asked} variables {name}_i, but the model has {has} {what}.")


def _n_outputs(model: Model) -> int:
    return model.tree.n_outputs


def _groups(question: VnnProperty) -> Iterator[tuple[dict[int, Any], Atoms, list[Atoms]]]:
    """The cases by box and atoms of inputs, each with the atoms of outputs."""
    groups: dict[str, tuple[dict[int, Any], Atoms, list[Atoms]]] = {}
    for case in question.cases:
        inputs = tuple(atom for atom in case.atoms if atom.kind == "X")
        key = str((sorted(case.box.items()), inputs))  # numbers can be chosen to have the same hash, texts cannot
        groups.setdefault(key, (case.box, inputs, []))[2].append(tuple(a for a in case.atoms if a.kind == "Y"))
    yield from groups.values()


def _domain(box: dict[int, Any], atoms: Atoms, n_inputs: int) -> Domain:
    """The doubles of a box, and rows that are a little wider than the atoms if doubles cannot say them."""
    ends = []
    for i in range(n_inputs):
        low, high = box.get(i, (None, None))
        if low is None or high is None:
            raise ValueError(f"the property does not bound X_{i} from {'below' if low is None else 'above'}.")
        if max(abs(low), abs(high)) > LARGEST:
            raise ValueError(f"the property bounds X_{i} by a number that is too large for this tree.")
        ends.append((round_up(low), round_down(high)))
    lower, upper = np.array(ends).T
    if (lower > upper).any():
        raise EmptyDomain("no double lies in the box.")
    if not atoms:
        return Domain(lower, upper)
    most = np.maximum(np.abs(lower), np.abs(upper))
    rows = [_row(n_inputs, dict(atom.terms), atom.bound, most) for atom in atoms]
    return Domain(lower, upper, A=[row for row, _ in rows], b=[bound for _, bound in rows])


def _row(n: int, factors: dict[int, Fraction], bound: Fraction, most: Floats) -> tuple[Floats, float]:
    """A row of doubles that holds wherever ``factors . v <= bound`` does, if ``|v| <= most``."""
    row = np.zeros(n)
    for k, factor in factors.items():
        if abs(factor) > LARGEST:
            raise ValueError("the property has a factor that is too large.")
        row[k] = float(factor)
        bound += abs(factor - Fraction(row[k])) * Fraction(float(most[k]))
    if abs(bound) > LARGEST:
        raise ValueError("the property has a number that is too large.")
    return row, round_up(bound)


class _Interval(NamedTuple):
    """Where an output lies; at an open upper end it is strictly below."""

    low: float
    high: float
    is_open: bool = False


def _settles(atom: Atom, outputs: Sequence[_Interval]) -> bool | None:
    """Whether an atom holds for all outputs of these intervals, or for none; None if that is open."""
    low = high = Fraction(0)
    low_known = high_known = True
    strict = False
    for k, factor in atom.terms:
        ends = (outputs[k].low, outputs[k].high) if factor > 0 else (outputs[k].high, outputs[k].low)
        strict |= factor < 0 and outputs[k].is_open
        low_known &= np.isfinite(ends[0])
        high_known &= np.isfinite(ends[1])
        low += factor * Fraction(ends[0]) if low_known else 0
        high += factor * Fraction(ends[1]) if high_known else 0
    if high_known and high <= atom.bound:
        return True
    if low_known and (low > atom.bound or (strict and low == atom.bound)):
        return False
    return None


def _answer_on_box(
    model: Model, question: VnnProperty, domain: Domain, choices: list[Atoms], deadline: Deadline
) -> VnnAnswer:
    cuts = Cuts(bind(model, domain, deadline=deadline))
    solver = _Logits(cuts) if model.is_classifier else _Numbers(cuts)
    whole = cuts.polytope(cuts.root())
    if model.encoder.is_identity and is_small(cuts.encoded, whole):
        points = cuts.encoded.points(whole.lower, whole.upper)
        found = (_shown(solver, question, cuts.encoded.row(z)) for z in points)
        first = next((one for one in found if one is not None), None)
        return VnnAnswer("unsat") if first is None else VnnAnswer("sat", *first)
    settled = [[_settle_all(atoms, solver.ranges(cuts.root(), leaf)) for atoms in choices] for leaf in solver.leaves]
    wanted = np.array([any(held is not False for held in row) for row in settled], dtype=bool)
    explored = explore_leaves(cuts, wanted, deadline=deadline)
    n_programs, is_open = explored.n_programs, False
    for verdict in explored.verdicts:
        shown = None if verdict.witness is None else _shown(solver, question, verdict.witness)
        if shown is not None:
            return VnnAnswer("sat", shown[0], shown[1], n_programs)
    for leaf, verdict in enumerate(explored.verdicts):
        if verdict.status in ("unreachable", "not asked"):
            continue
        region = explored.regions[leaf]
        outputs = solver.ranges(region, leaf) if not deadline.is_over else []
        for atoms in choices:
            if deadline.is_over:
                return VnnAnswer("unknown", n_programs=n_programs)
            held = _settle_all(atoms, outputs)
            if held is False:
                continue
            is_decided, point, used = _search(solver, question, region, leaf, atoms, deadline)
            n_programs += used
            if point is not None:
                return VnnAnswer("sat", point[0], point[1], n_programs)
            is_open |= not is_decided
    return VnnAnswer("unknown" if is_open else "unsat", n_programs=n_programs)


def _settle_all(atoms: Atoms, outputs: Sequence[_Interval]) -> bool | None:
    held = [_settles(atom, outputs) for atom in atoms]
    return False if False in held else None if None in held else True


def _shown(
    solver: _Logits | _Numbers, question: VnnProperty, row: Array
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The input and its outputs, if they satisfy the property, without rounding."""
    y = solver.outputs(row)
    if not question.holds([Fraction(value) for value in row.tolist()], y):
        return None
    return tuple(row.tolist()), tuple(float(value) for value in y)


def _search(
    solver: _Logits | _Numbers, question: VnnProperty, region: Region, leaf: int, atoms: Atoms, deadline: Deadline
) -> tuple[bool, Any, int]:
    """Look for a point of a leaf that satisfies atoms: whether all is decided, the point with its outputs, programs."""
    encoded, is_decided, n_programs = solver.cuts.encoded, True, 0
    d = len(encoded.lower)
    todo: list[Any] = list(itertools.islice(solver.parts(region, leaf, atoms), MAX_NODES + 1))
    while todo:
        if n_programs >= MAX_NODES or deadline.is_over:
            return False, None, n_programs
        part = todo.pop()
        polytope = part.polytope()
        n_programs += 1
        solution = interior(polytope._replace(soft=None)) if len(polytope.rows) else None
        if solution is not None and solution.margin < 0 and Farkas(polytope, solution.multiplier).check():
            continue
        point = (polytope.lower / 2 + polytope.upper / 2) if solution is None else solution.point
        for z in roundings(point[:d]):
            row = encoded.row(encoded.snap(z, region.lower, region.upper))
            shown = _shown(solver, question, row) if encoded.contains(row) else None
            if shown is not None:
                return True, shown, n_programs
        halves = part.halves(point)
        todo += halves
        is_decided &= bool(halves)
    return is_decided, None, n_programs


@dataclass(frozen=True, eq=False)
class _Rows:
    """A part of a leaf as rows, which is not divided further."""

    content: Polytope

    def polytope(self) -> Polytope:
        return self.content

    def halves(self, point: Floats) -> list[Any]:
        return []


class _Numbers:
    """Outputs of a regressor."""

    def __init__(self, cuts: Cuts) -> None:
        self.cuts = cuts
        tree, encoded = cuts.tree, cuts.encoded
        self.leaves = range(tree.n_leaves)
        self.lines = [lines_of(tree, o, encoded.lower, encoded.upper) for o in range(tree.n_outputs)]

    def outputs(self, row: Array) -> list[Fraction]:
        """What the model computes for a row."""
        return [Fraction(float(value)) for value in answers(self.cuts.encoded.model, row[None])[0]]

    def ranges(self, region: Region, leaf: int) -> list[_Interval]:
        """Where the outputs of a leaf lie on a box."""
        found = []
        for line in (lines[leaf] for lines in self.lines):
            low, high = (float(least_on_box(line.coef, *ends)) for ends in _both_ways(region))
            room = (len(region.lower) + 8) * line.error if line.coef.any() else 0.0
            ends = np.clip([low + line.value - room, high + line.value + room], line.floor, line.ceiling)
            found.append(_Interval(float(ends[0]), float(ends[1])))
        return found

    def parts(self, region: Region, leaf: int, atoms: Atoms) -> Iterable[_Rows]:
        """The leaf and the atoms as rows, a polytope for each way in which guards clip outputs."""
        polytope = self.cuts.polytope(region)
        used = sorted({k for atom in atoms for k, _ in atom.terms})
        lines = [self.lines[o][leaf] for o in used]
        most = np.maximum(np.abs(region.lower), np.abs(region.upper))
        for pieces in itertools.product(*(_pieces(line) for line in lines)):
            taken = {o: line for o, (line, _) in zip(used, pieces)}
            rows = [row for _, guard in pieces for row in guard]
            rows += [(list(atom.terms), taken, atom.bound) for atom in atoms]
            written = [_affine_row(terms, known, bound, most) for terms, known, bound in rows]
            matrix = np.vstack([polytope.rows, *(row for row, _ in written)])
            yield _Rows(polytope._replace(rows=matrix, bound=np.append(polytope.bound, [b for _, b in written])))


def _pieces(line: Line) -> list[tuple[Line, list[Any]]]:
    """The affine pieces of a clipped answer, each with the rows under which it is the answer."""
    one, free = [(0, Fraction(1))], line._replace(floor=-np.inf, ceiling=np.inf)
    minus = [(0, Fraction(-1))]
    flat = Line(np.zeros_like(line.coef), 0.0)
    pieces = []
    guard: list[Any] = []
    if line.floor > -np.inf:
        guard.append((minus, {0: free}, -Fraction(line.floor)))
        pieces.append((flat._replace(value=line.floor), [(one, {0: free}, Fraction(line.floor))]))
    if line.ceiling < np.inf:
        guard.append((one, {0: free}, Fraction(line.ceiling)))
        pieces.append((flat._replace(value=line.ceiling), [(minus, {0: free}, -Fraction(line.ceiling))]))
    return [(free, guard), *pieces]


def _affine_row(
    terms: Sequence[tuple[int, Fraction]], lines: dict[int, Line], bound: Fraction, most: Floats
) -> tuple[Floats, float]:
    """A row of features that holds wherever the computed answers satisfy an atom."""
    factors: dict[int, Fraction] = {}
    for o, factor in terms:
        line = lines[o]
        bound -= factor * Fraction(line.value) - abs(factor) * Fraction(line.error)
        for k in np.flatnonzero(line.coef).tolist():
            factors[k] = factors.get(k, Fraction(0)) + factor * Fraction(float(line.coef[k]))
    return _row(len(most), factors, bound, most)


class _Leaf(NamedTuple):
    """A leaf of the network: its logit is minus a constant, minus parts of scores."""

    constant: int
    parts: tuple[tuple[int, int], ...]
    """Splits, each with the side (0: the negative part of its score counts, 1: the positive part)."""


class _Logits:
    """Logits of the classes."""

    def __init__(self, cuts: Cuts) -> None:
        self.cuts = cuts
        tree = cuts.tree
        self.leaves = range(tree.n_leaves)
        paths = [[step for step in zip(*(part[leaf].tolist() for part in tree.topology.paths)) if step[0] >= 0]
                 for leaf in self.leaves]  # fmt: skip
        # On the left of a split the positive part of its score is the margin violated.
        found = [_Leaf(0, tuple((i, 1 - side) for i, side in path)) for path in paths]
        self.by_class: list[list[_Leaf]] = [[] for _ in range(tree.n_outputs)]
        for leaf, k in zip(found, tree.leaf_class.tolist()):
            self.by_class[k].append(leaf)
        everything = tuple((i, side) for i in range(tree.n_splits) for side in (0, 1))
        self.by_class = [leaves or [_Leaf(1, everything)] for leaves in self.by_class]

    def outputs(self, row: Array) -> list[Fraction]:
        """The logits of a row: of computed scores, without rounding."""
        encoded = self.cuts.encoded
        score = [Fraction(float(s)) for s in self.cuts.tree.scores(encoded.encode(row)[None])[0]]
        size = [[max(-s, Fraction(0)), max(s, Fraction(0))] for s in score]
        return [
            max(-sum((size[i][side] for i, side in leaf.parts), Fraction(leaf.constant)) for leaf in leaves)
            for leaves in self.by_class
        ]

    def signs(self, region: Region, leaf: int) -> _Signs:
        """Where the scores lie in a leaf."""
        tree, slack = self.cuts.tree, self.cuts.slack
        low, high = (least_on_box(tree.weight, *ends) + tree.bias for ends in _both_ways(region))
        room = 2 * (len(region.lower) + 4) * slack
        low, high = low - room, high + room
        right = np.zeros(tree.n_splits, dtype=bool)
        for i, side in self.cuts.steps_to(~leaf):
            if side == RIGHT:
                low[i], right[i] = max(low[i], 0.0), True
            else:
                high[i] = min(high[i], 0.0)
        return _Signs(np.minimum(low, high), np.maximum(low, high), right)

    def ranges(self, region: Region, leaf: int) -> list[_Interval]:
        """Where the logits lie in a leaf; that of its own class is 0."""
        signs, own = self.signs(region, leaf), int(self.cuts.tree.leaf_class[leaf])
        found = []
        for k, leaves in enumerate(self.by_class):
            ends = [signs.logit(other) for other in leaves]
            high = max(end.high for end in ends)
            is_open = all(end.is_open for end in ends if end.high == high)
            found.append(_Interval(0.0, 0.0) if k == own else _Interval(max(e.low for e in ends), high, is_open))
        return found

    def parts(self, region: Region, leaf: int, atoms: Atoms) -> Iterable[_LogitPart]:
        """For classes whose logit is to be large, one leaf each that attains it."""
        own, signs = int(self.cuts.tree.leaf_class[leaf]), self.signs(region, leaf)
        large = sorted({k for atom in atoms for k, factor in atom.terms if factor < 0 and k != own})
        small = frozenset(k for atom in atoms for k, factor in atom.terms if factor > 0 and k != own) - set(large)
        outputs = self.ranges(region, leaf)

        def may_hold(chosen: dict[int, _Leaf]) -> bool:
            known = [signs.logit(chosen[k]) if k in chosen else interval for k, interval in enumerate(outputs)]
            return _settle_all(atoms, known) is not False

        leaves = [[one for one in self.by_class[k] if may_hold({k: one})] for k in large]
        for chosen in itertools.product(*leaves):
            pairs = dict(zip(large, chosen))
            if may_hold(pairs):
                yield _LogitPart(self, region, atoms, signs, pairs, small, outputs)


class _Signs(NamedTuple):
    """Ends of all computed scores."""

    low: Floats
    high: Floats
    is_right: Bools
    """Scores that are strictly positive."""

    def ends(self, split: int, side: int) -> tuple[float, float]:
        """Ends of the positive (1) or negative (0) part of a score."""
        low, high = float(self.low[split]), float(self.high[split])
        return (max(low, 0.0), max(high, 0.0)) if side else (max(-high, 0.0), max(-low, 0.0))

    def logit(self, leaf: _Leaf) -> _Interval:
        """Where the logit of a leaf lies."""
        ends = [self.ends(*part) for part in leaf.parts]
        low, high = (sum((Fraction(end[k]) for end in ends), Fraction(leaf.constant)) for k in (0, 1))
        is_open = any(side == 1 and self.is_right[i] and self.low[i] <= 0 for i, side in leaf.parts)
        return _Interval(-round_up(high), -round_down(low), is_open)


@dataclass(frozen=True, eq=False)
class _LogitPart:
    """A part of a leaf in which some signs of scores are known.

    Variables are the features, the negative and the positive part of each score that takes part, and the logits that
    are to be small; those are at least the logits of their leaves, which is all that an atom needs.
    """

    logits: _Logits
    region: Region
    atoms: Atoms
    signs: _Signs
    chosen: dict[int, _Leaf]
    small: frozenset[int]
    outputs: list[_Interval]
    is_whole: bool = False
    """Whether logits that are to be small take part: they need all splits of their leaves."""

    def _splits(self) -> list[int]:
        leaves = list(self.chosen.values())
        if self.is_whole:
            leaves += [leaf for k in self.small for leaf in self.logits.by_class[k]]
        return sorted({i for leaf in leaves for i, _ in leaf.parts})

    def polytope(self) -> Polytope:
        """The region, the scores and the atoms as rows."""
        cuts, base = self.logits.cuts, self.logits.cuts.polytope(self.region)
        d, splits = len(base.lower), self._splits()
        place = {(i, side): d + 2 * n + side for n, i in enumerate(splits) for side in (0, 1)}
        logit = {k: d + 2 * len(splits) + n for n, k in enumerate(sorted(self.small))} if self.is_whole else {}
        width = d + len(place) + len(logit)
        lower, upper = np.zeros(width), np.zeros(width)
        lower[:d], upper[:d] = base.lower, base.upper
        for part, column in place.items():
            lower[column], upper[column] = self.signs.ends(*part)
        for k, column in logit.items():
            lower[column], upper[column] = max(self.outputs[k].low, -1e300), self.outputs[k].high
        rows, bound = [np.column_stack([base.rows, np.zeros((len(base.rows), width - d))])], [*base.bound]
        for i in splits:
            row = np.zeros(width)
            row[:d] = cuts.tree.weight[i]
            row[place[i, 0]], row[place[i, 1]] = 1.0, -1.0
            rows += [row, -row]  # the score that is computed lies near the real one
            bound += [cuts.left[i], cuts.right[i]]
            low, high = float(self.signs.low[i]), float(self.signs.high[i])
            if low < 0 < high:  # one of the two parts is 0
                row = np.zeros(width)
                row[place[i, 0]], row[place[i, 1]] = high, -low
                rows, bound = [*rows, row], [*bound, np.nextafter(-low * high, np.inf)]
        for k, column in logit.items():
            for leaf in self.logits.by_class[k]:
                row = np.zeros(width)
                row[column] = -1.0
                for part in leaf.parts:
                    row[place[part]] -= 1.0
                rows, bound = [*rows, row], [*bound, float(leaf.constant)]
        most = np.maximum(np.abs(lower), np.abs(upper))
        for atom in self.atoms:
            factors: dict[int, Fraction] = {}
            end = atom.bound
            if not self.is_whole and any(k in self.small for k, _ in atom.terms):
                continue
            for k, factor in atom.terms:
                if k in self.chosen:
                    end += factor * self.chosen[k].constant
                    for part in self.chosen[k].parts:
                        factors[place[part]] = factors.get(place[part], Fraction(0)) - factor
                elif k in logit:
                    factors[logit[k]] = factor
            written, allowed = _row(width, factors, end, most)
            rows, bound = [*rows, written], [*bound, allowed]
        return Polytope(np.vstack(rows), np.array(bound), lower, upper)

    def halves(self, point: Floats) -> list[_LogitPart]:
        """Split the sign of the score whose two parts are both largest at a point."""
        d = len(self.region.lower)
        found = []
        for n, i in enumerate(self._splits()):
            if self.signs.low[i] < 0 < self.signs.high[i]:
                found.append((float(point[d + 2 * n : d + 2 * n + 2].min()), i))
        both, i = max(found, default=(0.0, -1))
        if self.small and not self.is_whole and both <= 0:
            return [replace(self, is_whole=True)]
        if i < 0:
            return []
        low, high = self.signs.low.copy(), self.signs.high.copy()
        low[i], high[i] = 0.0, 0.0
        return [replace(self, signs=signs) for signs in (self.signs._replace(high=high), self.signs._replace(low=low))]


def _both_ways(region: Region) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    return (region.lower, region.upper), (region.upper, region.lower)
