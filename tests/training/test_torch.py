"""Both engines compute one function: losses and gradients, for every loss, selector and head."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="torch is an optional extra")

from dtsemnet.kernels.regression import LOSSES  # noqa: E402
from dtsemnet.training import (  # noqa: E402
    ALL,
    Classification,
    ClassParameters,
    Penalties,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    cpu_engine,
)
from dtsemnet.training.torch import torch_engine  # noqa: E402
from dtsemnet.tree import Topology  # noqa: E402
from gradients import gradients_of  # noqa: E402
from strategies import topologies  # noqa: E402

SELECTIONS = [("top_k", 1), ("top_k", 2), ("top_k", 3), ("top_k", ALL), ("straight_through", 1), ("augmented", 1)]


def classification_case(topology, seed, n_classes=3, n_samples=17, n_features=4):
    rng = np.random.default_rng(seed)
    rows = Rows(
        rng.standard_normal((n_samples, n_features)), rng.integers(0, n_classes, n_samples), rng.random(n_samples) + 0.1
    )
    leaf_class = rng.integers(0, n_classes, topology.n_leaves)  # a class may hold no leaf
    return rows, ClassParameters(rng.standard_normal((topology.n_splits, n_features + 1)), leaf_class)


def regression_case(topology, seed, linear, n_outputs=2, n_samples=17, n_features=4):
    rng = np.random.default_rng(seed)
    rows = Rows(
        rng.standard_normal((n_samples, n_features)),
        rng.standard_normal((n_samples, n_outputs)),
        rng.random(n_samples) + 0.1,
    )
    splits = rng.standard_normal((topology.n_splits, n_features + 1))
    leaves = rng.standard_normal((topology.n_leaves * n_outputs, n_features + 1 if linear else 1))
    return rows, RegressionParameters(splits, leaves)


def assert_engines_agree(problem, topology, rows, parameters, step):
    engines = [make(problem, topology, rows, parameters) for make in (cpu_engine, torch_engine)]
    (loss, gradients), (torch_loss, torch_gradients) = (gradients_of(engine, rows, step) for engine in engines)
    assert_allclose(loss, torch_loss, rtol=1e-10, atol=1e-10)
    assert gradients.keys() == torch_gradients.keys()
    for name, gradient in gradients.items():
        assert_allclose(gradient, torch_gradients[name], rtol=1e-10, atol=1e-10)
    assert_allclose(engines[0].loss(rows, step), engines[1].loss(rows, step), rtol=1e-10)
    assert (engines[0].reached(rows.X) == engines[1].reached(rows.X)).all()


@given(topologies(), st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.7, 1.0]))
def test_classification_engines_agree(topology, seed, temperature, q):
    rows, parameters = classification_case(topology, seed)
    assert_engines_agree(Classification(3), topology, rows, parameters, Step(0.1, temperature=temperature, q=q))


@pytest.mark.parametrize(("loss", "linear"), list(itertools.product(LOSSES, [True, False])))
@given(topologies(), st.integers(0, 2**32), st.sampled_from(SELECTIONS))
def test_regression_engines_agree(loss, linear, topology, seed, selection):
    rows, parameters = regression_case(topology, seed, linear)
    step = Step(0.1, k=selection[1], temperature=0.5, selector=selection[0])
    assert_engines_agree(Regression(2, linear, loss, 0.3), topology, rows, parameters, step)


PENALTIES = [
    Penalties(),
    Penalties(weight_decay=0.1),
    Penalties(l1=0.01, clip=0.05),
]


@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("task", ["class", "linear", "constant", "frozen"])
def test_engines_take_the_same_steps(penalties, task):
    topology = Topology.complete(3)
    if task == "class":
        problem, (rows, parameters) = Classification(3), classification_case(topology, 0)
        step = Step(0.05, temperature=0.5, q=0.5)
    else:
        linear = task != "constant"
        problem, (rows, parameters) = Regression(2, linear), regression_case(topology, 0, linear)
        step = Step(0.0, 0.05) if task == "frozen" else Step(0.05, 0.02, k=4, temperature=0.5)
    engines = [
        make(problem, topology, rows, parameters, batch_size=5, penalties=penalties)
        for make in (cpu_engine, torch_engine)
    ]
    rng = np.random.default_rng(1)
    for _ in range(4):
        order = rng.permutation(len(rows.X))
        losses = [engine.run_epoch(order, step) for engine in engines]
        assert_allclose(losses[0], losses[1], rtol=1e-9)
    found, expected = (engine.parameters() for engine in engines)
    assert_allclose(found.splits, expected.splits, rtol=1e-7, atol=1e-9)
    assert (found.splits != parameters.splits).any() == (task != "frozen")
    if task != "class":
        assert_allclose(found.leaves, expected.leaves, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", [cpu_engine, torch_engine])
@pytest.mark.parametrize("task", ["class", "linear"])
def test_state_restores_the_course_of_training(make, task):
    topology = Topology.complete(2)
    if task == "class":
        problem, (rows, parameters), step = Classification(3), classification_case(topology, 0), Step(0.1)
    else:
        problem, (rows, parameters), step = (
            Regression(2),
            regression_case(topology, 0, True),
            Step(0.1, k=2, temperature=1.0),
        )
    engine, order = make(problem, topology, rows, parameters, batch_size=5), np.arange(len(rows.X))
    start = engine.state()
    engine.run_epoch(order, step)
    middle = engine.state()
    first_end = (engine.run_epoch(order, step), engine.parameters().splits)
    engine.restore(middle)
    assert engine.run_epoch(order, step) == first_end[0]
    assert (engine.parameters().splits == first_end[1]).all()
    engine.restore(start)
    assert (engine.parameters().splits == parameters.splits).all()


@pytest.mark.parametrize("make", [cpu_engine, torch_engine])
def test_a_nan_stops_with_the_batch_it_came_from(make):
    topology = Topology.complete(2)
    rows, parameters = classification_case(topology, 0)
    rows.X[7, 1] = np.nan
    engine = make(Classification(3), topology, rows, parameters, batch_size=5)
    with pytest.raises(FloatingPointError, match=r"batch 1 .*learning rate"):
        engine.run_epoch(np.arange(len(rows.X)), Step(0.1))
    assert np.isfinite(engine.parameters().splits).all()


@pytest.mark.parametrize("make", [cpu_engine, torch_engine])
def test_assigned_classes_are_the_ones_trained(make):
    topology = Topology.complete(2)
    rows, parameters = classification_case(topology, 0)
    engine = make(Classification(3), topology, rows, parameters)
    other = (parameters.leaf_class + 1) % 3
    engine.assign(other)
    fresh = make(Classification(3), topology, rows, ClassParameters(parameters.splits, other))
    assert engine.loss(rows, Step(0.1)) == fresh.loss(rows, Step(0.1))
    assert (engine.parameters().leaf_class == other).all()
