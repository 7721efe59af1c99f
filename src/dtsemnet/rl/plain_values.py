"""Values without code: what a checkpoint of an agent may hold, and how it is written.

Numbers, texts, bytes, arrays, tensors, and tuples, lists, deques and dictionaries of them. The containers become JSON,
the arrays members of a numpy archive that JSON refers to by number. Reading gives the same values back and nothing
else: no class is named in the file, and nothing in it is called. Pickle would run whatever the file asks for.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import torch

from dtsemnet.arrays import Array
from dtsemnet.training.archive import read_archive, unreadable, write_archive

__all__ = ["is_plain", "read_values", "write_values"]


def write_values(path: str | PathLike[str], content: Any) -> None:
    """Write plain values to a file, in one durable step.

    Raises
    ------
    TypeError
        If a value is of another kind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_values(f"{folder}/state.npz", {"step": 3, 1: (np.arange(2), b"x", None)})
    ...     read_values(f"{folder}/state.npz")
    {'step': 3, 1: (array([0, 1]), b'x', None)}
    """
    arrays: list[Array] = []
    text = _describe(content, arrays)
    write_archive(path, text, {str(number): array for number, array in enumerate(arrays)})


def read_values(path: str | PathLike[str]) -> Any:
    """Read what :func:`write_values` wrote; any other file is a ``ValueError`` that names it."""
    text, arrays = read_archive(path)
    try:
        return _read(text, [arrays[str(number)] for number in range(len(arrays))])
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise unreadable(path, error) from error


def is_plain(value: Any) -> bool:
    """Tell whether a value can be written."""
    try:
        _describe(value, [])
    except (TypeError, RecursionError):
        return False
    return True


def _describe(value: Any, arrays: list[Array]) -> Any:
    """Turn a value into JSON; everything that JSON does not know is a dictionary with the kind as its only key."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_describe(part, arrays) for part in value]
    if kind is tuple:
        return {"tuple": [_describe(part, arrays) for part in value]}
    if kind is deque:
        return {"deque": [[_describe(part, arrays) for part in value], value.maxlen]}
    if kind in (dict, OrderedDict):
        pairs = [[_describe(key, arrays), _describe(part, arrays)] for key, part in value.items()]
        return {"dict" if kind is dict else "ordered": pairs}
    if kind is bytes:
        return {"bytes": _add(np.frombuffer(value, np.uint8), arrays)}
    if isinstance(value, torch.Tensor):
        return {"tensor": _add(value.detach().cpu().numpy(), arrays)}
    if kind is np.ndarray:
        return {"array": _add(value, arrays)}
    if isinstance(value, np.generic):
        return {"scalar": _add(np.asarray(value), arrays)}
    raise TypeError(f"a checkpoint holds numbers, texts and arrays, not {kind.__qualname__}.")


def _add(array: Array, arrays: list[Array]) -> int:
    if array.dtype.hasobject:
        raise TypeError("a checkpoint holds no arrays of objects.")
    arrays.append(array)
    return len(arrays) - 1


def _read(value: Any, arrays: Sequence[Array]) -> Any:
    """Undo :func:`_describe`."""
    if isinstance(value, list):
        return [_read(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "tuple":
        return tuple(_read(part, arrays) for part in content)
    if kind == "deque":
        return deque((_read(part, arrays) for part in content[0]), maxlen=content[1])
    if kind in ("dict", "ordered"):
        pairs = [(_read(key, arrays), _read(part, arrays)) for key, part in content]
        return dict(pairs) if kind == "dict" else OrderedDict(pairs)
    array = arrays[content]
    if kind == "bytes":
        return array.tobytes()
    if kind == "tensor":
        return torch.from_numpy(array)
    if kind == "array":
        return array
    if kind == "scalar":
        return array[()]
    raise ValueError(f"there is no kind {kind!r}")
