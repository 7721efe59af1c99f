"""Kernels that come compiled: their C is that of the Python and gives the same bits; predictions need nothing else."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.kernels import epochs, logits, optimizer, regression, routing, rows
from dtsemnet.kernels.classification import ClassLoss, classification_loss
from dtsemnet.kernels.kernel import Kernel
from dtsemnet.kernels.native import MODULES, native
from dtsemnet.kernels.regression import RegressionLoss
from dtsemnet.tree import Topology

ROOT = Path(__file__).parents[2]
COMPILING = pytest.mark.skipif(not (ROOT / "compiling").is_dir(), reason="the translator is not part of the package")


def load(name):
    """A module of the folder ``compiling``, which is no package."""
    sys.path.insert(0, str(ROOT / "compiling"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The compiled kernels of this checkout, or an empty library if there is no compiler."""
    if native() is not None:
        return native()
    folder = tmp_path_factory.mktemp("native")
    built = load("hook").compile_kernels(ROOT / "src/dtsemnet/kernels/native.c", folder, {"_native": ["-O1"]})
    if not built:
        pytest.skip("no compiler of C")
    spec = importlib.util.spec_from_file_location("_native", built[0])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(library, kernel, *arguments):
    """Run a kernel compiled from C and by numba on copies of its arguments; return answers and arguments."""

    def copy(part):
        if isinstance(part, tuple):
            parts = [copy(inner) for inner in part]
            return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
        return part.copy() if isinstance(part, np.ndarray) else part

    first, second = copy(arguments), copy(arguments)
    number = library.kernels.index(f"{kernel.py_func.__module__}.{kernel.__name__}")
    answer = library.run(number, *first)
    assert answer is not NotImplemented
    if type(answer) is tuple and type(answer[0]) is bytearray:
        answer = np.ndarray(answer[2], answer[1], answer[0])
    return (answer, first), (kernel.dispatcher(*second), second)


def flat(part):
    return [leaf for inner in part for leaf in flat(inner)] if isinstance(part, tuple) else [part]


def assert_same_bits(one, other):
    for a, b in zip(flat(one), flat(other), strict=True):
        if a is b is None:
            continue
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(np.signbit(a), np.signbit(b))


