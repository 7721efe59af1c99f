"""Shrinking: the smallest tree that acts as well as a policy.

A policy is trained with more leaves than it needs in the end, because a large tree explores better. To shrink it, it is
its own teacher. Two kinds of candidates are made:

- the tree itself without the leaves that it never visits;
- for each smaller number of leaves, a new tree that imitates it (DAgger, :mod:`dtsemnet.rl.imitation`).

All candidates play the same episodes, on seeds that no other stage uses. The smallest one whose mean reward lies within
one standard error of the best is chosen. The whole curve of reward against leaves is returned, so that people can
choose otherwise. A network can be shrunk too: then every candidate is a tree that imitates it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from sklearn.base import clone
from stable_baselines3.common.base_class import BaseAlgorithm

from dtsemnet.arrays import Array
from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.rl.evaluation import Act, EnvOrName, Policy, act_by, evaluate, is_tree, summary
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.rl.imitation import imitate
from dtsemnet.rl.spaces import check_env
from dtsemnet.tree import Model, drop_leaves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHRINKING_SEEDS", "Candidate", "Shrunk", "shrink"]

SHRINKING_SEEDS = range(20_000, 20_100)
"""Seeds of the episodes that compare the candidates."""
VISITING_SEEDS = range(30_000, 30_050)
"""Seeds of the episodes that show which leaves are visited."""
FIRST_TEACHING_SEED = 40_000
LEAVES = (32, 16, 8, 4, 2)


@dataclass(frozen=True)
class Candidate:
    """A smaller policy and the rewards of its episodes."""

    model: Model
    source: str
    """"visited leaves" for the tree itself without the rest, "imitation" for a new tree."""
    rewards: tuple[float, ...] = field(repr=False)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.model.tree.n_leaves

    @property
    def n_columns(self) -> float:
        """Mean number of columns that a split reads; 0 without splits."""
        weight = self.model.tree.weight
        return float(np.count_nonzero(weight, axis=1).mean()) if len(weight) else 0.0

    @property
    def mean(self) -> float:
        """Mean reward."""
        return float(summary(list(self.rewards))["mean"])

    @property
    def sem(self) -> float:
        """Standard error of the mean reward."""
        return float(summary(list(self.rewards))["sem"])


@dataclass(frozen=True)
class Shrunk:
    """A shrunken policy, and everything that it was compared with."""

    chosen: Candidate
    """The smallest candidate within one standard error of the best."""
    candidates: tuple[Candidate, ...]
    """All candidates, the largest first."""
    teacher_rewards: tuple[float, ...] = field(repr=False)
    """Rewards of the policy that was shrunk, in the same episodes."""

    @property
    def model(self) -> Model:
        """The policy that was chosen."""
        return self.chosen.model

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean reward against the number of leaves, with standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from dtsemnet.plot.style import ACCENT, FAINT, fresh_axes, tidy_axes

        ax = fresh_axes(ax, 5.5, 3.6)
        teacher = summary(list(self.teacher_rewards))
        ax.axhline(teacher["mean"], color=FAINT, linewidth=1, linestyle="--", label="the policy that was shrunk")
        leaves = [candidate.n_leaves for candidate in self.candidates]
        means, errors = ([getattr(c, name) for c in self.candidates] for name in ("mean", "sem"))
        ax.errorbar(leaves, means, errors, fmt="o-", color=ACCENT, capsize=3, markersize=4, label="smaller trees")
        ax.plot(
            self.chosen.n_leaves, self.chosen.mean, "o", color=ACCENT, markersize=10, fillstyle="none", label="chosen"
        )
        ax.set_xscale("log", base=2)
        ax.set_xticks(leaves, [str(n) for n in leaves])
        ax.minorticks_off()
        ax.set_xlabel("leaves")
        ax.set_ylabel("mean reward")
        ax.legend(frameon=False)
        tidy_axes(ax)
        return ax

    def __str__(self) -> str:
        teacher = summary(list(self.teacher_rewards))
        lines = [f"{'leaves':>6}  {'columns a split':>15}  {'reward':>10}  {'error':>7}  made by"]
        lines += [f"{'':>6}  {'':>15}  {teacher['mean']:>10.2f}  {teacher['sem']:>7.2f}  the policy that was shrunk"]
        for one in self.candidates:
            mark = ", chosen" if one is self.chosen else ""
            lines.append(
                f"{one.n_leaves:>6}  {one.n_columns:>15.1f}  {one.mean:>10.2f}  {one.sem:>7.2f}  {one.source}{mark}"
            )
        return "\n".join(lines)


def shrink(
    policy: Policy,
    env: EnvOrName,
    *,
    leaves: Sequence[int] | None = None,
    student: Any = None,
    n_rounds: int = 5,
    n_steps: int = 2000,
    n_episodes: int = 100,
    seed: int = 0,
    watch: Callable[[int, int, str], None] | None = None,
) -> Shrunk:
    """Find the smallest tree that acts as well as a policy.

    Parameters
    ----------
    policy : agent of stable-baselines3, Model, or callable
        What to shrink. A callable maps raw observations, one per row, to actions.
    env : gymnasium.Env or str
        The environment without normalisation, or its name; with a name episodes are played side by side, which is
        faster.
    leaves : sequence of int, optional
        Numbers of leaves to try. By default 32, 16, 8, 4 and 2, as far as they are smaller than the number of leaves
        that the policy visits.
    student : estimator, optional
        Cloned and fitted for each size with ``max_depth`` and ``max_leaf_nodes`` set; ``DTSemNetClassifier`` for
        discrete actions and ``DTSemNetRegressor`` for a ``Box`` if not given.
    n_rounds, n_steps : int, default=5, 2000
        Rounds of DAgger for each size, and steps in each.
    n_episodes : int, default=100
        Episodes that compare the candidates, at most 100.
    seed : int, default=0
        Seed of the students and of the episodes that teach them.
    watch : callable, optional
        Called with the number of candidates done, the number in all, and a line about the last one.

    Returns
    -------
    Shrunk
        The chosen policy as ``model``, all candidates, and a ``plot`` of the curve.

    Examples
    --------
    >>> from dtsemnet.tree import Encoder, Topology, Tree
    >>> weight = [[0.1, 0.3, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    >>> value = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> tree = Tree(Topology.complete(2), weight, [0.0, 9.0, 9.0], value, class_names=[0, 1])
    >>> policy = Model(Encoder.identity(tree.feature_labels), tree)
    >>> shrunk = shrink(policy, "CartPole-v1", leaves=[], n_episodes=5)
    >>> shrunk.model.tree.n_leaves  # two leaves were never visited
    2
    """
    check_env(env)
    if not 1 <= n_episodes <= len(SHRINKING_SEEDS):
        raise ValueError(f"n_episodes must lie between 1 and {len(SHRINKING_SEEDS)}, got {n_episodes}.")
    made = gym.make(env) if isinstance(env, str) else env
    tree = _as_tree(policy)
    act = act_by(policy, made)
    smaller = [] if tree is None else [_visited_part(tree, act, env)]
    sizes = _sizes(leaves, smaller[0].tree.n_leaves if smaller else None)
    student = _student(student, made, seed)
    seeds = SHRINKING_SEEDS[:n_episodes]
    found: list[Candidate] = []

    def compare(model: Model, source: str) -> None:
        found.append(Candidate(model, source, tuple(evaluate(model, env, seeds))))
        if watch is not None:
            last = found[-1]
            words = f"{last.n_leaves} leaves by {source}: {last.mean:.1f}"
            watch(len(found), len(smaller) + len(sizes), words)

    for model in smaller:
        compare(model, "visited leaves")
    for k, size in enumerate(sizes):
        small = clone(student).set_params(max_depth=max(1, (size - 1).bit_length()), max_leaf_nodes=size)
        first = FIRST_TEACHING_SEED + 1000 * (seed % 1000) + 100 * k
        with warnings.catch_warnings():
            # Fewer leaves than actions are what is asked for here; the rewards will tell.
            warnings.filterwarnings("ignore", message=r"\d+ classes but only \d+ leaves")
            imitated = imitate(policy, env, small, n_rounds=n_rounds, n_steps=n_steps, seed=first)
        compare(imitated, "imitation")
    candidates = tuple(sorted(found, key=lambda one: -one.n_leaves))
    return Shrunk(_smallest_of_the_best(candidates), candidates, tuple(evaluate(policy, env, seeds)))


def _as_tree(policy: Policy) -> Model | None:
    """The tree of a policy; None if it is none."""
    if isinstance(policy, Model):
        return policy
    return policy_tree(policy) if isinstance(policy, BaseAlgorithm) and is_tree(policy) else None


def _visited_part(model: Model, act: Act, env: EnvOrName) -> Model:
    """Drop the leaves that the policy never visits."""
    visited = np.zeros(model.tree.n_leaves, dtype=bool)

    def walk(rows: Array) -> Any:
        visited[model.apply(rows.reshape(len(rows), -1))] = True
        return act(rows)

    evaluate(walk, env, VISITING_SEEDS)
    return replace(model, tree=drop_leaves(model.tree, np.flatnonzero(~visited).tolist()))


def _sizes(leaves: Sequence[int] | None, most: int | None) -> list[int]:
    """Numbers of leaves to imitate with, the largest first."""
    if leaves is None:
        return [size for size in LEAVES if most is None or size < most]
    for size in leaves:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 2:
            raise ValueError(f"leaves must be whole numbers from 2 on, got {size!r}.")
    return sorted({int(size) for size in leaves}, reverse=True)


def _student(student: Any, env: gym.Env[Any, Any], seed: int) -> Any:
    if student is not None:
        return student
    kind = DTSemNetClassifier if isinstance(env.action_space, spaces.Discrete) else DTSemNetRegressor
    return kind(random_state=seed)


def _smallest_of_the_best(candidates: Sequence[Candidate]) -> Candidate:
    """The smallest candidate within one standard error of the best, the better of equals."""
    if not candidates:
        raise ValueError("leaves must name at least one size: a policy that is no tree has no leaves to drop.")
    best = max(candidates, key=lambda one: one.mean)
    good = [one for one in candidates if one.mean >= best.mean - best.sem]
    return min(good, key=lambda one: (one.n_leaves, -one.mean))
