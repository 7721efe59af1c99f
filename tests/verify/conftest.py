"""A count of answers that ``pytest --junit-xml=FILE`` writes down, for the table of :mod:`verify.campaign`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from verify.tally import Tally


@pytest.fixture
def tally(record_property: Any) -> Iterator[Tally]:
    found = Tally()
    yield found
    for question, n in found.asked.items():
        record_property(f"tally {question}", f"{len(found.trees[question])} {n} {found.undecided[question]}")
