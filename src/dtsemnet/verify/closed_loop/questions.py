"""Questions about a policy in closed loop with a system: is it safe, is a set invariant, does it reach its goal?

Each is a claim about all traces from an initial set (:mod:`dtsemnet.verify.closed_loop.proofs`), for every disturbance.
The answer is yes with a proof that can be checked, no with a trace that breaks the claim in doubles, or undecided with
what was decided.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.tree import Model
from dtsemnet.verify.closed_loop.proofs import Claim
from dtsemnet.verify.closed_loop.search import LoopAnswer, Options, Progress, search
from dtsemnet.verify.closed_loop.system import StateSet, System
from dtsemnet.verify.proof.linear_programs import contradiction
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = ["reaches", "returns", "stays_safe"]


def stays_safe(
    policy: Any,
    system: System,
    initial: Any,
    safe: Any,
    steps: int,
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LoopAnswer:
    """Prove that the loop never leaves the safe set within so many steps.

    Parameters
    ----------
    policy : Tree, Model or fitted estimator
        A classifier whose classes are actions, or a regressor whose outputs are.
    system : System
    initial : Domain or mapping of state to (low, high)
        The states that traces start from, bounded.
    safe : Domain or mapping of state to (low, high)
        States that are not named may take any value.
    steps : int
    time_limit : float, optional
        Seconds; what is left then is undecided.
    progress : callable, optional
        Called with the share of the initial set that is decided, and the number of branches followed.
    **options
        Of :class:`~dtsemnet.verify.closed_loop.search.Options`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> brake = Tree(Topology.complete(1), [[1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["go", "stop"])
    >>> system = System(lambda x, u, w: [x[0] + u[0] + w[0]], ["x"], actions={"go": 0.5, "stop": -0.5},
    ...                 disturbance={"w": (-0.1, 0.1)})
    >>> stays_safe(brake, system, {"x": (0, 1)}, {"x": (-1, 1.61)}, steps=5).status
    'yes'
    >>> answer = stays_safe(brake, system, {"x": (0, 1)}, {"x": (-1, 1.55)}, steps=5)
    >>> print(answer.status, answer.trace.states[-1] > 1.55)
    no [ True]
    """
    claim = Claim(_bounded(system, "initial", initial), _count(steps), safe=system.state_set("safe", safe))
    return _ask(policy, system, claim, time_limit, progress, options)


def reaches(
    policy: Any,
    system: System,
    initial: Any,
    goal: Any,
    steps: int,
    *,
    safe: Any | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LoopAnswer:
    """Prove that the loop reaches the goal within so many steps, and is safe until then.

    Parameters
    ----------
    policy, system, initial, steps, time_limit, progress, **options
        As in :func:`stays_safe`.
    goal : Domain or mapping of state to (low, high)
        A trace ends at its first state in the goal.
    safe : Domain or mapping of state to (low, high), optional
        Where the states up to that one must lie, itself included.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> go = Tree(Topology([]), np.empty((0, 1)), [], [[1.0]])
    >>> system = System(lambda x, u, w: [x[0] + 0.5 * u[0]], ["x"])
    >>> reaches(go, system, {"x": (0, 1)}, {"x": (2.9, 9)}, steps=6).status
    'yes'
    >>> reaches(go, system, {"x": (0, 1)}, {"x": (2.9, 9)}, steps=5).trace.reason
    'not in the goal by step 5'
    """
    claim = Claim(
        _bounded(system, "initial", initial), _count(steps), None if safe is None else system.state_set("safe", safe),
        system.state_set("goal", goal),
    )  # fmt: skip
    return _ask(policy, system, claim, time_limit, progress, options)


def returns(
    policy: Any,
    system: System,
    region: Any,
    *,
    safe: Any | None = None,
    steps: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LoopAnswer:
    """Prove that from any state of a region the loop is back in it within so many steps: by induction, for ever.

    With ``steps=1`` the region is invariant. With more, traces may leave it for a while, and stay in the safe set.
    So a loop that starts in the region is safe at every step of any number of steps.

    Parameters
    ----------
    policy, system, time_limit, progress, **options
        As in :func:`stays_safe`.
    region : Domain or mapping of state to (low, high)
        Bounded.
    safe : Domain or mapping of state to (low, high), optional
        Where states must lie at every step.
    steps : int, default=1

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> brake = Tree(Topology.complete(1), [[1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["go", "stop"])
    >>> system = System(lambda x, u, w: [x[0] + u[0]], ["x"], actions={"go": 0.5, "stop": -0.5})
    >>> returns(brake, system, {"x": (0, 1.75)}).status
    'yes'
    >>> returns(brake, system, {"x": (0.75, 1.25)}).trace.states[:, 0] > 1.25
    array([False,  True])
    """
    within = _bounded(system, "region", region)
    claim = Claim(within, _count(steps), None if safe is None else system.state_set("safe", safe), within, goal_from=1)
    return _ask(policy, system, claim, time_limit, progress, options)


def _ask(
    policy: Any, system: System, claim: Claim, time_limit: float | None, progress: Progress | None, options: Any
) -> LoopAnswer:
    known = set(Options.__dataclass_fields__)
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}; the options are {', '.join(sorted(known))}.")
    return search(Model.of(policy), system, claim, Options(**options), Deadline(time_limit), progress)


def _bounded(system: System, name: str, given: Any) -> StateSet:
    states = system.state_set(name, given)
    if not states.is_bounded:
        k = int(np.argmin(np.isfinite(states.lower) & np.isfinite(states.upper)))
        raise ValueError(f"{name} must be bounded in every state, but {system.states[k]!r} is not.")
    if len(states.rows) and contradiction(states.polytope) is not None:
        raise ValueError(f"{name} holds no state: its constraints contradict each other, or its ranges.")
    return states


def _count(steps: int) -> int:
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise ValueError(f"steps must be a whole number from 1 on, got {steps!r}.")
    return int(steps)
