"""The survey of leaves counts, averages and judges rows as a loop over them would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import LeafSurvey, Topology, Tree
from strategies import points, trees


@settings(max_examples=40)
@given(st.data(), trees(n_features=3, max_splits=7))
def test_leaves_hold_what_their_rows_hold(data, tree):
    X = data.draw(points(3))
    predicted = tree.predict(X)
    y = predicted if tree.is_classifier else predicted + 1.0
    survey = LeafSurvey.of(tree, X, y)
    assert survey.count.sum() == survey.n_rows == len(X)
    for leaf in range(tree.n_leaves):
        here = tree.apply(X) == leaf
        assert survey.count[leaf] == here.sum()
        if tree.is_classifier:
            assert survey.n_correct[leaf] == here.sum()
            assert survey.class_count[leaf].sum() == here.sum()
            assert survey.class_share[leaf].sum() == pytest.approx(1.0)
        elif here.any():
            mean = np.asarray(predicted).reshape(len(X), -1)[here].mean(axis=0)
            np.testing.assert_allclose(survey.mean_prediction[leaf], mean)
            np.testing.assert_allclose(survey.mean_target[leaf], mean + 1.0)
            np.testing.assert_allclose(survey.squared_error[leaf], 1.0)
        else:
            assert np.isnan(survey.mean_prediction[leaf]).all()
    first, last = tree.topology.spans
    for split, total in enumerate(survey.model.tree.topology.sums_below(survey.count)):
        assert total == survey.count[first[split] : last[split]].sum()


def test_a_label_that_is_no_class_is_an_error_or_refused():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    with pytest.raises(ValueError, match="y holds 'z', which is none of the classes"):
        LeafSurvey.of(tree, [[1.0], [-1.0]], ["b", "z"])
    survey = LeafSurvey.of(tree, [[1.0], [-1.0]], ["b", "z"], allow_unknown=True)
    assert survey.count.tolist() == [1, 1]
    assert survey.n_correct.tolist() == [0, 1]


def test_without_rows_in_a_leaf_its_own_probabilities_are_left():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.75, 0.25], [0, 1]], class_names=["a", "b"])
    assert LeafSurvey.of(tree, [[1.0]], ["a"]).class_share.tolist() == [[0.75, 0.25], [1.0, 0.0]]
    assert LeafSurvey.of(tree, [[1.0]]).class_share.tolist() == tree.value.tolist()


def test_targets_of_the_wrong_shape_are_refused():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    with pytest.raises(ValueError, match=r"y must have shape \(2,\), one entry per row"):
        LeafSurvey.of(tree, [[1.0], [2.0]], [1.0])
    with pytest.raises(ValueError, match="y must be finite"):
        LeafSurvey.of(tree, [[1.0]], [np.nan])
    with pytest.raises(ValueError, match="y must hold numbers"):
        LeafSurvey.of(tree, [[1.0]], ["a"])
