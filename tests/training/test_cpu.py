"""The compiled epoch is the loop over batches that it claims to be."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.kernels.optimizer import Moments, adam, clip_scale
from dtsemnet.training import (
    Classification,
    ClassParameters,
    Penalties,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    cpu_engine,
)
from dtsemnet.tree import Topology
from gradients import gradients_of

TOPOLOGY, N_ROWS, N_FEATURES = Topology.complete(3), 17, 4


def engine_for(task, *, batch_size=5, penalties=None, contiguous=True):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((N_ROWS, N_FEATURES)), rng.random(N_ROWS) + 0.1
    splits = rng.standard_normal((TOPOLOGY.n_splits, N_FEATURES + 1))
    y, targets = rng.integers(0, 3, N_ROWS), rng.standard_normal((N_ROWS, 2))
    leaves = rng.standard_normal((TOPOLOGY.n_leaves * 2, N_FEATURES + 1))
    options = {"batch_size": batch_size, "penalties": penalties}
    if task == "class":
        parameters = ClassParameters(splits, np.arange(TOPOLOGY.n_leaves) % 3)
        rows = Rows(X, y if contiguous else np.repeat(y, 2)[::2], weight)
        return cpu_engine(Classification(3), TOPOLOGY, rows, parameters, **options)
    rows = Rows(X, targets if contiguous else np.asfortranarray(targets), weight)
    return cpu_engine(Regression(2), TOPOLOGY, rows, RegressionParameters(splits, leaves), **options)


STEPS = {"class": Step(0.05, temperature=0.5, q=0.5), "numbers": Step(0.05, 0.02, k=3, temperature=0.5)}


@pytest.mark.parametrize("task", STEPS)
@pytest.mark.parametrize("penalties", [Penalties(), Penalties(0.1, 0.01, 0.5)])
def test_an_epoch_is_a_loop_of_gradients_clipping_and_adam(task, penalties):
    engine, step = engine_for(task, penalties=penalties), STEPS[task]
    peer, order = engine_for(task), np.random.default_rng(1).permutation(N_ROWS)
    trained = {name: Moments(*(array.copy() for array in moments)) for name, moments in peer.trained.items()}
    for n, start in enumerate(range(0, N_ROWS, 5), 1):
        rows = Rows(*(array[order[start : start + 5]] for array in peer.rows))
        for name, moments in trained.items():
            peer.trained[name].value[...] = moments.value
        _, gradients = gradients_of(peer, rows, step)
        scale = clip_scale(tuple(gradients.values()), penalties.clip)
        adam(trained["splits"], gradients["splits"], n, 0.05, penalties.weight_decay, penalties.l1, scale)
        if "leaves" in trained:
            adam(trained["leaves"], gradients["leaves"], n, 0.02, 0.0, 0.0, scale)
    engine.run_epoch(order, step)
    for name, moments in trained.items():
        for found, expected in zip(engine.trained[name], moments):
            assert_array_equal(found, expected)


@pytest.mark.parametrize("weight", [np.arange(1.0, 18.0), np.full(17, 0.1), np.geomspace(1e-9, 1e9, 17)])
def test_the_loss_of_an_epoch_is_a_mean_over_the_rows_of_its_order(weight):
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((N_ROWS, N_FEATURES)), rng.integers(0, 3, N_ROWS), weight)
    start = ClassParameters(rng.standard_normal((7, N_FEATURES + 1)), np.arange(8) % 3)
    for order in (rng.permutation(N_ROWS), np.arange(5)):
        engine = cpu_engine(
            Classification(3), TOPOLOGY, rows, start, batch_size=N_ROWS
        )  # one batch: the loss before it
        part = Rows(*(array[order] for array in engine.rows))
        expected = engine.loss(part, STEPS["class"])
        assert engine.run_epoch(order, STEPS["class"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("task", STEPS)
def test_rows_in_any_layout_train_alike(task):
    engines, order = [engine_for(task), engine_for(task, contiguous=False)], np.arange(N_ROWS)
    losses = [engine.run_epoch(order, STEPS[task]) for engine in engines]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("task", STEPS)
def test_a_batch_may_be_larger_than_the_rows(task):
    engines, order = [engine_for(task, batch_size=size) for size in (N_ROWS, 10**9)], np.arange(N_ROWS)
    losses = [engine.run_epoch(order, STEPS[task]) for engine in engines]
    assert losses[0] == losses[1]


def test_the_digest_depends_on_rows_batches_and_penalties():
    engines = [engine_for("class"), engine_for("class", batch_size=6), engine_for("class", penalties=Penalties(0.1))]
    assert len({engine.digest() for engine in engines}) == 3
    assert engine_for("class").digest() == engines[0].digest()
