"""DTSemNet: the network whose output is the tree's, for every input.

Four parts: the shape of the tree, a split layer that scores the input at every
split, a selector that weighs the leaves, a head that says what the leaves hold.
Only the parts vary; the network passes the scores on to the head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self, overload

import torch
from torch import Tensor, nn

from dtsemnet.nn.heads import ClassMaxPool, Head, LinearLeaves
from dtsemnet.nn.logits import leaf_logits
from dtsemnet.nn.selectors import Hardmax, Selector, TopK
from dtsemnet.nn.splits import LinearSplits, Splits
from dtsemnet.tree import Topology

__all__ = ["DTSemNet"]


class DTSemNet(nn.Module):
    """A hard oblique decision tree as a network.

    Parameters
    ----------
    topology : Topology
        Shape of the tree.
    splits : Splits
        Layer from inputs to scores, one column per split.
    selector : Selector
        Weighs the leaves for a head that sums over them; a class pool takes all leaves and asks none.
    head : Head
        Outputs of the leaves.
    feature_names : sequence of str, optional
        Names of the inputs, which the decoded tree carries.

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
        """Build a complete tree with plain splits and linear leaves, trained by Top-4 unless told otherwise.

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
        scores: Tensor = self.splits(x)
        return scores

    def leaf_logits(self, x: Tensor) -> Tensor:
        """Compute the logits of all leaves, 0 for the leaf reached: (n_samples, n_leaves)."""
        return leaf_logits(self.scores(x), self.topology)

    def forward(self, x: Tensor) -> Tensor:
        """Compute what a loss is taken of.

        Parameters
        ----------
        x : Tensor of shape (n_samples, n_features)

        Returns
        -------
        Tensor
            Logits of the classes, (n_samples, n_classes), from a class pool; outputs,
            (n_samples, n_outputs), from regression leaves.
        """
        return self.head.read(x, self.scores(x), self.topology, self.selector)

    def predict(self, x: Tensor) -> Tensor:
        """Compute the output of the tree: class numbers (n_samples,) or guarded outputs (n_samples, n_outputs).

        Selector and pooling temperature have no say here. A batch norm has: call ``eval()`` first.
        """
        return self.head.at(self.apply(x), x)

    @overload
    def apply(self, fn: Callable[[nn.Module], None], /) -> Self: ...

    @overload
    def apply(self, fn: Tensor, /) -> Tensor: ...

    def apply(self, fn: Callable[[nn.Module], None] | Tensor, /) -> Self | Tensor:
        """Find the number of the leaf that each row of a tensor reaches, as ``Tree.apply`` does.

        Given a function instead, call it on every module inside, as any torch module does: the name
        is the tree's and torch's, and parents use the latter to initialise their parts.
        """
        if isinstance(fn, Tensor):
            return self.leaf_logits(fn).argmax(dim=1)
        return super().apply(fn)
