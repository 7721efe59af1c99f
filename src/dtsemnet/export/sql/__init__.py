"""A tree as one SQL expression: ``SELECT <expression> FROM t``.

A split is a CASE, a leaf is what it predicts. Sums are written in the documented order, and
every double exactly, so a database with IEEE doubles answers as the tree does, bit for
bit. A comparison with NULL or NaN is not false but unknown, or even true, so rows that the
tree refuses (a missing or infinite number, a sum that overflows both ways) are sorted out
first: the expression is NULL for them, never a leaf that they did not reach. PostgreSQL ends a query
with an error where a result overflows or underflows; its dialect sorts such rows out, too
(:mod:`dtsemnet.export.sql.postgres`).

A column that is only cast is written out wherever the tree reads it. One that fills in missing
values, shifts or clips is computed once, in a subquery over the row that gives it a name: NULL if
the tree refuses the value.

Databases differ in how they read decimals: sqlite 3.40 misreads one literal of 17 digits in
ten thousand by its last bit, duckdb takes 0.1 for a DECIMAL, PostgreSQL 1e0 for a NUMERIC.
So a double is written as what it is, an integer over a power of two: both are read exactly
by everyone, and their quotient is exact. A missing value is NULL. NaN, which only some
databases have, counts as missing: ``NULLIF(x, NAN)`` makes it one.

Margin probabilities need all scores, and each of them several times. So they are a subquery,
too, in stages that name what they compute: the scores; the sums of margins on
the paths to the leaves, of which the first that is 0 belongs to the leaf reached; the least of
them in each class, two by two, since databases have no common name for the smaller of two
numbers; the exponentials. ``DISTINCT`` changes nothing about one row, but keeps sqlite from
writing each stage out into the next. They agree to the last digits of ``EXP``.

The check runs the expression in sqlite, which comes with Python.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.export.sql.postgres import NAME_BYTES, Limits
from dtsemnet.export.sql.values import NAN, category, clipped, condition, double, filled, identifier, mapped, number
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Feature, Model, TanhScale
from dtsemnet.tree._validate import Scalar

__all__ = ["ordered_sum", "query", "to_sql"]

Term = TypeVar("Term")

_NESTED = (10, 7, 4, 1)
"""Levels written as CASE inside CASE: the first number for which sqlite's parser has room. It has room for about 15,
and for less if the sums in the leaves are long."""
_SATURATED = 40.0
"""tanh is 1 to the last bit long before this, and its exponential stays in range."""


def to_sql(
    tree: Any, X: Any = None, *, output: str = "predict", table: str | None = None, dialect: str = "ieee"
) -> Artefact:
    """Write a tree as an SQL expression.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which sqlite's answers are compared with the tree's, beside the probes of :func:`check_export`.
    output : {"predict", "leaf", "proba"}, default="predict"
        What the expression gives: the class or the number predicted, the number of the leaf, or the probabilities
        of the classes. Several numbers are a list of expressions for SELECT, each with a name: the class, or
        ``output_0``, ``output_1``, ... Margin probabilities need a database with EXP; sqlite has it since 3.35, unless
        built without. For one that has not, export ``dataclasses.replace(model, probability=None)``: the shares of
        the leaf.
    table : str, optional
        Name of the table, put before each column. Useful in sqlite, which takes a quoted name that it does not find
        for a string.
    dialect : {"ieee", "postgresql"}, default="ieee"
        "ieee" suits databases in which a result that is too large becomes infinite and one that is too small becomes
        0, as in sqlite and duckdb. In PostgreSQL that is an error, which ends the query; "postgresql" gives NULL for
        rows with numbers so extreme that it could happen, and ``report.n_beyond`` counts them.

    Returns
    -------
    Artefact
        Exact, margin probabilities to the last digits of EXP. NULL means a missing value, and is the answer for rows
        that the tree refuses.

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
    if dialect not in ("ieee", "postgresql"):
        raise ValueError(f"dialect must be 'ieee' or 'postgresql', got {dialect!r}.")
    limits = Limits.of(model) if dialect == "postgresql" else None
    names = [column.name for column in model.encoder.columns]
    by_folded: dict[bytes, str] = {}
    for name in names:
        twin = by_folded.setdefault(_folded(name).encode()[: None if limits is None else NAME_BYTES], name)
        if twin != name:
            raise ValueError(f"SQL reads the columns {twin!r} and {name!r} as one; rename one of them.")
    for n_nested in _NESTED:
        writer = _Writer(model, "" if table is None else f"{identifier(table)}.", limits, n_nested)
        expression = writer.write(output)
        if _is_parsed(expression):
            break
    one = output == "leaf" or (output == "predict" and model.is_classifier)
    n_values = 1 if one else model.tree.n_outputs

    def answer(rows: Array) -> Predictions:
        values = query(names, rows, expression, "rows" if table is None else table, n_values)
        if output == "leaf":
            return Predictions(leaf=np.array([-1 if leaf is None else leaf for (leaf,) in values], dtype=np.int64))
        if output == "predict" and model.is_classifier:
            return Predictions(label=np.array([writer.labels.get(word) for (word,) in values], dtype=object))
        return Predictions(output=np.array(values, dtype=np.float64).reshape(len(rows), -1))

    accepts = None if limits is None else limits.contain
    return checked(model, Artefact("SQL", expression, exact=True, answer=answer, accepts=accepts), X)


