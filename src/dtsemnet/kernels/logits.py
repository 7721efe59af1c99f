"""Leaf logits forwards and backwards, for a batch laid out as (nodes x batch).

Going down, each node holds minus the margins violated on the way to it; going
up, each node holds the sum of the gradients of the leaves below it. A split
passes to its left child ``-relu(s)``, to its right child ``-relu(-s)``, so

    ds = [s < 0] * (gradients of the right subtree) - [s > 0] * (those of the left)

and one pass over the splits, O(splits) for each sample, gives every gradient.
The inner loops run over the batch, where memory is contiguous and iterations
are independent, so that the compiler vectorises them.

Row ``i < n_splits`` of ``node`` is split ``i``; row ``n_splits + j`` is leaf ``j``.

Where few leaves count, as under max-pool, a deep tree is toured depth first: one
row a level is all that is kept, so that nothing but the scores is read, and the
gradient walks up from the leaves chosen and stops at the margins they violate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtsemnet.kernels.jit import kernel

__all__ = ["Tour", "tour_of", "leaf_logits", "split_gradients", "max_pool", "path_gradients", "best_leaves", "walk"]

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]


class Tour(NamedTuple):
    """The nodes of a tree but the root, depth first from left to right, told by their rows in ``node``."""

    row: Integers
    level: Integers
    above: Integers
    """Of each row, the split above it: ``i`` for its right child, ``~i`` for its left."""


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
def tour_of(children: Integers) -> Tour:
    """Order the nodes of a tree depth first."""
    n_splits = len(children)
    row, level, above = np.empty(2 * n_splits, np.int64), np.zeros(2 * n_splits + 1, np.int64), np.zeros(2 * n_splits + 1, np.int64)
    for i in range(n_splits):
        left, right = _row(children[i, 0], n_splits), _row(children[i, 1], n_splits)
        above[left], above[right] = ~i, i
        level[left] = level[right] = level[i] + 1
    waiting, n_waiting, at = np.empty(n_splits + 1, np.int64), 0, 0
    for k in range(2 * n_splits):
        if at < n_splits:
            waiting[n_waiting] = _row(children[at, 1], n_splits)
            n_waiting += 1
            at = _row(children[at, 0], n_splits)
        else:
            n_waiting -= 1
            at = waiting[n_waiting]
        row[k] = at
    return Tour(row, level, above)


@kernel
def max_pool(scores: Floats, tour: Tour, leaf_class: Integers, pooled: Floats, chosen: Integers) -> None:
    """Write the largest logit among the leaves of each class, and the first leaf that has it; -inf and -1 for none."""
    n_splits, n_samples = scores.shape
    zero = scores.dtype.type(0)
    logit = np.zeros((tour.level.max() + 1, n_samples), scores.dtype)
    pooled[:, :] = -np.inf
    chosen[:, :] = -1
    for row in tour.row:
        l, i = tour.level[row], tour.above[row]
        if i >= 0:
            for b in range(n_samples):
                s = scores[i, b]
                logit[l, b] = logit[l - 1, b] + (zero if s >= zero else s)
        else:
            i = ~i
            for b in range(n_samples):
                s = scores[i, b]
                logit[l, b] = logit[l - 1, b] - (zero if s <= zero else s)
        if row >= n_splits:
            c, number = leaf_class[row - n_splits], chosen.dtype.type(row - n_splits)
            for b in range(n_samples):
                better = logit[l, b] > pooled[c, b]
                pooled[c, b] = logit[l, b] if better else pooled[c, b]
                chosen[c, b] = number if better else chosen[c, b]


@kernel
def path_gradients(scores: Floats, tour: Tour, slope: Floats, chosen: Integers, batch: Floats, gradient: Floats) -> None:
    """Write the gradient by the splits, where only the leaves ``chosen`` (classes x batch) have a slope."""
    n_splits, n_samples = scores.shape
    zero, longest = scores.dtype.type(0), len(slope) * tour.level.max()
    violated, pull = np.empty(longest, np.int64), np.empty(longest, scores.dtype)
    gradient[:, :] = zero
    for b in range(n_samples):
        # Every split met is written down and counted only if violated: a branch here could not be predicted.
        n_violated = 0
        for c in range(len(slope)):
            row, g = n_splits + chosen[c, b] if chosen[c, b] >= 0 else 0, slope[c, b]
            while row > 0:
                i = tour.above[row]
                row = max(i, ~i)
                violated[n_violated] = row
                pull[n_violated] = g if i >= 0 else -g
                n_violated += scores[row, b] < zero if i >= 0 else scores[row, b] > zero
        for k in range(n_violated):
            i, g = violated[k], pull[k]
            for j in range(batch.shape[1]):
                gradient[i, j] += g * batch[b, j]


@kernel
def best_leaves(logit: Floats, best: Floats, index: Integers) -> None:
    """Find the ``len(best)`` leaves of largest logit, in falling order, ties to the lowest leaf number.

    Leaves come from the last to the first, and each goes in front of the first rank that does not beat it: so a
    lower number goes in front of its equals, and what was pushed out goes in front of the next rank.
    """
    n_leaves, n_samples = logit.shape
    best[:, :] = -np.inf
    index[:, :] = 0
    carried, number = np.empty(n_samples, logit.dtype), np.empty(n_samples, index.dtype)
    for j in range(n_leaves - 1, -1, -1):
        for b in range(n_samples):
            carried[b] = logit[j, b]
            number[b] = j
        for r in range(min(n_leaves - j, len(best))):
            for b in range(n_samples):
                value, place = best[r, b], index[r, b]
                moves = carried[b] >= value
                best[r, b] = carried[b] if moves else value
                index[r, b] = number[b] if moves else place
                carried[b] = value if moves else carried[b]
                number[b] = place if moves else number[b]


@kernel
def walk(scores: Floats, children: Integers, leaf: Integers) -> None:
    """Walk each sample of ``scores`` (splits x batch) down to the leaf that it reaches."""
    n_splits, n_samples = scores.shape
    for b in range(n_samples):
        at = 0 if n_splits > 0 else -1
        while at >= 0:
            at = children[at, 1] if scores[at, b] > 0 else children[at, 0]
        leaf[b] = ~at
