"""Formulas of a system against environments: the same steps, and traces that replay."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Topology, Tree
from dtsemnet.verify.closed_loop import System, clip, cos, maximum, reaches, returns, sin, stays_safe, where


def mountain_car() -> System:
    def step(x: Any, u: Any, w: Any) -> list[Any]:
        speed = clip(x[1] + 0.001 * u[0] - 0.0025 * cos(3 * x[0]), -0.07, 0.07)
        position = clip(x[0] + speed, -1.2, 0.6)
        return [position, where(position <= -1.2, maximum(speed, 0.0), speed)]

    return System(step, ["position", "speed"], actions={0: -1.0, 1: 0.0, 2: 1.0}, observed_as="float32")


def pendulum() -> System:
    def step(x: Any, u: Any, w: Any) -> list[Any]:
        speed = clip(x[1] + (15.0 * sin(x[0]) + 3.0 * clip(u[0], -2.0, 2.0)) * 0.05, -8.0, 8.0)
        return [x[0] + 0.05 * speed, speed]

    return System(step, ["angle", "speed"], observe=lambda x: [cos(x[0]), sin(x[0]), x[1]], observed_as="float32")


def put(env: Any, x: Floats) -> None:
    env.unwrapped.state = np.array(x)


def test_a_trace_that_misses_the_goal_replays_in_mountain_car() -> None:
    push = Tree(Topology.complete(1), [[0.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 2])
    start = {"position": (-1.0, -0.99), "speed": (0.003, 0.004)}
    trace = reaches(push, mountain_car(), start, {"position": (0.5, 1.0)}, 30).trace
    assert trace is not None
    seen = trace.replay(gym.make("MountainCar-v0").unwrapped, put, push)
    assert len(seen) == 30
    assert (seen[:, 0] < 0.5).all()
    assert np.allclose(seen, trace.states[1:], atol=1e-6)


def test_the_walls_of_mountain_car() -> None:
    back = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], class_names=[0])
    trace = mountain_car().simulate(back, [-0.9, -0.05], np.zeros((40, 0)))
    assert (trace.states[:, 0] == -1.2).any()
    seen = trace.replay(gym.make("MountainCar-v0").unwrapped, put)
    assert np.allclose(seen, trace.states[1:], atol=1e-6)
    inside = stays_safe(back, mountain_car(), {"position": (-0.9, -0.89), "speed": (-0.05, -0.05)},
                        {"position": (-1.21, 0.6), "speed": (-0.0701, 0.0701)}, 6)  # fmt: skip
    assert inside


def test_a_fall_of_the_pendulum_replays() -> None:
    weak = Tree(Topology([]), np.empty((0, 3)), [], [[0.0]], coef=[[[0.0, -4.0, -1.0]]])
    trace = stays_safe(weak, pendulum(), {"angle": (-0.2, 0.2), "speed": (-0.5, 0.5)}, {"angle": (-0.5, 0.5)}, 30).trace
    assert trace is not None
    seen = trace.replay(gym.make("Pendulum-v1").unwrapped, put, weak)
    angle = np.arctan2(seen[:, 1], seen[:, 0])
    assert np.allclose(angle, trace.states[1:, 0], atol=1e-5)
    assert abs(angle[-1]) > 0.5 - 1e-5


def test_a_region_of_the_pendulum_holds_for_ever() -> None:
    upright = Tree(
        Topology([]), np.empty((0, 3)), [], [[0.0]], coef=[[[0.0, -8.0, -2.0]]], lower=[[-2.0]], upper=[[2.0]]
    )
    region = {"angle": (-0.05, 0.05), "speed": (-0.1, 0.1)}
    answer = returns(upright, pendulum(), region, safe={"angle": (-0.1, 0.1)}, steps=12)
    assert answer
    assert answer.proof is not None
    assert answer.proof.check()
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.uniform([-0.05, -0.1], [0.05, 0.1])
        states = pendulum().simulate(upright, x, np.zeros((100, 0))).states
        assert (np.abs(states[:, 0]) <= 0.1).all()
