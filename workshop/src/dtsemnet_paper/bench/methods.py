"""Methods by name: estimators that are imported when they are used.

A method names a class for each task by its import path, ``package.module:Class``, and the
configuration it is run with. Any class with scikit-learn's ``fit`` and ``predict`` will
do, or a function that makes such an estimator, and an import path may be given in place of
a name. ``max_depth`` and ``random_state`` are set if the class has them, validation rows are
passed if its ``fit`` takes them, and a method whose package is not installed is reported as
missing. Rows of a data frame reach a method as numbers unless it reads frames itself.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dtsemnet_paper.bench.splits import VisibleRows

__all__ = ["METHODS", "Method", "MissingMethod", "find_method", "fit_method", "register"]


class MissingMethod(LookupError):
    """A method that is not available; the message says why and how to get it."""


@dataclass(frozen=True)
class Method:
    """How to make an estimator.

    Parameters
    ----------
    name : str
    classifier, regressor : str, optional
        Import paths; None if the method does not do the task.
    configuration : dict
        Parameters that differ from the defaults of the class.
    grid : dict of lists
        Values of further parameters, tried on validation rows by the honest protocol, with each height.
    needs : str, optional
        Package to install.
    reads_frames : bool, default=False
        Whether categories and missing values of a data frame are passed on to it; if not, it gets one-hot columns.

    Examples
    --------
    >>> find_method("dtsemnet").make("classification", {"max_depth": 2}, seed=0)
    DTSemNetClassifier(effort=0, max_depth=2, random_state=0)
    """

    name: str
    classifier: str | None = None
    regressor: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    needs: str | None = None
    reads_frames: bool = False

    def make(self, task: str, configuration: Mapping[str, Any], seed: int) -> Any:
        """Make an estimator with this configuration on top of the method's own."""
        options = {**self.configuration, **configuration}
        if self.takes(task, "random_state"):
            options["random_state"] = seed
        return self.load(task)(**options)

    def takes(self, task: str, parameter: str) -> bool:
        """Whether the class for a task has a parameter."""
        return parameter in inspect.signature(self.load(task)).parameters

    def load(self, task: str) -> Any:
        """Import the class for a task."""
        path = self.classifier if task == "classification" else self.regressor
        if path is None:
            raise MissingMethod(f"{self.name} does no {task}.")
        module, _, name = path.partition(":")
        try:
            if self.needs:
                importlib.import_module(self.needs)
            return getattr(importlib.import_module(module), name)
        except ImportError as error:
            help_ = f"pip install {self.needs}" if self.needs else f"see that {module} can be imported"
            raise MissingMethod(f"{self.name} is not available here ({error}); {help_}.") from error
        except AttributeError:
            raise MissingMethod(f"{self.name}: {module} has no {name}.") from None


METHODS: dict[str, Method] = {}
"""The methods by name."""


def register(method: Method) -> Method:
    """Add a method, or replace the one of that name."""
    METHODS[method.name] = method
    return method


def find_method(name: str) -> Method:
    """Look a method up; ``package.module:Class`` is a method too.

    Examples
    --------
    >>> find_method("sklearn.dummy:DummyClassifier").load("classification").__name__
    'DummyClassifier'
    """
    if name in METHODS:
        return METHODS[name]
    if ":" in name:
        return Method(name, classifier=name, regressor=name)
    raise MissingMethod(f"there is no method {name!r}; there are {', '.join(METHODS)}, or give package.module:Class.")


def fit_method(estimator: Any, rows: VisibleRows) -> Any:
    """Fit an estimator to the rows that it may see."""
    known = inspect.signature(estimator.fit).parameters
    if "X_val" in known and len(rows.y_val):
        return estimator.fit(rows.X, rows.y, X_val=rows.X_val, y_val=rows.y_val)
    return estimator.fit(rows.X, rows.y)


def _ours(name: str, *, classes: bool = True, numbers: bool = True, **configuration: Any) -> Method:
    classifier = "dtsemnet:DTSemNetClassifier" if classes else None
    regressor = "dtsemnet:DTSemNetRegressor" if numbers else None
    return Method(name, classifier, regressor, configuration, reads_frames=True)


def _ablation(name: str, kind: str) -> Method:
    return Method(name, f"dtsemnet_paper.bench.ablations:{kind}", configuration={"effort": 0}, reads_frames=True)


def _shape(name: str, stem: str, *, classes: bool = True, numbers: bool = True) -> Method:
    path = f"dtsemnet_paper.bench.shape_ablations:{stem}"
    classifier, regressor = f"{path}Classifier" if classes else None, f"{path}Regressor" if numbers else None
    return Method(name, classifier, regressor, reads_frames=True)


def _ordered(name: str, stem: str) -> Method:
    path = f"dtsemnet_paper.bench.ordered:{stem}"
    return Method(name, f"{path}Classifier", f"{path}Regressor", reads_frames=True)


