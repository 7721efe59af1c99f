"""Speed of prediction, as ratios in one run.

Each case times a tree against a yardstick on the same rows: scikit-learn's decision tree of the same depth for
narrow rows, numpy's sum along the rows (reading the data once) for wide ones, and if they are installed the engines of
LightGBM (one tree with as many leaves) and YDF (one sparse oblique tree of that depth; its rows are laid out for it
beforehand). CPU time, one thread, the two interleaved, the best of the repeats. Run by
``python benchmarks/predict.py``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import best_times, one_thread, table
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import Model, Topology, Tree

DEPTH = 8
REPEATS = 7
CALLS = 20_000


def records() -> list[dict[str, Any]]:
    """Run all cases; times in seconds."""
    one_thread()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 16), dtype=np.float32)
    y = rng.integers(0, 5, 20_000)
    cart = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[: len(y)], y)
    oblique, same = _random_tree(16, rng), Tree.from_sklearn(cart)
    found = [
        _compare(
            "1,000,000 x 16 float32, predict", lambda: oblique.predict(X), lambda: cart.predict(X), "CART", 1.5, 1.0
        ),
        _compare("the same CART, converted", lambda: same.predict(X), lambda: cart.predict(X), "CART", 1.5, 1.0),
    ]
    for name, predict in _engines(X, y):
        found.append(_compare(f"1,000,000 x 16 float32, {name}", lambda: oblique.predict(X), predict, name, 1.0, 1.0))
    X = rng.standard_normal((100_000, 784), dtype=np.float32)
    wide = _random_tree(784, rng)
    found.append(
        _compare(
            "100,000 x 784 float32, predict", lambda: wide.predict(X), lambda: X.sum(axis=1), "X.sum(axis=1)", 8.0, 5.0
        )
    )
    row = rng.standard_normal((1, 16), dtype=np.float32)
    model = Model.of(oblique)
    estimator = DTSemNetClassifier(max_depth=2, effort=0, n_init=1, max_iter=2, random_state=0).fit(
        X[:500, :16], y[:500]
    )
    for name, call, within in (
        ("Tree.apply", lambda: oblique.apply(row), 5e-6), ("Model.predict", lambda: model.predict(row), 5e-6),
        ("DTSemNetClassifier.predict", lambda: estimator.predict(row), 50e-6),
        ("CART, predict", lambda: cart.predict(row), None),
    ):  # fmt: skip
        n_calls = CALLS if within == 5e-6 else CALLS // 10
        (best,) = best_times(lambda: [call() for _ in range(n_calls)], repeats=REPEATS)  # noqa: B023
        found.append({"case": f"one row, {name}", "time": best / n_calls, "within_seconds": within})
    return found


def report(found: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = []
    for r in found:
        if "ratio" in r:
            ours, theirs = f"{r['time'] * 1e3:.1f} ms", f"{r['yardstick']} {r['yardstick_time'] * 1e3:.1f} ms"
            rows.append((r["case"], ours, theirs, f"{r['ratio']:.2f}x", f"{r['within']:g}x", f"{r['aim']:g}x"))
        else:
            within = "" if r["within_seconds"] is None else f"{r['within_seconds'] * 1e6:.0f} us"
            rows.append((r["case"], f"{r['time'] * 1e6:.1f} us", "", "", within, ""))
    return table(("case", "time", "yardstick", "ratio", "within", "aim"), rows)


def _compare(
    name: str, ours: Callable[[], Any], theirs: Callable[[], Any], yardstick: str, within: float, aim: float
) -> dict[str, Any]:
    a, b = best_times(ours, theirs, repeats=REPEATS)
    return {
        "case": name, "time": a, "yardstick": yardstick, "yardstick_time": b, "ratio": a / b,
        "within": within, "aim": aim,
    }  # fmt: skip


def _engines(X: Any, y: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Predictions by one tree of other packages, those that are installed, on one thread."""
    engines: list[tuple[str, Callable[[], Any]]] = []
    if importlib.util.find_spec("lightgbm") is not None:
        import lightgbm

        data = lightgbm.Dataset(X[: len(y)], y > 2)  # of more classes, it grows a tree for each
        settings = {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH}
        booster = lightgbm.train(settings | {"num_threads": 1, "verbose": -1}, data, num_boost_round=1)
        engines.append(("LightGBM", lambda: booster.predict(X, num_threads=1)))
    if importlib.util.find_spec("ydf") is not None:
        import ydf

        ydf.verbose(0)
        learner = ydf.CartLearner(label="y", max_depth=DEPTH + 1, split_axis="SPARSE_OBLIQUE", num_threads=1)
        tree = learner.train({"x": X[: len(y)], "y": y})
        rows = ydf.create_vertical_dataset({"x": X, "y": np.zeros(len(X), np.int64)}, data_spec=tree.data_spec())
        engines.append(("YDF", lambda: tree.predict(rows, num_threads=1)))
    return engines


def _random_tree(n_features: int, rng: np.random.Generator) -> Tree:
    topology = Topology.complete(DEPTH)
    probability = rng.dirichlet(np.ones(5), topology.n_leaves)
    weight = rng.standard_normal((topology.n_splits, n_features))
    return Tree(topology, weight, 0.1 * rng.standard_normal(topology.n_splits), probability, class_names=range(5))


if __name__ == "__main__":
    print(report(records()))
