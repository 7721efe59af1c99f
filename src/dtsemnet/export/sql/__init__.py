"""A tree as one SQL expression: ``SELECT <expression> FROM t``.

A split is a CASE, a leaf is what it predicts. Sums are written in the documented order, and
every double exactly, so a database with IEEE doubles answers as the tree does, bit for
bit. A comparison with NULL or NaN is not false but unknown, or even true, so rows that the
tree refuses (a missing or infinite number, a sum that overflows both ways) are sorted out
first: the expression is NULL for them, never a leaf that they did not reach.

The check runs the expression in sqlite, which comes with Python.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.export.sql.literals import NAN, acceptance, category, clipped, condition, double, identifier, number
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Model, TanhScale
from dtsemnet.tree._validate import Scalar

__all__ = ["ordered_sum", "query", "to_sql"]

Term = TypeVar("Term")

_NESTED = 10
"""Levels written as CASE inside CASE; sqlite's parser has room for about 15."""
_SATURATED = 40.0
"""tanh is 1 to the last bit long before this, and its exponential stays in range."""


def to_sql(tree: Any, X: Any = None, *, output: str = "predict", table: str | None = None) -> Artefact:
    """Write a tree as an SQL expression.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which sqlite's answers are compared with the tree's, beside the probes of :func:`check_export`.
    output : {"predict", "leaf", "proba"}, default="predict"
        What the expression gives: the class or the number predicted, the number of the leaf, or the probabilities
        of the classes. Several numbers are a list of expressions for SELECT, each with a name: the class, or
        ``output_0``, ``output_1``, ...
    table : str, optional
        Name of the table, put before each column. Useful in sqlite, which takes a quoted name that it does not find
        for a string.

    Returns
    -------
    Artefact
        Exact. NULL means a missing value, and is the answer for rows that the tree refuses.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[2.0]], [-3.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    >>> print(to_sql(tree))
    CASE WHEN CAST("x0" AS DOUBLE PRECISION) - CAST("x0" AS DOUBLE PRECISION) = 0e0 THEN
    CASE WHEN CAST("x0" AS DOUBLE PRECISION) * 2e0 + -3e0 > 0e0 THEN
    'b'
    ELSE
    'a'
    END
    END
    """
    model = Model.of(tree)
    if output not in ("predict", "leaf", "proba") or (output == "proba" and not model.is_classifier):
        raise ValueError(f"output must be 'predict', 'leaf', or 'proba' for a classifier, got {output!r}.")
    names = [column.name for column in model.encoder.columns]
    by_folded: dict[str, str] = {}
    for name in names:
        twin = by_folded.setdefault(name.lower(), name)
        if twin != name:
            raise ValueError(f"SQL reads the columns {twin!r} and {name!r} as one; rename one of them.")
    writer = _Writer(model, "" if table is None else f"{identifier(table)}.")
    expression = writer.write(output)
    one = output == "leaf" or (output == "predict" and model.is_classifier)
    n_values = 1 if one else model.tree.n_outputs

    def answer(rows: Array) -> Predictions:
        values = query(names, rows, expression, "rows" if table is None else table, n_values)
        if output == "leaf":
            return Predictions(leaf=np.array([-1 if leaf is None else leaf for (leaf,) in values], dtype=np.int64))
        if output == "predict" and model.is_classifier:
            return Predictions(label=np.array([writer.labels.get(word) for (word,) in values], dtype=object))
        return Predictions(output=np.array(values, dtype=np.float64).reshape(len(rows), -1))

    return checked(model, Artefact("SQL", expression, exact=True, answer=answer), X)


