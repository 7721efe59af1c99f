"""Decoding undoes encoding, and between the two the network is the tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.nn import (
    ChainSplits,
    ClassMaxPool,
    DTSemNet,
    Hardmax,
    LinearLeaves,
    NormalisedSplits,
    TopK,
    decode,
    encode,
    leaf_logits,
)
from dtsemnet.tree import Topology, Tree
from nn.drawing import ragged, walk
from strategies import points, trees, wild_points, wild_trees


@given(tree=trees())
def test_decoding_undoes_encoding(tree):
    assert decode(encode(tree)) == tree


@given(tree=trees(), data=st.data())
def test_network_reaches_the_leaf_of_the_tree(tree, data):
    X = data.draw(points(tree.n_features))
    np.testing.assert_array_equal(encode(tree).apply(torch.from_numpy(X)), tree.apply(X))
    logits = leaf_logits(torch.from_numpy(tree.scores(X)), tree.topology)
    np.testing.assert_array_equal(logits.argmax(dim=1), tree.apply(X))


@given(tree=trees(), data=st.data())
def test_network_predicts_as_the_tree(tree, data):
    X = data.draw(points(tree.n_features))
    net, x = encode(tree), torch.from_numpy(X)
    prediction = net.predict(x).detach().numpy()
    if tree.is_classifier:
        assert [net.head.class_names[c] for c in prediction] == list(tree.predict(X))
        pooled = net(x)
        assert (pooled[np.arange(len(X)), prediction] == 0).all()
    else:
        expected = tree.predict(X).reshape(len(X), -1)
        np.testing.assert_array_equal(prediction, expected)  # multiples of 1/64: no order of summation rounds
        np.testing.assert_array_equal(net(x).detach(), prediction)


@given(tree=wild_trees(), data=st.data())
def test_network_reaches_the_leaf_of_a_wild_tree_on_equal_scores(tree, data):
    X = data.draw(wild_points(tree.n_features))
    for scores in (tree.scores(X), tree.scores(X) * 1e-300):
        logits = leaf_logits(torch.from_numpy(scores), tree.topology)
        np.testing.assert_array_equal(logits.argmax(dim=1), walk(tree.topology, scores))
    np.testing.assert_array_equal(walk(tree.topology, tree.scores(X)), tree.apply(X))
    assert decode(encode(tree)) == tree


@given(tree=trees())
def test_network_is_float64_and_evaluates(tree):
    net = encode(tree)
    assert not net.training
    assert all(parameter.dtype == torch.float64 for parameter in net.parameters())


@given(seed=st.integers(0, 2**32 - 1), n_splits=st.integers(0, 9))
def test_what_was_trained_in_other_coordinates_decodes_to_the_same_function(seed, n_splits):
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    topology = ragged(n_splits, rng)
    splits = NormalisedSplits(ChainSplits(3, n_splits, (2, 3), generator=generator))
    head = LinearLeaves(rng.normal(size=(n_splits + 1, 2, 3)), rng.normal(size=(n_splits + 1, 2)))
    net = DTSemNet(topology, splits, TopK(2), head).double()
    x = torch.from_numpy(rng.normal(size=(40, 3)))
    net(x)  # in training mode: moves the running statistics
    tree, scores = decode(net), net.eval().scores(x)
    np.testing.assert_allclose(tree.scores(x.numpy()), scores.detach(), rtol=1e-10, atol=1e-11)
    clear = (scores.abs() > 1e-9).all(dim=1).numpy()
    np.testing.assert_array_equal(tree.apply(x.numpy())[clear], walk(topology, scores.detach().numpy())[clear])
    np.testing.assert_allclose(tree.predict(x.numpy())[clear], net.predict(x).detach()[clear], rtol=1e-9, atol=1e-10)


def test_trained_float32_network_decodes_to_its_own_numbers():
    net = DTSemNet.regressor(3, max_depth=3)
    tree = decode(net, feature_names=["a", "b", "c"])
    assert tree.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(tree.weight, net.splits.weight.detach().numpy())
    np.testing.assert_array_equal(tree.coef, net.head.coef.detach().numpy())
    again = encode(tree)
    assert decode(again.float()) == tree


def test_names_survive_and_can_be_replaced():
    tree = Tree(
        Topology([[-1, -2]]),
        [[-0.0, 1.0]],
        [0.5],
        [[1, 0], [0.25, 0.75]],
        feature_names=["a", "b"],
        class_names=["n", "y"],
    )
    net = encode(tree)
    assert decode(net).feature_names == ("a", "b")
    assert decode(net).class_names == ("n", "y")
    assert np.signbit(decode(net).weight[0, 0])
    assert decode(net, feature_names=["c", "d"]).feature_names == ("c", "d")


def test_class_pool_without_probabilities_decodes_to_one_hot_rows():
    net = DTSemNet.classifier(3, 2, max_depth=1)
    tree = decode(net)
    assert tree.value.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert tree.class_names == (0, 1)


def test_encoded_tree_can_be_trained_further():
    tree = Tree(Topology([[-1, -2]]), [[1.0]], [0.0], [[1.0], [2.0]])
    net = encode(tree).train()
    net.selector = TopK(2)
    net(torch.ones(1, 1, dtype=torch.float64)).sum().backward()
    assert net.splits.weight.grad.abs().sum() > 0
    assert decode(net) == tree


@pytest.mark.parametrize("seed", range(3))
def test_many_trees_and_points_agree(seed):
    rng = np.random.default_rng(seed)
    for n_splits in (0, 1, 3, 8, 20, 60):
        topology = ragged(n_splits, rng)
        weight, bias = rng.integers(-8, 9, (n_splits, 5)) / 8, rng.integers(-8, 9, n_splits) / 8
        tree = Tree(topology, weight, bias, np.eye(n_splits + 1), class_names=range(n_splits + 1))
        X = rng.integers(-16, 17, (10_000, 5)) / 8
        for dtype in (torch.float32, torch.float64):
            leaf = encode(tree).to(dtype).apply(torch.from_numpy(X).to(dtype))
            assert (leaf.numpy() != tree.apply(X)).sum() == 0


def test_head_decides_not_the_network():
    topology, head = Topology.complete(1), ClassMaxPool([0, 0], 2)
    net = DTSemNet(topology, NormalisedSplits(ChainSplits(2, 1)), Hardmax(), head)
    assert decode(net).is_classifier
    assert decode(net).predict(np.zeros((3, 2))).tolist() == [0, 0, 0]
