"""Runs fits and predictions through compiled kernels under sanitizers: ``make sanitize`` begins with this.

The C of the kernels is compiled with the address and undefined-behaviour sanitizers, which end the program at the
first access outside an array (arrays that kernels make for themselves have fences, see ``compiling/runtime.h``). A
process with these kernels and no others then predicts by models of every kind and by damaged model files, from arrays
of every type and layout; fits with every loss, selector of leaves and constraint; and resumes from damaged checkpoints.
Each call must give an answer or an error about its arguments; leaves must be those that numpy computes.

    python tests/kernels/sanitized.py --minutes 2
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/dtsemnet/kernels/native.c"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g"]
WAYS = {"gcc": (["-O1"], "libasan.so"), "clang": (["-O2", "-shared-libasan"], "libclang_rt.asan-x86_64.so")}
"""Compilers, their flags, and the library that must be loaded before Python's own memory."""
NAME = "_native"


def compile_sanitized(compiler: str, folder: Path) -> Path:
    """Compile the kernels with sanitizers, as a module of Python."""
    module = folder / f"{NAME}.abi3.so"
    flags = ["-w", "-shared", "-fPIC", "-ffp-contract=off", "-fno-math-errno", *SANITIZERS, *WAYS[compiler][0]]
    include = sysconfig.get_path("include")
    subprocess.run(
        [compiler, *flags, f"-DMODULE_NAME={NAME}", f"-I{include}", str(SOURCE), "-lm", "-o", str(module)], check=True
    )
    return module


