"""ANT: adaptive neural trees, whose nodes are networks and whose shape is grown.

Tanno, Arulkumaran, Alexander, Criminisi and Nori, "Adaptive neural trees", ICML 2019.
Routers are linear, transformers one layer of ReLUs, solvers linear, as small as the
published ones for tables of numbers. An ANT is no hard oblique tree: it has no
:class:`~dtsemnet.Tree`, no export and no proof. ``hard=True`` predicts by the single most
probable path (ANT-Hard), ``hard=False`` by all paths (ANT-Soft); both read one network.

Needs torch: ``pip install dtsemnet[torch]``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dtsemnet.arrays import Array, Floats

__all__ = ["ANTClassifier", "ANTRegressor"]


class _ANT(BaseEstimator):  # type: ignore[misc]
    """What both tasks share."""

    n_features_in_: int

    def __init__(
        self,
        *,
        hard: bool = True,
        max_depth: int = 10,
        width: int | None = None,
        growth_epochs: int = 30,
        refinement_epochs: int = 100,
        patience: int = 10,
        batch_size: int = 256,
        learning_rate: float = 0.01,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.hard = hard
        self.max_depth = max_depth
        self.width = width
        self.growth_epochs = growth_epochs
        self.refinement_epochs = refinement_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _fit_network(self, X: Floats, y: Any, judges: tuple[Any, Any], n_outputs: int, *, classes: bool) -> None:
        torch, network = _require_torch()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._center, spread = X.mean(axis=0), X.std(axis=0)
        self._factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        if judges[0] is None:
            stratify = y if classes and np.bincount(y).min() > 1 else None
            X, X_val, y, y_val = train_test_split(
                X, y, test_size=self.validation_fraction, random_state=seed, stratify=stratify
            )
        else:
            X_val, y_val = validate_data(self, judges[0], reset=False, dtype=np.float64), judges[1]
        train, judge = (network.Part(self._tensor(a), _targets(b, classes)) for a, b in ((X, y), (X_val, y_val)))
        budget = network.Budget(
            self.max_depth, self.growth_epochs, self.refinement_epochs, self.patience, self.batch_size,
            self.learning_rate,
        )  # fmt: skip
        rng = np.random.default_rng(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network_ = network.AdaptiveTree(X.shape[1], n_outputs, classes)
            network.grow(self.network_, train, judge, budget, self.width or X.shape[1], rng)
            network.refine(self.network_, train, judge, budget, rng)
        self.n_leaves_ = sum(1 for _ in self.network_.leaves())
        self.depth_ = max(leaf.depth for leaf in self.network_.leaves())

    def _tensor(self, X: Floats) -> Any:
        torch, _ = _require_torch()
        return torch.from_numpy(((X - self._center) * self._factor).astype(np.float32))

    def _outputs(self, X: Any, hard: bool | None) -> Floats:
        torch, _ = _require_torch()
        check_is_fitted(self, "network_")
        rows = self._tensor(validate_data(self, X, reset=False, dtype=np.float64))
        hard = self.hard if hard is None else hard
        with torch.no_grad():
            outputs: Floats = (self.network_.walk(rows) if hard else self.network_(rows)).numpy().astype(np.float64)
        return outputs


class ANTClassifier(ClassifierMixin, _ANT):  # type: ignore[misc]
    """Adaptive neural tree for classes.

    Parameters
    ----------
    hard : bool, default=True
        Predict by the most probable path (ANT-Hard), else by all paths (ANT-Soft).
    max_depth : int, default=10
        Largest number of routers and transformers on a path. Growth usually ends earlier, when no change lowers the
        validation loss by a thousandth.
    width : int, optional
        Features that a transformer makes; by default as many as X has.
    growth_epochs, refinement_epochs : int, default=30, 100
        The training budget: epochs of each change tried, and of all modules together at the end.
    patience : int, default=10
        Epochs without a lower validation loss after which either stops.
    batch_size : int, default=256
        At most a sixteenth of the rows.
    learning_rate : float, default=0.01
        Step size of Adam, which falls to 0 along a cosine.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to judge changes if ``X_val`` is not given.
    random_state : int, RandomState instance, optional

    Attributes
    ----------
    network_ : torch.nn.Module
    n_leaves_, depth_ : int
    classes_ : ndarray
    n_features_in_ : int

    Notes
    -----
    The published networks for images have convolutions, which are left out here. The table ``ant`` of the benchmarks
    puts it beside the published figures; see ``docs/baselines.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = ANTClassifier(max_depth=1, growth_epochs=10, refinement_epochs=10, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    classes_: Array

    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None) -> Self:
        """Grow and refine a tree; validation rows, given or set aside, judge every change."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        judges: tuple[Any, Any] = (None, None)
        if X_val is not None:
            unknown = np.setdiff1d(y_val, self.classes_)
            if len(unknown):
                raise ValueError(f"y_val holds {unknown[0]!r}, which is none of the classes {self.classes_.tolist()}.")
            judges = X_val, np.searchsorted(self.classes_, y_val)
        self._fit_network(X, codes, judges, len(self.classes_), classes=True)
        return self

    def predict_proba(self, X: Any, *, hard: bool | None = None) -> Floats:
        """Class probabilities, by one path or by all (by default as ``hard`` says)."""
        return self._outputs(X, hard)

    def predict(self, X: Any, *, hard: bool | None = None) -> Array:
        """Most probable class."""
        return self.classes_[self.predict_proba(X, hard=hard).argmax(axis=1)]


class ANTRegressor(RegressorMixin, _ANT):  # type: ignore[misc]
    """Adaptive neural tree for numbers.

    Parameters and attributes are those of :class:`ANTClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = ANTRegressor(max_depth=1, growth_epochs=10, refinement_epochs=10, random_state=0).fit(X, y)
    >>> regressor.score(X, y) > 0.4
    True
    """

    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None) -> Self:
        """Grow and refine a tree; validation rows, given or set aside, judge every change."""
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self._y_center, spread = y.mean(axis=0), y.std(axis=0)
        self._y_scale = np.where(spread > 0, spread, 1.0)
        judges: tuple[Any, Any] = (None, None)
        if X_val is not None:
            judges = X_val, (np.asarray(y_val).reshape(-1, y.shape[1]) - self._y_center) / self._y_scale
        self._fit_network(X, (y - self._y_center) / self._y_scale, judges, y.shape[1], classes=False)
        return self

    def predict(self, X: Any, *, hard: bool | None = None) -> Floats:
        """Outputs, by one path or by all (by default as ``hard`` says)."""
        output = self._outputs(X, hard) * self._y_scale + self._y_center
        return output[:, 0] if output.shape[1] == 1 else output


def _targets(y: Any, classes: bool) -> Any:
    torch, _ = _require_torch()
    return torch.from_numpy(np.asarray(y, dtype=np.int64 if classes else np.float32))


def _require_torch() -> tuple[Any, Any]:
    try:
        import torch
    except ImportError:
        raise ImportError("ANT needs torch, which is not installed; pip install dtsemnet[torch].") from None
    from dtsemnet_paper.baselines.ant import network

    return torch, network