class _Writer:
    """Writes expressions over the columns of a model."""

    def __init__(self, model: Model, table: str) -> None:
        self.model, self.tree, self.table = model, model.tree, table
        features = model.encoder.features
        self.is_number = [feature.kind == "number" for feature in features]
        self.text = [number(f.column, table) if f.kind == "number" else condition(f, table) for f in features]
        # Whether the product of a feature with a weight can overflow.
        self.is_unbounded = [f.kind == "number" and None in (f.column.lower, f.column.upper) for f in features]

    def write(self, output: str) -> str:
        if output == "leaf":
            return self._route(str)
        if output == "proba":
            names = [str(name) for name in self.tree.class_names or ()]
            parts = [self._route([double(p) for p in value].__getitem__) for value in self.tree.value.T.tolist()]
        elif self.model.is_classifier:
            words = list(self.labels)
            return self._route(lambda leaf: category(words[self.tree.leaf_class[leaf]]))
        else:
            names = [f"output_{k}" for k in range(self.tree.n_outputs)]
            parts = [self._number(k) for k in range(self.tree.n_outputs)]
        if len(parts) == 1:
            return parts[0]
        return ",\n".join(f"{part} AS {identifier(name)}" for part, name in zip(parts, names))

    @cached_property
    def labels(self) -> dict[Scalar, Scalar]:
        """Labels of the classes by what the expression gives: the label, or its text if labels have several types."""
        labels = self.tree.class_names or ()
        kinds = {bool if isinstance(name, bool) else str if isinstance(name, str) else float for name in labels}
        words: dict[Scalar, Scalar] = {(name if len(kinds) == 1 else str(name)): name for name in labels}
        if len(words) < len(labels):
            raise ValueError(f"classes {list(labels)} are alike as text, and an SQL column has one type; rename them.")
        return words

    def _route(self, leaf: Callable[[int], str]) -> str:
        columns = [column for column in self.model.encoder.columns if column.categories is None]
        conditions = [acceptance(column, self.table) for column in columns]
        body = self._node(0 if self.tree.n_splits else -1, leaf, 0)
        return f"CASE WHEN {_all(conditions)} THEN\n{body}\nEND" if conditions else body

    def _node(self, node: int, leaf: Callable[[int], str], depth: int) -> str:
        if node < 0:
            return leaf(~node)
        if depth >= _NESTED:
            return f"CASE {' '.join(self._flat(node, leaf, ''))}\nEND"
        score, unknown = self._sum(self.tree.weight[node], float(self.tree.bias[node]))
        left, right = (self._node(int(child), leaf, depth + 1) for child in self.tree.topology.children[node])
        if unknown:
            return f"CASE {score} > 0e0 WHEN FALSE THEN\n{left}\nWHEN TRUE THEN\n{right}\nEND"
        return f"CASE WHEN {score} > 0e0 THEN\n{right}\nELSE\n{left}\nEND"

    def _flat(self, node: int, leaf: Callable[[int], str], path: str) -> list[str]:
        """Write one WHEN per leaf below: longer, but not nested, however deep the tree is."""
        if node < 0:
            return [f"WHEN {path} THEN\n{leaf(~node)}"]
        score, _ = self._sum(self.tree.weight[node], float(self.tree.bias[node]))
        path = f"{path} AND " if path else ""
        left, right = (int(child) for child in self.tree.topology.children[node])
        return [*self._flat(left, leaf, f"{path}{score} <= 0e0"), *self._flat(right, leaf, f"{path}{score} > 0e0")]

    def _sum(self, weight: Floats, bias: float) -> tuple[str, bool]:
        """Write a score or an output, and say whether it can be NaN: two unbounded terms may be inf and -inf."""
        used = np.flatnonzero(weight).tolist()
        terms = {j: (self._term(j, float(weight[j])), False) for j in used}
        total = ordered_sum(terms, _add)
        if total is None:
            return double(bias), False
        score = f"{total[0]} + {double(bias)}"
        unknown = sum(self.is_unbounded[j] for j in used) > 1
        return (f"NULLIF({score}, {NAN})" if unknown else score), unknown

    def _term(self, j: int, weight: float) -> str:
        if not self.is_number[j]:
            return f"CASE WHEN {self.text[j]} THEN {double(weight)} ELSE 0e0 END"
        return self.text[j] if weight == 1.0 else f"{self.text[j]} * {double(weight)}"

    def _number(self, output: int) -> str:
        """Write one output of a regressor; ``(tanh(v) + 1) / 2`` is ``1 / (1 + exp(-2 v))``."""
        body = self._route(lambda leaf: self._value(leaf, output))
        if not isinstance(self.model.output, TanhScale):
            return body
        low, high = self.model.output.low[output], self.model.output.high[output]
        return f"{double(low)} + {double(high - low)} / (1e0 + EXP(-2e0 * {body}))"

    def _value(self, leaf: int, output: int) -> str:
        tree = self.tree
        lower, upper = (float(end[leaf, output]) for end in tree.guard)
        if isinstance(self.model.output, TanhScale):
            lower, upper = (min(max(end, -_SATURATED), _SATURATED) for end in (lower, upper))
        value = float(tree.value[leaf, output])
        if tree.coef is None:
            return double(lower if value < lower else min(value, upper))
        linear, _ = self._sum(tree.coef[leaf, output], value)
        return clipped(linear, lower, upper)


