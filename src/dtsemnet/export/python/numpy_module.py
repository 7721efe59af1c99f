"""A tree as a Python module that imports numpy alone and answers for whole tables at once.

Rows walk down the tree together: at each split those that reached it are scored in one
product, summed in the documented order (sixteen columns at a time, then by halves), so the
module answers as the tree does, bit for bit. ``numpy.dot`` would not: its order of summation
is that of the BLAS that happens to be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.check import checked
from dtsemnet.export.python import _column, _plain
from dtsemnet.tree import Model, TanhScale, as_model

__all__ = ["to_numpy_function"]

_HEAD = '''"""A decision tree, written by dtsemnet {version}. Needs numpy.

{summary}
Columns: {columns}

    predict(X)        {predicts} of each row
    apply(X)          number of each row's leaf, counted from left to right
{more}
X is an array with one column each, or a dict or data frame of columns.{missing}
"""

import numpy as np

inf = np.inf
'''

_BODY = '''

def encode(X):
    """Turn the columns of a table into the numbers that the tree reads, shape (n_rows, n_features)."""
    if hasattr(X, "keys"):
        given = [np.asarray(X[column["name"]]) for column in COLUMNS]
    else:
        array = np.asarray(X)
        if array.dtype.kind == "U" and not isinstance(X, np.ndarray):  # a list of mixed values: keep the numbers
            array = np.array(X, dtype=object)
        if array.ndim != 2 or array.shape[1] != len(COLUMNS):
            raise ValueError(f"X must have shape (n_rows, {len(COLUMNS)}), got {array.shape}")
        if PLAIN and array.dtype.kind in "fiub":
            return _finite(np.asarray(array, dtype=np.float64))
        given = list(array.T)
    parts = []
    for column, values in zip(COLUMNS, given):
        missing = _missing(values)
        if column["categories"] is not None:
            place = {category: k for k, category in enumerate(column["categories"])}
            found = [-1 if lost else place.get(value, -1) for value, lost in zip(values.tolist(), missing)]
            parts.append(np.equal.outer(np.array(found, dtype=int), np.arange(len(place))).astype(float))
        else:
            if missing.any() and not column["missing"]:
                raise ValueError(f"{column['name']!r} is missing in row {int(np.argmax(missing))}")
            number = np.full(len(values), column["fill"])
            number[~missing] = values[~missing].astype(float)
            if not np.isfinite(number).all():
                raise ValueError(f"{column['name']!r} must be finite")
            number = (number - column["center"]) * column["scale"]
            parts.append(np.minimum(np.maximum(number, column["lower"]), column["upper"])[:, None])
        if column["missing"]:
            parts.append(missing[:, None].astype(float))
    return np.concatenate(parts, axis=1)


def _missing(values):
    if values.dtype.kind != "O":
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    nulls = ("NoneType", "NAType", "NaTType")
    return np.array([type(v).__name__ in nulls or (isinstance(v, float) and v != v) for v in values], dtype=bool)


def _finite(x):
    if not np.isfinite(x).all():
        i, j = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"{COLUMNS[j]['name']!r} must be finite, got {x[i, j]} in row {i}")
    return x


def _sum(product):
    """Sum each row in a fixed order, so that every language finds the same bits."""
    total = product[:, :16] + 0.0
    for start in range(16, product.shape[1], 16):
        part = product[:, start : start + 16]
        total[:, : part.shape[1]] += part
    for half in (8, 4, 2, 1):
        if total.shape[1] > half:
            total[:, : total.shape[1] - half] += total[:, half:]
            total = total[:, :half]
    if np.isnan(total).any():
        raise ValueError("a sum overflows: a row is too large for this tree")
    return total[:, 0]


def _leaf(x):
    leaf = np.zeros(len(x), dtype=np.int64)
    rows = {0: np.arange(len(x))} if len(CHILDREN) else {}
    for split in range(len(CHILDREN)):  # parents come first
        here = rows.pop(split)
        if not len(here):
            rows.update({child: here for child in CHILDREN[split] if child >= 0})
            continue
        right = _sum(x[here] * WEIGHT[split]) + BIAS[split] > 0.0
        for child, some in zip(CHILDREN[split], (here[~right], here[right])):
            if child >= 0:
                rows[child] = some
            else:
                leaf[some] = ~child
    return leaf


def _blocks(x):
    step = max(2048, 200_000 // x.shape[1])  # rows enough for each call of numpy to count, few enough for the cache
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, max(1, len(x)), step):
            yield x[start : start + step]


def apply(X):
    """Find the leaf of each row."""
    return np.concatenate([_leaf(x) for x in _blocks(encode(X))])

'''

_CLASS = '''
def predict_proba(X):
    """Give the class probabilities of each row, in the order of CLASSES."""
    return VALUE[apply(X)]


def predict(X):
    """Predict the class of each row."""
    return CLASSES[np.argmax(VALUE, axis=1)][apply(X)]
'''

_NUMBERS = '''
def _output(x):
    leaf = _leaf(x)
    output = VALUE[leaf]
{linear}    return np.where(output < LOWER[leaf], LOWER[leaf], np.where(output > UPPER[leaf], UPPER[leaf], output))


def predict(X):
    """Predict {what} for each row."""
    output = np.concatenate([_output(x) for x in _blocks(encode(X))])
    return {answer}
'''

_LINEAR = """    for o in range(output.shape[1]):
        output[:, o] += _sum(x * COEF[leaf, o])
