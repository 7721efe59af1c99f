"""Speed of training: CPU time per epoch of the CPU engine against the paper's formulation in eager torch.

The torch side is what the paper describes and its code runs: a linear layer gives the scores, two ReLUs their
positive and negative parts, a fixed 0/1 matrix of the paper's delta coefficients the leaf logits; then the max over
the leaves of each class and cross-entropy, or the softmax over the k largest logits and all leaf regressors in one
linear layer; Adam; a DataLoader that shuffles. Both sides start from the same numbers, and their losses are compared
before anything is timed. float32, one thread each, interleaved, the best of the repeats. Run by
``python benchmarks/training.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import best_times, one_thread, table
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from dtsemnet.training import (
    ALL,
    Classification,
    ClassParameters,
    Engine,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    cpu_engine,
)
from dtsemnet.tree import Topology

BATCH, N_ROWS, RATE, REPEATS = 128, 12_800, 0.01, 7
N_EPOCHS = 5
"""Epochs of the engine that are timed at once: one alone can take less than a millisecond."""

CLASSIFICATION = (
    # features, classes, height, at least, aim
    (4, 3, 2, 60, 120),
    (16, 7, 4, 40, 80),
    (64, 10, 4, 25, 50),
    (16, 10, 8, 15, 30),
    (784, 10, 8, 3, 4.5),
    (16, 26, 10, 25, 60),
    (100, 3, 10, 15, 30),
)
REGRESSION = (21, 5, 25, 60)  # features, height, at least, aim
K, TEMPERATURE = 4, 0.5
PRODUCTS = (784, 10, 8)
"""The case whose matrix products are timed alone."""


class PaperLogits(nn.Module):
    """Scores, their two ReLUs and the fixed matrix: the logits of all leaves."""

    def __init__(self, n_features: int, topology: Topology) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, topology.n_splits)
        # A leaf adds relu(s) of all splits but those it lies left of, relu(-s) of all but those it lies right of.
        delta = torch.ones(topology.n_leaves, 2 * topology.n_splits)
        for j, (splits, sides) in enumerate(zip(*topology.paths)):
            for i, side in zip(splits, sides):
                delta[j, i if side == 0 else topology.n_splits + i] = 0
        self.register_buffer("delta", delta)

    def forward(self, x: Tensor) -> Tensor:
        score = self.linear(x)
        return torch.cat([score.relu(), (-score).relu()], dim=1) @ self.delta.T


class PaperClassifier(nn.Module):
    """The max over the leaves of each class, one class after the other."""

    def __init__(self, n_features: int, topology: Topology, leaf_class: np.ndarray[Any, Any], n_classes: int) -> None:
        super().__init__()
        self.logits = PaperLogits(n_features, topology)
        self.leaves = [torch.from_numpy(np.flatnonzero(leaf_class == c)) for c in range(n_classes)]

    def forward(self, x: Tensor) -> Tensor:
        logit = self.logits(x)
        pooled = logit.new_empty(len(x), len(self.leaves))
        for c, leaves in enumerate(self.leaves):
            pooled[:, c] = logit[:, leaves].max(dim=1).values
        return pooled


class PaperRegressor(nn.Module):
    """Softmax over the k largest logits; the regressors of all leaves are one linear layer."""

    def __init__(self, n_features: int, topology: Topology) -> None:
        super().__init__()
        self.logits = PaperLogits(n_features, topology)
        self.leaves = nn.Linear(n_features, topology.n_leaves)

    def forward(self, x: Tensor) -> Tensor:
        best, index = torch.topk(self.logits(x), K, dim=1)
        share = torch.softmax(best / TEMPERATURE, dim=1)
        return (share * self.leaves(x).gather(1, index)).sum(dim=1, keepdim=True)


def records() -> list[dict[str, Any]]:
    """Run all cases; times in seconds per epoch."""
    one_thread()
    torch.set_num_threads(1)
    return [*(_classification(*case) for case in CLASSIFICATION), _regression(*REGRESSION)]


def report(found: list[dict[str, Any]]) -> str:
    """Lay out the records as a table, and the share of the matrix products below it."""
    rows = [
        (
            r["case"], f"{r['time'] * 1e3:.2f} ms", f"{r['torch_time'] * 1e3:.1f} ms", f"{r['ratio']:.1f}x",
            f"{r['at_least']:g}x", f"{r['aim']:g}x", f"{r['annealed_ratio']:.2f}x",
        )
        for r in found
    ]  # fmt: skip
    header = ("features, classes, height", "engine", "torch", "ratio", "at least", "aim", "annealed / max-pool")
    lines = [f"Epochs of {N_ROWS:,} rows, batches of {BATCH}.", "", table(header, rows)]
    for r in found:
        if "products" in r:
            p, names = r["products"], {"time": "max-pool", "annealed_time": "annealed pooling"}
            lines += ["", f"Matrix products of {r['case']}, timed alone: scores {p['scores'] * 1e3:.1f} ms, "]
            lines[-1] += f"gradient {p['gradient'] * 1e3:.1f} ms an epoch. Share of the scores' product: "
            lines[-1] += ", ".join(f"{p['scores'] / r[key]:.0%} of {name}" for key, name in names.items())
            lines[-1] += f"; of both: {sum(p.values()) / r['annealed_time']:.0%} of annealed pooling"
            lines[-1] += " (max-pool gathers its gradient along the paths involved)."
    return "\n".join(lines)


def _classification(n_features: int, n_classes: int, height: int, at_least: float, aim: float) -> dict[str, Any]:
    rng, topology = np.random.default_rng(0), Topology.complete(height)
    X = rng.standard_normal((N_ROWS, n_features), dtype=np.float32)
    y = rng.integers(0, n_classes, N_ROWS)
    leaf_class = np.arange(topology.n_leaves) % n_classes
    torch.manual_seed(0)
    network = PaperClassifier(n_features, topology, leaf_class, n_classes)
    parameters = ClassParameters(_matrix(network.logits.linear), leaf_class)
    rows = Rows(X, y, np.ones(N_ROWS, np.float32))
    engines = [cpu_engine(Classification(n_classes), topology, rows, parameters, batch_size=BATCH) for _ in range(2)]
    found = _compare(
        network, functional.cross_entropy, torch.from_numpy(y), engines, (Step(RATE), Step(RATE, temperature=1.0))
    )
    case = {"case": f"{n_features}, {n_classes}, {height}", "at_least": at_least, "aim": aim}
    if (n_features, n_classes, height) == PRODUCTS:
        found["products"] = _products(parameters.splits, X)
    return case | found


def _regression(n_features: int, height: int, at_least: float, aim: float) -> dict[str, Any]:
    rng, topology = np.random.default_rng(0), Topology.complete(height)
    X = rng.standard_normal((N_ROWS, n_features), dtype=np.float32)
    y = rng.standard_normal((N_ROWS, 1), dtype=np.float32)
    torch.manual_seed(0)
    network = PaperRegressor(n_features, topology)
    parameters = RegressionParameters(_matrix(network.logits.linear), _matrix(network.leaves))
    rows = Rows(X, y, np.ones(N_ROWS, np.float32))
    engines = [cpu_engine(Regression(), topology, rows, parameters, batch_size=BATCH) for _ in range(2)]
    steps = Step(RATE, k=K, temperature=TEMPERATURE), Step(RATE, k=ALL, temperature=1.0)
    found = _compare(network, functional.mse_loss, torch.from_numpy(y), engines, steps)
    name = f"regression, Top-{K}, linear leaves: {n_features} features, height {height}"
    return {"case": name, "at_least": at_least, "aim": aim} | found


def _compare(
    network: nn.Module, loss: Callable[..., Tensor], y: Tensor, engines: list[Any], steps: tuple[Step, Step]
) -> dict[str, Any]:
    """Time an epoch of the network, of the engine as the paper has it, and of the engine annealed."""
    X = torch.from_numpy(engines[0].rows.X)
    ours = engines[0].loss(engines[0].rows, steps[0])
    with torch.no_grad():
        theirs = float(loss(network(X), y))
    if not math.isclose(ours, theirs, rel_tol=1e-4):
        raise AssertionError(f"the engine's loss is {ours}, the network's {theirs}: they do not compute the same.")
    optimiser = torch.optim.Adam(network.parameters(), RATE)
    loader = DataLoader(TensorDataset(X, y), batch_size=BATCH, shuffle=True)

    def torch_epoch() -> None:
        for x_batch, y_batch in loader:
            optimiser.zero_grad()
            loss(network(x_batch), y_batch).backward()
            optimiser.step()

    runs = [_epochs(engine, step) for engine, step in zip(engines, steps)]
    time, annealed, torch_time = best_times(*runs, torch_epoch, repeats=REPEATS)
    time, annealed = time / N_EPOCHS, annealed / N_EPOCHS
    return {
        "time": time, "torch_time": torch_time, "ratio": torch_time / time,
        "annealed_time": annealed, "annealed_ratio": annealed / time,
    }  # fmt: skip


def _epochs(engine: Engine, step: Step) -> Callable[[], None]:
    rng = np.random.default_rng(0)

    def run() -> None:
        for _ in range(N_EPOCHS):
            engine.run_epoch(rng.permutation(N_ROWS), step)

    return run


def _products(splits: np.ndarray[Any, Any], X: np.ndarray[Any, Any]) -> dict[str, float]:
    """Time the two matrix products of a batch alone, as often as an epoch needs them."""
    batch = np.column_stack([X[:BATCH], np.ones((BATCH, 1), np.float32)])
    score, gradient, n_batches = np.dot(splits, batch.T), np.empty_like(splits), N_ROWS // BATCH
    out = np.empty_like(score)
    times = best_times(
        lambda: [np.dot(splits, batch.T, out) for _ in range(n_batches)],
        lambda: [np.dot(score, batch, gradient) for _ in range(n_batches)],
        repeats=REPEATS,
    )
    return dict(zip(("scores", "gradient"), times))


def _matrix(layer: nn.Linear) -> np.ndarray[Any, Any]:
    """Weights with the bias as last column."""
    return torch.column_stack([layer.weight, layer.bias]).detach().numpy().copy()


if __name__ == "__main__":
    print(report(records()))
