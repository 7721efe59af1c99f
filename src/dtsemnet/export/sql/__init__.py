"""A tree as one SQL expression: ``SELECT <expression> FROM t``.

A split is a CASE, a leaf what it answers. Sums are written in the documented order, and
every double exactly, so a database with IEEE doubles answers as the tree does, bit for
bit. A comparison with NULL or NaN is not false but unknown, or even true, so rows that the
tree refuses (a missing or infinite number, a sum that overflows both ways) are sifted out
first: the expression is NULL for them, never a leaf that they did not reach.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.check import checked
from dtsemnet.export.sql.literals import NAN, category, double, guard, identifier, mark, number
from dtsemnet.export.sql.sqlite import query
from dtsemnet.export.terms import features_of, ordered_sum
from dtsemnet.tree import Model, TanhScale, as_model
from dtsemnet.tree._validate import Scalar

__all__ = ["to_sql"]

_NESTED = 10
"""Levels written as CASE inside CASE; sqlite's parser has room for about 15."""
_SATURATED = 40.0
"""tanh is 1 to the last bit far before this, and its exponential stays in range."""


def to_sql(tree: Any, X: Any = None, *, output: str = "predict", table: str | None = None) -> Artefact:
    """Write a tree as an SQL expression.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which sqlite's answers are compared with the tree's, beside the probes of :func:`check_export`.
    output : {"predict", "leaf", "proba"}, default="predict"
        What the expression gives: the class or the number predicted, the number of the leaf, or the probabilities
        of the classes. Where that is more than one number it is a list of expressions for SELECT, each with a name:
        the class, or ``output_0``, ``output_1``, ...
    table : str, optional
        Name of the table, put before each column. Good to have in sqlite, which takes a quoted name that it does not
        find for a string.

    Returns
    -------
    Artefact
        Exact. NULL stands for a missing value, and is the answer for rows that the tree refuses.

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
    model = as_model(tree)
    if output not in ("predict", "leaf", "proba") or (output == "proba" and not model.is_classifier):
        raise ValueError(f"output must be 'predict', 'leaf', or 'proba' for a classifier, got {output!r}.")
    names = [column.name for column in model.encoder.columns]
    folded = [name.lower() for name in names]
    for place, name in enumerate(folded):
        if name in folded[:place]:
            twin = names[folded.index(name)]
            raise ValueError(f"SQL reads the columns {twin!r} and {names[place]!r} as one; rename one of them.")
    writer = _Writer(model, "" if table is None else f"{identifier(table)}.")
    expression = writer.write(output)
    one = output == "leaf" or (output == "predict" and model.is_classifier)
    n_values = 1 if one else model.tree.n_outputs

    def answer(rows: Array) -> Answer:
        told = query(names, rows, expression, "rows" if table is None else table, n_values)
        if output == "leaf":
            return Answer(leaf=np.array([-1 if leaf is None else leaf for (leaf,) in told], dtype=np.int64))
        if output == "predict" and model.is_classifier:
            label = np.empty(len(rows), dtype=object)
            label[:] = [writer.labels.get(word) for (word,) in told]
            return Answer(label=label)
        return Answer(output=np.array(told, dtype=np.float64).reshape(len(rows), -1))

    return checked(model, Artefact("SQL", expression, exact=True, answer=answer), X)


class _Writer:
    """Writes expressions over the columns of a model."""

    def __init__(self, model: Model, table: str) -> None:
        self.model, self.tree, self.table = model, model.tree, table
        self.features = features_of(model.encoder)
        self.is_number = [given.kind == "number" for given in self.features]
        self.text = [number(f.column, table) if f.kind == "number" else mark(f, table) for f in self.features]
        bounded = [None not in (given.column.lower, given.column.upper) for given in self.features]
        self.is_open = [number and not ends for number, ends in zip(self.is_number, bounded)]

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
        """What the expression says for each class: the label, or its text where labels are of several types."""
        labels = self.tree.class_names or ()
        kinds = {bool if isinstance(name, bool) else str if isinstance(name, str) else float for name in labels}
        words: dict[Scalar, Scalar] = {(name if len(kinds) == 1 else str(name)): name for name in labels}
        if len(words) < len(labels):
            raise ValueError(f"classes {list(labels)} are alike as text, and SQL has one type a column; rename them.")
        return words

    def _route(self, leaf: Callable[[int], str]) -> str:
        conditions = [guard(column, self.table) for column in self.model.encoder.columns]
        found = [condition for condition in conditions if condition is not None]
        body = self._node(0 if self.tree.n_splits else -1, leaf, 0)
        return f"CASE WHEN {_all(found)} THEN\n{body}\nEND" if found else body

    def _node(self, node: int, leaf: Callable[[int], str], depth: int) -> str:
        if node < 0:
            return leaf(~node)
        if depth >= _NESTED:
            return f"CASE {' '.join(self._flat(node, leaf, ''))}\nEND"
        score, unknown = self._score(node)
        left, right = (self._node(int(child), leaf, depth + 1) for child in self.tree.topology.children[node])
        if unknown:
            return f"CASE {score} > 0e0 WHEN FALSE THEN\n{left}\nWHEN TRUE THEN\n{right}\nEND"
        return f"CASE WHEN {score} > 0e0 THEN\n{right}\nELSE\n{left}\nEND"

    def _flat(self, node: int, leaf: Callable[[int], str], path: str) -> list[str]:
        """One WHEN for each leaf below: longer, but no deeper however deep the tree is."""
        if node < 0:
            return [f"WHEN {path} THEN\n{leaf(~node)}"]
        score, _ = self._score(node)
        path = f"{path} AND " if path else ""
        left, right = (int(child) for child in self.tree.topology.children[node])
        return [*self._flat(left, leaf, f"{path}{score} <= 0e0"), *self._flat(right, leaf, f"{path}{score} > 0e0")]

    def _score(self, split: int) -> tuple[str, bool]:
        """The score of a split, and whether it can be unknown: infinities of either sign need two open terms."""
        return self._sum(self.tree.weight[split], float(self.tree.bias[split]))

    def _sum(self, weight: Floats, bias: float) -> tuple[str, bool]:
        used = np.flatnonzero(weight).tolist()
        terms = {j: (self._term(j, float(weight[j])), False) for j in used}
        total = ordered_sum(terms, _add)
        if total is None:
            return double(bias), False
        score = f"{total[0]} + {double(bias)}"
        unknown = sum(self.is_open[j] for j in used) > 1
        return (f"NULLIF({score}, {NAN})" if unknown else score), unknown

    def _term(self, j: int, weight: float) -> str:
        if not self.is_number[j]:
            return f"CASE WHEN {self.text[j]} THEN {double(weight)} ELSE 0e0 END"
        return self.text[j] if weight == 1.0 else f"{self.text[j]} * {double(weight)}"

    def _number(self, output: int) -> str:
        """One output of a regressor; ``(tanh(v) + 1) / 2`` is ``1 / (1 + exp(-2 v))``."""
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
        cases = [f"WHEN {linear} < {double(lower)} THEN {double(lower)}"] if np.isfinite(lower) else []
        cases += [f"WHEN {linear} > {double(upper)} THEN {double(upper)}"] if np.isfinite(upper) else []
        return f"CASE {' '.join(cases)} ELSE {linear} END" if cases else linear


def _add(one: tuple[str, bool], other: tuple[str, bool]) -> tuple[str, bool]:
    """Join two terms; a sum is read from the left, so only a right part that is a sum needs parentheses."""
    return f"{one[0]} + ({other[0]})" if other[1] else f"{one[0]} + {other[0]}", True


def _all(conditions: list[str]) -> str:
    """Join conditions two by two: a chain of a thousand would be deeper than sqlite allows."""
    if len(conditions) <= 8:
        return " AND ".join(conditions)
    half = len(conditions) // 2
    return f"({_all(conditions[:half])}) AND ({_all(conditions[half:])})"
