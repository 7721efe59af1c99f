"""A tree as a mixed-integer linear program, for HiGHS or any other solver.

One binary for each leaf says which is reached; exactly one is. If a leaf right of split ``i``
is reached then ``s_i >= epsilon * M_i``, if one left of it then ``s_i <= 0``, where ``M_i`` is the
largest ``|s_i|`` on the box of the columns. Each split takes two rows, whatever the number of
leaves below it:

    s_i >= epsilon M_i + (L_i - epsilon M_i) (1 - sum of the leaves right of i),
    s_i <= U_i (1 - sum of the leaves left of i),

with ``L_i <= s_i <= U_i`` on the box, so that no constant is larger than it must be. A solver
knows no strict inequality, hence epsilon: rows with ``0 < s_i < epsilon M_i`` are left out of
the model. Rows of splits are divided by ``M_i``, so that tolerances of solvers mean the same
for all of them. Linear leaves, guards, clipped columns, categories and missing values are
modelled exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Floats, Ints
from dtsemnet.export.milp.program import Program
from dtsemnet.tree import Column, Model, as_model

__all__ = ["Milp", "to_milp"]


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
    """1 where a variable is an integer."""
    names: tuple[str, ...]
    """What each variable is."""
    column: Ints
    """Variable of each column of the input; -1 for columns of categories."""
    feature: Ints
    """Variable of each feature that the tree reads."""
    missing: Ints
    """Variable that is 1 where a column is missing; -1 where it cannot be."""
    leaf: Ints
    """Binary of each leaf."""
    output: Ints
    """Variable of each output, of a classifier the probabilities; before the output map where there is one."""
    epsilon: float
    model: Model

    def solve(self, objective: dict[int, float] | None = None, *, fixed: dict[int, float] | None = None) -> Any:
        """Minimise an objective by HiGHS.

        Parameters
        ----------
        objective : dict of int to float, optional
            Coefficients by variable; none asks for any feasible point. Negate them to maximise.
        fixed : dict of int to float, optional
            Values of variables that are held.

        Returns
        -------
        scipy.optimize.OptimizeResult
            ``x`` holds the variables, or None where nothing is feasible.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        cost, lower, upper = np.zeros(len(self.lower)), self.lower.copy(), self.upper.copy()
        for place, number in (objective or {}).items():
            cost[place] = number
        for place, number in (fixed or {}).items():
            lower[place] = upper[place] = number
        rows = LinearConstraint(self.A, self.row_lower, self.row_upper)
        return milp(cost, integrality=self.integrality, bounds=Bounds(lower, upper), constraints=rows)

    def fix(self, row: Any) -> dict[int, float]:
        """Say which variables hold which values for a row of the input, in the order of the columns."""
        held: dict[int, float] = {}
        features = self.model.transform(np.array([row], dtype=object))[0]
        place = 0
        for j, (column, value) in enumerate(zip(self.model.encoder.columns, row)):
            width = len(column.feature_names)
            lost = value is None or value != value
            if column.categories is not None:
                held |= dict(
                    zip(self.feature[place : place + width].tolist(), features[place : place + width].tolist())
                )
            elif not lost:
                held[int(self.column[j])] = float(value)
            if self.missing[j] >= 0:
                held[int(self.missing[j])] = float(lost)
            place += width
        return held

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
        faster the program is solved.
    epsilon : float, default=1e-5
        How far right of a split counts as right, as a share of the largest score on the box. It must be larger than
        the tolerance of the solver (1e-6 in HiGHS); points nearer to the split are left out of the model.
    margin : float, default=0.0
        The same left of a split: how far left counts as left. 0 keeps the points on the split, which go left, but an
        optimum often lies there, and the solver's tolerance may put it on the other side; with 1e-5 its point
        reaches in the tree the leaf that the program says.

    Returns
    -------
    Milp
        Matrices, and the places of columns, features, leaves and outputs among the variables.

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
    model = as_model(tree)
    low, high = _box(model, lower, upper)
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1, got {epsilon!r}; keep it above the solver's tolerance.")
    if not 0 <= margin < 1:
        raise ValueError(f"margin must lie between 0 and 1, got {margin!r}; 0 keeps the points on a split.")
    program = Program()
    column, missing, feature = _add_columns(program, model, low, high)
    leaf = [program.variable(f"leaf {k}", 0.0, 1.0, integer=True) for k in range(model.tree.n_leaves)]
    program.row(dict.fromkeys(leaf, 1.0), 1.0, 1.0)
    _add_splits(program, model, feature, leaf, epsilon, margin)
    output = [_add_output(program, model, feature, leaf, o) for o in range(model.tree.n_outputs)]
    places = {"column": column, "missing": missing, "feature": feature, "leaf": leaf, "output": output}
    variables: dict[str, Any] = {name: np.array(part, dtype=np.int64) for name, part in places.items()}
    return Milp(**program.arrays(), names=tuple(program.names), **variables, epsilon=epsilon, model=model)