class _Writer:
    """Writes expressions over the columns of a model."""

    def __init__(self, model: Model, table: str, limits: Limits | None, n_nested: int) -> None:
        self.model, self.tree, self.table, self.limits, self.n_nested = model, model.tree, table, limits, n_nested
        features = model.encoder.features
        self.is_number = [feature.kind == "number" for feature in features]
        self.text = [number(f.column, table) if f.kind == "number" else condition(f, table) for f in features]
        # Whether the product of a feature with a weight can overflow.
        self.is_unbounded = [
            f.kind == "number" and None in (f.column.lower, f.column.upper) and limits is None for f in features
        ]
        self.conditions: list[str] = []  # under which the columns that are only cast are accepted
        self.computed: dict[str, str] = {}  # the other columns by name: NULL, or what the tree reads
        self.taken = [*(column.name for column in model.encoder.columns), table.strip('".')]
        prefix = unused_prefix("c", self.taken)
        for feature in (feature for feature in features if feature.kind == "number"):
            accepted = self._acceptance(feature)
            if feature.column.missing is None and feature.column.is_identity:
                self.conditions.append(accepted)
                continue
            name = f"{prefix}{feature.column_index}"
            self.computed[name] = f"CASE WHEN {accepted} THEN {self.text[feature.index]} END"
            self.text[feature.index] = name

    def _acceptance(self, feature: Feature) -> str:
        """Write the condition under which a number is accepted: finite, and not missing unless the tree knows that."""
        column, name = feature.column, self.table + identifier(feature.column.name)
        if self.limits is not None:
            return self.limits.condition(feature.column_index, filled(column, name))
        # A bound hides an infinity behind it, so then the column itself is tested.
        value = filled(column, name) if column.is_clipped else mapped(column, name)
        return f"{value} - {value} = 0e0"  # inf - inf is NaN, and neither that nor NULL is equal to 0

    def write(self, output: str) -> str:
        if output == "leaf":
            return self._route(str)
        if output == "proba":
            names = [str(name) for name in self.tree.class_names or ()]
            parts = self._shares(self.tree.value) if self.model.probability is None else self._margin_probabilities()
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
        body = self._node(0 if self.tree.n_splits else -1, leaf, 0)
        if self.computed:
            stages = self._stages()
            body = f"({stages.query(_guarded(self._known, body))})"
        return _guarded(self.conditions, body)

    @property
    def _known(self) -> list[str]:
        """The conditions under which the columns that are computed are accepted."""
        return [f"{name} IS NOT NULL" for name in self.computed]

    def _stages(self) -> _Stages:
        """Start a query over one row, with the columns that are computed."""
        return _Stages(self.taken, self.computed)

    def _shares(self, share: Floats) -> list[str]:
        """Write one expression for each class: its share in the leaf."""
        return [self._route([double(p) for p in column].__getitem__) for column in share.T.tolist()]

    def _margin_probabilities(self) -> list[str]:
        """Write one expression for each class: a subquery that computes the weights of all of them."""
        tree, probability = self.tree, self.model.probability
        assert probability is not None
        log = probability.leaf_logs(tree)
        if not tree.n_splits:  # margins are 0
            return self._shares(probability.of(np.zeros(log.shape), log))
        stages = self._stages()
        weights = []
        for name, margin in zip(*self._logs_and_margins(stages, log)):
            exponent = f"{name} - {double(probability.rate)} * {margin}" if probability.rate else name
            weights.append(f"EXP(CASE WHEN {exponent} > -700e0 THEN {exponent} ELSE -700e0 END)")
        names = stages.select(weights)
        total = " + ".join(names)
        return [_guarded(self.conditions, f"({stages.query(f'{name} / ({total})')})") for name in names]

    def _logs_and_margins(self, stages: _Stages, log: Floats) -> tuple[list[str], list[str]]:
        """Add the stages up to the logarithm of the leaf and the margin of each class; returns their names."""
        tree, paths = self.tree, self.tree.topology.paths
        sums = [self._sum(weight, float(bias)) for weight, bias in zip(tree.weight, tree.bias)]
        score = stages.select([text for text, _ in sums], self._known)
        known = [f"{name} IS NOT NULL" for name, (_, unknown) in zip(score, sums) if unknown]
        left = [f"CASE WHEN {name} > 0e0 THEN {name} ELSE 0e0 END" for name in score]
        right = [f"CASE WHEN {name} < 0e0 THEN -{name} ELSE 0e0 END" for name in score]
        steps = [zip(*path) for path in zip(paths.split.tolist(), paths.side.tolist())]
        violated = [" + ".join((right if side else left)[i] for i, side in path if i >= 0) for path in steps]
        leaf = stages.select(violated, known)
        logs = [" ".join(f"WHEN {v} = 0e0 THEN {double(a)}" for v, a in zip(leaf, column)) for column in log.T.tolist()]
        codes = np.unique(tree.leaf_class).tolist()
        classes = [[leaf[k] for k in np.flatnonzero(tree.leaf_class == code)] for code in codes]
        found = stages.reduce("<", [*([f"CASE {cases} END"] for cases in logs), *classes])
        if len(codes) < tree.n_outputs:  # a class that no leaf predicts has the largest margin of the others
            found = stages.reduce(">", [*([name] for name in found), found[len(logs) :]])
        margin = dict(zip(codes, found[len(logs) :]))
        return found[: len(logs)], [margin.get(code, found[-1]) for code in range(tree.n_outputs)]

    def _node(self, node: int, leaf: Callable[[int], str], depth: int) -> str:
        if node < 0:
            return leaf(~node)
        if depth >= self.n_nested:
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


