"""Any bytes are a file that is right, or one error: a few damaged files of each kind, and all that ever broke a law.

``make fuzz`` tries many more (``campaign.py``).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.harnesses import HARNESSES

INPUTS = sorted(path for path in (Path(__file__).parent / "inputs").iterdir() if path.suffix != ".md")
BUDGET = {"model file": 200, "checkpoint": 150, "environment": 80, "property": 120, "proof file": 60, "records": 150}
BUDGET |= {"table": 50, "recipe": 50}
"""Damaged files of each kind, fewer of those that are not named: about four seconds in all."""
FEW = 25


def kind_of(path: Path) -> str:
    return max((kind for kind in HARNESSES if path.name.startswith(kind.replace(" ", "-"))), key=len)


@pytest.mark.parametrize("kind", HARNESSES)
def test_files_that_are_right_are_read(kind: str, tmp_path: Path) -> None:
    harness = HARNESSES[kind]
    path = tmp_path / f"file{harness.suffix}"
    for data in harness.seeds():
        path.write_bytes(data)
        assert kind == "table" or harness.check(path) != "refused"


@pytest.mark.parametrize("kind", HARNESSES)
def test_damaged_files_keep_the_law(kind: str, tmp_path: Path) -> None:
    harness = HARNESSES[kind]
    seeds, path = harness.seeds(), tmp_path / f"file{harness.suffix}"
    for seed in range(BUDGET.get(kind, FEW)):
        data = harness.mutate(random.Random(seed), seeds)
        path.write_bytes(data)
        try:
            harness.check(path)
        except Exception as error:
            raise AssertionError(f"damaged file {seed} of the kind {kind!r} breaks the law: {data[:2000]!r}") from error


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_files_that_broke_a_law_keep_it(path: Path, tmp_path: Path) -> None:
    harness = HARNESSES[kind_of(path)]
    copy = tmp_path / f"file{harness.suffix}"
    copy.write_bytes(path.read_bytes())
    harness.check(copy)