def run_in(module: Path, compiler: str, seconds: float, seed: int) -> int:
    """Run this program with these kernels; the exit code is not 0 if a sanitizer or a check found something."""
    library = subprocess.run(
        [compiler, f"-print-file-name={WAYS[compiler][1]}"], check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        # Python keeps memory until it ends; and an allocation that fails must not end it.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, __file__, "--inside", str(module), "--seconds", str(seconds), "--seed", str(seed)]
    return subprocess.run(command, env=environment).returncode


def install(module: Path) -> Counter[str]:
    """Make these kernels those of the package; returns a count of their calls that goes on."""
    spec = importlib.util.spec_from_file_location(NAME, module)
    assert spec is not None
    assert spec.loader is not None
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    modules: dict[str, Any] = sys.modules
    modules[f"dtsemnet.kernels.{NAME}"] = library
    modules |= {f"dtsemnet.kernels.{NAME}{level}": None for level in (3, 4)}  # cannot be imported
    calls, run = Counter[str](), library.run

    def counted(number: int, *arguments: Any) -> Any:
        answer = run(number, *arguments)
        calls[library.kernels[number] + (" (left to numba)" if answer is NotImplemented else "")] += 1
        return answer

    library.run = counted  # type: ignore[attr-defined]
    from dtsemnet.kernels.native import native

    assert native() is library, "native.c is not of these sources: run python compiling/generate.py"
    return calls


def layouts(X: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """The same table, or its rounding, in every type and layout; the first as kernels read it."""
    yield "C", X
    yield "float32", X.astype(np.float32)
    yield "Fortran", np.asfortranarray(X)
    yield "every second row and column", np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    yield "from behind", np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    yield "bytes turned", X.astype(">f8")
    yield "float16", np.clip(X, -6e4, 6e4).astype(np.float16)
    yield "long double", X.astype(np.longdouble)
    yield "whole", np.clip(X, -100, 100).astype(np.int8)
    yield "booleans", X > 0
    room = np.zeros(X.nbytes + 1, np.uint8)
    odd = room[1:].view(np.float64).reshape(X.shape)  # not aligned
    odd[...] = X
    yield "not aligned", odd
    fixed = X.copy()
    fixed.flags.writeable = False
    yield "read-only", fixed
    if X.size:
        path = folder / "X.npy"
        np.save(path, X)
        yield "mapped", np.load(path, mmap_mode="r")
    yield "no rows", X[:0]
    yield "one row", X[:1]
    yield "same row", np.broadcast_to(X[:1], (5, X.shape[1]))
    yield "masked", np.ma.masked_array(X)
    yield "objects", X.astype(object)
    yield "lists", X.tolist()


class Rounds:
    """What is tried, and how often."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.counts = folder, Counter[str]()

    def call(self, what: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function that may refuse its arguments; None if it did."""
        try:
            answer = function(*args, **options)
        except (TypeError, ValueError):
            self.counts[f"{what}, refused"] += 1
            return None
        self.counts[what] += 1
        return answer

    def predictions(self, seed: int) -> None:
        """Every kind of model, from rows on and beside its hyperplanes, in every layout."""
        from campaign import models
        from dtsemnet.export.probes import probe_rows
        from dtsemnet.kernels import plain

        rng = np.random.default_rng(seed)
        for _, model in models(seed):
            rows = probe_rows(model, None, 100, rng)
            for ask in (model.predict, model.predict_proba, model.decision_path, model.scores):
                self.call("prediction of a model", ask, rows)
            tree = model.tree
            X = np.ascontiguousarray(np.asarray(model.transform(rows), dtype=np.float64))
            self.agree(tree, X, plain)
            wild = X.copy()
            wild.ravel()[rng.integers(0, X.size, 5)] = [np.nan, np.inf, -np.inf, 1e308, -1e308]
            for part in (X[:, :-1], np.column_stack([X, X]), wild, X[0], X[None], X[:, :0]):
                for ask in (tree.predict, tree.apply, tree.decision_path, tree.scores):
                    self.call("prediction", ask, part)
            for _, table in layouts(X, self.folder):
                for ask in (tree.predict, tree.apply, tree.decision_path, tree.scores):
                    self.call("prediction", ask, table)
            many = np.resize(X, (1 << 16, X.shape[1]))
            self.call("prediction in threads", tree.predict, many, n_threads=2)

    def agree(self, tree: Any, X: Any, plain: Any) -> None:
        """Compare leaves with those that numpy computes, and with those that scores lead to."""
        from dtsemnet.kernels import logits

        found, scores = self.call("leaves", tree.apply, X), self.call("scores", tree.scores, X)
        expected, walked = np.zeros((2, len(X)), np.int64)
        if found is not None and tree.n_splits:
            plain.apply(X, *tree._prepared, expected)
            assert np.array_equal(found, expected), tree
            if scores is not None:
                logits.walk(np.ascontiguousarray(scores.T), tree.topology.children, walked)
                assert np.array_equal(found, walked), tree

    def files(self, rng: random.Random, n_files: int) -> None:
        """Damaged model files, and damaged checkpoints from which a training resumes."""
        from fuzz.harnesses import HARNESSES

        for kind, share in (("model file", 1.0), ("checkpoint", 0.5)):
            harness = HARNESSES[kind]
            seeds, path = harness.seeds(), self.folder / f"file{harness.suffix}"
            for _ in range(int(share * n_files)):
                path.write_bytes(harness.mutate(rng, seeds))
                self.counts[f"{kind}, {harness.check(path)}"] += 1

    def fit(self, rng: random.Random) -> None:
        """A fit with settings drawn by chance, of a table drawn by chance; then predictions."""
        from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

        is_classifier = rng.random() < 0.5
        X, y, options = table(rng, is_classifier)
        settings = (classifier_settings if is_classifier else regressor_settings)(rng, X, y)
        estimator: Any = (DTSemNetClassifier if is_classifier else DTSemNetRegressor)(**settings)
        given = rng.choice([part for _, part in layouts(X, self.folder)][:13])
        what = f"fit, {'classes' if is_classifier else 'numbers'}"
        if self.call(what, estimator.fit, given, y, **options) is None:
            return
        for _, part in layouts(X, self.folder):
            self.call("prediction of a fit", estimator.predict, part)
        if is_classifier:
            self.call("prediction of a fit", estimator.predict_proba, X)
            self.call("prediction of a fit", estimator.predict_set, X)
        else:
            self.call("prediction of a fit", estimator.predict_interval, X)
        other = type(estimator)(**{**settings, "init": estimator.tree_, "max_depth": None})  # of any leaves and classes
        self.call("fit from a tree", other.fit, np.nan_to_num(X[: len(X) // 2]), y[: len(y) // 2])
        if rng.random() < 0.3:  # goes on from its own tree, with other rows, other classes, or other columns
            estimator.set_params(warm_start=True, max_iter=2)
            for rows, labels in ((X[::-1], y[::-1]), (X, np.roll(y, 1, axis=0)), (X[:, :1], y), (X, y[:0])):
                self.call("warm start", estimator.fit, rows, labels)


def table(rng: random.Random, is_classifier: bool) -> tuple[Any, Any, dict[str, Any]]:
    """A table, its labels and arguments of fit."""
    draw = np.random.default_rng(rng.randrange(2**32))
    n_rows, n_columns = rng.choice([1, 2, 3, 29, 31, 64, 257, 600]), rng.choice([1, 2, 5, 15, 16, 17, 33])
    X = draw.normal(size=(n_rows, n_columns))
    kind = rng.randrange(8)
    if kind == 0:
        X = np.round(X)
    elif kind == 1:
        X[:, draw.integers(n_columns)] *= rng.choice([1e300, 1e-310, 0.0])
    elif kind == 2:
        X.ravel()[draw.integers(0, X.size, 3)] = [np.nan, 1e12, np.nan]
    if is_classifier:
        n_classes = rng.choice([1, 2, 2, 3, 10, 60])
        y: Any = draw.integers(0, n_classes, n_rows)
        labels = (draw.random((n_rows, 3)) < 0.4).astype(int)
        y = rng.choice([y, np.array([f"c{k}" for k in y]), np.arange(n_rows), y - 5, labels])
    else:
        y = np.abs(X[:, 0]) + draw.random(n_rows) + 0.1
        y = rng.choice([y, np.round(y), np.column_stack([y, -y]), y * 1e12, y * 1e-12, np.zeros(n_rows)])
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["sample_weight"] = draw.choice([0.0, 1.0, 2.5], n_rows)
    if rng.random() < 0.3:
        other = np.roll(y, 1, axis=0)
        options |= {"X_val": X[: n_rows // 2], "y_val": other[: n_rows // 2]}
    return X, y, options


def settings(rng: random.Random, X: Any) -> dict[str, Any]:
    """Settings of both estimators; many fits take one or two that are not the default."""
    choices: dict[str, list[Any]] = {
        "max_depth": [1, 2, 3, 5, None],
        "effort": [0, 0, 0, 1],
        "max_iter": [1, 3, 8],
        "batch_size": [1, 7, 128, 10**6],
        "n_init": [1, 2],
        "min_samples_leaf": [1, 5, 0.2],
        "max_leaf_nodes": [2, 3, 9],
        "ccp_alpha": [0.01],
        "max_split_features": [1, 2],
        "integer_weights": [True, 5],
        "interaction_cst": [[[0], list(range(1, X.shape[1]))], "no_interactions"],
        "monotonic_cst": [[1] + [0] * (X.shape[1] - 1), [-1] * X.shape[1]],
        "training": ["paper", "straight_through"],
        "learning_rate": [1e-3, 0.5, 1e6],
        "weight_decay": [0.1],
        "l1": [0.01],
        "max_grad_norm": [0.5],
        "early_stopping": [True],
        "refit": [False],
        "missing": ["indicator", "error"],
        "n_jobs": [2],
        "categorical_features": [[0]],
    }
    taken = {"max_depth", "effort", "max_iter"} | set(rng.sample(sorted(choices), rng.choice([0, 1, 2, 4])))
    return {name: rng.choice(choices[name]) for name in sorted(taken)} | {"random_state": rng.randrange(100)}


def classifier_settings(rng: random.Random, X: Any, y: Any) -> dict[str, Any]:
    extra = {"probability": rng.choice(["margin", "leaf"]), "class_weight": rng.choice([None, None, "balanced"])}
    return settings(rng, X) | extra


def regressor_settings(rng: random.Random, X: Any, y: Any) -> dict[str, Any]:
    from dtsemnet.kernels.regression import DEVIANCES, LOSSES

    extra: dict[str, Any] = {"loss": rng.choice(list(LOSSES)), "guard": rng.random() < 0.7}
    extra["leaf"] = "constant" if extra["loss"] in DEVIANCES else rng.choice(["linear", "constant"])
    extra |= {"max_leaf_features": rng.choice([None, None, 1, 3])} if extra["leaf"] == "linear" else {}
    return settings(rng, X) | extra


def inside(module: Path, seconds: float, seed: int) -> None:
    """Try everything until the time is over."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "tests"))
    calls = install(module)
    end, rng = time.monotonic() + seconds, random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder))
        for number in itertools.count(seed):
            rounds.predictions(number)
            rounds.files(rng, 40)
            for _ in range(20):
                rounds.fit(rng)
                if time.monotonic() > end:
                    break
            if time.monotonic() > end:
                break
    for counts in (rounds.counts, calls):
        print("\n".join(f"  {n:9,}  {what}" for what, n in sorted(counts.items())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=2.0, help="for all compilers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiler", choices=WAYS, action="append", help="all that are there by default")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.inside, options.seconds, options.seed)
        return 0
    compilers, failed = options.compiler or list(filter(shutil.which, WAYS)), False
    for number, compiler in enumerate(compilers):
        with tempfile.TemporaryDirectory(prefix="dtsemnet-sanitized-") as folder:
            module = compile_sanitized(compiler, Path(folder))
            print(f"kernels compiled by {compiler}:", flush=True)
            code = run_in(module, compiler, 60 * options.minutes / len(compilers), options.seed + 1000 * number)
        print("no fault" if code == 0 else f"FAULT: exit code {code}", flush=True)
        failed |= code != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
