"""Put the leaves of a tree in order, so that its outputs never fall as some features rise.

Training lets such features push rows to one side of each split (:class:`dtsemnet.training.columns.Rules`). What is left
to do for the condition of :mod:`dtsemnet.tree.order` concerns the leaves: at each split that reads such a feature, no
leaf on the lower side may answer more than a leaf on the higher side. All pairs of leaves that must be in order
make a partial order, of which the splits are the series and parallel parts.

*Constants* become the numbers in that order that are nearest to those fitted, by weighted least squares
(:func:`isotonic`). *Linear models* are clipped: at each split all answers of the lower side stay below one threshold,
all others above, and the threshold moves the answers of training rows least (:func:`thresholds`).
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.fit.initial_trees import Grown
from dtsemnet.training.columns import allowed_signs
from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.order import middles

__all__ = ["isotonic", "one_sided", "sides_of_tree", "signed_ridge", "thresholds"]


def sides_of_tree(tree: Tree, direction: Ints) -> Ints:
    """For each split the side on which answers must not be smaller: 1 right, -1 left, 0 any.

    All features with a direction push to one side of a split here, as training leaves them.
    """
    return np.sign(np.sign(tree.weight) @ direction).astype(np.int64)


def isotonic(topology: Topology, side: Ints, value: Floats, weight: Floats) -> Floats:
    """Find the numbers of leaves that are in order and nearest to given ones, by weighted least squares.

    The leaves are cut in two where the upper part lies most above the mean of all, and each part again, until no
    cut pays; the leaves of a part get its mean. In a series-parallel order the best cut takes one pass from the
    leaves to the root.

    Parameters
    ----------
    topology : Topology
    side : array of int, shape (n_splits,)
        See :func:`sides_of_tree`.
    value, weight : array of shape (n_leaves,)
        Weights are positive.

    Examples
    --------
    >>> value, weight = np.array([3.0, 1.0, 2.0, 5.0]), np.ones(4)
    >>> isotonic(Topology.complete(2), np.array([1, 1, 1]), value, weight).tolist()
    [2.0, 2.0, 2.0, 5.0]
    >>> isotonic(Topology.complete(2), np.array([0, 1, 1]), value, weight).tolist()
    [2.0, 2.0, 2.0, 5.0]
    >>> isotonic(Topology.complete(2), np.array([0, -1, 1]), value, weight).tolist()
    [3.0, 1.0, 2.0, 5.0]
    """
    found, parts = value.copy(), [np.ones(len(value), bool)]
    while parts:
        part = parts.pop()
        mean = float(np.average(value[part], weights=weight[part]))
        gain = np.where(part, weight * (value - mean), 0.0)
        above = _best_upper_part(topology, side, gain) & part
        if (above == part).all() or gain[above].sum() <= 1e-12 * (weight[part] * np.abs(value[part])).sum():
            found[part] = mean
        else:
            parts += [above, part & ~above]
    for low, high in reversed(_low_and_high(topology, side)):  # what rounding has left out of order
        found[high] = np.maximum(found[high], found[low].max())
    return found


def thresholds(topology: Topology, side: Ints, leaf: Ints, answer: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Find bounds of the answers of leaves that put them in order.

    Parameters
    ----------
    topology, side
        As in :func:`isotonic`.
    leaf : array of int, shape (n_rows,)
        Leaf that each row reaches.
    answer, weight : array of shape (n_rows,)
        What the leaves answer for the rows, and the weights of the rows.

    Returns
    -------
    Lower and upper bound of each leaf, (n_leaves,) each, infinite where there is none

    Examples
    --------
    >>> leaf, answer = np.array([0, 0, 1, 1]), np.array([1.0, 4.0, 2.0, 5.0])
    >>> thresholds(Topology.complete(1), np.array([1]), leaf, answer, np.ones(4))
    (array([-inf,   3.]), array([ 3., inf]))
    """
    lower, upper = np.full(topology.n_leaves, -np.inf), np.full(topology.n_leaves, np.inf)
    answer = answer.copy()
    for low, high in _low_and_high(topology, side):
        below, above = (leaf >= low.start) & (leaf < low.stop), (leaf >= high.start) & (leaf < high.stop)
        bound = _meeting_point(answer[below], weight[below], answer[above], weight[above])
        if bound is None:
            bound = float(np.clip(0.0, lower[low.start], upper[low.start]))
        answer[below], answer[above] = np.minimum(answer[below], bound), np.maximum(answer[above], bound)
        upper[low], lower[high] = np.minimum(upper[low], bound), np.maximum(lower[high], bound)
    return lower, upper


