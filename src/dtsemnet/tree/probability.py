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

A class that no leaf predicts has the largest margin of the others. With the leaf's factors as
logarithms relative to that of its class, which depend on the leaf alone (:meth:`MarginProbability.leaf_logs`),

    p_c  is proportional to  exp(max(leaf_log[leaf, c] - rate * m_c, -700))

The exponent is 0 for the class predicted and no larger for the others, and no probability is 0.
Exports repeat this line. Exponents and margins come out alike everywhere, ``exp`` to its last digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.kernels.logits import class_margins
from dtsemnet.names import shown
from dtsemnet.tree._validate import real

if TYPE_CHECKING:
    from dtsemnet.tree.tree import Tree

__all__ = ["LARGEST_EXPONENT", "MarginProbability", "margins"]

LARGEST_EXPONENT = 700.0
"""Exponents stop at minus this: ``exp`` of it is about 1e-304."""


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
            if isinstance(given, bool) or not isinstance(given, Real):
                raise TypeError(f"{name} must be a number, got {shown(given)}.")
            number = real(given)
            if number is None or not 0 <= number <= high or not math.isfinite(number):
                raise ValueError(f"{name} must be finite and from 0 to {high}, got {shown(given)}.")
            object.__setattr__(self, name, number)

    def __call__(self, tree: Tree, rows: Array) -> Floats:
        """Probabilities of the classes for encoded rows, shape (n_samples, n_classes).

        All splits count, so a row is refused if any score overflows both ways, also off its path.
        """
        return self.of(margins(tree, rows), self.leaf_logs(tree)[tree.apply(rows)])

    def leaf_logs(self, tree: Tree, unit: float = 2.0**-53) -> Floats:
        """Compute ``power * log(factor of class c / factor of the leaf's class)``: (n_leaves, n_classes), 0 at most.

        Classes before that of the leaf stay below it by a few units of rounding, so that the class predicted is the
        first of the largest also if the factors are equal and the row lies on a hyperplane.

        Parameters
        ----------
        tree : Tree
        unit : float, default=2**-53
            Unit roundoff of the arithmetic that reads the table.
        """
        share = (1 - self.floor) * tree.value + self.floor / tree.n_outputs
        with np.errstate(divide="ignore", over="ignore"):
            logs = np.log(share)
            logs -= np.take_along_axis(logs, tree.leaf_class[:, None], axis=1)
            logs = np.maximum(self.power * np.maximum(logs, -LARGEST_EXPONENT), -LARGEST_EXPONENT)
        before = np.arange(tree.n_outputs) < tree.leaf_class[:, None]
        return np.minimum(logs, np.where(before, -8 * unit, 0.0))

    def exponents(self, margin: Floats, leaf_log: Floats) -> Floats:
        """Logarithms of the unnormalised probabilities from margins and rows of :meth:`leaf_logs`."""
        if self.rate == 0:  # a margin may be infinite
            return leaf_log
        with np.errstate(over="ignore"):
            return np.maximum(leaf_log - self.rate * margin, -LARGEST_EXPONENT)

    def of(self, margin: Floats, leaf_log: Floats) -> Floats:
        """Probabilities from margins and rows of :meth:`leaf_logs`, (n_samples, n_classes) each."""
        chance = np.exp(self.exponents(margin, leaf_log))
        chance /= chance.sum(axis=1, keepdims=True)
        return chance


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
