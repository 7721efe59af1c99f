"""Routing without machine code: the same bits, the same rows refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.kernels import kernel as decorated
from dtsemnet.kernels import logits, plain, routing
from dtsemnet.kernels.kernel import Kernel
from dtsemnet.tree import Topology

ARRANGED = st.sampled_from([Topology.complete(1), Topology.complete(3), Topology([[-1, 1], [-2, -3]])])


def outcome(function, *arguments):
    """The answer, and what was written if no row was refused."""
    answer = function(*arguments)
    return answer, arguments[-1] if isinstance(answer, int) and answer < 0 else None


@settings(max_examples=50)
@given(
    topology=ARRANGED,
    seed=st.integers(0, 1000),
    n_columns=st.integers(1, 40),
    n_rows=st.integers(0, 40),
    real=st.sampled_from("fd"),
)
def test_routing_has_the_same_bits_and_refuses_the_same_rows(topology, seed, n_columns, n_rows, real):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(real)
    if seed % 3 == 0 and n_rows:
        X[rng.integers(n_rows), rng.integers(n_columns)] = rng.choice([np.nan, np.inf, 1e38])
    weight = routing.pad_rows(rng.normal(size=(topology.n_splits, n_columns)) * 1e300 ** (seed % 5 == 0))
    bias, children = rng.normal(size=topology.n_splits), topology.children.ravel()
    value = rng.normal(size=(topology.n_leaves, 2))
    coef = routing.pad_rows(rng.normal(size=(2 * topology.n_leaves, n_columns)))
    leaf = rng.integers(0, topology.n_leaves, n_rows)
    cases = {
        "apply": lambda: (X, weight, bias, children, np.zeros(n_rows, np.int64)),
        "scores": lambda: (X, weight, bias, np.zeros((n_rows, topology.n_splits))),
        "decision_path": lambda: (X, weight, bias, children, np.full((n_rows, topology.depth), -1)),
        "linear": lambda: (X, leaf, coef, value, value - 0.1, value + 0.1, np.zeros((n_rows, 2))),
        "first_non_finite": lambda: (X,),
    }
    for name, arguments in cases.items():
        (row, one), (row_too, other) = (outcome(getattr(room, name), *arguments()) for room in (plain, routing))
        assert row == row_too, name
        assert np.array_equal(one, other), name


@given(topology=ARRANGED, seed=st.integers(0, 1000), n_classes=st.integers(1, 4))
def test_margins_have_the_same_bits(topology, seed, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, (30, topology.n_splits)) * rng.choice([0.1, 1.0])
    arguments = (scores, topology.children, rng.integers(0, n_classes, topology.n_leaves), n_classes)
    assert np.array_equal(plain.class_margins(*arguments), logits.class_margins(*arguments))


def test_a_stand_in_takes_calls_until_compiling_is_worth_its_time(monkeypatch):
    calls = []
    counted = Kernel(decorated(lambda x: x + 1).py_func, lambda x: calls.append(x) or x + 1)
    monkeypatch.setattr(Kernel, "dispatcher", staticmethod(lambda x: x + 1))
    assert counted(1) == 2
    assert calls == [1]
    counted.seconds = 10.0
    assert counted(1) == 2
    assert calls == [1]


@pytest.mark.parametrize("name", plain.__all__)
def test_each_stand_in_belongs_to_a_kernel_of_its_name(name):
    kernels = {
        one.py_func.__name__: one
        for room in (routing, logits)
        for one in vars(room).values()
        if isinstance(one, Kernel)
    }
    assert kernels[name].stand_in is getattr(plain, name)
