"""An MLflow flavour: models are logged, registered and served as the model file, which runs no code when it is read.

A logged model is a folder with the JSON file, the names and types of its columns as MLflow's signature, and the
packages that serving needs. ``mlflow.pyfunc.load_model`` reads it too, so that MLflow's server and Spark functions
work. There is no pickle in it: by :func:`load_model` of this module, what is registered by somebody else can be loaded
as safely as any other model file. ``mlflow.pyfunc`` itself imports whatever module a folder names as its loader.

Needs MLflow or mlflow-skinny (``pip install 'dtsemnet[mlflow]'``).
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dtsemnet import versions
from dtsemnet.arrays import Array
from dtsemnet.files import write_atomically
from dtsemnet.names import shown
from dtsemnet.tree import Document, Model, Tree, load_document

try:
    import mlflow
    import mlflow.artifacts
    import mlflow.pyfunc
    from mlflow.models import Model as LoggedModel
    from mlflow.models import infer_signature
except ImportError as error:
    raise ImportError("dtsemnet.mlflow needs MLflow; install it with: pip install 'dtsemnet[mlflow]'") from error

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "dtsemnet"
"""Name of the flavour in the file MLmodel."""

MODEL_FILE = "model.json"

Method = Literal["predict", "predict_proba", "apply"]
METHODS = ("predict", "predict_proba", "apply")


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    pyfunc_predict_fn: Method = "predict",
) -> None:
    """Write a model as a folder that MLflow reads.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator is an estimator again when it is loaded.
    path : path
        The folder to write; it must not exist, or be empty.
    mlflow_model : mlflow.models.Model, optional
        Set by :func:`log_model`.
    signature : mlflow.models.ModelSignature, optional
        Columns and types of inputs and outputs; found from ``input_example`` if that is given.
    input_example : data frame or array, optional
        Some rows, for the signature.
    pip_requirements : list of str, optional
        Packages that serving needs; by default this version of dtsemnet, and pandas if that is installed here.
    metadata : dict, optional
        Free metadata for the file MLmodel.
    pyfunc_predict_fn : {"predict", "predict_proba", "apply"}, default="predict"
        What ``mlflow.pyfunc`` and the server answer with.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-0.5], [[1, 0], [0, 1]], class_names=["cold", "warm"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(tree, Path(folder, "model"), input_example=np.array([[0.0], [1.0]]))
    ...     mlflow.pyfunc.load_model(str(Path(folder, "model"))).predict(np.array([[0.0], [1.0]])).tolist()
    ['cold', 'warm']
    """
    if pyfunc_predict_fn not in METHODS:
        raise ValueError(f"pyfunc_predict_fn must be one of {', '.join(METHODS)}, got {shown(pyfunc_predict_fn)}.")
    if pyfunc_predict_fn == "predict_proba" and not Model.of(model).is_classifier:
        raise ValueError("pyfunc_predict_fn='predict_proba' needs a classifier, but this model predicts numbers.")
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"path {os.fspath(path)!r} exists and is not empty; name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / MODEL_FILE)
    kept = LoggedModel() if mlflow_model is None else mlflow_model
    if metadata is not None:
        kept.metadata = metadata
    if signature is None and input_example is not None:
        signature = infer_signature(input_example, _answer(model, input_example, pyfunc_predict_fn))
    if signature is not None:
        kept.signature = signature
    kept.add_flavor(
        FLAVOR_NAME, dtsemnet_version=versions("dtsemnet")["dtsemnet"], data=MODEL_FILE,
        fingerprint=Model.of(model).fingerprint(),
    )  # fmt: skip
    options = {"pyfunc_predict_fn": pyfunc_predict_fn}
    mlflow.pyfunc.add_to_model(
        kept, loader_module="dtsemnet.mlflow", data=MODEL_FILE, python_env="python_env.yaml", **options
    )
    needed = pip_requirements if pip_requirements is not None else _requirements()
    write_atomically(folder / "requirements.txt", "\n".join(needed) + "\n")
    environment = (
        f"python: {platform.python_version()}\nbuild_dependencies: [pip]\ndependencies: [-r requirements.txt]\n"
    )
    write_atomically(folder / "python_env.yaml", environment)
    kept.save(str(folder / "MLmodel"))


def log_model(model: Any, name: str = "model", *, registered_model_name: str | None = None, **options: Any) -> Any:
    """Log a model to the active run of MLflow.

    Parameters
    ----------
    model : estimator, Model or Tree
    name : str, default="model"
        What MLflow calls it.
    registered_model_name : str, optional
        Register it under this name.
    **options
        ``signature``, ``input_example`` and the others of :func:`save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` loads it again.
    """
    import dtsemnet.mlflow as flavor

    return LoggedModel.log(None, flavor, name=name, registered_model_name=registered_model_name, model=model, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Load a model as what it was saved from: an estimator, a model or a tree.

    Parameters
    ----------
    model_uri : str
        Such as ``models:/churn/3``, ``runs:/<run id>/model`` or the path of a folder.
    dst_path : str, optional
        Folder to download to.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavors = LoggedModel.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"model_uri {model_uri!r} holds no model of dtsemnet, but {', '.join(sorted(flavors))}.")
    return _load(folder / MODEL_FILE)


def _load(path: Path) -> Any:
    document: Document = load_document(path)
    name = document.about.get("estimator")
    if isinstance(name, str):
        from dtsemnet import estimators

        if name in estimators.__all__:  # never whatever else has that name
            return getattr(estimators, name).load(path)
    return document.content


def _load_pyfunc(path: str) -> _Answers:
    """Called by MLflow, with the path of the model file."""
    flavor = LoggedModel.load(str(Path(path).parent)).flavors[mlflow.pyfunc.FLAVOR_NAME]
    method = flavor.get("pyfunc_predict_fn", "predict")
    if method not in METHODS:  # no other method of a model may be called by what a folder says
        raise ValueError(f"pyfunc_predict_fn in MLmodel must be one of {', '.join(METHODS)}, got {shown(method)}.")
    return _Answers(_load(Path(path)), method)


class _Answers:
    """What ``mlflow.pyfunc`` wraps."""

    def __init__(self, model: Any, method: Method) -> None:
        self.model, self.method = model, method

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Array:
        """Answer some rows."""
        return _answer(self.model, model_input, self.method)

    def get_raw_model(self) -> Any:
        """The model itself."""
        return self.model


def _answer(model: Any, rows: Any, method: Method) -> Array:
    """Answer rows; a model or a tree, which knows no data frames of other orders, gets its columns by their names."""
    if isinstance(model, (Model, Tree)) and hasattr(rows, "columns"):
        names = [column.name for column in Model.of(model).encoder.columns]
        rows = rows[names] if set(names) <= set(rows.columns) else rows
        rows = np.asarray(rows, dtype=object if isinstance(model, Model) else float)
    return np.asarray(getattr(model, method)(rows))


def _requirements() -> list[str]:
    """The packages that answer as this installation does."""
    found = versions("dtsemnet", "numpy", "scikit-learn", "pandas")
    return [f"{name}=={version}" for name, version in found.items() if version is not None]
