"""Margin probabilities: the most probable class is the class predicted, whatever the tree, the numbers and the row."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.tree import Encoder, MarginProbability, Model, Topology, Tree
from dtsemnet.tree.probability import margins
from strategies import points, probabilities, trees, wild_points, wild_trees, with_classes


def with_probability(tree: Tree, probability: MarginProbability) -> Model:
    return Model(Encoder.identity(tree.feature_labels), tree, probability=probability)


def assert_law(model: Model, X) -> None:
    chance = model.predict_proba(X)
    assert_array_equal(np.array(model.class_names, dtype=object)[chance.argmax(axis=1)].astype(str),
                       model.predict(X).astype(str))  # fmt: skip
    assert (chance > 0).all()
    assert_allclose(chance.sum(axis=1), 1.0, rtol=1e-14)


@given(tree=trees(kind="class"), probability=probabilities(), data=st.data())
def test_the_most_probable_class_is_the_class_predicted(tree, probability, data):
    assert_law(with_probability(tree, probability), data.draw(points(tree.n_features)))


@given(wild_trees(), st.integers(2, 5), st.integers(0, 9), probabilities(), st.data())
def test_it_is_for_numbers_of_every_magnitude(tree, n_classes, seed, probability, data):
    assert_law(
        with_probability(with_classes(tree, n_classes, seed), probability), data.draw(wild_points(tree.n_features))
    )


@given(probabilities())
def test_it_is_for_scores_and_margins_that_overflow(probability):
    chain = Topology([[-1, 1], [-2, 2], [-3, -4]])
    value = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    tree = Tree(chain, [[1e300], [1e300], [-1e308]], [1.0, 1e308, 0.0], value, class_names=list("abcd"))
    assert_law(with_probability(tree, probability), [[1e300], [-1e300], [1e8], [-1e8], [0.0], [5e-324]])


@given(trees(kind="class"), st.data())
def test_the_margin_of_a_class_is_the_least_of_its_leaves(tree, data):
    X = data.draw(points(tree.n_features))
    scores, found = tree.scores(X), margins(tree, X)
    expected = np.full((len(X), tree.n_outputs), np.inf)
    for leaf, (splits, sides) in enumerate(zip(tree.topology.paths.split, tree.topology.paths.side)):
        violated = sum(
            (np.maximum(scores[:, i] * (1 - 2 * side), 0.0) for i, side in zip(splits, sides) if i >= 0),
            np.zeros(len(X)),
        )
        code = tree.leaf_class[leaf]
        expected[:, code] = np.minimum(expected[:, code], violated)
    held = np.isfinite(expected)
    assert_array_equal(found[held], expected[held])
    assert_array_equal(found[~held], np.broadcast_to(found.max(axis=1, keepdims=True), found.shape)[~held])
    assert (np.take_along_axis(found, tree.leaf_class[tree.apply(X)][:, None], axis=1) == 0).all()


@given(st.floats(-30, 30), st.floats(0.01, 5), st.floats(0.501, 1))
def test_one_split_is_the_sigmoid_of_platt(score, rate, share):
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[share, 1 - share], [1 - share, share]], class_names=[0, 1])
    plain = with_probability(tree, MarginProbability(rate, power=0.0)).predict_proba([[score]])[0]
    assert_allclose(plain[1], 1 / (1 + np.exp(-rate * score)), rtol=1e-13)
    mixed = with_probability(tree, MarginProbability(rate, floor=0.1)).predict_proba([[score]])[0]
    odds = np.log((0.9 * share + 0.05) / (0.9 * (1 - share) + 0.05)) * (1 if score > 0 else -1)
    assert_allclose(mixed[1], 1 / (1 + np.exp(-rate * score - odds)), rtol=1e-12)


def test_probability_grows_with_the_margin_and_starts_at_the_share():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.8, 0.2], [0.3, 0.7]], class_names=["no", "yes"])
    model = with_probability(tree, MarginProbability(rate=1.0))
    assert_allclose(model.predict_proba([[0.0]]), [[0.8, 0.2]])
    yes = model.predict_proba(np.linspace(0.01, 9, 50)[:, None])[:, 1]
    assert (np.diff(yes) > 0).all()
    assert yes[0] > 0.7


@given(trees(kind="class"), st.data())
def test_without_a_rate_the_probabilities_are_the_shares(tree, data):
    X = data.draw(points(tree.n_features))
    chance = with_probability(tree, MarginProbability(rate=0.0)).predict_proba(X)
    assert_allclose(chance, tree.predict_proba(X), atol=1e-14)


@given(trees(kind="class"), probabilities(), probabilities())
def test_predictions_do_not_depend_on_it_and_the_fingerprint_does(tree, one, other):
    models = [with_probability(tree, each) for each in (one, other)] + [Model.of(tree)]
    assert len({model.fingerprint() for model in models}) == 3 - (one == other)
    assert (models[0] == models[1]) == (one == other)
    assert models[0] != models[2]


def test_a_row_whose_scores_overflow_off_the_path_is_refused_by_probabilities_alone():
    tree = Tree(
        Topology([[-1, 1], [-2, -3]]), [[1.0, 0.0], [1e10, -1e10]], [0.0, 0.0], np.eye(3), class_names=[0, 1, 2]
    )
    model, row = with_probability(tree, MarginProbability(1.0)), [[-1e300, -1e300]]
    assert model.predict(row).tolist() == [0]
    with pytest.raises(ValueError, match="overflow"):
        model.predict_proba(row)


@pytest.mark.parametrize(
    ("numbers", "error", "message"),
    [
        ({"rate": -1.0}, ValueError, "rate must be finite and from 0"),
        ({"rate": np.inf}, ValueError, "rate must be finite"),
        ({"rate": 1.0, "power": np.nan}, ValueError, "power must be finite"),
        ({"rate": 1.0, "floor": 1.5}, ValueError, "floor must be finite and from 0 to 1"),
        ({"rate": "1"}, TypeError, "rate must be a number"),
        ({"rate": True}, TypeError, "rate must be a number"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers, error, message):
    with pytest.raises(error, match=message):
        MarginProbability(**numbers)


def test_a_regressor_has_none():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="probability must be None for a regressor"):
        with_probability(tree, MarginProbability(1.0))


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        MarginProbability(1.0).rate = 2.0
