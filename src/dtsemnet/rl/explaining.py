"""When each leaf of a policy acts: how often, at which time of an episode, with which action, on what it observes.

A drawing of a tree shows all leaves alike, but a policy lives in a few of them. Episodes without exploration are played
on seeds of their own, and the steps at each leaf are summed up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.names import printable
from dtsemnet.rl.evaluation import EnvOrName, act_by
from dtsemnet.rl.spaces import check_env
from dtsemnet.tree import Model

__all__ = ["EXPLAINING_SEEDS", "LeafUse", "PolicyExplanation", "explain_policy"]

EXPLAINING_SEEDS = range(50_000, 50_020)
"""Seeds of the episodes that explain a policy."""
PARTS = 10
"""An episode is cut into so many parts of equal length, to show when a leaf acts."""
TYPICAL = 0.5
"""Standard deviations by which a leaf's mean of a column must differ from the mean of all steps to be shown."""
BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class LeafUse:
    """What happens at one leaf."""

    leaf: int
    share: float
    """Share of all steps."""
    over_time: tuple[float, ...]
    """Share of the steps in the first tenth of an episode, in the second, and so on."""
    action: str | tuple[float, ...]
    """Name of the action; the mean action if actions are numbers."""
    columns: dict[str, tuple[float, float]]
    """Columns that tell this leaf from the rest, the clearest first: their mean here, and in standard deviations above
    the mean of all steps."""


@dataclass(frozen=True)
class PolicyExplanation:
    """The leaves that a policy visits, the most visited first."""

    leaves: tuple[LeafUse, ...]
    n_leaves: int
    """Leaves of the tree, visited or not."""
    n_steps: int
    rewards: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("leaf", "steps", "start to end", "action", "typical here (standard deviations from the mean)")]
        for use in self.leaves:
            action = use.action if isinstance(use.action, str) else ", ".join(f"{value:.2g}" for value in use.action)
            columns = ", ".join(
                f"{printable(name)} {mean:.3g} ({away:+.1f})" for name, (mean, away) in list(use.columns.items())[:3]
            )
            bars = "".join(BARS[min(8, int(np.ceil(8 * share)))] for share in use.over_time)
            rows.append((str(use.leaf), f"{100 * use.share:.1f} %", bars, printable(action), columns))
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        lines = [
            f"{leaf:>{widths[0]}}  {share:>{widths[1]}}  {bars:<{widths[2]}}  {action:<{widths[3]}}  {columns}".rstrip()
            for leaf, share, bars, action, columns in rows
        ]
        episodes, mean = len(self.rewards), float(np.mean(self.rewards))
        lines.append(
            f"{len(self.leaves)} of {self.n_leaves} leaves act in {self.n_steps:,} steps of {episodes} "
            f"episode{'s' * (episodes != 1)}; mean reward {mean:.2f}."
        )
        return "\n".join(lines)


def explain_policy(policy: Model, env: EnvOrName, seeds: Iterable[int] = EXPLAINING_SEEDS) -> PolicyExplanation:
    """Play episodes without exploration and tell when each leaf of a policy acts.

    Parameters
    ----------
    policy : Model
        A tree policy, as :func:`~dtsemnet.rl.policy_tree` gives it. Names of columns and actions are its own.
    env : gymnasium.Env or str
        The raw environment, or its name.
    seeds : iterable of int
        Seeds of the episodes, at least one.

    Returns
    -------
    PolicyExplanation
        Printed, it is a table with one line per leaf that acts.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[0.0, 0.0, 1.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    >>> explained = explain_policy(Model.of(tree), "CartPole-v1", range(3))
    >>> sorted(use.leaf for use in explained.leaves), round(sum(use.share for use in explained.leaves), 6)
    ([0, 1], 1.0)
    """
    if not isinstance(policy, Model):
        raise TypeError(
            f"policy must be a Model, got {type(policy).__name__}; policy_tree(agent) gives that of an agent."
        )
    check_env(env)
    wanted = list(seeds)
    if not wanted:
        raise ValueError("seeds must name at least one episode.")
    made: gym.Env[Any, Any] = gym.make(env, disable_env_checker=True) if isinstance(env, str) else env
    act = act_by(policy, made)
    episodes = [_play(act, made, seed) for seed in wanted]
    if isinstance(env, str):
        made.close()
    rows = np.concatenate([observations for observations, _ in episodes])
    part = np.concatenate([np.arange(len(rows)) * PARTS // len(rows) for rows, _ in episodes])
    names = [column.name for column in policy.encoder.columns]
    return PolicyExplanation(
        _uses(policy, rows, part, names), policy.tree.n_leaves, len(rows), tuple(total for _, total in episodes)
    )


def _play(act: Any, env: gym.Env[Any, Any], seed: int) -> tuple[Array, float]:
    """Play one episode; return its observations, one per row, and the sum of rewards."""
    observation, _ = env.reset(seed=seed)
    observations, total, is_over = [], 0.0, False
    while not is_over:
        observations.append(np.ravel(observation))
        observation, reward, terminated, truncated, _ = env.step(act(np.asarray(observation)[None])[0])
        total += float(reward)
        is_over = terminated or truncated
    return np.array(observations, dtype=np.float64), total


def _uses(policy: Model, rows: Array, part: Array, names: Sequence[str]) -> tuple[LeafUse, ...]:
    leaf, actions = policy.apply(rows), policy.predict(rows)
    in_part, mean, spread = np.bincount(part, minlength=PARTS), rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0] = np.inf  # a column that never changes tells no leaf from another
    uses = []
    for k in np.unique(leaf).tolist():
        here = leaf == k
        own = rows[here].mean(axis=0)
        away = (own - mean) / spread
        typical = [j for j in np.argsort(-np.abs(away), kind="stable").tolist() if abs(away[j]) >= TYPICAL]
        action: str | tuple[float, ...] = str(actions[here][0])
        if policy.class_names is None:
            action = tuple(np.atleast_1d(actions[here].mean(axis=0)).tolist())
        shares = np.bincount(part[here], minlength=PARTS) / np.maximum(in_part, 1)
        columns = {names[j]: (float(own[j]), float(away[j])) for j in typical}
        uses.append(LeafUse(k, float(here.mean()), tuple(shares.tolist()), action, columns))
    return tuple(sorted(uses, key=lambda use: -use.share))
