"""Runs: one method, one data set, one seed, one protocol, one record.

There are three protocols. *Paper* takes the height (and configuration) that the table names.
*Honest* tries every height of the table, and the grid of the method, and keeps the one that is
best on validation rows. In both, a method gets training and validation rows, to stop early or to
choose among starts, and nothing else. *Whole* takes the height of the table and calls
``fit(X, y)`` as a user would, with training and validation rows together: the method sets aside
what it needs. The test rows are scored once, at the end.

Runs are jobs of :mod:`dtsemnet_paper.records`, which records and resumes them, one thread per
process. ``with joblib.parallel_config("ray")`` or ``"dask"`` around the call sends them to a
cluster, where each worker finds the data as this process does.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet_paper.bench.data import FOLDERS, DataSet, DataSpec, load_data, take_rows
from dtsemnet_paper.bench.measures import further_scores, score, tree_size
from dtsemnet_paper.bench.methods import find_method, fit_method
from dtsemnet_paper.bench.one_hot import OneHot
from dtsemnet_paper.bench.splits import Split, VisibleRows, split_rows
from dtsemnet_paper.records import Job, Record, key_of, provenance, run_missing

__all__ = ["PROTOCOLS", "MethodRun", "execute", "run_all", "run_key"]

PROTOCOLS = ("paper", "honest", "whole")


@dataclass(frozen=True)
class MethodRun:
    """A method on a set, with a seed, by a protocol.

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
    def request(self) -> Record:
        """The run as its record states it, without results."""
        return {
            "method": self.method, "set": self.set, "seed": self.seed, "protocol": self.protocol,
            "configuration": dict(self.configuration),
            "candidates": {name: list(values) for name, values in self.candidates.items()},
        }  # fmt: skip

    @property
    def key(self) -> str:
        """Key of the record."""
        return run_key(self.request)


def run_key(request: Mapping[str, Any]) -> str:
    """Compute the key of a run from its request, or from its record.

    Examples
    --------
    >>> run = {"method": "cart", "set": "flowers", "seed": 0, "protocol": "paper", "configuration": {"max_depth": 2}}
    >>> run_key(run) == run_key({**run, "test": 95.0}), run_key(run) == run_key({**run, "seed": 1})
    (True, False)
    """
    names = ("method", "set", "seed", "protocol", "configuration", "candidates")
    return key_of([request.get(name) for name in names])


