"""predict, evaluate, show, explain, info: what a model says, from all kinds of model files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn import metrics
from typer.testing import CliRunner

from cli.conftest import Run
from dtsemnet import DTSemNetClassifier
from dtsemnet.cli import app
from dtsemnet.export import to_text
from dtsemnet.tree import Tree, as_model, read
from strategies import points, trees


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), tree=trees(n_features=3, named=True))
def test_predictions_are_those_of_the_tree(data: st.DataObject, tree: Tree, tmp_path: Path) -> None:
    X = data.draw(points(3)) / 3
    tree.save(tmp_path / "tree.json")
    frame = pd.DataFrame(X, columns=list(tree.feature_labels)).assign(id=[f"row {i}" for i in range(len(X))])
    frame[frame.columns[::-1]].to_csv(tmp_path / "rows.csv", index=False)  # columns are found by name
    words = ["predict", str(tmp_path / "tree.json"), str(tmp_path / "rows.csv"), "--leaf", "--keep", "id"]
    words += ["--proba"] if tree.is_classifier else []
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    answers = pd.read_csv(io.StringIO(done.stdout))
    assert answers["id"].tolist() == frame["id"].tolist()
    assert answers["leaf"].tolist() == tree.apply(X).tolist()
    predicted = tree.predict(X)
    if tree.is_classifier:
        assert answers["prediction"].astype(str).tolist() == [str(label) for label in predicted]
        shown = answers[[f"probability {name}" for name in tree.class_names or ()]]
        assert np.array_equal(shown, tree.predict_proba(X))
    else:
        shown = answers[[name for name in answers if name.startswith("prediction")]]
        assert np.array_equal(shown, predicted.reshape(len(X), -1))


def test_a_model_without_names_reads_columns_in_their_order(run: Run) -> None:
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 2
    tree = DTSemNetClassifier(max_depth=1, n_init=1, max_iter=5, random_state=0).fit(X, y)
    tree.save("nameless.json")
    pd.DataFrame(X, columns=["left", "right"]).to_csv("rows.csv", index=False)
    done = run("predict", "nameless.json", "rows.csv", "--json")
    assert [answer["prediction"] for answer in done.json()] == tree.predict(X).tolist()
    assert "in their order" in done.stderr


def test_predict_reads_standard_input_and_writes_files(run: Run, prepared: Path) -> None:
    printed = run("predict", "@wine.json", "-", input=(prepared / "wine.csv").read_text()).stdout
    done = run("predict", "@wine.json", "@wine.csv", "--out", "answers.csv")
    assert done.stdout == "178 predictions written to answers.csv.\n"
    assert Path("answers.csv").read_text() == printed
    assert "--force" in run("predict", "@wine.json", "@wine.csv", "--out", "answers.csv", code=1).stderr


def test_text_that_looks_like_a_number_is_text_where_training_had_text(run: Run) -> None:
    pd.DataFrame({"age": [40, 40], "city": [7, 7], "visits": [3, None], "number": [1, 1]}).to_csv(
        "new.csv", index=False
    )
    done = run("predict", "@people.json", "new.csv")
    assert "unknown" not in done.stderr
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["predict", "@people.json", "@people.csv", "--proba"], "predicts numbers"),
        (["predict", "@wine.json", "@people.csv"], "has no column 'alcohol', which the tree reads"),
        (["predict", "@wine.json", "@wine.csv", "--keep", "x"], "--keep 'x' is no column"),
        (["predict", "@wine.csv", "@wine.csv"], "cannot be read"),
        (["predict", "@bare.json", "bad.csv"], "row 1 of column 'b' is missing"),
        (["predict", "@bare.json", "words.csv"], "column 'a' must hold numbers, got 'x'"),
        (["evaluate", "@bare.json", "@ab.csv"], "--target is missing"),
        (["evaluate", "@people.json", "@people.csv", "--target", "name"], "predicts numbers, but the target holds"),
        (["explain", "@wine.json", "@wine.csv", "--row", "178"], "rows 0 to 177"),
    ],
)
def test_refusals(words: list[str], reason: str, run: Run) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n1,\n")
    Path("words.csv").write_text("a,b\nx,2\n")
    done = run(*words, code=1)
    assert reason in done.stderr
    assert done.stdout == ""


def test_scores_of_classes_are_those_of_scikit_learn(run: Run, prepared: Path) -> None:
    figures = run("evaluate", "@wine.json", "@wine.csv", "--json", "--leaves").json()
    table = pd.read_csv(prepared / "wine.csv")
    model, y = read(prepared / "wine.json"), table["cultivar"]
    predicted, proba = model.predict(table), model.predict_proba(table)  # type: ignore[union-attr]
    scores = figures["scores"]
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(y, predicted))
    assert scores["balanced accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, predicted))
    assert scores["log loss"] == pytest.approx(metrics.log_loss(y, proba))
    assert figures["confusion"]["rows"] == metrics.confusion_matrix(y, predicted).tolist()
    assert sum(leaf["rows"] for leaf in figures["leaves"]) == 178
    hits = sum(leaf["rows"] * (leaf["accuracy"] or 0) for leaf in figures["leaves"])
    assert hits / 178 == pytest.approx(scores["accuracy"])


def test_scores_of_numbers_are_those_of_scikit_learn(run: Run, prepared: Path) -> None:
    done = run("evaluate", "@people.json", "@people.csv", "--json")
    table = pd.read_csv(prepared / "people.csv").dropna(subset="income")
    predicted = read(prepared / "people.json").predict(table)
    y = table["income"]
    assert done.json()["rows"] == 198
    assert "2 rows without a target dropped" in done.stderr
    assert done.json()["scores"] == pytest.approx(
        {
            "RMSE": metrics.root_mean_squared_error(y, predicted),
            "MAE": metrics.mean_absolute_error(y, predicted),
            "R2": metrics.r2_score(y, predicted),
        }
    )


def test_a_class_unknown_to_the_model_counts_as_missed(run: Run) -> None:
    pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0], "y": ["yes", "maybe"]}).to_csv("new.csv", index=False)
    done = run("evaluate", "@bare.json", "new.csv", "--target", "y", "--json")
    assert done.json()["scores"] == {"accuracy": 0.5, "balanced accuracy": 0.5, "log loss": 0}
    assert done.json()["confusion"]["true"] == ["no", "yes", "(unknown)"]
    assert "1 row of classes unknown to the model" in done.stderr
    shown = run("evaluate", "@bare.json", "new.csv", "--target", "y", "--leaves").stdout
    assert [line.split() for line in shown.splitlines() if line.startswith("(unknown)")] == [["(unknown)", "0", "1"]]


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


@pytest.mark.parametrize(("name", "table"), [("wine", "wine"), ("people", "people"), ("bare", "ab")])
def test_explanation_ends_where_the_prediction_does(name: str, table: str, run: Run, prepared: Path) -> None:
    found: dict[str, Any] = run("explain", f"@{name}.json", f"@{table}.csv", "--row", 2, "--json").json()
    rows = pd.read_csv(prepared / f"{table}.csv").iloc[[2]]
    assert found["row"] == 2
    assert found["leaf"] == as_model(read(prepared / f"{name}.json")).apply(rows)[0]
    assert str(found["leaf"]) in run("explain", f"@{name}.json", f"@{table}.csv", "--row", 2).stdout


def test_info_tells_what_a_file_holds(run: Run, prepared: Path) -> None:
    facts = run("info", "@people.json", "--json").json()
    assert (facts["task"], facts["target"], facts["leaves"]) == ("regression", "income", 2)
    assert facts["fingerprint"] == read(prepared / "people.json").fingerprint()
    shown = run("info", "@people.json").stdout
    assert "3 categories, may be missing" in shown
    assert run("info", "@bare.json", "--json").json()["holds"] == "Tree"


def test_info_tells_versions(run: Run) -> None:
    facts = run("info", "--json").json()
    assert facts["numpy"] == np.__version__
    assert f"numpy               {np.__version__}" in run("info").stdout


def test_json_is_all_that_standard_output_holds(run: Run) -> None:
    for words in (["info"], ["evaluate", "@people.json", "@people.csv"], ["predict", "@people.json", "@people.csv"]):
        assert json.loads(run(*words, "--json").stdout)
