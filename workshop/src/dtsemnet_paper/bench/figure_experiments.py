"""Experiments behind the figures that no table holds: each returns a record of plain values.

- *Teacher and student*: a random tree labels points, a student that knows all of it but
  the weight of the root learns that weight back, by Top-2 or by straight-through.
- *Leaf evolution*: how training rows spread over the leaves while a regressor is trained
  by straight-through, by Top-k, and by Top-k that trains only the first leaf's model
  (Top-k/Reg-1), all from one start, with one rate and no refit, so that nothing but the
  selector differs.
- *Loss landscape*: the training loss around a tree, along two random directions whose
  rows have the norms of the tree's splits (filter normalisation; Li et al., 2018).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Topology, Tree

__all__ = ["leaf_evolution", "loss_landscape", "teacher_student"]

TEACHER_ROOT, STUDENT_ROOT = (-0.549, 0.447), (0.25, 0.25)
"""First weights of the root, as published."""


def teacher_student(
    selector: str, *, seed: int = 100, epochs: int = 100, learning_rate: float = 0.01
) -> dict[str, Any]:
    """Learn the root of a random tree of height 5 back from 24,000 points in a square; 6,000 more test it.

    Parameters
    ----------
    selector : {"top_2", "straight_through"}
        Full batches, Adam, temperature 0.5 for Top-2. Errors are those of the tree, not of the function that trains it.

    Returns
    -------
    dict
        ``path`` of the root's weight and ``train`` error before each epoch and at the end, last ``test`` error.
    """
    torch, nn = _torch(), importlib.import_module("dtsemnet.nn")
    generator = torch.Generator().manual_seed(seed)
    teacher = nn.DTSemNet.regressor(2, max_depth=5, selector=nn.Hardmax(), generator=generator).double()
    with torch.no_grad():
        teacher.splits.weight[0] = torch.tensor(TEACHER_ROOT)
        X = torch.rand(30_000, 2, generator=generator, dtype=torch.float64) * 2 - 1
        y, leaves = teacher.predict(X), X @ teacher.head.coef[:, 0].T + teacher.head.value[:, 0]
    rest, bias = teacher.splits.weight.detach()[1:], teacher.splits.bias.detach()
    root = torch.tensor([STUDENT_ROOT], dtype=torch.float64, requires_grad=True)
    choose = nn.TopK(2, 0.5) if selector == "top_2" else nn.StraightThrough()
    optimiser = torch.optim.Adam([root], lr=learning_rate)
    train, test = slice(24_000), slice(24_000, None)

    def logits(rows: slice) -> Any:
        return nn.leaf_logits(X[rows] @ torch.cat([root, rest]).T + bias, teacher.topology)

    def error(rows: slice) -> float:
        with torch.no_grad():
            reached = leaves[rows].gather(1, logits(rows).argmax(dim=1, keepdim=True))
            return float((reached - y[rows]).square().mean().sqrt())

    path, errors = [root.detach()[0].tolist()], [error(train)]
    for _ in range(epochs):
        optimiser.zero_grad()
        predicted = (choose(logits(train)) * leaves[train]).sum(dim=1, keepdim=True)
        (predicted - y[train]).square().mean().backward()
        optimiser.step()
        path.append(root.detach()[0].tolist())
        errors.append(error(train))
    return {"path": path, "train": errors, "test": error(test), "goal": list(TEACHER_ROOT)}


def leaf_evolution(
    selector: str, X: Floats, y: Floats, *, max_depth: int = 5, epochs: int = 50, batch_size: int = 64,
    learning_rate: float = 0.01, decay: float = 0.9, k: int = 4, temperature: float = 0.5, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Train a regressor with linear leaves and count the rows in each leaf before and after each epoch.

    Parameters
    ----------
    selector : {"straight_through", "top_k", "top_k_reg_1"}

    Returns
    -------
    dict
        ``rows``, one sorted list of counts for each epoch, the start first; ``train`` errors in units of y's deviation.
    """
    torch, nn = _torch(), importlib.import_module("dtsemnet.nn")
    generator = torch.Generator().manual_seed(seed)
    inputs, target = _standardised(X), torch.as_tensor((y - y.mean()) / y.std(), dtype=torch.float32)
    inputs = torch.as_tensor(inputs, dtype=torch.float32)
    choose = nn.StraightThrough() if selector == "straight_through" else nn.TopK(k, temperature)
    net = nn.DTSemNet.regressor(X.shape[1], max_depth=max_depth, selector=choose, generator=generator)
    optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, decay)

    def predict(batch: Any) -> Any:
        logits = net.leaf_logits(batch)
        outputs = batch @ net.head.coef[:, 0].T + net.head.value[:, 0]
        if selector == "top_k_reg_1":  # the others take part in the output, but are not trained by it
            first = torch.zeros_like(outputs).scatter_(1, logits.argmax(dim=1, keepdim=True), 1.0)
            outputs = outputs.detach() + first * (outputs - outputs.detach())
        return (choose(logits) * outputs).sum(dim=1)

    rows, errors = [], []

    def look() -> None:
        with torch.no_grad():
            counts = torch.bincount(net.leaf(inputs), minlength=2**max_depth)
            rows.append(sorted(counts.tolist(), reverse=True))
            errors.append(float((net.predict(inputs)[:, 0] - target).square().mean().sqrt()))

    look()
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs), generator=generator).split(batch_size):
            optimiser.zero_grad()
            (predict(inputs[batch]) - target[batch]).square().mean().backward()
            optimiser.step()
        schedule.step()
        look()
    return {"rows": rows, "train": errors}


