"""Rivals that choose for themselves: what they try, with which rows, and classes that are rare."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dtsemnet_paper.bench.methods import find_method
from dtsemnet_paper.bench.searches import _fifth, _folds, cart_classifier, tao_classifier

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "name",
    [
        "cart-tuned",
        "linear",
        "tao-chosen",
        "sgt-chosen",
        "ydf-chosen",
        pytest.param("dgt-chosen", marks=pytest.mark.slow),
    ],
)
def test_searches_learn(name: str) -> None:
    classes = find_method(name).make("classification", {}, seed=0).fit(X[::2], Y[::2])
    assert classes.score(X[1::2], Y[1::2]) > 0.85
    numbers = find_method(name).make("regression", {}, seed=0).fit(X[::2, :3], X[::2, 3])
    assert -numbers.score(X[1::2, :3], X[1::2, 3]) < 0.1  # squared error; the variance is 0.58


def test_cart_tries_the_whole_grid_and_keeps_the_simplest_of_equals() -> None:
    search = cart_classifier(0).fit(X, Y)
    tried = search.cv_results_["params"]
    assert len(tried) == 45
    best = search.cv_results_["mean_test_score"].max()
    first = next(p for p, score in zip(tried, search.cv_results_["mean_test_score"]) if score == best)
    assert search.best_params_ == first
    assert tried[0] == {"max_depth": 2, "min_samples_leaf": 20}


def test_depth_is_chosen_on_a_fifth_and_the_tree_is_fitted_to_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from dtsemnet_paper.baselines import TAOClassifier

    seen: list[tuple[int, int]] = []
    fit = TAOClassifier.fit

    def watched(self: Any, X: Any, y: Any) -> Any:
        seen.append((self.max_depth, len(X)))
        return fit(self, X, y)

    monkeypatch.setattr(TAOClassifier, "fit", watched)
    search = tao_classifier(0).fit(X, Y)
    assert seen == [(depth, 120) for depth in (2, 4, 6, 8)] + [(search.best_params_["max_depth"], 150)]


@pytest.mark.parametrize("make", [_folds, _fifth])
def test_class_of_one_row_is_in_no_way_of_the_search(make: Any) -> None:
    y = np.array([0] * 30 + [1] * 15 + [2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        splits = list(make(0).split(np.zeros((46, 1)), y))
    assert len(splits) == make(0).get_n_splits()
    for train, judged in splits:
        assert sorted([*train, *judged]) == list(range(46))
        assert np.isin([0, 1], y[judged]).all()
