"""scikit-learn's decision trees as trees of ours, exactly.

scikit-learn rounds inputs to float32 and goes left if ``float32(x) <= threshold``,
a float64. Rounding is monotone, so that is ``x <= T`` with ``T`` the largest double
that rounds (to nearest, ties to even) to a float32 not above the threshold. A split
here has a unit vector as weight and ``-T`` as bias: ``x - T > 0`` in floating point
is exactly ``x > T``, since subtraction of doubles never rounds a difference to zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Bools, Floats
from dtsemnet.tree.edits import number
from dtsemnet.tree.tree import Tree

__all__ = ["from_sklearn"]


def from_sklearn(fitted: Any) -> Tree:
    """Convert a fitted ``DecisionTreeClassifier`` or ``DecisionTreeRegressor`` (or an ``ExtraTree*``).

    Parameters
    ----------
    fitted : estimator
        A fitted decision tree. Refused are classifiers with several outputs and trees fitted with missing values.

    Returns
    -------
    Tree
        Predicts what ``fitted`` predicts, for float32 and float64 rows.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from_sklearn(DecisionTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]))
    Tree(depth 1, 1 split, 2 leaves, 1 feature, constant leaves)
    """
    name = type(fitted).__name__
    nodes = getattr(fitted, "tree_", None)
    if nodes is None:
        if hasattr(fitted, "fit") and "Tree" in name:
            raise ValueError(f"fitted must be a fitted decision tree, got an unfitted {name}; call fit first.")
        raise TypeError(f"fitted must be a DecisionTreeClassifier or DecisionTreeRegressor, got {name}.")
    is_classifier = hasattr(fitted, "classes_")
    if is_classifier and nodes.n_outputs > 1:
        raise ValueError(
            f"fitted has {nodes.n_outputs} outputs with classes of their own; convert one tree per output."
        )
    inner = nodes.children_left >= 0
    _refuse_missing(nodes, inner)

    # Numbers as in an edit: k >= 0 is a split, ~k a leaf, each in the order of scikit-learn's nodes.
    reference = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1))
    children = reference[np.stack([nodes.children_left, nodes.children_right], axis=1)[inner]]
    topology, splits, leaves = number(children, int(reference[0]))
    weight = np.zeros((len(splits), nodes.n_features))
    weight[np.arange(len(splits)), nodes.feature[inner][splits]] = 1.0
    value = nodes.value[~inner][leaves]
    names = getattr(fitted, "feature_names_in_", None)
    return Tree(
        topology,
        weight,
        -_last_left(nodes.threshold[inner][splits]),
        _probabilities(value[:, 0]) if is_classifier else value[:, :, 0],
        feature_names=None if names is None else [str(column) for column in names],
        class_names=fitted.classes_.tolist() if is_classifier else None,
    )


def _last_left(threshold: Floats) -> Floats:
    """Find the largest double that rounds to a float32 <= threshold."""
    below = threshold.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):  # numpy reports steps into infinity and into subnormals
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    # Behind the largest float32, rounding continues as if 2 ** 128 were the next one.
    above = np.where(np.isinf(above), 2.0**128, above)
    middle = (below.astype(np.float64) + above) / 2
    # The middle itself rounds to the neighbour with the even last bit.
    odd = (below.view(np.uint32) & 1).astype(bool)
    return np.where(odd, np.nextafter(middle, -np.inf), middle)


def _refuse_missing(nodes: Any, inner: Bools) -> None:
    """Raise if a split was chosen while the training rows held missing values.

    A split that saw none sends later ones to its larger child; any other choice, or a threshold of infinity
    (missing against the rest), was learned from missing values. If such a tree happens to follow the rule
    everywhere, its answers on complete rows are still exact.
    """
    left, right = nodes.children_left[inner], nodes.children_right[inner]
    larger_left = nodes.n_node_samples[left] > nodes.n_node_samples[right]
    learned = nodes.missing_go_to_left[inner].astype(bool) != larger_left
    if learned.any() or np.isinf(nodes.threshold[inner]).any():
        raise ValueError("fitted was trained with missing values, which a Tree does not read; impute them and refit.")


def _probabilities(value: Floats) -> Floats:
    """Divide counts by their sum; what sums to 1 already is kept bit for bit."""
    total = value.sum(axis=1, keepdims=True)
    return np.where(np.abs(total - 1) <= 1e-9, value, value / total)
