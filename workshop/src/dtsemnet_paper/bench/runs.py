"""Runs: one method, one data set, one seed, one protocol, one record.

Three protocols. *Paper* takes the height (and configuration) that the table names. *Honest*
tries every height of the table, and the grid of the method, judges each by the validation
rows and keeps the best. In both a method is handed training and validation rows, to stop
early or choose among starts by, and nothing else. *Whole* takes the height of the table and
calls ``fit(X, y)`` as a user would, with training and validation rows in one: the method
sets aside what it needs. The test rows are scored once, at the end.

Runs go through joblib, one thread a process. ``with joblib.parallel_config("ray")`` or
``"dask"`` around the call sends them to a cluster, where each worker finds the data as this
process does.
"""

from __future__ import annotations

import itertools
import os
import platform
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from dtsemnet_paper.bench.data import DataSet, DataSpec, load_data
from dtsemnet_paper.bench.methods import find_method, fit_method
from dtsemnet_paper.bench.splits import Handed, Split, split_rows
from dtsemnet_paper.records import Record, append_record, key_of, mend, read_records

__all__ = ["PROTOCOLS", "Run", "execute", "run_all", "score"]

PROTOCOLS = ("paper", "honest", "whole")
MOST_LEAVES = 256
"""Leaves whose rows a record tells; an axis-aligned tree can have thousands."""


@dataclass(frozen=True)
class Run:
    """What is asked: a method on a set, with a seed, by a protocol.

    Parameters
    ----------
    configuration : dict
        Parameters of the method, the height (``max_depth``) among them under the paper's protocol.
    candidates : dict of lists
        Values to choose from on validation rows, under the honest protocol.
    """

    method: str
    set: str
    seed: int
    protocol: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    candidates: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def asked(self) -> Record:
        """The run as a record tells it, without results."""
        return {
            "method": self.method, "set": self.set, "seed": self.seed, "protocol": self.protocol,
            "configuration": dict(self.configuration),
            "candidates": {name: list(values) for name, values in self.candidates.items()},
        }  # fmt: skip

    @property
    def key(self) -> str:
        """Name of the run."""
        return key_of(self.asked)


