"""Fitting from the command line: honest splits, equal footing for CART, nothing decided silently."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from cli.conftest import QUICK, Run, people
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.tree import read


def test_figures_are_those_of_the_same_split_in_python(run: Run, prepared: Path) -> None:
    figures = run("fit", "@wine.csv", "--target", "cultivar", "--depth", 2, "--seed", 3, "--json", *QUICK).json()
    table = pd.read_csv(prepared / "wine.csv")
    X, y = table.drop(columns="cultivar"), table["cultivar"].to_numpy(object)
    train, test = map(np.sort, train_test_split(np.arange(178), test_size=36, random_state=3, stratify=y))
    ours = DTSemNetClassifier(max_depth=2, n_init=1, max_iter=20, random_state=3).fit(X.iloc[train], y[train])
    cart = DecisionTreeClassifier(max_depth=2, random_state=3).fit(X.iloc[train], y[train])
    assert figures["rows"] == {"train": 142, "test": 36}
    for part, rows in (("train", train), ("test", test)):
        for name, tree in (("dtsemnet", ours), ("cart", cart)):
            assert figures[name][part]["accuracy"] == accuracy_score(y[rows], tree.predict(X.iloc[rows]))
    assert DTSemNetClassifier.load("model.json").tree_ == ours.tree_


def test_without_a_table_iris_is_used_and_named(run: Run) -> None:
    done = run("fit", *QUICK)
    assert "iris, a table embedded in scikit-learn: 150 rows, 4 columns" in done.stdout
    assert "120 rows to train on, 30 to test on (20 %, drawn with seed 0)" in done.stdout
    tree = DTSemNetClassifier.load("model.json")
    assert list(tree.feature_names_in_) == ["sepal length", "sepal width", "petal length", "petal width"]
    frame = pd.DataFrame(np.full((2, 4), 3.0), columns=tree.feature_names_in_)
    assert set(tree.predict(frame)) <= {"setosa", "versicolor", "virginica"}


def test_what_was_decided_is_said(run: Run) -> None:
    done = run("fit", "@people.csv", "--target", "income", "--depth", 1, "--json", *QUICK)
    remarks = done.json()["remarks"]
    assert remarks == [
        "2 rows without a target dropped.",
        "column 'name' left out: 198 different texts in 198 rows.",
        "column 'always' left out: every row has 'same'.",
        "column 'number' looks like an identifier; leave it out by --drop 'number'.",
    ]
    assert done.stderr.splitlines() == [f"note: {words}" for words in remarks]
    tree = DTSemNetRegressor.load("model.json")
    columns = {column.name: column for column in tree.model_.encoder.columns}
    assert list(columns) == ["age", "city", "visits", "number"]
    assert columns["city"].categories == ("7", "Bergen", "Oslo")
    assert columns["city"].missing == columns["visits"].missing == "indicator"
    assert (columns["age"].missing, columns["age"].fill) == ("fill", 51.5)


def test_parquet_gives_the_tree_of_csv(run: Run) -> None:
    words = ("--target", "income", "--depth", 1, *QUICK)
    run("fit", "@people.csv", *words, "--out", "csv.json")
    run("fit", "@people.parquet", *words, "--out", "parquet.json")
    assert read("csv.json") == read("parquet.json")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(separator: str, run: Run, prepared: Path) -> None:
    pd.read_csv(prepared / "wine.csv").to_csv("other.csv", sep=separator, index=False)
    done = run("fit", "other.csv", "--target", "cultivar", "--depth", 1, "--json", *QUICK)
    assert done.json()["columns"] == 13


def test_summary_puts_cart_beside_and_says_how_to_go_on(run: Run) -> None:
    words = ("--target", "income", "--drop", "number", "--depth", 4, "--out", "my model.json", *QUICK)
    done = run("fit", "@people.csv", *words)
    assert "regression of 'income': 198 different numbers" in done.stdout
    rows = {line.split("  ")[0]: line.split()[-2:] for line in done.stdout.splitlines()}
    for name in ("RMSE, train", "R2, train", "RMSE, test", "R2, test"):
        ours, cart = map(float, rows[name])
        assert (ours < cart) == name.startswith("RMSE")  # the target is linear, as are our leaves
    assert "dtsemnet show 'my model.json'" in done.stdout


def test_test_file_is_scored_and_never_trained_on(run: Run, prepared: Path) -> None:
    table = pd.read_csv(prepared / "wine.csv")
    table[::2].to_csv("train.csv", index=False)
    table[1::2].to_csv("test.csv", index=False)
    words = ("--target", "cultivar", "--depth", 1, *QUICK)
    figures = run("fit", "train.csv", "--test", "test.csv", "--json", *words).json()
    assert figures["rows"] == {"train": 89, "test": 89}
    run("fit", "train.csv", "--test-fraction", 0, "--out", "alone.json", *words)
    assert read("model.json") == read("alone.json")
    scored = run("evaluate", "model.json", "test.csv", "--json").json()
    assert scored["scores"]["accuracy"] == figures["dtsemnet"]["test"]["accuracy"]


def test_validation_file_judges(run: Run, prepared: Path) -> None:
    table = pd.read_csv(prepared / "wine.csv")
    table[::2].to_csv("train.csv", index=False)
    table[1::2].to_csv("validation.csv", index=False)
    words = ("fit", "train.csv", "--validation", "validation.csv", "--target", "cultivar", "--depth", 2)
    run(*words, "--test-fraction", 0, "--n-init", 2, "--epochs", 10)
    X, y = table.drop(columns="cultivar"), table["cultivar"].to_numpy(object)
    same = DTSemNetClassifier(max_depth=2, n_init=2, max_iter=10, random_state=0)
    same.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert read("model.json").tree == same.tree_  # type: ignore[union-attr]


def test_categorical_reads_numbers_as_text_from_then_on(run: Run) -> None:
    pd.DataFrame({"code": [1, 2, 3] * 20, "y": ["a", "b", "a"] * 20}).to_csv("codes.csv", index=False)
    run("fit", "codes.csv", "--target", "y", "--categorical", "code", "--depth", 1, *QUICK)
    (column,) = read("model.json").encoder.columns  # type: ignore[union-attr]
    assert column.categories == ("1", "2", "3")
    pd.DataFrame({"code": [2, 9]}).to_csv("new.csv", index=False)
    done = run("predict", "model.json", "new.csv")
    assert done.stdout.splitlines()[1] == "b"
    assert "1 row with values unknown to the model ('9')" in done.stderr


def test_one_row_of_a_class_is_no_obstacle(run: Run) -> None:
    pd.DataFrame({"x": np.arange(30.0) ** 2, "y": ["a"] * 15 + ["b"] * 14 + ["c"]}).to_csv("rare.csv", index=False)
    assert run("fit", "rare.csv", "--target", "y", "--json", *QUICK).json()["rows"] == {"train": 24, "test": 6}


def test_same_seed_same_bytes(run: Run) -> None:
    words = ("fit", "@people.csv", "--target", "income", "--depth", 1, *QUICK)
    for out, seed in (("a.json", 1), ("b.json", 1), ("c.json", 2)):
        run(*words, "--seed", seed, "--out", out)
    a, b, c = (Path(name).read_bytes() for name in ("a.json", "b.json", "c.json"))
    assert a == b != c


def test_warnings_of_the_library_are_notes(run: Run) -> None:
    notes = run("fit", "@wine.csv", "--target", "cultivar", "--depth", 1, *QUICK).stderr.splitlines()
    assert len(notes) == 1
    assert notes[0].startswith("note: 3 classes but only 2 leaves")


def test_depth_0_is_one_leaf_for_both(run: Run) -> None:
    figures = run("fit", "@wine.csv", "--target", "cultivar", "--depth", 0, "--json", *QUICK).json()
    assert figures["dtsemnet"]["leaves"] == figures["cart"]["leaves"] == 1
    assert figures["dtsemnet"]["test"] == figures["cart"]["test"]


def test_a_single_linear_leaf_is_not_compared_with_a_constant(run: Run, tmp_path: Path) -> None:
    Path("line.csv").write_text("x,y\n" + "".join(f"{k},{2 * k + 0.5}\n" for k in range(120)))
    figures = run("fit", "line.csv", "--target", "y", "--json").json()
    assert figures["dtsemnet"]["leaves"] == 1
    assert figures["cart"]["leaves"] > 50
    assert figures["cart"]["test"]["R2"] > 0.99


@pytest.mark.parametrize("place", [0, 7, 23, 42, 59])
def test_a_single_empty_cell_is_known_to_the_tree_wherever_it_is(place: int, run: Run) -> None:
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "z": np.arange(60.0) % 7, "y": ["a", "b"] * 30})
    table.loc[place, "z"] = np.nan
    table.to_csv("one.csv", index=False)
    rows = run("fit", "one.csv", "--target", "y", "--depth", 1, "--json", *QUICK).json()["rows"]
    assert rows in ({"train": 48, "test": 12}, {"train": 49, "test": 11})
    run("evaluate", "model.json", "one.csv")


def test_empty_cells_in_the_test_file_alone_are_refused_before_the_fit(run: Run) -> None:
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "y": ["a", "b"] * 30})
    table.to_csv("train.csv", index=False)
    table.assign(x=[None, *range(59)]).to_csv("test.csv", index=False)
    done = run("fit", "train.csv", "--test", "test.csv", "--target", "y", "--epochs", 10**9, code=1)
    assert "column 'x' has empty cells in test.csv, but none in training" in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["@people.csv", "--target", "income", "--balanced"], "--balanced weighs classes"),
        (["@wine.csv", "--target", "cultivar", "--leaf", "constant"], "--leaf is for regression"),
        (["@wine.csv", "--target", "cultivar", "--categorical", "x"], "--categorical 'x' is no column"),
        (
            ["@people.csv", "--target", "income", "--increasing", "agee"],
            "--increasing 'agee' is no column of the table; d",
        ),
        (["@people.csv", "--target", "income", "--decreasing", "city"], "column 'city' must be 0, got -1"),
        (["@people.csv", "--target", "income", "--increasing", "age", "--decreasing", "age"], "both name 'age'"),
        (["nowhere.csv"], "'nowhere.csv' does not exist"),
        (["@wine.csv"], "--target is missing: which column is to be predicted? There are 'alcohol'"),
        (["@wine.csv", "--target", "cultivra"], "did you mean 'cultivar'?"),
        (["@wine.csv", "--target", "cultivar", "--drop", "x"], "--drop 'x' is no column"),
        (["@wine.csv", "--target", "cultivar", "--task", "regression"], "needs a target of numbers, got 'cultivar 1'"),
        (["@wine.csv", "--target", "cultivar", "--out", "no/where.json"], "mkdir -p no"),
        (["@wine.json", "--target", "x"], "wine.json' cannot be read"),
        (["@people.csv", "--target", "name"], "200 classes in 200 rows"),
        (["dates.csv", "--target", "y"], "it holds dates or times (2024-01-01)"),
        (["empty.csv", "--target", "y"], "has a header but no rows"),
        (["nothing.csv", "--target", "y"], "cannot be read"),
        (["--target", "x"], "need a data file"),
        (["--test", "@wine.csv"], "need a data file"),
    ],
)
def test_refusals_name_the_way_out(words: list[str], reason: str, run: Run) -> None:
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    pd.DataFrame({"day": days, "y": [0, 1] * 20}).to_csv("dates.csv", index=False)
    Path("empty.csv").write_text("x,y\n")
    Path("nothing.csv").write_text("")
    done = run("fit", *words, code=1)
    assert reason in done.stderr
    assert done.stdout == ""
    assert not Path("model.json").exists()


@pytest.mark.parametrize(("option", "sign"), [("--increasing", 1), ("--decreasing", -1)])
def test_the_order_that_is_asked_for_is_kept(option: str, sign: int, run: Run) -> None:
    run("fit", "@people.csv", "--target", "income", option, "age", "--depth", 2, *QUICK)
    model, table = read("model.json"), people().head(20)
    answers = np.array(
        [
            model.predict(table.assign(age=age)[[column.name for column in model.encoder.columns]])
            for age in range(18, 80, 2)
        ]
    )
    assert (sign * np.diff(answers, axis=0) >= 0).all()


def test_a_model_file_is_replaced_only_by_force(run: Run) -> None:
    Path("model.json").write_text("precious")
    assert "--force" in run("fit", code=1).stderr
    assert Path("model.json").read_text() == "precious"
    run("fit", "--force", *QUICK)
    assert json.loads(Path("model.json").read_text())["format"] == "dtsemnet"


def test_a_time_that_includes_compiling_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = DTSemNetClassifier.fit

    def first_fit(self: DTSemNetClassifier, *args: Any, **options: Any) -> DTSemNetClassifier:
        logging.getLogger("dtsemnet").warning("dtsemnet: compiling kernels for this machine")
        return fit(self, *args, **options)

    monkeypatch.setattr(DTSemNetClassifier, "fit", first_fit)
    done = run("fit", "@wine.csv", "--target", "cultivar", *QUICK, "--out", "first.json")
    assert done.stderr.count("note: compiling kernels for this machine.\n") == 1
    assert "includes compiling its kernels" in done.stdout


def test_a_seed_beyond_the_generators_is_refused_with_the_range(run: Run) -> None:
    assert "--seed must be from 0 to 4294967295" in " ".join(run("fit", "--seed", 2**32, code=2).stderr.split())


def test_a_target_of_one_value_is_told(run: Run, tmp_path: Path) -> None:
    Path("same.csv").write_text("x,y\n" + "".join(f"{k},yes\n" for k in range(40)))
    assert "every row has the target 'yes'" in " ".join(run("fit", "same.csv", "--target", "y", *QUICK).stderr.split())
