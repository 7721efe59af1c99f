"""plot: pictures of a tree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest

from cli.conftest import Run
from dtsemnet.cli.plot import Picture


@pytest.mark.parametrize("picture", get_args(Picture))
@pytest.mark.parametrize(("name", "table"), [("people", "people"), ("bare", "ab")])
def test_pictures(picture: str, name: str, table: str, run: Run) -> None:
    done = run("plot", f"@{name}.json", picture, "--data", f"@{table}.csv", "--out", "figure.png")
    content = Path("figure.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 2000
    assert done.stdout.startswith("Picture written to figure.png (")
    assert "--force" in run("plot", f"@{name}.json", picture, "--out", "figure.png", code=1).stderr


def test_path_of_a_row_changes_the_picture(run: Run) -> None:
    for out, words in (("all.svg", []), ("row.svg", ["--row", 3])):
        run("plot", "@wine.json", "tree", "--data", "@wine.csv", "--out", out, *words)
    assert Path("all.svg").read_text().count("<path") > 0
    assert Path("all.svg").read_bytes() != Path("row.svg").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["tree", "--out", "tree.gif"], 2, "--out must end in .png"),
        (["forest", "--out", "x.png"], 2, "'forest' is not one of 'tree', 'regions', 'leaves', 'importance'"),
        (["tree", "--row", "3", "--out", "x.png"], 1, "add --data FILE"),
        (["leaves", "--out", "x.png"], 1, "add --data FILE"),
        (["tree", "--row", "178", "--data", "@wine.csv", "--out", "x.png"], 1, "rows 0 to 177"),
    ],
)
def test_pictures_that_are_refused(words: list[str], code: int, reason: str, run: Run) -> None:
    shown = " ".join(run("plot", "@wine.json", *words, code=code).stderr.replace("│", " ").split())
    assert reason in shown
    assert os.listdir() == []
