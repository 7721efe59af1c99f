"""The encoder of a model as ONNX operators.

A model of numbers alone has one input ``X``, a matrix. With categories every column is an
input of its own, shape (N, 1): numbers, categories that are numbers (always doubles, so that
they compare exactly), and strings. A missing number is NaN. ONNX has no missing string: a
word stands for it that no column has among its categories, ``<missing>`` where it can.
"""

from __future__ import annotations

import re

import numpy as np

from dtsemnet.arrays import Array, Ints
from dtsemnet.export.onnx.graph import Graph
from dtsemnet.export.terms import features_of
from dtsemnet.tree import Column, Encoder

__all__ = ["encode", "feed", "input_names", "missing_word"]

OUTPUTS = ("leaf", "label", "probabilities", "variable")


def encode(graph: Graph, encoder: Encoder) -> tuple[str, Ints]:
    """Write the encoder.

    Returns
    -------
    features : str
        The value that holds the features, shape (N, n_features).
    order : ndarray of int64
        Which feature of the tree each of its columns is: operators work on all numbers at once, so numbers come
        first, then the marks of missing numbers, then the categories.
    """
    columns, names = encoder.columns, input_names(encoder)
    numeric = [j for j, column in enumerate(columns) if column.categories is None]
    if names == ["X"]:
        numbers = graph.input("X", graph.dtype, len(columns), ", ".join(column.name for column in columns))
    else:
        for column, name in zip(columns, names):
            graph.input(name, _input_type(column, graph.dtype), 1, column.name)
        numbers = _join(graph, [names[j] for j in numeric])
    parts = _encode_numbers(graph, [columns[j] for j in numeric], numbers) if numeric else []
    place = {(feature.place, feature.kind, feature.category): k for k, feature in enumerate(features_of(encoder))}
    order = [place[j, "number", None] for j in numeric]
    order += [place[j, "missing", None] for j in numeric if columns[j].missing is not None]
    word = missing_word(encoder)
    for j, column in enumerate(columns):
        if column.categories is not None:
            parts += _encode_categories(graph, column, names[j], word)
            order += [place[j, "category", category] for category in column.categories]
            order += [place[j, "missing", None]] if column.missing is not None else []
    return _join(graph, parts), np.array(order, dtype=np.int64)


def input_names(encoder: Encoder) -> list[str]:
    """Names of the inputs: X, or an identifier made of each column's name."""
    if all(column.categories is None for column in encoder.columns):
        return ["X"]
    names: list[str] = []
    for column in encoder.columns:
        plain = re.sub(r"\W", "_", column.name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        name, number = plain, 2
        while name in names or name in OUTPUTS:
            name, number = f"{plain}_{number}", number + 1
        names.append(name)
    return names


def missing_word(encoder: Encoder) -> str:
    """The string that stands for a missing one."""
    taken = {category for column in encoder.columns for category in column.categories or ()}
    word = "<missing>"
    while word in taken:
        word = f"<{word}>"
    return word


def feed(encoder: Encoder, rows: Array, dtype: str) -> dict[str, Array]:
    """Turn rows of a table into the inputs."""
    names = input_names(encoder)
    with np.errstate(over="ignore", under="ignore"):
        if names == ["X"]:
            return {"X": rows.astype(dtype)}
        word, given = missing_word(encoder), {}
        for name, column, values in zip(names, encoder.columns, rows.T):
            kind = _input_type(column, dtype)
            if kind == "str":
                values = np.array([word if value is None else value for value in values], dtype=object)
            given[name] = values.astype(object if kind == "str" else kind)[:, None]
        return given


def _input_type(column: Column, dtype: str) -> str:
    if column.categories is None:
        return dtype
    strings = [isinstance(category, str) for category in column.categories]
    if any(strings) and not all(strings):
        raise ValueError(
            f"column {column.name!r} has categories that are strings and others that are numbers, which no ONNX "
            f"tensor holds; fit on a column of strings."
        )
    return "str" if all(strings) else "float64"


def _encode_numbers(graph: Graph, columns: list[Column], numbers: str) -> list[str]:
    lost = [j for j, column in enumerate(columns) if column.missing is not None]
    parts = []
    if lost:
        mask = graph.node("IsNaN", numbers)
        # NaN where a number may not be missing: the row stays wrong to see, and is not filled by stealth.
        fill = [np.nan if column.missing is None else column.fill for column in columns]
        numbers = graph.node("Where", mask, graph.constant("fill", np.array([fill])), numbers)
        marks = graph.node("Gather", mask, graph.constant("columns", np.array(lost)), axis=1)
        parts.append(graph.cast(marks, graph.dtype))
    ends = {
        "Max": [-np.inf if column.lower is None else column.lower for column in columns],
        "Min": [np.inf if column.upper is None else column.upper for column in columns],
    }
    steps = {"Sub": [column.center for column in columns], "Mul": [column.scale for column in columns], **ends}
    nothing = {"Sub": 0.0, "Mul": 1.0, "Max": -np.inf, "Min": np.inf}
    for operator, values in steps.items():
        if any(value != nothing[operator] for value in values):
            numbers = graph.node(operator, numbers, graph.constant(operator.lower(), np.array([values])))
    return [numbers, *parts]


def _encode_categories(graph: Graph, column: Column, name: str, word: str) -> list[str]:
    parts = []
    strings = _input_type(column, graph.dtype) == "str"
    if column.categories:
        known = np.array([column.categories], dtype=object if strings else np.float64)
        write = graph.constant if strings else graph.exact_constant
        parts.append(graph.cast(graph.node("Equal", name, write("categories", known)), graph.dtype))
    if column.missing is not None:
        if strings:
            mark = graph.node("Equal", name, graph.constant("missing", np.array([[word]], dtype=object)))
        else:
            mark = graph.node("IsNaN", name)
        parts.append(graph.cast(mark, graph.dtype))
    return parts


def _join(graph: Graph, parts: list[str]) -> str:
    if len(parts) < 2:
        return parts[0] if parts else ""
    return graph.node("Concat", *parts, axis=1)
