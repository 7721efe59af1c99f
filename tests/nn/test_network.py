"""The network computes the tree in every mode; decoding undoes encoding."""

from __future__ import annotations

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from dtsemnet.nn import (
    ClassMaxPool,
    ConstantLeaves,
    DTSemNet,
    Hardmax,
    LinearLeaves,
    LinearSplits,
    StraightThrough,
    TopK,
    decode,
    encode,
    leaf_logits,
)
from dtsemnet.tree import Topology, Tree
from nn.drawing import ragged, walk
from strategies import points, trees, wild_points, wild_trees


def draw(*shape, seed=0):
    """Draw normal numbers from a seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_parts_must_fit():
    topology = Topology.complete(2)
    splits, head = LinearSplits(4, 3), ConstantLeaves(torch.zeros(4, 1))
    with pytest.raises(ValueError, match="5 splits, but the topology has 3"):
        DTSemNet(topology, LinearSplits(4, 5), Hardmax(), head)
    with pytest.raises(ValueError, match="3 leaves, but the topology has 4"):
        DTSemNet(topology, splits, Hardmax(), ConstantLeaves(torch.zeros(3, 1)))
    with pytest.raises(ValueError, match="feature_names must hold 4 names, got 1"):
        DTSemNet(topology, splits, Hardmax(), head, feature_names=["a"])


def test_predicted_class_is_that_of_the_leaf_reached_even_on_a_hyperplane():
    net = DTSemNet.classifier(1, 2, max_depth=1)
    net.head = ClassMaxPool([1, 0], 2)
    with torch.no_grad():
        net.splits.bias.zero_()
    x = torch.zeros(1, 1)
    assert net.leaf(x).tolist() == [0]
    assert net.predict(x).tolist() == [1]  # while both classes pool to 0, and the argmax would be class 0
    assert net(x).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("selector", [Hardmax(), TopK(2), TopK(9), StraightThrough()])
def test_prediction_does_not_depend_on_mode_or_selector(selector):
    net = DTSemNet.regressor(3, 2, max_depth=3, selector=selector, generator=torch.Generator().manual_seed(1))
    x = draw(50, 3)
    training = net.train().predict(x)
    assert torch.equal(training, net.eval().predict(x))
    assert torch.equal(training, net.eval()(x))


def test_selector_has_no_part_in_the_class_pool():
    net = DTSemNet.classifier(3, 4, max_depth=3)
    expected = net(draw(9, 3))
    net.selector = TopK(2)
    assert torch.equal(net(draw(9, 3)), expected)


def test_top_1_trains_the_leaves_and_gives_the_splits_no_gradient():
    net = DTSemNet.regressor(3, max_depth=3, selector=TopK(1))
    net(draw(20, 3)).square().mean().backward()
    assert net.splits.weight.grad is None
    assert net.splits.bias.grad is None
    assert net.head.coef.grad is not None


@pytest.mark.parametrize("selector", [TopK(2), StraightThrough()])
def test_other_selectors_train_the_splits(selector):
    net = DTSemNet.regressor(3, max_depth=3, selector=selector)
    net(draw(20, 3)).square().mean().backward()
    assert net.splits.weight.grad.abs().sum() > 0


def test_gradients_agree_with_finite_differences():
    generator = torch.Generator().manual_seed(3)
    classifier = DTSemNet.classifier(3, 3, max_depth=2, generator=generator)
    smooth = copy.deepcopy(classifier)
    smooth.head.temperature = 0.5
    regressor = DTSemNet.regressor(3, 2, max_depth=2, selector=TopK(2), generator=generator)
    x = draw(4, 3, seed=4).double()
    for net in (classifier, smooth, regressor):
        net.double()
        assert torch.autograd.gradcheck(lambda *_, net=net: net(x), tuple(net.parameters()))


def test_apply_is_also_that_of_a_torch_module():
    net, seen = DTSemNet.classifier(2, 2, max_depth=1), []
    assert nn.Sequential(net).apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["LinearSplits", "Hardmax", "ClassMaxPool", "DTSemNet", "Sequential"]
    assert net.leaf(torch.zeros(3, 2)).shape == (3,)


def test_one_leaf_is_a_network_too():
    classifier = DTSemNet.classifier(2, 1, max_depth=0)
    F.cross_entropy(classifier(draw(3, 2)), torch.zeros(3, dtype=torch.long)).backward()
    assert classifier.predict(draw(3, 2)).tolist() == [0, 0, 0]
    regressor = DTSemNet.regressor(2, max_depth=0)
    regressor(draw(3, 2)).sum().backward()
    assert regressor.head.value.grad.tolist() == [[3.0]]


def test_gradient_descent_learns_an_oblique_split():
    generator = torch.Generator().manual_seed(0)
    net = DTSemNet.classifier(2, 2, max_depth=1, generator=generator)
    x = draw(200, 2)
    y = (x[:, 0] - x[:, 1] > 0.3).long()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimiser.step()
    assert (net.predict(x) == y).float().mean() > 0.97


def test_state_comes_back():
    topology = Topology([[-1, 1], [-2, -3]])

    def build(seed):
        head = LinearLeaves(draw(3, 1, 2, seed=seed), draw(3, 1, seed=seed), draw(3, 1, seed=seed) - 1)
        return DTSemNet(topology, LinearSplits(2, 2), TopK(2), head)

    first, second = build(1), build(2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.eval()(draw(9, 2)), second.eval()(draw(9, 2)))


def test_without_torch_the_import_says_how_to_install_it():
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "import dtsemnet.nn"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install "dtsemnet[torch]"' in run.stderr.splitlines()[-1]


@given(tree=trees())
def test_decoding_undoes_encoding(tree):
    assert decode(encode(tree)) == tree


@given(tree=trees(), data=st.data())
def test_network_reaches_the_leaf_of_the_tree(tree, data):
    X = data.draw(points(tree.n_features))
    np.testing.assert_array_equal(encode(tree).leaf(torch.from_numpy(X)), tree.apply(X))
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
            leaf = encode(tree).to(dtype).leaf(torch.from_numpy(X).to(dtype))
            assert (leaf.numpy() != tree.apply(X)).sum() == 0


def test_head_decides_not_the_network():
    topology, head = Topology.complete(1), ClassMaxPool([0, 0], 2)
    net = DTSemNet(topology, LinearSplits(2, 1), Hardmax(), head)
    assert decode(net).is_classifier
    assert decode(net).predict(np.zeros((3, 2))).tolist() == [0, 0, 0]
