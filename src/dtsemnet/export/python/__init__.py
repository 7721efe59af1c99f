"""A tree as a Python module: one that imports nothing but the standard library, and one that imports numpy.

Both hold the numbers of the tree as literals, which Python reads back exactly, and repeat
the encoder and the documented order of summation (sixteen partial sums, then by halves), so
they answer as the tree does, bit for bit; margin probabilities to the last digits of ``exp``.
The plain module takes one row at a time, a list in the order of the columns or a dict by column
name. The numpy module takes whole tables: rows walk down the tree together, and at each split
those that reached it are scored in one product. ``numpy.dot`` would not do, since its order of
summation is that of the BLAS that happens to be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.tree import Column, Model, TanhScale

__all__ = ["to_numpy_function", "to_python"]

_PLAIN_ROUTING = '''

def encode(row):
    """Turn the columns of a row into the numbers that the tree reads."""
    if isinstance(row, dict):
        row = [row[column["name"]] for column in COLUMNS]
    if len(row) != len(COLUMNS):
        raise ValueError(f"row must hold {len(COLUMNS)} values, got {len(row)}")
    features = []
    for column, value in zip(COLUMNS, row):
        missing = value is None or value != value
        if missing and column["missing"] is not None:
            value = column["fill"]
        if column["categories"] is not None:
            features += [float(value == category) for category in column["categories"]]
        else:
            if value is None or value != value:
                raise ValueError(f"{column['name']!r} is missing")
            number = float(value)
            if not math.isfinite(number):
                raise ValueError(f"{column['name']!r} must be finite, got {value!r}")
            number = (number - column["center"]) * column["scale"]
            features.append(min(max(number, column["lower"]), column["upper"]))
        if column["missing"] == "indicator":
            features.append(float(missing))
    return features


def _dot(weight, x):
    """Sum the products in a fixed order, so that every language computes the same bits."""
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

_PLAIN_CLASSES = '''
def predict_proba(row):
    """Give the class probabilities, in the order of CLASSES."""
    return list(VALUE[apply(row)])


def predict(row):
    """Predict the class."""
    probability = predict_proba(row)
    return CLASSES[probability.index(max(probability))]
'''

_PLAIN_MARGINS = '''
def _margins(x):
    """Least sum of margins that must turn before the row is in each class."""
    margin, above = [inf] * len(CLASSES), [0.0] * (len(CHILDREN) + 1)
    for split, children in enumerate(CHILDREN or [[-1]]):
        score = _dot(WEIGHT[split], x) + BIAS[split] if CHILDREN else 0.0
        if score != score:
            raise ValueError("a sum overflows: the row is too large for this tree")
        for child, violated in zip(children, (score, -score)):
            total = above[split] + max(violated, 0.0)
            if child >= 0:
                above[child] = total
            else:
                code = LEAF_CLASS[~child]
                margin[code] = min(margin[code], total)
    largest = max(margin[code] for code in LEAF_CLASS)
    return [margin[code] if code in LEAF_CLASS else largest for code in range(len(CLASSES))]


def predict_proba(row):
    """Give the class probabilities, in the order of CLASSES."""
    x = encode(row)
    log = LEAF_LOG[_leaf(x)]
    exponent = [a - RATE * m if RATE else a for a, m in zip(log, _margins(x))]
    weight = [math.exp(max(e, -700.0)) for e in exponent]
    total = sum(weight)
    return [w / total for w in weight]


def predict(row):
    """Predict the class."""
    return CLASSES[LEAF_CLASS[apply(row)]]
'''

_PLAIN_NUMBERS = '''
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

_NUMPY_ROUTING = '''

def encode(X):
    """Turn the columns of a table into the numbers that the tree reads, shape (n_rows, n_features)."""
    if hasattr(X, "keys"):
        given = [np.asarray(X[column["name"]]) for column in COLUMNS]
    else:
        array = np.asarray(X)
        if array.dtype.kind == "U" and not isinstance(X, np.ndarray):  # a list of mixed values: numbers stay numbers
            array = np.array(X, dtype=object)
        if array.ndim != 2 or array.shape[1] != len(COLUMNS):
            raise ValueError(f"X must have shape (n_rows, {len(COLUMNS)}), got {array.shape}")
        if PLAIN and array.dtype.kind in "fiub":
            return _finite(np.where(np.isnan(array), FILL, array))
        given = list(array.T)
    parts = []
    for column, values in zip(COLUMNS, given):
        missing = _missing(values)
        if column["categories"] is not None:
            code = {category: k for k, category in enumerate(column["categories"])}
            fill = code.get(column["fill"], -1)
            codes = [fill if absent else code.get(value, -1) for value, absent in zip(values.tolist(), missing)]
            parts.append(np.equal.outer(np.array(codes, dtype=int), np.arange(len(code))).astype(float))
        else:
            if missing.any() and column["missing"] is None:
                raise ValueError(f"{column['name']!r} is missing in row {int(np.argmax(missing))}")
            number = np.full(len(values), column["fill"])
            number[~missing] = values[~missing].astype(float)
            if not np.isfinite(number).all():
                raise ValueError(f"{column['name']!r} must be finite")
            number = (number - column["center"]) * column["scale"]
            parts.append(np.minimum(np.maximum(number, column["lower"]), column["upper"])[:, None])
        if column["missing"] == "indicator":
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
    """Sum each row in a fixed order, so that every language computes the same bits."""
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
        reached = rows.pop(split)
        if not len(reached):
            rows.update({child: reached for child in CHILDREN[split] if child >= 0})
            continue
        right = _sum(x[reached] * WEIGHT[split]) + BIAS[split] > 0.0
        for child, below in zip(CHILDREN[split], (reached[~right], reached[right])):
            if child >= 0:
                rows[child] = below
            else:
                leaf[below] = ~child
    return leaf


def _blocks(x):
    step = max(2048, 200_000 // x.shape[1])  # enough rows that calls of numpy cost little, few enough for the cache
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, max(1, len(x)), step):
            yield x[start : start + step]


def apply(X):
    """Find the leaf of each row."""
    return np.concatenate([_leaf(x) for x in _blocks(encode(X))])

'''

_NUMPY_CLASSES = '''
def predict_proba(X):
    """Give the class probabilities of each row, in the order of CLASSES."""
    return VALUE[apply(X)]


def predict(X):
    """Predict the class of each row."""
    return CLASSES[np.argmax(VALUE, axis=1)][apply(X)]
'''

_NUMPY_MARGINS = '''
def _margins(x):
    """Least sum of margins that must turn before each row is in each class."""
    margin, above = np.full((len(CLASSES), len(x)), inf), np.zeros((len(CHILDREN) + 1, len(x)))
    for split, children in enumerate(CHILDREN or [[-1]]):
        score = _sum(x * WEIGHT[split]) + BIAS[split] if CHILDREN else np.zeros(len(x))
        for child, violated in zip(children, (score, -score)):
            total = above[split] + np.maximum(violated, 0.0)
            if child >= 0:
                above[child] = total
            else:
                code = LEAF_CLASS[~child]
                margin[code] = np.minimum(margin[code], total)
    held = np.unique(LEAF_CLASS)
    largest = margin[held].max(axis=0)
    return np.array([row if code in held else largest for code, row in enumerate(margin)]).T


def _probabilities(x):
    log = LEAF_LOG[_leaf(x)]
    exponent = log - RATE * _margins(x) if RATE else log
    weight = np.exp(np.maximum(exponent, -700.0))
    return weight / weight.sum(axis=1, keepdims=True)


def predict_proba(X):
    """Give the class probabilities of each row, in the order of CLASSES."""
    return np.concatenate([_probabilities(x) for x in _blocks(encode(X))])


def predict(X):
    """Predict the class of each row."""
    return CLASSES[LEAF_CLASS][apply(X)]
'''

_NUMPY_NUMBERS = '''
def _output(x):
    leaf = _leaf(x)
    output = VALUE[leaf]
{linear}    return np.where(output < LOWER[leaf], LOWER[leaf], np.where(output > UPPER[leaf], UPPER[leaf], output))


def predict(X):
    """Predict {what} for each row."""
    output = np.concatenate([_output(x) for x in _blocks(encode(X))])
    return {answer}
'''

_NUMPY_LINEAR = """    for o in range(output.shape[1]):
        output[:, o] += _sum(x * COEF[leaf, o])
