"""An estimator in a model file, and back.

The file holds the model (encoder and tree); its ``about`` block holds what only
the estimator needs: class, parameters, column names, importances, versions and
a summary of training. Parameters that JSON cannot hold are left at their
defaults when the estimator comes back.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeVar

import numpy as np

from dtsemnet.training import History
from dtsemnet.tree import Identity, Model, load_document
from dtsemnet.versions import versions

__all__ = ["describe", "restore"]

E = TypeVar("E")


def describe(estimator: Any) -> dict[str, Any]:
    """Lay out the ``about`` block."""
    names = getattr(estimator, "feature_names_in_", None)
    history: History = estimator.history_
    return {
        "estimator": type(estimator).__name__,
        "parameters": {k: v for k, v in estimator.get_params(deep=False).items() if _fits_json(v)},
        "feature_names_in": None if names is None else [str(name) for name in names],
        "class_dtype": str(estimator.classes_.dtype) if hasattr(estimator, "classes_") else None,
        "feature_importances": estimator._importance.tolist(),
        "leaf_weight": estimator._leaf_weight.tolist(),
        "training": {
            "n_epochs": len(history),
            "loss": history["loss"][-1] if len(history) else None,
            "stopped": history.stopped,
        },
        "versions": versions("dtsemnet", "numpy", "scikit-learn", "python"),
    }


def restore(cls: type[E], path: str | os.PathLike[str]) -> E:
    """Make an estimator from a model file."""
    document = load_document(path)
    about = document.about or {}
    if about.get("estimator") != cls.__name__:
        raise ValueError(
            f"{os.fspath(path)} holds {about.get('estimator') or 'a model without an estimator'}, not {cls.__name__}; "
            "dtsemnet.tree.read loads any model file."
        )
    content = document.content
    model = content if isinstance(content, Model) else None
    if model is None or not isinstance(model.output, Identity):
        raise ValueError(f"{os.fspath(path)} holds no encoder, so it is no file of {cls.__name__}.save.")
    if hasattr(cls, "predict_proba") != model.tree.is_classifier:
        raise ValueError(f"{os.fspath(path)} names {cls.__name__}, but its tree is of the other kind.")
    estimator: Any = cls()
    try:
        _fill(estimator, model, about)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"about in {os.fspath(path)} is incomplete or damaged ({error!r}); the tree is not.") from None
    restored: E = estimator
    return restored


def _fill(estimator: Any, model: Model, about: dict[str, Any]) -> None:
    """Set what fitting would have set."""
    tree, columns = model.tree, model.encoder.columns
    known = estimator.get_params(deep=False)
    estimator.set_params(**{k: v for k, v in about["parameters"].items() if k in known})
    estimator.model_, estimator._encoder = model, model.encoder
    estimator.history_, estimator._n_outputs = History(), tree.n_outputs
    estimator.n_features_in_ = len(columns)
    if about["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
    if model.class_names is not None:
        estimator.classes_ = np.array(model.class_names, dtype=_dtype(about["class_dtype"]))
    estimator._importance = np.array(about["feature_importances"], dtype=np.float64).reshape(len(columns))
    estimator._leaf_weight = np.array(about["leaf_weight"], dtype=np.float64).reshape(tree.n_leaves)


def _dtype(name: str) -> Any:
    return object if name.startswith(("object", "str", "StringDType")) else np.dtype(name)


def _fits_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
