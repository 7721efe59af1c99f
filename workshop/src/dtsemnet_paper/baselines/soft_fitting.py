"""How a soft tree is trained and hardened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import Sample, Scaling
from dtsemnet.fit.leaves import PENALTIES, count_classes, frequencies, ridge_paths
from dtsemnet.training import Cosine, Geometric, Phase, Rows, Step
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.gradient import GradientEngine, GradientFitting
from dtsemnet_paper.baselines.kernels.soft import SoftLoss, SoftRates, soft_epoch, soft_outputs

__all__ = ["Setting", "SoftFitting", "SoftNetwork"]


@dataclass(frozen=True)
class Setting:
    """What one start is trained with; the temperature falls from 1 to this."""

    learning_rate: float
    temperature: float


@dataclass(frozen=True)
class SoftNetwork:
    """The soft tree as it was trained; leaves answer in probabilities or in standardised targets."""

    topology: Topology
    splits: Floats
    leaves: Floats
    temperature: float
    scaling: Scaling
    y_center: Floats
    y_scale: Floats

    def outputs(self, X: Array) -> Floats:
        """Mean output of the leaves for encoded rows."""
        sample = Sample(X, np.arange(len(X)), np.empty(len(X)), np.ones(len(X)))
        rows = self.scaling.apply(sample, np.float64)
        mixed: Floats = soft_outputs(
            rows, self.topology.children, self.splits, self.leaves, len(self.y_center), self.temperature
        )
        return mixed * self.y_scale + self.y_center


class SoftEngine(GradientEngine):
    """Splits and leaves, trained softly."""

    def __init__(self, rows: Rows, options: Any, classes: bool, penalty: Floats, **more: Any) -> None:
        super().__init__(rows, batch_size=options.batch_size, **more)
        self.classes, self.penalty, self.temperature = classes, penalty, 1.0
        self.decay, self.clip = float(options.weight_decay), float(options.max_grad_norm or 0.0)

    def advance(self, order: Ints, step: Step) -> tuple[float, int]:
        self.temperature = float(step.temperature)
        return soft_epoch(
            self.rows,
            order,
            self.batch_size,
            self.topology.children,
            self.trained["splits"],
            self.trained["leaves"],
            self.n_steps,
            SoftLoss(self.classes, self.temperature, self.penalty),
            SoftRates(float(step.learning_rate), self.decay, self.clip),
        )


class SoftFitting(GradientFitting):
    """A soft tree in the making."""

    def phases(self, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
        return (Phase(n_epochs, Cosine(setting.learning_rate), temperature=Geometric(1.0, setting.temperature)),)

    def engine(self, setting: Setting, rows: Rows, rng: np.random.Generator) -> SoftEngine:
        n_splits, n_leaves, n_features = self.topology.n_splits, self.topology.n_leaves, self.data.n_features
        splits = rng.standard_normal((n_splits, n_features + 1)) / np.sqrt(n_features + 1)
        shape = (n_leaves, self.n_outputs)
        if not self.classes:
            shape = (n_leaves * self.n_outputs, n_features + 1 if self.linear else 1)
        leaves = rng.standard_normal(shape) * 0.1
        level = np.floor(np.log2(np.arange(n_splits) + 1))
        penalty = (self.options.balance * 0.5**level).astype(rows.X.dtype)
        return SoftEngine(
            rows, self.options, self.classes, penalty, topology=self.topology, splits=splits, leaves=leaves
        )

    def tree(self, engine: SoftEngine, train: Sample) -> Tree:
        """Harden the splits, and fit the leaves to the rows that reach them."""
        splits, leaves = engine.values("splits"), engine.values("leaves")
        weight, bias = self.scaling.fold(splits)
        skeleton = Tree(self.topology, weight, bias, np.zeros((self.topology.n_leaves, 1)))
        if self.classes:
            table = count_classes(skeleton, train, self.n_outputs) / train.weight.mean()
            # A leaf that no row reached holds the class it was trained for: rows to come will lie near its like.
            empty = np.flatnonzero(table.sum(axis=1) == 0)
            table[empty, leaves.argmax(axis=1)[empty]] = 2
            return self.class_tree(splits, frequencies(self.topology, table))
        scaled = Sample(train.X, train.index, (train.y - self.y_center) / self.y_scale, train.weight)
        paths = ridge_paths(
            skeleton, scaled, self.scaling, linear=self.linear, augmented=False,
            penalties=PENALTIES if self.linear else PENALTIES[:1],
        )  # fmt: skip
        model = paths.leaves[int(np.argmin(paths.left_out))]
        return self.number_tree(splits, model.reshape(len(leaves), -1), train)

    def keep(self, engine: SoftEngine) -> SoftNetwork:
        leaves = engine.values("leaves")
        if self.classes:
            leaves = np.exp(leaves - leaves.max(axis=1, keepdims=True))
            leaves = (leaves / leaves.sum(axis=1, keepdims=True)).reshape(-1, 1)
        return SoftNetwork(
            self.topology, engine.values("splits"), leaves, engine.temperature, self.scaling, self.y_center,
            self.y_scale,
        )  # fmt: skip
