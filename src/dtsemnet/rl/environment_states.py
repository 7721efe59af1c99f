"""The state of environments, as plain values: the attributes of all their parts, with the states of their generators.

An environment is a chain of wrappers around objects of Python, and between two steps its state is what their attributes
hold. :func:`environment_state` walks through them, and :func:`restore_environment` walks in the same way through an
environment that was made alike, and sets them. So the file never makes an object, and no code of its own runs when it
is read.

Some parts have no such state: simulations in C or C++ (Box2D, MuJoCo), open files, windows. An environment that has one
is *opaque*: its episode must be played again (:mod:`dtsemnet.rl.episodes`).
"""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from stable_baselines3.common.vec_env import VecEnvWrapper

from dtsemnet.rl.plain_values import is_plain

__all__ = ["environment_state", "restore_environment"]

BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
STATIC = (
    type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, partial, np.dtype, EnvSpec,
)  # fmt: skip
"""Kinds of parts that a training does not change."""
SHARED = (np.ndarray, list, dict)
"""Kinds of values that two parts may share, so that a change of one is a change of the other."""


class _Plain:
    """An object of Python whose state is its attributes."""


class _Opaque(Exception):
    """A part whose state cannot be read."""


def environment_state(env: Any) -> Any:
    """Give the state of an environment as plain values, or None if it is opaque.

    Parameters
    ----------
    env : gymnasium.Env or VecEnv

    Examples
    --------
    >>> import gymnasium as gym
    >>> one, two = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    >>> _ = one.reset(seed=1), two.reset(seed=2)
    >>> restore_environment(two, environment_state(one))
    True
    >>> one.step(0)[0].tolist() == two.step(0)[0].tolist()
    True
    """
    try:
        return _state_of(env, (), {})
    except Exception:  # _Opaque, or whatever a part of another library raises if it is looked at
        return None


def restore_environment(env: Any, state: Any) -> bool:
    """Put an environment that was made alike, and reset, into a state of :func:`environment_state`.

    Returns
    -------
    bool
        Whether that was possible. It is not if a part is missing, or of another class, because the environment made it
        on the way; the environment must then be reset.
    """
    try:
        _restore(env, state, {})
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return True


def _state_of(part: Any, path: tuple[Any, ...], known: dict[int, tuple[Any, ...]]) -> Any:
    """Describe a part by a pair: how to restore it, and what it needs for that."""
    if isinstance(part, STATIC):
        return "static", None
    if id(part) in known:
        return "same", list(known[id(part)])
    if isinstance(part, (np.random.Generator, *SHARED)) or _is_object(part):
        known[id(part)] = path
    if isinstance(part, np.random.Generator):
        return "generator", part.bit_generator.state
    if is_plain(part):
        return "value", part
    if _is_object(part) or type(part) in (dict, list, tuple):
        return "parts", (_class_of(part), {key: _state_of(value, (*path, key), known) for key, value in _parts(part)})
    raise _Opaque


def _restore(part: Any, state: Any, done: dict[tuple[Any, ...], Any], path: tuple[Any, ...] = ()) -> Any:
    """Restore a part in its place, or give what takes its place."""
    kind, content = state
    if kind == "static":
        return part
    if kind == "same":
        return done[tuple(content)]
    if kind == "value":
        part = content
    elif kind == "generator":
        if not isinstance(part, np.random.Generator):
            part = np.random.Generator(BIT_GENERATORS[content["bit_generator"]]())
        part.bit_generator.state = content
    elif kind == "parts":
        done[path] = part
        name, described_parts = content
        if name != _class_of(part):
            raise TypeError(f"{_class_of(part)} is not {name}")
        inside = dict(_parts(part))
        for key, described in described_parts.items():
            found = _restore(inside.get(key), described, done, (*path, key))
            if key in inside and found is inside[key]:
                continue
            if isinstance(part, (dict, list)):
                part[key] = found
            else:
                vars(part)[key] = found  # not setattr: a property may stand before it
        for key in inside.keys() - described_parts.keys():
            del vars(part)[key]
    else:
        raise TypeError(f"no kind {kind!r}")
    done[path] = part
    return part


def _is_object(part: Any) -> bool:
    """Whether all the state of an object is in its attributes: its class, and those below it, are written in Python."""
    is_python = hasattr(part, "__dict__") and type(part).__basicsize__ == _Plain.__basicsize__
    return is_python and not isinstance(part, enum.Enum)  # whose members all objects share


def _class_of(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"


def _parts(part: Any) -> Iterator[tuple[Any, Any]]:
    """Keys and parts of an object or of a container."""
    if isinstance(part, (list, tuple)):
        yield from enumerate(part)
    else:
        inside = part if isinstance(part, dict) else vars(part)
        skipped = "class_attributes" if isinstance(part, VecEnvWrapper) else None  # those of its class, not its own
        yield from ((key, value) for key, value in inside.items() if skipped is None or key != skipped)
