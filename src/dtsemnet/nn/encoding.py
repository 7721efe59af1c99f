"""Encoding: from a tree to its network and back.

The tree's arrays become the network's parameters and return bit for bit, names and
guard included. What was trained in other coordinates (chains, norms) is folded into
the hyperplanes on the way back, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dtsemnet.arrays import Floats
from dtsemnet.nn.heads import ClassMaxPool, ConstantLeaves, Head, LinearLeaves
from dtsemnet.nn.network import DTSemNet
from dtsemnet.nn.selectors import Hardmax
from dtsemnet.nn.splits import LinearSplits
from dtsemnet.tree import Tree

__all__ = ["encode", "decode"]


def encode(tree: Tree) -> DTSemNet:
    """Build the network of a tree, in float64 and in ``eval()``.

    Its selector is the hardmax; to train it further, set another one and call ``train()``.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    DTSemNet
        On equal scores its leaf and its output are the tree's.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology([[-1, -2]]), [[1.0, -2.0]], [0.5], [[3.0], [4.0]])
    >>> encode(tree).predict(torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)).tolist()
    [[4.0], [3.0]]
    >>> decode(encode(tree)) == tree
    True
    """
    splits = LinearSplits.from_arrays(_tensor(tree.weight), _tensor(tree.bias))
    return DTSemNet(tree.topology, splits, Hardmax(), _head(tree), feature_names=tree.feature_names).eval()


def decode(net: DTSemNet, feature_names: Sequence[str] | None = None) -> Tree:
    """Read the tree off a network; ``decode(encode(tree)) == tree``.

    Parameters
    ----------
    net : DTSemNet
        In any dtype, mode and on any device; the tree is that of ``eval()``.
    feature_names : sequence of str, optional
        Names of the inputs; those of the network if not given.

    Returns
    -------
    Tree

    Examples
    --------
    >>> decode(DTSemNet.classifier(4, 3, max_depth=2)).weight.shape
    (3, 4)
    """
    weight, bias = net.splits.fold()
    leaves = net.head.fold()
    return Tree(
        net.topology,
        weight.numpy(),
        bias.numpy(),
        leaves.value,
        leaves.coef,
        leaves.lower,
        leaves.upper,
        feature_names=net.feature_names if feature_names is None else feature_names,
        class_names=leaves.class_names,
    )


def _head(tree: Tree) -> Head:
    value = _tensor(tree.value)
    if tree.class_names is not None:
        return ClassMaxPool(tree.leaf_class, value.shape[1], value, tree.class_names)
    lower, upper = (None if bound is None else _tensor(bound) for bound in (tree.lower, tree.upper))
    if tree.coef is not None:
        return LinearLeaves(_tensor(tree.coef), value, lower, upper)
    return ConstantLeaves(value, lower, upper)


def _tensor(array: Floats) -> Tensor:
    # A copy: the arrays of a tree are read-only, and a tensor cannot be.
    return torch.tensor(array)
