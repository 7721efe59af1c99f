"""Records: an experiment is run once, and its result is one JSON line.

This is the engine under tables, figures, agents and measurements of speed. A :class:`Job` is an
experiment: its key, the file of its record, and the work. :func:`run_missing` runs the jobs that
have no record yet, in several processes if asked to, and appends each record as its job ends;
:func:`run_once` does the same with one job. The same call made again goes on from there.

A line is on the disk, whole, before the next job is taken up (:mod:`dtsemnet.json_lines`); several
processes may append to one file. A process that is killed while it writes leaves at most one line
without its end, and its job is run again. A Ctrl-C ends the job that is running, records nothing of
it, and reaches the caller.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import joblib
from threadpoolctl import threadpool_limits

from dtsemnet import versions
from dtsemnet.cli.output import interruptible
from dtsemnet.json_lines import append_line, read_lines

__all__ = [
    "Job",
    "Record",
    "append_record",
    "find_record",
    "key_of",
    "latest",
    "provenance",
    "read_records",
    "run_missing",
    "run_once",
]

Record: TypeAlias = dict[str, Any]


class Job(NamedTuple):
    """An experiment that is run once."""

    key: str
    """Tells it from others; see :func:`key_of`."""
    path: Path
    """File of its record."""
    work: Callable[[], Record | None]
    """Runs it and returns its record, or None if it cannot be run here. A failure may be a record, with the reason
    under ``error``."""


def run_missing(
    jobs: Iterable[Job],
    *,
    recorded: Iterable[Record] = (),
    retry: bool = False,
    n_jobs: int | None = None,
    watch: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Run the jobs that have no record yet, and append the record of each as it ends.

    Parameters
    ----------
    jobs : iterable of Job
    recorded : iterable of records
        Records in other files that count as done.
    retry : bool, default=False
        Run failed jobs again.
    n_jobs : int, optional
        Processes, one thread each; by default what ``joblib.parallel_config`` says, else 1.
    watch : callable
        Called with each new record.

    Returns
    -------
    list of records
        The new ones. A Ctrl-C reaches the caller; what was done is on the disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "squares.jsonl")
    ...     jobs = [Job(str(n), path, lambda n=n: {"square": n * n}) for n in range(3)]
    ...     run_missing(jobs[:2]), run_missing(jobs)
    ([{'key': '0', 'square': 0}, {'key': '1', 'square': 1}], [{'key': '2', 'square': 4}])
    """
    jobs, known = list(jobs), list(recorded)
    for path in {job.path for job in jobs}:
        path.parent.mkdir(parents=True, exist_ok=True)
        known += read_records(path)
    done = {record["key"] for record in known if not (retry and record.get("error"))}
    missing = {job.key: job for job in jobs if job.key not in done}
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    new_records = []
    for key, record in parallel(joblib.delayed(_run)(job) for job in missing.values()):
        if record is not None:
            append_record(missing[key].path, record)
            new_records.append(record)
            watch(record)
    return new_records


def run_once(job: Job, *, fresh: bool = False) -> Record | None:
    """Return the record of a job, which is run if there is none yet, or ``fresh`` asks for a new one."""
    found = find_record(job.path, job.key)
    if found is not None and not fresh:
        return found
    _, record = _run(job)
    if record is not None:
        job.path.parent.mkdir(parents=True, exist_ok=True)
        append_record(job.path, record)
    return record


def key_of(request: Any) -> str:
    """Name an experiment by what it was asked to do, in plain values, so that its record can be found.

    Examples
    --------
    >>> key_of({"method": "cart", "seed": 0}) == key_of({"seed": 0, "method": "cart"})
    True
    """
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:16]


def provenance(*packages: str) -> Record:
    """What a record says of its origin: the date, and the versions of these packages, dtsemnet and Python."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions("dtsemnet", *packages, "python", "machine"),
    }


def append_record(path: str | os.PathLike[str], record: Record) -> None:
    """Append one record; when this returns it is on the disk."""
    append_line(path, json.dumps(record, allow_nan=False, ensure_ascii=False))


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read all whole records; a file that does not exist has none."""
    return read_lines(path)


def latest(records: Iterable[Record]) -> list[Record]:
    """Keep the last record of each experiment, in the order of the experiments: one that was repeated counts once."""
    return list({record["key"]: record for record in records}.values())


def find_record(path: str | os.PathLike[str], key: str) -> Record | None:
    """Find the newest record with this key in a file."""
    return next((record for record in reversed(read_records(path)) if record["key"] == key), None)


def _run(job: Job) -> tuple[str, Record | None]:
    """Run a job on one thread, so that processes beside each other do not slow each other down."""
    with _one_thread(), interruptible():
        record = job.work()
    return job.key, None if record is None else {"key": job.key} | record


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold BLAS, OpenMP and, if it is loaded, torch to one thread."""
    torch: Any = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    with threadpool_limits(1):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
