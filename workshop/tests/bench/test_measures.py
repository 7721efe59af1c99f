"""Scores and sizes that a record states, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import Column, Encoder, Topology, Tree
from dtsemnet_paper.bench.measures import further_scores, tree_size


def forecaster(classes: list[int], chance: list[list[float]]) -> Any:
    return SimpleNamespace(classes_=np.array(classes), predict_proba=lambda X: np.array(chance))


def test_scores_of_two_classes_by_hand() -> None:
    model = forecaster([0, 1], [[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.9, 0.1]])
    found = further_scores("classification", model, None, np.array([0, 1, 1, 0]))
    assert found["log_loss"] == pytest.approx(-np.mean(np.log([0.5, 0.75, 0.25, 0.9])))
    assert found["brier"] == pytest.approx(np.mean(2 * np.square([0.5, 0.25, 0.75, 0.1])))
    assert found["auc"] == 0.75  # of the four pairs, 0.75 beats both, 0.25 beats 0.1 alone


def test_class_that_was_never_seen_costs_much_and_has_no_auc() -> None:
    found = further_scores("classification", forecaster([0, 1], [[1.0, 0.0], [1.0, 0.0]]), None, np.array([0, 2]))
    assert 15 < found["log_loss"] < 20  # half of -log of the smallest number that counts
    assert found["brier"] == 1.0
    assert found["auc"] is None


def test_method_without_probabilities_has_no_such_scores() -> None:
    found = further_scores("classification", SimpleNamespace(), None, np.array([0, 1]))
    assert found == {"log_loss": None, "brier": None, "auc": None}


def test_r2_by_hand() -> None:
    model = SimpleNamespace(predict=lambda X: np.array([[1.0], [2.0], [4.0]]))
    # Squares 0, 0, 1 against 1, 0, 1 around the mean.
    assert further_scores("regression", model, None, np.array([1.0, 2.0, 3.0])) == {"r2": 0.5}


def oblique(columns: list[Column], weight: list[list[float]]) -> Any:
    """A model with two splits over these columns."""
    value = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    tree = Tree(Topology([[1, -3], [-1, -2]]), weight, [0.0, 0.0], value)
    model = SimpleNamespace(encoder=Encoder(columns))
    return SimpleNamespace(tree_=tree, model_=model, apply=lambda X: np.array([0, 0, 2]))


def test_categories_of_one_column_count_once() -> None:
    columns = [Column("size", missing="indicator"), Column("colour", categories=["red", "blue"])]
    # The first split reads size and its gap, and both colours: 2 columns. The second reads blue: 1.
    size = tree_size(oblique(columns, [[1, 1, 1, 1], [0, 0, 0, 2]]), None)
    assert size["columns"] == 1.5
    assert (size["leaves"], size["leaves_used"], size["leaf_rows"], size["depth"]) == (3, 2, [2, 1], 2)


def test_one_hot_columns_count_as_the_column_they_come_from() -> None:
    columns = [Column(name) for name in "abcd"]
    model = oblique(columns, [[1, 1, 1, 0], [0, 0, 0, 2]])
    assert tree_size(model, None)["columns"] == 2.0
    assert tree_size(model, None, np.array([0, 1, 1, 1]))["columns"] == 1.5


def test_size_of_other_trees() -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]), np.array([0, 0, 1, 1])
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    search = SimpleNamespace(best_estimator_=fitted)
    assert tree_size(search, X) == {"leaves": 2, "leaves_used": 2, "leaf_rows": [2, 2], "depth": 1, "columns": 1.0}
    assert tree_size(DecisionTreeClassifier().fit(X, [1, 1, 1, 1]), X)["columns"] is None, "a leaf reads nothing"
    assert set(tree_size(SimpleNamespace(), X).values()) == {None}


def test_model_that_reads_a_frame_counts_its_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 60), "size": rng.normal(size=60)})
    fitted = DTSemNetClassifier(1, random_state=0, n_init=1).fit(frame, (frame["colour"] == "red").to_numpy())
    found = tree_size(fitted, frame)["columns"]
    assert 1 <= found <= 2
