"""Data frames of any kind, as one that is read by the names of its columns.

pandas and polars are read as they are: ``X[name].to_numpy()``. Other tables (pyarrow, duckdb, dask, PySpark, ibis,
cuDF, lazy frames of polars, and whatever else narwhals knows) are first turned into a frame of pandas or polars.
Nothing is imported for what is no data frame.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

__all__ = ["as_frame"]


def as_frame(X: Any) -> Any:
    """Return a table as a data frame that is read by column name; an array, a list and all else as it is.

    Examples
    --------
    >>> import pyarrow
    >>> as_frame(pyarrow.table({"age": [30, 40], "dose": [0.5, None]}))["dose"].to_numpy().tolist()
    [0.5, nan]
    >>> as_frame([[1, 2]])
    [[1, 2]]
    """
    if type(X).__module__ in ("builtins", "numpy") or hasattr(X, "dtype"):  # at prediction most are, and hurry
        return X
    package = type(X).__module__.partition(".")[0]
    if package == "polars":
        return X.collect() if hasattr(X, "collect") else X
    looks_like_one = any(hasattr(X, name) for name in ("columns", "__arrow_c_stream__", "__dataframe__"))
    if package == "pandas" or not looks_like_one:
        return X
    if importlib.util.find_spec("narwhals") is not None:
        narwhals: Any = importlib.import_module("narwhals")
        known = narwhals.from_native(X, pass_through=True)
        if isinstance(known, narwhals.LazyFrame):
            known = known.collect()
        if isinstance(known, narwhals.DataFrame):
            return known.to_pandas() if importlib.util.find_spec("pandas") is not None else known.to_polars()
    # Without narwhals: pyarrow and others can say it themselves.
    return X.to_pandas() if hasattr(X, "to_pandas") else X
