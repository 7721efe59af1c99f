"""Edits: each takes a tree and returns a new one.

Those that keep the function keep it bit for bit, on every row that the tree
accepts (a row that was refused because a sum overflowed may be accepted once the
split that overflowed is gone). :func:`fold_affine` keeps it to rounding, and
:func:`prune` and :func:`keep_splits` change it.

An edit names nodes by the numbers of the tree that it came from: ``k >= 0`` is split ``k``, ``k < 0``
is leaf ``~k``. The nodes that are left below a root are then numbered anew (:func:`number`), splits
breadth-first and leaves from left to right. Loops, not recursion: a chain may be deeper than
Python's stack.

Reachability is proved in floating point, for the scores as they are computed: two
splits with equal weights have the same sum ``s`` before the bias, and ``s + b``,
rounded, never falls when ``b`` grows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree._validate import floats
from dtsemnet.tree.topology import Topology, leaves_from_left
from dtsemnet.tree.tree import Tree

__all__ = [
    "canonical",
    "drop_leaves",
    "drop_unreachable",
    "fold_affine",
    "keep_splits",
    "merge_equal",
    "number",
    "prune",
]


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
    return tree.replace(weight=weight, bias=bias, value=value, coef=coef)


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
    children, replacement = tree.topology.children.tolist(), list(range(tree.n_splits))
    for split in range(tree.n_splits - 1, -1, -1):  # children have higher numbers: bottom-up
        left, right = (replacement[k] if k >= 0 else k for k in children[split])
        children[split] = [left, right]
        if left < 0 and right < 0 and content[~left] == content[~right]:
            replacement[split] = left
    return _rebuild(tree, np.array(children, dtype=np.int64), replacement[0] if replacement else -1)


def drop_leaves(tree: Tree, leaves: Iterable[int]) -> Tree:
    """Remove leaves that no input reaches; the sibling of a removed subtree moves up.

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
    wrong = [leaf for leaf in gone if not 0 <= leaf < tree.n_leaves]
    if wrong:
        raise ValueError(f"leaves must lie between 0 and {tree.n_leaves - 1}, got {wrong[0]}.")
    if len(gone) == tree.n_leaves:
        raise ValueError("leaves must leave one leaf, got all of them; every input reaches some leaf.")
    children = tree.topology.children.tolist()
    replacement: list[int | None] = list(range(tree.n_splits))
    for split in range(tree.n_splits - 1, -1, -1):
        left, right = ((None if ~k in gone else k) if k < 0 else replacement[k] for k in children[split])
        if left is None or right is None:
            replacement[split] = right if left is None else left
        else:
            children[split] = [left, right]
    root = replacement[0] if replacement else -1
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
    children, bias = tree.topology.children.tolist(), tree.bias.tolist()
    weight = tree.weight + 0.0  # -0.0 and 0.0 add the same to a score
    rows: dict[bytes, int] = {}
    group = [rows.setdefault(row.tobytes(), len(rows)) for row in weight]
    repeated = np.bincount(np.array(group, dtype=np.int64), minlength=1) > 1
    parent = {child: split for split, pair in enumerate(children) for child in pair if child >= 0}
    # For each split, among the splits above it with the same weights: the smallest bias with which one sent rows
    # right, and the largest with which one sent rows left.
    right_from, left_to = [np.inf] * tree.n_splits, [-np.inf] * tree.n_splits
    forced: dict[int, int] = {}
    for split, (left, right) in enumerate(children):  # parents have lower numbers: top-down
        if repeated[group[split]]:
            below, above = split, parent.get(split)
            while above is not None and group[above] != group[split]:
                below, above = above, parent.get(above)
            if above is not None:
                right_from[split], left_to[split] = right_from[above], left_to[above]
                if below == children[above][1]:
                    right_from[split] = min(right_from[split], bias[above])
                else:
                    left_to[split] = max(left_to[split], bias[above])
        if not weight[split].any():
            forced[split] = right if bias[split] > 0 else left
        elif bias[split] >= right_from[split]:
            forced[split] = right
        elif bias[split] <= left_to[split]:
            forced[split] = left

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
    coef = None if tree.coef is None else tree.coef + 0.0
    plain = tree.replace(weight=tree.weight + 0.0, bias=tree.bias + 0.0, coef=coef)
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
    given: dict[str, ArrayLike | None] = {"value": value, "coef": coef, "lower": lower, "upper": upper}
    changes: dict[str, Floats] = {}
    for name, content in given.items():
        own = getattr(tree, name)
        if own is None:
            if content is not None:
                raise ValueError(f"{name} was given, but the leaves of this tree have none; leave it out.")
            continue
        changes[name] = own.copy()
        # The new leaf takes the position of the first leaf below the split.
        if content is not None:
            changes[name][first] = floats(name, content, (*shape, tree.n_features) if name == "coef" else shape)
        elif name == "coef":
            changes[name][first] = 0.0
        else:
            changes[name][first] = (np.min if name == "lower" else np.max)(own[first:last], axis=0)
    children = np.where(tree.topology.children == split, ~first, tree.topology.children)
    return _rebuild(tree.replace(**changes), children, 0 if split else ~first)


def keep_splits(tree: Tree, keeps: ArrayLike) -> Tree:
    """Replace every other split, with all below it, by its leftmost leaf. This changes the function.

    Parameters
    ----------
    keeps : array_like of bool, shape (n_splits,)
        Splits to keep; one below a split that goes, goes too.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(2), np.eye(3), [0, 0, 0], [[0], [1], [2], [3]])
    >>> keep_splits(tree, [True, False, True]).value.ravel()
    array([0., 2., 3.])
    """
    kept = np.asarray(keeps, dtype=bool)
    if kept.shape != (tree.n_splits,):
        raise ValueError(f"keeps must have shape ({tree.n_splits},), got {kept.shape}.")
    if kept.all():
        return tree
    first, children = tree.topology.spans[0], tree.topology.children
    below = np.maximum(children, 0)  # a leaf stays, whatever stands here
    goes = (children >= 0) & ~kept[below]
    return _rebuild(tree, np.where(goes, ~first[below], children), 0 if kept[0] else ~int(first[0]))


def number(children: NDArray[np.integer], root: int) -> tuple[Topology, Ints, Ints]:
    """Number the nodes below ``root`` anew: the shape, and the old split and the old leaf for each new number.

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
    leaves = leaves_from_left(table, root)
    new_leaf = {leaf: i for i, leaf in enumerate(leaves)}
    shape = [[new_split[k] if k >= 0 else ~new_leaf[~k] for k in table[split]] for split in splits]
    return Topology(shape), np.array(splits, dtype=np.int64), np.array(leaves, dtype=np.int64)


def _rebuild(tree: Tree, children: NDArray[np.integer], root: int) -> Tree:
    """Make the tree whose nodes are those of ``tree`` that hang below ``root``."""
    topology, splits, leaves = number(children, root)
    arrays = {name: getattr(tree, name) for name in ("value", "coef", "lower", "upper")}
    kept = {name: None if array is None else array[leaves] for name, array in arrays.items()}
    return tree.replace(topology=topology, weight=tree.weight[splits], bias=tree.bias[splits], **kept)
