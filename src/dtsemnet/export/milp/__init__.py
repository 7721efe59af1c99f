"""A tree as a mixed-integer linear program, for HiGHS or any other solver.

One binary variable per leaf says which leaf is reached; exactly one is. If a leaf right of split
``i`` is reached, then ``s_i >= epsilon * M_i``; if one left of it, then ``s_i <= 0``. ``M_i`` is the
largest ``|s_i|`` on the box of the columns. Each split takes two constraints, whatever the number
of leaves below it:

    s_i >= epsilon M_i + (L_i - epsilon M_i) (1 - sum of the leaves right of i),
    s_i <= U_i (1 - sum of the leaves left of i),

with ``L_i <= s_i <= U_i`` on the box, so that no constant is larger than necessary. A solver
knows no strict inequality, hence epsilon: points with ``0 < s_i < epsilon M_i`` are left out of
the program. Constraints of splits are divided by ``M_i``, so that the tolerance of a solver means
the same for all of them. Linear leaves, guards, clipped columns, categories and missing values
are modelled exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree import Column, Model

__all__ = ["Milp", "to_milp"]

Terms = dict[int, float]


@dataclass(frozen=True, repr=False)
class Milp:
    """Variables ``v`` with ``lower <= v <= upper`` and rows ``row_lower <= A v <= row_upper``."""

    A: Any
    """Sparse matrix (scipy, CSR), one column for each variable."""
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integrality: Ints
    """1 if a variable is an integer, else 0."""
    names: tuple[str, ...]
    """What each variable means."""
    column: Ints
    """Variable of each column of the input; -1 for columns of categories."""
    feature: Ints
    """Variable of each feature that the tree reads."""
    missing: Ints
    """Variable that is 1 if a column is missing; -1 if there is none: a missing value counts as the fill, if any."""
    leaf: Ints
    """Binary variable of each leaf."""
    output: Ints
    """Variable of each output, for a classifier of the share of each class in the leaf; before the output map."""
    epsilon: float
    model: Model

    def solve(self, objective: dict[int, float] | None = None, *, fixed: dict[int, float] | None = None) -> Any:
        """Minimise an objective by HiGHS.

        Parameters
        ----------
        objective : dict of int to float, optional
            Coefficients by variable; without them any feasible point is a solution. Negate them to maximise.
        fixed : dict of int to float, optional
            Values of variables that are held fixed.

        Returns
        -------
        scipy.optimize.OptimizeResult
            ``x`` holds the variables, or None if nothing is feasible.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        cost, lower, upper = np.zeros(len(self.lower)), self.lower.copy(), self.upper.copy()
        for variable, coefficient in (objective or {}).items():
            cost[variable] = coefficient
        for variable, value in (fixed or {}).items():
            lower[variable] = upper[variable] = value
        rows = LinearConstraint(self.A, self.row_lower, self.row_upper)
        return milp(cost, integrality=self.integrality, bounds=Bounds(lower, upper), constraints=rows)

    def fix(self, row: Any) -> dict[int, float]:
        """Return the values that a row of the input gives to variables, by variable."""
        row = self.model.encoder.fill_missing(np.array([row], dtype=object))[0]
        features = self.model.transform(row[None])[0]
        values: dict[int, float] = {}
        for feature in self.model.encoder.features:
            value = row[feature.column_index]
            if feature.kind != "number":
                values[int(self.feature[feature.index])] = float(features[feature.index])
            elif value is not None and value == value:
                values[int(self.column[feature.column_index])] = float(value)
        return values

    def __repr__(self) -> str:
        n_rows, n_variables = self.A.shape
        return f"Milp({n_variables} variables, {int(self.integrality.sum())} of them integers, {n_rows} rows)"