@COMPILING
def test_the_c_source_is_the_translation_of_the_kernels():
    generate = load("generate")
    assert generate.TARGET.read_text("utf-8") == generate.generate(), "run: python compiling/generate.py"


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n_columns=st.integers(1, 20),
    depth=st.integers(1, 4),
    n_classes=st.integers(1, 5),
    temperature=st.sampled_from([0.0, 0.25]),
    q=st.sampled_from([0.0, 0.5]),
    batch_size=st.sampled_from([1, 7, 64]),
)
def test_epochs_of_classes_have_the_same_bits(library, seed, n_columns, depth, n_classes, temperature, q, batch_size):
    rng, topology = np.random.default_rng(seed), Topology.complete(depth)
    X = rng.normal(size=(50, n_columns)).astype(np.float32)
    data = rows.Rows(X, rng.integers(0, n_classes, 50), rng.choice([0.5, 1.5], 50).astype(np.float32))
    leaf_class = rng.integers(0, n_classes, topology.n_leaves)
    start = rng.normal(size=(topology.n_splits, n_columns + 1))
    splits, order = optimizer.Moments.start(start, np.dtype(np.float32)), rng.permutation(50)
    allowed = rng.integers(0, 4, start.shape).astype(np.int8) if seed % 2 else np.zeros((0, n_columns + 1), np.int8)
    rates, loss = epochs.Rates(0.1, 0.1, 0.01, 0.001, 0.5), ClassLoss(n_classes, temperature, q)
    shape = (topology.children, leaf_class)
    assert_same_bits(
        *both(library, epochs.classification_epoch, data, order, batch_size, *shape, splits, allowed, 5, loss, rates)
    )
    assert_same_bits(*both(library, classification_loss, data, *shape, splits.value, loss))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n_columns=st.integers(1, 20),
    depth=st.integers(1, 4),
    selector=st.integers(0, 2),
    k=st.sampled_from([1, 2, 4, 16]),
    loss=st.integers(0, 6),
    linear=st.booleans(),
    n_outputs=st.integers(1, 2),
)
def test_epochs_of_numbers_have_the_same_bits(library, seed, n_columns, depth, selector, k, loss, linear, n_outputs):
    rng, topology = np.random.default_rng(seed), Topology.complete(depth)
    X, y = rng.normal(size=(50, n_columns)), rng.uniform(0.1, 2.0, size=(50, n_outputs))
    data = rows.Rows(*(part.astype(np.float32) for part in (X, y, rng.choice([0.5, 1.5], 50))))
    start = [rng.normal(size=(topology.n_splits, n_columns + 1))]
    start.append(rng.normal(size=(topology.n_leaves * n_outputs, n_columns + 1 if linear else 1)))
    splits, leaves = (optimizer.Moments.start(part, np.dtype(np.float32)) for part in start)
    free = [np.zeros((0, part.shape[1]), np.int8) for part in start]
    settings_ = RegressionLoss(selector, k, 0.5, loss, 1.5 if loss != 3 else 0.7)
    rates = epochs.Rates(0.01, 0.01, 0.01, 0.001, 0.5)
    arguments = (data, rng.permutation(50), 7, topology.children, splits, leaves, *free, 5, settings_, rates)
    assert_same_bits(*both(library, epochs.regression_epoch, *arguments))
    given_ = (data, topology.children, splits.value, leaves.value, settings_)
    assert_same_bits(*both(library, regression.regression_loss, *given_))


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), n_columns=st.integers(1, 80), n_rows=st.integers(0, 40), real=st.sampled_from("fd"))
def test_routing_has_the_same_bits(library, seed, n_columns, n_rows, real):
    rng, topology = np.random.default_rng(seed), Topology.complete(3)
    X = rng.normal(size=(n_rows, n_columns)).astype(real)
    if seed % 3 == 0 and n_rows:
        X[rng.integers(n_rows), rng.integers(n_columns)] = rng.choice([np.nan, np.inf, 1e38])
    weight = routing.pad_rows(rng.normal(size=(topology.n_splits, n_columns)) * 1e300 ** (seed % 5 == 0))
    bias, leaf = rng.normal(size=topology.n_splits), np.zeros(n_rows, np.int64)
    children = topology.children.ravel()
    assert_same_bits(*both(library, routing.apply, X, weight, bias, children, leaf))
    assert_same_bits(*both(library, routing.scores, X, weight, bias, np.zeros((n_rows, topology.n_splits))))
    path = np.full((n_rows, topology.depth), -1)
    assert_same_bits(*both(library, routing.decision_path, X, weight, bias, children, path))
    coef, value = routing.pad_rows(rng.normal(size=(2 * topology.n_leaves, n_columns))), rng.normal(size=(8, 2))
    ends, output = (value - 0.1, value + 0.1), np.zeros((n_rows, 2))
    leaf = rng.integers(0, topology.n_leaves, n_rows)
    assert_same_bits(*both(library, routing.linear, X, leaf, coef, value, *ends, output))
    assert_same_bits(*both(library, routing.first_non_finite, X))


def test_other_kernels_have_the_same_bits(library):
    rng, topology = np.random.default_rng(0), Topology.complete(3)
    scores = rng.normal(size=(600, topology.n_splits))
    leaf_class = np.arange(topology.n_leaves) % 3
    assert_same_bits(*both(library, logits.class_margins, scores, topology.children, leaf_class, 4))
    assert_same_bits(*both(library, logits.choices, scores, topology.children, 3))
    X, splits = rng.normal(size=(600, 5)), rng.normal(size=(topology.n_splits, 6))
    assert_same_bits(*both(library, logits.reached, X, splits, topology.children))
    assert_same_bits(*both(library, logits.walk, scores.T.copy(), topology.children, np.zeros(600, np.int64)))
    bits, numbers = rng.normal(size=(50, 4)).view(np.uint64), np.arange(50, dtype=np.uint64)
    assert_same_bits(*both(library, rows.mix_rows, bits, numbers))
    for loss in range(7):
        y = rng.uniform(0.1, 2.0, size=(50, 2))
        assert_same_bits(*both(library, regression.losses_of, rng.normal(size=(50, 2)), y, loss, 1.5))


