"""One fit: rows set aside, starts run and judged, the best kept.

What classification and regression share. A start is judged by rows that it was
not trained on: those given as validation rows, or a part of the training rows
set aside. Where there are too few rows to set any aside, the training loss
judges.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.fit.data import Sample, Scaling, split
from dtsemnet.fit.search import Candidate, Plan, race
from dtsemnet.fit.settings import Setting, n_epochs_for
from dtsemnet.kernels import one_thread
from dtsemnet.training import History, Parameters, Problem, ProgressBar, Rows, Training
from dtsemnet.tree import Topology, Tree

__all__ = ["Fitting", "Outcome", "TrainingData"]

logger = logging.getLogger("dtsemnet")

MIN_ROWS = 30
"""Fewest rows of which some are set aside: a handful could not tell two trees apart."""
LAST_SHARE = 0.5
"""Epochs with all rows at the end, as a share of those of a start."""
FEWEST_TO_CHOOSE, FEWEST_TO_KEEP = 10, 45
"""Fewest epochs of a start that is trained on if it is chosen, and of a training that has the last word."""


@dataclass(frozen=True)
class TrainingData:
    """What a tree is fitted to: merged rows, rows to judge by where the user gave some, and names."""

    sample: Sample
    validation: Sample | None
    feature_names: tuple[str, ...]
    class_names: tuple[Any, ...] | None

    @property
    def n_features(self) -> int:
        """Number of features that the tree reads."""
        return int(self.sample.X.shape[1])


@dataclass(frozen=True)
class Outcome:
    """The tree, the course of its training, and all starts."""

    tree: Tree
    history: History
    candidates: tuple[Candidate, ...]


class Fitting(ABC):
    """A fit in the making; the subclasses know what leaves hold.

    Parameters
    ----------
    options : estimator
        Read for its parameters.
    data : TrainingData
    rng : numpy.random.Generator
        All randomness of the fit: the split, then one stream a start.
    init : Tree, optional
        Tree to start from.
    depth : int, optional
        Of the complete tree, where it is not the ``max_depth`` of the options.
    """

    by_class: bool
    pause: float | None
    """Share of the training after which the worse half of the starts is dropped."""

    def __init__(
        self,
        options: Any,
        data: TrainingData,
        rng: np.random.Generator,
        init: Tree | None = None,
        depth: int | None = None,
    ) -> None:
        self.options, self.data, self.init = options, data, init
        depth = options.max_depth if depth is None else depth
        _check_memory(2**depth - 1 if init is None else init.n_splits, data.n_features)
        self.topology = Topology.complete(depth) if init is None else init.topology
        self.scaling = Scaling.of(data.sample)
        self.rng = rng

    @property
    @abstractmethod
    def most_epochs(self) -> int:
        """Most epochs of a start, where their number is not given."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """What the engine solves."""

    @property
    @abstractmethod
    def settings(self) -> tuple[Setting, ...]:
        """What the starts are trained with, in turn."""

    @property
    def trains_on(self) -> bool:
        """Whether the splits of the best tree see the rows set aside; where they stopped early they rest."""
        return not self.options.early_stopping

    @abstractmethod
    def last(self, setting: Setting) -> Setting:
        """What the best tree is trained on with, given what it was trained with."""

    @abstractmethod
    def first_parameters(self) -> Parameters:
        """The initial tree in training coordinates."""

    @abstractmethod
    def begin(
        self, plan: Plan, number: int, setting: Setting, train: Sample, rng: Any, init: Tree | None, n_epochs: int
    ) -> Training[Any]:
        """Make one start ready, from a tree or at random."""

    @abstractmethod
    def judge(
        self, run: Training[Any], number: int, setting: Setting, train: Sample, validation: Sample | None
    ) -> Candidate:
        """Make a tree of what a run has found, and tell how it does."""

    @abstractmethod
    def finish(self, plan: Callable[[], Plan], best: Candidate, rng: Any) -> Candidate:
        """Use the rows that were set aside."""

    @abstractmethod
    def monitor(self, validation: Sample) -> Callable[[Any], float]:
        """Value of an engine in training, for early stopping."""

    @abstractmethod
    def as_it_is(self, tree: Tree, train: Sample, validation: Sample | None) -> Candidate:
        """The initial tree with its leaves fitted to the rows, as one more candidate."""

    def smallest(self) -> Fitting | None:
        """The fit of the smallest tree that could do, if it is smaller than this one; of one start."""
        return None

    def run(self) -> Outcome:
        """Run all starts and keep the best."""
        o, data = self.options, self.data
        n_starts = (len(self.settings) if self.init is None else 1) if o.n_init == "auto" else o.n_init
        train, validation = data.sample, data.validation
        judged = n_starts > 1 or o.early_stopping or self.init is not None
        aside = validation is None and judged and o.validation_fraction > 0 and len(train) >= MIN_ROWS
        split_rng, *streams = self.rng.spawn(n_starts + 1)
        if aside:
            train, validation = split(train, o.validation_fraction, split_rng, by_class=self.by_class)
        with ProgressBar() if o.verbose else nullcontext() as bar:
            return self._run(train, validation, streams, last=aside and o.refit, bar=bar)

    def _run(self, train: Sample, validation: Sample | None, streams: list[Any], *, last: bool, bar: Any) -> Outcome:
        candidates = self._starts(train, validation, streams, last=last, bar=bar)
        best, fitting = min(candidates, key=lambda candidate: candidate.merit), self
        # Only rows that no start has seen can tell that a smaller tree does better.
        judged = self.options.n_init == "auto" and self.init is None and validation is not None and len(streams) > 1
        interrupted = any(candidate.history.stopped == "interrupt" for candidate in candidates)
        smaller = self.smallest() if judged and not interrupted else None
        if smaller is not None:
            streams = [*streams, *self.rng.spawn(1)]
            candidates += smaller._starts(train, validation, streams[-1:], last=last, bar=bar, first=len(streams) - 1)
            if candidates[-1].merit < best.merit:
                best, fitting = candidates[-1], smaller
        for candidate in candidates:
            kept = "kept" if candidate is best else "dropped"
            logger.info("start %d, %s: %s, %s", candidate.number, candidate.setting, candidate.merit, kept)
        if last and best.history.stopped != "interrupt":
            with one_thread():
                stream = np.random.default_rng(streams[best.number].bit_generator.seed_seq.spawn(1)[0])
                done = fitting.finish(
                    lambda: fitting._plan(fitting.rows(self.data.sample), "all rows", bar), best, stream
                )
            # Half trained on it may be worse than the tree that was chosen.
            best = replace(best, history=done.history) if done.history.stopped == "interrupt" else done
        return Outcome(best.tree, best.history, tuple(candidates))

    def _starts(
        self, train: Sample, validation: Sample | None, streams: list[Any], *, last: bool, bar: Any, first: int = 0
    ) -> list[Candidate]:
        """Train the starts, numbered from ``first``, and judge them."""
        o = self.options
        early = o.early_stopping and validation is not None
        plan = replace(
            self._plan(self.rows(train), "start", bar),
            monitor=self.monitor(validation) if early and validation is not None else None,
            patience=o.n_iter_no_change if early else None,
            tol=o.tol,
        )

        numbers = {"learning_rate": o.learning_rate, "weight_decay": o.weight_decay, "l1": o.l1}

        def setting(n: int) -> Setting:
            found = self.settings[n % len(self.settings)]
            return (found if self.init is None else found.warm()).override(**numbers)

        n_epochs = self.n_epochs(train, FEWEST_TO_CHOOSE if last and self.trains_on else FEWEST_TO_KEEP)
        candidates = race(
            lambda n: self.begin(plan, first + n, setting(n), train, streams[n], self.init, n_epochs),
            lambda n, run: self.judge(run, first + n, setting(n), train, validation),
            len(streams), o.n_jobs, self.pause if len(streams) > 2 and validation is not None and not early else None,
        )  # fmt: skip
        return candidates if self.init is None else [self.as_it_is(self.init, train, validation), *candidates]

    def train_on(self, plan: Plan, best: Candidate, rng: Any) -> Training[Any]:
        """Train the best tree on with all rows: it was chosen for what it is, so it is not thrown away."""
        setting = self.last(best.setting)
        n_epochs = round(LAST_SHARE * self.n_epochs(self.data.sample, FEWEST_TO_CHOOSE))
        n_epochs = max(n_epochs, FEWEST_TO_KEEP if self.options.max_iter is None else 1)
        run = self.begin(plan, best.number, setting, self.data.sample, rng, best.tree, n_epochs).start()
        run.advance()
        run.finish()
        return run

    def _plan(self, rows: Rows, stage: str, bar: ProgressBar | None) -> Plan:
        o = self.options
        return Plan(
            self.problem, self.topology, rows, o.batch_size, o.max_grad_norm or 0.0, o.engine, o.device,
            checkpoint=o.checkpoint, stage=stage, bar=bar,
        )  # fmt: skip

    def rows(self, sample: Sample) -> Rows:
        """Copy rows to training coordinates, weights to mean 1."""
        weight = (sample.weight / sample.weight.mean()).astype(np.float32)
        return Rows(self.scaling.apply(sample), self.targets(sample), weight)

    def targets(self, sample: Sample) -> Array:
        """Targets as the engine wants them."""
        return sample.y

    def n_epochs(self, sample: Sample, fewest: int) -> int:
        """Epochs of one start: those that the user gave, or about as many as make the usual number of steps."""
        given, o = self.options.max_iter, self.options
        return n_epochs_for(len(sample), o.batch_size, self.most_epochs, fewest) if given is None else int(given)

    def random_splits(self, rng: np.random.Generator) -> Floats:
        """Splits to start from: normal weights, so that scores have standard deviation about 1."""
        n_columns = self.data.n_features + 1
        n_varying = int((self.scaling.factor > 0).sum())
        return rng.standard_normal((self.topology.n_splits, n_columns)) / np.sqrt(n_varying + 1)

    def first_splits(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Splits of the initial tree in training coordinates, or random ones."""
        return self.random_splits(rng) if init is None else self.scaling.unfold(init.weight, init.bias)

    def skeleton(self, splits: Array) -> Tree:
        """A tree with these splits, folded to raw inputs, whose leaves are yet empty."""
        weight, bias = self.scaling.fold(splits)
        return Tree(self.topology, weight, bias, np.zeros((self.topology.n_leaves, 1)))


def _check_memory(n_splits: int, n_features: int) -> None:
    """Splits, their gradient and two moments, in float32."""
    size = n_splits * (n_features + 1) * 16
    if size > 8e9:
        raise ValueError(
            f"max_depth asks for {n_splits} splits over {n_features} features, {size / 1e9:.0f} GB while "
            "training; lower max_depth."
        )
