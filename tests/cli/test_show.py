"""show: the tree as text."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.export import to_scorecard, to_text
from dtsemnet.tree import Model, ReadableView, read


@pytest.mark.parametrize("name", ["wine", "people", "bare"])
def test_show_is_the_text_export(name: str, run: Run, prepared: Path) -> None:
    model = read(prepared / f"{name}.json")
    names = ["income"] if name == "people" else None
    numbered = to_text(model, output_names=names, leaf_numbers=True)
    assert run("show", f"@{name}.json").stdout == numbered + "\n"
    run("show", f"@{name}.json", "--digits", 2, "--no-leaf-numbers", "--out", "tree.txt")
    assert Path("tree.txt").read_text() == to_text(model, digits=2, output_names=names) + "\n"
    if name != "people":
        assert run("export", f"@{name}.json", "--to", "text").stdout == numbered + "\n"


def test_show_counts_the_rows_of_a_table(run: Run, prepared: Path) -> None:
    table = pd.read_csv(prepared / "wine.csv")
    assert run("show", "@wine.json", "--data", "@wine.csv").stdout.rstrip() == to_text(
        read(prepared / "wine.json"), table.drop(columns="cultivar"), leaf_numbers=True
    )


def test_small_terms_are_folded_and_long_sums_cut(run: Run, prepared: Path) -> None:
    X = pd.read_csv(prepared / "wine.csv").drop(columns="cultivar")
    shown = run("show", "@wine.json", "--data", "@wine.csv", "--fold", 0.1, "--max-terms", 2).stdout
    wanted = to_text(read(prepared / "wine.json"), X, fold=0.1, max_terms=2, leaf_numbers=True)
    assert shown == wanted + "\n"


def test_numbers_of_leaves_are_those_of_predict_and_evaluate(run: Run, prepared: Path) -> None:
    tree = run("show", "@wine.json", "--data", "@wine.csv", "--json").json()
    scored = run("evaluate", "@wine.json", "@wine.csv", "--leaves", "--json").json()
    assert [(line["leaf"], line["rows"]) for line in tree["leaves"]] == [
        (line["leaf"], line["rows"]) for line in scored["leaves"]
    ]
    predicted = run("predict", "@wine.json", "@wine.csv", "--leaf", "--json").json()
    count = pd.Series([line["leaf"] for line in predicted]).value_counts()
    assert {line["leaf"]: line["rows"] for line in tree["leaves"] if line["rows"]} == count.to_dict()
    model = Model.of(read(prepared / "wine.json"))
    assert [line["constant"] for line in tree["splits"]] == ReadableView.of(model).tree.bias.tolist()
    for line in tree["leaves"]:
        assert f"leaf {line['leaf']}: " in tree["text"]


def test_points_are_fitted_and_shown_as_scorecards(run: Run, prepared: Path) -> None:
    options = ("--target", "cultivar", "--depth", 2, "--effort", 0, "--integer-weights", 5, "--epochs", 5)
    run("fit", "@wine.csv", *options, "--out", "points.json")
    assert run("show", "points.json", "--scorecard").stdout == f"{to_scorecard(read(Path('points.json')))}\n"
    run("show", "points.json", "--scorecard", "--data", "@wine.csv", "--out", "card.html")
    assert Path("card.html").read_text().startswith("<!doctype html>")
    assert run("show", "points.json", "--scorecard", "--json").json()["cards"]


def test_a_tree_of_other_weights_has_no_scorecard(run: Run, prepared: Path) -> None:
    assert "integer_weights" in run("show", "@wine.json", "--scorecard", code=1).stderr
