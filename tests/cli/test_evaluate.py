"""evaluate: the scores are those of scikit-learn."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sklearn import metrics

from cli.conftest import QUICK, Run
from dtsemnet.tree import read


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


def test_scores_of_targets_whose_squares_overflow_are_finite(run: Run) -> None:
    Path("far.csv").write_text("a,y\n" + "".join(f"{k},{k % 7}e300\n" for k in range(60)))
    run("fit", "far.csv", "--target", "y", "--out", "far.json", *QUICK)
    figures = run("evaluate", "far.json", "far.csv", "--json").json()
    assert 1e298 < figures["scores"]["RMSE"] < 1e301
    assert figures["scores"]["R2"] <= 1
    assert "e+300" in run("evaluate", "far.json", "far.csv", "--leaves").stdout


def test_a_class_unknown_to_the_model_counts_as_missed(run: Run) -> None:
    pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0], "y": ["yes", "maybe"]}).to_csv("new.csv", index=False)
    done = run("evaluate", "@bare.json", "new.csv", "--target", "y", "--json")
    assert done.json()["scores"] == {"accuracy": 0.5, "balanced accuracy": 0.5, "log loss": 0}
    assert done.json()["confusion"]["true"] == ["no", "yes", "(unknown)"]
    assert "1 row of classes unknown to the model" in done.stderr
    shown = run("evaluate", "@bare.json", "new.csv", "--target", "y", "--leaves").stdout
    assert [line.split() for line in shown.splitlines() if line.startswith("(unknown)")] == [["(unknown)", "0", "1"]]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["evaluate", "@bare.json", "@ab.csv"], "--target is missing"),
        (["evaluate", "@people.json", "@people.csv", "--target", "name"], "predicts numbers, but the target holds"),
    ],
)
def test_refusals(words: list[str], reason: str, run: Run) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n1,\n")
    Path("words.csv").write_text("a,b\nx,2\n")
    done = run(*words, code=1)
    assert reason in done.stderr
    assert done.stdout == ""
