"""Systems that a policy controls: what it sees, what its actions are, and how the state goes on.

    observation = observe(state)
    action      = policy(observation)
    next state  = step(state, action, disturbance),     the disturbance anywhere in its box

``step`` and ``observe`` are Python functions of formulas (:mod:`dtsemnet.verify.closed_loop.expressions`). They are
called once; then the same formulas are simulated in doubles and enclosed by proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Model
from dtsemnet.verify.closed_loop.expressions import Expression, evaluate, float32, float64, read_formula, symbol
from dtsemnet.verify.proof.certificates import Polytope, exact_dot
from dtsemnet.verify.proof.domain import Domain

__all__ = ["StateSet", "System", "Trace"]

Symbols = Sequence[Expression]
Ends = Mapping[str, tuple[float, float]]


class System:
    """A discrete-time system in closed loop with a policy.

    Parameters
    ----------
    step : callable
        ``step(x, u, w)`` returns the entries of the next state as formulas of the state ``x``, the action ``u`` and the
        disturbance ``w``, which are sequences of symbols.
    states : sequence of str
        Names of the entries of the state.
    actions : mapping of class to number or numbers, optional
        What each class of a classifier does: the entries of ``u``. Needed for classifiers; the outputs of a regressor
        are ``u``.
    disturbance : mapping of name to (low, high), optional
        The box that disturbances come from, anew at each step.
    observe : callable, optional
        ``observe(x)`` returns what the policy sees, as formulas; by default the state.
    observed_as : {"float64", "float32"}, default="float64"
        The doubles that the policy sees are rounded to 32 bits, as those of most environments are.

    Examples
    --------
    >>> def step(x, u, w):
    ...     return [x[0] + 0.1 * x[1], x[1] + 0.1 * (u[0] + w[0])]
    >>> System(step, ["position", "speed"], actions={"left": -1.0, "right": 1.0}, disturbance={"wind": (-0.1, 0.1)})
    System(position, speed; 2 actions; disturbance wind)
    """

    def __init__(
        self,
        step: Callable[[Symbols, Symbols, Symbols], Sequence[Any]],
        states: Sequence[str],
        *,
        actions: Mapping[Any, float | Sequence[float]] | None = None,
        disturbance: Ends | None = None,
        observe: Callable[[Symbols], Sequence[Any]] | None = None,
        observed_as: str = "float64",
        n_actions: int = 1,
    ) -> None:
        self.states = tuple(states)
        if isinstance(states, str) or not self.states or len(set(self.states)) < len(self.states):
            raise ValueError(f"states must be distinct names, got {states!r}.")
        if observed_as not in ("float64", "float32"):
            raise ValueError(f"observed_as must be 'float64' or 'float32', got {observed_as!r}.")
        self.actions = _read_actions(actions)
        if self.actions is not None:
            n_actions = len(next(iter(self.actions.values())))
        self.disturbance = {name: _ends("disturbance", name, ends) for name, ends in (disturbance or {}).items()}
        self.x = tuple(symbol(name) for name in self.states)
        self.u = tuple(symbol(f"action {k}") for k in range(n_actions))
        self.w = tuple(symbol(name) for name in self.disturbance)
        self.next = _formulas("step", step(self.x, self.u, self.w), {*self.x, *self.u, *self.w})
        if len(self.next) != len(self.states):
            raise ValueError(f"step must return {len(self.states)} entries, got {len(self.next)}.")
        seen = _formulas("observe", self.x if observe is None else observe(self.x), set(self.x))
        self.observed_as = observed_as
        self.observation = tuple(map(float32 if observed_as == "float32" else float64, seen))

    @classmethod
    def affine(
        cls,
        A: ArrayLike,
        B: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        E: ArrayLike | None = None,
        disturbance: Sequence[tuple[float, float]] = (),
        states: Sequence[str] | None = None,
        **options: Any,
    ) -> System:
        """Make the system ``x' = A x + B u + E w + offset``.

        Parameters
        ----------
        A : array_like of shape (n_states, n_states)
        B : array_like of shape (n_states, n_actions)
        offset : array_like of shape (n_states,), optional
        E : array_like of shape (n_states, n_disturbances), optional
            By default the identity: one disturbance for each entry of the state.
        disturbance : sequence of (low, high)
        states : sequence of str, optional
            By default x0, x1, ...
        **options
            ``actions``, ``observe`` and ``observed_as`` of the constructor.

        Examples
        --------
        >>> System.affine([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]], actions={0: -1.0, 1: 1.0})
        System(x0, x1; 2 actions)
        """
        A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
        n = len(A)
        E = np.eye(n)[:, : len(disturbance)] if E is None else np.asarray(E, dtype=np.float64)
        shift = np.zeros(n) if offset is None else np.asarray(offset, dtype=np.float64)
        wanted = {
            "A": (A, (n, n)),
            "B": (B, (n, B.shape[-1])),
            "E": (E, (n, len(disturbance))),
            "offset": (shift, (n,)),
        }
        for name, (matrix, shape) in wanted.items():
            if matrix.shape != shape or not np.isfinite(matrix).all():
                raise ValueError(f"{name} must be finite and of shape {shape}, got shape {matrix.shape}.")

        def step(x: Symbols, u: Symbols, w: Symbols) -> list[Expression]:
            rows = np.column_stack([A, B, E]).tolist()
            return [_sum(row, (*x, *u, *w), const) for row, const in zip(rows, shift.tolist())]

        names = [f"x{k}" for k in range(n)] if states is None else states
        ends = {f"w{k}": pair for k, pair in enumerate(disturbance)}
        return cls(step, names, disturbance=ends, n_actions=B.shape[1], **options)

    @property
    def disturbance_box(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the disturbances."""
        ends = np.array([self.disturbance[name] for name in self.disturbance]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def observe(self, X: ArrayLike) -> Floats:
        """What the policy sees in states, one per row."""
        X = np.asarray(X, dtype=np.float64)
        return np.column_stack(evaluate(self.observation, dict(zip(self.x, X.T))))

    def act(self, policy: Any, X: ArrayLike) -> tuple[Array, Floats]:
        """What the policy answers in states, one per row, and the actions ``u`` that this means."""
        answer = Model.of(policy).predict(self.observe(X))
        if self.actions is None:
            return answer, np.asarray(answer, dtype=np.float64).reshape(len(answer), -1)
        return answer, np.array([self.actions[label] for label in answer.tolist()]).reshape(len(answer), -1)

    def step(self, X: ArrayLike, U: ArrayLike, W: ArrayLike | None = None) -> Floats:
        """Compute next states in doubles, one per row."""
        X, U = np.asarray(X, dtype=np.float64), np.asarray(U, dtype=np.float64)
        W = np.zeros((len(X), len(self.w))) if W is None else np.asarray(W, dtype=np.float64)
        values = dict(zip((*self.x, *self.u, *self.w), (*X.T, *U.T, *W.T)))
        with np.errstate(all="ignore"):  # a state that overflows is infinite or no number
            return np.column_stack(evaluate(self.next, values))

    def simulate(self, policy: Any, x: ArrayLike, disturbances: ArrayLike) -> Trace:
        """Follow one trace in doubles; it ends early if a state overflows, since a policy cannot see that.

        Parameters
        ----------
        policy : Tree, Model or fitted estimator
        x : array_like of shape (n_states,)
        disturbances : array_like of shape (n_steps, n_disturbances)
        """
        W = np.asarray(disturbances, dtype=np.float64)
        if W.ndim != 2 or W.shape[1] != len(self.w):
            raise ValueError(f"disturbances must have shape (n_steps, {len(self.w)}), got {W.shape}.")
        states, answers, actions = [np.asarray(x, dtype=np.float64)], [], []
        for w in W:
            if not np.isfinite(states[-1]).all():
                break
            answer, u = self.act(policy, states[-1][None])
            states.append(self.step(states[-1][None], u, w[None])[0])
            answers.append(answer[0])
            actions.append(u[0])
        n = len(answers)
        return Trace(np.array(states), np.array(answers), np.array(actions).reshape(n, -1), W[:n], self.states)

    def state_set(self, argument: str, given: Any) -> StateSet:
        """Read a set of states: a mapping of names to ends, or a Domain."""
        if isinstance(given, StateSet):
            return given
        if isinstance(given, Mapping):
            given = Domain(-np.inf, np.inf, ranges=given)
        if not isinstance(given, Domain):
            raise TypeError(f"{argument} must be a Domain or a mapping of states to (low, high), got {given!r}.")
        for name in ("integer", "fixed", "categories", "missing", "unknown"):
            if getattr(given, name):
                raise ValueError(f"{argument} is a set of real states, and takes no {name}; use ranges.")
        n = len(self.states)
        order = (
            list(range(n))
            if given.names is None
            else [self._index(argument, name, given.names) for name in self.states]
        )
        if (given.n_columns or n) != n and given.names is None:
            raise ValueError(f"{argument} has {given.n_columns} columns, but the system has {n} states.")
        lower, upper = (
            np.broadcast_to(end, (len(given.names or order),))[order].copy() for end in (given.lower, given.upper)
        )
        for key, (low, high) in given.ranges.items():
            k = self._index(argument, key, self.states) if isinstance(key, str) else int(key)
            lower[k], upper[k] = max(lower[k], low), min(upper[k], high)
        if (lower > upper).any():
            raise ValueError(f"{argument} is empty in {self.states[int(np.argmax(lower > upper))]!r}.")
        rows = np.zeros((0, n)) if given.A is None else given.A[:, order]
        bound = np.zeros(0) if given.b is None else given.b
        return StateSet(lower, upper, rows, bound)

    @staticmethod
    def _index(argument: str, name: str, names: Sequence[str]) -> int:
        if name not in names:
            raise ValueError(f"{argument} names {name!r}; the states are {', '.join(names)}.")
        return list(names).index(name)

    def __repr__(self) -> str:
        actions = [] if self.actions is None else [f"{len(self.actions)} actions"]
        disturbance = [f"disturbance {', '.join(self.disturbance)}"] if self.disturbance else []
        return f"System({'; '.join([', '.join(self.states), *actions, *disturbance])})"


@dataclass(frozen=True, eq=False)
class StateSet:
    """States in a box, which may be open, that satisfy ``rows @ x <= bound``."""

    lower: Floats
    upper: Floats
    rows: Floats
    bound: Floats

    @property
    def half_spaces(self) -> list[tuple[Floats, float]]:
        """The set as half-spaces ``row . x <= bound``; open sides of the box give none."""
        one = np.eye(len(self.lower))
        below = [(-one[k], -low) for k, low in enumerate(self.lower.tolist()) if low > -np.inf]
        above = [(one[k], high) for k, high in enumerate(self.upper.tolist()) if high < np.inf]
        return [*below, *above, *zip(self.rows, self.bound.tolist())]

    @property
    def polytope(self) -> Polytope:
        """The set as the proofs have it."""
        return Polytope(self.rows, self.bound, self.lower, self.upper)

    @property
    def is_bounded(self) -> bool:
        """Whether the box has finite ends."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def contains(self, x: Floats) -> bool:
        """Whether a state lies in the set, in exact arithmetic."""
        if not np.isfinite(x).all() or (x < self.lower).any() or (x > self.upper).any():
            return False
        return all(exact_dot(row.tolist(), x.tolist()) <= Fraction(b) for row, b in zip(self.rows, self.bound.tolist()))

    def holds(self, X: Floats) -> Array:
        """Which of many states lie in the set; up to rounding if it has rows."""
        inside = (self.lower <= X).all(axis=1) & (self.upper >= X).all(axis=1)
        return np.asarray(inside & (self.bound >= X @ self.rows.T).all(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """The set as plain lists and numbers."""
        return {name: getattr(self, name).tolist() for name in ("lower", "upper", "rows", "bound")}


@dataclass(frozen=True, eq=False)
class Trace:
    """What happens from one state on, in doubles: it can be replayed."""

    states: Floats
    """Shape (n_steps + 1, n_states)."""
    answers: Array
    """What the policy answers at each step."""
    actions: Floats
    """Shape (n_steps, n_actions)."""
    disturbances: Floats
    """Shape (n_steps, n_disturbances)."""
    names: tuple[str, ...] = field(default=(), repr=False)
    reason: str = ""
    """What it shows."""

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.actions)

    def replay(self, env: Any, set_state: Callable[[Any, Floats], None], policy: Any | None = None) -> Floats:
        """Run the trace in an environment, and return what it shows at each step.

        Parameters
        ----------
        env : gymnasium.Env
        set_state : callable
            ``set_state(env, x)`` puts the environment into a state, after ``env.reset()``.
        policy : Tree, Model or fitted estimator, optional
            Acts on what the environment shows; by default the actions of the trace are repeated.
        """
        env.reset(seed=0)
        set_state(env, self.states[0])
        answers, found = list(self.answers), []
        observation = None
        for k in range(self.n_steps):
            action = answers[k]
            if policy is not None and observation is not None:
                action = Model.of(policy).predict(np.asarray(observation)[None])[0]
            action = action if env.action_space.shape == () else np.atleast_1d(action).astype(np.float32)
            observation, _, terminated, _, _ = env.step(action)
            found.append(np.asarray(observation, dtype=np.float64))
            if terminated:
                break
        return np.array(found)

    def __str__(self) -> str:
        lines = [f"{self.reason}:"] if self.reason else []
        for k, x in enumerate(self.states):
            state = ", ".join(f"{name} = {value!r}" for name, value in zip(self.names, x.tolist()))
            action = f"  -> {self.answers[k]}" if k < self.n_steps else ""
            lines.append(f"  step {k}: {state}{action}")
        return "\n".join(lines)


def _sum(row: Sequence[float], terms: Sequence[Expression], const: float) -> Expression:
    """A sum of products, without the terms of weight 0."""
    parts = [term if weight == 1 else weight * term for weight, term in zip(row, terms) if weight]
    parts += [read_formula(const)] if const or not parts else []
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _formulas(name: str, given: Any, allowed: set[Expression]) -> tuple[Expression, ...]:
    if isinstance(given, Expression) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must return a list of formulas, got {given!r}.")
    formulas = tuple(read_formula(one) for one in given)
    todo = list(formulas)
    while todo:
        term = todo.pop()
        if term.operation == "symbol" and term not in allowed:
            raise ValueError(f"{name} reads the symbol {term.name!r}, which is not its own.")
        todo += term.parts
    return formulas


def _read_actions(actions: Mapping[Any, Any] | None) -> dict[Any, tuple[float, ...]] | None:
    if actions is None:
        return None
    read = {label: tuple(np.atleast_1d(np.asarray(u, dtype=np.float64)).tolist()) for label, u in actions.items()}
    if not read or len({len(u) for u in read.values()}) > 1:
        raise ValueError(f"actions must give each class as many numbers, got {dict(actions)!r}.")
    for label, u in read.items():
        if not np.isfinite(u).all():
            raise ValueError(f"actions must be finite, got {u} for {label!r}.")
    return read


def _ends(argument: str, name: str, ends: Any) -> tuple[float, float]:
    low, high = (float(end) for end in ends)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise ValueError(f"{argument} of {name!r} must be (low, high), finite and low <= high, got {ends!r}.")
    return low, high
