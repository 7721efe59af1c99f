"""Numbers that float64 cannot hold are refused by name wherever a user enters one; Python would raise OverflowError."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.persistence import check_parameters
from dtsemnet.export import to_text
from dtsemnet.tree import Column, MarginProbability, Topology, Tree
from dtsemnet.verify import Domain, audit, certify, counterfactual, equivalent, lipschitz, monotone, robustness

HUGE = {"10**400": 10**400, "-10**400": -(10**400), "10**5000": 10**5000, "a fraction": Fraction(10**400)}
"""Python refuses to write the third, which has more than 4,300 digits."""
ROWS = np.random.default_rng(0).normal(size=(20, 2))
CLASS = (ROWS[:, 0] > 0).astype(int)
TREE = Tree(Topology.complete(1), [[1.0, 2.0]], [0.0], [[0.9, 0.1], [0.2, 0.8]], class_names=["a", "b"])
LINE = Tree(Topology.complete(1), [[1.0, 2.0]], [0.0], [[0.0], [1.0]])
BOX = Domain([-1, -1], [1, 1])


def fitted():
    return DTSemNetRegressor(effort=0, max_depth=0).fit(ROWS, ROWS[:, 0])


CALLS = {
    "class_weight": lambda x: DTSemNetClassifier(class_weight={0: x}).fit(ROWS, CLASS),
    "random_state": lambda x: DTSemNetClassifier(random_state=x).fit(ROWS, CLASS),
    "categorical_features": lambda x: DTSemNetClassifier(categorical_features=x).fit(ROWS, CLASS),
    "coverage": lambda x: fitted().predict_interval(ROWS, coverage=x),
    "depth": Topology.complete,
    "center": lambda x: Column("a", center=x),
    "scale": lambda x: Column("a", scale=x),
    "fill": lambda x: Column("a", missing="fill", fill=x),
    "lower": lambda x: Column("a", lower=x),
    "rate": MarginProbability,
    "power": lambda x: MarginProbability(1.0, power=x),
    "floor": lambda x: MarginProbability(1.0, floor=x),
    "fold": lambda x: to_text(LINE, ROWS, fold=x),
    "tolerance": lambda x: equivalent(LINE, LINE, BOX, tolerance=x),
    "tolerance of monotone": lambda x: monotone(LINE, 0, BOX, tolerance=x),
    "time_limit": lambda x: robustness(TREE, ROWS[0], time_limit=x if x > 0 else -1),
    "epsilon": lambda x: certify(TREE, ROWS, x),
    "epsilon of an audit": lambda x: audit(TREE, BOX, ROWS / 10, epsilon=[x]),
    "cost": lambda x: counterfactual(TREE, ROWS[0], "b", domain=BOX, cost=[x, 1]),
    "cost by name": lambda x: counterfactual(TREE, ROWS[0], "b", domain=BOX, cost={0: x}),
    "margin": lambda x: Domain.from_data(ROWS, margin=x),
    "norm": lambda x: lipschitz(LINE, norm=x),
}


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("name", CALLS)
def test_a_number_of_400_digits_is_refused_by_name(name, number):
    with pytest.raises(ValueError, match=name.split()[0]):
        CALLS[name](number)


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("make", [DTSemNetClassifier, DTSemNetRegressor])
def test_every_parameter_takes_a_number_of_400_digits_or_names_itself(make, number):
    messages = {}
    for name in make().get_params():
        try:
            check_parameters(make(**{name: number}))
        except ValueError as error:
            messages[name] = str(error)
    assert all(name in message for name, message in messages.items())
    bounded = {"learning_rate", "l1", "tol", "ccp_alpha", "min_samples_leaf", "n_init", "huber_delta"}
    assert bounded & set(make().get_params()) <= set(messages)


def test_more_starts_than_fit_into_memory_are_refused():
    with pytest.raises(ValueError, match="n_init must be a whole number from 1 to 1000000, or 'auto', got 9223"):
        DTSemNetClassifier(n_init=2**63).fit(ROWS, CLASS)
