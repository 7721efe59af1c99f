"""Split layers: from inputs to the scores of the splits.

Every layer is affine in x, so that it folds into the one hyperplane per split that
the tree holds: ``scores = A x + b``. Plain splits fold bit for bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

__all__ = ["Splits", "LinearSplits"]


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
        if n_features < 0 or n_splits < 0:
            raise ValueError(f"n_features and n_splits must not be negative, got {n_features} and {n_splits}.")
        self.n_features, self.n_splits = n_features, n_splits
        bound = 1 / math.sqrt(max(n_features, 1))
        self.weight = nn.Parameter(torch.empty(n_splits, n_features).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.empty(n_splits).uniform_(-bound, bound, generator=generator))

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


def _float64(tensor: Tensor) -> Tensor:
    return tensor.detach().to(device="cpu", dtype=torch.float64, copy=True)
