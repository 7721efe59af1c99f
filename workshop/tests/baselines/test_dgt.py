"""Dense gradient trees: the gradients they claim to follow, the tree they end in, and what users may ask of them."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.nn import functional

from dtsemnet.kernels.logits import reached
from dtsemnet.training import RegressionParameters, Rows, Step
from dtsemnet.tree import Topology
from dtsemnet_paper.baselines.dgt import DGTClassifier, DGTEngine, DGTRegressor, DGTSetting
from dtsemnet_paper.baselines.kernels.dgt import EPSILON, DGTArrays, dgt_gradients

N_SAMPLES, N_FEATURES = 12, 3


@parametrize_with_checks([DGTClassifier(max_iter=20, n_init=2), DGTRegressor(max_iter=20, n_init=2, leaf="linear")])
def test_scikit_learn_check(estimator, check):
    check(estimator)


class Quantised(torch.autograd.Function):
    """sign(z) m forward; backward twice the identity where |z| <= 1, as ``2 [z > 0] m - m`` has it."""

    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return torch.where(z > 0, 1.0, -1.0).to(z) * z.abs().mean()

    @staticmethod
    def backward(ctx, gradient):
        (z,) = ctx.saved_tensors
        return 2 * gradient * (z.abs() <= 1)


class OneHot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p):
        return functional.one_hot(p.argmax(dim=1), p.shape[1]).to(p)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def authors_network(topology, batch, splits, norm, leaves, n_outputs):
    """The network as published, through dense layers and autograd."""
    z = batch @ splits.T
    if len(norm):
        z = (z - z.mean(dim=0)) / (z.var(dim=0, unbiased=False) + EPSILON).sqrt() * norm[:, 0] + norm[:, 1]
    path = torch.zeros(topology.n_leaves, topology.n_splits, dtype=batch.dtype)
    for leaf in range(topology.n_leaves):
        for split, side in zip(topology.paths.split[leaf], topology.paths.side[leaf], strict=True):
            path[leaf, split] = 1.0 if side else -1.0
    chosen = OneHot.apply(torch.softmax(Quantised.apply(z) @ path.T, dim=1))
    design = batch if leaves.shape[1] == batch.shape[1] else batch[:, -1:]
    output = (design @ leaves.T).reshape(len(batch), topology.n_leaves, n_outputs)
    return (chosen[:, :, None] * output).sum(dim=1)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("kind", ["classes", "constant", "linear"])
def test_gradients_are_those_of_the_published_network(depth, normed, kind):
    rng, topology, n_outputs = np.random.default_rng(depth), Topology.complete(depth), 3
    batch = np.column_stack([rng.standard_normal((N_SAMPLES, N_FEATURES)), np.ones(N_SAMPLES)])
    classes = kind == "classes"
    y = np.eye(n_outputs)[rng.integers(0, n_outputs, N_SAMPLES)] if classes else rng.standard_normal((N_SAMPLES, 3))
    weight = rng.random(N_SAMPLES) / N_SAMPLES
    splits = rng.standard_normal((topology.n_splits, N_FEATURES + 1)) * 0.6
    norm = rng.random((topology.n_splits if normed else 0, 2)) + 0.5
    leaves = rng.standard_normal((topology.n_leaves * n_outputs, N_FEATURES + 1 if kind == "linear" else 1))
    gradients = [np.empty_like(array) for array in (splits, norm, leaves)]
    parameters = DGTArrays(splits, norm, leaves)
    loss = dgt_gradients(Rows(batch, y, weight), topology.children, parameters, classes, DGTArrays(*gradients))

    given = [torch.from_numpy(array).requires_grad_() for array in (splits, norm, leaves)]
    output = authors_network(topology, torch.from_numpy(batch), *given, n_outputs)
    target, factor = torch.from_numpy(y), torch.from_numpy(weight)
    if classes:
        expected = -(factor * (target * torch.log_softmax(output, dim=1)).sum(dim=1)).sum()
    else:
        expected = (factor * (output - target).square().mean(dim=1)).sum()
    expected.backward()
    assert_allclose(loss, expected.item(), rtol=1e-12)
    for found, parameter in zip(gradients, given, strict=True):
        if parameter.numel():
            assert_allclose(found, parameter.grad.numpy(), atol=1e-12)
    assert np.abs(gradients[0]).max() > 1e-3


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop", "sgd"])
def test_optimizers_step_as_those_of_torch(optimizer):
    rng, topology = np.random.default_rng(0), Topology.complete(2)
    rows = Rows(rng.standard_normal((8, 2)), np.eye(2)[rng.integers(0, 2, 8)], np.ones(8))
    splits, leaves = rng.standard_normal((3, 3)) * 0.5, rng.standard_normal((8, 1))
    engine = DGTEngine(
        rows, topology, 8, parameters=RegressionParameters(splits, leaves), setting=DGTSetting(0.1),
        optimizer=optimizer, classes=True,
    )  # fmt: skip
    given = [torch.from_numpy(array.copy()).requires_grad_() for array in (splits, leaves)]
    peer = {
        "adam": lambda: torch.optim.Adam(given, lr=0.1),
        "rmsprop": lambda: torch.optim.RMSprop(given, lr=0.1, alpha=0.99, eps=1e-5),
        "sgd": lambda: torch.optim.SGD(given, lr=0.1, momentum=0.9, nesterov=True),
    }[optimizer]()
    batch, target = np.column_stack([rows.X, np.ones(8)]), torch.from_numpy(rows.y)
    for _ in range(3):
        peer.zero_grad()
        output = authors_network(topology, torch.from_numpy(batch), given[0], torch.empty(0, 2), given[1], 2)
        (-(target * torch.log_softmax(output, dim=1)).sum(dim=1).mean()).backward()
        peer.step()
        engine.run_epoch(np.arange(8), Step(0.1))
    assert_allclose(engine.values("splits"), given[0].detach().numpy(), atol=1e-9)
    assert_allclose(engine.values("leaves"), given[1].detach().numpy(), atol=1e-9)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_tree_predicts_as_the_trained_network(batch_norm, monkeypatch):
    engines = []
    monkeypatch.setattr(DGTEngine, "__init__", _recording(DGTEngine.__init__, engines))
    X, y = load_digits(return_X_y=True)
    classifier = DGTClassifier(4, learning_rate=0.03, l1_penalty=0.0, batch_norm=batch_norm, max_iter=5, random_state=0)
    classifier.fit(X, y)
    (engine,) = engines
    splits, rows = engine.folded_splits().astype(np.float32), engine.rows
    leaf = reached(rows.X, splits, engine.topology.children)
    network = engine.values("leaves").reshape(16, 10)[leaf].argmax(axis=1)
    sample = classifier.tree_.leaf_class[classifier.tree_.apply(X)]
    # The engine's rows are merged and reordered: compare how many rows each class gets, and the leaves' classes.
    assert_array_equal(np.bincount(network, minlength=10), np.bincount(sample, minlength=10))
    assert_array_equal(classifier.tree_.leaf_class, engine.values("leaves").reshape(16, 10).argmax(axis=1))


def _recording(init, kept):
    def wrapped(self, *arguments, **options):
        kept.append(self)
        init(self, *arguments, **options)

    return wrapped


def test_classifier_learns_digits_and_beats_an_axis_aligned_tree():
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_digits(return_X_y=True)
    train = np.arange(len(X)) % 2 == 0
    found = DGTClassifier(4, random_state=0).fit(X[train], y[train]).score(X[~train], y[~train])
    peer = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[train], y[train]).score(X[~train], y[~train])
    assert found > max(0.85, peer + 0.1)


def test_linear_leaves_fit_what_constants_cannot():
    X, y = make_regression(400, 5, noise=1.0, random_state=0)
    linear = DGTRegressor(2, leaf="linear", random_state=0).fit(X, y)
    assert linear.score(X, y) > 0.99
    assert DGTRegressor(2, random_state=0).fit(X, y).score(X, y) < linear.score(X, y)
    assert linear.tree_.coef.shape == (4, 1, 5)


def test_same_seed_same_tree_for_any_number_of_jobs():
    X, y = load_iris(return_X_y=True)
    trees = [DGTClassifier(2, max_iter=10, n_jobs=n, random_state=3).fit(X, y).tree_ for n in (1, 2)]
    assert trees[0] == trees[1]


def test_depth_zero_is_one_leaf():
    X, y = load_iris(return_X_y=True)
    classifier = DGTClassifier(0, max_iter=10, n_init=1, random_state=0).fit(X, y)
    assert classifier.tree_.n_leaves == 1


def test_settled_parameters_leave_fewer_starts(monkeypatch):
    engines = []
    monkeypatch.setattr(DGTEngine, "__init__", _recording(DGTEngine.__init__, engines))
    X, y = load_iris(return_X_y=True)
    DGTClassifier(2, learning_rate=0.1, max_iter=2, refit=False, random_state=0).fit(X, y)
    assert len(engines) == 4  # two penalties, with and without batch normalisation


def test_saved_and_loaded_predicts_alike(tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = DGTClassifier(2, max_iter=5, random_state=0).fit(X, y)
    classifier.save(tmp_path / "dgt.json")
    assert_array_equal(DGTClassifier.load(tmp_path / "dgt.json").predict(X), classifier.predict(X))


@pytest.mark.parametrize(
    ("name", "value"), [("optimizer", "lbfgs"), ("batch_norm", "yes"), ("decay", 1.5), ("l1_penalty", -1.0)]
)
def test_illegal_parameter_is_named(name, value):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"^{name} must be"):
        DGTClassifier(**{name: value}).fit(X, y)