"""


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
        Exact: ``predict``, ``apply`` and, for a classifier, ``predict_proba`` agree bit for bit; margin
        probabilities to the last digits of ``exp``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> module = {}
    >>> exec(to_python(tree).text, module)
    >>> module["predict"]([3.0, 2.0])
    'above'
    """
    model = Model.of(tree)
    form = "A row is a list in the order of the columns, or a dict by their names."
    several = "a list of numbers"
    source = _opening(model, needs="nothing but Python", imports="math", argument="row", form=form, several=several)
    source += "inf = math.inf\n" + _tables(model, _list) + _PLAIN_ROUTING
    if model.is_classifier:
        source += _PLAIN_CLASSES if model.probability is None else _PLAIN_MARGINS
        return _checked(model, "Python", source, X, by_row=True)
    output = "VALUE[leaf][o]" if model.tree.coef is None else "_dot(COEF[leaf][o], x) + VALUE[leaf][o]"
    mapped = "output"
    if isinstance(model.output, TanhScale):
        mapped = "LOW[o] + (math.tanh(output) + 1.0) / 2.0 * (HIGH[o] - LOW[o])"
    what, answer = (several, "outputs") if model.tree.n_outputs > 1 else ("a number", "outputs[0]")
    source += _PLAIN_NUMBERS.format(what=what, output=output, mapped=mapped, answer=answer)
    return _checked(model, "Python", source, X, by_row=True)


