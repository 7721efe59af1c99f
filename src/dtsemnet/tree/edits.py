"""Edits: each takes a tree and returns a new one.

Those that keep the function keep it bit for bit, on every row that the tree
accepts (a row that was refused because a sum overflowed may be accepted once the
split that overflowed is gone). :func:`fold_affine` keeps it to rounding, and
:func:`prune` is the one that changes it.

Reachability is proved in floating point, for the scores as they are computed: two
splits with equal weights have the same sum ``s`` before the bias, and ``s + b``,
rounded, never falls when ``b`` grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree._validate import floats
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = ["Numbering", "canonical", "drop_leaves", "drop_unreachable", "fold_affine", "merge_equal", "number", "prune"]


def fold_affine(tree: Tree, scale: ArrayLike, shift: ArrayLike) -> Tree:
    """Fold an affine map of the inputs into the tree.

    Parameters
    ----------
    tree : Tree
        Reads ``scale * x + shift``.
    scale, shift : float or array_like of shape (n_features,)
        The map, column by column.

    Returns
    -------
    Tree
        Reads ``x``. Equal to rounding: a row within rounding of a split may change its side.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> standardised = Tree(Topology.complete(1), [[1.0]], [-1.0], [[0.0], [1.0]])
    >>> raw = fold_affine(standardised, scale=0.5, shift=-3.0)  # mean 6, standard deviation 2
    >>> raw.weight, raw.bias
    (array([[0.5]]), array([-4.]))
    """
    d = tree.n_features
    scale = floats("scale", np.broadcast_to(np.asarray(scale), (d,)) if np.ndim(scale) == 0 else scale, (d,))
    shift = floats("shift", np.broadcast_to(np.asarray(shift), (d,)) if np.ndim(shift) == 0 else shift, (d,))
    with np.errstate(over="ignore", invalid="ignore"):  # Tree refuses what overflows, by name
        weight, bias = tree.weight * scale, tree.bias + (tree.weight * shift).sum(axis=1)
        coef, value = tree.coef, tree.value
        if coef is not None:
            coef, value = coef * scale, value + (coef * shift).sum(axis=2)
    return _replace(tree, weight, bias, value, coef)


def merge_equal(tree: Tree) -> Tree:
    """Merge siblings that are leaves with equal content, bit for bit, until none is left.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> merge_equal(Tree(Topology.complete(2), np.eye(3), [0, 0, 0], [[1], [1], [1], [2]]))
    Tree(depth 2, 2 splits, 3 leaves, 3 features, constant leaves)
    """
    parts = [part for part in (tree.value, tree.coef, tree.lower, tree.upper) if part is not None]
    content = [b"".join(part[leaf].tobytes() for part in parts) for leaf in range(tree.n_leaves)]
    children, stands_for = _table(tree), list(range(tree.n_splits))
    for split in range(tree.n_splits - 1, -1, -1):  # children have higher numbers: bottom-up
        left, right = (stands_for[k] if k >= 0 else k for k in children[split])
        children[split] = [left, right]
        if left < 0 and right < 0 and content[~left] == content[~right]:
            stands_for[split] = left
    return _rebuild(tree, np.array(children, dtype=np.int64), stands_for[0] if stands_for else -1)


def drop_leaves(tree: Tree, leaves: Iterable[int]) -> Tree:
    """Remove leaves that no input reaches; what is beside a removed subtree moves up.

    Parameters
    ----------
    leaves : iterable of int
        Leaf numbers, proved unreachable by the caller.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> drop_leaves(Tree(Topology.complete(2), np.eye(3), [0, 0, 0], [[0], [1], [2], [3]]), [0, 1]).value.ravel()
    array([2., 3.])
    """
    gone = {int(leaf) for leaf in leaves}
    strange = [leaf for leaf in gone if not 0 <= leaf < tree.n_leaves]
    if strange:
        raise ValueError(f"leaves must lie between 0 and {tree.n_leaves - 1}, got {strange[0]}.")
    if len(gone) == tree.n_leaves:
        raise ValueError("leaves must leave one leaf standing, got all of them; every input reaches some leaf.")
    children = _table(tree)
    stands_for: list[int | None] = list(range(tree.n_splits))
    for split in range(tree.n_splits - 1, -1, -1):
        left, right = ((None if ~k in gone else k) if k < 0 else stands_for[k] for k in children[split])
        if left is None or right is None:
            stands_for[split] = right if left is None else left
        else:
            children[split] = [left, right]
    root = stands_for[0] if stands_for else -1
    assert root is not None
    return _rebuild(tree, np.array(children, dtype=np.int64), root)


def drop_unreachable(tree: Tree) -> Tree:
    """Remove subtrees that are proved unreachable in floating point.

    Two proofs are tried. A split whose weights are all zero has its bias as score. A split with the same weights
    as a split above it follows that one: right above and a bias as large means right, left above and a bias as
    small means left.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> chain = Topology([[-1, 1], [-2, -3]])
    >>> drop_unreachable(Tree(chain, [[1.0], [1.0]], [-5.0, -3.0], [[0], [1], [2]])).value.ravel()  # x > 5, x > 3
    array([0., 2.])
    """
    children, bias = _table(tree), tree.bias.tolist()
    weight = tree.weight + 0.0  # -0.0 and 0.0 add the same to a score
    constant = [not row.any() for row in weight]
    rows: dict[bytes, int] = {}
    group = [rows.setdefault(row.tobytes(), len(rows)) for row in weight]
    # The smallest bias with which a row of weights said right on the path, and the largest with which it said left.
    right_from, left_to = [np.inf] * len(rows), [-np.inf] * len(rows)
    forced: dict[int, int] = {}
    todo: list[tuple[int, int, float, float]] = [(0, -1, 0.0, 0.0)] if tree.n_splits else []
    while todo:
        split, row, low, high = todo.pop()
        if row >= 0:  # an entry that sets a row's bounds: on the way down to a child, or back on the way up
            right_from[row], left_to[row] = low, high
        if split < 0:
            continue
        row, b = group[split], bias[split]
        low, high = right_from[row], left_to[row]
        left, right = children[split]
        if constant[split]:
            forced[split] = right if b > 0 else left
        elif b >= low:
            forced[split] = right
        elif b <= high:
            forced[split] = left
        if split in forced:
            todo.append((forced[split], -1, 0.0, 0.0))
        else:  # last in, first out: left with its bounds, right with its bounds, then the bounds as they were
            todo += [(-1, row, low, high), (right, row, b, high), (left, row, low, b)]

    def follow(node: int) -> int:
        while node in forced:
            node = forced[node]
        return node

    kept = [[follow(left), follow(right)] for left, right in children]
    return _rebuild(tree, np.array(kept, dtype=np.int64), follow(0 if tree.n_splits else -1))


def canonical(tree: Tree) -> Tree:
    """Bring a tree into canonical form: nothing unreachable by :func:`drop_unreachable`, no equal siblings, no -0.0.

    Zeros of splits and of linear models are written as ``0.0``, which changes no sum. Splits are not rescaled: even
    a factor of two can make a product underflow or overflow, and so change a decision.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> canonical(Tree(Topology.complete(2), [[1], [0], [2]], [0, -1, 0], [[1], [5], [1], [1]]))
    Tree(depth 0, 0 splits, 1 leaf, 1 feature, constant leaves)
    """
    plain = _replace(
        tree, tree.weight + 0.0, tree.bias + 0.0, tree.value, None if tree.coef is None else tree.coef + 0.0
    )
    # One pass of each is a fixed point: merging removes splits from below, which proves nothing new.
    return merge_equal(drop_unreachable(plain))


def prune(
    tree: Tree,
    split: int,
    value: ArrayLike,
    coef: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
) -> Tree:
    """Replace a split and all below it by one leaf. This changes the function.

    Parameters
    ----------
    split : int
        The split that becomes a leaf.
    value : array_like of shape (n_outputs,)
        Class probabilities, constants or intercepts of the new leaf.
    coef : array_like of shape (n_outputs, n_features), optional
        Linear model of the new leaf; zeros by default. For trees with linear leaves only.
    lower, upper : array_like of shape (n_outputs,), optional
        Guard of the new leaf; by default the hull of the guards of the leaves it replaces. For guarded trees only.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> prune(Tree(Topology.complete(2), np.eye(3), [0, 0, 0], [[0], [1], [2], [3]]), 1, [0.5]).value.ravel()
    array([0.5, 2. , 3. ])
    """
    if not 0 <= split < tree.n_splits:
        raise ValueError(f"split must lie between 0 and {tree.n_splits - 1}, got {split}.")
    first, last = (int(end[split]) for end in tree.topology.spans)
    shape = (tree.n_outputs,)
    new: dict[str, Floats | None] = {
        "value": floats("value", value, shape),
        "coef": np.zeros((*shape, tree.n_features))
        if coef is None
        else floats("coef", coef, (*shape, tree.n_features)),
    }
    for name, bound, hull in (("lower", lower, np.min), ("upper", upper, np.max)):
        own = getattr(tree, name)
        given = None if bound is None else floats(name, bound, shape)
        new[name] = hull(own[first:last], axis=0) if given is None and own is not None else given
    for name in ("coef", "lower", "upper"):
        if getattr(tree, name) is None and {"coef": coef, "lower": lower, "upper": upper}[name] is not None:
            raise ValueError(f"{name} was given, but the leaves of this tree have none; leave it out.")
    # The new leaf takes the place of the first leaf below the split.
    arrays = {}
    for name, content in new.items():
        own = getattr(tree, name)
        if own is not None:
            arrays[name] = own.copy()
            arrays[name][first] = content
    changed = _replace(tree, tree.weight, tree.bias, **{"coef": None, "lower": None, "upper": None, **arrays})
    children = np.where(tree.topology.children == split, ~first, tree.topology.children)
    return _rebuild(changed, children, 0 if split else ~first)


def _replace(
    tree: Tree,
    weight: Floats,
    bias: Floats,
    value: Floats,
    coef: Floats | None,
    lower: Floats | None = None,
    upper: Floats | None = None,
) -> Tree:
    """Put other numbers into the same shape; the guard stays unless it is given."""
    lower, upper = tree.lower if lower is None else lower, tree.upper if upper is None else upper
    names = {"feature_names": tree.feature_names, "class_names": tree.class_names}
    return Tree(tree.topology, weight, bias, value, coef, lower, upper, **names)  # type: ignore[arg-type]


def _table(tree: Tree) -> list[list[int]]:
    table: list[list[int]] = tree.topology.children.tolist()
    return table


class Numbering(NamedTuple):
    """A shape, and which old split and leaf stands at each new number."""

    topology: Topology
    splits: Ints
    leaves: Ints


def number(children: NDArray[np.integer], root: int) -> Numbering:
    """Number the nodes below ``root`` anew.

    Examples
    --------
    >>> shape, splits, leaves = number(np.array([[1, -3], [-1, -2]]), root=0)
    >>> shape.children.tolist(), splits.tolist(), leaves.tolist()
    ([[1, -3], [-1, -2]], [0, 1], [0, 1, 2])
    """
    table: list[list[int]] = np.asarray(children).reshape(-1, 2).tolist()
    splits = [root] if root >= 0 else []
    for split in splits:  # grows while it is read: breadth-first
        splits += [child for child in table[split] if child >= 0]
    new_split = {split: i for i, split in enumerate(splits)}
    leaves, stack = [], [root]
    while stack:
        node = stack.pop()
        if node < 0:
            leaves.append(~node)
        else:
            stack += [table[node][1], table[node][0]]
    new_leaf = {leaf: i for i, leaf in enumerate(leaves)}
    shape = [[new_split[k] if k >= 0 else ~new_leaf[~k] for k in table[split]] for split in splits]
    return Numbering(Topology(shape), np.array(splits, dtype=np.int64), np.array(leaves, dtype=np.int64))


def _rebuild(tree: Tree, children: NDArray[np.integer], root: int) -> Tree:
    """Make the tree whose nodes are those of ``tree`` that hang below ``root``."""
    topology, splits, leaves = number(children, root)
    return Tree(
        topology,
        tree.weight[splits],
        tree.bias[splits],
        tree.value[leaves],
        *(None if array is None else array[leaves] for array in (tree.coef, tree.lower, tree.upper)),
        feature_names=tree.feature_names,
        class_names=tree.class_names,
    )