def run_all(
    runs: Iterable[MethodRun],
    specs: Mapping[str, DataSpec],
    path: Path,
    *,
    files: Mapping[str, Path] | None = None,
    n_jobs: int | None = None,
    recorded: Sequence[Record] = (),
    retry: bool = False,
    watch: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Run what has no record yet; see :func:`~dtsemnet_paper.records.run_missing`.

    Parameters
    ----------
    runs : iterable of MethodRun
    specs : dict of DataSpec
        The sets by name; their rows must be available.
    path : Path
        File of the records.
    files : dict of Path, optional
        Files of methods whose records go elsewhere.

    Returns
    -------
    list of records
        The new ones.
    """
    files, folders = files or {}, {variable: os.environ.get(variable) for variable in FOLDERS.values()}
    jobs = (
        Job(r.key, files.get(r.method, path), functools.partial(_execute_in, folders, r, specs[r.set])) for r in runs
    )
    return run_missing(jobs, recorded=recorded, retry=retry, n_jobs=n_jobs, watch=watch)


def execute(run: MethodRun, spec: DataSpec) -> Record:
    """Do one run in this process and return its record; a failure is a record too."""
    record = {"key": run.key, **run.request, **provenance("numpy", "scipy", "scikit-learn"), "error": None}
    try:
        data = _loaded(spec)
        split = split_rows(data, run.seed)
        record |= {"data": data.fingerprint, "split": split.rule}
        record |= {"rows": {part: len(getattr(split, part)) for part in ("train", "validation", "test")}}
        _warm_up(run, spec.task)
        rows = split.visible_rows(data, whole=run.protocol == "whole")
        wall, cpu = time.perf_counter(), time.process_time()
        one_hot = _one_hot(run, rows)
        estimator, chosen = _fit(run, spec.task, rows if one_hot is None else one_hot.convert(rows))
        seconds = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        record |= {"chosen": chosen, **seconds, **_results(estimator, data, split, one_hot)}
    except Exception as error:  # whatever a method raises is a result, and the other runs go on
        record["error"] = f"{type(error).__name__}: {error}"
        record["traceback"] = traceback.format_exc(limit=-4)
    return record


def _execute_in(folders: Mapping[str, str | None], run: MethodRun, spec: DataSpec) -> Record:
    """Do one run with the folders of data of the caller: joblib keeps processes, and their environment, for long."""
    for variable, folder in folders.items():
        if folder is not None:
            os.environ[variable] = folder
        else:
            os.environ.pop(variable, None)
    return execute(run, spec)


def _one_hot(run: MethodRun, rows: VisibleRows) -> OneHot | None:
    """The conversion of a data frame for a method that reads only numbers; None if there is nothing to convert."""
    if isinstance(rows.X, np.ndarray) or find_method(run.method).reads_frames:
        return None
    return OneHot(rows.X)


def _fit(run: MethodRun, task: str, rows: VisibleRows) -> tuple[Any, dict[str, Any]]:
    """The estimator of a run and what was chosen, by the method itself or by validation rows."""
    method, best, chosen, merit = find_method(run.method), None, {}, -np.inf
    sign = 1 if task == "classification" else -1
    for values in itertools.product(*run.candidates.values()):
        candidate = dict(zip(run.candidates, values))
        estimator = fit_method(method.make(task, {**run.configuration, **candidate}, run.seed), rows)
        if not run.candidates:
            return estimator, estimator.best_params_ if hasattr(estimator, "best_estimator_") else {}
        value = sign * score(task, rows.y_val, estimator.predict(rows.X_val))
        if best is None or value > merit:  # among equals the first, which the table lists as the smallest
            best, chosen, merit = estimator, candidate, value
    return best, chosen


def _results(estimator: Any, data: DataSet, split: Split, one_hot: OneHot | None) -> Record:
    """Scores of the three parts, further scores of the test rows, and the size of the tree."""
    task, X, y = data.spec.task, data.X if one_hot is None else one_hot(data.X), data.y
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    scores = {
        part: score(task, y[rows], estimator.predict(take_rows(X, rows))) if len(rows) else None
        for part, rows in parts.items()
    }
    scores |= further_scores(task, estimator, take_rows(X, split.test), y[split.test])
    if not all(value is None or np.isfinite(value) for value in scores.values()):
        raise FloatingPointError(f"the scores are not finite: {scores}.")
    size = tree_size(estimator, take_rows(X, split.train), None if one_hot is None else one_hot.columns)
    remarks = getattr(getattr(estimator, "best_estimator_", estimator), "remarks_", {})
    return {"score": "accuracy" if task == "classification" else "rmse", **scores, **size, **remarks}


_DATA: dict[str | None, DataSet] = {}
"""The set that this process loaded last, by the folder it came from: the next run mostly needs it too."""


def _loaded(spec: DataSpec) -> DataSet:
    folder = os.environ.get(FOLDERS[spec.file])
    if folder not in _DATA or _DATA[folder].spec != spec:
        _DATA.clear()
        _DATA[folder] = load_data(spec, download=False)
    return _DATA[folder]


_WARM: set[tuple[str, str]] = set()


def _warm_up(run: MethodRun, task: str) -> None:
    """Fit once to a little noise before the clock starts: the first fit of a process loads compiled code."""
    if (run.method, task) in _WARM:
        return
    _WARM.add((run.method, task))
    X, y, method = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2, find_method(run.method)
    with warnings.catch_warnings(), suppress(Exception):  # the run itself shows whether the method works
        warnings.simplefilter("ignore")
        small = {"max_depth": 2} if method.takes(task, "max_depth") else {}
        fit_method(method.make(task, {**run.configuration, **small}, 0), VisibleRows(X, y, X, y))
