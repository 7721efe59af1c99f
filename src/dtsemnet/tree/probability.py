"""Margin probabilities: how sure a classifier is, read off its network.

The share ``q_c`` of a class in the leaf that a row reaches is the same for all rows of that
leaf. The network knows more: its pooled logit of class ``c`` is minus the least sum of margins
``m_c`` that must turn before the row reaches a leaf of ``c``; it is 0 for the class that is
predicted. Together,

    p_c  is proportional to  exp(-rate * m_c) * ((1 - floor) * q_c + floor / n_classes) ** power

Three numbers, ``rate`` and ``power`` of at least 0 and ``floor`` between 0 and 1, are fitted to
rows that the tree was not trained on (:mod:`dtsemnet.fit.calibration`). No factor is larger for
another class than for the class that is predicted, so the most probable class is always the
class predicted. For a tree with one split this is Platt's sigmoid.

A class that no leaf predicts has the largest margin of the others. Exponents stop at -700, so no
probability is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.kernels.logits import class_margins

if TYPE_CHECKING:
    from dtsemnet.tree.tree import Tree

__all__ = ["LARGEST_EXPONENT", "MarginProbability", "margins"]

LARGEST_EXPONENT = 700.0
"""``exp`` of minus this is the smallest factor of a margin: about 1e-304."""


@dataclass(frozen=True)
class MarginProbability:
    """The three numbers of the formula above.

    Parameters
    ----------
    rate : float
        How fast the probability of a class falls with its margin; at least 0.
    power : float, default=1.0
        Weight of the shares of the leaf; at least 0.
    floor : float, default=0.0
        Part of the shares that is spread evenly over all classes; from 0 to 1.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> line = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.8, 0.2], [0.2, 0.8]], class_names=["no", "yes"])
    >>> MarginProbability(rate=1.0)(line, np.array([[0.0], [1.0], [3.0]])).round(3)
    array([[0.8  , 0.2  ],
           [0.084, 0.916],
           [0.012, 0.988]])
    """

    rate: float
    power: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        for name, high in (("rate", math.inf), ("power", math.inf), ("floor", 1.0)):
            given: Any = getattr(self, name)
            if isinstance(given, (bool, str)) or not isinstance(given, (int, float, np.number)):
                raise TypeError(f"{name} must be a number, got {given!r}.")
            if not 0 <= given <= high or not math.isfinite(given):
                raise ValueError(f"{name} must be finite and from 0 to {high}, got {given!r}.")
            object.__setattr__(self, name, float(given))

    def __call__(self, tree: Tree, rows: Array) -> Floats:
        """Probabilities of the classes for encoded rows, shape (n_samples, n_classes)."""
        leaf = tree.apply(rows)
        return self.of(margins(tree, rows), self.leaf_logs(tree)[leaf], tree.leaf_class[leaf])

    def leaf_logs(self, tree: Tree) -> Floats:
        """The logarithm of the leaf's factor, ``power * log((1 - floor) q_c + floor / K)``: (n_leaves, n_classes)."""
        share = (1 - self.floor) * tree.value + self.floor / tree.n_outputs
        with np.errstate(divide="ignore"):
            return self.power * np.maximum(np.log(share), -LARGEST_EXPONENT)

    def of(self, margin: Floats, leaf_log: Floats, leaf_class: Array) -> Floats:
        """Probabilities from margins and factors of leaves, (n_samples, n_classes) each, and the class predicted."""
        with np.errstate(over="ignore"):  # a margin beyond all numbers has the largest exponent
            exponent = leaf_log - np.minimum(self.rate * margin, LARGEST_EXPONENT)
        chance = np.exp(np.maximum(exponent - exponent.max(axis=1, keepdims=True), -LARGEST_EXPONENT))
        chance /= chance.sum(axis=1, keepdims=True)
        # Rounding may make two classes equal on a hyperplane: the one predicted stays the first of the largest.
        top = np.take_along_axis(chance, leaf_class[:, None], axis=1)
        before = np.arange(chance.shape[1]) < leaf_class[:, None]
        return np.minimum(chance, np.where(before, np.nextafter(top, 0), top))


def margins(tree: Tree, rows: Array) -> Floats:
    """Least sum of margins that must turn before a row is in each class, shape (n_samples, n_classes).

    It is 0 for the class predicted. A class that no leaf predicts has the largest margin of the others.
    """
    margin = class_margins(tree.scores(rows), tree.topology.children, tree.leaf_class, tree.n_outputs)
    held = np.zeros(tree.n_outputs, bool)
    held[tree.leaf_class] = True
    if not held.all():
        margin[:, ~held] = margin[:, held].max(axis=1, keepdims=True)
    return margin
