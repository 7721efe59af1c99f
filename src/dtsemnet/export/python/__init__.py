"""A tree as a Python module that imports nothing but the standard library.

The module holds the numbers of the tree as literals, which Python reads back exactly, and
functions that repeat the encoder and the documented order of summation, so it answers as
the tree does, bit for bit. Rows come one at a time: a list in the order of the columns, or
a dict by column name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.check import checked
from dtsemnet.tree import Column, Model, TanhScale, as_model

__all__ = ["to_python"]

_HEAD = '''"""A decision tree, written by dtsemnet {version}. Needs nothing but Python.

{summary}
Columns: {columns}

    predict(row)        {predicts}
    apply(row)          number of the leaf, counted from left to right
{more}
A row is a list in the order of the columns, or a dict by their names.{missing}
"""

import math

inf = math.inf
'''

_ROUTE = '''

def encode(row):
    """Turn the columns of a row into the numbers that the tree reads."""
    if isinstance(row, dict):
        row = [row[column["name"]] for column in COLUMNS]
    if len(row) != len(COLUMNS):
        raise ValueError(f"row must hold {len(COLUMNS)} values, got {len(row)}")
    features = []
    for column, value in zip(COLUMNS, row):
        missing = value is None or value != value
        if column["categories"] is not None:
            features += [float(not missing and value == category) for category in column["categories"]]
        else:
            if missing and not column["missing"]:
                raise ValueError(f"{column['name']!r} is missing")
            number = column["fill"] if missing else float(value)
            if not math.isfinite(number):
                raise ValueError(f"{column['name']!r} must be finite, got {value!r}")
            number = (number - column["center"]) * column["scale"]
            features.append(min(max(number, column["lower"]), column["upper"]))
        if column["missing"]:
            features.append(float(missing))
    return features


def _dot(weight, x):
    """Sum the products in a fixed order, so that every language finds the same bits."""
    total = [0.0] * 16
    for j in range(len(x)):
        total[j % 16] += weight[j] * x[j]
    for half in (8, 4, 2, 1):
        for k in range(half):
            total[k] += total[k + half]
    return total[0]


def _leaf(x):
    node = 0 if CHILDREN else -1
    while node >= 0:
        score = _dot(WEIGHT[node], x) + BIAS[node]
        if score != score:
            raise ValueError("a sum overflows: the row is too large for this tree")
        node = CHILDREN[node][score > 0.0]
    return ~node


def apply(row):
    """Find the leaf of a row."""
    return _leaf(encode(row))

'''

_CLASS = '''
def predict_proba(row):
    """Give the class probabilities, in the order of CLASSES."""
    return list(VALUE[apply(row)])


def predict(row):
    """Predict the class."""
    probability = predict_proba(row)
    return CLASSES[probability.index(max(probability))]
'''

_NUMBERS = '''
def predict(row):
    """Predict {what}."""
    x = encode(row)
    leaf = _leaf(x)
    outputs = []
    for o in range(len(VALUE[leaf])):
        output = {output}
        output = LOWER[leaf][o] if output < LOWER[leaf][o] else UPPER[leaf][o] if output > UPPER[leaf][o] else output
        outputs.append({mapped})
    return {answer}
'''


def to_python(tree: Any, X: Any = None) -> Artefact:
    """Write a tree as a Python module without dependencies.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which the module is compared with the tree, beside the probes of :func:`check_export`.

    Returns
    -------
    Artefact
        Exact: ``predict``, ``apply`` and, of a classifier, ``predict_proba`` agree bit for bit.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> module = {}
    >>> exec(to_python(tree).text, module)
    >>> module["predict"]([3.0, 2.0])
    'above'
    """
    model = as_model(tree)
    source = _write(model)
    return checked(model, Artefact("Python", source, exact=True, answer=_runner(model, source)), X)


def _write(model: Model) -> str:
    from dtsemnet import __version__

    tree = model.tree
    columns = model.encoder.columns
    several = tree.n_outputs > 1 and not model.is_classifier
    what = "the class" if model.is_classifier else "a list of numbers" if several else "a number"
    head = _HEAD.format(
        version=__version__, summary=_plain(repr(tree)), predicts=what,
        columns=_plain(", ".join(column.name for column in columns[:12]) + (", ..." if len(columns) > 12 else "")),
        more="    predict_proba(row)  probabilities in the order of CLASSES\n" if model.is_classifier else "",
        missing=" A missing value is None or NaN." if any(c.missing or c.categories for c in columns) else "",
    )  # fmt: skip
    parts = [head, _table("COLUMNS", [_column(column) for column in columns])]
    parts += [_table("CHILDREN", tree.topology.children.tolist()), _table("WEIGHT", tree.weight.tolist())]
    parts += [f"BIAS = {tree.bias.tolist()!r}\n", _table("VALUE", tree.value.tolist())]
    if model.is_classifier:
        return "".join([*parts, f"CLASSES = {list(tree.class_names or ())!r}\n", _ROUTE, _CLASS])
    parts += [_table(name, end.tolist()) for name, end in zip(("LOWER", "UPPER"), tree.guard)]
    output, mapped = "VALUE[leaf][o]", "output"
    if tree.coef is not None:
        parts.append(_table("COEF", tree.coef.tolist()))
        output = "_dot(COEF[leaf][o], x) + VALUE[leaf][o]"
    if isinstance(model.output, TanhScale):
        parts.append(f"LOW, HIGH = {list(model.output.low)!r}, {list(model.output.high)!r}\n")
        mapped = "LOW[o] + (math.tanh(output) + 1.0) / 2.0 * (HIGH[o] - LOW[o])"
    answer = "outputs" if several else "outputs[0]"
    return "".join([*parts, _ROUTE, _NUMBERS.format(what=what, output=output, mapped=mapped, answer=answer)])


def _column(column: Column) -> dict[str, Any]:
    numbers = {
        "fill": column.fill,
        "center": column.center,
        "scale": column.scale,
        "lower": -math.inf if column.lower is None else column.lower,
        "upper": math.inf if column.upper is None else column.upper,
    }
    categories = None if column.categories is None else list(column.categories)
    start = {"name": column.name, "categories": categories, "missing": column.missing is not None}
    return start if categories is not None else start | numbers


def _table(name: str, rows: list[Any]) -> str:
    """One row a line; repr gives the shortest decimal that reads back as the same double."""
    return f"{name} = [\n" + "".join(f"    {row!r},\n" for row in rows) + "]\n"


def _plain(text: str) -> str:
    """Text that cannot end a docstring or start an escape."""
    return text.replace("\\", "/").replace('"', "'")


def _runner(model: Model, source: str) -> Callable[[Array], Answer]:
    def answer(rows: Array) -> Answer:
        module: dict[str, Any] = {}
        exec(compile(source, "<exported tree>", "exec"), module)
        plain = rows.tolist()
        leaf = np.array([module["apply"](row) for row in plain], dtype=np.int64)
        told = [module["predict"](row) for row in plain]
        if not model.is_classifier:
            return Answer(leaf, np.array(told, dtype=np.float64).reshape(len(rows), -1))
        proba = np.array([module["predict_proba"](row) for row in plain]).reshape(len(rows), -1)
        label = np.empty(len(rows), dtype=object)
        label[:] = told
        return Answer(leaf, proba, label)

    return answer
