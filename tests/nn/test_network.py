"""The network passes scores to its head; its prediction is the tree's in every mode."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dtsemnet.nn import (
    ClassMaxPool,
    ConstantLeaves,
    DTSemNet,
    Hardmax,
    IdentityStraightThrough,
    LinearLeaves,
    LinearSplits,
    NormalisedSplits,
    StraightThrough,
    TopK,
)
from dtsemnet.tree import Topology


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
    assert net.apply(x).tolist() == [0]
    assert net.predict(x).tolist() == [1]  # while both classes pool to 0, and the argmax would be class 0
    assert net(x).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("selector", [Hardmax(), TopK(2), TopK(9), StraightThrough(), IdentityStraightThrough()])
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


@pytest.mark.parametrize("selector", [TopK(2), StraightThrough(), IdentityStraightThrough()])
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
    normalised = DTSemNet(
        regressor.topology, NormalisedSplits(LinearSplits(3, 3, generator=generator)), TopK(4), regressor.head
    )
    x = draw(4, 3, seed=4).double()
    for net in (classifier, smooth, regressor, normalised):
        net.double()
        assert torch.autograd.gradcheck(lambda *_, net=net: net(x), tuple(net.parameters()))


def test_apply_is_also_that_of_a_torch_module():
    net, seen = DTSemNet.classifier(2, 2, max_depth=1), []
    assert nn.Sequential(net).apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["LinearSplits", "Hardmax", "ClassMaxPool", "DTSemNet", "Sequential"]
    assert net.apply(torch.zeros(3, 2)).shape == (3,)


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
