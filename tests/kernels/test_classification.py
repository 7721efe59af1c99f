"""Classification: gradients against finite differences, and classes without leaves."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dtsemnet.kernels import classification
from dtsemnet.kernels.classification import ClassLoss, classification_gradients
from dtsemnet.kernels.rows import gather, new_batch
from dtsemnet.training import Classification, ClassParameters, Rows, Step, cpu_engine
from dtsemnet.tree import Topology
from gradients import SHAPES, assert_gradients_are_slopes, gradients_of

N_SAMPLES, N_FEATURES = 8, 3


@pytest.mark.parametrize("topology", SHAPES, ids=repr)
@pytest.mark.parametrize(("temperature", "q"), list(itertools.product([0.0, 0.6], [0.0, 0.7, 1.0])))
def test_class_gradients(topology, temperature, q):
    rng = np.random.default_rng(0)
    rows = Rows(
        rng.standard_normal((N_SAMPLES, N_FEATURES)), rng.integers(0, 3, N_SAMPLES), rng.random(N_SAMPLES) + 0.5
    )
    parameters = ClassParameters(
        rng.standard_normal((topology.n_splits, N_FEATURES + 1)), np.arange(topology.n_leaves) % 3
    )
    assert_gradients_are_slopes(Classification(3), topology, rows, parameters, Step(0.1, temperature=temperature, q=q))


def test_rows_of_a_class_without_leaves_have_no_gradient():
    rng = np.random.default_rng(3)
    topology = Topology.complete(2)
    parameters = ClassParameters(rng.standard_normal((3, N_FEATURES + 1)), np.array([0, 1, 0, 1]))
    rows = Rows(rng.standard_normal((5, N_FEATURES)), np.full(5, 2), np.ones(5))
    for temperature, q in itertools.product([0.0, 1.0], [0.0, 0.5]):
        engine = cpu_engine(Classification(3), topology, rows, parameters)
        loss, gradients = gradients_of(engine, rows, Step(0.1, temperature=temperature, q=q))
        assert np.isfinite(loss)
        assert (gradients["splits"] == 0).all()


def test_the_gradient_along_paths_is_that_of_the_dense_product():
    rng, topology = np.random.default_rng(4), Topology.complete(4)
    n_features, n_classes = 300, 2  # wide enough that paths are cheaper
    assert classification.PATH_COST * n_classes * topology.depth < topology.n_splits * (n_features + 1)
    rows = Rows(rng.standard_normal((9, n_features)), rng.integers(0, n_classes, 9), rng.random(9))
    splits, leaf_class = rng.standard_normal((15, n_features + 1)), np.arange(16) % n_classes
    batch, by_path, dense = gather(rows, np.arange(9), new_batch(rows, 9)), np.empty_like(splits), np.empty_like(splits)
    settings = topology.children, leaf_class, splits, ClassLoss(n_classes, 0.0, 0.0)
    loss = classification_gradients(batch, *settings, by_path)
    # A temperature so low that the pool is the maximum takes the other way.
    limit = topology.children, leaf_class, splits, ClassLoss(n_classes, 1e-6, 0.0)
    assert_allclose(classification_gradients(batch, *limit, dense), loss, rtol=1e-4)
    assert_allclose(by_path, dense, atol=1e-4)
