"""Split layers: from inputs to the scores of the splits.

Every layer is affine in x, so that it folds into the one hyperplane per split that
the tree holds: ``scores = A x + b``. Plain splits fold bit for bit, a chain of
linear layers and a batch norm to float64 rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["Splits", "LinearSplits", "ChainSplits", "NormalisedSplits"]


class Splits(nn.Module, ABC):
    """Base of the split layers: ``forward`` scores a batch, ``fold`` returns the hyperplanes.

    Attributes
    ----------
    n_features, n_splits : int
        Columns of the input and of the output.
    """

    n_features: int
    n_splits: int

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Score a batch, shape (n_samples, n_features), at each split: (n_samples, n_splits)."""

    @abstractmethod
    def fold(self) -> tuple[Tensor, Tensor]:
        """Fold the layer into ``A`` (n_splits, n_features) and ``b`` (n_splits,), in float64.

        The function is that of ``eval()``: a batch norm uses its running statistics.
        """

    def extra_repr(self) -> str:
        return f"{self.n_features} features, {self.n_splits} splits"


class LinearSplits(Splits):
    """One hyperplane per split, as in the tree.

    Weights and biases start uniform within ``1 / sqrt(n_features)`` of 0, as in torch's linear layer
    and in the paper.

    Parameters
    ----------
    n_features, n_splits : int
        Columns of the input and of the output; no split at all is allowed.
    generator : torch.Generator, optional
        Source of the random start; torch's global generator by default.

    Examples
    --------
    >>> layer = LinearSplits(4, 3)
    >>> layer(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    >>> weight, bias = layer.fold()
    >>> weight.shape, weight.dtype
    (torch.Size([3, 4]), torch.float64)
    """

    def __init__(self, n_features: int, n_splits: int, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.n_features, self.n_splits = _sizes(n_features, n_splits)
        self.weight = nn.Parameter(_uniform((n_splits, n_features), n_features, generator))
        self.bias = nn.Parameter(_uniform((n_splits,), n_features, generator))

    @classmethod
    def from_arrays(cls, weight: Tensor, bias: Tensor) -> LinearSplits:
        """Build the layer from weights (n_splits, n_features) and biases (n_splits,), in their dtype."""
        layer = cls(weight.shape[1], weight.shape[0])
        layer.weight, layer.bias = nn.Parameter(weight.detach().clone()), nn.Parameter(bias.detach().clone())
        return layer

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight, self.bias)

    def fold(self) -> tuple[Tensor, Tensor]:
        return _float64(self.weight), _float64(self.bias)


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
        self.n_features, self.n_splits = _sizes(n_features, n_splits)
        if any(factor < 1 for factor in factors):
            raise ValueError(f"factors must be at least 1, got {tuple(factors)}.")
        widths = [n_features, *(factor * n_splits for factor in factors), n_splits]
        start = _orthogonal if orthogonal else _uniform
        self.weights = nn.ParameterList(
            nn.Parameter(start((rows, columns), columns, generator)) for columns, rows in pairwise(widths)
        )
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
    >>> layer = NormalisedSplits(LinearSplits(4, 3))
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


def _sizes(n_features: int, n_splits: int) -> tuple[int, int]:
    if n_features < 0 or n_splits < 0:
        raise ValueError(f"n_features and n_splits must not be negative, got {n_features} and {n_splits}.")
    return n_features, n_splits


def _float64(tensor: Tensor) -> Tensor:
    return tensor.detach().to(device="cpu", dtype=torch.float64, copy=True)


def _uniform(shape: tuple[int, ...], fan_in: int, generator: torch.Generator | None) -> Tensor:
    bound = 1 / math.sqrt(max(fan_in, 1))
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def _orthogonal(shape: tuple[int, ...], fan_in: int, generator: torch.Generator | None) -> Tensor:
    """Draw an orthogonal matrix: the Q of a normal one, with the signs that make it uniform."""
    rows, columns = shape
    if not rows * columns:
        return torch.empty(shape)
    normal = torch.empty(max(shape), min(shape)).normal_(generator=generator)
    q, r = torch.linalg.qr(normal)
    q *= r.diagonal().sign()
    matrix: Tensor = q if rows >= columns else q.T
    return matrix.contiguous()
