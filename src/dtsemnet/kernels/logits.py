"""Leaf logits, their gradients, and the leaves they lead to, for a batch laid out as (nodes x batch).

In the pass down, each node holds minus the margins violated on the way to it; in
the pass up, each node holds the sum of the gradients of the leaves below it. A
split adds ``-relu(s)`` to its left child and ``-relu(-s)`` to its right child, so

    ds = [s < 0] * (gradients of the right subtree) - [s > 0] * (those of the left)

and one pass over the splits, O(splits) for each sample, gives every gradient.
The inner loops run over the batch, where memory is contiguous and iterations
are independent, so that the compiler vectorises them. Loops that read and write
several rows are functions of their own; otherwise it does not.

Row ``i < n_splits`` of ``node`` is split ``i``; row ``n_splits + j`` is leaf ``j``.

If few leaves have a gradient, as with max-pool, the pass up can walk their paths
alone, and add nothing but the rows of violated margins.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import plain
from dtsemnet.kernels.kernel import kernel, kernel_until
from dtsemnet.kernels.rows import BLOCK, gather_features

__all__ = [
    "best_leaves",
    "child_row",
    "choices",
    "class_margins",
    "leaf_logits",
    "parents",
    "path_gradients",
    "reached",
    "split_gradients",
    "walk",
]


@kernel
def child_row(child: int, n_splits: int) -> int:
    """Row of ``node`` that belongs to an entry of ``children``: a split ``child``, or the leaf ``~child``."""
    return child if child >= 0 else n_splits + ~child


@kernel
def leaf_logits(scores: Floats, children: Ints, node: Floats) -> None:
    """Write the partial sums of the splits into ``node``, then the logits of all leaves; the leaf reached has 0."""
    n_splits = len(scores)
    node[0, :] = 0
    for i in range(n_splits):
        left, right = node[child_row(children[i, 0], n_splits)], node[child_row(children[i, 1], n_splits)]
        _pass_down(node[i], scores[i], left, right)


@kernel
def _pass_down(above: Floats, score: Floats, left: Floats, right: Floats) -> None:
    zero = score.dtype.type(0)
    for b in range(len(score)):
        s = score[b]  # compared so that a nan comes through
        left[b] = above[b] - (zero if s <= zero else s)
        right[b] = above[b] + (zero if s >= zero else s)


@kernel
def split_gradients(scores: Floats, children: Ints, node: Floats) -> None:
    """Turn gradients of the leaf logits, in the leaf rows of ``node``, into gradients of ``scores``, in place."""
    n_splits = len(scores)
    for i in range(n_splits - 1, -1, -1):
        left, right = node[child_row(children[i, 0], n_splits)], node[child_row(children[i, 1], n_splits)]
        _pass_up(node[i], scores[i], left, right)


@kernel
def _pass_up(above: Floats, score: Floats, left: Floats, right: Floats) -> None:
    zero = score.dtype.type(0)
    for b in range(len(score)):
        below_left, below_right, s = left[b], right[b], score[b]
        above[b] = below_left + below_right
        score[b] = (below_right if s < zero else zero) - (below_left if s > zero else zero)


@kernel
def parents(children: Ints) -> tuple[Ints, int]:
    """Find the split above each row of ``node``, ``i`` for its right child and ``~i`` for its left, and the depth."""
    n_splits = len(children)
    above, level = np.zeros(2 * n_splits + 1, np.int64), np.zeros(2 * n_splits + 1, np.int64)
    for i in range(n_splits):
        left, right = child_row(children[i, 0], n_splits), child_row(children[i, 1], n_splits)
        above[left], above[right] = ~i, i
        level[left] = level[right] = level[i] + 1
    return above, level.max()


@kernel
def path_gradients(
    scores: Floats, above: Ints, depth: int, slope: Floats, chosen: Ints, batch: Floats, gradient: Floats
) -> None:
    """Write the gradient by the splits if only the leaves ``chosen`` (classes x batch) have a gradient, ``slope``."""
    n_splits, n_samples = scores.shape
    zero = scores.dtype.type(0)
    violated, pull = np.empty(len(slope) * depth, np.int64), np.empty(len(slope) * depth, scores.dtype)
    gradient[:, :] = zero
    for b in range(n_samples):
        # Every split on the path is written down, and counted only if violated: a branch here could not be predicted.
        n_violated = 0
        for c in range(len(slope)):
            row, g = n_splits + chosen[c, b] if chosen[c, b] >= 0 else 0, slope[c, b]
            while row > 0:
                i = above[row]
                row = max(i, ~i)
                violated[n_violated] = row
                pull[n_violated] = g if i >= 0 else -g
                n_violated += scores[row, b] < zero if i >= 0 else scores[row, b] > zero
        for k in range(n_violated):
            i, g = violated[k], pull[k]
            for j in range(batch.shape[1]):
                gradient[i, j] += g * batch[b, j]


@kernel
def best_leaves(logit: Floats, best: Floats, index: Ints) -> None:
    """Find the ``len(best)`` leaves of largest logit, in falling order, ties to the lowest leaf number.

    Leaves are inserted from the last to the first, each before the first rank that does not have a larger logit: so a
    lower number comes before its equals, and the leaf that was pushed out is inserted at the next rank.
    """
    n_leaves, n_samples = logit.shape
    best[:, :] = -np.inf
    index[:, :] = 0
    carried, leaf = np.empty(n_samples, logit.dtype), np.empty(n_samples, index.dtype)
    for j in range(n_leaves - 1, -1, -1):
        for b in range(n_samples):
            carried[b] = logit[j, b]
            leaf[b] = j
        for r in range(min(n_leaves - j, len(best))):
            for b in range(n_samples):
                value, ranked = best[r, b], index[r, b]
                moves = carried[b] >= value
                best[r, b] = carried[b] if moves else value
                index[r, b] = leaf[b] if moves else ranked
                carried[b] = value if moves else carried[b]
                leaf[b] = ranked if moves else leaf[b]


@kernel
def walk(scores: Floats, children: Ints, leaf: Ints) -> None:
    """Walk each sample of ``scores`` (splits x batch) down to the leaf that it reaches."""
    n_splits, n_samples = scores.shape
    for b in range(n_samples):
        at = 0 if n_splits > 0 else -1
        while at >= 0:
            at = children[at, 1] if scores[at, b] > 0 else children[at, 0]
        leaf[b] = ~at


@kernel
def reached(X: Floats, splits: Floats, children: Ints) -> Ints:
    """Find the leaf that each row of ``X`` reaches; ``splits`` has the bias in its last column."""
    leaf, batch = np.empty(len(X), np.int64), np.empty((BLOCK, X.shape[1] + 1), X.dtype)
    for start in range(0, len(X), BLOCK):
        size = min(BLOCK, len(X) - start)
        gather_features(X, np.arange(start, start + size), batch)
        walk(np.dot(splits, batch[:size].T), children, leaf[start : start + size])
    return leaf


@kernel
def _block_logits(scores: Floats, children: Ints, start: int, size: int) -> Floats:
    """Compute the logits of the leaves, (leaves x size), for the rows of ``scores`` (rows x splits) from ``start``."""
    n_splits = scores.shape[1]
    block, node = np.empty((n_splits, size), scores.dtype), np.empty((2 * n_splits + 1, size), scores.dtype)
    for b in range(size):
        for i in range(n_splits):
            block[i, b] = scores[start + b, i]
    leaf_logits(block, children, node)
    return node[n_splits:]


@kernel_until(plain.class_margins)
def class_margins(scores: Floats, children: Ints, leaf_class: Ints, n_classes: int) -> Floats:
    """Compute minus the largest logit among the leaves of each class: (rows, n_classes), infinite without a leaf."""
    n_samples = len(scores)
    margin = np.full((n_samples, n_classes), np.inf)
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        logit = _block_logits(scores, children, start, size)
        for j in range(len(logit)):
            for b in range(size):
                margin[start + b, leaf_class[j]] = min(margin[start + b, leaf_class[j]], -logit[j, b])
    return margin


@kernel
def choices(scores: Floats, children: Ints, n_choices: int) -> Ints:
    """Find the leaves of largest logit for each row of ``scores`` (rows x splits), best first: (rows, n_choices)."""
    n_samples = len(scores)
    chosen = np.empty((n_samples, n_choices), np.int64)
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        logit = _block_logits(scores, children, start, size)
        best, index = np.empty((n_choices, size), scores.dtype), np.empty((n_choices, size), np.int64)
        best_leaves(logit, best, index)
        for b in range(size):
            for r in range(n_choices):
                chosen[start + b, r] = index[r, b]
    return chosen
