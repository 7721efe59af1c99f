"""The loop: both engines, resume to the same bytes, early stopping, interrupts, Algorithm 1."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.training import (
    Callback,
    Checkpoint,
    Classification,
    ClassParameters,
    Cosine,
    Geometric,
    History,
    Linear,
    Phase,
    Regression,
    RegressionParameters,
    Rows,
    Training,
    algorithm_1,
    cpu_engine,
    validation_error,
    validation_loss,
)
from dtsemnet.training.archive import read_archive, write_archive
from dtsemnet.training.engine import Step
from dtsemnet.tree import Topology

TOPOLOGY = Topology.complete(3)
PHASES = (Phase(12, Cosine(0.1), temperature=Geometric(1, 0.05, until=0.7, after=0), q=Linear(0, 0.7)),)


def rows_of(seed=0, n_samples=200, dtype=np.float32):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 4)).astype(dtype)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    return Rows(X, y, np.ones(n_samples, dtype))


def make_engine(seed=0, make=cpu_engine):
    rng = np.random.default_rng(seed)
    return make(
        Classification(2), TOPOLOGY, rows_of(), ClassParameters(rng.standard_normal((7, 5)), np.arange(8) % 2),
        batch_size=32,
    )  # fmt: skip


def make_torch(*args, **kwargs):
    pytest.importorskip("torch", reason="torch is an optional extra")
    from dtsemnet.training.torch import torch_engine

    return torch_engine(*args, **kwargs)


class StopAfter(Callback):
    """Stands for a kill: raises after some epochs."""

    def __init__(self, n_epochs, error):
        self.n_epochs, self.error = n_epochs, error

    def on_epoch(self, context):
        if len(context.history) == self.n_epochs:
            raise self.error


def train(engine, phases, rng, **options):
    run = Training(engine, phases, rng, n_samples=200, **options).start()
    try:
        run.advance()
    finally:
        history = run.finish()
    return history


def run(engine, seed=1, **options):
    return train(engine, PHASES, np.random.default_rng(seed), **options)


@pytest.mark.parametrize("make", [cpu_engine, make_torch])
def test_training_learns_what_one_split_cannot(make):
    engine = make_engine(make=make)
    history = train(engine, (Phase(60, Cosine(0.1), temperature=Geometric(1, 0.05, 0.7, 0)),),
                    np.random.default_rng(0))  # fmt: skip
    assert history["loss"][-1] < history["loss"][0]
    assert validation_error(rows_of())(engine) < 0.1


@pytest.mark.parametrize("make", [cpu_engine, make_torch])
@pytest.mark.parametrize("killed_after", [1, 5, 11])
def test_a_run_that_was_killed_resumes_to_the_same_bytes(tmp_path, make, killed_after):
    monitor = validation_loss(rows_of(1), Step(0.0))
    whole = make_engine(make=make)
    expected = run(whole, monitor=monitor)
    checkpoint = Checkpoint(tmp_path / "deep" / "run.npz")
    # The callback raises before the checkpoint of its epoch is written, so that epoch is run again.
    with pytest.raises(SystemExit):
        run(
            make_engine(make=make),
            monitor=monitor,
            checkpoint=checkpoint,
            callbacks=[StopAfter(killed_after, SystemExit())],
        )
    resumed = make_engine(make=make)
    history = run(resumed, monitor=monitor, checkpoint=checkpoint)
    for name, array in whole.state().items():
        assert_array_equal(resumed.state()[name], array)
    assert history["loss"] == expected["loss"]
    assert history["monitor"] == expected["monitor"]
    again = make_engine(make=make)
    assert len(run(again, monitor=monitor, checkpoint=checkpoint)) == 12  # complete: nothing is run twice
    assert_array_equal(again.parameters().splits, whole.parameters().splits)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.npz")
    run(make_engine(), checkpoint=checkpoint)
    with pytest.raises(ValueError, match="belongs to another run"):
        run(make_engine(), seed=2, checkpoint=checkpoint)
    (tmp_path / "run.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be read"):
        run(make_engine(), checkpoint=checkpoint)


def judged_by_its_size(path):
    options = {"n_samples": 200, "monitor": lambda engine: float(np.abs(engine.splits.value).sum())}
    return Training(make_engine(), PHASES, np.random.default_rng(1), checkpoint=Checkpoint(path), **options).start()


@pytest.mark.parametrize("part", ["state", "best"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leaf_class", np.full(8, 10**9)),
        ("leaf_class", np.full(8, -1)),
        ("leaf_class", np.full(8, np.nan)),
        ("leaf_class", np.full(8, "a")),
        ("splits.value", np.zeros((9, 9))),
        ("n_steps", np.array(-(2**63))),
        ("n_steps", np.zeros(2)),
    ],
)
def test_a_checkpoint_that_would_lead_compiled_kernels_out_of_their_arrays_is_refused(tmp_path, part, name, content):
    judged_by_its_size(tmp_path / "run.npz").advance(0.5)
    about, arrays = read_archive(tmp_path / "run.npz")
    write_archive(tmp_path / "run.npz", about, arrays | {f"{part}/{name}": content})
    with pytest.raises(ValueError, match=r"run\.npz cannot be read .*Delete it"):
        judged_by_its_size(tmp_path / "run.npz")


IMPOSSIBLE = [
    {"history": {"best_epoch": 99}},
    {"history": {"best_epoch": -1}},
    {"history": {"best_epoch": "1"}},
    {"history": {"best_epoch": [1]}},
    {"history": {"stopped": "rain"}},
    {"history": {"epochs": 3}},
    {"rng": {"has_uint32": float("inf")}},
    {"rng": {"has_uint32": 10**40}},
    {"rng": {"\x1b[2J": 1, "bit_generator": None}},
]


@pytest.mark.parametrize("changed", IMPOSSIBLE, ids=str)
def test_a_checkpoint_that_no_run_wrote_is_refused(tmp_path, changed):
    judged_by_its_size(tmp_path / "run.npz").advance(0.5)
    about, arrays = read_archive(tmp_path / "run.npz")
    [(part, changes)] = changed.items()
    write_archive(tmp_path / "run.npz", about | {part: about[part] | changes}, arrays)
    with pytest.raises(ValueError, match=r"run\.npz cannot be read") as refusal:
        judged_by_its_size(tmp_path / "run.npz")
    assert str(refusal.value).isprintable()


def test_the_best_state_is_the_one_kept():
    values = iter([5.0, 3.0, 1.0, 4.0, 2.0] + [9.0] * 7)
    seen = []

    def monitor(engine):
        seen.append(engine.parameters().splits)
        return next(values)

    engine = make_engine()
    history = run(engine, monitor=monitor)
    assert history.best_epoch == 2
    assert_array_equal(engine.parameters().splits, seen[2])


def test_a_run_does_nothing_before_it_is_started(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.npz")
    run(make_engine(), checkpoint=checkpoint)
    engine, rng = make_engine(), np.random.default_rng(1)
    before, drawn = engine.state(), dict(rng.bit_generator.state)
    waiting = Training(engine, PHASES, rng, n_samples=200, checkpoint=checkpoint)
    assert len(waiting.history) == 0
    assert rng.bit_generator.state == drawn
    assert_array_equal(engine.state()["splits.value"], before["splits.value"])
    assert len(waiting.start().history) == 12


def test_a_checkpoint_keeps_the_score_that_a_run_was_given(tmp_path):
    def new():
        options = {"n_samples": 200, "checkpoint": Checkpoint(tmp_path / "run.npz")}
        return Training(make_engine(), PHASES, np.random.default_rng(1), **options).start()

    first = new()
    first.advance(0.5)
    first.score = (0.25, 0.5)
    first.write_checkpoint()
    assert new().score == (0.25, 0.5)


def test_patience_ends_training():
    values = iter([3.0, 1.0, 2.0, 2.0, 2.0] + [0.0] * 10)
    history = run(make_engine(), monitor=lambda engine: next(values), patience=3)
    assert (len(history), history.best_epoch, history.stopped) == (5, 1, "patience")


def test_ctrl_c_leaves_the_best_so_far():
    engine = make_engine()
    states = []

    def monitor(engine):
        states.append(engine.parameters().splits)
        return float(abs(len(states) - 2))

    history = run(engine, monitor=monitor, callbacks=[StopAfter(4, KeyboardInterrupt())])
    assert history.stopped == "interrupt"
    assert len(history) == 4
    assert_array_equal(engine.parameters().splits, states[1])


def test_a_nan_names_the_epoch_and_leaves_no_tree_behind():
    rows = rows_of()
    rows.X[3] = np.nan
    engine = cpu_engine(Classification(2), TOPOLOGY, rows,
                        ClassParameters(np.ones((7, 5)), np.arange(8) % 2))  # fmt: skip
    with pytest.raises(FloatingPointError, match=r"epoch 0.*batch"):
        run(engine)


def regression_engine():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    rows = Rows(X, np.abs(X[:, :1]), np.ones(200))
    parameters = RegressionParameters(rng.standard_normal((7, 5)), rng.standard_normal((8, 5)) * 0.1)
    return cpu_engine(Regression(), TOPOLOGY, rows, parameters, batch_size=32)


class Record(Callback):
    def __init__(self):
        self.splits, self.leaves = [], []

    def on_epoch(self, context):
        parameters = context.engine.parameters()
        self.splits.append(parameters.splits)
        self.leaves.append(parameters.leaves)


def test_algorithm_1_trains_jointly_then_rests_the_splits():
    engine, record = regression_engine(), Record()
    phases = algorithm_1(6, 3, 3, k=Linear(4, 2), learning_rate=0.05, leaf_learning_rate=0.01)
    history = train(engine, phases, np.random.default_rng(0), callbacks=[record])
    assert history["k"] == [4, 3, 3, 2, 2, 2] + [1] * 6
    assert history["selector"] == ["top_k"] * 6 + ["augmented"] * 3 + ["top_k"] * 3
    moved = [(a != b).any() for a, b in zip(record.splits, record.splits[1:])]
    assert moved == [True] * 5 + [False] * 6
    assert all((a != b).any() for a, b in zip(record.leaves, record.leaves[1:]))
    assert history["loss"][-1] < history["loss"][0] / 2


def test_history_survives_its_dictionary():
    history = run(make_engine(), monitor=lambda engine: 1.0)
    assert History.from_dict(history.to_dict()) == history
