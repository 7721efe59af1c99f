"""One step of the loop, derived for a branch: observe, walk down the tree, act, go on.

Each term of a formula becomes a form of the branch's columns:

- sums and multiples are forms themselves;
- a product, a quotient, sin, cos, tanh and squares get a column of their own, between lines that hold on the intervals
  of their arguments: the four planes of McCormick for a product, parallel lines for a curve
  (:mod:`dtsemnet.verify.closed_loop.elementary`);
- a maximum, a choice, and a split of the tree fork the branch, unless one side is plain from the box. Both sides
  are closed half-spaces, widened by the rounding of what is compared, so a tie is on both.

Below a node whose leaves all answer the same the walk stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Model, TanhScale
from dtsemnet.verify.closed_loop.branches import CURVED_ROUND, ROUND, ROUND_32, Branch, Form, OutOfRange
from dtsemnet.verify.closed_loop.elementary import lines_around
from dtsemnet.verify.closed_loop.expressions import Expression, maximum, minimum, symbol, tanh
from dtsemnet.verify.closed_loop.ledger import Judge
from dtsemnet.verify.closed_loop.system import StateSet, System
from dtsemnet.verify.proof.regions import leaves_below, rounding_bound

__all__ = ["Derivation"]

LEAST_DENOMINATOR = 1e-6


class Derivation:
    """Derives what a policy and a system do to a branch, asking a judge.

    Parameters
    ----------
    policy : Tree, Model or fitted estimator
    system : System
    judge : Judge
    """

    def __init__(self, policy: Model, system: System, judge: Judge) -> None:
        self.model, self.system, self.judge = policy, system, judge
        self.tree = policy.tree
        check_policy(policy, system)
        columns = policy.encoder.columns
        seen = system.observation
        self.features: list[Expression] = []
        for column, term in zip(columns, seen):
            term = term if column.center == 0 else term - column.center
            term = term if column.scale == 1 else term * column.scale
            self.features.append(_clipped(term, *column.bounds))
        self.output = tuple(symbol(f"output {k}") for k in range(self.tree.n_outputs))
        self._same = self._nodes_of_one_answer()

    def start(self, given: StateSet, record: object, time: int = 0) -> Branch:
        """The branch of all states of a set."""
        n = len(given.lower)
        point = None if len(given.rows) else given.lower / 2 + given.upper / 2
        branch = Branch(
            given.lower.copy(), given.upper.copy(), np.zeros((0, n)), np.zeros(0), record, time, point=point
        )
        forms = {term: Form(row) for term, row in zip(self.system.x, np.eye(n))}
        branch = replace(branch, forms=forms, node=self._root)
        pairs = [(Form(row), bound) for row, bound in zip(given.rows, given.bound.tolist())]
        return branch.require(*pairs) if pairs else branch

    def state(self, branch: Branch) -> list[Form]:
        """The entries of the state."""
        return [branch.forms[term] for term in self.system.x]

    def along(self, branch: Branch, row: Floats) -> Form:
        """A linear function of the state."""
        used = np.flatnonzero(row)
        forms = self.state(branch)
        return branch.combine(row[used], [forms[k] for k in used]) if len(used) else Form(np.zeros(0))

    def step(self, branch: Branch) -> Iterator[Branch]:
        """The branches of the next step."""
        for seen in self._settle(branch, self.features):
            for arrived in self._walk(seen):
                for acted in self._act(arrived):
                    for done in self._settle(self._disturb(acted), self.system.next):
                        yield self._advance(done)

    @property
    def _root(self) -> int:
        return 0 if self.tree.n_splits else -1

    def _advance(self, branch: Branch) -> Branch:
        forms = {term: branch.forms[formula] for term, formula in zip(self.system.x, self.system.next)}
        for form in forms.values():
            branch.rounded(form, 0.0)  # refuses numbers that grow without bound
        leaves = (*branch.leaves, branch.node)
        return replace(branch, forms=forms, chosen={}, time=branch.time + 1, node=self._root, leaves=leaves)

    def _disturb(self, branch: Branch) -> Branch:
        """Add the columns of the disturbances."""
        forms, numbers = dict(branch.forms), []
        for term, low, high in zip(self.system.w, *self.system.disturbance_box):
            numbers.append(len(branch.lower))
            branch, forms[term] = branch.with_column(low, high, low / 2 + high / 2)
        disturbances = (*branch.disturbances, np.array(numbers, dtype=np.int64))
        return replace(branch, forms=forms, disturbances=disturbances)

    def _nodes_of_one_answer(self) -> dict[int, tuple[float, ...]]:
        """Nodes whose leaves all answer the same constant, with the action that it means."""
        if self.tree.coef is not None:
            return {}
        value = self.tree.value
        if self.system.actions is not None:
            labels = [self.model.class_names[k] for k in self.tree.leaf_class]  # type: ignore[index]
            answers = [self.system.actions[label] for label in labels]
        else:
            low, high = self.tree.guard
            answers = [tuple(row) for row in np.clip(value, low, high).tolist()]
        found = {}
        for node in [*range(self.tree.n_splits), *(~leaf for leaf in range(self.tree.n_leaves))]:
            below = {answers[leaf] for leaf in leaves_below(self.tree, node)}
            if len(below) == 1:
                found[node] = below.pop()
        return found

    def _walk(self, branch: Branch) -> Iterator[Branch]:
        """Go down the tree."""
        forms = [branch.forms[term] for term in self.features]
        ends = np.array([branch.interval(form) for form in forms])
        slack = rounding_bound(self.tree.weight, self.tree.bias, ends[:, 0], ends[:, 1])
        todo = [branch]
        while todo:
            here = todo.pop()
            if here.node < 0 or here.node in self._same:
                yield here
                continue
            i = here.node
            weight, bias = self.tree.weight[i], float(self.tree.bias[i])
            used = np.flatnonzero(weight)
            left, right = (int(child) for child in self.tree.topology.children[i])
            if not len(used):
                todo.append(replace(here, node=right if bias > 0 else left))
                continue
            score = here.combine(weight[used], [forms[k] for k in used], bias)
            score = here.rounded(score._replace(error=score.error + float(slack[i])), 0.0)
            low, high = here.interval(score)
            if low > 0 or high <= 0:
                self.judge.note(here, "only", int(low <= 0))
                todo.append(replace(here, node=right if low > 0 else left))
                continue
            negative = here.combine([-1.0], [score])
            sides = [replace(here.require((negative, 0.0)), node=right), replace(here.require((score, 0.0)), node=left)]
            todo += self.judge.fork(here, sides)

    def _act(self, branch: Branch) -> Iterator[Branch]:
        """Say what the actions are."""
        if branch.node in self._same and not isinstance(self.model.output, TanhScale):
            yield self._with_actions(branch, [Form(np.zeros(0), u) for u in self._same[branch.node]])
            return
        if branch.node in self._same:
            outputs = [Form(np.zeros(0), value) for value in self._same[branch.node]]
            leaf = leaves_below(self.tree, branch.node).start
        else:
            leaf = ~branch.node
            outputs = self._linear_outputs(branch, leaf)
        for term, form in zip(self.output, outputs):
            branch = branch.with_form(term, form)
        answers = self._answers(leaf, is_constant=branch.node in self._same)
        for done in self._settle(branch, answers):
            yield self._with_actions(done, [done.forms[term] for term in answers])

    def _with_actions(self, branch: Branch, actions: list[Form]) -> Branch:
        return replace(branch, forms={**branch.forms, **dict(zip(self.system.u, actions))})

    def _linear_outputs(self, branch: Branch, leaf: int) -> list[Form]:
        """What the linear models of a leaf compute."""
        assert self.tree.coef is not None
        forms = [branch.forms[term] for term in self.features]
        ends = np.array([branch.interval(form) for form in forms])
        coef, value = self.tree.coef[leaf], self.tree.value[leaf]
        slack = rounding_bound(coef, value, ends[:, 0], ends[:, 1])
        found = []
        for weights, const, error in zip(coef, value.tolist(), slack.tolist()):
            form = branch.combine(weights, forms, const)
            found.append(form._replace(error=form.error + error))
        return found

    def _answers(self, leaf: int, *, is_constant: bool) -> list[Expression]:
        """The formulas from the outputs of a leaf to the answer of the model."""
        answers: list[Expression] = []
        low, high = self.tree.guard
        for k, term in enumerate(self.output):
            answer = term
            if not is_constant:
                answer = _clipped(answer, float(low[leaf, k]), float(high[leaf, k]))
            if isinstance(self.model.output, TanhScale):
                least, most = self.model.output.low[k], self.model.output.high[k]
                answer = least + (tanh(answer) + 1.0) / 2.0 * (most - least)
            answers.append(answer)
        return answers

    def _settle(self, branch: Branch, targets: list[Expression] | tuple[Expression, ...]) -> Iterator[Branch]:
        """Give forms to all terms that some formulas need, forking where a choice is open."""
        todo = [branch]
        while todo:
            here = todo.pop()
            term = _next_term(targets, here)
            if term is None:
                yield here
            else:
                todo += self._one(here, term)

    def _one(self, branch: Branch, term: Expression) -> list[Branch]:
        """Give a form to one term whose parts have forms."""
        kind = term.operation
        if term in branch.chosen:
            return [branch.with_form(term, branch.forms[branch.chosen[term]])]
        if kind == "constant":
            return [branch.with_form(term, Form(np.zeros(0), term.number))]
        if kind == "maximum":
            return self._choose(branch, term, *term.parts, *term.parts)
        if kind == "where":
            return self._choose(branch, term, *term.parts)
        forms = [branch.forms[part] for part in term.parts]
        if kind in ("add", "subtract"):
            total = branch.combine([1.0, 1.0 if kind == "add" else -1.0], forms)
            return [branch.with_form(term, branch.rounded(total))]
        if kind == "float64":
            return [branch.with_form(term, branch.rounded(forms[0]))]
        if kind == "float32":
            # Numbers below the least normal one of 32 bits are rounded by at most 2^-149.
            cast = branch.rounded(forms[0], ROUND_32)
            return [branch.with_form(term, cast._replace(error=cast.error + 2.0**-149))]
        if kind == "multiply":
            branch, form = self._product(branch, *forms, is_square=term.parts[0] is term.parts[1])
        elif kind == "divide":
            branch, form = self._quotient(branch, *forms)
        else:
            branch, form = self._curve(branch, kind, forms[0], CURVED_ROUND)
        return [branch.with_form(term, form)]

    def _choose(
        self, branch: Branch, term: Expression, left: Expression, right: Expression, yes: Expression, no: Expression
    ) -> list[Branch]:
        """Take ``yes`` if ``left > right``, else ``no``; those need forms only once they are chosen."""
        difference = branch.combine([1.0, -1.0], [branch.forms[left], branch.forms[right]])
        low, high = branch.interval(difference)
        if low > 0 or high <= 0:
            self.judge.note(branch, "only", int(low <= 0))
            return [branch.with_choice(term, yes if low > 0 else no)]
        negative = branch.combine([-1.0], [difference])
        above, below = branch.require((negative, 0.0)), branch.require((difference, 0.0))
        return self.judge.fork(branch, [above.with_choice(term, yes), below.with_choice(term, no)])

    def _product(self, branch: Branch, a: Form, b: Form, *, is_square: bool) -> tuple[Branch, Form]:
        """A multiple, a square, or a column between the four planes that bound a product on a box."""
        if a.is_constant or b.is_constant:
            self.judge.note(branch, "scale", int(b.is_constant))
            a, b = (b, a) if b.is_constant else (a, b)
            return branch, branch.rounded(self._multiple(branch, a.const, a.error, b))
        if is_square:
            return self._curve(branch, "square", a, ROUND)
        (a_low, a_high), (b_low, b_high) = self.judge.bounds(branch, a), self.judge.bounds(branch, b)
        corners = [x * y for x in (a_low, a_high) for y in (b_low, b_high)]
        extra = 2 * ROUND * max(map(abs, corners)) + 2.0**-1000
        point = None if branch.point is None else (branch.value(a) or 0.0) * (branch.value(b) or 0.0)
        branch, y = branch.with_column(min(corners) - extra, max(corners) + extra, point)
        rows = []
        for x, z in ((a_low, b_low), (a_high, b_high)):  # (a - x)(b - z) >= 0
            rows.append((branch.combine([z, x, -1.0], [a, b, y]), x * z + extra))
        for x, z in ((a_low, b_high), (a_high, b_low)):  # (a - x)(b - z) <= 0
            rows.append((branch.combine([-z, -x, 1.0], [a, b, y]), -x * z + extra))
        return branch.require(*rows), y

    def _multiple(self, branch: Branch, factor: float, doubt: float, form: Form) -> Form:
        """A form times a number that is known up to a doubt."""
        low, high = branch.interval(form)
        total = branch.combine([factor], [form])
        return total._replace(error=total.error + doubt * max(abs(low), abs(high)) * (1 + 1e-9))

    def _quotient(self, branch: Branch, a: Form, b: Form) -> tuple[Branch, Form]:
        """Divide: multiply by the reciprocal."""
        if b.is_constant and abs(b.const) > LEAST_DENOMINATOR and b.error < 1e-9 * abs(b.const):
            self.judge.note(branch, "scale", 1)
            factor = 1.0 / b.const
            doubt = abs(factor) * (2 * b.error / abs(b.const) + ROUND)
            return branch, branch.rounded(self._multiple(branch, factor, doubt, a))
        branch, reciprocal = self._curve(branch, "reciprocal", b, ROUND)
        return self._product(branch, a, reciprocal, is_square=False)

    def _curve(self, branch: Branch, function: str, form: Form, share: float) -> tuple[Branch, Form]:
        """A column between parallel lines; computed, the function is wrong by a share of its largest value."""
        low, high = self.judge.bounds(branch, form)
        if function == "reciprocal" and not (low > LEAST_DENOMINATOR or high < -LEAST_DENOMINATOR):
            raise OutOfRange(f"a denominator may lie between {low:g} and {high:g}; keep it away from 0.")
        level, *others = lines = lines_around(function, low, high)
        self.judge.note(branch, "lines", *lines)
        extra = share * max(abs(level.least), abs(level.most)) * (1 + 1e-9)
        at = branch.value(form)
        value = None if at is None else _VALUES[function](min(max(at, low), high))
        branch, y = branch.with_column(level.least - 2 * extra, level.most + 2 * extra, value)
        rows = []
        for line in others:
            above = branch.combine([1.0, -line.slope], [y, form])
            below = branch.combine([-1.0, line.slope], [y, form])
            rows += [(above, line.most + extra), (below, -line.least + extra)]
        return (branch.require(*rows) if rows else branch), y


def check_policy(policy: Model, system: System) -> None:
    """Refuse a policy that does not fit a system."""
    columns = policy.encoder.columns
    if len(columns) != len(system.observation):
        raise ValueError(
            f"policy reads {len(columns)} columns, but the system shows {len(system.observation)} numbers."
        )
    for column in columns:
        if column.categories is not None or column.has_indicator:
            raise ValueError(
                f"policy reads column {column.name!r} as categories or with a missing mark; a system shows numbers."
            )
    if policy.class_names is not None:
        if system.actions is None:
            raise ValueError("system needs actions for a classifier: a mapping of its classes to numbers.")
        for label in policy.class_names:
            if label not in system.actions:
                raise ValueError(f"actions of the system do not say what class {label!r} does.")
    elif system.actions is not None:
        raise ValueError(
            "system has actions for the classes of a classifier, but policy is a regressor; leave them out."
        )
    elif policy.tree.n_outputs != len(system.u):
        raise ValueError(f"policy has {policy.tree.n_outputs} outputs, but the system takes {len(system.u)} actions.")


def _clipped(term: Expression, low: float, high: float) -> Expression:
    """A formula moved between ends, which may be infinite."""
    term = maximum(term, low) if np.isfinite(low) else term
    return minimum(term, high) if np.isfinite(high) else term


def _next_term(targets: Sequence[Expression], branch: Branch) -> Expression | None:
    """The next term to give a form to: its parts have forms, and a target needs it."""
    for target in targets:
        term, missing = target, target not in branch.forms
        while missing:
            if term in branch.chosen:
                needed: Sequence[Expression] = (branch.chosen[term],)
            else:
                needed = term.parts[:2] if term.operation == "where" else term.parts
            part = next((part for part in needed if part not in branch.forms), None)
            if part is None:
                return term
            term = part
    return None


_VALUES: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
}
"""Proposals for the point of a branch."""
