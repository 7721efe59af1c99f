"""explain: why one row gets its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.tree import Model, read


@pytest.mark.parametrize(("name", "table"), [("wine", "wine"), ("people", "people"), ("bare", "ab")])
def test_explanation_ends_where_the_prediction_does(name: str, table: str, run: Run, prepared: Path) -> None:
    found: dict[str, Any] = run("explain", f"@{name}.json", f"@{table}.csv", "--row", 2, "--json").json()
    rows = pd.read_csv(prepared / f"{table}.csv").iloc[[2]]
    assert found["row"] == 2
    assert found["leaf"] == Model.of(read(prepared / f"{name}.json")).apply(rows)[0]
    assert str(found["leaf"]) in run("explain", f"@{name}.json", f"@{table}.csv", "--row", 2).stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["explain", "@wine.json", "@wine.csv", "--row", "178"], "rows 0 to 177"),
    ],
)
def test_refusals(words: list[str], reason: str, run: Run) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n1,\n")
    Path("words.csv").write_text("a,b\nx,2\n")
    done = run(*words, code=1)
    assert reason in done.stderr
    assert done.stdout == ""
