"""A data set from OpenML, converted to the form of the archives.

The catalogue pins the id of a set and says how to convert the reply: ``target`` names the
column to predict, ``columns`` those to keep (in that order) or ``drop`` those to leave out,
``one_hot`` the columns of text that become one column per value, ``classes`` the order of the
class names, ``test_last`` how many rows at the end are the official test rows, ``first`` how
many rows are used, ``drop_missing`` leaves out rows with a missing value, and ``log_target``
takes the logarithm of the target.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet.arrays import Array, Floats

if TYPE_CHECKING:
    from dtsemnet_paper.bench.data import DataSpec

__all__ = ["fetch"]


def fetch(spec: DataSpec) -> dict[str, Array]:
    """Ask OpenML for a set, through scikit-learn.

    Returns
    -------
    dict of arrays
        ``X``, ``y``, ``feature_names``, for classes ``class_names``, and ``test`` if there is an official split.
    """
    from sklearn.datasets import fetch_openml

    options = spec.openml
    reply = fetch_openml(data_id=int(options["id"]), as_frame=True, parser="auto", n_retries=1)
    frame = reply.frame
    target = options.get("target") or reply.target_names[0]
    if options.get("drop_missing"):
        frame = frame.dropna()
    if "first" in options:
        frame = frame.iloc[: int(options["first"])]
    table = _columns(frame.drop(columns=[target]), options)
    content = {
        "X": np.column_stack([_numbers(table[name]) for name in table]),
        "feature_names": np.array([str(name) for name in table]),
        **_targets(frame[target], spec),
    }
    if "test_last" in options:
        content["test"] = np.arange(len(frame)) >= len(frame) - int(options["test_last"])
    return content


def _columns(table: Any, options: Any) -> Any:
    """Choose the columns, and encode those of text that the catalogue lists as one column per value."""
    table = (
        table[list(options["columns"])] if "columns" in options else table.drop(columns=list(options.get("drop", ())))
    )
    if "one_hot" in options:
        pd = importlib.import_module("pandas")
        chosen = list(table) if options["one_hot"] == "all" else list(options["one_hot"])
        words = pd.get_dummies(table[chosen], dtype=float)
        table = pd.concat([words, table.drop(columns=chosen)], axis=1)
    return table


def _numbers(column: Any) -> Floats:
    """Read a column as numbers: text as codes in the order of OpenML, digits as their value."""
    if column.dtype.name == "category":
        words = column.cat.categories
        try:
            return words.astype(float).to_numpy()[column.cat.codes.to_numpy()]
        except ValueError:
            return column.cat.codes.to_numpy().astype(np.float64)
    return column.to_numpy(dtype=np.float64)


def _targets(column: Any, spec: DataSpec) -> dict[str, Array]:
    if spec.task == "regression":
        y = column.to_numpy(dtype=np.float64)
        return {"y": np.log(y) if spec.openml.get("log_target") else y}
    words = column.astype(str).to_numpy()
    names = np.array(spec.openml.get("classes") or sorted(set(words), key=_by_number))
    code_of = {name: code for code, name in enumerate(names.tolist())}
    return {"y": np.array([code_of[word] for word in words], dtype=np.int64), "class_names": names}


def _by_number(word: str) -> tuple[float, str]:
    """Order digits by their value, words after them by the alphabet."""
    try:
        return float(word), word
    except ValueError:
        return np.inf, word
