"""Leaf logits forwards and backwards, for a batch laid out as (nodes x batch).

Going down, each node holds minus the margins violated on the way to it; going
up, each node holds the sum of the gradients of the leaves below it. A split
passes to its left child ``-relu(s)``, to its right child ``-relu(-s)``, so

    ds = [s < 0] * (gradients of the right subtree) - [s > 0] * (those of the left)

and one pass over the splits, O(splits) for each sample, gives every gradient.
The inner loops run over the batch, where memory is contiguous and iterations
are independent, so that the compiler vectorises them.

Row ``i < n_splits`` of ``node`` is split ``i``; row ``n_splits + j`` is leaf ``j``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtsemnet.kernels.jit import kernel

__all__ = ["leaf_logits", "split_gradients", "best_leaves", "walk"]

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]


@kernel
def _row(child: int, n_splits: int) -> int:
    return child if child >= 0 else n_splits + ~child


@kernel
def leaf_logits(scores: Floats, children: Integers, node: Floats) -> None:
    """Write the logits of all leaves behind the partial sums of the splits; the reached leaf gets exactly 0."""
    n_splits, n_samples = scores.shape
    zero = scores.dtype.type(0)
    node[0, :] = zero
    for i in range(n_splits):
        above, score = node[i], scores[i]
        left, right = node[_row(children[i, 0], n_splits)], node[_row(children[i, 1], n_splits)]
        for b in range(n_samples):
            s = score[b]  # compared so that a nan comes through
            left[b] = above[b] - (zero if s <= zero else s)
            right[b] = above[b] + (zero if s >= zero else s)


@kernel
def split_gradients(scores: Floats, children: Integers, node: Floats) -> None:
    """Turn gradients of the leaf logits, in the leaf rows of ``node``, into gradients of ``scores``, in place."""
    n_splits, n_samples = scores.shape
    zero = scores.dtype.type(0)
    for i in range(n_splits - 1, -1, -1):
        above, score = node[i], scores[i]
        left, right = node[_row(children[i, 0], n_splits)], node[_row(children[i, 1], n_splits)]
        for b in range(n_samples):
            below_left, below_right, s = left[b], right[b], score[b]
            above[b] = below_left + below_right
            score[b] = (below_right if s < zero else zero) - (below_left if s > zero else zero)


@kernel
def best_leaves(logit: Floats, best: Floats, index: Integers) -> None:
    """Find the ``len(best)`` leaves of largest logit, in falling order, ties to the lowest leaf number.

    A leaf is inserted where it beats a rank strictly; from there on the ranks
    shift down, so that among equals the earlier leaf stays in front.
    """
    n_leaves, n_samples = logit.shape
    best[:, :] = -np.inf
    index[:, :] = 0
    carried = np.empty(n_samples, logit.dtype)
    number = np.empty(n_samples, index.dtype)
    shifting = np.empty(n_samples, np.bool_)
    for j in range(n_leaves):
        for b in range(n_samples):
            carried[b] = logit[j, b]
            number[b] = j
            shifting[b] = False
        # The first k leaves fill the ranks one by one: -inf has to be beaten by -inf too.
        for r in range(min(j + 1, len(best))):
            value, place, fills = best[r], index[r], j == r
            for b in range(n_samples):
                moves = shifting[b] or carried[b] > value[b] or fills
                old_value, old_place = value[b], place[b]
                value[b] = carried[b] if moves else old_value
                place[b] = number[b] if moves else old_place
                carried[b] = old_value if moves else carried[b]
                number[b] = old_place if moves else number[b]
                shifting[b] = moves


@kernel
def walk(scores: Floats, children: Integers, leaf: Integers) -> None:
    """Walk each sample of ``scores`` (splits x batch) down to the leaf that it reaches."""
    n_splits, n_samples = scores.shape
    for b in range(n_samples):
        at = 0 if n_splits > 0 else -1
        while at >= 0:
            at = children[at, 1] if scores[at, b] > 0 else children[at, 0]
        leaf[b] = ~at
