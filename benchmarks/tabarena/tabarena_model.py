"""DTSemNet as a model of AutoGluon, which is how TabArena runs methods: bagged, tuned, beside all others.

The class follows ``autogluon.core.models.AbstractModel`` (AutoGluon 1.6). Tables go to the tree as they are: categories
and missing values are its business, and AutoGluon's own preparation stays out of it. A time limit ends trainings
through scikit-learn's callbacks (1.9); the best tree so far is fitted to its leaves and kept.

TabArena pickles models for its own caches, so this module must be importable by name where experiments run.
"""

from __future__ import annotations

import time
from typing import Any

from autogluon.core.models import AbstractModel

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

__all__ = ["SHARE_OF_TIME", "DTSemNetModel", "TimeLimit", "search_space"]

SHARE_OF_TIME = 0.8
"""Trainings end after this share of the time limit; the rest is for leaves, probabilities and checks."""


class TimeLimit:
    """A callback of scikit-learn that ends every training after a number of seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.end = seconds, float("inf")

    def setup(self, estimator: Any, context: Any) -> None:
        """Start the clock."""
        self.end = time.monotonic() + self.seconds

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing is left open."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to do."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Ask for the end if the time is over."""
        return time.monotonic() > self.end


class DTSemNetModel(AbstractModel):
    """One oblique decision tree."""

    ag_key = "DTSEMNET"
    ag_name = "DTSemNet"
    ag_priority = 30
    seed_name = "random_state"
    _supported_problem_types = ("binary", "multiclass", "regression")
    _default_auxiliary_params_extra = {"valid_raw_types": ["bool", "int", "float", "category"]}  # noqa: RUF012

    def _fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        time_limit: float | None = None,
        sample_weight: Any = None,
        num_cpus: int | str = 1,
        **kwargs: Any,
    ) -> None:
        X = self.preprocess(X, y=y, is_train=True)
        parameters = {"n_jobs": num_cpus if isinstance(num_cpus, int) else None} | self._get_model_params()
        kind = DTSemNetRegressor if self.problem_type == "regression" else DTSemNetClassifier
        self.model = kind(**parameters)
        if time_limit is not None and hasattr(self.model, "set_callbacks"):
            self.model.set_callbacks(TimeLimit(SHARE_OF_TIME * time_limit))
        # The validation rows of a fold score the bag: what judges the plans is cut from the training rows.
        self.model.fit(X, y, sample_weight=sample_weight)
        if hasattr(self.model, "set_callbacks"):
            self.model.set_callbacks()

    def _more_tags(self) -> dict[str, bool]:
        """It can be fitted again to all rows."""
        return {"can_refit_full": True}

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: Any, **kwargs: Any) -> int:
        """Bytes: the program, and the features in float32 and float64 with what the leaves need beside them."""
        features = sum(X[column].nunique() if str(X[column].dtype) == "category" else 2 for column in X.columns)
        return int(400e6 + 40 * len(X) * features)

    def _estimate_memory_usage(self, X: Any, **kwargs: Any) -> int:
        return self._estimate_memory_usage_static(X=X, **kwargs)


def search_space() -> dict[str, Any]:
    """What TabArena tunes: sizes and penalties; the shape of the tree is found by the fit itself."""
    from autogluon.common.space import Categorical, Real

    return {
        "max_depth": Categorical(None, 2, 3, 4, 6, 8),
        "l1": Real(1e-6, 1e-2, default=1e-4, log=True),
        "weight_decay": Real(1e-6, 1e-1, default=1e-3, log=True),
        "min_samples_leaf": Categorical(1, 5, 20),
        "ccp_alpha": Real(1e-6, 1e-2, default=1e-4, log=True),
    }