def ordered_sum(terms: Mapping[int, Term], add: Callable[[Term, Term], Term]) -> Term | None:
    """Join the products ``w[j] * x[j]`` of a sum, given by ``j``, in the documented order; None if there are none.

    Examples
    --------
    >>> ordered_sum({0: "a", 3: "b", 8: "c", 16: "d"}, lambda one, other: f"({one} + {other})")
    '(((a + d) + c) + b)'
    """
    lanes: list[Term | None] = [None] * LANES
    for j in sorted(terms):
        lanes[j % LANES] = _join(lanes[j % LANES], terms[j], add)
    half = LANES // 2
    while half:
        for k in range(half):
            lanes[k] = _join(lanes[k], lanes[k + half], add)
        half //= 2
    return lanes[0]


def _join(one: Term | None, other: Term | None, add: Callable[[Term, Term], Term]) -> Term | None:
    if one is None or other is None:
        return other if one is None else one
    return add(one, other)


def _add(one: tuple[str, bool], other: tuple[str, bool]) -> tuple[str, bool]:
    """Join two terms; a sum is read from the left, so only a right part that is a sum needs parentheses."""
    return f"{one[0]} + ({other[0]})" if other[1] else f"{one[0]} + {other[0]}", True


def _all(conditions: list[str]) -> str:
    """Join conditions two by two: a chain of a thousand would be deeper than sqlite allows."""
    if len(conditions) <= 8:
        return " AND ".join(conditions)
    half = len(conditions) // 2
    return f"({_all(conditions[:half])}) AND ({_all(conditions[half:])})"


def query(columns: Sequence[str], rows: Array, expression: str, table: str, n_values: int = 1) -> list[tuple[Any, ...]]:
    """Select one or several expressions from a table of rows, in sqlite, which stores None and NaN as NULL.

    sqlite collects the constants of a statement to compute them once, and looks for each among those it has: time that
    grows with the square of their number, a second at five thousand weights. It does not do so inside a trigger, so
    that is where the expression runs.

    Examples
    --------
    >>> import numpy as np
    >>> query(["a", "b"], np.array([[1.0, 2.0], [3.0, np.nan]]), '"a" + "b"', "t")
    [(3.0,), (None,)]
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10**9)
        connection.execute(f"CREATE TABLE {identifier(table)} ({', '.join(map(identifier, columns))})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", rows.tolist())
        _need_exp(connection)
        return _select(connection, expression, identifier(table), n_values)
    except sqlite3.Error as error:
        raise ValueError(
            f"sqlite cannot run this expression of {len(expression):,} characters: {error}. Use a smaller "
            f"tree: prune it, or drop columns."
        ) from error
    finally:
        connection.close()


def _select(connection: sqlite3.Connection, expression: str, table: str, n_values: int) -> list[tuple[Any, ...]]:
    answers, start = (identifier(f"dtsemnet {word}") for word in ("answers", "start"))
    connection.execute(f"CREATE TABLE {answers} ({', '.join(f'value{k}' for k in range(n_values))})")
    connection.execute(f"CREATE TABLE {start} (now)")
    select = f"SELECT {expression} FROM {table} ORDER BY {table}.rowid"
    connection.execute(f"CREATE TRIGGER run AFTER INSERT ON {start} BEGIN INSERT INTO {answers} {select}; END")
    connection.execute(f"INSERT INTO {start} VALUES (1)")
    return connection.execute(f"SELECT * FROM {answers} ORDER BY rowid").fetchall()


def _need_exp(connection: sqlite3.Connection) -> None:
    """Add EXP if sqlite was built without it; a database without it needs the same."""
    try:
        connection.execute("SELECT EXP(0e0)")
    except sqlite3.OperationalError:
        connection.create_function("EXP", 1, math.exp, deterministic=True)
