"""An adaptive neural tree as a torch module, and how it grows.

A row enters at the root as features. Each edge may transform them, each inner node
routes the share ``sigmoid(router)`` to the right, each leaf solves. The prediction is
the mean over leaves, weighted by the probability of reaching them (multi-path), or the
one leaf reached by the more probable sides (single-path).

Growth looks at one leaf at a time, breadth first. Two changes are trained, all other
modules fixed: a router with two solvers below it, or one more transformer before a
new solver. The better of them by validation loss is kept if it beats the leaf as it is.
Afterwards all modules are refined together.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["AdaptiveTree", "Budget", "Part", "grow", "refine"]


LEAST_GAIN = 1e-3
"""Share of the loss that a change must save to be kept."""


class Budget(NamedTuple):
    """How long to train."""

    max_depth: int
    growth_epochs: int
    refinement_epochs: int
    patience: int
    batch_size: int
    learning_rate: float


class Part(NamedTuple):
    """Rows and targets: class codes, or numbers of shape (rows, outputs)."""

    X: Tensor
    y: Tensor

    def take(self, rows: Tensor) -> Part:
        """Some of the rows."""
        return Part(self.X[rows], self.y[rows])


class Node(nn.Module):
    """A leaf with a solver, or a router with two nodes below it; before either, transformers.

    Its depth counts the routers and the transformers on the way to it.
    """

    def __init__(self, n_inputs: int, n_outputs: int, depth: int) -> None:
        super().__init__()
        self.transformers = nn.ModuleList()
        self.n_inputs, self.n_outputs, self.depth = n_inputs, n_outputs, depth
        self.solver: nn.Module | None = nn.Linear(n_inputs, n_outputs)
        self.router: nn.Module | None = None
        self.below = nn.ModuleList()

    @property
    def n_features(self) -> int:
        """Features behind the transformers."""
        return int(self.transformers[-1][0].out_features) if len(self.transformers) else self.n_inputs  # type: ignore[index]

    def features(self, inputs: Tensor) -> Tensor:
        """Pass the transformers."""
        for transformer in self.transformers:
            inputs = transformer(inputs)
        return inputs

    def split(self) -> None:
        """Replace the solver by a router and two leaves that begin as copies of it."""
        self.router = nn.Linear(self.n_features, 1)
        self.below = nn.ModuleList([Node(self.n_features, self.n_outputs, self.depth + 1) for _ in range(2)])
        for child in self.below:
            assert self.solver is not None
            child.solver = copy.deepcopy(self.solver)
        self.solver = None

    def deepen(self, width: int) -> None:
        """Put one more transformer before a new solver."""
        self.transformers.append(nn.Sequential(nn.Linear(self.n_features, width), nn.ReLU()))
        self.solver = nn.Linear(width, self.n_outputs)
        self.depth += 1


class AdaptiveTree(nn.Module):
    """The tree as a function of rows: class probabilities, or numbers."""

    def __init__(self, n_features: int, n_outputs: int, classes: bool) -> None:
        super().__init__()
        self.classes = classes
        self.root = Node(n_features, n_outputs, 0)

    def forward(self, X: Tensor) -> Tensor:
        """Predict by all paths."""
        return self.mix(self.root, X)

    def mix(self, node: Node, inputs: Tensor) -> Tensor:
        """Mean prediction of the leaves below a node."""
        features = node.features(inputs)
        if node.router is None:
            return self.solve(node, features)
        share = torch.sigmoid(node.router(features))
        left, right = (self.mix(child, features) for child in node.below)  # type: ignore[arg-type]
        return (1 - share) * left + share * right

    def solve(self, leaf: Node, features: Tensor) -> Tensor:
        """Prediction of one leaf."""
        assert leaf.solver is not None
        output: Tensor = leaf.solver(features)
        return torch.softmax(output, dim=1) if self.classes else output

    def walk(self, X: Tensor) -> Tensor:
        """Predict by the one path of the more probable sides."""
        output = X.new_empty(len(X), self.root.n_outputs)
        self._walk(self.root, X, torch.arange(len(X)), output)
        return output

    def _walk(self, node: Node, inputs: Tensor, rows: Tensor, output: Tensor) -> None:
        if not len(rows):
            return
        features = node.features(inputs)
        if node.router is None:
            output[rows] = self.solve(node, features)
            return
        right = node.router(features)[:, 0] > 0
        for child, chosen in zip(node.below, (~right, right), strict=True):
            self._walk(child, features[chosen], rows[chosen], output)  # type: ignore[arg-type]

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of classes, or squared error."""
        if self.classes:
            return -prediction.gather(1, y[:, None]).clamp_min(1e-12).log().mean()
        return (prediction - y).square().mean()

    def leaves(self) -> Iterator[Node]:
        """The leaves."""
        for node in self.modules():
            if isinstance(node, Node) and node.router is None:
                yield node

    def seen_by(self, leaf: Node, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs of a leaf, the probability of reaching it, and what all other leaves add to the prediction."""
        reached: list[tuple[Tensor, Tensor]] = []

        def visit(node: Node, inputs: Tensor, reach: Tensor) -> Tensor:
            if node is leaf:
                reached.append((inputs, reach))
                return inputs.new_zeros(len(inputs), node.n_outputs)
            features = node.features(inputs)
            if node.router is None:
                return reach * self.solve(node, features)
            share = torch.sigmoid(node.router(features))
            left, right = node.below
            return visit(left, features, reach * (1 - share)) + visit(right, features, reach * share)  # type: ignore[arg-type]

        with torch.no_grad():
            others = visit(self.root, X, X.new_ones(len(X), 1))
        return *reached[0], others


def grow(tree: AdaptiveTree, train: Part, held: Part, budget: Budget, width: int, rng: np.random.Generator) -> None:
    """Grow a tree, leaf by leaf, until no change of a leaf lowers the validation loss."""
    queue = [tree.root]
    _fit_leaf(tree, tree.root, train, held, budget, rng)
    while queue:
        leaf = queue.pop(0)
        if leaf.depth == budget.max_depth:
            continue
        with torch.no_grad():
            before = float(_leaf_loss(tree, leaf, held)())
        trials = [copy.deepcopy(leaf) for _ in range(2)]
        trials[0].split()
        trials[1].deepen(width)
        losses = [_fit_leaf(tree, leaf, train, held, budget, rng, trial) for trial in trials]
        best = int(np.argmin(losses))
        if losses[best] < before * (1 - LEAST_GAIN):
            _become(leaf, trials[best])
            queue.extend(leaf.below if leaf.router is not None else [leaf])  # type: ignore[arg-type]


def refine(tree: AdaptiveTree, train: Part, held: Part, budget: Budget, rng: np.random.Generator) -> float:
    """Train all modules together; return the validation loss."""

    def loss(rows: Tensor) -> Tensor:
        part = train.take(rows)
        return tree.loss(tree(part.X), part.y)

    def judge() -> Tensor:
        return tree.loss(tree(held.X), held.y)

    return _train(tree, loss, judge, len(train.X), budget, budget.refinement_epochs, rng)


def _leaf_loss(tree: AdaptiveTree, leaf: Node, part: Part, trial: Node | None = None) -> Callable[..., Tensor]:
    """Loss of the tree as a function of one node; everything else is fixed."""
    inputs, reach, others = tree.seen_by(leaf, part.X)
    node = leaf if trial is None else trial

    def loss(rows: Any = slice(None)) -> Tensor:
        return tree.loss(others[rows] + reach[rows] * tree.mix(node, inputs[rows]), part.y[rows])

    return loss


def _fit_leaf(
    tree: AdaptiveTree, leaf: Node, train: Part, held: Part, budget: Budget, rng: np.random.Generator,
    trial: Node | None = None,
) -> float:  # fmt: skip
    """Train the new modules of a leaf; return the validation loss."""
    node = leaf if trial is None else trial
    known = 0 if trial is None or trial.router is not None else 1
    for transformer in list(node.transformers)[: len(node.transformers) - known]:
        transformer.requires_grad_(False)
    loss, judge = _leaf_loss(tree, leaf, train, trial), _leaf_loss(tree, leaf, held, trial)
    best = _train(node, loss, judge, len(train.X), budget, budget.growth_epochs, rng)
    node.requires_grad_(True)
    return best


def _become(leaf: Node, trial: Node) -> None:
    for name in ("transformers", "solver", "router", "below", "depth"):
        setattr(leaf, name, getattr(trial, name))


def _train(
    module: nn.Module, loss: Callable[[Tensor], Tensor], judge: Callable[[], Tensor], n_rows: int, budget: Budget,
    n_epochs: int, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Train by Adam, keep the state with the least validation loss, stop when patience runs out."""
    free: Iterable[Any] = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(free, lr=budget.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_epochs)
    with torch.no_grad():
        best, state, waited = float(judge()), copy.deepcopy(module.state_dict()), 0
    batch_size = min(budget.batch_size, max(1, n_rows // 16))  # a small table still makes 16 steps an epoch
    for _ in range(n_epochs):
        for rows in torch.split(torch.from_numpy(rng.permutation(n_rows)), batch_size):
            optimizer.zero_grad()
            loss(rows).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            now = float(judge())
        waited += 1
        if now < best:
            best, state, waited = now, copy.deepcopy(module.state_dict()), 0
        if waited >= budget.patience:
            break
    module.load_state_dict(state)
    return best
