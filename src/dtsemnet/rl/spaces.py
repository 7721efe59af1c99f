"""Which environments a tree can act in, checked before anything is trained or played.

A tree reads a row of numbers: observations must be a ``Box`` that is no image. Its answer is a class or a row of
numbers: actions must be ``Discrete`` for a tree of classes, and a ``Box`` for a tree of outputs. Everything else is
refused here, with the wrapper of gymnasium that makes a ``Box`` of it.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space

from dtsemnet.tree import Model

__all__ = ["check_actions", "check_env", "check_observations"]


def check_observations(space: spaces.Space[Any], owner: str, *, is_scaled: bool = True) -> None:
    """Refuse observations that are no row of numbers.

    Parameters
    ----------
    space : gymnasium.spaces.Space
        The observations.
    owner : str
        What needs them, to begin the error with.
    is_scaled : bool, default=True
        Whether images would be divided by 255 before they are read, as policies of stable-baselines3 do unless told
        ``normalize_images=False``.

    Examples
    --------
    >>> check_observations(spaces.Discrete(5), "TreePolicy")
    Traceback (most recent call last):
    TypeError: TreePolicy needs a Box of numbers to observe, got Discrete(5); wrap the environment in \
gymnasium.wrappers.FlattenObservation.
    """
    if not isinstance(space, spaces.Box):
        raise TypeError(
            f"{owner} needs a Box of numbers to observe, got {space}; wrap the environment in "
            "gymnasium.wrappers.FlattenObservation."
        )
    if 0 in space.shape:
        raise TypeError(f"{owner} needs a number to observe at least, got observations of shape {space.shape}.")
    if is_scaled and is_image_space(space):
        raise TypeError(
            f"{owner} needs numbers to observe, got images of shape {space.shape}; wrap the environment so that it "
            "observes a few numbers, or pass normalize_images=False to read the pixels as they are."
        )


def check_env(env: Any) -> None:
    """Refuse anything but one environment or its name, such as several of them side by side."""
    if isinstance(env, str | gym.Env):
        return
    raise TypeError(
        f"env must be a gymnasium environment or its name, got {type(env).__name__}; pass one environment without "
        "normalisation, for example env.envs[0], or its name, which plays episodes side by side."
    )


def check_actions(model: Model, env: gym.Env[Any, Any]) -> None:
    """Refuse a model whose answers are not actions of the environment.

    A tree of outputs in an environment of numbered actions would be cut to whole numbers, and its score would mean
    nothing.
    """
    actions, names = env.action_space, model.class_names
    if names is None:
        if not isinstance(actions, spaces.Box):
            raise TypeError(
                f"policy answers with numbers, but the environment takes {actions}; pass a model of classes."
            )
        if int(np.prod(actions.shape)) != model.tree.n_outputs:
            raise ValueError(
                f"policy has {model.tree.n_outputs} outputs, but an action has shape {actions.shape}; "
                "pass a model that was made for this environment."
            )
    elif not isinstance(actions, spaces.Discrete):
        raise TypeError(f"policy answers with classes, but the environment takes {actions}; pass a model of numbers.")
    else:
        unknown = [name for name in names if _is_number(name) and not actions.contains(name)]
        if unknown or len(names) > actions.n:
            raise ValueError(
                f"policy has the actions {list(names)[:8]}, but the environment takes {actions}; "
                "pass a model that was made for this environment."
            )
    n_columns, shape = len(model.encoder.columns), env.observation_space.shape
    if shape is not None and int(np.prod(shape)) != n_columns:
        raise ValueError(
            f"policy reads {n_columns} columns, but an observation has shape {shape}; "
            "pass a model that was made for this environment."
        )


def _is_number(name: Any) -> bool:
    """Whether a class is named by the number of its action, not by a word."""
    return isinstance(name, int) and not isinstance(name, bool)
