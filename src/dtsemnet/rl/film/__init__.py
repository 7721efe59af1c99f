"""Films: one episode, with the tree that decides beside the picture of the environment before each step."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl.evaluation import EnvOrName, act_by, is_tree
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.tree import Model

if TYPE_CHECKING:  # Pillow and matplotlib are loaded when a film is made, not with the package
    from PIL import Image

    from dtsemnet.rl.film.panel import Panel

__all__ = ["render"]

MIN_HEIGHT = 400
"""Pictures that are lower are centred in a frame of this height, in pixels."""


def render(
    policy: Model | BaseAlgorithm,
    env: EnvOrName,
    path: str | PathLike[str],
    *,
    seed: int = 500,
    max_steps: int | None = None,
    fps: float = 30,
    vec_normalize: VecNormalize | None = None,
    output_names: Sequence[str] | None = None,
) -> Path:
    """Play one episode without exploration and write it as a GIF or MP4.

    The tree is drawn beside the picture, with the active path and leaf highlighted. Below it are the action and the
    splits on the path with their scores; positive scores lead to the right. For an agent that is not a tree only the
    action is shown.

    Parameters
    ----------
    policy : Model, or agent of stable-baselines3
        A model reads raw observations; the names of its columns and classes are shown. For an agent with a tree policy
        the tree is played.
    env : str or gymnasium.Env
        Name of the environment, or one that was made with ``render_mode="rgb_array"``.
    path : path
        ``.gif`` or ``.mp4``; the latter needs ffmpeg, for instance that of the package ``imageio-ffmpeg``.
    seed : int, default=500
        Seed of the reset; 500 is the first of the test seeds.
    max_steps : int, optional
        Stop after so many steps.
    fps : float, default=30
        Frames per second.
    vec_normalize : VecNormalize, optional
        Statistics for an agent that was loaded without its environment; a model has its own.
    output_names : sequence of str, optional
        Names of the numbers of a continuous action.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy
    >>> agent = PPO(TreePolicy, "CartPole-v1", policy_kwargs=dict(max_depth=3), n_steps=64, batch_size=64, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     render(agent, "CartPole-v1", Path(folder, "cartpole.gif"), max_steps=3).name
    'cartpole.gif'
    """
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, got {max_steps}.")
    made: gym.Env[Any, Any] = gym.make(env, render_mode="rgb_array") if isinstance(env, str) else env
    if made.render_mode != "rgb_array":
        raise ValueError(f"env must be made with render_mode='rgb_array', got {made.render_mode!r}.")
    if isinstance(policy, BaseAlgorithm) and is_tree(policy):
        policy = policy_tree(policy, vec_normalize=vec_normalize)
    n_numbers = int(np.prod(made.action_space.shape)) if isinstance(made.action_space, spaces.Box) else 0
    if output_names is not None and (isinstance(output_names, str) or len(output_names) != n_numbers):
        raise ValueError(f"output_names must name the {n_numbers} numbers of an action, got {output_names!r}.")
    try:
        import matplotlib  # noqa: F401
        import PIL  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            f"render needs matplotlib and Pillow ({error.name} was not found); "
            'install them with: pip install "dtsemnet[plot]"'
        ) from error
    from dtsemnet.rl.film.panel import Panel, TreePanel
    from dtsemnet.rl.film.writer import open_film

    act, target = act_by(policy, made, vec_normalize), Path(path)
    total, step, done = 0.0, 0, False
    try:
        observation, _ = made.reset(seed=seed)
        height = max(MIN_HEIGHT, len(np.asarray(made.render())))
        if isinstance(policy, Model):
            panel: Panel = TreePanel(policy, height, output_names)
        else:
            panel = Panel(400, height, made.action_space, output_names)
        with open_film(target, fps, panel.colors) as film:
            while not done and (max_steps is None or step < max_steps):
                action = act(np.asarray(observation)[np.newaxis])[0]
                film.add(_frame(made, panel, step, total, observation, action))
                observation, reward, terminated, truncated, _ = made.step(action)
                total, step, done = total + float(reward), step + 1, terminated or truncated
            last = _frame(made, panel, step, total, observation, action)
            for _ in range(max(1, round(fps))):  # a second to look at the end
                film.add(last)
    finally:
        if isinstance(env, str):
            made.close()
    return target


def _frame(env: gym.Env[Any, Any], panel: Panel, step: int, total: float, observation: Any, action: Any) -> Image.Image:
    """Draw the picture of the environment, vertically centred, and the panel next to it."""
    from PIL import Image

    pixels: Any = env.render()
    picture = Image.fromarray(np.asarray(pixels, dtype=np.uint8))
    beside = panel.draw(step, total, np.ravel(observation).astype(np.float64), action)
    frame = Image.new("RGB", (picture.width + beside.width, beside.height), "white")
    frame.paste(picture, (0, (beside.height - picture.height) // 2))
    frame.paste(beside, (picture.width, 0))
    return frame
