"""Parts of the paper's network that the product does not train with.

The last layer as the paper writes it, the straight-through estimator whose gradient is the
identity, splits as a chain of linear layers, and splits behind a batch norm. Each fits into
:class:`dtsemnet.nn.DTSemNet` in place of a part of its own. Splits fold into hyperplanes to
float64 rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from dtsemnet.nn import Hardmax, Selector, Splits, leaf_logits
from dtsemnet.nn.logits import violation_matrix
from dtsemnet.nn.selectors import straight_through
from dtsemnet.tree import Topology

__all__ = ["ChainSplits", "IdentityStraightThrough", "NormalisedSplits", "dense_logits"]


def dense_logits(scores: Tensor, topology: Topology) -> Tensor:
    """Compute the paper's last layer: the margins of all splits but those that a leaf violates.

    In exact arithmetic this is ``leaf_logits(scores, topology) + scores.abs().sum(1, keepdim=True)``.
    In floating point the largest entry can be a wrong leaf if scores span many magnitudes, so
    predictions never use it.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_splits)
        Value of ``w @ x + b`` at each split.
    topology : Topology
        Shape of the tree.

    Returns
    -------
    Tensor of shape (n_samples, n_leaves)
        Non-negative, leaves numbered from left to right.

    Examples
    --------
    >>> dense_logits(torch.tensor([[1.0, -2.0, 3.0]]), Topology.complete(2)).tolist()
    [[5.0, 3.0, 3.0, 6.0]]
    """
    # 0 where a leaf violates that side of a split, 1 elsewhere.
    matrix = 1 + violation_matrix(topology, scores.dtype, scores.device)
    return torch.cat([scores, -scores], dim=1).relu() @ matrix


class IdentityStraightThrough(Selector):
    """One-hot vector forward; backward the identity, as the paper writes the estimator.

    The identity, unlike a softmax, depends on a number added to all logits, so it is the paper's
    estimator on the paper's dense logits only. In a network it therefore takes the one-hot vector from
    the exact logits and passes the gradient to the dense ones; on its own, give it ``dense_logits``.

    Examples
    --------
    >>> logits = dense_logits(torch.tensor([[1.0, -2.0, 3.0]]), Topology.complete(2)).requires_grad_()
    >>> IdentityStraightThrough()(logits)[0, 1].backward()
    >>> logits.grad.tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    def select(self, logits: Tensor) -> Tensor:
        return straight_through(logits, Hardmax().select(logits))

    def weigh(self, scores: Tensor, topology: Topology) -> Tensor:
        chosen = Hardmax().select(leaf_logits(scores.detach(), topology))
        return straight_through(dense_logits(scores, topology), chosen) if self.training else chosen


class ChainSplits(Splits):
    """Linear layers in a row, with nothing between them: more parameters, the same functions.

    The widths are ``n_features -> f1 * n_splits -> f2 * n_splits -> ... -> n_splits``. Gradient descent
    takes another path through the same hyperplanes, which helps on some data sets.

    Parameters
    ----------
    n_features, n_splits : int
        Columns of the input and of the output.
    factors : sequence of int, default=(6, 6)
        Widths of the hidden layers, in multiples of ``n_splits``; the default is the paper's most frequent choice.
    orthogonal : bool, default=False
        Start from orthogonal matrices instead of uniform ones. Biases start at 0 either way.
    generator : torch.Generator, optional
        Source of the random start; torch's global generator by default.

    Examples
    --------
    >>> layer = ChainSplits(4, 3, factors=(6, 6))
    >>> [tuple(weight.shape) for weight in layer.weights]
    [(18, 4), (18, 18), (3, 18)]
    >>> weight, bias = layer.fold()
    >>> x = torch.ones(1, 4)
    >>> torch.allclose(layer(x).double(), x.double() @ weight.T + bias, atol=1e-6)
    True
    """

    def __init__(
        self,
        n_features: int,
        n_splits: int,
        factors: Sequence[int] = (6, 6),
        orthogonal: bool = False,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.n_features, self.n_splits = n_features, n_splits
        if any(factor < 1 for factor in factors):
            raise ValueError(f"factors must be at least 1, got {tuple(factors)}.")
        widths = [n_features, *(factor * n_splits for factor in factors), n_splits]
        self.weights = nn.ParameterList()
        for columns, rows in pairwise(widths):
            weight, bound = torch.empty(rows, columns), 1 / math.sqrt(max(columns, 1))
            if orthogonal:
                nn.init.orthogonal_(weight, generator=generator)
            else:
                weight.uniform_(-bound, bound, generator=generator)
            self.weights.append(nn.Parameter(weight))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(rows)) for rows in widths[1:])

    def forward(self, x: Tensor) -> Tensor:
        for weight, bias in zip(self.weights, self.biases):
            x = nn.functional.linear(x, weight, bias)
        return x

    def fold(self) -> tuple[Tensor, Tensor]:
        weight = torch.eye(self.n_features, dtype=torch.float64)
        offset = torch.zeros(self.n_features, dtype=torch.float64)
        for factor, bias in zip(self.weights, self.biases):
            weight, offset = _float64(factor) @ weight, _float64(factor) @ offset + _float64(bias)
        return weight, offset


class NormalisedSplits(Splits):
    """Batch norm after a split layer: scores of one scale, so that one temperature fits all splits.

    Training normalises by the batch, ``eval()`` by running statistics; the latter are folded.

    Parameters
    ----------
    inner : Splits
        The layer whose scores are normalised.

    Examples
    --------
    >>> layer = NormalisedSplits(ChainSplits(4, 3))
    >>> bool(layer(torch.randn(64, 4)).mean().abs() < 1e-5)
    True
    """

    def __init__(self, inner: Splits) -> None:
        super().__init__()
        self.n_features, self.n_splits = inner.n_features, inner.n_splits
        self.inner = inner
        self.norm = nn.BatchNorm1d(inner.n_splits)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.inner(x)
        # A tree without splits has nothing to normalise, and batch norm refuses an empty axis.
        return self.norm(scores) if self.n_splits else scores

    def fold(self) -> tuple[Tensor, Tensor]:
        weight, bias = self.inner.fold()
        mean, variance = self.norm.running_mean, self.norm.running_var
        assert mean is not None
        assert variance is not None
        scale = _float64(self.norm.weight) / (_float64(variance) + self.norm.eps).sqrt()
        return scale[:, None] * weight, scale * (bias - _float64(mean)) + _float64(self.norm.bias)


def _float64(tensor: Tensor) -> Tensor:
    return tensor.detach().to(device="cpu", dtype=torch.float64)