def signed_ridge(gram: Floats, moment: Floats, direction: Ints) -> Floats:
    """Solve ``gram @ model = moment`` with weights of the right sign; those that come out with the other one are zero.

    Parameters
    ----------
    gram : array of shape (n_columns, n_columns)
        The bias last; penalties included.
    moment : array of shape (n_columns, n_outputs)
    direction : array of int, shape (n_columns - 1,)
        1 for weights that must not be negative, -1 for not positive, 0 for any.

    Examples
    --------
    >>> signed_ridge(np.eye(3), np.array([[2.0], [-3.0], [1.0]]), np.array([1, 1])).ravel().tolist()
    [2.0, 0.0, 1.0]
    """
    model, sign = np.zeros_like(moment), np.append(direction, 0)
    for o in range(moment.shape[1]):
        free = np.ones(len(gram), bool)
        while True:
            model[free, o] = np.linalg.solve(gram[np.ix_(free, free)], moment[free, o])
            wrong = sign * model[:, o] < 0
            if not wrong.any():
                break
            model[wrong, o], free = 0.0, free & ~wrong
    return model


def one_sided(grown: Grown, X: Floats, target: Floats, weight: Floats, direction: Ints) -> Grown:
    """Leave out the weights of a grown tree that push rows from the side of larger targets to that of smaller ones.

    ``target`` has one number for each row.
    """
    if not len(grown.splits):
        return grown
    n_leaves = grown.topology.n_leaves
    tree = Tree(grown.topology, grown.splits[:, :-1], grown.splits[:, -1], np.zeros((n_leaves, 1)))
    leaf = tree.apply(X.astype(np.float64))
    mass, total = np.bincount(leaf, weight, n_leaves), np.bincount(leaf, weight * target, n_leaves)
    side = np.ones(tree.n_splits, np.int64)
    first, last = grown.topology.spans
    for split, middle in enumerate(middles(grown.topology)):
        left, right = slice(first[split], middle), slice(middle, last[split])
        if min(mass[left].sum(), mass[right].sum()) > 0:
            rises = total[right].sum() / mass[right].sum() - total[left].sum() / mass[left].sum()
            side[split] = 1 if rises >= 0 else -1
    signs = allowed_signs(np.outer(side, direction), direction)
    planes = grown.splits[:, :-1]
    keeps = ((signs & 1) > 0) & (planes > 0) | ((signs & 2) > 0) & (planes < 0)
    return grown._replace(splits=np.column_stack([np.where(keeps, planes, 0.0), grown.splits[:, -1]]))


def _best_upper_part(topology: Topology, side: Ints, gain: Floats) -> Bools:
    """The leaves with the largest sum of gains among those that have, with a leaf, all leaves above it."""
    chosen = gain > 0
    best = np.empty(topology.n_splits)
    total = topology.sums_below(gain)
    first, last = topology.spans
    for split in range(topology.n_splits - 1, -1, -1):
        left, right = topology.children[split]
        ways = [best[node] if node >= 0 else max(0.0, gain[~node]) for node in (left, right)]
        if side[split] == 0:
            best[split] = sum(ways)
            continue
        middle = first[right] if right >= 0 else ~right
        spans = slice(first[split], middle), slice(middle, last[split])
        low, high = (0, 1) if side[split] > 0 else (1, 0)
        node = (left, right)[high]
        with_all = (total[node] if node >= 0 else gain[~node]) + ways[low]
        if with_all > ways[high]:
            best[split], chosen[spans[high]] = with_all, True
        else:
            best[split], chosen[spans[low]] = ways[high], False
    return chosen


def _low_and_high(topology: Topology, side: Ints) -> list[tuple[slice, slice]]:
    """The leaves on the lower and on the higher side of each split that has such sides, from the root down."""
    first, last = topology.spans
    pairs = [
        (slice(int(first[split]), int(middle)), slice(int(middle), int(last[split])))[:: int(side[split])]
        for split, middle in enumerate(middles(topology))
        if side[split] != 0
    ]
    return [(low, high) for low, high in pairs]


def _meeting_point(below: Floats, w_below: Floats, above: Floats, w_above: Floats) -> float | None:
    """The bound that moves answers least if some must lie below it and the others above it; None without any."""
    if not len(below) or not len(above):
        return float(below.max()) if len(below) else float(above.min()) if len(above) else None
    low, high = float(above.min()), float(below.max())
    if high <= low:
        return (low + high) / 2
    # The slope of the squared changes rises with the bound and is linear between the answers.
    bounds = np.unique(np.concatenate([below, above]))
    bounds = bounds[(bounds >= low) & (bounds <= high)]
    slope = _excess(above, w_above, bounds) - _excess(-below, w_below, -bounds)
    return float(np.interp(0.0, slope, bounds))


def _excess(answer: Floats, weight: Floats, bounds: Floats) -> Floats:
    """Weighted sum of how far bounds lie above the answers."""
    order = np.argsort(answer, kind="stable")
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    total = np.concatenate([[0.0], np.cumsum((weight * answer)[order])])
    count = np.searchsorted(answer[order], bounds, side="right")
    excess: Floats = bounds * mass[count] - total[count]
    return excess
