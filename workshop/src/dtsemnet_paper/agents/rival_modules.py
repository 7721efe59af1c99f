"""Selectors, splits and leaves of the rivals: how DGT, ICCT and soft trees compute their gradients.

A DTSemNet with these modules in place of its own is one of these methods, for discrete actions
(:mod:`dtsemnet_paper.agents.rivals`) and for continuous ones (``TreeSACPolicy``) alike:

- DGT (Karthikeyan et al. 2022): ``QuantisedPaths``.
- ICCT (Paleja et al. 2022): ``AxisSplits``, ``CrispTurns``, for continuous actions ``SparseLinearLeaves``.
- Soft trees (ProLoNet, Silva and Gombolay 2021): ``SoftTurns``.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dtsemnet.nn import LeafArrays, LinearLeaves, LinearSplits, Selector, StraightThrough
from dtsemnet.nn.selectors import straight_through
from dtsemnet.tree import Topology

__all__ = ["AxisSplits", "CrispTurns", "QuantisedPaths", "SoftTurns", "SparseLinearLeaves"]


class _ScoreSelector(Selector):
    """A selector that weighs leaves by the scores of the splits instead of leaf logits; the hardmax in ``eval()``."""

    def weigh(self, scores: Tensor, topology: Topology) -> Tensor:
        """Weigh the leaves of a tree from the scores of its splits."""
        return self.share(scores, topology) if self.training else super().weigh(scores, topology)

    @abstractmethod
    def share(self, scores: Tensor, topology: Topology) -> Tensor:
        """Weigh the leaves in training."""

    def select(self, logits: Tensor) -> Tensor:
        """Refuse: the scores are not known from leaf logits."""
        raise TypeError(f"{type(self).__name__} weighs leaves by the scores of the splits; call weigh.")


class QuantisedPaths(_ScoreSelector):
    """DGT: hard in the forward pass; backwards quantised scores, summed along the paths, and a softmax over the leaves.

    Examples
    --------
    >>> QuantisedPaths().weigh(torch.tensor([[1.0, -2.0, 3.0]]), Topology.complete(2)).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """

    def __init__(self) -> None:
        super().__init__()
        self.choice = StraightThrough()

    def share(self, scores: Tensor, topology: Topology) -> Tensor:
        """Sum the quantised scores along the paths and take the largest leaf."""
        size = scores.detach().abs().mean()
        quantised = straight_through(2 * scores.clamp(-1.0, 1.0), torch.where(scores > 0, size, -size))
        return self.choice.select(quantised @ _path_matrix(topology, scores.dtype, scores.device))


class SoftTurns(_ScoreSelector):
    """Soft tree: a split sends a share ``sigmoid(score)`` to the right.

    Examples
    --------
    >>> SoftTurns().weigh(torch.tensor([[0.0, 0.0, 0.0]]), Topology.complete(2)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def share(self, scores: Tensor, topology: Topology) -> Tensor:
        """Multiply the shares along the paths."""
        path = _path_matrix(topology, scores.dtype, scores.device)
        right, left = nn.functional.logsigmoid(scores), nn.functional.logsigmoid(-scores)
        return (right @ path.relu() + left @ (-path).relu()).exp()


class CrispTurns(_ScoreSelector):
    """ICCT: hard outcomes in the forward pass, derivatives of sigmoids in the backward pass.

    Examples
    --------
    >>> CrispTurns().weigh(torch.tensor([[1.0, -2.0, 3.0]]), Topology.complete(2)).tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """

    def share(self, scores: Tensor, topology: Topology) -> Tensor:
        """Multiply the outcomes along the paths."""
        right = straight_through(scores.sigmoid(), (scores > 0).to(scores.dtype))
        split, side = (torch.from_numpy(array.copy()).to(scores.device) for array in topology.paths)
        turn = right[:, split]  # (n_samples, n_leaves, depth); the padding reads the last split and counts as 1
        return torch.where(side == 1, turn, torch.where(side == 0, 1 - turn, 1.0)).prod(dim=2)


class AxisSplits(LinearSplits):
    """ICCT: one feature per split, that of the largest weight; in the backward pass a softmax of the magnitudes.

    Examples
    --------
    >>> weight, bias = AxisSplits(4, 3).fold()
    >>> (weight != 0).sum(dim=1).tolist()
    [1, 1, 1]
    """

    def forward(self, x: Tensor) -> Tensor:
        """Score a batch."""
        size = self.weight.abs()
        return nn.functional.linear(
            x, self.weight * straight_through(size.softmax(dim=1), _largest(size, 1)), self.bias
        )

    def fold(self) -> tuple[Tensor, Tensor]:
        """Return the weights that are kept, and the biases."""
        weight, bias = super().fold()
        return weight * _largest(self.weight.detach().cpu().abs(), 1), bias


class SparseLinearLeaves(LinearLeaves):
    """ICCT: linear models of a few features, chosen by a trained importance; in the backward pass by a softmax.

    Parameters
    ----------
    coef, value : array_like
        As for ``LinearLeaves``; at the start the features of the largest slopes are chosen.
    n_slopes : int, default=2
        Features in each linear model.

    Examples
    --------
    >>> leaves = SparseLinearLeaves(torch.tensor([[[1.0, -3.0, 2.0]]]), torch.zeros(1, 1))
    >>> leaves.fold().coef.tolist()
    [[[0.0, -3.0, 2.0]]]
    """

    def __init__(self, coef: ArrayLike | Tensor, value: ArrayLike | Tensor, n_slopes: int = 2) -> None:
        super().__init__(coef, value)
        if n_slopes < 1:
            raise ValueError(f"n_slopes must be at least 1, got {n_slopes}.")
        self.n_slopes = n_slopes
        self.importance = nn.Parameter(self.coef.detach().abs().clone())

    @property
    def sparse_coef(self) -> Tensor:
        """The slopes that are kept."""
        return self.coef * straight_through(self.importance.softmax(dim=2), _largest(self.importance, self.n_slopes))

    def mix(self, weights: Tensor, x: Tensor) -> Tensor:
        """Evaluate all linear models and sum them by their weights."""
        output = nn.functional.linear(x, self.sparse_coef.flatten(0, 1), self.value.flatten())
        return torch.bmm(weights.unsqueeze(1), output.view(len(x), self.n_leaves, self.n_outputs)).squeeze(1)

    def single(self, leaf: Tensor, x: Tensor) -> Tensor:
        """Evaluate the linear models of one leaf per row."""
        return torch.bmm(self.sparse_coef[leaf], x.unsqueeze(2)).squeeze(2) + self.value[leaf]

    def fold(self) -> LeafArrays:
        """Return the linear models."""
        return super().fold()._replace(coef=self.sparse_coef.detach().cpu().double().numpy())


def _largest(size: Tensor, k: int) -> Tensor:
    """Mark the k largest along the last axis by 1; among equals the first."""
    best = size.detach().argsort(dim=-1, descending=True, stable=True)[..., :k]
    return torch.zeros_like(size, requires_grad=False).scatter(-1, best, 1.0)


# A tensor made in inference mode can never be used in training, so the cached tensor is made outside of it.
@lru_cache(maxsize=32)
@torch.inference_mode(False)
def _path_matrix(topology: Topology, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Build (n_splits, n_leaves): 1 if a leaf is to the right of a split, -1 if to the left, 0 if not below it."""
    leaf, step = np.nonzero(topology.paths.split >= 0)
    split, side = topology.paths.split[leaf, step], topology.paths.side[leaf, step]
    matrix = np.zeros((topology.n_splits, topology.n_leaves))
    matrix[split, leaf] = np.where(side == 1, 1.0, -1.0)
    return torch.as_tensor(matrix, dtype=dtype, device=device)
