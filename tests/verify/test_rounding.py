"""Proofs cover the tree as it runs: a leaf that only rounding reaches, which proofs without slack would rule out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import (
    Domain,
    certify,
    counterfactual,
    equivalent,
    never,
    output_bounds,
    possible_classes,
    prune_unreachable,
    reachable_leaves,
    robustness,
)
from dtsemnet.verify.proof import regions
from dtsemnet.verify.proof.certificates import exact_dot

# Beside 1e16 numbers up to 1 are rounded away: the score of LOST is -0.5 in doubles and 3.5 in truth. On the domain the
# true score is never below 0.3, yet every row whose last eight columns are small goes left.
WEIGHT = np.array([1e16, -1e16, *[1.0] * 8])
BIAS = -0.5
LOST = np.array([1.0, 1.0, *[0.5] * 8])
KEPT = np.array([1.0, 1.0, *[8.0] * 8])
DOMAIN = Domain([1, 1, *[0.1] * 8], [1, 1, *[1e6] * 8])
TREE = Tree(Topology.complete(1), [WEIGHT], [BIAS], [[1, 0], [0, 1]], class_names=["left", "right"])
NUMBERS = Tree(Topology.complete(1), [WEIGHT], [BIAS], [[0.0], [1.0]])


@pytest.fixture
def no_slack(monkeypatch):
    monkeypatch.setattr(regions, "rounding_bound", lambda weight, bias, lower, upper: np.zeros(len(weight)))


def test_doubles_reach_what_the_reals_do_not():
    assert exact_dot(WEIGHT, DOMAIN.lower) + Fraction(BIAS) > 0  # the least true score on the domain
    assert TREE.apply(np.stack([LOST, KEPT])).tolist() == [0, 1]


def test_no_question_is_answered_as_if_sums_were_exact():
    assert 0 not in reachable_leaves(TREE, DOMAIN).unreachable
    assert prune_unreachable(TREE, DOMAIN).predict(LOST[None])[0] == "left"
    assert possible_classes(TREE, DOMAIN)["left"].status != "unreachable"
    assert never(TREE, DOMAIN, "left").status != "yes"
    assert output_bounds(NUMBERS, DOMAIN)[0].minimum.certified == 0.0
    assert robustness(TREE, KEPT, domain=DOMAIN).lower <= np.abs(KEPT - LOST).max()
    assert certify(TREE, KEPT[None], 7.5, domain=DOMAIN).status[0] != "certified"
    assert equivalent(TREE, _always_right(), DOMAIN).status != "yes"
    assert all(
        answer.lower <= 8 * 7.5 for answer in counterfactual(TREE, KEPT, "left", domain=DOMAIN, cost=np.ones(10))
    )


@pytest.mark.usefixtures("no_slack")
def test_without_the_slack_every_one_of_them_is_wrong():
    assert 0 in reachable_leaves(TREE, DOMAIN).unreachable
    assert prune_unreachable(TREE, DOMAIN).predict(LOST[None])[0] == "right"
    assert possible_classes(TREE, DOMAIN)["left"].status == "unreachable"
    assert never(TREE, DOMAIN, "left").status == "yes"
    assert output_bounds(NUMBERS, DOMAIN)[0].minimum.certified == 1.0
    assert robustness(TREE, KEPT, domain=DOMAIN).lower == np.inf
    assert certify(TREE, KEPT[None], 7.5, domain=DOMAIN).status[0] == "certified"
    assert equivalent(TREE, _always_right(), DOMAIN).status == "yes"
    assert counterfactual(TREE, KEPT, "left", domain=DOMAIN) == []


def _always_right():
    return Tree(Topology([]), np.empty((0, 10)), [], [[0, 1]], class_names=["left", "right"])
