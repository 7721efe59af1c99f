"""The default with one ingredient left out: each method leaves out what its name says, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet_paper.bench.ablations import CrossEntropyClassifier
from dtsemnet_paper.bench.methods import MissingMethod, find_method

DATA = {"classification": load_iris(return_X_y=True), "regression": load_diabetes(return_X_y=True)}
CLASSES, NUMBERS = DATA
QUICK = {"max_depth": 2, "max_iter": 8}

SMALL = ("dtsemnet", "dtsemnet-no-small")
LEFT_OUT = [
    ("dtsemnet-one-start", CLASSES, {"n_init": 1}),
    ("dtsemnet-one-start", NUMBERS, {"n_init": 1}),
    ("dtsemnet-no-decay", CLASSES, {"weight_decay": 0.0}),
    ("dtsemnet-no-decay", NUMBERS, {"weight_decay": 0.0}),
    ("dtsemnet-no-last", CLASSES, {"refit": False}),
    ("dtsemnet-no-last", NUMBERS, {"refit": False}),
    ("dtsemnet-no-bound", CLASSES, {}),
    ("dtsemnet-no-anneal", CLASSES, {}),
    ("dtsemnet-no-reheat", CLASSES, {}),
    ("dtsemnet-no-l1", NUMBERS, {"l1": 0.0}),
    ("dtsemnet-no-guard", NUMBERS, {"guard": False}),
]


def fitted(method: str, task: str) -> Any:
    return find_method(method).make(task, QUICK, seed=0).fit(*DATA[task])


@pytest.mark.parametrize(("method", "task", "expected"), LEFT_OUT)
def test_ablation_is_the_default_but_for_its_ingredient(method: str, task: str, expected: dict[str, Any]) -> None:
    model, default = fitted(method, task), find_method("dtsemnet").make(task, QUICK, seed=0)
    ours, theirs = model.get_params(), default.get_params()
    assert {name: value for name, value in ours.items() if value != theirs[name]} == expected
    assert isinstance(model, type(default))
    assert model.tree_.fingerprint() != default.fit(*DATA[task]).tree_.fingerprint()
    assert model.score(*DATA[task]) > 0.3


def test_without_the_bound_every_epoch_of_every_start_is_cross_entropy() -> None:
    X, y = DATA[CLASSES]
    for seed in range(3):  # whichever start is kept
        model = CrossEntropyClassifier(**QUICK, effort=0, random_state=seed).fit(X, y)
        assert set(model.history_["q"]) == {0.0}
    assert max(fitted("dtsemnet-one-start", CLASSES).history_["q"]) > 0


def test_without_annealing_leaves_are_pooled_by_the_maximum_from_the_first_step() -> None:
    cold, warm, usual = (
        fitted(method, CLASSES).history_["temperature"]
        for method in ("dtsemnet-no-anneal", "dtsemnet-no-reheat", "dtsemnet")
    )
    assert max(cold) < 1e-3
    assert usual[8] == usual[0] == warm[0] > warm[8] > 0  # after 8 epochs the last training begins


@pytest.mark.parametrize("task", DATA)
def test_without_the_last_training_there_are_the_epochs_of_a_start_alone(task: str) -> None:
    assert fitted("dtsemnet-no-last", task).n_iter_ == 8
    assert fitted("dtsemnet-one-start", task).n_iter_ == 8  # a single start sets nothing aside
    assert fitted("dtsemnet", task).n_iter_ == 12


def test_without_the_guard_outputs_are_not_held() -> None:
    assert fitted("dtsemnet-no-guard", NUMBERS).tree_.lower is None
    assert fitted("dtsemnet", NUMBERS).tree_.lower is not None


def test_without_the_smallest_tree_the_depth_is_the_one_asked_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = (X[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int)
    depths = [find_method(name).make(CLASSES, {"max_depth": 4}, seed=0).fit(X, y).tree_.depth for name in SMALL]
    assert depths == [1, 4]


@pytest.mark.parametrize("method", ["dtsemnet-no-l1", "dtsemnet-no-guard"])
def test_ingredient_that_classifiers_lack_is_not_left_out_of_them(method: str) -> None:
    with pytest.raises(MissingMethod, match="does no classification"):
        find_method(method).load(CLASSES)


SHAPE = [
    ("default-random", CLASSES), ("default-random", NUMBERS), ("default-no-cart", CLASSES),
    ("default-no-cart", NUMBERS), ("default-no-oblique", CLASSES), ("default-no-oblique", NUMBERS),
    ("default-no-pruning", CLASSES), ("default-no-pruning", NUMBERS), ("default-best", CLASSES),
    ("default-best", NUMBERS), ("default-no-second", CLASSES), ("default-no-smoothing", NUMBERS),
    ("default-one-ridge", NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize(("method", "task"), SHAPE)
def test_an_ingredient_of_the_shape_is_left_out_by_the_task_alone(method: str, task: str) -> None:
    default, without = (find_method(name).make(task, QUICK, seed=0) for name in ("dtsemnet-default", method))
    assert without.get_params() == default.get_params()
    assert type(without)._task_class is not type(default)._task_class
    assert without.fit(*DATA[task]).score(*DATA[task]) > 0.3


def test_plans_that_are_left_out_are_not_tried(caplog: pytest.LogCaptureFixture) -> None:
    for method, kinds in (
        ("default-random", {"RandomTree"}),
        ("default-no-cart", {"RandomTree", "LogisticTree", "GreedyTree"}),
        ("default-no-oblique", {"RandomTree", "CartTree"}),
    ):
        with caplog.at_level("INFO", logger="dtsemnet"):
            caplog.clear()
            fitted(method, CLASSES)
        tried = {
            record.getMessage().partition("(")[0] for record in caplog.records if " leaves, " in record.getMessage()
        }
        assert tried <= kinds