def test_other_types_and_layouts_are_left_to_numba(library):
    X = np.zeros((3, 2))
    number = library.kernels.index("dtsemnet.kernels.routing.first_non_finite")
    assert library.run(number, X) == -1
    for other in (X.astype(np.int32), X.T, X[:, :1], X[0], 3, 3.0, None, "text"):
        assert library.run(number, other) is NotImplemented
    assert library.run(number, X, X) is library.run(number) is library.run(10**6, X) is NotImplemented
    with pytest.raises(OverflowError):
        library.run(number, 10**30)


def test_memory_that_is_not_there_is_an_error_and_no_crash(library):
    number = library.kernels.index("dtsemnet.kernels.logits.class_margins")
    arguments = (np.zeros((3, 1)), Topology.complete(1).children, np.array([0, 1]))
    with pytest.raises(MemoryError):
        library.run(number, *arguments, 2**50)
    content, _, shape = library.run(number, *arguments, 2)
    assert len(content) == 8 * 3 * 2
    assert shape == (3, 2)


CLASSES = ({"class_weight": "balanced"}, {"monotonic_cst": [1, 0, 0]}, {"integer_weights": True})
NUMBERS = ({"loss": "tweedie", "leaf": "constant"}, {"training": "straight_through"}, {"max_leaf_features": 1})
BOTH = ({}, {"max_split_features": 1}, {"interaction_cst": [[0, 1], [2]]}, {"l1": 0.01})


@pytest.mark.parametrize("options", [*BOTH, *CLASSES, *NUMBERS], ids=str)
def test_no_fit_waits_for_a_compiler(monkeypatch, options):
    """A call whose types or layout the compiled kernels do not take would be left to numba, for half a minute."""
    if native() is None:
        pytest.skip("no compiled kernels")
    monkeypatch.setattr(Kernel, "dispatcher", property(lambda kernel: pytest.fail(f"numba compiles {kernel.__name__}")))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    settings_ = {"max_depth": 2, "effort": 0, "max_iter": 2, "n_init": 1, **options}
    if options in (*BOTH, *CLASSES):
        DTSemNetClassifier(**settings_).fit(X, X[:, 0] > 0).predict_proba(X)
    if options in (*BOTH, *NUMBERS):
        DTSemNetRegressor(**settings_).fit(X, X[:, 0] ** 2 + 1).predict(X)


@COMPILING
@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_fit_and_no_prediction_leaves_an_array(compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    command = [sys.executable, str(ROOT / "tests/kernels/sanitized.py"), "--compiler", compiler, "--minutes", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PREDICT = """
import sys
import numpy as np
from dtsemnet import Model
model = Model.load(sys.argv[1])
print(model.predict(np.array([[1.0, 2.0], [-1.0, 0.0]])).tolist())
print([name for name in ("numba", "scipy", "sklearn", "torch", "pandas", "threadpoolctl") if name in sys.modules])
"""


@pytest.mark.parametrize("kernels", ["", "numba"])
def test_a_loaded_model_predicts_without_numba(tmp_path, kernels):
    from dtsemnet import Model, Tree

    line = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], [[1, 0], [0, 1]], class_names=["no", "yes"])
    Model.of(line).save(tmp_path / "model.json")
    environment = {**os.environ, "DTSEMNET_KERNELS": kernels, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, str(tmp_path / "model.json")], env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["['yes', 'no']", "[]"], done.stderr


def test_modules_are_named_from_the_best_to_the_one_for_all():
    assert list(MODULES)[-1] == 0
    assert list(MODULES) == sorted(MODULES, reverse=True)


@COMPILING
@pytest.mark.slow
def test_a_wheel_holds_the_compiled_kernels_and_says_so(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    program = "import dtsemnet.kernels.native as n; print(n.__file__); print(n.native().__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.count(str(tmp_path)) == 2, done.stderr