def _box(model: Model, lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats]:
    shape = (model.encoder.n_columns,)
    ends = []
    for name, end in (("lower", lower), ("upper", upper)):
        given = np.asarray(end, dtype=np.float64)
        if given.ndim > 1 or (given.ndim and given.shape != shape):
            raise ValueError(f"{name} must be a number or {shape[0]} of them, one a column, got shape {given.shape}.")
        ends.append(np.broadcast_to(given, shape))
    low, high = ends
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None and not (np.isfinite([low[j], high[j]]).all() and low[j] <= high[j]):
            raise ValueError(
                f"lower and upper must be finite with lower <= upper, got {low[j]} and {high[j]} for column "
                f"{column.name!r}; a range that holds all rows will do."
            )
    return low, high


def _add_columns(program: Program, model: Model, low: Floats, high: Floats) -> tuple[list[int], list[int], list[int]]:
    column_of, missing_of, features = [], [], []
    for j, column in enumerate(model.encoder.columns):
        mark = -1
        if column.missing is not None:
            mark = program.variable(f"{column.name} missing", 0.0, 1.0, integer=True)
        if column.categories is None:
            x = program.variable(column.name, low[j], high[j])
            features.append(_add_number(program, column, x, mark))
        else:
            x = -1
            known = [program.variable(f"{column.name}={c}", 0.0, 1.0, integer=True) for c in column.categories]
            program.row(dict.fromkeys(known + ([mark] if mark >= 0 else []), 1.0), -np.inf, 1.0)
            features += known
        features += [mark] if mark >= 0 else []
        column_of.append(x)
        missing_of.append(mark)
    return column_of, missing_of, features


def _add_number(program: Program, column: Column, x: int, mark: int) -> int:
    """The feature of a number: its fill where it is missing, mapped, clipped."""
    if column.is_identity:
        return x
    terms, constant = {x: column.scale}, -column.center * column.scale
    if mark >= 0:
        filled = (column.fill - column.center) * column.scale
        low, high = program.span(terms, constant)
        number = program.variable(f"{column.name} filled", min(low, filled), max(high, filled))
        program.equal_if(number, terms, constant, {mark: -1.0}, 1.0)
        program.equal_if(number, {}, filled, {mark: 1.0}, 0.0)
        terms, constant = {number: 1.0}, 0.0
    low, high = program.span(terms, constant)
    floor = -np.inf if column.lower is None else column.lower
    ceiling = np.inf if column.upper is None else column.upper
    feature = program.variable(f"{column.name} mapped", *np.clip([low, high], floor, ceiling))
    program.clipped_if(feature, terms, constant, floor, ceiling, {}, 1.0)
    return feature


def _add_splits(
    program: Program, model: Model, feature: list[int], leaf: list[int], epsilon: float, margin: float
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


def _add_output(program: Program, model: Model, feature: list[int], leaf: list[int], o: int) -> int:
    tree = model.tree
    floor, ceiling = (end[:, o] for end in tree.guard)
    name = f"output {o}"
    if tree.coef is None:
        answer = np.clip(tree.value[:, o], floor, ceiling)
        y = program.variable(name, float(answer.min()), float(answer.max()))
        program.row({y: -1.0} | dict(zip(leaf, answer.tolist())), 0.0, 0.0)
        return y
    linear = [(program.terms(feature, tree.coef[k, o]), float(tree.value[k, o])) for k in range(tree.n_leaves)]
    spans = [np.clip(program.span(*part), floor[k], ceiling[k]) for k, part in enumerate(linear)]
    y = program.variable(name, min(span[0] for span in spans), max(span[1] for span in spans))
    for k, (terms, constant) in enumerate(linear):
        program.clipped_if(y, terms, constant, float(floor[k]), float(ceiling[k]), {leaf[k]: 1.0}, 0.0)
    return y