def to_milp(tree: Any, lower: ArrayLike, upper: ArrayLike, *, epsilon: float = 1e-5, margin: float = 0.0) -> Milp:
    """Write a tree as a mixed-integer linear program.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    lower, upper : float or array_like of shape (n_columns,)
        Box of the columns, in their own units; entries of columns of categories are not used. The tighter it is, the
        faster the solver.
    epsilon : float, default=1e-5
        How far right of a split counts as right, as a share of the largest score on the box. It must be larger than
        the tolerance of the solver (1e-6 in HiGHS); points nearer to the split are left out of the program.
    margin : float, default=0.0
        The same left of a split: how far left counts as left. 0 keeps the points on the split, which go left, but an
        optimum often lies there, and the solver's tolerance may put it on the other side; with 1e-5 its point
        reaches in the tree the leaf that the program says.

    Returns
    -------
    Milp
        Matrices, and which variables are columns, features, leaves and outputs.

    Examples
    --------
    The largest output of a tree with linear leaves, and where it is:

    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-1.0], [[0.0], [4.0]], coef=[[[1.0]], [[-1.0]]])
    >>> program = to_milp(tree, 0.0, 3.0)
    >>> best = program.solve({program.output[0]: -1.0})
    >>> print(f"{best.x[program.output[0]]:.3f} at {best.x[program.column[0]]:.3f}")
    3.000 at 1.000
    """
    model = Model.of(tree)
    low, high = _box(model, lower, upper)
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1, got {epsilon!r}; keep it above the solver's tolerance.")
    if not 0 <= margin < 1:
        raise ValueError(f"margin must lie between 0 and 1, got {margin!r}; 0 keeps the points on a split.")
    program = _Program()
    column, missing, feature = _add_columns(program, model, low, high)
    leaf = [program.variable(f"leaf {k}", 0.0, 1.0, integer=True) for k in range(model.tree.n_leaves)]
    program.row(dict.fromkeys(leaf, 1.0), 1.0, 1.0)
    _add_splits(program, model, feature, leaf, epsilon, margin)
    output = [_add_output(program, model, feature, leaf, o) for o in range(model.tree.n_outputs)]
    groups = {"column": column, "missing": missing, "feature": feature, "leaf": leaf, "output": output}
    variables: dict[str, Any] = {name: np.array(group, dtype=np.int64) for name, group in groups.items()}
    return Milp(**program.arrays(), names=tuple(program.names), **variables, epsilon=epsilon, model=model)


