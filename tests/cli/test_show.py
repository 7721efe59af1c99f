"""show: the tree as text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.export import to_text
from dtsemnet.tree import read


@pytest.mark.parametrize("name", ["wine", "people", "bare"])
def test_show_is_the_text_export(name: str, run: Run, prepared: Path) -> None:
    model = read(prepared / f"{name}.json")
    assert run("show", f"@{name}.json").stdout == to_text(model) + "\n"
    run("show", f"@{name}.json", "--digits", 2, "--out", "tree.txt")
    assert Path("tree.txt").read_text() == to_text(model, digits=2) + "\n"


def test_show_counts_the_rows_of_a_table(run: Run, prepared: Path) -> None:
    table = pd.read_csv(prepared / "wine.csv")
    assert run("show", "@wine.json", "--data", "@wine.csv").stdout.rstrip() == to_text(
        read(prepared / "wine.json"), table.drop(columns="cultivar")
    )
