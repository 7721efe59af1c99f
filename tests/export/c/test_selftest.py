"""The known answers of the self-test: finite for every tree, and another order of summation shows in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dtsemnet.export import to_c
from dtsemnet.export.c.selftest import KnownAnswers, _rows
from dtsemnet.tree import Topology, Tree
from strategies import trees, wild_trees


@given(wild_trees())
@settings(max_examples=20)
def test_answers_are_those_of_the_tree(tree):
    known = KnownAnswers.of(tree)
    rows = _rows(known.n_tests, tree.n_features) * known.scale
    assert np.array_equal(known.score, tree.scores(rows))
    assert np.isfinite(known.score).all()
    assert np.isfinite(known.output).all()
    assert known.score.size + known.output.size >= 128


@given(trees())
@settings(max_examples=20)
def test_test_rows_need_no_rounding(tree):
    known = KnownAnswers.of(tree)
    rows = _rows(known.n_tests, tree.n_features)
    assert np.array_equal(rows, np.trunc(rows))
    assert np.abs(rows).max() < 2.0**51
    assert np.array_equal(np.frexp(known.scale)[0], np.full(tree.n_features, 0.5))


def test_the_largest_weights_do_not_overflow():
    weight = np.full((1, 5), 1.7e308)
    tree = Tree(Topology.complete(1), weight, [0.0], [[1.0], [2.0]])
    assert np.isfinite(KnownAnswers.of(tree).score).all()
    assert to_c(tree).report.n_near == 0  # which runs the self-test


@pytest.mark.parametrize("scales", [np.ones(33), 10.0 ** np.linspace(-9, 9, 33)])
def test_another_order_of_summation_shows(scales):
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(3, 33)) * scales, 1e3 * rng.normal(size=3)
    known = KnownAnswers.of(Tree(Topology([[-1, 1], [-2, 2], [-3, -4]]), weight, bias, np.zeros((4, 1))))
    rows = _rows(known.n_tests, 33) * known.scale
    from_the_left = np.array([[sum(w * row, b) for w, b in zip(weight, bias)] for row in rows])
    assert (from_the_left != known.score).mean() > 0.5
    # Rounding differs, and nothing else.
    np.testing.assert_allclose(from_the_left, known.score, rtol=1e-9, atol=1e-9 * np.abs(known.score).max())