def to_numpy_function(tree: Any, X: Any = None) -> Artefact:
    """Write a tree as a Python module that needs only numpy.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which the module is compared with the tree, beside the probes of :func:`check_export`.

    Returns
    -------
    Artefact
        Exact: ``predict``, ``apply`` and, for a classifier, ``predict_proba`` agree bit for bit; margin
        probabilities to the last digits of ``exp``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> module = {}
    >>> exec(to_numpy_function(tree).text, module)
    >>> module["predict"]([[3.0, 2.0], [2.0, 2.0]])
    array(['above', 'below'], dtype=object)
    """
    model = Model.of(tree)
    form = "X is an array with these columns, or a dict or data frame of them; every function answers for all rows."
    source = _opening(model, needs="numpy", imports="numpy as np", argument="X", form=form, several="numbers")
    source += f"inf, nan = np.inf, np.nan\n{_tables(model, _array)}PLAIN = {model.encoder.is_identity}\n"
    if model.encoder.is_identity:
        source += f"FILL = np.array({[c.fill if c.fills_missing else np.nan for c in model.encoder.columns]!r})\n"
    if model.is_classifier:
        # An array of objects, so that names of different types keep them.
        classes = _NUMPY_CLASSES if model.probability is None else _NUMPY_MARGINS
        source += f"CLASSES = np.array(CLASSES, dtype=object)\n{_NUMPY_ROUTING}{classes}"
        return _checked(model, "numpy", source, X, by_row=False)
    mapped = "output"
    if isinstance(model.output, TanhScale):
        mapped = "(LOW + (np.tanh(output) + 1.0) / 2.0 * (HIGH - LOW))"
    what, column = ("numbers", "") if model.tree.n_outputs > 1 else ("a number", "[:, 0]")
    linear = "" if model.tree.coef is None else _NUMPY_LINEAR
    source += _NUMPY_ROUTING + _NUMPY_NUMBERS.format(what=what, answer=mapped + column, linear=linear)
    return _checked(model, "numpy", source, X, by_row=False)


