"""prune: a smaller model file that is what the library prunes, and a list of sizes to choose from."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import QUICK, Run
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.tree import load_document


def test_the_smaller_tree_is_that_of_the_library(run: Run, prepared: Path) -> None:
    figures = run("prune", "@wine.json", "@wine.csv", "--leaves", 3, "--out", "small.json", "--json").json()
    table = pd.read_csv(prepared / "wine.csv")
    X, y = table.drop(columns="cultivar"), table["cultivar"].to_numpy(object)
    same = DTSemNetClassifier.load(prepared / "wine.json").prune(X, y, max_leaf_nodes=3)
    small = DTSemNetClassifier.load("small.json")
    assert small.tree_ == same.tree_
    assert figures["after"] == {"leaves": small.get_n_leaves(), "depth": small.get_depth()} | {
        "accuracy": same.score(X, y), "log loss": figures["after"]["log loss"],
    }  # fmt: skip
    about = load_document(Path("small.json")).about
    assert about["target"] == "cultivar"
    assert "dtsemnet" not in about["fit"]  # the scores of the larger tree
    assert run("evaluate", "small.json", "@wine.csv", "--json").json()["scores"]["accuracy"] == same.score(X, y)


def test_without_limits_the_sizes_are_listed_and_nothing_is_written(run: Run) -> None:
    sizes = run("prune", "@people.json", "@people.csv", "--json").json()["sizes"]
    leaves = [line["leaves"] for line in sizes]
    assert leaves == sorted(set(leaves), reverse=True)
    assert not list(Path().iterdir())


def test_a_tree_of_one_leaf_is_listed_too(run: Run, tmp_path: Path) -> None:
    Path("one.csv").write_text("a,y\n1,p\n2,p\n3,p\n")
    run("fit", "one.csv", "--target", "y", "--out", "one.json", *QUICK)
    assert [line["leaves"] for line in run("prune", "one.json", "one.csv", "--json").json()["sizes"]] == [1]


def test_leaves_have_rows_enough(run: Run, prepared: Path) -> None:
    run("prune", "@people.json", "@people.csv", "--min-rows", 150, "--out", "small.json")
    assert DTSemNetRegressor.load("small.json").get_n_leaves() == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["@wine.json", "@wine.csv", "--leaves", 2], 2, "name the model file to write by --out"),
        (["@bare.json", "@ab.csv", "--target", "a"], 1, "holds no estimator of dtsemnet fit"),
        (["@wine.json", "nowhere.csv"], 1, "does not exist"),
    ],
)
def test_what_cannot_be_pruned_says_why(words: list[object], code: int, message: str, run: Run) -> None:
    assert message in " ".join(run("prune", *words, code=code).stderr.replace("│", " ").split())


def test_a_fit_that_shrinks_says_so_and_cart_has_the_depth_asked_for(run: Run) -> None:
    done = run("fit", "@wine.csv", "--target", "cultivar", "--depth", 6, "--json", "--n-init", 3, "--epochs", 2)
    figures = done.json()
    assert figures["cart"]["depth"] >= 3  # CART of wine grows deeper than the tree
    assert figures["dtsemnet"]["depth asked for"] == 6
    shown = run("fit", "@wine.csv", "--target", "cultivar", "--depth", 6, "--force", *QUICK).stdout
    depth = DTSemNetClassifier.load("model.json").get_depth()
    assert ("Shrunk: --depth 6 allows 64 leaves" in shown) == (depth < 6)


def test_a_leaf_that_mixes_classes_again_calls_none_of_them_impossible(run: Run, tmp_path: Path) -> None:
    rows = [f"{k / 100},{'abc'[k // 100]}" for k in range(300)]
    Path("steps.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    run("fit", "steps.csv", "--target", "y", "--test-fraction", 0)
    whole, *others = run("prune", "model.json", "steps.csv", "--json").json()["sizes"]
    assert whole["log loss"] < 0.1
    assert [line["leaves"] for line in others] == [2]
    assert others[0]["log loss"] < 0.7  # two classes in one leaf: half of log 2, and a little


def test_margins_stay_where_they_still_tell_more_than_shares(prepared: Path) -> None:
    table = pd.read_csv(prepared / "wine.csv")
    X, y = table.drop(columns="cultivar"), table["cultivar"].to_numpy(object)
    fitted = DTSemNetClassifier(max_depth=2, max_iter=40, random_state=0).fit(X, y)
    before = fitted.model_.probability
    assert before is not None
    assert fitted.prune(X, y).model_.probability == before
