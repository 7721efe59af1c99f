"""One episode as a film: what the environment shows, and beside it the tree that decides.

Each picture is the state before a step, with the path that its observation takes through the tree, the scores of the
splits on it, and the action of the leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.arrays import Array
from dtsemnet.rl.evaluation import is_tree
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.tree import Model

if TYPE_CHECKING:  # Pillow and matplotlib are loaded when a film is made, not with the package
    from PIL import Image

    from dtsemnet.rl.film.panel import Panel

__all__ = ["render"]

LEAST_HEIGHT = 400
"""Frames that are lower stand in the middle of a sheet of this height, in pixels."""

Act = Callable[[Array], Any]


def render(
    policy: Model | BaseAlgorithm,
    env: gym.Env[Any, Any] | str,
    path: str | PathLike[str],
    *,
    seed: int = 500,
    max_steps: int | None = None,
    fps: float = 30,
    vec_normalize: VecNormalize | None = None,
    output_names: Sequence[str] | None = None,
) -> Path:
    """Play one episode without exploration and write it as a GIF or MP4.

    Beside the frame stands the tree, with the path and the leaf in use lit, and below it the action and the splits on
    the path with their scores; to the right where positive. An agent that is no tree has its action alone.

    Parameters
    ----------
    policy : Model, or agent of stable-baselines3
        A model reads raw observations; the names of its columns and classes are shown. Of an agent with a tree policy
        the tree is played.
    env : str or gymnasium.Env
        Name of the environment, or one that was made with ``render_mode="rgb_array"``.
    path : path
        ``.gif`` or ``.mp4``; the latter needs ffmpeg, for instance of the package ``imageio-ffmpeg``.
    seed : int, default=500
        Of the reset; 500 is the first of the test seeds.
    max_steps : int, optional
        Stop after so many steps.
    fps : float, default=30
        Pictures a second.
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
    world: gym.Env[Any, Any] = gym.make(env, render_mode="rgb_array") if isinstance(env, str) else env
    if world.render_mode != "rgb_array":
        raise ValueError(f"env must be made with render_mode='rgb_array', got {world.render_mode!r}.")
    if isinstance(policy, BaseAlgorithm) and is_tree(policy):
        policy = policy_tree(policy, vec_normalize=vec_normalize)
    n_numbers = int(np.prod(world.action_space.shape)) if isinstance(world.action_space, spaces.Box) else 0
    if output_names is not None and (isinstance(output_names, str) or len(output_names) != n_numbers):
        raise ValueError(f"output_names must name the {n_numbers} numbers of an action, got {output_names!r}.")
    _require_drawing()
    target = Path(path)
    try:
        _play(policy, world, target, seed, max_steps, fps, vec_normalize, output_names)
    finally:
        if isinstance(env, str):
            world.close()
    return target


def _require_drawing() -> None:
    try:
        import matplotlib  # noqa: F401
        import PIL  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            f"render needs matplotlib and Pillow ({error.name} was not found); "
            'install them with: pip install "dtsemnet[plot]"'
        ) from error


def _play(
    policy: Model | BaseAlgorithm,
    world: gym.Env[Any, Any],
    path: Path,
    seed: int,
    max_steps: int | None,
    fps: float,
    vec_normalize: VecNormalize | None,
    names: Sequence[str] | None,
) -> None:
    from dtsemnet.rl.film.writer import open_film

    observation, _ = world.reset(seed=seed)
    frame = _frame(world)
    panel, act = _parts(policy, world, max(LEAST_HEIGHT, frame.height), vec_normalize, names)
    total, step, done = 0.0, 0, False
    with open_film(path, fps, panel.colors) as film:
        while not done and (max_steps is None or step < max_steps):
            action = act(observation)
            beside = panel.draw(step, total, np.ravel(observation).astype(np.float64), action)
            film.add(_join(frame, beside))
            observation, reward, over, cut, _ = world.step(action)
            total, step, done, frame = total + float(reward), step + 1, over or cut, _frame(world)
        last = _join(frame, panel.draw(step, total, np.ravel(observation).astype(np.float64), action))
        for _ in range(max(1, round(fps))):  # a second to look at the end
            film.add(last)


def _parts(
    policy: Model | BaseAlgorithm,
    world: gym.Env[Any, Any],
    height: int,
    vec_normalize: VecNormalize | None,
    names: Sequence[str] | None,
) -> tuple[Panel, Act]:
    """Make the panel of a policy, and the function that acts."""
    from dtsemnet.rl.film.panel import ActionPanel, TreePanel

    space = world.action_space
    if isinstance(policy, Model):
        return TreePanel(policy, height, names), _act_by_tree(policy, space)
    normalize = policy.get_vec_normalize_env() if vec_normalize is None else vec_normalize

    def act(observation: Array) -> Any:
        seen = observation if normalize is None else np.asarray(normalize.normalize_obs(observation))
        return policy.predict(seen, deterministic=True)[0]

    low, high = (space.low, space.high) if isinstance(space, spaces.Box) else (None, None)
    return ActionPanel(400, height, low, high, names), act


def _act_by_tree(model: Model, space: spaces.Space[Any]) -> Act:
    """Act by the leaf; classes whose names are no numbers are actions in their order."""
    if not model.is_classifier:
        return lambda observation: (
            model.predict(np.reshape(observation, (1, -1))).astype(space.dtype).reshape(space.shape)
        )
    names = model.class_names or ()
    numbered = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    actions = [int(name) if numbered else code for code, name in enumerate(names)]
    return lambda observation: actions[int(model.tree.leaf_class[model.apply(np.reshape(observation, (1, -1)))[0]])]


def _frame(world: gym.Env[Any, Any]) -> Image.Image:
    from PIL import Image

    pixels: Any = world.render()
    return Image.fromarray(np.asarray(pixels, dtype=np.uint8))


def _join(frame: Image.Image, panel: Image.Image) -> Image.Image:
    """Put a frame, in the middle of its side, and a panel next to each other."""
    from PIL import Image

    sheet = Image.new("RGB", (frame.width + panel.width, panel.height), "white")
    sheet.paste(frame, (0, (panel.height - frame.height) // 2))
    sheet.paste(panel, (frame.width, 0))
    return sheet
