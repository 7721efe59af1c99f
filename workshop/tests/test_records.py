"""Records: what is on the disk is not done again, and what is not on the disk is."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import pytest

from dtsemnet_paper.records import (
    Job,
    append_record,
    find_record,
    key_of,
    latest,
    provenance,
    read_records,
    run_missing,
    run_once,
)


def jobs(path: Path, *numbers: int) -> list[Job]:
    def work(number: int) -> dict[str, object]:
        return {"square": number * number, "error": "odd" if number % 2 else None}

    return [Job(f"n{number}", path, lambda number=number: work(number)) for number in numbers]


def test_a_job_is_run_once_and_its_record_found_again(tmp_path: Path) -> None:
    path = tmp_path / "results" / "squares.jsonl"
    first = run_missing(jobs(path, 1, 2))
    assert [record["key"] for record in first] == ["n1", "n2"]
    assert [record["key"] for record in run_missing(jobs(path, 1, 2, 3))] == ["n3"]
    assert find_record(path, "n3") == {"key": "n3", "square": 9, "error": "odd"}
    assert find_record(path, "n4") is None


def test_failed_jobs_are_run_again_only_with_retry(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    run_missing(jobs(path, 1, 2))
    assert run_missing(jobs(path, 1, 2)) == []
    assert [record["key"] for record in run_missing(jobs(path, 1, 2), retry=True)] == ["n1"]
    assert len(read_records(path)) == 3
    assert len(latest(read_records(path))) == 2


def test_records_of_other_files_count(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    assert run_missing(jobs(path, 2, 4), recorded=[{"key": "n2"}]) == [{"key": "n4", "square": 16, "error": None}]


def test_a_job_that_cannot_be_run_here_leaves_no_record(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    assert run_missing([Job("a", path, lambda: None)]) == []
    assert run_once(Job("a", path, lambda: None)) is None
    assert read_records(path) == []


def test_each_job_writes_to_its_own_file(tmp_path: Path) -> None:
    run_missing([*jobs(tmp_path / "a.jsonl", 1), *jobs(tmp_path / "b.jsonl", 2)])
    assert [r["key"] for r in read_records(tmp_path / "a.jsonl")] == ["n1"]
    assert [r["key"] for r in read_records(tmp_path / "b.jsonl")] == ["n2"]


def test_run_once_repeats_only_what_is_asked_for_afresh(tmp_path: Path) -> None:
    path, calls = tmp_path / "a.jsonl", []

    def work() -> dict[str, object]:
        calls.append(1)
        return {"call": len(calls)}

    job = Job("a", path, work)
    assert run_once(job) == run_once(job) == {"key": "a", "call": 1}
    assert run_once(job, fresh=True) == {"key": "a", "call": 2}
    assert run_once(job) == {"key": "a", "call": 2}


def test_an_interrupt_that_the_work_swallows_leaves_no_record(tmp_path: Path) -> None:
    def work() -> dict[str, object]:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return {}

    with pytest.raises(KeyboardInterrupt):
        run_once(Job("a", tmp_path / "a.jsonl", work))
    assert read_records(tmp_path / "a.jsonl") == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    append_record(path, {"key": "a"})
    with path.open("a") as file:
        file.write("{oops\n")
    append_record(path, {"key": "b"})
    with pytest.raises(ValueError, match="line 2"):
        read_records(path)


def test_keys_depend_on_values_and_not_on_their_order() -> None:
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})


def test_origin_names_date_and_versions() -> None:
    origin = provenance("numpy", "a-package-that-does-not-exist")
    assert list(origin["versions"]) == ["dtsemnet", "numpy", "a-package-that-does-not-exist", "python", "machine"]
    assert origin["versions"]["a-package-that-does-not-exist"] is None
    assert origin["date"].endswith("+00:00")