def _opening(model: Model, *, needs: str, imports: str, argument: str, form: str, several: str) -> str:
    """Write the docstring of the module, and its import."""
    from dtsemnet import __version__

    columns = model.encoder.columns
    what = "the class" if model.is_classifier else several if model.tree.n_outputs > 1 else "a number"
    functions = {"predict": what, "apply": "number of the leaf, counted from left to right"}
    if model.is_classifier:
        functions["predict_proba"] = "probabilities in the order of CLASSES"
    lines = [f"A decision tree, written by dtsemnet {__version__}. Needs {needs}.", "", repr(model.tree)]
    lines += [f"Columns: {', '.join(repr(column.name) for column in columns[:12])}{', ...' * (len(columns) > 12)}", ""]
    lines += [f"    {f'{name}({argument})':20}{text}" for name, text in functions.items()]
    lines += ["", form + " A missing value is None or NaN." * any(c.missing or c.categories for c in columns)]
    # Nothing ends the docstring or starts an escape, and repr has escaped what commands a terminal.
    text = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{text}\n"""\n\nimport {imports}\n\n'


def _tables(model: Model, write: Callable[[str, Floats], str]) -> str:
    """Write the columns, the splits and the leaves; ``write`` writes one array of numbers."""
    tree = model.tree
    columns = "".join(f"    {_column(column)!r},\n" for column in model.encoder.columns)
    parts = [f"COLUMNS = [\n{columns}]\n", f"CHILDREN = {tree.topology.children.tolist()!r}\n"]
    parts += [write("WEIGHT", tree.weight), write("BIAS", tree.bias)]
    if model.probability is None:
        parts.append(write("VALUE", tree.value))
    else:
        parts += [write("LEAF_LOG", model.probability.leaf_logs(tree)), f"RATE = {model.probability.rate!r}\n"]
        parts.append(f"LEAF_CLASS = {tree.leaf_class.tolist()!r}\n")
    if tree.class_names is not None:
        return "".join([*parts, f"CLASSES = {list(tree.class_names)!r}\n"])
    parts += [write(name, end) for name, end in zip(("LOWER", "UPPER"), tree.guard)]
    if tree.coef is not None:
        parts.append(write("COEF", tree.coef))
    if isinstance(model.output, TanhScale):
        parts += [write("LOW", np.array(model.output.low)), write("HIGH", np.array(model.output.high))]
    return "".join(parts)


def _column(column: Column) -> dict[str, Any]:
    categories = None if column.categories is None else list(column.categories)
    fields: dict[str, Any] = {"name": column.name, "categories": categories, "missing": column.missing}
    fields["fill"] = column.fill if categories is None or column.fills_missing else None
    if categories is None:
        fields |= {"center": column.center, "scale": column.scale}
        fields["lower"], fields["upper"] = column.bounds
    return fields


def _list(name: str, array: Floats) -> str:
    """Write nested lists, one row per line; repr gives the shortest decimal that reads back as the same double."""
    if array.ndim == 1:
        return f"{name} = {array.tolist()!r}\n"
    return f"{name} = [\n" + "".join(f"    {row!r},\n" for row in array.tolist()) + "]\n"


def _array(name: str, array: Floats) -> str:
    """Write an array, one row per line, and its shape, which an array without rows would lose."""
    flat = [array.tolist()] if array.ndim == 1 else [row.ravel().tolist() for row in array]
    rows = "".join(f"        {row!r},\n" for row in flat)
    return f"{name} = np.array(\n    [\n{rows}    ],\n    dtype=np.float64,\n).reshape({array.shape!r})\n"


def _checked(model: Model, kind: str, source: str, X: Any, *, by_row: bool) -> Artefact:
    """Make the artefact; functions of the module take a row, or a table."""

    def answer(rows: Array) -> Predictions:
        module: dict[str, Callable[[Any], Any]] = {}
        exec(compile(source, "<exported tree>", "exec"), module)

        def call(name: str) -> Any:
            return [module[name](row) for row in rows.tolist()] if by_row else module[name](rows)

        leaf, prediction = np.asarray(call("apply")), call("predict")
        if not model.is_classifier:
            return Predictions(leaf, np.array(prediction, dtype=np.float64).reshape(len(rows), -1))
        probability = np.array(call("predict_proba")).reshape(len(rows), -1)
        return Predictions(leaf, probability, np.array(prediction, dtype=object))

    return checked(model, Artefact(kind, source, exact=True, answer=answer), X)
