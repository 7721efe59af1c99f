"""Selectors, splits and leaves of DGT, ICCT and soft trees, in networks of every shape and in SAC."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import SAC

from dtsemnet.nn import leaf_logits
from dtsemnet.rl import TreeSACPolicy, policy_tree
from dtsemnet.tree import Topology
from dtsemnet_paper.agents.rival_modules import AxisSplits, CrispTurns, QuantisedPaths, SoftTurns, SparseLinearLeaves
from rl.worlds import Echo, far_from_splits
from strategies import eighths, topologies

COMPLETE = st.integers(1, 4).map(Topology.complete)
"""DGT sums along paths, which compares leaves of one depth alone."""


@given(case=st.tuples(topologies(), st.just(CrispTurns)) | st.tuples(COMPLETE, st.just(QuantisedPaths)), data=st.data())
def test_hard_selectors_take_the_leaf_of_the_tree(case, data):
    topology, kind = case
    scores = torch.tensor(data.draw(eighths((5, topology.n_splits))))
    leaf = leaf_logits(scores, topology).argmax(dim=1)
    expected = torch.nn.functional.one_hot(leaf, topology.n_leaves).double()
    torch.testing.assert_close(kind().weigh(scores, topology), expected, rtol=0, atol=0)
    torch.testing.assert_close(kind().eval().weigh(scores, topology), expected, rtol=0, atol=0)


@given(topology=topologies(), data=st.data())
def test_soft_shares_sum_to_one_and_harden_with_large_scores(topology, data):
    scores = torch.tensor(data.draw(eighths((5, topology.n_splits))))
    torch.testing.assert_close(SoftTurns().weigh(scores, topology).sum(dim=1), torch.ones(5, dtype=torch.float64))
    away = torch.where(scores > 0, scores + 1, scores - 1) * 100
    hard = torch.nn.functional.one_hot(leaf_logits(away, topology).argmax(dim=1), topology.n_leaves).double()
    torch.testing.assert_close(SoftTurns().weigh(away, topology), hard)


def test_soft_share_is_the_product_of_its_turns():
    scores = torch.randn(20, 3)
    right = scores.sigmoid()
    left = 1 - right
    turns = [(left, left, 1), (left, right, 1), (right, left, 2), (right, right, 2)]
    expected = torch.stack([first[:, 0] * second[:, split] for first, second, split in turns], dim=1)
    torch.testing.assert_close(SoftTurns().weigh(scores, Topology.complete(2)), expected)


def test_crisp_slopes_are_those_of_sigmoids():
    scores = torch.tensor([[0.7]], requires_grad=True)
    CrispTurns().weigh(scores, Topology.complete(1))[0, 1].backward()
    share = torch.tensor(0.7).sigmoid()
    torch.testing.assert_close(scores.grad, (share * (1 - share)).reshape(1, 1))


def test_quantised_slopes_end_where_scores_are_large():
    scores = torch.tensor([[0.5, -0.5, 3.0]], requires_grad=True)
    QuantisedPaths().weigh(scores, Topology.complete(2))[0, 3].backward()
    assert (scores.grad[0] != 0).tolist() == [True, True, False]


def test_axis_splits_score_as_they_fold():
    splits, x = AxisSplits(5, 7), torch.randn(30, 5)
    weight, bias = splits.fold()
    torch.testing.assert_close(splits(x).double(), x.double() @ weight.T + bias, atol=1e-6, rtol=1e-5)
    assert ((weight != 0).sum(dim=1) == 1).all()


@pytest.mark.parametrize(
    ("parts", "n_slopes"),
    [
        ({"selector": QuantisedPaths()}, 2),
        ({"selector": SoftTurns()}, 2),
        ({"selector": CrispTurns(), "splits": AxisSplits, "leaves": partial(SparseLinearLeaves, n_slopes=1)}, 1),
    ],
)
def test_sac_trains_every_part_and_ends_in_the_tree(parts, n_slopes, tmp_path):
    agent = SAC(
        TreeSACPolicy,
        Echo(),
        policy_kwargs={"max_depth": 2, "net_arch": [16], **parts},
        learning_starts=50,
        buffer_size=500,
        batch_size=32,
        seed=0,
        device="cpu",
    )
    before = {name: value.clone() for name, value in agent.actor.named_parameters()}
    agent.learn(100)
    assert not [name for name, value in agent.actor.named_parameters() if torch.equal(before[name], value)]
    agent.save(tmp_path / "agent")
    model = policy_tree(SAC.load(tmp_path / "agent", device="cpu"), vec_normalize=False)
    assert ((model.tree.coef != 0).sum(axis=2) == n_slopes).all()
    X = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    far = far_from_splits(model, X)
    assert far.mean() > 0.99
    np.testing.assert_allclose(model.predict(X)[far], agent.predict(X, deterministic=True)[0][far], rtol=0, atol=1e-5)


def test_errors_name_the_way_out():
    with pytest.raises(TypeError, match="SoftTurns weighs leaves by the scores"):
        SoftTurns()(torch.zeros(1, 2))
    with pytest.raises(ValueError, match="n_slopes"):
        SparseLinearLeaves(torch.zeros(1, 1, 2), torch.zeros(1, 1), n_slopes=0)
