"""What trees trained by gradient descent share: settings tried side by side, judged on rows set aside.

Each start has its own seed and the next setting of a small grid. At two fifths of the
training the worse half is dropped. The best on validation rows is kept, and trained
once more on all rows where those were a part of the training rows. No test row is seen.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.fit.data import Sample, Scaling, split, target_scale
from dtsemnet.fit.fitting import MIN_ROWS, TrainingData
from dtsemnet.fit.leaves import count_classes, guard_of, leaves_of
from dtsemnet.fit.search import Candidate, race
from dtsemnet.fit.settings import n_epochs_for
from dtsemnet.kernels import one_thread
from dtsemnet.training import History, Phase, ProgressBar, Rows, Step, Training
from dtsemnet.training.cpu import CompiledEngine
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.common import is_constant, one_leaf

__all__ = ["GradientEngine", "GradientFitting", "fit_by_gradient"]


PAUSE = 0.4
"""Share of the training after which the worse half of the starts is dropped."""
FEWEST_EPOCHS, MOST_EPOCHS = 20, 200


class GradientEngine(CompiledEngine):
    """Parameters trained by a compiled epoch on indicators of classes or on standardised targets."""

    @abstractmethod
    def advance(self, order: Ints, step: Step) -> tuple[float, int]:
        """Train on the rows in ``order``; return the sum of the losses and the number of steps."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        """Train on the rows in ``order``, batch by batch; return the mean loss."""
        total, taken = self.advance(order, step)
        self._count(total, taken, order)
        return total / len(order)

    def values(self, name: str) -> Floats:
        """A parameter as it is now, in float64."""
        return self.trained[name].value.astype(np.float64)


class GradientFitting(ABC):
    """A fit in the making; a method says what is trained and what tree it makes.

    Parameters
    ----------
    options : estimator
        Read for its parameters.
    data : TrainingData
    rng : numpy.random.Generator
        All randomness of the fit: the split, then one stream a start.
    settings : sequence
        What the starts are trained with, in turn.
    """

    def __init__(self, options: Any, data: TrainingData, rng: np.random.Generator, settings: Sequence[Any]) -> None:
        self.options, self.data, self.rng, self.settings = options, data, rng, settings
        self.topology = Topology.complete(options.max_depth)
        self.scaling = Scaling.of(data.sample)
        self.classes = data.class_names is not None
        self.n_outputs = len(data.class_names) if data.class_names is not None else data.sample.y.shape[1]
        self.linear = not self.classes and options.leaf == "linear"
        self.y_center: Floats = np.zeros(self.n_outputs)
        self.y_scale: Floats = np.ones(self.n_outputs)
        if not self.classes:
            self.y_center, self.y_scale = target_scale(data.sample)

    @abstractmethod
    def phases(self, setting: Any, n_epochs: int) -> tuple[Phase, ...]:
        """Lay out the training of one start."""

    @abstractmethod
    def engine(self, setting: Any, rows: Rows, rng: np.random.Generator) -> GradientEngine:
        """Parameters to start from."""

    @abstractmethod
    def tree(self, engine: Any, train: Sample) -> Tree:
        """Make a tree of what was trained."""

    def keep(self, engine: Any) -> Any:
        """What is kept beside the tree."""
        return None

    def run(self) -> Candidate:
        """Run all starts and keep the best."""
        o, train, validation = self.options, self.data.sample, self.data.validation
        n_starts = len(self.settings) if o.n_init == "auto" else int(o.n_init)
        split_rng, *streams = self.rng.spawn(n_starts + 1)
        aside = validation is None and n_starts > 1 and o.validation_fraction > 0 and len(train) >= MIN_ROWS
        if aside:
            train, validation = split(train, o.validation_fraction, split_rng, by_class=self.classes)
        with ProgressBar() if o.verbose else nullcontext() as bar:
            start = functools.partial(self._start, self.rows(train), streams, bar, "start")
            judge = functools.partial(self._judge, train, validation)
            pause = PAUSE if n_starts > 2 and validation is not None else None
            best = min(race(start, judge, n_starts, o.n_jobs, pause), key=lambda candidate: candidate.merit)
            if aside and o.refit and best.history.stopped != "interrupt":
                best = self._refit(best, streams[best.number].bit_generator.seed_seq, bar)
        return best

    def _refit(self, best: Candidate, seed: Any, bar: ProgressBar | None) -> Candidate:
        """Train the best start once more, on all rows."""
        streams = {best.number: np.random.default_rng(seed)}
        with one_thread():
            run = self._start(self.rows(self.data.sample), streams, bar, "all rows", best.number).start()
            run.advance()
            run.finish()
            return self._judge(self.data.sample, None, best.number, run)

    def _start(self, rows: Rows, streams: Any, bar: ProgressBar | None, stage: str, number: int) -> Training[Any]:
        setting, rng = self.settings[number % len(self.settings)], streams[number]
        engine: Any = self.engine(setting, rows, rng)
        shown = [bar.run(f"{stage} {number + 1}")] if bar else []
        phases = self.phases(setting, self.n_epochs(len(rows.X)))
        return Training(engine, phases, rng, n_samples=len(rows.X), callbacks=shown)

    def _judge(self, train: Sample, validation: Sample | None, number: int, run: Training[Any]) -> Candidate:
        tree, setting = self.tree(run.engine, train), self.settings[number % len(self.settings)]
        merit = [self._error(tree, train)]
        if validation is not None:
            merit = [self._error(tree, validation), *merit]
        return Candidate(tree, tuple(merit), run.history, setting, number, self.keep(run.engine))

    def _error(self, tree: Tree, sample: Sample) -> float:
        """Share of wrong classes, or mean square in units of the targets' variance."""
        if self.classes:
            table = count_classes(tree, sample, self.n_outputs)
            return float(1 - table[np.arange(tree.n_leaves), tree.leaf_class].sum() / table.sum())
        total = 0.0
        for part, rows in sample.blocks():
            miss = (tree.predict(rows).reshape(len(rows), -1) - sample.y[part]) / self.y_scale
            total += float(sample.weight[part] @ np.square(miss).mean(axis=1))
        return total / float(sample.weight.sum())

    def rows(self, sample: Sample) -> Rows:
        """Copy rows to training coordinates: standardised, classes as indicators, weights of mean 1."""
        targets = np.eye(self.n_outputs)[sample.y] if self.classes else (sample.y - self.y_center) / self.y_scale
        weight = sample.weight / sample.weight.mean()
        return Rows(self.scaling.apply(sample), targets.astype(np.float32), weight.astype(np.float32))

    def n_epochs(self, n_rows: int) -> int:
        """Epochs of one start."""
        given, o = self.options.max_iter, self.options
        return int(given) if given is not None else n_epochs_for(n_rows, o.batch_size, MOST_EPOCHS, FEWEST_EPOCHS)

    def number_tree(self, splits: Floats, leaves: Floats, train: Sample) -> Tree:
        """Fold splits and leaf models, given in training coordinates, into a regression tree."""
        weight, bias = self.scaling.fold(splits)
        n_leaves, n_outputs = self.topology.n_leaves, self.n_outputs
        coef, value = None, leaves[:, -1].reshape(n_leaves, n_outputs)
        if self.linear:
            slopes, offset = self.scaling.fold(leaves)
            coef = slopes.reshape(n_leaves, n_outputs, -1) * self.y_scale[:, None]
            value = offset.reshape(n_leaves, n_outputs)
        value = value * self.y_scale + self.y_center
        lower, upper = None, None
        if self.options.guard:
            skeleton = Tree(self.topology, weight, bias, value)
            lower, upper = guard_of(leaves_of(skeleton, train), train.y, n_leaves)
        return Tree(self.topology, weight, bias, value, coef, lower, upper, feature_names=self.data.feature_names)

    def class_tree(self, splits: Floats, value: Floats) -> Tree:
        """Fold splits, given in training coordinates, into a tree whose leaves hold class probabilities."""
        weight, bias = self.scaling.fold(splits)
        names = self.data.feature_names
        return Tree(self.topology, weight, bias, value, feature_names=names, class_names=self.data.class_names)


def fit_by_gradient(
    estimator: Any, data: TrainingData, fitting: type[GradientFitting], rng: np.random.Generator, settings: Any
) -> Candidate:
    """Run a fit, or answer with a constant where there is nothing to explain."""
    if is_constant(data):
        best = Candidate(one_leaf(data), (0.0,), History(), None, 0)
    else:
        best = fitting(estimator, data, rng, settings).run()
    estimator.history_ = best.history
    return best
