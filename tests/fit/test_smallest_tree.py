"""Without plans, too, max_depth is a maximum: a tree with a leaf for each class is kept where it does better."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet import DTSemNetClassifier


def table(rule, n_rows=240, n_features=12, noise=0.1, seed=0):
    """Draw rows whose class is a rule of the first two features, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = rule(X)
    wrong = rng.random(n_rows) < noise
    return X, np.where(wrong, rng.permutation(y), y)


def linear(X):
    return (X[:, 0] + X[:, 1] > 0).astype(int)


def crossed(X):
    return (X[:, 0] * X[:, 1] > 0).astype(int)


def fit(X, y, **options):
    return DTSemNetClassifier(**({"max_depth": 3, "random_state": 0, "effort": 0} | options)).fit(X, y)


def test_a_linear_rule_gets_one_hyperplane():
    depths = [fit(*table(linear, seed=seed), random_state=seed).tree_.depth for seed in range(6)]
    assert set(depths) <= {1, 3}
    assert depths.count(1) >= 4
    deep = [fit(*table(linear, seed=seed), random_state=seed, n_init=4) for seed in range(6)]
    assert {found.tree_.depth for found in deep} == {3}


def test_it_is_no_worse_than_the_starts_of_full_depth():
    unseen = table(linear, n_rows=4000, noise=0.0, seed=99)
    both = {
        n_init: np.mean([fit(*table(linear, seed=s), random_state=s, n_init=n_init).score(*unseen) for s in range(6)])
        for n_init in ("auto", 4)
    }
    assert both["auto"] > both[4] + 0.01


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"refit": False}])
def test_where_it_does_no_better_nothing_changes(options):
    X, y = table(crossed, noise=0.0, n_features=3)
    auto, four = fit(X, y, **options), fit(X, y, n_init=4, **options)
    assert auto.tree_.depth == 3
    assert auto.tree_.fingerprint() == four.tree_.fingerprint()


def test_every_class_has_a_leaf():
    X, y = table(lambda X: np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1]) % 4)
    assert fit(X, y, max_depth=5).tree_.depth in (2, 5)
    assert fit(X, y, max_depth=2).tree_.depth == 2


def test_jobs_and_checkpoints_do_not_change_it(tmp_path):
    X, y = table(linear, seed=1)
    one = fit(X, y)
    assert one.tree_.depth == 1, "the small tree is what is checkpointed and trained on here"
    assert fit(X, y, n_jobs=2).tree_.fingerprint() == one.tree_.fingerprint()
    assert fit(X, y, checkpoint=tmp_path).tree_.fingerprint() == one.tree_.fingerprint()
    assert fit(X, y, checkpoint=tmp_path).tree_.fingerprint() == one.tree_.fingerprint()


def test_given_validation_rows_judge_it_too():
    X, y = table(linear, seed=2)
    judge = table(linear, seed=3, n_rows=2000)
    handed = DTSemNetClassifier(4, random_state=0).fit(X, y, X_val=judge[0], y_val=judge[1])
    assert handed.tree_.depth == 1
