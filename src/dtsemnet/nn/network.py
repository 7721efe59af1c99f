"""DTSemNet: the network whose output is the tree's, for every input.

It has four parts: the shape of the tree, a split layer that scores the input at
every split, a selector that weighs the leaves, and a head that holds the outputs of
the leaves. Only the parts vary.

``encode`` builds the network of a tree and ``decode`` reads the tree off a network.
The arrays of the tree become the parameters of the network and return bit for bit,
names and guard included. What was trained in other coordinates (chains, norms) is
folded into the hyperplanes by ``decode``, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from dtsemnet.nn.heads import ClassMaxPool, ConstantLeaves, Head, LinearLeaves
from dtsemnet.nn.logits import leaf_logits
from dtsemnet.nn.selectors import Hardmax, Selector, TopK
from dtsemnet.nn.splits import LinearSplits, Splits
from dtsemnet.tree import Topology, Tree

__all__ = ["DTSemNet", "decode", "encode"]


class DTSemNet(nn.Module):
    """A hard oblique decision tree as a network.

    Parameters
    ----------
    topology : Topology
        Shape of the tree.
    splits : Splits
        Layer from inputs to scores, one column per split.
    selector : Selector
        Weighs the leaves for a head that sums over them; a class pool reads all leaves and does not use it.
    head : Head
        Outputs of the leaves.
    feature_names : sequence of str, optional
        Names of the inputs, for the decoded tree.

    Examples
    --------
    >>> topology = Topology.complete(2)
    >>> head = ClassMaxPool([0, 1, 0, 1], n_classes=2)
    >>> net = DTSemNet(topology, LinearSplits(4, topology.n_splits), Hardmax(), head)
    >>> net(torch.zeros(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        topology: Topology,
        splits: Splits,
        selector: Selector,
        head: Head,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        if splits.n_splits != topology.n_splits:
            raise ValueError(f"splits scores {splits.n_splits} splits, but the topology has {topology.n_splits}.")
        if head.n_leaves != topology.n_leaves:
            raise ValueError(f"head holds {head.n_leaves} leaves, but the topology has {topology.n_leaves}.")
        if feature_names is not None and len(feature_names) != splits.n_features:
            raise ValueError(f"feature_names must hold {splits.n_features} names, got {len(feature_names)}.")
        self.topology = topology
        self.splits = splits
        self.selector = selector
        self.head = head
        self.feature_names = None if feature_names is None else tuple(feature_names)

    @classmethod
    def classifier(
        cls, n_features: int, n_classes: int, max_depth: int = 4, *, generator: torch.Generator | None = None
    ) -> Self:
        """Build a complete tree with plain splits, whose leaf ``j`` holds class ``j % n_classes``.

        Examples
        --------
        >>> DTSemNet.classifier(4, 3, max_depth=2).head.leaf_class.tolist()
        [0, 1, 2, 0]
        """
        topology = Topology.complete(max_depth)
        splits = LinearSplits(n_features, topology.n_splits, generator=generator)
        return cls(topology, splits, Hardmax(), ClassMaxPool(torch.arange(topology.n_leaves) % n_classes, n_classes))

    @classmethod
    def regressor(
        cls,
        n_features: int,
        n_outputs: int = 1,
        max_depth: int = 5,
        *,
        selector: Selector | None = None,
        generator: torch.Generator | None = None,
    ) -> Self:
        """Build a complete tree with plain splits and linear leaves, trained by Top-4 by default.

        Examples
        --------
        >>> DTSemNet.regressor(4, max_depth=2)(torch.zeros(5, 4)).shape
        torch.Size([5, 1])
        """
        topology = Topology.complete(max_depth)
        splits = LinearSplits(n_features, topology.n_splits, generator=generator)
        bound = 1 / math.sqrt(max(n_features, 1))
        coef = torch.empty(topology.n_leaves, n_outputs, n_features).uniform_(-bound, bound, generator=generator)
        value = torch.empty(topology.n_leaves, n_outputs).uniform_(-bound, bound, generator=generator)
        return cls(topology, splits, TopK(4) if selector is None else selector, LinearLeaves(coef, value))

    def scores(self, x: Tensor) -> Tensor:
        """Score inputs (n_samples, n_features) at every split: (n_samples, n_splits)."""
        return self.splits(x)

    def leaf_logits(self, x: Tensor) -> Tensor:
        """Compute the logits of all leaves, 0 for the leaf reached: (n_samples, n_leaves)."""
        return leaf_logits(self.scores(x), self.topology)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the output that training differentiates, for inputs (n_samples, n_features).

        A class pool gives logits of the classes, (n_samples, n_classes), regression leaves (n_samples, n_outputs).
        """
        scores = self.scores(x)
        weigh = self.selector.weigh if self.head.uses_selector else leaf_logits
        return self.head(weigh(scores, self.topology), x)

    def leaf(self, x: Tensor) -> Tensor:
        """Find the number of the leaf that each row reaches, shape (n_samples,), as ``Tree.apply`` does."""
        return self.leaf_logits(x).argmax(dim=1)

    def predict(self, x: Tensor) -> Tensor:
        """Compute the output of the tree: class numbers (n_samples,) or guarded outputs (n_samples, n_outputs).

        Selector and pooling temperature have no effect. A batch norm has one: call ``eval()`` first.
        """
        return self.head.at(self.leaf(x), x)


def encode(tree: Tree) -> DTSemNet:
    """Build the network of a tree, in float64 and in ``eval()``.

    Its selector is the hardmax; to train it, set another one and call ``train()``.

    On equal scores its leaf and its output are the tree's.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology([[-1, -2]]), [[1.0, -2.0]], [0.5], [[3.0], [4.0]])
    >>> encode(tree).predict(torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)).tolist()
    [[4.0], [3.0]]
    >>> decode(encode(tree)) == tree
    True
    """
    # torch.tensor copies: the arrays of a tree are read-only, and a tensor cannot be.
    splits = LinearSplits.from_arrays(torch.tensor(tree.weight), torch.tensor(tree.bias))
    return DTSemNet(tree.topology, splits, Hardmax(), _head(tree), feature_names=tree.feature_names).eval()


def decode(net: DTSemNet, feature_names: Sequence[str] | None = None) -> Tree:
    """Build the tree of a network; ``decode(encode(tree)) == tree``.

    Parameters
    ----------
    net : DTSemNet
        In any dtype and mode, on any device; the tree is that of ``eval()``.
    feature_names : sequence of str, optional
        Names of the inputs; by default those of the network.

    Examples
    --------
    >>> decode(DTSemNet.classifier(4, 3, max_depth=2)).weight.shape
    (3, 4)
    """
    weight, bias = (part.numpy() for part in net.splits.fold())
    names = net.feature_names if feature_names is None else feature_names
    return Tree(net.topology, weight, bias, feature_names=names, **net.head.fold()._asdict())


def _head(tree: Tree) -> Head:
    if tree.class_names is not None:
        return ClassMaxPool(tree.leaf_class, tree.n_outputs, tree.value, tree.class_names)
    if tree.coef is not None:
        return LinearLeaves(tree.coef, tree.value, tree.lower, tree.upper)
    return ConstantLeaves(tree.value, tree.lower, tree.upper)
