"""The file of a checkpoint: named arrays and one JSON text in a numpy archive, without pickled objects.

Reading runs no code from the file. A file that is empty, torn, changed by hand or no archive at all gives one
``ValueError`` that names it and the way out; the check sums of the archive find a flipped bit.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from dtsemnet.arrays import Array
from dtsemnet.files import open_atomically
from dtsemnet.names import printable

__all__ = ["DAMAGES", "read_archive", "unreadable", "write_archive"]

TEXT = "text"
"""Name of the member that holds the JSON text."""


DAMAGES = (
    BadZipFile, EOFError, KeyError, NotImplementedError, OSError, OverflowError, RuntimeError, SyntaxError, TokenError,
    TypeError, ValueError, zlib.error,
)  # fmt: skip
"""What numpy and zipfile raise for bytes that they did not write."""


def write_archive(path: str | PathLike[str], text: Any, arrays: Mapping[str, Array]) -> None:
    """Write plain values and arrays in one durable step; the folder is made if needed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/run.npz", {"epoch": 3}, {"weight": np.ones(2)})
    ...     read_archive(f"{folder}/run.npz")
    ({'epoch': 3}, {'weight': array([1., 1.])})
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open_atomically(path) as stream:
        np.savez(stream, allow_pickle=False, **{TEXT: np.array(json.dumps(text))}, **arrays)


def read_archive(path: str | PathLike[str]) -> tuple[Any, dict[str, Array]]:
    """Read what :func:`write_archive` wrote.

    Raises
    ------
    ValueError
        If the file is anything else.
    """
    with open(path, "rb") as stream:  # an error of the file system is not one of the content
        try:
            with np.load(stream, allow_pickle=False) as archive:
                if not isinstance(archive, NpzFile):
                    raise ValueError("it holds a single array")
                arrays = {name: archive[name] for name in archive.files}
                if strange := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
                    raise ValueError(f"its member {strange[0]!r} is no array")
            return json.loads(_text(arrays.pop(TEXT))), arrays
        except MemoryError:
            raise MemoryError(f"checkpoint {path} does not fit into the memory that is left.") from None
        except DAMAGES as error:
            raise unreadable(path, error) from error


def _text(array: Array) -> str:
    """Read a text that numpy keeps as numbers of letters, which it does not check and Python's texts must not break."""
    if array.ndim or array.dtype.kind != "U":
        raise ValueError(f"its text is an array of {array.ndim} dimensions and dtype {array.dtype}")
    return array.astype(array.dtype.newbyteorder("<")).tobytes().decode("utf-32-le").rstrip("\0")


def unreadable(path: str | PathLike[str], error: object) -> ValueError:
    """Make the error for a checkpoint whose content is not what it must be."""
    reason = printable(f"{type(error).__name__}: {error}")[:300]  # it may quote the file
    return ValueError(
        f"checkpoint {path} cannot be read ({reason}); it is torn, or was changed or written "
        "by something else. Delete it to start anew."
    )
