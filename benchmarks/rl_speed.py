"""Speed of tree agents against stable-baselines3's own of matched size, as ratios in one run.

PPO and ``LeanPPO`` are timed by steps of learning (rollout and update) against stable-baselines3's PPO, ``TopKSAC``
and ``LeanSAC`` by the gradient steps they do against its SAC: ``TopKSAC`` does 80 where SAC takes 32, ``LeanSAC`` as
many, with the straight-through estimator. Both agents of a pair have the critics and the schedule of the paper's
runs; the layers of the network that acts are as wide as gives it the number of parameters of the tree. CPU time, the
two interleaved, the median over the repeats, for one and two torch threads. Run by ``python benchmarks/rl_speed.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import gymnasium as gym
import stable_baselines3
import torch
from measure import table
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.env_util import make_vec_env

from dtsemnet.nn import Selector, StraightThrough, TopK
from dtsemnet.rl import LeanPPO, LeanSAC, TopKSAC, TreePolicy, TreeSACPolicy

FLOOR = 0.8
REPEATS = 3
THREADS = (1, 2)


@dataclass(frozen=True)
class Case:
    """An environment, a tree and its critic; for PPO also its kind, the rollout and its update."""

    env: str
    depth: int
    critic: tuple[int, ...]
    pooling: float = 0.0
    copies: int = 1
    n_steps: int = 0
    batch: int = 0
    epochs: int = 0
    kind: type[PPO] | type[SAC] = PPO


PPO_CASES = tuple(
    replace(case, kind=kind)
    for kind in (PPO, LeanPPO)
    for case in (
        Case("CartPole-v1", 4, (16, 16), n_steps=832, batch=32, epochs=20),
        Case("LunarLander-v3", 5, (32, 32), copies=8, n_steps=256, batch=64, epochs=10),
        Case("LunarLander-v3", 5, (32, 32), pooling=1.0, copies=8, n_steps=256, batch=64, epochs=10),
    )
)
GRADIENT_STEPS, BATCH, WARM_UP = 32, 256, 2_000
SAC_KINDS: dict[type[SAC], tuple[Selector, int]] = {
    TopKSAC: (TopK(4, temperature=0.5), 2 * GRADIENT_STEPS + GRADIENT_STEPS // 2),
    LeanSAC: (StraightThrough(), GRADIENT_STEPS),
}
"""How a tree weighs its leaves, and the gradient steps of an update."""
SAC_CASES = tuple(
    Case(env, depth, critic, kind=kind)
    for kind in SAC_KINDS
    for env, depth, critic in (("LunarLanderContinuous-v3", 4, (256, 256)), ("BipedalWalker-v3", 7, (512, 512)))
)


def records() -> list[dict[str, Any]]:
    """Time all pairs, for each number of threads; speeds are steps in a CPU second."""
    before = torch.get_num_threads()
    found = []
    for case, pair in [*((case, _ppo_pair) for case in PPO_CASES), *((case, _sac_pair) for case in SAC_CASES)]:
        tree, network = pair(case)
        for threads in THREADS:
            torch.set_num_threads(threads)
            found.append(_compare(case, tree, network) | {"threads": threads, "sb3": stable_baselines3.__version__})
    torch.set_num_threads(before)
    return found


def report(found: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = [
        (
            r["case"],
            str(r["threads"]),
            f"{r['tree']:,.0f}",
            f"{r['network']:,.0f}",
            f"{r['ratio']:.2f}x",
            f"{r['floor']:g}x",
            f"{r['wall_tree']:,.0f}",
        )
        for r in found
    ]
    header = ("agent, environment, depth", "threads", "tree", "network", "ratio", "at least", "tree, by the clock")
    note = (
        "Steps in a CPU second, medians: of learning for PPO, of the gradient for SAC, where a tree's update has three "
        f"phases. Against the networks of stable-baselines3 {found[0]['sb3']} with as many parameters.\n\n"
    )
    return note + table(header, rows)


Run = tuple[Callable[[], Any], int]
"""What to time, and the steps that it does."""


def _compare(case: Case, tree: Run, network: Run) -> dict[str, Any]:
    for run, _ in (tree, network):
        run()  # caches, pages
    times = [[_time(run) for run, _ in (tree, network)] for _ in range(REPEATS)]
    cpu = [[clocks[0] / n for clocks, (_, n) in zip(pair, (tree, network))] for pair in times]
    wall = [[clocks[1] / n for clocks, (_, n) in zip(pair, (tree, network))] for pair in times]
    annealed = ", annealed" if case.pooling else ""
    return {
        "case": f"{case.kind.__name__}, {case.env}, {case.depth}{annealed}",
        "tree": 1 / median(mine for mine, _ in cpu),
        "network": 1 / median(theirs for _, theirs in cpu),
        "ratio": median(theirs / mine for mine, theirs in cpu),
        "wall_tree": 1 / median(mine for mine, _ in wall),
        "wall_network": 1 / median(theirs for _, theirs in wall),
        "floor": FLOOR,
    }


def _time(run: Callable[[], Any]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def _ppo_pair(case: Case) -> tuple[Run, Run]:
    """One rollout and its update, by a tree and by a network."""
    world = gym.make(case.env)
    n_features, n_actions = world.observation_space.shape[0], int(world.action_space.n)  # type: ignore[index,attr-defined]
    size = (2**case.depth - 1) * (n_features + 1)
    hidden = _width(size, n_features, n_actions)
    options = {"n_steps": case.n_steps, "batch_size": case.batch, "n_epochs": case.epochs, "device": "cpu"}

    def agent(kind: type[PPO], policy: Any, policy_kwargs: dict[str, Any]) -> Run:
        env = make_vec_env(case.env, case.copies, seed=0, env_kwargs={"render_mode": None})
        made = kind(policy, env, policy_kwargs=policy_kwargs, learning_rate=1e-3, seed=0, **options)
        n_steps = case.n_steps * case.copies
        return lambda: made.learn(n_steps), n_steps

    tree = {"max_depth": case.depth, "pooling": case.pooling, "net_arch": list(case.critic)}
    network = {"net_arch": {"pi": [hidden, hidden], "vf": list(case.critic)}}
    return agent(case.kind, TreePolicy, tree), agent(PPO, "MlpPolicy", network)


def _sac_pair(case: Case) -> tuple[Run, Run]:
    """One update: that of a tree, of three phases or of SAC steps alone, and the SAC steps of a network."""
    world = gym.make(case.env)
    n_features, n_actions = world.observation_space.shape[0], world.action_space.shape[0]  # type: ignore[index]
    n_leaves = 2**case.depth
    size = (n_leaves - 1) * (n_features + 1) + n_leaves * n_actions * (n_features + 2)
    hidden = _width(size, n_features, 2 * n_actions)
    options = {"learning_starts": WARM_UP, "buffer_size": WARM_UP, "batch_size": BATCH, "device": "cpu", "seed": 0}

    def agent(made: SAC, n_gradient_steps: int) -> Run:
        made.learn(WARM_UP)  # random actions, to fill the buffer
        return lambda: made.train(GRADIENT_STEPS, BATCH), n_gradient_steps

    selector, n_steps = SAC_KINDS[case.kind]
    parts = {"max_depth": case.depth, "net_arch": list(case.critic), "selector": selector}
    tree = case.kind(TreeSACPolicy, case.env, policy_kwargs=parts, **options)
    arch = {"net_arch": {"pi": [hidden, hidden], "qf": list(case.critic)}}
    network = SAC("MlpPolicy", case.env, policy_kwargs=arch, train_freq=64, gradient_steps=GRADIENT_STEPS, **options)
    return agent(tree, n_steps), agent(network, GRADIENT_STEPS)


def _width(size: int, n_inputs: int, n_outputs: int) -> int:
    """Width of two hidden layers whose network has about so many parameters."""
    return min(range(1, 1000), key=lambda h: abs((n_inputs + 1) * h + (h + 1) * h + (h + 1) * n_outputs - size))


if __name__ == "__main__":
    print(report(records()))
