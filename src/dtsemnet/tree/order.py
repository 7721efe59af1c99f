"""Order: a condition on a tree by which an output never falls as a feature rises, whatever the row.

If a feature rises and the others stay, the score of a split can only rise if the feature's weight there is positive,
and only fall if it is negative. So the row can move to the right of the first kind of split and to the left of
the second, and no other way. Let it reach another leaf than before. The two paths part at one split, which the feature
crosses. If, at every such split, no leaf on the side that the row comes from answers more than any leaf on the
side that it goes to, the answer has not fallen; and if it stays in its leaf, a linear model with a weight of the
right sign, clipped, does not fall either.

The condition is sufficient, reads each split once, and holds for the tree as it runs: rounded products and
sums keep order. It is not necessary: leaves on both sides may be out of order if no row can go from one to the other,
which :func:`dtsemnet.verify.monotone` decides.

The same holds for margin probabilities of two classes. Let leaves be in order, and hence their classes: at a
split that the feature crosses, all leaves on the right have the second class, or none on the left has it. In the first
case the least sum of margins to the second class, below this split, is 0 right of it, and left of it the least of the
distance to the split and of what the left side says; in the second case it is the distance to the split plus
what the right side says. By induction from the leaves up it never rises as the feature rises, and that to the first
class never falls.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = ["is_ordered", "keeps_order", "middles"]


def keeps_order(tree: Tree, feature: int, output: int = 0, *, increasing: bool = True) -> bool:
    """Tell whether the condition shows that an output never falls (or never rises) as a feature rises.

    Parameters
    ----------
    tree : Tree
    feature : int
        Number of the feature that the tree reads.
    output : int, default=0
        Number of an output, or of a class whose share in the leaf is meant.
    increasing : bool, default=True
        Whether the output must not fall; else it must not rise.

    Returns
    -------
    bool
        True is a proof; False says nothing.

    Examples
    --------
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1.0], [2.0]])
    >>> keeps_order(tree, 0), keeps_order(tree, 1), keeps_order(tree, 1, increasing=False)
    (True, False, True)
    """
    sign = 1.0 if increasing else -1.0
    lower, upper = (bound[:, output] for bound in _ranges(tree))
    if tree.coef is not None:
        falls = sign * tree.coef[:, output, feature] < 0
        if (falls & (lower < upper)).any():
            return False
    side = np.sign(sign * tree.weight[:, feature]).astype(np.int64)
    return bool(is_ordered(tree.topology, lower, upper, side)[side != 0].all())


def is_ordered(topology: Topology, lower: Floats, upper: Floats, side: Ints) -> Bools:
    """Tell for each split whether no leaf on one side answers less than any leaf on the other.

    Parameters
    ----------
    topology : Topology
    lower, upper : array of shape (n_leaves,)
        Least and largest answer of each leaf.
    side : array of int, shape (n_splits,)
        1 if the right side must not answer less than the left one, -1 if it must not answer more.
    """
    first, last = topology.spans
    ordered = np.empty(topology.n_splits, bool)
    for split, middle in enumerate(middles(topology)):
        left, right = slice(first[split], middle), slice(middle, last[split])
        low, high = (left, right) if side[split] >= 0 else (right, left)
        ordered[split] = upper[low].max() <= lower[high].min()
    return ordered


def middles(topology: Topology) -> Ints:
    """The first leaf on the right side of each split."""
    left = topology.children[:, 0]
    return np.where(left >= 0, topology.spans[1][left], ~left + 1)


def _ranges(tree: Tree) -> tuple[Floats, Floats]:
    """Least and largest answer of each leaf, (n_leaves, n_outputs) each."""
    lower, upper = tree.guard
    constant = np.clip(tree.value, lower, upper)
    if tree.coef is None:
        return constant, constant
    is_flat = ~tree.coef.any(axis=2)
    return np.where(is_flat, constant, lower), np.where(is_flat, constant, upper)