class _Stages:
    """A query over one row in stages, each of which names what it computes by the names of the stage before.

    Stages are common table expressions: subqueries inside each other would be deeper than sqlite allows.
    """

    def __init__(self, taken: Sequence[str], computed: Mapping[str, str]) -> None:
        self.prefix, self.n_names = unused_prefix("p", taken), 0
        self.stages: list[str] = []
        if computed:
            self.stages.append("SELECT " + ",\n".join(f"{text} AS {name}" for name, text in computed.items()))

    def select(self, expressions: Sequence[str], conditions: Sequence[str] = ()) -> list[str]:
        """Add a stage; returns the names of its columns."""
        names = [f"{self.prefix}{self.n_names + k}" for k in range(len(expressions))]
        self.n_names += len(names)
        listed = ",\n".join(f"{text} AS {name}" for text, name in zip(expressions, names))
        where = f"\nWHERE {_all(list(conditions))}" if conditions else ""
        distinct = "DISTINCT " if self.stages else ""
        self.stages.append(f"SELECT {distinct}{listed}{self._source}{where}")
        return names

    def reduce(self, sign: str, groups: list[list[str]]) -> list[str]:
        """Reduce each group to its first in the order of the sign, two by two; returns their names."""
        while max(map(len, groups)) > 1:
            pairs = [list(zip_longest(group[::2], group[1::2])) for group in groups]
            texts = [
                [a if b is None else f"CASE WHEN {a} {sign} {b} THEN {a} ELSE {b} END" for a, b in g] for g in pairs
            ]
            names = iter(self.select([text for group in texts for text in group]))
            groups = [[next(names) for _ in group] for group in texts]
        return [group[0] for group in groups]

    def query(self, expression: str) -> str:
        """Write the query of an expression over the last stage."""
        stages = ",\n".join(f"{self._name(k)} AS ({stage})" for k, stage in enumerate(self.stages))
        return f"WITH {stages}\nSELECT {expression}{self._source}"

    def _name(self, stage: int) -> str:
        return f"{self.prefix}_{stage}"

    @property
    def _source(self) -> str:
        """The place to select from: the last stage, or the row itself if there is none."""
        return f"\nFROM {self._name(len(self.stages) - 1)}" if self.stages else ""


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


