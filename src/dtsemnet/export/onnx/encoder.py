"""The encoder of a model as ONNX operators.

A model with only numeric columns has one input ``X``, a matrix. With categories, every column is an
input of its own, shape (N, 1): numbers, categories that are numbers (always doubles, so that
they compare exactly), and strings. A missing number is NaN. ONNX has no missing string, so a
word that is no category of any column replaces it: ``<missing>`` if possible.
"""

from __future__ import annotations

import re

import numpy as np

from dtsemnet.arrays import Array, Ints
from dtsemnet.export.onnx.graph import Graph
from dtsemnet.tree import Column, Encoder

__all__ = ["encode", "feed", "input_names", "missing_word"]

OUTPUTS = ("leaf", "label", "probabilities", "variable")


def encode(graph: Graph, encoder: Encoder) -> tuple[str, Ints]:
    """Write the encoder; return the name of its result, and which feature of the tree each column of that is.

    Operators work on all numbers at once, so numbers come first, then the indicators of missing numbers, then the
    categories.
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
    first = [features.start for features in encoder.features_of_column]
    order = [first[j] for j in numeric] + [first[j] + 1 for j in numeric if columns[j].missing is not None]
    word = missing_word(encoder)
    for j, column in enumerate(columns):
        if column.categories is not None:
            parts += _encode_categories(graph, column, names[j], word)
            order += range(encoder.n_features)[encoder.features_of_column[j]]
    return _join(graph, parts), np.array(order, dtype=np.int64)


def input_names(encoder: Encoder) -> list[str]:
    """Name the inputs: X, or an identifier made of each column's name."""
    if encoder.is_numeric:
        return ["X"]
    names: list[str] = []
    for column in encoder.columns:
        plain = re.sub(r"\W", "_", column.name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        name, count = plain, 1
        while name in names or name in OUTPUTS:
            count += 1
            name = f"{plain}_{count}"
        names.append(name)
    return names


def missing_word(encoder: Encoder) -> str:
    """Choose the string that replaces a missing one."""
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
        word, inputs = missing_word(encoder), {}
        for name, column, values in zip(names, encoder.columns, rows.T):
            kind = _input_type(column, dtype)
            if kind == "str":
                values = np.array([word if value is None else value for value in values], dtype=object)
            inputs[name] = values.astype(object if kind == "str" else kind)[:, None]
        return inputs


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
    may_miss = [j for j, column in enumerate(columns) if column.missing is not None]
    parts = []
    if may_miss:
        mask = graph.node("IsNaN", numbers)
        # A number that may not be missing stays NaN, so that the error shows instead of being filled silently.
        fill = [np.nan if column.missing is None else column.fill for column in columns]
        numbers = graph.node("Where", mask, graph.constant("fill", np.array([fill])), numbers)
        indicators = graph.node("Gather", mask, graph.constant("columns", np.array(may_miss)), axis=1)
        parts.append(graph.cast(indicators, graph.dtype))
    steps = [("Sub", "center", 0.0), ("Mul", "scale", 1.0), ("Max", "lower", -np.inf), ("Min", "upper", np.inf)]
    for operator, field, neutral in steps:
        values = [neutral if getattr(column, field) is None else getattr(column, field) for column in columns]
        if any(value != neutral for value in values):
            numbers = graph.node(operator, numbers, graph.constant(operator.lower(), np.array([values])))
    return [numbers, *parts]


def _encode_categories(graph: Graph, column: Column, name: str, word: str) -> list[str]:
    parts = []
    strings = _input_type(column, graph.dtype) == "str"
    if column.categories:
        known = np.array([column.categories], dtype=object if strings else np.float64)
        equal = graph.node("Equal", name, graph.constant("categories", known, exact=True))
        parts.append(graph.cast(equal, graph.dtype))
    if column.missing is not None:
        if strings:
            indicator = graph.node("Equal", name, graph.constant("missing", np.array([[word]], dtype=object)))
        else:
            indicator = graph.node("IsNaN", name)
        parts.append(graph.cast(indicator, graph.dtype))
    return parts


def _join(graph: Graph, parts: list[str]) -> str:
    if len(parts) < 2:
        return parts[0] if parts else ""
    return graph.node("Concat", *parts, axis=1)
