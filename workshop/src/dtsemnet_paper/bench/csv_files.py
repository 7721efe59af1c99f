"""A data set from a CSV file: rows as a data frame, in which categories and missing values stay.

A table ``NAME.csv`` has a header line, one line per row, and the column ``target`` last. It is read as ``dtsemnet fit``
reads a table: an empty cell is a missing value, and a column with any other text is a column of categories. The
environment variable ``DTSEMNET_TABLES`` names the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.tables.files import read_table
from dtsemnet_paper.bench.data import FOLDERS, DataSpec, MissingData

__all__ = ["is_number", "read_rows"]

TARGET = "target"


def read_rows(spec: DataSpec) -> tuple[dict[str, Any], str]:
    """Read a table.

    Returns
    -------
    dict
        ``X``, a data frame, and ``y``: numbers, or for classes their codes in the order of their names.
    str
        The file.

    Raises
    ------
    MissingData
        If there is no such file, or it is no table with a target.
    """
    variable = FOLDERS["csv"]
    folder = os.environ.get(variable)
    if not folder:
        raise MissingData(spec, f"the environment variable {variable} is not set")
    path = Path(folder, f"{spec.name}.csv")
    if not path.is_file():
        raise MissingData(spec, f"{path} does not exist ({variable} is {folder})")
    try:
        frame = read_table(path)
    except ValueError as error:
        raise MissingData(spec, str(error).removesuffix(".")) from error
    if frame.columns[-1] != TARGET:
        raise MissingData(spec, f"the last column of {path} is {frame.columns[-1]!r}, not {TARGET!r}")
    X, target = frame.iloc[:, :-1], frame[TARGET]
    text = [name for name, dtype in X.dtypes.items() if not is_number(dtype)]
    if spec.text is not None and len(text) != spec.text:
        raise MissingData(spec, f"{path} has the columns of text {text}, but the catalogue says {spec.text} columns")
    if target.isna().any():
        raise MissingData(spec, f"{path} lacks the target of {int(target.isna().sum())} rows")
    if spec.task == "classification":
        return {"X": X, "y": np.unique(target.astype(str).to_numpy(dtype=str), return_inverse=True)[1]}, str(path)
    if not is_number(target.dtype):
        raise MissingData(spec, f"the target of {path} holds text, but the catalogue says {spec.task}")
    return {"X": X, "y": target.to_numpy()}, str(path)


def is_number(dtype: Any) -> bool:
    """Whether a column of a data frame holds numbers, not text.

    Examples
    --------
    >>> is_number(np.dtype(float)), is_number(np.dtype(object))
    (True, False)
    """
    return dtype.kind in "fiub"
