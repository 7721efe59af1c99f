"""The course of a fit, from the rows to the tree.

By default a fit chooses the shape of the tree (:func:`fit`):

1. The task lists plans: where a tree begins, how large it is, what it is trained with.
2. A small table is cut into five parts. Every plan is carried out five times, each time without one
   part, which then judges the tree; plans that fall behind are dropped on the way. Of a large table
   one part is set aside, or the user's validation rows take its place.
3. The trees of the leading plans are pruned, less and more, and judged again by the same rows.
4. The best wins, or one with fewer leaves that is nearly as good.
5. It is carried out with all rows. What the trees of the best plans said of rows that they had not seen
   makes half of the targets of a regressor, which have less noise then, and calibrates the
   probabilities of a classifier. If the training of a classifier fails this time, the best of the five trees
   is trained on instead.

If the user fixes the course (``effort=0``, a number of starts, a tree to start from, early stopping), and for
other methods, :func:`compare_starts` trains a few starts of one shape, compares them on rows that were set
aside, and trains the best on with all rows.

Starts run in threads (the compiled kernels release the interpreter's lock), each on one
core. They meet only where they are compared, so the result does not depend on the number
of jobs. With a checkpoint folder, a fit that was killed resumes to the same bytes.

The first Ctrl-C sets an event that all trainings of the fit share. They end after the epoch that they are
in, nothing new begins, and the best tree so far is handed back; if there is none yet, ``KeyboardInterrupt``
is raised.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.fit.data import Fold, Sample, cross_folds, set_aside
from dtsemnet.fit.initial_trees import Grown, InitialTree
from dtsemnet.fit.judging import Verdict, is_behind
from dtsemnet.fit.leaves import LeafFit
from dtsemnet.fit.plans import Plan
from dtsemnet.fit.pruning import Limits
from dtsemnet.fit.settings import Setting, n_epochs_for
from dtsemnet.fit.tasks import Candidate, OurTask, Task, Watch
from dtsemnet.folders import own_folder
from dtsemnet.kernels import one_thread
from dtsemnet.training import Checkpoint, History, Phase, ProgressBar, Rows, Training
from dtsemnet.training.interrupts import heed_interrupts
from dtsemnet.tree import Tree

__all__ = ["fit", "train_one_epoch"]

logger = logging.getLogger("dtsemnet")

LAST_SHARE = 0.5
"""Number of epochs of the last training, with all rows, as a share of those of a start."""
MOST_COPIES = 4.0
"""Largest factor by which equal rows that were merged make the epochs more."""
PRUNINGS = (1.0, 3.0, 8.0)
"""How hard the trees of the leading plans are pruned, in the units of :meth:`OurTask.smaller_trees`."""
LEADERS = 3
"""Plans whose trees are also judged after pruning."""
TEACHERS = 5
"""Plans whose cross-fitted answers smooth the last targets."""


def fit(task: Task[Any, Any], rng: np.random.Generator, watch: Watch | None = None) -> Candidate:
    """Fit a tree: carry out plans on parts of the rows, judge them by the other rows, carry out the best with all rows.

    Parameters
    ----------
    task : Task
        What is fitted, to which data, with which options. One without plans compares starts.
    rng : numpy.random.Generator
        All randomness of the fit: how the rows are divided, then one stream for each plan or start.
    watch : callable, optional
        Makes a callback for each training.
    """
    task.watch = watch
    plans = task.plans()
    display = ProgressBar() if task.options.verbose else nullcontext()
    with _own(task.options.checkpoint), heed_interrupts() as interrupted, one_thread(), display as bar:
        if not plans:
            return _told(compare_starts(task, rng, bar, interrupted), interrupted)
        assert isinstance(task, OurTask)
        fold_rng, *streams = rng.spawn(len(plans) + 1)
        folds = cross_folds(task.data, task.options.validation_fraction, fold_rng)
        entrants = [Entrant(task, n, plan, streams[n].spawn(len(folds) + 1)) for n, plan in enumerate(plans)]
        before: tuple[Entrant, Candidate] | None = None
        for number, fold in enumerate(folds):
            stage = Stage(task, f"fold {number + 1} plan", fold.train, fold.held, bar, interrupted)
            starts = [entrant.start(stage, number) for entrant in entrants if not interrupted.is_set()]
            if bar is not None:
                costs = [start.n_epochs for start in starts if start.setting is not None]
                bar.expect(sum(costs) * (len(folds) - number) + (1 + LAST_SHARE) * max(costs, default=0))
            _run(stage, starts, pauses=len(folds) == 1)
            if interrupted.is_set() and before is not None:  # the trees of the fold before were not cut short
                best, tree = before
                return _told(best.finished(tree, folds[number - 1].train, folds[:number]), interrupted)
            for entrant in entrants:
                entrant.take_in(fold)
            entrants = [entrant for entrant in entrants if entrant.verdict is not None]
            if not entrants and interrupted.is_set():
                raise KeyboardInterrupt
            best = min(entrants, key=attrgetter("loss"))
            before = best, best.candidate
            if interrupted.is_set():
                return _told(best.finished(best.candidate, fold.train, folds[:number]), interrupted)
            if number > 0:  # one fold alone is too easily led astray
                entrants = [entrant for entrant in entrants if not is_behind(entrant.judged, best.judged)]
        leaders = [leader for limit in task.column_limits for leader in _leaders(entrants, limit)]
        rivals = [*entrants, *(smaller for entrant in leaders for smaller in entrant.smaller(folds))]
        best = rivals[task.choose([entrant.judged for entrant in rivals])]
        for entrant in rivals:
            outcome = "chosen" if entrant is best else "not chosen"
            logger.info("%s: loss %.4f, %.1f leaves, %s", entrant, entrant.loss, entrant.judged.n_leaves, outcome)
        if task.data.validation is not None:
            return _told(best.finished(best.candidate, task.data.sample, folds), interrupted)
        is_trained, seed = best.plan.setting is not None, best.streams[-1].bit_generator.seed_seq
        if is_trained and len(folds) == 1:
            last = train_on(*best.best_of_folds(), seed, bar, interrupted)
            return _told(best.finished(last, task.data.sample, folds), interrupted)
        if bar is not None:
            bar.expect((1 + LAST_SHARE) * best.epochs)
        last = best.anew(folds, entrants, bar, interrupted)
        if is_trained and not interrupted.is_set() and task.may_have_failed(last.tree):
            # Training from the beginning can fail. Then the best tree of the folds, trained on, is clearly better.
            second = train_on(*best.best_of_folds(), seed, bar, interrupted)
            last = second if task.is_clearly_better(second.tree, last.tree) else last
        return _told(best.finished(last, task.data.sample, folds), interrupted)


def _leaders(entrants: Sequence[Entrant], n_columns: int | None) -> list[Entrant]:
    """The best entrants with a limit on the columns of a split, best first."""
    alike = [entrant for entrant in entrants if entrant.plan.n_columns == n_columns]
    return sorted(alike, key=attrgetter("loss"))[:LEADERS]


def _own(checkpoint: Any) -> AbstractContextManager[None]:
    """Lock the folder of checkpoints, if there is one."""
    if checkpoint is None:
        return nullcontext()
    busy = f"checkpoint folder {str(checkpoint)!r} is used by another fit; wait for it, or name another folder."
    return own_folder(Path(checkpoint), busy=busy)


def _told(found: Candidate, interrupted: threading.Event) -> Candidate:
    """Let the history of the fit say so if it was ended by Ctrl-C."""
    return replace(found, history=replace(found.history, stopped="interrupt")) if interrupted.is_set() else found


@dataclass(eq=False)
class Entrant:
    """A plan on its way through the folds."""

    task: OurTask[Any]
    number: int
    plan: Plan
    streams: Sequence[np.random.Generator]
    """One for each fold, and one for all rows."""
    current: Start | None = field(init=False, default=None)
    trained: list[tuple[Task[Any, Any], Candidate]] = field(init=False, default_factory=list)
    """For each fold so far the task in the shape of the plan, and the tree that it has reached."""
    trees: list[Tree] = field(init=False, default_factory=list)
    """Those of the folds so far, their leaves not yet fitted."""
    outcomes: list[Any] = field(init=False, default_factory=list)
    verdict: Verdict | None = field(init=False, default=None)
    pruning: float = field(init=False, default=0.0)
    """What a leaf must save, in the units of :meth:`OurTask.smaller_trees`."""

    def __str__(self) -> str:
        return f"{self.plan}{f', pruned by {self.pruning:g}' if self.pruning else ''}"

    @property
    def judged(self) -> Verdict:
        """The verdict so far."""
        assert self.verdict is not None
        return self.verdict

    @property
    def loss(self) -> float:
        """Mean loss so far."""
        return self.judged.mean

    @property
    def epochs(self) -> int:
        """Epochs of its last training; 0 if it is not trained."""
        return 0 if self.current is None or self.plan.setting is None else self.current.n_epochs

    @property
    def candidate(self) -> Candidate:
        """The tree of the last fold."""
        assert self.current is not None
        assert self.current.candidate is not None
        return self.current.candidate

    def start(self, stage: Stage, number: int, grown_from: Rows | None = None) -> Start:
        """Begin the plan on the rows of a stage; its tree is grown from them unless other rows are given."""
        rng, tree = self.streams[number], self.plan.tree
        rows = stage.rows if grown_from is None else grown_from
        key = tree, self.plan.n_columns
        if key not in stage.grown:  # another plan may begin with the same tree
            stage.grown[key] = self.task.grow(self.plan, rows, rng)
        task, setting, init = self.task.follow(self.plan, stage.grown[key], rows.X, stage.train)
        copies = min(float(task.data.sample.copies.mean()), MOST_COPIES)
        n_epochs = _n_epochs(task, len(stage.train), is_final=stage.held is None, copies=copies)
        self.current = Start(stage, self.number, setting, rng, init, n_epochs, shape=task)
        return self.current

    def take_in(self, fold: Fold) -> None:
        """Let the rows of a fold judge its tree; a plan that was dropped or interrupted has none."""
        before, self.verdict = self.verdict, None
        if self.current is not None and self.current.candidate is not None:
            self.trees.append(self.task.pruned(self.candidate.tree, fold.train))
            self.trained.append((self.current.task, self.candidate))
            self.outcomes.append(self.task.outcome(self.trees[-1], fold.train, fold.held))
            self.verdict = self.task.judge(self.outcomes, before)

    def smaller(self, folds: Sequence[Fold]) -> list[Entrant]:
        """The same plan with its trees pruned, less and more, and judged anew."""
        verdict, pairs = self.judged, list(zip(self.trees, folds))
        by_fold = [self.task.smaller_trees(tree, fold.train, verdict, PRUNINGS) for tree, fold in pairs]
        entrants, sizes = [], {sum(tree.n_leaves for tree in self.trees)}
        for pruning, trees in zip(PRUNINGS, zip(*by_fold)):
            if (size := sum(tree.n_leaves for tree in trees)) not in sizes:  # else it is the same tree again
                sizes.add(size)
                entrant = copy(self)
                entrant.pruning, entrant.trees = pruning, list(trees)
                entrant.outcomes = [self.task.outcome(tree, f.train, f.held) for tree, f in zip(trees, folds)]
                entrant.verdict = self.task.judge(entrant.outcomes, verdict)
                entrants.append(entrant)
        return entrants

    def anew(
        self,
        folds: Sequence[Fold],
        entrants: Sequence[Entrant],
        bar: ProgressBar | None,
        interrupted: threading.Event,
    ) -> Candidate:
        """Carry out the plan with all rows, from its beginning."""
        sample = train = self.task.data.sample
        if len(folds) > 1 and self.plan.setting is not None:
            teachers = sorted(entrants, key=lambda entrant: entrant.loss)[:TEACHERS]
            train = self.task.smoothed(sample, _cross_fitted(folds, [entrant.judged for entrant in teachers]))
        stage = Stage(self.task, "all rows plan", train, None, bar, interrupted)
        start = self.start(stage, len(folds), self.task.rows(sample))
        start.train(1.0)
        if start.candidate is None:  # interrupted before its first epoch
            return self.candidate
        # A tree whose last training was interrupted may be worse than that of the last fold.
        last = self.candidate if start.candidate.history.stopped == "interrupt" else start.candidate
        return replace(last, history=start.candidate.history)

    def best_of_folds(self) -> tuple[Task[Any, Any], Candidate]:
        """The trained tree that suits all rows best, and the task in its shape."""
        sample, leaf_fit = self.task.data.sample, self.judged.leaf_fit
        scores = [self.task.fill(candidate.tree, None, sample, None, leaf_fit).score for _, candidate in self.trained]
        task, candidate = self.trained[scores.index(min(scores))]
        return task, replace(candidate, leaf_fit=leaf_fit)

    def finished(self, last: Candidate, sample: Sample, folds: Sequence[Fold]) -> Candidate:
        """The candidate with its leaves fitted to the rows of a sample, in the way that was judged best."""
        tree = self.task.pruned(last.tree, sample)
        if self.pruning:
            (tree,) = self.task.smaller_trees(tree, sample, self.judged, (self.pruning,))
        tree = self.task.fill(tree, None, sample, None, self.judged.leaf_fit).tree
        calibration = self.judged.calibration if tree.n_splits else None  # one leaf has no margins: its shares say all
        probability = None if calibration is None else calibration.for_tree(tree, sample)
        return replace(
            last, tree=tree, score=(self.loss,), leaf_fit=self.judged.leaf_fit, probability=probability,
            cross_fit=self.cross_fit(folds) if folds else None, verdict=self.judged,
        )  # fmt: skip

    def cross_fit(self, folds: Sequence[Fold]) -> CrossFit:
        """The trees of the folds with their leaves fitted, and how far each was off on rows that it had not seen."""
        task, verdict = self.task, self.judged
        pairs = list(zip(self.trees, folds))
        trees = tuple(task.fill(tree, None, fold.train, None, verdict.leaf_fit).tree for tree, fold in pairs)
        ends = np.cumsum([len(fold.held) for fold in folds])
        errors = task.errors(verdict, np.concatenate([fold.held.y for fold in folds]))[: ends[-1]]
        # In units of one row, so that weights of 2 count as two rows, and weights of 0.5 each as one.
        unit = task.data.sample.weight.sum() / task.data.sample.copies.sum()
        weights = [fold.held.weight / unit for fold in folds]
        calibration = verdict.calibration
        rules = (
            () if calibration is None else tuple(calibration.for_tree(t, f.train) for t, (_, f) in zip(trees, pairs))
        )
        return CrossFit(trees, tuple(np.split(errors, ends[:-1])), tuple(weights), rules)


def _cross_fitted(folds: Sequence[Fold], verdicts: Sequence[Verdict]) -> Floats:
    """Mean answer of some plans for each row of the data, from trees that had not seen it; (n_rows, n_outputs)."""
    answer, weight = np.mean([verdict.answer for verdict in verdicts], axis=0), verdicts[0].weight
    positions = np.concatenate([fold.positions for fold in folds if fold.positions is not None])
    total, sums = np.bincount(positions, weight), np.zeros((positions.max() + 1, answer.shape[1]))
    np.add.at(sums, positions, answer * weight[:, None])
    mean: Floats = sums / total[:, None]
    return mean


def compare_starts(
    task: Task[Any, Any], rng: np.random.Generator, bar: ProgressBar | None, interrupted: threading.Event
) -> Candidate:
    """Set rows aside, train and compare starts of one shape, train the best on with all rows."""
    options, data = task.options, task.data
    n_starts = options.n_init if options.n_init != "auto" else len(task.settings) if task.init is None else 1
    split_rng, *streams = rng.spawn(n_starts + 1)
    compares = n_starts > 1 or options.early_stopping or task.init is not None
    train, held = set_aside(data, options.validation_fraction if compares else 0.0, split_rng)
    uses_all_rows = held is not None and data.validation is None and options.refit
    n_epochs = _n_epochs(task, len(train), is_final=not uses_all_rows or options.early_stopping)
    candidates = train_starts(Stage(task, "start", train, held, bar, interrupted), streams, n_epochs)
    if task.init is not None:
        candidates.insert(0, task.fill(task.within_limits(task.init), None, train, held))
    if not candidates and interrupted.is_set():
        raise KeyboardInterrupt
    best = min(candidates, key=attrgetter("score"))
    # Only rows that no start was trained on can show that a smaller tree does better.
    tries_smaller = options.n_init == "auto" and task.init is None and held is not None and n_starts > 1
    smaller = task.smaller() if tries_smaller and not interrupted.is_set() else None
    if smaller is not None:
        streams += rng.spawn(1)
        stage = Stage(smaller, "start", train, held, bar, interrupted)
        rivals = train_starts(stage, streams[n_starts:], n_epochs, first=n_starts)
        candidates += rivals
        if rivals and rivals[0].score < best.score:
            best, task = rivals[0], smaller
    for candidate in candidates:
        outcome = "kept" if candidate is best else "dropped"
        logger.info("start %d, %s: %s, %s", candidate.number, candidate.setting, candidate.score, outcome)
    if uses_all_rows and not interrupted.is_set():
        best = train_on(task, best, streams[best.number].bit_generator.seed_seq, bar, interrupted)
    if isinstance(task, OurTask) and task.limits != Limits():
        tree = task.fill(task.pruned(best.tree, data.sample), None, data.sample, None, best.leaf_fit).tree
        best = replace(best, tree=tree)
    return best


def train_starts(
    stage: Stage, streams: Sequence[np.random.Generator], n_epochs: int, *, first: int = 0
) -> list[Candidate]:
    """Train a start with each stream, numbered from ``first``, and return them as candidates."""
    task = stage.task
    settings = [task.settings[n % len(task.settings)] for n in range(len(streams))]
    starts = [Start(stage, first + n, settings[n], rng, task.init, n_epochs) for n, rng in enumerate(streams)]
    _run(stage, starts, pauses=True)
    return [start.candidate for start in starts if start.candidate is not None]


def _run(stage: Stage, starts: Sequence[Start], *, pauses: bool) -> None:
    """Train starts side by side; if there is a pause, drop the worse half there.

    After Ctrl-C the start that is running ends, the others stay as they are, and those that have not begun are skipped.
    """
    options, pause = stage.task.options, stage.task.pause
    compares = sum(start.setting is not None for start in starts) > 2 and stage.held is not None
    for share in (pause, 1.0) if pauses and pause is not None and compares and stage.monitor is None else (1.0,):
        if joblib.effective_n_jobs(options.n_jobs) == 1 or len(starts) == 1:
            for start in starts:
                start.train(share)
        else:
            joblib.Parallel(n_jobs=options.n_jobs, prefer="threads")(
                joblib.delayed(start.train)(share) for start in starts
            )
        if share < 1:
            starts = _better_half(starts)


def train_on(
    task: Task[Any, Any], best: Candidate, seed: Any, bar: ProgressBar | None, interrupted: threading.Event
) -> Candidate:
    """Let the best tree use all rows: its leaves are fitted to them, and its splits are trained on unless they stopped.

    It was chosen as it is, so it is trained on and not replaced by another tree; ``seed`` is that of its start.
    """
    sample, options = task.data.sample, task.options
    if best.setting is None or options.early_stopping:
        return replace(best, tree=task.fill(best.tree, None, sample, None, best.leaf_fit).tree)
    setting, tree = task.again(best)
    n_epochs = _n_epochs(task, len(sample), is_final=tree is None)
    if tree is not None:
        seed = seed.spawn(1)[0]
        n_epochs = max(round(LAST_SHARE * n_epochs), task.fewest_epochs[1] if options.max_iter is None else 1)
    stage = Stage(task, "all rows", sample, None, bar, interrupted)
    start = Start(stage, best.number, setting, np.random.default_rng(seed), tree, n_epochs, best.leaf_fit)
    start.train(1.0)
    if start.candidate is None:  # interrupted before its first epoch
        return best
    last = start.candidate
    history = last.history if tree is None else best.history.followed_by(last.history)
    # A tree whose last training was interrupted may be worse than the tree that was chosen.
    return replace(best if last.history.stopped == "interrupt" else last, history=history)


def train_one_epoch(task: Task[Any, Any], phase: Phase, l1: float = 0.0) -> tuple[Any, History]:
    """Train the ``init`` of a task for one epoch on all its rows (``partial_fit``); return its parameters."""
    rng, setting = np.random.default_rng(0), Setting(0.0, l1=l1)
    if isinstance(task, OurTask):
        n_columns, n_leaf_columns = task.columns_to_keep()
        phase = replace(phase, n_columns=n_columns, n_leaf_columns=n_leaf_columns)
    with one_thread():
        rows = task.rows(task.data.sample)
        engine = task.engine(setting, task.initial(setting, task.data.sample, rng, task.init), rows)
        run = Training(engine, (phase,), rng, n_samples=len(rows.X)).start()
        run.advance()
        return _trained(run), run.finish()


@dataclass(eq=False)
class Stage:
    """What the starts of one stage share: rows in training coordinates and the monitor."""

    task: Task[Any, Any]
    name: str
    """Names the stage in checkpoints and in the progress bar."""
    train: Sample
    held: Sample | None
    """Rows to judge by."""
    bar: ProgressBar | None
    interrupted: threading.Event = field(default_factory=threading.Event)
    """Set by Ctrl-C."""

    def __post_init__(self) -> None:
        self.rows = self.task.rows(self.train)
        held = self.held if self.task.options.early_stopping else None
        self.monitor = None if held is None else self.task.monitor(self.task.rows(held))
        self.grown: dict[tuple[InitialTree, int | None], Grown | None] = {}


@dataclass(eq=False)
class Start:
    """One start of a fit: begun when its turn comes, trained to the pause or to the end, then made into a candidate."""

    stage: Stage
    number: int
    setting: Setting | None
    """What it is trained with; None: ``init`` is kept as it is."""
    rng: np.random.Generator
    init: Tree | None
    """Tree to begin with; None for random parameters."""
    n_epochs: int
    leaf_fit: LeafFit | None = None
    """The way to fit the leaves, if it was chosen before."""
    shape: Task[Any, Any] | None = None
    """The task in the shape of this start, if that is not the shape of the stage's task."""
    run: Training[Any] | None = field(init=False, default=None)
    candidate: Candidate | None = field(init=False, default=None)

    @property
    def task(self) -> Task[Any, Any]:
        """The task in the shape of this start."""
        return self.stage.task if self.shape is None else self.shape

    def train(self, share: float) -> None:
        """Train until this share of the epochs is done; at the end, make the candidate."""
        interrupted = self.stage.interrupted
        if self.setting is None:
            assert self.init is not None
            self.candidate = Candidate(self.init, (), number=self.number)
            return
        if self.run is None:
            if interrupted.is_set():
                return
            self.run = self._begin().start()
        if not interrupted.is_set():
            self.run.advance(share)
        if interrupted.is_set() and not len(self.run.history):
            return
        if share < 1:
            if self.run.score is None:  # else the run was resumed behind the pause
                self.run.score = self._judge(self.run).score
                if not interrupted.is_set():  # an interrupted run has another score when it is resumed
                    self.run.write_checkpoint()
        else:
            self.run.finish()
            self.candidate = self._judge(self.run) if self.shape is None else self._trained_splits(self.run)

    def _begin(self) -> Training[Any]:
        stage, task, options = self.stage, self.task, self.task.options
        folder = options.checkpoint
        assert self.setting is not None
        parameters = task.initial(self.setting, stage.train, self.rng, self.init)
        callbacks = task.callbacks(stage.rows)
        if stage.bar is not None:
            # The plans of a fold are many; only what becomes of the tree stays on the screen.
            callbacks.append(
                stage.bar.run(f"{stage.name} {self.number + 1}", stays=self.shape is None or stage.held is None)
            )
        if task.watch is not None:
            callbacks.append(task.watch(stage.name, self._tree_so_far))
        return Training(
            task.engine(self.setting, parameters, stage.rows),
            task.phases(self.setting, self.n_epochs),
            self.rng,
            n_samples=len(stage.rows.X),
            monitor=stage.monitor,
            patience=None if stage.monitor is None else options.n_iter_no_change,
            tol=options.tol,
            callbacks=callbacks,
            checkpoint=None if folder is None else Checkpoint(Path(folder) / f"{stage.name}-{self.number}.npz"),
            interrupted=stage.interrupted,
        )

    def _judge(self, run: Training[Any]) -> Candidate:
        """The tree that training has reached, and its score."""
        stage, task, trained = self.stage, self.task, _trained(run)
        tree = task.settled(task.splits_only(trained.splits), stage.train)
        filled = task.fill(tree, trained, stage.train, stage.held, self.leaf_fit)
        return replace(filled, number=self.number, setting=self.setting, history=run.history)

    def _tree_so_far(self) -> Tree:
        """The tree as if the training ended now."""
        assert self.run is not None
        return self._judge(self.run).tree

    def _trained_splits(self, run: Training[Any]) -> Candidate:
        """The splits that the training of a plan has reached; its leaves are fitted when it is judged."""
        tree = self.task.splits_only(_trained(run).splits)
        return Candidate(tree, (), number=self.number, setting=self.setting, history=run.history)