def _search(name: str, stem: str, package: str | None = None) -> Method:
    path = f"dtsemnet_paper.bench.searches:{stem}"
    return Method(name, f"{path}_classifier", f"{path}_regressor", needs=package)


def _baseline(name: str, stem: str, module: str, *, classes: bool = True, numbers: bool = True, **more: Any) -> Method:
    path = f"dtsemnet_paper.baselines.{module}:{stem}"
    return Method(name, path + "Classifier" if classes else None, path + "Regressor" if numbers else None, more)


def _peer(name: str, stem: str, package: str, *, classes: bool = True, numbers: bool = True) -> Method:
    path = f"dtsemnet_paper.bench.external_methods:{stem}"
    return Method(
        name, path + "Classifier" if classes else None, path + "Regressor" if numbers else None, needs=package
    )


for _method in (
    _ours("dtsemnet-default"),
    _ours("dtsemnet-free"),  # for tables that name a height, which they must not pass to it
    # The default with splits on few columns.
    _ours("dtsemnet-sparse", sparsity="auto"),
    _ours("dtsemnet-two", max_split_features=2),
    # Methods that keep the order that a table asks for.
    _ordered("dtsemnet-monotone", "Proved"),
    _ordered("cart-monotone", "OrderedCART"),
    _ordered("boosting-monotone", "OrderedBoosting"),
    # The default with one ingredient left out.
    _shape("default-random", "Random"),
    _shape("default-no-cart", "NoCart"),
    _shape("default-no-oblique", "NoOblique"),
    _shape("default-no-pruning", "NoPruning"),
    _shape("default-best", "Best"),
    _shape("default-no-second", "NoSecond", numbers=False),
    _shape("default-no-smoothing", "NoSmoothing", classes=False),
    _shape("default-one-ridge", "OneRidge", classes=False),
    _ours("default-leaf-shares", numbers=False, probability="leaf"),
    # One depth, the height of the table; what the records of the paper's tables were run with.
    _ours("dtsemnet", effort=0),
    _ours("dtsemnet-paper", training="paper"),
    # The same with one ingredient left out, to measure what each adds.
    _ours("dtsemnet-one-start", effort=0, n_init=1),
    _ours("dtsemnet-no-small", numbers=False, effort=0, n_init=4),
    _ours("dtsemnet-no-decay", effort=0, weight_decay=0.0),
    _ours("dtsemnet-no-last", effort=0, refit=False),
    _ablation("dtsemnet-no-bound", "CrossEntropyClassifier"),
    _ablation("dtsemnet-no-anneal", "HardClassifier"),
    _ablation("dtsemnet-no-reheat", "WarmClassifier"),
    _ours("dtsemnet-no-l1", classes=False, effort=0, l1=0.0),
    _ours("dtsemnet-no-guard", classes=False, effort=0, guard=False),
    _ours("dtsemnet-ste", classes=False, training="straight_through"),
    Method("dtsemnet-reg1", None, "dtsemnet_paper.baselines.variants:TopKReg1Regressor"),
    _baseline("cart", "CART", "cart"),
    _baseline("dgt", "DGT", "dgt"),
    _baseline("dgt-linear", "DGT", "dgt", classes=False, leaf="linear"),
    _baseline("tao", "TAO", "tao"),
    _baseline("tao-axis", "TAO", "tao", split="axis_aligned", init="cart"),
    _baseline("tao-linear", "TAO", "tao", classes=False, leaf="linear"),
    _baseline("crodt", "CRODT", "crodt", numbers=False),
    _baseline("soft", "SoftTree", "soft"),
    _baseline("ant", "ANT", "ant"),
    _baseline("ant-soft", "ANT", "ant", hard=False),
    _peer("lightgbm-linear", "LightGBMLinear", "lightgbm", classes=False),
    _peer("cubist", "Cubist", "cubist", classes=False),
    _peer("ydf", "YDF", "ydf"),
    _peer("obliquetree", "ObliqueTree", "obliquetree"),
    # Rivals that choose their own settings inside the training rows.
    _search("cart-tuned", "cart"),
    _search("tao-chosen", "tao"),
    _search("dgt-chosen", "dgt"),
    _search("linear", "linear"),
    _search("sgt-chosen", "sgt", "sgtlearn"),
    _search("ydf-chosen", "ydf", "ydf"),
    # Many trees, at scikit-learn's defaults: what a single tree gives up.
    Method("forest", "sklearn.ensemble:RandomForestClassifier", "sklearn.ensemble:RandomForestRegressor"),
    Method(
        "boosting", "sklearn.ensemble:HistGradientBoostingClassifier", "sklearn.ensemble:HistGradientBoostingRegressor"
    ),
    # Sums of one curve for each column and a few pairs, at the defaults of its package.
    Method(
        "ebm",
        "interpret.glassbox:ExplainableBoostingClassifier",
        "interpret.glassbox:ExplainableBoostingRegressor",
        needs="interpret",
        reads_frames=True,
    ),
):
    register(_method)
