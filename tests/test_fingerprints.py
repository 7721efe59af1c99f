"""Trees do not change by accident: every configuration below gives the tree that was recorded for it, bit for bit.

A configuration is an estimator with its parameters, or an agent, on data that scikit-learn ships or that are made here.
``fingerprints/trees.json`` holds the fingerprint of each tree and its score on the training rows. Training rounds
differently on another processor or with other versions of numpy and numba, and training amplifies that, so fingerprints
are kept by environment: where an environment has no record of a configuration, scores are compared instead.

A change that is meant to change trees records them again, and says so in its message:

    python tests/test_fingerprints.py            # in this environment, beside those of others
    python tests/test_fingerprints.py --afresh   # forget other environments, whose trees are no longer right

Model files of earlier versions are kept in ``golden/``, see there.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

FOLDER = Path(__file__).parent / "fingerprints"
TREES = FOLDER / "trees.json"
TOLERANCE = 0.08
"""How far a score may be from the recorded one in an environment that rounds differently."""


@functools.cache
def data(name: str):
    """Rows, targets and weights by name; small, so that a fit takes a fraction of a second."""
    rng = np.random.default_rng(7)
    shipped = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "diabetes": load_diabetes}
    if name in shipped:
        X, y = shipped[name](return_X_y=True)
        return X, y
    X = rng.normal(size=(240, 5))
    if name == "few":
        return X[:20], (X[:20, 0] > 0).astype(int)
    if name == "pair":
        return X, np.column_stack([X[:, 0] * (X[:, 1] > 0), np.abs(X[:, 2])])
    if name == "float32":
        return X.astype(np.float32), (X[:, 0] * X[:, 1] > 0).astype(int)
    if name == "magnitudes":
        return X * [1e-6, 1e-3, 1.0, 1e3, 1e6], np.where(X[:, 0] + X[:, 4] > 0, "up", "down")
    if name == "ties":
        coarse = np.round(X * 2) / 2
        return coarse, coarse[:, 0] + np.abs(coarse[:, 1])
    assert name in ("mixed", "mixed numbers")
    return _mixed(rng, classes=name == "mixed")


def _mixed(rng, *, classes: bool):
    import pandas as pd

    n_rows = 240
    age, colour = rng.integers(18, 80, n_rows).astype(float), rng.choice(["red", "green", "blue"], n_rows)
    rises = (colour == "red") ^ (age > 50)
    size, smoker = pd.Categorical(rng.choice(["S", "M", "L"], n_rows)), rng.random(n_rows) < 0.3
    age[rng.random(n_rows) < 0.1] = np.nan
    frame = pd.DataFrame({"age": age, "colour": colour, "size": size, "smoker": smoker})
    return frame, np.where(rises, "yes", "no") if classes else rises * 3.0 + rng.normal(size=n_rows)


def weights(name: str):
    """Whole numbers and fractions, zeros among them."""
    rows = len(data(name)[0])
    return np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], rows)


CLASSES = {"max_iter": 12, "max_depth": 3, "effort": 0}
NUMBERS = {"max_iter": 12, "max_depth": 3, "effort": 0}
CHOSEN = {"max_iter": 12}
PATIENCE = {"n_iter_no_change": 3}
CLIPPED = {"max_grad_norm": 0.5}

# name: (estimator, data, parameters); what more an estimator is fitted with stands behind a "+" in the name.
OURS = {
    "classes": ("DTSemNetClassifier", "iris", CLASSES),
    "classes, all defaults": ("DTSemNetClassifier", "few", {"effort": 0}),
    "classes, depth 1": ("DTSemNetClassifier", "wine", {"max_iter": 10, "max_depth": 1, "effort": 0}),
    "classes, depth 5": ("DTSemNetClassifier", "wine", {"max_iter": 10, "max_depth": 5, "effort": 0}),
    "classes, wide": ("DTSemNetClassifier", "cancer", CLASSES),
    "classes, paper": ("DTSemNetClassifier", "iris", {**CLASSES, "training": "paper"}),
    "classes, paper, three starts": ("DTSemNetClassifier", "iris", {**CLASSES, "training": "paper", "n_init": 3}),
    "classes, one start": ("DTSemNetClassifier", "iris", {**CLASSES, "n_init": 1}),
    "classes, six starts": ("DTSemNetClassifier", "iris", {**CLASSES, "n_init": 6}),
    "classes, early stopping": ("DTSemNetClassifier", "wine", {**CLASSES, "early_stopping": True, **PATIENCE}),
    "classes, no refit": ("DTSemNetClassifier", "iris", {**CLASSES, "refit": False}),
    "classes, two jobs": ("DTSemNetClassifier", "iris", {**CLASSES, "n_jobs": 2}),
    "classes, few rows": ("DTSemNetClassifier", "few", CLASSES),
    "classes, balanced": ("DTSemNetClassifier", "cancer", {**CLASSES, "class_weight": "balanced"}),
    "classes, class weights": ("DTSemNetClassifier", "iris", {**CLASSES, "class_weight": {0: 1, 1: 2, 2: 0.5}}),
    "classes, categories": ("DTSemNetClassifier", "mixed", CLASSES),
    "classes, float32": ("DTSemNetClassifier", "float32", CLASSES),
    "classes, magnitudes": ("DTSemNetClassifier", "magnitudes", CLASSES),
    "classes, settings": (
        "DTSemNetClassifier", "iris",
        {**CLASSES, "learning_rate": 0.02, "weight_decay": 0.01, "l1": 0.001, "batch_size": 32, "max_grad_norm": 1.0},
    ),
    "classes, torch": ("DTSemNetClassifier", "iris", {**CLASSES, "max_iter": 4, "engine": "torch", "n_init": 1}),
    "classes + weights": ("DTSemNetClassifier", "iris", CLASSES),
    "classes + validation rows": ("DTSemNetClassifier", "iris", CLASSES),
    "classes + cart": ("DTSemNetClassifier", "iris", CLASSES),
    "classes + cart, early stopping": ("DTSemNetClassifier", "wine", {**CLASSES, "early_stopping": True}),
    "classes + warm start": ("DTSemNetClassifier", "iris", {**CLASSES, "warm_start": True}),
    "classes + more rows": ("DTSemNetClassifier", "iris", CLASSES),
    "classes + checkpoint": ("DTSemNetClassifier", "iris", CLASSES),
    "numbers": ("DTSemNetRegressor", "diabetes", NUMBERS),
    "numbers, all defaults": ("DTSemNetRegressor", "ties", {"max_depth": 2, "max_iter": 30, "effort": 0}),
    "numbers, constant leaves": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "leaf": "constant"}),
    "numbers, paper": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "paper"}),
    "numbers, paper, constant leaves": (
        "DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "paper", "leaf": "constant"},
    ),
    "numbers, straight-through": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "straight_through"}),
    "numbers, absolute": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "loss": "absolute_error"}),
    "numbers, huber": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "loss": "huber", "huber_delta": 0.5}),
    "numbers, quantile": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "loss": "quantile", "quantile": 0.9}),
    "numbers, paper, quantile": (
        "DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "paper", "loss": "quantile", "quantile": 0.2},
    ),
    "numbers, no guard": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "guard": False}),
    "numbers, one start": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "n_init": 1}),
    "numbers, early stopping": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "early_stopping": True, **PATIENCE}),
    "numbers, no refit": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "refit": False}),
    "numbers, three jobs": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "n_jobs": 3}),
    "numbers, two outputs": ("DTSemNetRegressor", "pair", NUMBERS),
    "numbers, ties": ("DTSemNetRegressor", "ties", NUMBERS),
    "numbers, categories": ("DTSemNetRegressor", "mixed numbers", NUMBERS),
    "numbers, settings": (
        "DTSemNetRegressor", "diabetes",
        {**NUMBERS, "learning_rate": 0.02, "weight_decay": 0.01, "l1": 0.001, "batch_size": 32, "max_grad_norm": 1.0},
    ),
    "numbers, torch": ("DTSemNetRegressor", "pair", {**NUMBERS, "max_iter": 4, "engine": "torch", "n_init": 1}),
    "numbers + weights": ("DTSemNetRegressor", "diabetes", NUMBERS),
    "numbers + validation rows": ("DTSemNetRegressor", "diabetes", NUMBERS),
    "numbers + cart": ("DTSemNetRegressor", "diabetes", NUMBERS),
    "numbers + cart, paper": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "paper"}),
    "numbers + warm start": ("DTSemNetRegressor", "pair", {**NUMBERS, "warm_start": True}),
    "numbers + more rows": ("DTSemNetRegressor", "diabetes", NUMBERS),
    "numbers + more rows, paper": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "training": "paper"}),
    "numbers + checkpoint": ("DTSemNetRegressor", "pair", NUMBERS),
    "classes, chosen": ("DTSemNetClassifier", "iris", {}),
    "classes, chosen, few rows": ("DTSemNetClassifier", "few", {}),
    "classes, chosen, depth 3": ("DTSemNetClassifier", "wine", {**CHOSEN, "max_depth": 3}),
    "classes, chosen, two jobs": ("DTSemNetClassifier", "wine", {**CHOSEN, "n_jobs": 2}),
    "classes, chosen, categories": ("DTSemNetClassifier", "mixed", CHOSEN),
    "classes, chosen, magnitudes": ("DTSemNetClassifier", "magnitudes", CHOSEN),
    "classes, chosen, pruned": ("DTSemNetClassifier", "float32", {**CHOSEN, "min_samples_leaf": 9, "ccp_alpha": 0.01}),
    "classes, chosen + weights": ("DTSemNetClassifier", "iris", CHOSEN),
    "classes, chosen + validation rows": ("DTSemNetClassifier", "iris", CHOSEN),
    "classes, chosen + checkpoint": ("DTSemNetClassifier", "iris", CHOSEN),
    "numbers, chosen": ("DTSemNetRegressor", "diabetes", {}),
    "numbers, chosen, ties": ("DTSemNetRegressor", "ties", CHOSEN),
    "numbers, chosen, constant leaves": ("DTSemNetRegressor", "diabetes", {**CHOSEN, "leaf": "constant"}),
    "numbers, chosen, two outputs": ("DTSemNetRegressor", "pair", CHOSEN),
    "numbers, chosen, categories": ("DTSemNetRegressor", "mixed numbers", CHOSEN),
    "numbers, chosen + weights": ("DTSemNetRegressor", "diabetes", CHOSEN),
    "classes, two columns": ("DTSemNetClassifier", "wine", {**CLASSES, "max_split_features": 2}),
    "classes, two columns, torch": (
        "DTSemNetClassifier", "iris",
        {**CLASSES, "max_iter": 4, "engine": "torch", "n_init": 1, "max_split_features": 2},
    ),
    "numbers, two columns": ("DTSemNetRegressor", "diabetes", {**NUMBERS, "max_split_features": 2}),
    "classes, chosen, two columns": ("DTSemNetClassifier", "mixed", {**CHOSEN, "max_split_features": 2}),
    "numbers, chosen, two columns": ("DTSemNetRegressor", "diabetes", {**CHOSEN, "max_split_features": 2}),
    "classes, chosen, sparse": ("DTSemNetClassifier", "wine", {**CHOSEN, "sparsity": "auto"}),
    "numbers, short leaves": ("DTSemNetRegressor", "mixed numbers", {**NUMBERS, "max_leaf_features": 2}),
    "numbers, short leaves, absolute": (
        "DTSemNetRegressor", "pair", {**NUMBERS, "max_leaf_features": 2, "loss": "absolute_error"},
    ),
    "numbers, chosen, sparse": ("DTSemNetRegressor", "diabetes", {**CHOSEN, "sparsity": "auto"}),
}  # fmt: skip

RIVALS = {
    "cart": ("CARTClassifier", "iris", {}),
    "cart, numbers": ("CARTRegressor", "diabetes", {"max_depth": 4}),
    "tao": ("TAOClassifier", "iris", {"max_depth": 2, "max_iter": 5}),
    "tao, axis": ("TAOClassifier", "wine", {"max_depth": 2, "max_iter": 5, "split": "axis_aligned"}),
    "tao, numbers": ("TAORegressor", "diabetes", {"max_depth": 2, "max_iter": 4}),
    "tao, constant leaves": ("TAORegressor", "pair", {"max_depth": 2, "max_iter": 4, "leaf": "constant"}),
    "crodt": ("CRODTClassifier", "iris", {"max_depth": 2, "reef_size": 20, "max_iter": 30}),
    "dgt": ("DGTClassifier", "iris", {"max_depth": 3, "max_iter": 10}),
    "dgt, settings": (
        "DGTClassifier", "iris",
        {"max_depth": 2, "max_iter": 10, "optimizer": "rmsprop", **CLIPPED, "l1_penalty": 0.01, "decay": 0.9},
    ),
    "dgt, numbers": ("DGTRegressor", "diabetes", {"max_depth": 3, "max_iter": 10}),
    "dgt, linear leaves": ("DGTRegressor", "diabetes", {"max_depth": 3, "max_iter": 10, "leaf": "linear"}),
    "soft": ("SoftTreeClassifier", "iris", {"max_depth": 3, "max_iter": 10}),
    "soft, clipped": ("SoftTreeClassifier", "wine", {"max_depth": 2, "max_iter": 10, **CLIPPED, "n_init": 2}),
    "soft, numbers": ("SoftTreeRegressor", "diabetes", {"max_depth": 3, "max_iter": 10}),
    "soft, linear leaves": ("SoftTreeRegressor", "pair", {"max_depth": 2, "max_iter": 10, "leaf": "linear"}),
    "reg1": ("TopKReg1Regressor", "diabetes", {"max_depth": 3, "max_iter": 10}),
    "reg1, settings": (
        "TopKReg1Regressor", "pair",
        {"max_depth": 2, "max_iter": 10, "l1": 0.01, "max_grad_norm": 0.5, "leaf": "constant"},
    ),
}  # fmt: skip

AGENTS = ("ppo", "lean ppo", "lean ppo, pooling", "top-k sac", "lean sac, straight-through")


def fit(name: str) -> tuple[str, float]:
    """Fit a configuration; return the fingerprint of the tree and the score on the training rows."""
    ours = name in OURS
    estimator, source, parameters = OURS[name] if ours else RIVALS[name]
    package = importlib.import_module("dtsemnet" if ours else "dtsemnet_paper.baselines")
    model = getattr(package, estimator)(random_state=0, **parameters)
    X, y = data(source)
    more = name.partition(" + ")[2].partition(",")[0]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if more == "weights":
            model.fit(X, y, weights(source))
        elif more == "validation rows":
            model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
        elif more == "cart":
            tree = DecisionTreeClassifier if "Classifier" in estimator else DecisionTreeRegressor
            model.set_params(init=tree(max_depth=2, random_state=0).fit(X, y)).fit(X, y)
        elif more == "warm start":
            model.fit(X, y).fit(X, y)
        elif more == "more rows":
            half = {"classes": np.unique(y)} if "Classifier" in estimator else {}
            model.partial_fit(X[::2], y[::2], **half).partial_fit(X[1::2], y[1::2])
        elif more == "checkpoint":
            model.set_params(checkpoint=folder).fit(X, y)
        else:
            model.fit(X, y)
    content = model.model_.tree.fingerprint() + json.dumps(model.loss_curve_)
    return hashlib.sha256(content.encode()).hexdigest()[:16], round(float(model.score(X, y)), 4)


def play(name: str) -> tuple[str, float]:
    """Train an agent for some steps; return the fingerprint of its tree, which stands for the score as well."""
    import torch
    from stable_baselines3 import PPO

    from dtsemnet.nn import StraightThrough
    from dtsemnet.rl import AnnealPooling, LeanPPO, LeanSAC, TopKSAC, TreePolicy, TreeSACPolicy, policy_tree

    torch.set_num_threads(1)
    usual = {"seed": 1, "device": "cpu"}
    if "ppo" in name:
        policy = {"max_depth": 3, "net_arch": [16, 16]}
        policy |= {"pooling": 1.0} if "pooling" in name else {}
        kind = PPO if name == "ppo" else LeanPPO
        agent = kind(TreePolicy, "CartPole-v1", n_steps=128, batch_size=64, policy_kwargs=policy, **usual)
        agent.learn(512, callback=AnnealPooling(1.0, end=0.1) if "pooling" in name else None)
    else:
        policy = {"max_depth": 2, "net_arch": [16, 16]}
        policy |= {"selector": StraightThrough()} if "straight" in name else {}
        kind = LeanSAC if name.startswith("lean") else TopKSAC
        agent = kind(TreeSACPolicy, "Pendulum-v1", learning_starts=64, batch_size=32, policy_kwargs=policy, **usual)
        agent.learn(192)
    return policy_tree(agent).tree.fingerprint()[:16], 0.0


def environment() -> str:
    """What a training rounds by: the processor and the versions of what computes."""
    names = ("numpy", "scipy", "numba", "llvmlite", "sklearn", "torch")
    versions = [f"{name} {importlib.import_module(name).__version__}" for name in names]
    return ", ".join([_processor(), f"python {platform.python_version()}", *versions])


def _processor() -> str:
    """The processor as LLVM sees it, which decides how wide loops run: makers give one name to several generations."""
    features = llvmlite.binding.get_host_cpu_features().flatten()
    return f"{llvmlite.binding.get_host_cpu_name()} {hashlib.sha256(features.encode()).hexdigest()[:8]}"


CONFIGURATIONS: dict[str, Callable[[str], tuple[str, float]]] = {
    **dict.fromkeys([*OURS, *RIVALS], fit),
    **dict.fromkeys(AGENTS, play),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_tree_is_the_recorded_one(name):
    recorded = json.loads(TREES.read_text(encoding="utf-8"))
    fingerprint, score = CONFIGURATIONS[name](name)
    known = recorded["fingerprints"].get(environment(), {}).get(name)
    if known is None:
        assert score == pytest.approx(recorded["scores"][name], abs=TOLERANCE)
    else:
        assert fingerprint == known


def record(*, afresh: bool) -> None:
    """Write the fingerprints of this environment, and the scores."""
    trees = {name: configuration(name) for name, configuration in CONFIGURATIONS.items()}
    known = json.loads(TREES.read_text(encoding="utf-8"))
    if afresh:
        known["fingerprints"] = {}
    known["fingerprints"][environment()] = {name: fingerprint for name, (fingerprint, _) in trees.items()}
    known["scores"] = {name: score for name, (_, score) in trees.items()}
    TREES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(afresh="--afresh" in sys.argv)