def loss_landscape(
    tree: Tree, X: Floats, y: Floats, *, network: bool, n_steps: int = 21, reach: float = 1.0, seed: int = 0
) -> dict[str, Any]:
    """Compute the loss of a classifier around its splits, along two filter-normalised random directions.

    Parameters
    ----------
    y : ndarray of class codes, places in ``tree.class_names``
    network : bool
        True: cross-entropy of the max-pooled leaf logits, which depends on every split. False: log loss of the
        leaf reached (at least 0.001 for each class), which is what a network with step functions computes.

    Returns
    -------
    dict
        ``steps`` along both directions and ``loss``, a list of rows.
    """
    rng, scale = np.random.default_rng(seed), X.std(axis=0)
    weight, bias = tree.weight * scale, tree.bias + tree.weight @ X.mean(axis=0)
    splits = np.column_stack([weight, bias])
    norm = np.linalg.norm(splits, axis=1, keepdims=True)
    first, second = (
        direction / np.linalg.norm(direction, axis=1, keepdims=True) * norm
        for direction in rng.normal(size=(2, *splits.shape))
    )
    measure = _pooled_loss(tree, y) if network else _leaf_loss(tree, y)
    rows = np.column_stack([_standardised(X), np.ones(len(X))])
    steps = np.linspace(-reach, reach, n_steps)
    loss = [[measure(rows @ (splits + a * first + b * second).T) for b in steps] for a in steps]
    return {"steps": steps.tolist(), "loss": loss}


def _pooled_loss(tree: Tree, y: Floats) -> Any:
    torch, nn = _torch(), importlib.import_module("dtsemnet.nn")
    held = np.isin(y, tree.leaf_class)  # a class that no leaf holds has an infinite loss wherever one looks
    pool = nn.ClassMaxPool(tree.leaf_class, tree.n_outputs)
    target = torch.as_tensor(y[held], dtype=torch.int64)

    def measure(scores: Floats) -> float:
        logits = nn.leaf_logits(torch.as_tensor(scores[held]), tree.topology)
        return round(float(torch.nn.functional.cross_entropy(pool(logits), target)), 5)

    return measure


def _leaf_loss(tree: Tree, y: Floats) -> Any:
    frequency = np.maximum(tree.value, 1e-3)
    table = -np.log(frequency / frequency.sum(axis=1, keepdims=True))

    def measure(scores: Floats) -> float:
        return round(float(table[_reached(tree.topology, scores), y].mean()), 5)

    return measure


def _reached(topology: Topology, scores: Floats) -> Any:
    """Leaf of each row, from the scores of all splits."""
    node = np.zeros(len(scores), dtype=np.int64) if topology.n_splits else np.full(len(scores), -1)
    rows = np.arange(len(scores))
    for _ in range(topology.depth):
        inner = node >= 0
        right = (scores[rows[inner], node[inner]] > 0).astype(np.int64)
        node[inner] = topology.children[node[inner], right]
    return ~node


def _standardised(X: Floats) -> Floats:
    deviation = X.std(axis=0)
    standard: Floats = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return standard


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "this experiment needs torch, which is not installed; install it by: pip install 'dtsemnet[torch]'",
            name="torch",
        ) from None
