"""The pool of dealt leaves is the pool of leaves in any order, forwards and backwards."""

from __future__ import annotations

import pytest
import torch

from dtsemnet.nn import ClassMaxPool
from dtsemnet.rl.policies.actors import DealtPool, TreeActor


@pytest.mark.parametrize("temperature", [0.0, 0.05, 1.0])
@pytest.mark.parametrize(("n_leaves", "n_classes"), [(2, 2), (8, 3), (16, 2), (32, 4), (32, 30)])
@pytest.mark.parametrize("training", [True, False])
def test_pools_agree(n_leaves, n_classes, temperature, training):
    pools = DealtPool(n_leaves, n_classes), ClassMaxPool(torch.arange(n_leaves) % n_classes, n_classes)
    generator = torch.Generator().manual_seed(n_leaves)
    logits = -torch.randint(0, 4, (50, n_leaves), generator=generator) / 4  # many ties
    weight = torch.randn(50, n_classes, generator=generator)
    found = []
    for pool in pools:
        pool.train(training).temperature = temperature
        z = logits.clone().requires_grad_()
        pooled = pool(z)
        (pooled * weight).sum().backward()
        found.append((pooled, z.grad))
    torch.testing.assert_close(*(pooled for pooled, _ in found))
    torch.testing.assert_close(*(gradient for _, gradient in found), atol=1e-5, rtol=1e-5)


def test_weights_of_the_other_pool_load():
    actor = TreeActor(4, 3, max_depth=3)
    state = actor.state_dict()
    actor.net.head = ClassMaxPool(torch.arange(8) % 3, 3)
    assert set(actor.state_dict()) == set(state)
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(actor(x), TreeActor.forward(_with(state), x))


def _with(state):
    actor = TreeActor(4, 3, max_depth=3)
    actor.load_state_dict(state)
    return actor
