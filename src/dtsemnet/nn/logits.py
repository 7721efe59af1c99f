"""Leaf logits: a tree read as a network (Theorem 1).

The logit of a leaf is minus the sum of the margins violated on its path,

    z_j = - sum over splits i above j of (relu(s_i) if j lies left of i, relu(-s_i) if right).

It is 0 for the leaf that x reaches and negative for the others, whatever the
rounding. If x lies on a hyperplane several are 0, and the leftmost is the leaf
reached. The paper's last layer adds ``sum_i |s_i|`` to every leaf, which changes
neither the order of the leaves nor a softmax over them.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from dtsemnet.tree import Topology

__all__ = ["leaf_logits", "violation_matrix"]


def leaf_logits(scores: Tensor, topology: Topology) -> Tensor:
    """Compute the logits of all leaves: minus the margins violated on their paths.

    Small trees and deep narrow ones are one product with a fixed matrix, the others are computed one
    level at a time. Both are exact where it matters: the leaf reached has logit 0, no leaf has more.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_splits)
        Value of ``w @ x + b`` at each split; right if positive, left if not.
    topology : Topology
        Shape of the tree.

    Returns
    -------
    Tensor of shape (n_samples, n_leaves)
        Non-positive, leaves numbered from left to right.

    Examples
    --------
    >>> leaf_logits(torch.tensor([[1.0, -2.0, 3.0]]), Topology.complete(2)).tolist()
    [[-1.0, -3.0, -3.0, 0.0]]
    """
    if _product_pays(topology) and _product_is_exact(scores):
        return _logits_by_product(scores, topology)
    return _logits_by_level(scores, topology)


def _logits_by_level(scores: Tensor, topology: Topology) -> Tensor:
    """Go down the tree level by level, with the batch as the last axis so that the inner loops run over rows."""
    if not topology.n_splits:
        return scores.sum(dim=1, keepdim=True)  # zeros that stay in the graph, so that backward() works
    sizes, turns, order = _level_plan(topology, scores.device)
    score = scores.t()
    margin = torch.split_with_sizes(torch.stack([score, -score], dim=1).relu(), sizes)
    frontier, ended = 0 - margin[0].flatten(0, 1), []
    for violated, turn in zip(margin[1:], turns):
        if turn is not None:
            leaves, inner = turn
            ended.append(frontier.index_select(0, leaves))
            frontier = frontier.index_select(0, inner)
        frontier = (frontier.unsqueeze(1) - violated).flatten(0, 1)
    if ended:
        frontier = torch.cat([*ended, frontier]).index_select(0, order)
    return frontier.t()


def _logits_by_product(scores: Tensor, topology: Topology) -> Tensor:
    """Multiply the margins with minus the 0/1 matrix of paths: products with 0 and 1 round nothing away."""
    # hardtanh is relu with an upper limit, its derivative at 0 is 0 too; the limit keeps 0 * inf = nan out.
    limit = torch.finfo(scores.dtype).max
    margin = F.hardtanh(torch.cat([scores, -scores], dim=1), 0.0, limit)
    return margin @ violation_matrix(topology, scores.dtype, scores.device)


@lru_cache(maxsize=256)
def _product_pays(topology: Topology) -> bool:
    # Measured, forward and backward, batch 128: a complete tree of depth 4 takes half the time, 7 two thirds,
    # 8 a little more, 9 more than twice as much; a chain of 64 splits takes a twentieth.
    return topology.n_splits * topology.n_leaves <= 5000 * topology.depth


def _product_is_exact(scores: Tensor) -> bool:
    """Check that a product does not round float32; TF32, bfloat16 and autocast can round a margin to 0."""
    return (
        scores.device.type == "cpu"
        and scores.dtype in (torch.float32, torch.float64)
        and torch.get_float32_matmul_precision() == "highest"
        and not torch.is_autocast_enabled("cpu")
    )


# A tensor made in inference mode can never take part in training, so what is cached is made outside of it.
@lru_cache(maxsize=32)
@torch.inference_mode(False)
def violation_matrix(topology: Topology, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Build (2 n_splits, n_leaves): -1 where a leaf violates ``s_i > 0`` (first half) or ``s_i < 0`` (second)."""
    leaf, step = np.nonzero(topology.paths.split >= 0)
    split, side = topology.paths.split[leaf, step], topology.paths.side[leaf, step]
    matrix = np.zeros((2 * topology.n_splits, topology.n_leaves))
    matrix[split + side * topology.n_splits, leaf] = -1
    return torch.as_tensor(matrix, dtype=dtype, device=device)


@lru_cache(maxsize=32)
@torch.inference_mode(False)
def _level_plan(
    topology: Topology, device: torch.device
) -> tuple[list[int], list[tuple[Tensor, Tensor] | None], Tensor]:
    """Plan the way down: the splits of each level, which are one slice; what a level with leaves picks; the order."""
    tensor = partial(torch.tensor, device=device)
    turns = [
        (tensor(level.leaves), tensor(level.inner)) if len(level.leaves) else None for level in topology.levels[1:]
    ]
    return [len(level.splits) for level in topology.levels], turns, tensor(topology.leaf_order)