def run_all(
    runs: Sequence[Run],
    specs: Mapping[str, DataSpec],
    path: Path,
    *,
    files: Mapping[str, Path] | None = None,
    n_jobs: int | None = None,
    done: Sequence[Record] = (),
    retry: bool = False,
    watch: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Do the runs that have no record yet, and append one record each as it ends.

    Parameters
    ----------
    runs : sequence of Run
    specs : dict of DataSpec
        The sets, by name; their rows must be at hand.
    path : Path
        File of records; runs recorded there are not done again.
    files : dict of Path, optional
        Files of methods whose records go elsewhere.
    n_jobs : int, optional
        Processes; by default what ``joblib.parallel_config`` says, else 1.
    done : sequence of records
        Records kept elsewhere that count as done.
    retry : bool, default=False
        Do failed runs again.
    watch : callable
        Told each new record.

    Returns
    -------
    list of records
        The new ones. A Ctrl-C goes through to the caller; what was done is on the disk.
    """
    files = files or {}
    kept = list(done)
    for file in {path, *files.values()}:
        file.parent.mkdir(parents=True, exist_ok=True)
        mend(file)
        kept += read_records(file)
    known = {record["key"] for record in kept if not (retry and record["error"])}
    waiting = list({run.key: run for run in runs if run.key not in known}.values())
    fresh = []
    jobs = (joblib.delayed(execute)(run, specs[run.set]) for run in waiting)
    for record in joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)(
        jobs
    ):
        append_record(files.get(record["method"], path), record)
        fresh.append(record)
        watch(record)
    return fresh


def execute(run: Run, spec: DataSpec) -> Record:
    """Do one run in this process and tell how it went; a failure is a record too."""
    record = {
        "key": run.key, **run.asked, "date": datetime.now(UTC).isoformat(timespec="seconds"), "versions": _versions(),
        "error": None,
    }  # fmt: skip
    with threadpool_limits(1), _honour_interrupts():
        try:
            data = _loaded(spec)
            split = split_rows(data, run.seed)
            record |= {"data": data.fingerprint, "split": split.rule}
            record |= {"rows": {part: len(getattr(split, part)) for part in ("train", "validation", "test")}}
            _warm_up(run, spec.task)
            wall, cpu = time.perf_counter(), time.process_time()
            estimator, chosen = _fit(run, spec.task, split.hand(data, whole=run.protocol == "whole"))
            seconds = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            record |= {"chosen": chosen, **seconds, **_results(estimator, data, split)}
        except Exception as error:  # whatever a method throws is a result, and the other runs go on
            record["error"] = f"{type(error).__name__}: {error}"
            record["traceback"] = traceback.format_exc(limit=-4)
    return record


def score(task: str, y: Any, predicted: Any) -> float:
    """Accuracy in percent, or the root of the mean squared error.

    Examples
    --------
    >>> score("classification", [0, 1, 1, 0], [0, 1, 0, 0]), score("regression", [1.0, 3.0], [1.0, 5.0]) ** 2
    (75.0, 2.0000000000000004)
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    if task == "classification":
        return 100 * float(np.mean(y == predicted))
    return float(np.sqrt(np.mean((y - predicted.reshape(y.shape)) ** 2)))


def _fit(run: Run, task: str, rows: Handed) -> tuple[Any, dict[str, Any]]:
    """The estimator of a run and the candidate that was chosen, by validation rows alone."""
    method, best, chosen, merit = find_method(run.method), None, {}, -np.inf
    sign = 1 if task == "classification" else -1
    for values in itertools.product(*run.candidates.values()):
        candidate = dict(zip(run.candidates, values))
        estimator = fit_method(method.make(task, {**run.configuration, **candidate}, run.seed), rows)
        if not run.candidates:
            return estimator, candidate
        value = sign * score(task, rows.y_val, estimator.predict(rows.X_val))
        if best is None or value > merit:  # among equals the first, which the table lists as the smallest
            best, chosen, merit = estimator, candidate, value
    return best, chosen


def _results(estimator: Any, data: DataSet, split: Split) -> Record:
    """Scores of the three parts, and the leaves."""
    task, X, y = data.spec.task, data.X, data.y
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    scores = {
        part: score(task, y[rows], estimator.predict(X[rows])) if len(rows) else None for part, rows in parts.items()
    }
    if not all(value is None or np.isfinite(value) for value in scores.values()):
        raise FloatingPointError(f"the scores are not finite: {scores}.")
    return {"score": "accuracy" if task == "classification" else "rmse", **scores, **_leaves(estimator, X[split.train])}


def _leaves(estimator: Any, X: Any) -> Record:
    """Leaves of the tree and training rows in each, largest first; nothing where there is no tree."""
    tree: Any = getattr(estimator, "tree_", None)
    if not hasattr(tree, "n_leaves") or not hasattr(estimator, "apply"):
        return {"leaves": None, "leaves_used": None, "leaf_rows": None}
    rows = np.unique(estimator.apply(X), return_counts=True)[1]
    return {
        "leaves": int(tree.n_leaves), "leaves_used": len(rows), "leaf_rows": sorted(rows.tolist())[::-1][:MOST_LEAVES],
        "depth": int(tree.topology.depth) if hasattr(tree, "topology") else int(tree.max_depth),
    }  # fmt: skip


_DATA: dict[str | None, DataSet] = {}
"""The set that this process loaded last, by the folder it came from: the next run most often wants it too."""


def _loaded(spec: DataSpec) -> DataSet:
    folder = os.environ.get("DTSEMNET_DATA")
    if folder not in _DATA or _DATA[folder].spec != spec:
        _DATA.clear()
        _DATA[folder] = load_data(spec, download=False)
    return _DATA[folder]


_WARM: set[tuple[str, str]] = set()


def _warm_up(run: Run, task: str) -> None:
    """Fit once to a little noise before the clock starts: the first fit of a process loads compiled code."""
    if (run.method, task) in _WARM:
        return
    _WARM.add((run.method, task))
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    with warnings.catch_warnings(), suppress(Exception):  # whether the method works is for the run to tell
        warnings.simplefilter("ignore")
        fit_method(find_method(run.method).make(task, {**run.configuration, "max_depth": 2}, 0), Handed(X, y, X, y))


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    import dtsemnet

    return {
        "dtsemnet": dtsemnet.__version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__, "python": platform.python_version(), "machine": platform.machine(),
    }  # fmt: skip


@contextmanager
def _honour_interrupts() -> Iterator[None]:
    """Let a Ctrl-C end the run even where a fit takes it for a wish to stop early.

    A tree that was cut short is no result of its method, and must not be recorded as one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = threading.Event()

    def press(number: int, frame: Any) -> None:
        pressed.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():
        raise KeyboardInterrupt
