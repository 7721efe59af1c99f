"""Data sets by name: a catalogue says what a set is, and a file holds its rows.

A catalogue is a TOML file with one table per set: its task, how many rows, features and
classes it must have, how it is split, by which factor its target is scaled, and where to
get it. A set of numbers is an archive ``NAME.npz``. It is looked for, in this order, in the
folder named by the environment variable ``DTSEMNET_DATA``, in the cache, and on OpenML under
the id that the catalogue pins; what comes from OpenML is kept in the cache. A set with
categories or missing values is ``NAME.csv`` in the folder named by ``DTSEMNET_TABLES``
(:mod:`dtsemnet_paper.bench.csv_files`). What is loaded is checked against the catalogue. A
set that is not found, or is another one, is an error that says how to get it; no other set
is ever used instead.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.arrays import Array

__all__ = [
    "FOLDERS", "WAYS", "DataSet", "DataSpec", "MissingData", "cache_folder", "check_data", "load_data",
    "read_catalogue", "take_rows",
]  # fmt: skip

TASKS = ("classification", "regression")
MASKS = ("test", "val", "test_splits")
FOLDERS = {"npz": "DTSEMNET_DATA", "csv": "DTSEMNET_TABLES"}
"""By the ending of a file: the environment variable that names the folder of such files."""
WAYS = {
    "npz": "put {name}.npz (arrays X, y, and masks if it has any) into a folder and name that folder in DTSEMNET_DATA",
    "csv": "put {name}.csv (a header line, the column target last) into a folder and name that folder in "
    "DTSEMNET_TABLES",
}
"""By the ending of a file: what a person does to have a set."""


class MissingData(LookupError):
    """Rows of a set are not available; the message says why and how to get them, ``reason`` says only why."""

    def __init__(self, spec: DataSpec, reason: str) -> None:
        super().__init__(f"{spec.name}: {reason}. {_ways(spec)}")
        self.reason = reason


@dataclass(frozen=True)
class DataSpec:
    """What a data set is, as the catalogue describes it.

    Parameters
    ----------
    name : str
        Name of the file, without its ending.
    task : {"classification", "regression"}
    rows, features : int
        Shape that the rows must have; None if the number of rows is not known.
    classes : int, optional
        Number of classes (classification).
    class_rows : list of int, optional
        Rows of each class, in any order: they distinguish two sets of the same shape.
    split : dict
        Rule of the split and its parameters; see :mod:`dtsemnet_paper.bench.splits`.
    file : {"npz", "csv"}, default="npz"
        Archive of arrays, or table with a header line.
    text : int, optional
        How many columns of a table must be text.
    target_factor : float, default=1.0
        Regression targets are multiplied by it, so that errors are in the unit of the published tables.
    openml : dict
        ``id`` on OpenML and what has to be done with the reply; empty if OpenML does not have the set.
    source : str
        How a person gets the set.

    Examples
    --------
    >>> DataSpec("flowers", "classification", 150, 4, classes=3).title
    'flowers'
    """

    name: str
    task: str
    rows: int | None
    features: int
    classes: int | None = None
    class_rows: Sequence[int] = ()
    file: str = "npz"
    text: int | None = None
    title: str = ""
    split: Mapping[str, Any] = field(default_factory=dict)
    target_factor: float = 1.0
    openml: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task of {self.name} must be one of {TASKS}, got {self.task!r}.")
        if self.file not in FOLDERS:
            raise ValueError(f"file of {self.name} must be one of {tuple(FOLDERS)}, got {self.file!r}.")
        if not self.title:
            object.__setattr__(self, "title", self.name)


@dataclass(frozen=True)
class DataSet:
    """Rows of a set, target scaled, with the masks of official splits if it has any."""

    spec: DataSpec
    X: Any
    """An array of numbers; of a CSV file a data frame, whose texts and missing values stay."""
    y: Array
    masks: Mapping[str, Array] = field(default_factory=dict)
    origin: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """First 16 digits of a SHA-256 of the rows, targets and masks, independent of their number type."""
        content = hashlib.sha256(repr(self.X.shape).encode())
        rows = [self.X] if isinstance(self.X, np.ndarray) else [self.X[name].to_numpy() for name in self.X.columns]
        for array in (*rows, self.y, *(self.masks[name] for name in sorted(self.masks))):
            if array.dtype.kind in "fiub":
                content.update(np.ascontiguousarray(array, dtype=np.float64).data)
            else:
                content.update("\0".join(map(str, array)).encode())
        return content.hexdigest()[:16]


def take_rows(X: Any, rows: Any) -> Any:
    """Copy some rows of an array or a data frame.

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), [2, 0])
    array([[3.],
           [1.]])
    """
    return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows].reset_index(drop=True)


def read_catalogue(path: str | os.PathLike[str]) -> dict[str, DataSpec]:
    """Read a catalogue, in its order.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "datasets.toml")
    ...     _ = path.write_text("[flowers]\\ntask = 'classification'\\nrows = 150\\nfeatures = 4\\nclasses = 3\\n")
    ...     read_catalogue(path)["flowers"].rows
    150
    """
    with Path(path).open("rb") as file:
        content = tomllib.load(file)
    try:
        return {name: DataSpec(name, **{"rows": None, **fields}) for name, fields in content.items()}
    except TypeError as error:
        raise ValueError(f"{path} is no catalogue of data sets: {error}.") from None


def load_data(spec: DataSpec, *, download: bool = True) -> DataSet:
    """Find the rows of a set, check them and scale the target.

    Parameters
    ----------
    download : bool, default=True
        Ask OpenML for what is neither in the folder nor in the cache.

    Raises
    ------
    MissingData
        If the rows are not found, or are not those that the catalogue describes.
    """
    if spec.file == "csv":
        from dtsemnet_paper.bench.csv_files import read_rows

        return _checked(spec, *read_rows(spec))
    for path in _paths(spec.name):
        if path.is_file():
            with np.load(path, allow_pickle=False) as archive:
                return _checked(spec, dict(archive), str(path))
    if not spec.openml:
        raise MissingData(spec, _not_found(spec, "no id on OpenML is known for it"))
    if not download:
        raise MissingData(spec, _not_found(spec, "OpenML was not asked"))
    from dtsemnet_paper.bench.openml import fetch

    try:
        content = fetch(spec)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise MissingData(spec, _not_found(spec, f"OpenML did not give it ({reason})")) from error
    data = _checked(spec, content, f"OpenML {spec.openml['id']}")
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{spec.name}.{os.getpid()}.npz"
    np.savez_compressed(aside, allow_pickle=False, **content)
    os.replace(aside, folder / f"{spec.name}.npz")
    return data


def check_data(spec: DataSpec, *, download: bool = True) -> None:
    """Raise :class:`MissingData` if the rows of a set are not available; of an archive only the shape is read."""
    for path in _paths(spec.name) if spec.file == "npz" else ():
        if path.is_file():
            with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                return _check_shape(spec, read(file)[0], str(path))
    load_data(spec, download=download)


def cache_folder() -> Path:
    """Where downloaded sets are kept: ``dtsemnet/data`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dtsemnet" / "data"


def _paths(name: str) -> list[Path]:
    named = os.environ.get(FOLDERS["npz"])
    return [folder / f"{name}.npz" for folder in ([Path(named)] if named else []) + [cache_folder()]]


def _checked(spec: DataSpec, content: Mapping[str, Any], origin: str) -> DataSet:
    X, y = content["X"], content["y"]
    _check_shape(spec, X.shape, origin)
    if len(y) != len(X):
        raise MissingData(spec, f"what {origin} holds has {len(X)} rows but {len(y)} targets")
    if spec.task == "classification":
        classes, rows = np.unique(y, return_counts=True)
        if y.dtype.kind not in "iu" or len(classes) != spec.classes:
            raise MissingData(
                spec,
                f"what {origin} holds has {len(classes)} different targets of type {y.dtype}, but the catalogue "
                f"says {spec.classes} classes; codes of classes are whole numbers",
            )
        if spec.class_rows and sorted(rows.tolist()) != sorted(spec.class_rows):
            raise MissingData(
                spec,
                f"what {origin} holds has classes of {rows.tolist()} rows, but the catalogue says "
                f"{list(spec.class_rows)}: it is another set, and is not used",
            )
    else:
        y = y.astype(np.float64) * spec.target_factor
    if isinstance(X, np.ndarray):
        X = X.astype(np.float64)
    if not np.isfinite(y).all() or (isinstance(X, np.ndarray) and not np.isfinite(X).all()):
        raise MissingData(spec, f"what {origin} holds has NaN or infinity in it, which no set of the catalogue has")
    masks = {name: content[name] for name in MASKS if name in content}
    return DataSet(spec, X, y, masks, origin)


def _check_shape(spec: DataSpec, shape: tuple[int, ...], origin: str) -> None:
    expected = (shape[0] if spec.rows is None else spec.rows, spec.features)
    if tuple(shape) != expected:
        raise MissingData(
            spec,
            f"what {origin} holds has the shape {tuple(shape)}, but the catalogue says {expected}: "
            "it is another set, and is not used",
        )


def _not_found(spec: DataSpec, last: str) -> str:
    looked = " or ".join(str(path.parent) for path in _paths(spec.name))
    return f"not in {looked}, and {last}"


def _ways(spec: DataSpec) -> str:
    way = WAYS[spec.file].format(name=spec.name)
    return f"To have it, {way}." + (f" Source: {spec.source}." if spec.source else "")
