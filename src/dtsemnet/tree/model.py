"""A tree with its encoder and its output map.

``model.predict(X) = output(tree.predict(encoder.transform(X)))``. A tree reads finite
numbers in the coordinates of its splits; a model reads the columns that a user has,
categories and missing values included, and answers in the units that the user wants.
A classifier may also hold the numbers of its margin probabilities; without them its
probabilities are the shares of the leaf.

The model file, the exports, the plots, the explorer and the proofs all take a Tree, a Model or a
fitted estimator, and read it by ``Model.of``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.names import shown
from dtsemnet.tree._validate import Scalar, Value, digest
from dtsemnet.tree.columns_summary import ColumnsSummary
from dtsemnet.tree.encoder import Encoder
from dtsemnet.tree.probability import MarginProbability
from dtsemnet.tree.tree import Tree

__all__ = ["Identity", "Model", "Output", "TanhScale"]


@dataclass(frozen=True)
class Identity:
    """The output map that changes nothing.

    Examples
    --------
    >>> Identity()(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def __call__(self, output: Array) -> Array:
        """Return the output unchanged."""
        return output


@dataclass(frozen=True)
class TanhScale:
    """Squash each output into an interval: ``low + (tanh(v) + 1) / 2 * (high - low)``.

    Parameters
    ----------
    low, high : float or sequence of float
        The interval, one entry for each output.

    Examples
    --------
    >>> TanhScale(-2.0, 2.0)(np.array([0.0, 100.0]))
    array([0., 2.])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float]) -> None:
        ends = []
        for name, end in (("low", low), ("high", high)):
            array = np.atleast_1d(np.asarray(end))
            if array.ndim != 1 or array.dtype.kind not in "fiu" or not np.isfinite(array).all() or not array.size:
                raise ValueError(f"{name} must be finite numbers, one for each output, got {shown(end)}.")
            ends.append(tuple(float(number) for number in array))
        if len(ends[0]) != len(ends[1]) or any(a > b for a, b in zip(*ends)):
            raise ValueError(
                f"low and high must have equal lengths and low <= high, got {shown(low)} and {shown(high)}."
            )
        if any(math.isinf(b - a) for a, b in zip(*ends)):
            raise ValueError(f"low and high must differ by a finite number, got {shown(low)} and {shown(high)}.")
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    def __call__(self, output: Floats) -> Floats:
        """Map the output of a regressor, shape (n_samples,) or (n_samples, n_outputs)."""
        low, high = (np.array(end) if output.ndim == 2 else end[0] for end in (self.low, self.high))
        result: Floats = low + (np.tanh(output) + 1.0) / 2.0 * (high - low)
        return result


Output = Identity | TanhScale


@dataclass(frozen=True, eq=False, repr=False)
class Model(Value):
    """Encoder, tree, output map and, for a classifier, margin probabilities.

    Parameters
    ----------
    encoder : Encoder
        Gives as many features as the tree reads.
    tree : Tree
    output : Identity or TanhScale, default=Identity()
        For a classifier always the identity.
    probability : MarginProbability, optional
        How a classifier computes probabilities; None: they are the shares of the leaf.

    Examples
    --------
    >>> from dtsemnet.tree import Column, Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.0]], [-0.5], [[1, 0], [0, 1]], class_names=["cold", "warm"])
    >>> model = Model(Encoder([Column("colour", categories=["red", "blue"])]), tree)
    >>> model
    Model(1 column -> 2 features, Tree(depth 1, 1 split, 2 leaves, 2 features, class leaves: 'cold', 'warm'))
    >>> model.predict(np.array([["red"], ["blue"]]))
    array(['warm', 'cold'], dtype='<U4')
    """

    encoder: Encoder
    tree: Tree
    output: Output = Identity()
    probability: MarginProbability | None = None

    @classmethod
    def of(cls, tree: Any) -> Model:
        """Read a Tree, a Model or a fitted estimator as a Model; a bare tree gets the encoder that changes nothing.

        Examples
        --------
        >>> from dtsemnet.tree import Topology
        >>> Model.of(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]))
        Model(1 column -> 1 feature, Tree(depth 0, 0 splits, 1 leaf, 1 feature, constant leaves))
        """
        content = getattr(tree, "model_", tree)
        if isinstance(content, Tree):
            return cls(Encoder.identity(content.feature_labels), content)
        if not isinstance(content, Model):
            way_out = "fit it first" if hasattr(tree, "fit") else "load a model file by dtsemnet.tree.read"
            raise TypeError(
                f"tree must be a Tree, a Model or a fitted estimator, got {type(tree).__name__}; {way_out}."
            )
        return content

    def __post_init__(self) -> None:
        wanted: list[tuple[str, Any]] = [("encoder", Encoder), ("tree", Tree), ("output", (Identity, TanhScale))]
        wanted.append(("probability", (MarginProbability, type(None))))
        for name, kind in wanted:
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be of the types in Model's docstring, got {shown(getattr(self, name))}.")
        if self.encoder.n_features != self.tree.n_features:
            raise ValueError(
                f"encoder gives {self.encoder.n_features} features, but the tree reads {self.tree.n_features}."
            )
        self._check_names()
        if isinstance(self.output, TanhScale):
            if self.tree.is_classifier:
                raise ValueError("output must be Identity() for a classifier, got TanhScale.")
            if len(self.output.low) != self.tree.n_outputs:
                raise ValueError(f"output maps {len(self.output.low)} outputs, but the tree has {self.tree.n_outputs}.")
        if self.probability is not None and not self.tree.is_classifier:
            raise ValueError("probability must be None for a regressor, got MarginProbability.")

    def _check_names(self) -> None:
        """Refuse a tree that calls its features by names that the encoder gives to others."""
        given, known = self.encoder.feature_names, self.tree.feature_names
        if known is None or known == given:
            return
        position = {name: k for k, name in enumerate(given)}
        for k, name in enumerate(known):
            if position.get(name, k) != k:
                raise ValueError(
                    f"encoder gives {shown(name)} as feature {position[name]}, but the tree calls feature {k} so; "
                    "order the columns as the tree reads them."
                )

    @property
    def is_classifier(self) -> bool:
        """Whether the model predicts classes."""
        return self.tree.is_classifier

    @property
    def class_names(self) -> tuple[Scalar, ...] | None:
        """Labels of the classes, None for a regressor."""
        return self.tree.class_names

    @property
    def feature_labels(self) -> tuple[str, ...]:
        """The features that the tree reads, in words."""
        return tuple(feature.label for feature in self.encoder.features)

    def columns_summary(self) -> ColumnsSummary:
        """Say how each column is read: as a number or as categories, and what is done with missing values.

        Examples
        --------
        >>> from dtsemnet.tree import Column, Topology
        >>> tree = Tree(Topology.complete(1), [[1.0, 0.0]], [-0.5], [[1, 0], [0, 1]], class_names=["cold", "warm"])
        >>> Model(Encoder([Column("colour", categories=["red", "blue"])]), tree).columns_summary()
        column  read as                   missing values
        colour  2 categories (red, blue)  count as none of them
        """
        return ColumnsSummary.of(self.encoder)

    def class_codes(self, y: Any, *, allow_unknown: bool = False) -> Ints:
        """Number the labels of rows as the tree numbers its classes.

        Parameters
        ----------
        y : array_like of shape (n_samples,) or (n_samples, 1)
        allow_unknown : bool, default=False
            Give -1 for a label that is none of the classes, instead of an error.

        Examples
        --------
        >>> from dtsemnet.tree import Topology
        >>> model = Model.of(Tree(Topology([]), np.empty((0, 1)), [], [[0.5, 0.5]], class_names=["cold", "warm"]))
        >>> model.class_codes(["warm", "cold"]), model.class_codes(["hot"], allow_unknown=True)
        (array([1, 0]), array([-1]))
        """
        if self.class_names is None:
            raise TypeError("class_codes needs a classifier, but this model predicts numbers.")
        labels = np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise ValueError(f"y must have shape (n_samples,), one class per row, got {labels.shape}.")
        code_of = {name: code for code, name in enumerate(self.class_names)}
        codes = np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        if not allow_unknown and (codes < 0).any():
            unknown = labels[codes < 0].tolist()[0]
            known = ", ".join(map(shown, self.class_names[:10]))
            raise ValueError(f"y holds {shown(unknown)}, which is none of the classes [{known}].")
        return codes

    def transform(self, X: Any) -> Array:
        """Encode rows: the numbers that the tree reads."""
        return self.encoder.transform(X)

    def apply(self, X: Any, *, n_threads: int = 1) -> Ints:
        """Find the leaf of each row; threads share many rows."""
        return self.tree.apply(self.transform(X), n_threads=n_threads)

    def scores(self, X: Any) -> Floats:
        """Compute the scores of all splits."""
        return self.tree.scores(self.transform(X))

    def decision_path(self, X: Any) -> Ints:
        """List the splits that each row reaches."""
        return self.tree.decision_path(self.transform(X))

    def predict(self, X: Any, *, n_threads: int = 1) -> Array:
        """Predict labels or numbers; threads share many rows."""
        return self.output(self.tree.predict(self.transform(X), n_threads=n_threads))

    def predict_proba(self, X: Any) -> Floats:
        """Give class probabilities: the shares of the leaf, or with ``probability`` those weighed by margins."""
        rows = self.transform(X)
        if self.probability is None or not self.is_classifier:
            return self.tree.predict_proba(rows)
        return self.probability(self.tree, rows)

    def fingerprint(self) -> str:
        """Hash the content."""
        parts = [self.encoder.fingerprint(), self.tree.fingerprint(), repr(self.output)]
        return digest(parts if self.probability is None else [*parts, repr(self.probability)])

    def save(self, path: str | PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        """Write the model file (JSON); ``about`` is free metadata. See :mod:`dtsemnet.tree.file`."""
        from dtsemnet.tree import file  # the file module knows models, so it cannot be imported above

        file.save(self, path, about=about)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Model:
        """Read a model file; a bare tree gets the encoder that changes nothing."""
        from dtsemnet.tree import file

        return cls.of(file.read(path))

    def __repr__(self) -> str:
        columns, features = self.encoder.n_columns, self.encoder.n_features
        map_ = "" if isinstance(self.output, Identity) else f", {self.output!r}"
        probability = "" if self.probability is None else f", {self.probability!r}"
        return (
            f"Model({columns} column{'s' * (columns != 1)} -> {features} feature{'s' * (features != 1)}, "
            f"{self.tree!r}{map_}{probability})"
        )

    def _repr_html_(self) -> str | None:
        """Draw the tree and list the columns, for notebooks; None if it cannot be written in their units."""
        from dtsemnet.tree.in_notebook import model_html  # knows models, so it cannot be imported above

        try:
            return model_html(self)
        except ValueError:
            return None
