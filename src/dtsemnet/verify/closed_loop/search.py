"""The search for a proof about a loop, or for a trace that breaks the claim.

First some thousand traces are simulated: a claim that one of them breaks needs no proof. Then the branches of the
initial set are followed step by step. If there are too many of them, or they have become too long, they are *merged*:
branches that lie close together are enclosed in a polytope, a cell, whose half-spaces follow the axes and the longest
directions of what it encloses, and the search goes on from the cells. A merged cell forgets which states were possible
together, so merging as late as possible proves most.

If a branch may break the claim, the point at which it does so worst is tried out as a trace. If that trace keeps the
claim, the enclosure is too coarse: the initial set is cut in two, and both parts are searched anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Model
from dtsemnet.verify.closed_loop.branches import Branch, OutOfRange
from dtsemnet.verify.closed_loop.derivation import Derivation
from dtsemnet.verify.closed_loop.file import save_loop_proof
from dtsemnet.verify.closed_loop.ledger import OutOfTime, Prover, sparse
from dtsemnet.verify.closed_loop.proofs import Cell, Claim, LoopProof, cut_in_two, examine
from dtsemnet.verify.closed_loop.system import StateSet, System, Trace
from dtsemnet.verify.proof.linear_programs import interior, minimise
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = ["LoopAnswer", "Options", "Progress", "search", "simulated_break"]

N_TRACES, N_STEPS = 4096, 200_000
"""Traces that are simulated before the search, and about how many steps all of them may have."""
Progress = Callable[[float, int], None]
"""Called with the share of the initial set that is decided, and the number of branches followed."""


@dataclass(frozen=True)
class Options:
    """How the search goes about."""

    max_branches: int = 64
    """Branches are merged when there are more of them."""
    max_cells: int = 16
    """The most cells that branches are merged into."""
    window: int = 8
    """Branches are merged, if need be each by itself, when they are this many steps long."""
    max_parts: int = 400
    """The most parts that the initial set is cut into."""
    directions: Floats | None = None
    """Further directions of the half-spaces of cells, one per row."""
    seed: int = 0
    """Seed of the traces that are simulated first."""

    def __post_init__(self) -> None:
        for name in ("max_branches", "max_cells", "window", "max_parts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}.")


@dataclass(frozen=True, eq=False)
class LoopAnswer:
    """Yes with a proof, no with a trace, or undecided."""

    status: Literal["yes", "no", "undecided"]
    proof: LoopProof | None = None
    """For "yes"."""
    trace: Trace | None = None
    """For "no": what happens in doubles."""
    n_programs: int = 0
    """Linear programs solved."""
    n_branches: int = 0
    """Branches followed, summed over steps."""
    n_parts: int = 1
    """Parts that the initial set was cut into."""
    share_decided: float = 0.0
    """Share of the initial box from which the claim is proved."""
    reason: str = ""
    """For "undecided": what stands in the way."""
    asked: tuple[Model, System, Claim] | None = field(default=None, repr=False)

    def save_proof(self, path: str | PathLike[str]) -> Path:
        """Write a proof file of the loop (:mod:`dtsemnet.verify.closed_loop.file`), for ``dtsemnet-check``."""
        return save_loop_proof(path, self.asked, self.proof, self.trace)

    def __bool__(self) -> bool:
        return self.status == "yes"

    def __str__(self) -> str:
        if self.status == "yes":
            return f"yes: proved by {self.n_branches} branches and {self.n_programs} linear programs"
        if self.trace is not None:
            return f"no: {self.trace.reason}"
        return f"undecided: proved from {self.share_decided:.1%} of the initial set; {self.reason}"


def search(
    policy: Model,
    system: System,
    claim: Claim,
    options: Options,
    deadline: Deadline,
    progress: Progress | None = None,
) -> LoopAnswer:
    """Decide a claim."""
    run = _Run(policy, system, claim, options, deadline, progress)
    trace = simulated_break(policy, system, claim, options.seed, min(N_TRACES, N_STEPS // claim.steps + 64))
    if trace is not None:
        return run.answer("no", trace=trace)
    cuts: list[Any] = []
    todo: list[tuple[StateSet, list[Any], float]] = [(claim.initial, cuts, 1.0)]
    reason, is_complete = "", True
    while todo:
        states, place, share = todo.pop()
        outcome = run.prove_part(states)
        if isinstance(outcome, Trace):
            return run.answer("no", trace=outcome)
        if isinstance(outcome, int):
            place.append(outcome)
            run.share_decided += share
            continue
        reason = reason or outcome.reason
        k = outcome.widest(states, claim.initial)
        at = float(states.lower[k] / 2 + states.upper[k] / 2)
        if deadline.is_over:
            return run.answer("undecided", reason="the time limit is over")
        if run.n_parts < options.max_parts and not outcome.is_thin and states.lower[k] < at < states.upper[k]:
            halves: tuple[list[Any], list[Any]] = ([], [])
            place += [k, at, *halves]
            todo += zip(cut_in_two(states, k, at), halves, (share / 2, share / 2))
            run.n_parts += 1
        else:
            is_complete = False
    if not is_complete:
        return run.answer("undecided", reason=reason)
    return run.answer("yes", proof=LoopProof(policy, system, claim, cuts, run.cells, run.prover.records))


def simulated_break(
    policy: Model, system: System, claim: Claim, seed: int = 0, n_traces: int = N_TRACES
) -> Trace | None:
    """Look for a trace that breaks a claim among random ones, many of them at the ends of sets and disturbances."""
    rng = np.random.default_rng(seed)
    X = _draw_states(claim.initial, rng, n_traces)
    low, high = system.disturbance_box
    held = rng.random((3, len(X), len(low)))
    W = np.empty((claim.steps, len(X), len(low)))
    for t in range(claim.steps):
        share = rng.random((len(X), len(low)))
        share[0::3] = np.round(held[0, 0::3])  # one end, always the same
        share[1::3] = np.round(share[1::3])  # one end or the other
        W[t] = low + share * (high - low)
    starts, alive = X.copy(), np.arange(len(X))
    for t in range(claim.steps + 1):
        here = X[alive]
        broken = np.zeros(len(alive), dtype=bool) if claim.safe is None else ~claim.safe.holds(here)
        if claim.goal is not None:
            arrived = claim.goal.holds(here) if t >= claim.goal_from else np.zeros(len(alive), dtype=bool)
            broken |= ~arrived & (t == claim.steps)
        for k in alive[broken][:8]:
            trace = confirmed_break(policy, system, claim, starts[k], W[:, k])
            if trace is not None:
                return trace
        keep = ~broken if claim.goal is None else ~broken & ~arrived
        alive = alive[keep & np.isfinite(here).all(axis=1)]  # a trace that overflows ends
        if t == claim.steps or not len(alive):
            return None
        X[alive] = system.step(X[alive], system.act(policy, X[alive])[1], W[t, alive])
    return None


def confirmed_break(policy: Model, system: System, claim: Claim, x: Floats, W: Floats) -> Trace | None:
    """Return the trace from a state if it starts in the initial set and breaks the claim."""
    if not claim.initial.contains(x):
        return None
    trace = system.simulate(policy, x, W)
    found = claim.breaks_at(trace.states)
    if found is None:
        return None
    k, reason = found
    return replace(
        trace, states=trace.states[: k + 1], answers=trace.answers[:k], actions=trace.actions[:k],
        disturbances=trace.disturbances[:k], reason=reason,
    )  # fmt: skip


@dataclass(frozen=True)
class _Failure:
    """Why a part of the initial set was not decided."""

    reason: str
    slope: Floats | None = None
    """How strongly what may break the claim depends on each entry of the first state."""
    is_thin: bool = False
    """Whether a cut would not help."""

    def widest(self, states: StateSet, whole: StateSet) -> int:
        """The coordinate to cut."""
        width = states.upper - states.lower
        relative = width / np.maximum(whole.upper - whole.lower, 1e-300)
        if self.slope is None or not (np.abs(self.slope) * width).any():
            return int(np.argmax(relative))
        pull = np.abs(self.slope) * width
        # A narrow side is cut only if it matters much: what curves is not seen in the slope.
        return int(np.argmax(pull / pull.max() + relative / relative.max()))


class _Run:
    """The state of a search: the proof so far."""

    def __init__(
        self, policy: Model, system: System, claim: Claim, options: Options, deadline: Deadline,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.policy, self.system, self.claim, self.options, self.progress = policy, system, claim, options, progress
        self.prover = Prover([], deadline)
        self.derivation = Derivation(policy, system, self.prover)
        self.cells: list[Cell] = []
        self.n_branches, self.n_parts, self.share_decided = 0, 1, 0.0

    def answer(self, status: Literal["yes", "no", "undecided"], **parts: Any) -> LoopAnswer:
        """Say what came out."""
        return LoopAnswer(
            status,
            n_programs=self.prover.n_programs,
            n_branches=self.n_branches,
            n_parts=self.n_parts,
            share_decided=self.share_decided,
            asked=(self.policy, self.system, self.claim),
            **parts,
        )

    def prove_part(self, states: StateSet) -> int | _Failure | Trace:
        """Follow the branches of a part of the initial set; returns the number of its cell if the claim is proved."""
        n_cells, n_records = len(self.cells), len(self.prover.records)
        try:
            outcome = self._follow(self._new_cell(states, 0))
        except OutOfTime:
            outcome = _Failure("the time limit is over")
        except OutOfRange as error:
            outcome = _Failure(str(error))
        if outcome is None:
            return n_cells
        del self.cells[n_cells:], self.prover.records[n_records:]
        return outcome

    def _new_cell(self, states: StateSet, time: int) -> Branch:
        self.cells.append(Cell(states, time, self.prover.new_record()))
        return self.derivation.start(states, self.cells[-1].record, time)

    def _follow(self, first: Branch) -> _Failure | Trace | None:
        frontier = [first]
        while frontier:
            self.n_branches += len(frontier)
            alive: list[Branch] = []
            for branch in frontier:
                examined = examine(self.derivation, self.claim, branch)
                if examined.broken is not None:
                    return self._try_out(branch, examined.broken)
                alive += examined.parts
            if self.progress is not None:
                self.progress(self.share_decided, self.n_branches)
            if not alive or alive[0].time == self.claim.steps:
                return None
            length = max(len(branch.leaves) for branch in alive)
            if length and (len(alive) > self.options.max_branches or length >= self.options.window):
                alive = self._merge(alive)
            frontier = [after for branch in alive for after in self.derivation.step(branch)]
        return None

    def _try_out(self, branch: Branch, broken: Branch) -> _Failure | Trace:
        """Try the points at which a branch breaks the claim as traces."""
        row = broken.rows[-1]
        is_first = branch.time == len(branch.leaves)
        reason = f"step {branch.time} may break it"
        if not is_first:
            return _Failure(reason)
        inside, worst = interior(broken.polytope), minimise(row, broken.polytope)
        points = [solution.point for solution in (inside, worst) if solution is not None]
        if len(points) == 2:
            points += [points[0] + share * (points[1] - points[0]) for share in (0.5, 0.9, 0.99)]
        n = len(self.system.states)
        for point in points:
            low, high = self.system.disturbance_box
            W = np.tile(low / 2 + high / 2, (self.claim.steps, 1))
            for t, numbers in enumerate(branch.disturbances):
                W[t] = np.clip(point[numbers], low, high)
            trace = confirmed_break(self.policy, self.system, self.claim, point[:n], W)
            if trace is not None:
                return trace
        # What breaks a claim by a rounding does so in small parts, too.
        size = abs(broken.bound[-1]) + np.abs(row) @ broken.size
        is_thin = worst is not None and broken.bound[-1] - row @ worst.point < 1e-12 * size
        return _Failure(f"{reason} by a rounding" if is_thin else reason, None if is_thin else row[:n], is_thin)

    def _merge(self, branches: list[Branch]) -> list[Branch]:
        """Enclose branches in cells; their proofs go on there."""
        n = len(self.system.states)
        axes = np.eye(n)
        ends = [self._reach(branch, [*-axes, *axes]) for branch in branches]
        bounds = np.array([[end.bound for end in one] for one in ends])
        started = []
        for group in _clusters(np.stack([-bounds[:, :n], bounds[:, n:]], axis=1), self.options.max_cells):
            points = [end.point for k in group for end in ends[k] if end.point is not None]
            directions = _principal_directions(np.array(points).reshape(-1, n))
            if self.options.directions is not None:
                directions = np.vstack([directions, self.options.directions])
            rows = np.vstack([directions, -directions])
            for k in group:
                ends[k] += self._reach(branches[k], list(rows))
            most = np.max([[end.bound for end in ends[k]] for k in group], axis=0)
            states = StateSet(-most[:n], most[n : 2 * n], rows, most[2 * n :])
            number = len(self.cells)
            started.append(self._new_cell(states, branches[0].time))
            for k in group:
                self.prover.write(branches[k], "cell", number, *(end.multipliers for end in ends[k]))
        return started

    def _reach(self, branch: Branch, rows: list[Floats]) -> list[_End]:
        """How far a branch reaches in some directions of the state."""
        forms = [self.derivation.along(branch, row) for row in rows]
        found = []
        for form, solution in zip(forms, self.prover.largest(branch, [(form, 1.0) for form in forms])):
            multipliers = None if solution is None else sparse(solution.multiplier)
            point = None
            if solution is not None:
                state = self.derivation.state(branch)
                point = np.array([branch.padded(one) @ solution.point + one.const for one in state])
            found.append(_End(self.prover.proved_most(branch, form, multipliers), multipliers, point))
        return found


class _End(NamedTuple):
    """How far a branch reaches in a direction, why, and where."""

    bound: float
    multipliers: list[list[Any]] | None
    point: Floats | None


def _clusters(boxes: Floats, most: int) -> list[list[int]]:
    """Group boxes of shape (n, 2, n_states) that lie close together, by halving the widest group at its median."""
    whole = np.maximum(boxes[:, 1].max(axis=0) - boxes[:, 0].min(axis=0), 1e-300)
    groups = [list(range(len(boxes)))]

    def width(group: list[int]) -> Floats:
        spread: Floats = (boxes[group, 1].max(axis=0) - boxes[group, 0].min(axis=0)) / whole
        return spread

    while len(groups) < most:
        open_groups = [group for group in groups if len(group) > 1]
        if not open_groups:
            break
        group = max(open_groups, key=lambda one: float(width(one).max()))
        groups.remove(group)
        centers = boxes[group].mean(axis=1)[:, int(np.argmax(width(group)))]
        order = [group[k] for k in np.argsort(centers, kind="stable")]
        groups += [order[: len(order) // 2], order[len(order) // 2 :]]
    return groups


def _principal_directions(points: Floats) -> Floats:
    """The directions in which points spread most and least, in units of their spread along the axes."""
    n = points.shape[1]
    width = np.ptp(points, axis=0) if len(points) else np.zeros(n)
    if n == 1 or not (width > 0).all():
        return np.zeros((0, n))
    _, _, axes = np.linalg.svd((points - points.mean(axis=0)) / width)
    oblique = np.abs(axes).max(axis=1) < 0.999
    return np.asarray(axes[oblique] / width)


def _draw_states(states: StateSet, rng: np.random.Generator, n: int) -> Floats:
    """Random states of a set, half of them with entries at the ends of the box."""
    share = rng.random((n, len(states.lower)))
    ends = rng.random(share.shape) < 0.5
    share[::2] = np.where(ends[::2], np.round(share[::2]), share[::2])
    X = states.lower + share * (states.upper - states.lower)
    X = np.clip(X, states.lower, states.upper)
    if len(states.rows):
        corners = [minimise(cost, states.polytope) for cost in rng.normal(size=(32, len(states.lower)))]
        points = [solution.point for solution in corners if solution is not None]
        middle = np.mean(points, axis=0) if points else states.lower
        mixed = [middle + 0.999999 * (point - middle) for point in points]
        X = np.vstack([X, *mixed]) if points else X
        X = X[states.holds(X)]
    return X
