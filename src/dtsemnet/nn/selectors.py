"""Selectors: from the logits of the leaves to their weights in the output.

The tree takes one leaf, and that choice has no gradient. A selector replaces it in
training: Top-k weighs the k best leaves by a softmax with temperature and is
optimised as it is; a straight-through estimator keeps the choice and borrows a
gradient. In ``eval()`` every selector is the hardmax, and a tie goes to the lowest
index, the leaf that the tree reaches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from dtsemnet.nn.logits import leaf_logits
from dtsemnet.tree import Topology

__all__ = ["Selector", "Hardmax", "TopK", "StraightThrough", "straight_through"]


class Selector(nn.Module, ABC):
    """Base of the selectors: a subclass defines in ``select`` what happens in training."""

    def forward(self, logits: Tensor) -> Tensor:
        """Weigh the leaves, given their logits (n_samples, n_leaves).

        The weights have the same shape; they are non-negative and each row sums to 1; one-hot in ``eval()``.
        """
        return self.select(logits) if self.training else _one_hot(logits)

    @abstractmethod
    def select(self, logits: Tensor) -> Tensor:
        """Weigh the leaves in training; arguments and result are those of ``forward``."""

    def weigh(self, scores: Tensor, topology: Topology) -> Tensor:
        """Weigh the leaves of a tree from the scores of its splits, (n_samples, n_splits).

        Override it for weights that are not a function of the leaf logits.
        """
        return self(leaf_logits(scores, topology))


class Hardmax(Selector):
    """One-hot vector of the largest logit, without a gradient: the tree itself.

    Examples
    --------
    >>> Hardmax()(torch.tensor([[-1.0, 0.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """

    def select(self, logits: Tensor) -> Tensor:
        return _one_hot(logits)


class TopK(Selector):
    """Softmax with temperature over the k largest logits, zero elsewhere.

    Forward and backward are one function, piecewise smooth. Splits off the paths of the k leaves get
    no gradient. ``k = 1`` is the one-hot vector, cut off from the graph, so that an optimizer with
    momentum does not change the splits. Both attributes may be set between epochs.

    Parameters
    ----------
    k : int
        Number of leaves kept, at least 1; all leaves if the tree has fewer.
    temperature : float, default=0.5
        Divides the logits; the smaller, the harder. The default is the paper's for most data sets.

    Examples
    --------
    >>> selector = TopK(2, temperature=1.0)
    >>> selector(torch.tensor([[0.0, -1.0, 0.0, 0.0]])).tolist()
    [[0.5, 0.0, 0.5, 0.0]]
    >>> selector.k = 1
    >>> selector(torch.tensor([[0.0, -1.0, 0.0, 0.0]])).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, k: int, temperature: float = 0.5) -> None:
        super().__init__()
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}; k=1 is the tree, k=2 the least that trains its splits.")
        self.k = k
        self.temperature = _positive(temperature)

    def select(self, logits: Tensor) -> Tensor:
        if self.k == 1:
            return _one_hot(logits)
        if self.k < logits.shape[1]:
            logits = logits.masked_fill(~_top_k_mask(logits.detach(), self.k), -torch.inf)
        return torch.softmax(logits / self.temperature, dim=1)

    def extra_repr(self) -> str:
        return f"k={self.k}, temperature={self.temperature}"


class StraightThrough(Selector):
    """One-hot vector forward; backward through the softmax of all logits.

    A baseline: forward and backward are different functions. The softmax Jacobian does not depend on
    a number added to all logits, so this is also the estimator on the paper's dense logits.

    Parameters
    ----------
    temperature : float, default=1.0
        Temperature of the softmax whose Jacobian replaces the missing one.

    Examples
    --------
    >>> logits = torch.tensor([[0.0, 0.0]], requires_grad=True)
    >>> StraightThrough()(logits)[0, 0].backward()
    >>> logits.grad.tolist()
    [[0.25, -0.25]]
    """

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = _positive(temperature)

    def select(self, logits: Tensor) -> Tensor:
        soft = torch.softmax(logits / self.temperature, dim=1)
        return straight_through(soft, _one_hot(logits))

    def extra_repr(self) -> str:
        return f"temperature={self.temperature}"


def straight_through(soft: Tensor, hard: Tensor) -> Tensor:
    """Return the value of ``hard`` with the gradient of ``soft``."""
    # The bracket is exactly 0; ``soft + (hard - soft).detach()`` would round.
    return hard.detach() + (soft - soft.detach())


def _positive(temperature: float) -> float:
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}; for the limit 0 take Hardmax() or k=1.")
    return temperature


def _one_hot(logits: Tensor) -> Tensor:
    # argmax returns the first of several maxima, as documented.
    return torch.zeros_like(logits, requires_grad=False).scatter_(1, logits.detach().argmax(dim=1, keepdim=True), 1.0)


def _top_k_mask(logits: Tensor, k: int) -> Tensor:
    """Mark the k largest of each row; torch.topk promises their values, not which of equal ones it takes."""
    smallest = logits.topk(k, dim=1).values[:, -1:]
    above, tied = logits > smallest, logits == smallest
    room = k - above.sum(dim=1, keepdim=True)
    return above | (tied & (tied.cumsum(dim=1) <= room))
