"""predict: answers for a table, from all kinds of model files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.conftest import Run
from dtsemnet import DTSemNetClassifier
from dtsemnet.cli import app
from dtsemnet.tree import Column, Encoder, MarginProbability, Model, Topology, Tree
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


def test_probabilities_are_those_of_the_model(run: Run) -> None:
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.8, 0.2], [0.2, 0.8]], class_names=["no", "yes"])
    model = Model(Encoder.identity(["size"]), tree, probability=MarginProbability(1.0))
    model.save("sure.json")
    X = np.array([[-2.0], [0.0], [3.0]])
    pd.DataFrame(X, columns=["size"]).assign(answer=["no", "no", "yes"]).to_csv("rows.csv", index=False)
    answers = pd.read_csv(io.StringIO(run("predict", "sure.json", "rows.csv", "--proba").stdout))
    assert np.array_equal(answers[["probability no", "probability yes"]], model.predict_proba(X))
    assert "calibrated: surer the farther a row lies from the other classes (rate 1, power 1, floor 0)" in (
        run("info", "sure.json").stdout
    )
    scores = run("evaluate", "sure.json", "rows.csv", "--target", "answer", "--json").json()["scores"]
    expected = -np.log(model.predict_proba(X)[[0, 1, 2], [0, 0, 1]]).mean()
    assert scores["log loss"] == pytest.approx(expected)


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


def test_missing_values_that_training_had_not_are_filled_and_said_once(run: Run) -> None:
    columns = [Column("age", missing="fill", fill=41.5), Column("plan", ["a", "b"], missing="fill", fill="b")]
    Model(Encoder(columns), Tree(Topology.complete(1), [[1.0, 0.0, 40.0]], [-81.0], [[1.0], [2.0]])).save("m.json")
    pd.DataFrame({"age": [None, None, 1], "plan": ["a", None, "b"], "y": [1, 2, 1]}).to_csv("new.csv", index=False)
    done = run("predict", "m.json", "new.csv", "--leaf")
    assert done.stdout.split() == ["prediction,leaf", "1.0,0", "2.0,1", "1.0,0"]
    said = [
        "column 'age': 2 rows with missing values, of which training had none; read as 41.5.",
        "column 'plan': 1 row with missing values, of which training had none; read as 'b'.",
    ]
    for words in (["predict", "m.json", "new.csv"], ["evaluate", "m.json", "new.csv", "--target", "y"]):
        stderr = " ".join(run(*words).stderr.split())
        assert [stderr.count(line) for line in said] == [1, 1]
    assert "may be missing" not in run("info", "m.json").stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["predict", "@people.json", "@people.csv", "--proba"], "predicts numbers"),
        (["predict", "@wine.json", "@people.csv"], "has no column 'alcohol', which the tree reads"),
        (["predict", "@wine.json", "@wine.csv", "--keep", "x"], "--keep 'x' is no column"),
        (["predict", "@wine.csv", "@wine.csv"], "cannot be read"),
        (["predict", "@bare.json", "bad.csv"], "row 1 of column 'b' is missing"),
        (["predict", "@bare.json", "words.csv"], "column 'a' must hold numbers, got 'x'"),
    ],
)
def test_refusals(words: list[str], reason: str, run: Run) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n1,\n")
    Path("words.csv").write_text("a,b\nx,2\n")
    done = run(*words, code=1)
    assert reason in done.stderr
    assert done.stdout == ""
