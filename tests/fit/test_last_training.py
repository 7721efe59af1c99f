"""The last training: the tree that was chosen goes on with all rows, those set aside included."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.data import Scaling, TrainingData, merge
from dtsemnet.fit.fit import Start
from dtsemnet.fit.settings import CLASSIFICATION_RECIPES, FitOptions
from dtsemnet.training import loop
from dtsemnet.tree import Topology, Tree
from watching import Watch, watched

N_EPOCHS = 12
QUICK = {"max_depth": 2, "max_iter": N_EPOCHS, "n_init": 3, "random_state": 0}


def make(kind, **parameters):
    return kind(**{**QUICK, **parameters})


BOTH = pytest.mark.parametrize(
    ("kind", "data"),
    [(DTSemNetClassifier, load_iris(return_X_y=True)), (DTSemNetRegressor, load_diabetes(return_X_y=True))],
    ids=["class", "linear"],
)


def n_distinct(X, y):
    return len(np.unique(np.column_stack([X, y]), axis=0))


@BOTH
def test_the_chosen_tree_is_trained_on_with_all_rows(kind, data):
    judging, final = Watch(), Watch()
    judged = watched(make(kind, refit=False), judging).fit(*data)
    trained_on = watched(make(kind), final).fit(*data)
    assert final.n_rows == [*judging.n_rows, n_distinct(*data)], "one more training, and it sees all rows"
    assert max(judging.n_rows) < n_distinct(*data)
    assert (trained_on.tree_.weight != judged.tree_.weight).any()


@BOTH
def test_the_last_training_starts_from_the_chosen_tree(kind, data):
    # Steps too small to see: wherever the last training began, there it ends.
    judged, final = (make(kind, learning_rate=1e-12, refit=refit).fit(*data).tree_ for refit in (False, True))
    assert_allclose(final.weight, judged.weight, rtol=1e-5)
    assert_allclose(final.bias, judged.bias, rtol=1e-4, atol=1e-4)


@BOTH
def test_history_is_that_of_the_chosen_start_then_half_as_many_epochs(kind, data):
    judged, final = make(kind, refit=False).fit(*data), make(kind).fit(*data)
    assert judged.n_iter_ == N_EPOCHS
    assert final.history_["epoch"] == list(range(N_EPOCHS + N_EPOCHS // 2))
    assert final.loss_curve_[:N_EPOCHS] == judged.loss_curve_
    start, on = final.history_["temperature"][0], final.history_["temperature"][N_EPOCHS]
    if kind is DTSemNetClassifier:
        assert on == start, "annealed once more"
    else:
        assert 0 < on < start, "a little warmth, and not so much that the tree is lost"


@BOTH
def test_the_last_training_does_not_change_what_is_chosen(kind, data, caplog):
    scores = []
    for refit in (False, True):
        caplog.clear()
        with caplog.at_level("INFO", logger="dtsemnet"):
            fitted = make(kind, refit=refit).fit(*data)
        lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("start")]
        assert sum("kept" in line for line in lines) == 1
        scores.append(lines)
    assert scores[0] == scores[1]
    assert fitted.n_iter_ > N_EPOCHS


@BOTH
@pytest.mark.parametrize("refit", [True, False])
def test_rows_that_were_given_to_judge_are_never_trained_on(kind, data, refit):
    X, y = data
    train, held = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    watch = Watch()
    fitted = watched(make(kind, refit=refit), watch).fit(X[train], y[train], X_val=X[held], y_val=y[held])
    assert watch.n_rows == [n_distinct(X[train], y[train])] * 3
    assert fitted.n_iter_ == N_EPOCHS
    # A single start is the same whatever it is judged by.
    alone = make(kind, n_init=1, refit=refit).fit(X[train], y[train])
    other = make(kind, n_init=1, refit=refit).fit(X[train], y[train], X_val=X[held], y_val=y[held])
    assert_array_equal(other.tree_.weight, alone.tree_.weight)


@BOTH
def test_after_early_stopping_the_splits_rest(kind, data):
    judged = make(kind, early_stopping=True, refit=False).fit(*data)
    watch = Watch()
    final = watched(make(kind, early_stopping=True), watch).fit(*data)
    assert len(watch.n_rows) == 3, "the starts, and no last training"
    assert_array_equal(final.tree_.weight, judged.tree_.weight)
    assert (final.tree_.value != judged.tree_.value).any(), "the leaves have seen the rows set aside"


@BOTH
@pytest.mark.parametrize("n_left", [1, 3, N_EPOCHS // 2])
def test_a_fit_killed_in_its_last_training_resumes_to_the_same_bytes(kind, data, n_left, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    watch = Watch()
    whole = watched(make(kind), watch).fit(*data)
    n_rows, n_last = watch.n_rows_by_epoch, N_EPOCHS // 2
    assert n_rows[-n_last:] == [n_distinct(*data)] * n_last, "the last training is the last half"
    with pytest.raises(SystemExit):
        watched(make(kind, checkpoint=tmp_path), Watch(len(n_rows) - n_left)).fit(*data)
    kept = [path.name for path in tmp_path.glob("all rows-*.npz")]
    assert len(kept) == (n_left < n_last), "an epoch that has ended is on the disk"
    again = Watch()
    resumed = watched(make(kind, checkpoint=tmp_path), again).fit(*data)
    assert len(again.n_rows_by_epoch) == n_left, "nothing is trained twice"
    assert resumed.tree_.fingerprint() == whole.tree_.fingerprint()
    assert resumed.loss_curve_ == whole.loss_curve_


@BOTH
@pytest.mark.parametrize(
    ("options", "n_epochs"),
    [
        ({}, 10 + 45),
        ({"refit": False}, 45),
        ({"n_init": 1}, 45),
        ({"max_iter": 8}, 8 + 4),
        ({"early_stopping": True, "n_iter_no_change": 99}, 45),
    ],
)
def test_a_large_table_has_few_epochs_to_choose_by_and_more_for_the_tree_chosen(kind, data, options, n_epochs):
    X, y = (np.concatenate([part] * 4) for part in data)
    X = X + np.arange(len(X))[:, None] * 1e-7  # no two rows alike
    # A row a step makes many steps an epoch, as many rows would.
    found = make(kind, **({"max_iter": None, "batch_size": 1} | options)).fit(X, y).history_
    assert len(found) == n_epochs


def test_a_regressor_that_is_not_trained_on_has_its_epochs_at_once():
    X, y = (np.concatenate([part] * 4) for part in load_diabetes(return_X_y=True))
    X = X + np.arange(len(X))[:, None] * 1e-7
    found = make(DTSemNetRegressor, max_iter=None, batch_size=1, training="paper").fit(X, y)
    assert found.n_iter_ == 45


def test_a_last_training_that_fails_is_replaced_by_the_best_tree_of_the_folds(monkeypatch):
    """If the start with all rows ends at random splits, the tree of a fold, trained on, is handed back."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    train = Start.train

    def fail_with_all_rows(start, share):
        if start.stage.name == "all rows plan" and start.setting is not None:
            start.setting = replace(start.setting, learning_rate=1e-12)
        train(start, share)

    monkeypatch.setattr(Start, "train", fail_with_all_rows)
    assert DTSemNetClassifier(2, random_state=0).fit(X, y).score(X, y) > 0.9


def test_the_training_that_did_not_fail_is_kept():
    """A tree that another one beats by less than a standard error is not clearly worse."""
    X, y = np.arange(100.0)[:, None], (np.arange(100) >= 50).astype(int)
    data = TrainingData(merge(X, y, np.ones(100)), None, ("x",), (0, 1), Scaling(np.zeros(1), np.ones(1)))
    task = ClassTask(data, FitOptions(), CLASSIFICATION_RECIPES["annealed"], depth=1)

    def cut(at):
        return Tree(Topology.complete(1), [[1.0]], [-at], np.eye(2), class_names=[0, 1])

    assert task.is_clearly_better(cut(49.5), cut(60.5))  # no error against 11 of 100
    assert not task.is_clearly_better(cut(60.5), cut(61.5))
    assert not task.is_clearly_better(cut(49.5), cut(49.5))
    assert task.may_have_failed(cut(60.5))
    assert not task.may_have_failed(cut(49.5))  # so that no second tree is trained for nothing