class _Program:
    """Variables with bounds, and constraints (rows of the matrix) that may depend on a condition.

    A condition is an affine function of binary variables that is 1 if it holds and 0 if not. "If the condition holds,
    then ..." is a constraint with a constant that is just large enough to allow everything if it does not hold; the
    bounds of the variables give that constant.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integrality: list[int] = []
        self.rows: list[tuple[Terms, float, float]] = []

    def variable(self, name: str, lower: float, upper: float, *, integer: bool = False) -> int:
        """Add a variable; return its number."""
        self.names.append(name)
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        self.integrality.append(int(integer))
        return len(self.names) - 1

    def row(self, terms: Terms, lower: float, upper: float) -> None:
        """Add ``lower <= terms <= upper``."""
        self.rows.append((terms, float(lower), float(upper)))

    def terms(self, variables: Sequence[int], weight: Floats) -> Terms:
        """Pair variables with their weights, leaving out zeros."""
        return {variable: float(w) for variable, w in zip(variables, weight) if w != 0}

    def span(self, terms: Terms, constant: float) -> tuple[float, float]:
        """Bound an affine function by the bounds of its variables; a little too wide rather than too narrow."""
        low, high, size = constant, constant, abs(constant)
        for variable, weight in terms.items():
            ends = sorted((weight * self.lower[variable], weight * self.upper[variable]))
            low, high, size = low + ends[0], high + ends[1], size + max(abs(ends[0]), abs(ends[1]))
        slack = (len(terms) + 2) * 2.0**-52 * size if terms else 0.0
        return low - slack, high + slack

    def equal_if(
        self,
        y: int,
        terms: Terms,
        constant: float,
        when: Terms,
        offset: float,
        floor: float = -np.inf,
        ceiling: float = np.inf,
    ) -> None:
        """Add: if the condition ``when + offset`` holds, ``y = clip(terms + constant, floor, ceiling)``.

        Two binary variables say that the value lies below the floor, or above the ceiling; they are left out if the
        bounds of the variables exclude that.
        """
        low, high = self.span(terms, constant)
        if high <= floor or low >= ceiling:  # always clipped
            terms, constant = {}, floor if high <= floor else ceiling
            low = high = constant
        below: Terms = {}
        above: Terms = {}
        if low < floor:
            below = {self.variable(f"{self.names[y]} at its floor", 0.0, 1.0, integer=True): 1.0}
            self.at_most_if({y: 1.0}, floor, below, 0.0)
            self.at_most_if({y: -1.0}, -floor, when, offset)
        if high > ceiling:
            above = {self.variable(f"{self.names[y]} at its ceiling", 0.0, 1.0, integer=True): 1.0}
            self.at_most_if({y: -1.0}, -ceiling, above, 0.0)
            self.at_most_if({y: 1.0}, ceiling, when, offset)
        # y <= value unless it lies below the floor, y >= value unless it lies above the ceiling
        self.at_most_if({y: 1.0} | _negative(terms), constant, when | _negative(below), offset)
        self.at_most_if({y: -1.0} | terms, -constant, when | _negative(above), offset)
        if below or above:  # only if the condition holds, and not both
            self.row(below | above | _negative(when), -np.inf, offset)

    def at_most_if(self, terms: Terms, bound: float, when: Terms, offset: float) -> None:
        """Add: if the condition ``when + offset`` is 1, ``terms <= bound``; no constraint if it is 0 or less."""
        _, high = self.span(terms, 0.0)
        room = max(0.0, high - bound)
        # terms <= bound + room (1 - condition)
        total = {k: terms.get(k, 0.0) + room * when.get(k, 0.0) for k in terms | when}
        self.row(total, -np.inf, bound + room * (1.0 - offset))

    def arrays(self) -> dict[str, Any]:
        """Return the matrix (CSR), the bounds of its rows and of the variables, and which variables are integers."""
        from scipy.sparse import csr_array

        entries = [(i, j, w) for i, (terms, _, _) in enumerate(self.rows) for j, w in terms.items()]
        row, column, weight = (np.array(part) for part in zip(*entries))
        # int32: scipy before 1.15 keeps wider indices, and its solver refuses them.
        place = row.astype(np.int32), column.astype(np.int32)
        matrix = csr_array((weight, place), shape=(len(self.rows), len(self.names)))
        _, row_lower, row_upper = zip(*self.rows)
        ends = {"row_lower": row_lower, "row_upper": row_upper, "lower": self.lower, "upper": self.upper}
        arrays = {name: np.array(values) for name, values in ends.items()}
        return {"A": matrix, "integrality": np.array(self.integrality, dtype=np.int64)} | arrays


def _box(model: Model, lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    shape = (model.encoder.n_columns,)
    ends = []
    for name, end in (("lower", lower), ("upper", upper)):
        given = np.asarray(end, dtype=np.float64)
        if given.ndim > 1 or (given.ndim and given.shape != shape):
            raise ValueError(f"{name} must be a number or {shape[0]} of them, one per column, got shape {given.shape}.")
        ends.append(np.broadcast_to(given, shape))
    low, high = ends
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None and not (np.isfinite([low[j], high[j]]).all() and low[j] <= high[j]):
            raise ValueError(
                f"lower and upper must be finite with lower <= upper, got {low[j]} and {high[j]} for column "
                f"{column.name!r}; use a range that holds all rows."
            )
    return low, high


def _add_columns(program: _Program, model: Model, low: Floats, high: Floats) -> tuple[list[int], list[int], list[int]]:
    """Add the variables of the columns; return those of columns, missing values and features."""
    columns, indicators, features = [], [], []
    for j, column in enumerate(model.encoder.columns):
        indicator = -1
        if column.has_indicator:
            indicator = program.variable(f"{column.name} missing", 0.0, 1.0, integer=True)
        if column.categories is None:
            x = program.variable(column.name, low[j], high[j])
            features.append(_add_number(program, column, x, indicator))
        else:
            x = -1
            known = [program.variable(f"{column.name}={c}", 0.0, 1.0, integer=True) for c in column.categories]
            program.row(dict.fromkeys(known + ([indicator] if indicator >= 0 else []), 1.0), -np.inf, 1.0)
            features += known
        features += [indicator] if indicator >= 0 else []
        columns.append(x)
        indicators.append(indicator)
    return columns, indicators, features


def _add_number(program: _Program, column: Column, x: int, indicator: int) -> int:
    """Add the feature of a numeric column: filled if it is missing, mapped, clipped."""
    if column.is_identity:
        return x
    terms, constant = {x: column.scale}, -column.center * column.scale
    if indicator >= 0:
        filled = (column.fill - column.center) * column.scale
        low, high = program.span(terms, constant)
        number = program.variable(f"{column.name} filled", min(low, filled), max(high, filled))
        program.equal_if(number, terms, constant, {indicator: -1.0}, 1.0)
        program.equal_if(number, {}, filled, {indicator: 1.0}, 0.0)
        terms, constant = {number: 1.0}, 0.0
    low, high = program.span(terms, constant)
    feature = program.variable(f"{column.name} mapped", *np.clip([low, high], *column.bounds))
    program.equal_if(feature, terms, constant, {}, 1.0, *column.bounds)
    return feature


def _add_splits(
    program: _Program, model: Model, feature: list[int], leaf: list[int], epsilon: float, margin: float
) -> None:
    tree = model.tree
    first, last = tree.topology.spans
    for i, (child, _) in enumerate(tree.topology.children):
        middle = last[child] if child >= 0 else ~child + 1
        terms, constant = program.terms(feature, tree.weight[i]), float(tree.bias[i])
        low, high = program.span(terms, constant)
        most = max(abs(low), abs(high)) or 1.0
        terms, constant, low, high = {k: w / most for k, w in terms.items()}, constant / most, low / most, high / most
        # s >= epsilon + room (1 - right), s <= -margin + above (1 - left)
        room, above = min(0.0, low - epsilon), max(0.0, high + margin)
        right = {leaf[k]: room for k in range(middle, last[i])}
        left = {leaf[k]: above for k in range(first[i], middle)}
        program.row(terms | right, epsilon + room - constant, np.inf)
        program.row(terms | left, -np.inf, above - margin - constant)


def _add_output(program: _Program, model: Model, feature: list[int], leaf: list[int], o: int) -> int:
    tree = model.tree
    floor, ceiling = (end[:, o] for end in tree.guard)
    name = f"output {o}"
    if tree.coef is None:
        value = np.clip(tree.value[:, o], floor, ceiling)
        y = program.variable(name, float(value.min()), float(value.max()))
        program.row({y: -1.0} | dict(zip(leaf, value.tolist())), 0.0, 0.0)
        return y
    linear = [(program.terms(feature, tree.coef[k, o]), float(tree.value[k, o])) for k in range(tree.n_leaves)]
    spans = [np.clip(program.span(*part), floor[k], ceiling[k]) for k, part in enumerate(linear)]
    y = program.variable(name, min(span[0] for span in spans), max(span[1] for span in spans))
    for k, (terms, constant) in enumerate(linear):
        program.equal_if(y, terms, constant, {leaf[k]: 1.0}, 0.0, float(floor[k]), float(ceiling[k]))
    return y


def _negative(terms: Terms) -> Terms:
    return {variable: -weight for variable, weight in terms.items()}