"""


def to_numpy_function(tree: Any, X: Any = None) -> Artefact:
    """Write a tree as a Python module that needs numpy alone.

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
    >>> exec(to_numpy_function(tree).text, module)
    >>> module["predict"]([[3.0, 2.0], [2.0, 2.0]])
    array(['above', 'below'], dtype=object)
    """
    model = as_model(tree)
    source = _write(model)
    return checked(model, Artefact("numpy", source, exact=True, answer=_runner(model, source)), X)


def _write(model: Model) -> str:
    from dtsemnet import __version__

    tree, columns = model.tree, model.encoder.columns
    several = tree.n_outputs > 1 and not model.is_classifier
    what = "the class" if model.is_classifier else "numbers" if several else "a number"
    head = _HEAD.format(
        version=__version__, summary=_plain(repr(tree)), predicts=what,
        columns=_plain(", ".join(column.name for column in columns[:12]) + (", ..." if len(columns) > 12 else "")),
        more="    predict_proba(X)  probabilities in the order of CLASSES\n" if model.is_classifier else "",
        missing=" A missing value is None or NaN." if any(c.missing or c.categories for c in columns) else "",
    )  # fmt: skip
    written = "".join(f"    {_column(column)!r},\n" for column in columns)
    parts = [head, f"COLUMNS = [\n{written}]\n", f"PLAIN = {model.encoder.is_identity}\n"]
    parts.append(f"CHILDREN = {tree.topology.children.tolist()!r}\n")
    parts += [_array("WEIGHT", tree.weight), _array("BIAS", tree.bias), _array("VALUE", tree.value)]
    if tree.class_names is not None:
        # One by one into an array of objects: names of different types stay what they are.
        names = f"CLASSES = np.empty({tree.n_outputs}, dtype=object)\nCLASSES[:] = {list(tree.class_names)!r}\n"
        return "".join([*parts, names, _BODY, _CLASS])
    parts += [_array(name, end) for name, end in zip(("LOWER", "UPPER"), tree.guard)]
    parts += [] if tree.coef is None else [_array("COEF", tree.coef)]
    answer = "output" if several else "output[:, 0]"
    if isinstance(model.output, TanhScale):
        parts += [_array("LOW", np.array(model.output.low)), _array("HIGH", np.array(model.output.high))]
        answer = answer.replace("output", "(LOW + (np.tanh(output) + 1.0) / 2.0 * (HIGH - LOW))")
    linear = "" if tree.coef is None else _LINEAR
    return "".join([*parts, _BODY, _NUMBERS.format(what=what, answer=answer, linear=linear)])


def _array(name: str, array: Floats) -> str:
    """One row a line; the shape is told apart, since an array without rows would lose it."""
    flat = [array.tolist()] if array.ndim == 1 else [row.ravel().tolist() for row in array]
    rows = "".join(f"        {row!r},\n" for row in flat)
    return f"{name} = np.array(\n    [\n{rows}    ],\n    dtype=np.float64,\n).reshape({array.shape!r})\n"


def _runner(model: Model, source: str) -> Callable[[Array], Answer]:
    def answer(rows: Array) -> Answer:
        module: dict[str, Any] = {}
        exec(compile(source, "<exported tree>", "exec"), module)
        if model.is_classifier:
            return Answer(module["apply"](rows), module["predict_proba"](rows), module["predict"](rows))
        return Answer(module["apply"](rows), module["predict"](rows).reshape(len(rows), -1))

    return answer
