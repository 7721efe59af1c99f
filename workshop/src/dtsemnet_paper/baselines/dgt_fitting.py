"""How a dense gradient tree is trained: parameters, epochs, and the tree that they fold into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.fit.data import Sample
from dtsemnet.training import Cosine, Decay, Phase, Rows, Step
from dtsemnet.tree import Tree
from dtsemnet_paper.baselines.gradient import GradientEngine, GradientFitting
from dtsemnet_paper.baselines.kernels import dgt as kernels
from dtsemnet_paper.baselines.kernels.descent import ADAM, RMSPROP, SGD

__all__ = ["OPTIMIZERS", "DGTEngine", "DGTFitting", "Setting"]


OPTIMIZERS = {"adam": ADAM, "rmsprop": RMSPROP, "sgd": SGD}


@dataclass(frozen=True)
class Setting:
    """What one start is trained with."""

    learning_rate: float
    l1_penalty: float
    batch_norm: bool


class DGTEngine(GradientEngine):
    """Splits, their normalisation and leaves, trained with quantised gradients."""

    def __init__(self, rows: Rows, options: Any, classes: bool, l1_penalty: float, **more: Any) -> None:
        super().__init__(rows, batch_size=options.batch_size, **more)
        self.classes = classes
        clip, l1 = float(options.max_grad_norm or 0.0), float(l1_penalty)
        self.rates = kernels.DGTRates(OPTIMIZERS[options.optimizer], 0.0, l1, 0.0 if classes else l1, clip)

    def advance(self, order: Ints, step: Step) -> tuple[float, int]:
        return kernels.dgt_epoch(
            self.rows,
            order,
            self.batch_size,
            self.topology.children,
            self.trained["splits"],
            self.trained["norm"],
            self.trained["leaves"],
            self.classes,
            self.n_steps,
            self.rates._replace(rate=float(step.learning_rate)),
        )

    def folded_splits(self) -> Floats:
        """Splits with the normalisation folded in, by the mean and deviation of their scores over all rows."""
        splits, norm = self.values("splits"), self.values("norm")
        if not len(norm):
            return splits
        total, square, n_rows = 0.0, 0.0, len(self.rows.X)
        for start in range(0, n_rows, 65536):
            scores = self.rows.X[start : start + 65536].astype(np.float64) @ splits[:, :-1].T
            total, square = total + scores.sum(axis=0), square + np.square(scores).sum(axis=0)
        mean = total / n_rows
        deviation = np.sqrt(np.maximum(square / n_rows - mean**2, 0) + kernels.EPSILON)
        factor = norm[:, 0] / deviation
        return np.column_stack([splits[:, :-1] * factor[:, None], norm[:, 1] - mean * factor])


class DGTFitting(GradientFitting):
    """A dense gradient tree in the making."""

    def phases(self, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
        rate, decay = setting.learning_rate, self.options.decay
        return (Phase(n_epochs, Cosine(rate) if decay is None else Decay(rate, decay)),)

    def engine(self, setting: Setting, rows: Rows, rng: np.random.Generator) -> DGTEngine:
        n_splits, n_leaves, n_features = self.topology.n_splits, self.topology.n_leaves, self.data.n_features
        n_columns = n_features + 1 if self.linear else 1
        splits = rng.uniform(-1, 1, (n_splits, n_features + 1)) / np.sqrt(n_features)
        splits[:, -1] = 0.0
        leaves = rng.uniform(-1, 1, (n_leaves * self.n_outputs, n_columns))
        leaves /= np.sqrt(n_features if self.linear else n_leaves)
        norm = np.tile([1.0, 0.0], (n_splits if setting.batch_norm else 0, 1))
        return DGTEngine(
            rows, self.options, self.classes, setting.l1_penalty, topology=self.topology, splits=splits, norm=norm,
            leaves=leaves,
        )  # fmt: skip

    def tree(self, engine: DGTEngine, train: Sample) -> Tree:
        splits, leaves = engine.folded_splits(), engine.values("leaves")
        if not self.classes:
            return self.number_tree(splits, leaves, train)
        logits = leaves.reshape(self.topology.n_leaves, self.n_outputs)
        value = np.exp(logits - logits.max(axis=1, keepdims=True))
        return self.class_tree(splits, value / value.sum(axis=1, keepdims=True))