def _guarded(conditions: list[str], body: str) -> str:
    """Write what is NULL unless all conditions hold."""
    return f"CASE WHEN {_all(conditions)} THEN\n{body}\nEND" if conditions else body


def _folded(name: str) -> str:
    """Fold a name as databases do: they take A for a, but not Ä for ä."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def unused_prefix(prefix: str, names: Sequence[str]) -> str:
    """Make a prefix that no name starts with."""
    while any(_folded(name).startswith(prefix) for name in names):
        prefix += "_"
    return prefix


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
        order = unused_prefix("row", columns)  # a column may be called rowid
        connection.execute(f"CREATE TABLE {identifier(table)} ({', '.join(map(identifier, [order, *columns]))})")
        marks = ", ".join("?" * (1 + len(columns)))
        numbered = ([i, *row] for i, row in enumerate(rows.tolist()))
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", numbered)
        _need_exp(connection)
        return _select(connection, f"{expression} FROM {identifier(table)} ORDER BY {order}", n_values)
    except sqlite3.Error as error:
        raise ValueError(
            f"sqlite cannot run this expression of {len(expression):,} characters: {error}. Use a smaller "
            f"tree: prune it, or drop columns."
        ) from error
    finally:
        connection.close()


def _select(connection: sqlite3.Connection, select: str, n_values: int) -> list[tuple[Any, ...]]:
    answers, start = (identifier(f"dtsemnet {word}") for word in ("answers", "start"))
    connection.execute(f"CREATE TABLE {answers} ({', '.join(f'value{k}' for k in range(n_values))})")
    connection.execute(f"CREATE TABLE {start} (now)")
    connection.execute(f"CREATE TRIGGER run AFTER INSERT ON {start} BEGIN INSERT INTO {answers} SELECT {select}; END")
    connection.execute(f"INSERT INTO {start} VALUES (1)")
    return connection.execute(f"SELECT * FROM {answers} ORDER BY rowid").fetchall()


def _is_parsed(expression: str) -> bool:
    """Whether sqlite's parser has room for an expression, also inside another query.

    A trigger is parsed at once, and compiled when it runs.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10**9)
        connection.execute("CREATE TABLE t (a)")
        try:
            inside = f"INSERT INTO t SELECT * FROM (SELECT {expression} FROM t)"
            connection.execute(f"CREATE TRIGGER run AFTER INSERT ON t BEGIN {inside}; END")
        except sqlite3.OperationalError as error:
            return "parser stack overflow" not in str(error)
        return True


def _need_exp(connection: sqlite3.Connection) -> None:
    """Add EXP if sqlite was built without it; a database without it needs the same."""
    try:
        connection.execute("SELECT EXP(0e0)")
    except sqlite3.OperationalError:
        connection.create_function("EXP", 1, math.exp, deterministic=True)