def _better_half(starts: Sequence[Start]) -> list[Start]:
    """Drop the worse half of the starts that have begun; the others keep their order."""
    begun = [(start.run, start.number) for start in starts if start.run is not None and start.run.score is not None]
    ranked = sorted((run.score, number, run) for run, number in begun)
    n_kept = (sum(start.setting is not None for start in starts) + 1) // 2
    for score, number, run in ranked[n_kept:]:
        run.finish()
        logger.info("start %d: %s after %d epochs, dropped", number, score, len(run.history))
    kept = {number for _, number, _ in ranked[:n_kept]}
    return [start for start in starts if start.number in kept]


def _n_epochs(task: Task[Any, Any], n_rows: int, *, is_final: bool, copies: float = 1.0) -> int:
    """Number of epochs of a start: as given, or as many as make the usual number of steps.

    Where equal rows were merged, ``copies`` of them on average, an epoch has fewer steps, so there may be more epochs.
    """
    options = task.options
    if options.max_iter is not None:
        return int(options.max_iter)
    most = round(task.most_epochs * copies)
    return n_epochs_for(n_rows, options.batch_size, most, task.fewest_epochs[is_final])


def _trained(run: Training[Any]) -> Any:
    """Parameters that a run has reached so far."""
    trained = run.engine.parameters()
    if not all(np.isfinite(array).all() for array in vars(trained).values()):
        raise FloatingPointError(
            "training left numbers that are not finite; lower learning_rate, or look for huge values in X and y."
        )
    return trained
