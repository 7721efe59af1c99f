"""Packed: parameters and moments of Adam go into rows and come back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from dtsemnet.rl.algorithms.packing import Packed, check_adam


def test_rows_are_copies_until_they_are_written_back():
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    packed = Packed(layer.parameters())
    weight, bias = packed.views(packed.row)
    np.testing.assert_array_equal(weight, before.numpy())
    weight += 1
    bias[:] = 5
    assert torch.equal(layer.weight, before)
    packed.write_back()
    assert torch.equal(layer.weight, before + 1)
    assert layer.bias.tolist() == [5.0, 5.0]
    weight += 1
    assert torch.equal(layer.weight, before + 1)


def test_the_state_of_adam_goes_there_and_back():
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    fresh = Packed(layer.parameters(), optimizer)
    assert fresh.n_steps[0] == 0
    assert not fresh.first.any()
    fresh.write_back()
    assert not optimizer.state  # nothing was trained
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
    packed = Packed(layer.parameters(), optimizer)
    assert packed.n_steps[0] == 3
    moment = optimizer.state[layer.bias]["exp_avg_sq"].clone()
    np.testing.assert_array_equal(packed.views(packed.second)[1], moment.numpy())
    packed.n_steps[0] += 1
    packed.second *= 2
    packed.write_back()
    assert optimizer.state[layer.bias]["step"] == 4
    assert torch.equal(optimizer.state[layer.bias]["exp_avg_sq"], 2 * moment)
    layer(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()  # torch goes on from there
    assert optimizer.state[layer.weight]["step"] == 5


@pytest.mark.parametrize("options", [{"betas": (0.5, 0.9)}, {"weight_decay": 0.1}, {"eps": 1e-3}, {"amsgrad": True}])
def test_other_adams_are_refused(options):
    parameters = [nn.Parameter(torch.zeros(2))]
    check_adam(torch.optim.Adam(parameters, fused=True))
    with pytest.raises(ValueError, match="with its own betas and eps, got Adam"):
        check_adam(torch.optim.Adam(parameters, **options))
    with pytest.raises(ValueError, match="got AdamW"):
        check_adam(torch.optim.AdamW(parameters))
