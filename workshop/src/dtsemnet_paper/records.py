"""Records: an experiment is run once, and its result is one JSON line.

This is the engine under tables, figures, agents and measurements of speed. A :class:`Job` is an
experiment: its key, the file of its record, and the work. :func:`run_missing` runs the jobs that
have no record yet, in several processes if asked to, and appends each record as its job ends;
:func:`run_once` does the same with one job. The same call made again goes on from there.

A line is written by one call, and is on the disk before the next job is taken up. A process that
is killed in the middle of that call leaves at most one line without its end. Readers skip such a
line; the next writer cuts it off, keeps it in a file beside the records (``.torn``), and its job is
run again. A Ctrl-C ends the job that is running, records nothing of it, and reaches the caller.
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

__all__ = [
    "Job",
    "Record",
    "append_record",
    "find_record",
    "key_of",
    "latest",
    "mend",
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
        mend(path)
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
        mend(job.path)
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
    line = (json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n").encode()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        with _locked(file):
            written = os.write(file, line)
            os.fsync(file)
    finally:
        os.close(file)
    if written != len(line):  # a full disk; the rest of the line would be read as a torn one
        raise OSError(f"{path}: only {written} of {len(line)} bytes could be written; is the disk full?")


def mend(path: str | os.PathLike[str]) -> bool:
    """Cut off a last line that a kill left torn, and keep it aside; return whether there was one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.jsonl")
    ...     _ = path.write_text('{"seed": 0}\\n{"se')
    ...     mend(path), path.read_text(), Path(folder, "runs.jsonl.torn").read_text()
    (True, '{"seed": 0}\\n', '{"se\\n')
    """
    path = Path(path)
    if not path.exists():
        return False
    with path.open("r+b") as file, _locked(file.fileno()):
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return False
        with Path(f"{path}.torn").open("ab") as aside:
            aside.write(content[end:] + b"\n")
        file.truncate(end)
    return True


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read all whole records; a file that does not exist has none."""
    path = Path(path)
    if not path.exists():
        return []
    records = []
    content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise ValueError(f"{path}, line {number} is not a record; mend the file by hand or move it away.") from None
    return records


def latest(records: Iterable[Record]) -> list[Record]:
    """Keep the last record of each experiment, in the order of the experiments: one that was repeated counts once."""
    return list({record["key"]: record for record in records}.values())


def find_record(path: str | os.PathLike[str], key: str) -> Record | None:
    """Find the newest record with this key in a file."""
    return next((record for record in reversed(read_records(path)) if record["key"] == key), None)


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Keep other processes that append to this open file waiting, if the system can."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where one write at the end is the best there is
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


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
