"""Whatever a compiler is told, the C file refuses to compile, fails its self-test, or answers as the tree does."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dtsemnet.export import check_export, to_c
from dtsemnet.export.c import compiler
from dtsemnet.export.probes import probe_rows
from dtsemnet.tree import Model, Topology, Tree
from strategies import make_model

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
REFUSALS = {
    "fast-math computes another function": "refused",
    "sums are kept in wider registers": "refused",
    "the self-test fails": "self-test",
}
ASSOCIATIVE = "-fassociative-math -fno-signed-zeros -fno-trapping-math"
COMMON = [
    "", "-ffast-math", "-Ofast", "-funsafe-math-optimizations", ASSOCIATIVE, "-fassociative-math", "-freciprocal-math",
    "-fno-signed-zeros", "-ffinite-math-only", "-fno-trapping-math", "-fno-math-errno", "-frounding-math",
    "-ffp-contract=fast", "-ffp-contract=on", "-flto", "-m32", "-m32 -msse2 -mfpmath=sse", "-m32 -march=i686",
    f"-m32 -msse2 -mfpmath=sse {ASSOCIATIVE}",
]  # fmt: skip
OWN = {
    "gcc": ["-mfpmath=387", "-mfpmath=both", "-ffloat-store", "-fexcess-precision=fast", "-fsingle-precision-constant",
            "-m32 -ffloat-store", "-mpc32", "-ffast-math -fno-finite-math-only", "-Ofast -fno-fast-math",
            "-ffast-math -fno-associative-math", "-fcx-limited-range", "-funsafe-math-optimizations -fsigned-zeros"],
    "clang": ["-fno-honor-nans", "-fno-honor-infinities", "-fno-honor-nans -fno-honor-infinities", "-fapprox-func",
              "-ffp-model=fast", "-ffp-model=precise", "-ffp-model=strict", "-fdenormal-fp-math=preserve-sign",
              "-ffast-math -fhonor-nans -fhonor-infinities", "-ffast-math -fno-finite-math-only",
              "-Xclang -menable-unsafe-fp-math", "-Xclang -mreassociate", "-ffp-contract=fast-honor-pragmas"],
}  # fmt: skip
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-O3 -march=native"]


def flag_sets(command):
    return [f"{level} {flags}".strip() for level, flags in itertools.product(LEVELS, [*COMMON, *OWN[command]])]


@functools.cache
def wide_tree():
    """A tree on which another order of summation shows: many columns, and rows close to the splits."""
    rng = np.random.default_rng(0)
    return Tree(Topology.complete(4), rng.normal(size=(15, 33)), rng.normal(size=15), rng.normal(size=(16, 1)),
                rng.normal(size=(16, 1, 33)))  # fmt: skip


@functools.cache
def wide_rows(n_rows):
    rows = probe_rows(Model.of(wide_tree()), None, n_rows, np.random.default_rng(1))
    refused = rows[:3].copy()
    refused[[0, 1, 2], [0, 7, 32]] = [np.nan, np.inf, -np.inf]
    return np.concatenate([refused, rows])


def judge(command, flags, model, source, rows):
    """Say how a program compiled with these flags behaves; fail if it answers wrongly."""
    before = os.environ.get("CC")
    os.environ["CC"] = command
    try:
        answer = compiler.run(model, source, rows, name="tree", number="double", flags=flags.split())
    except RuntimeError as error:
        found = [verdict for words, verdict in REFUSALS.items() if words in str(error)]
        unknown = ("unsupported", "unrecognized", "unknown arg", "No such file")  # the last: -m32, no gcc-multilib
        if not found and any(words in str(error) for words in unknown):
            return "unknown to this compiler"
        return found[0] if found else pytest.fail(f"{command} {flags}: {error}")
    finally:
        os.environ.pop("CC") if before is None else os.environ.__setitem__("CC", before)
    accepted = np.isfinite(rows).all(axis=1)
    leaf = np.full(len(rows), -1)
    leaf[accepted] = model.apply(rows[accepted])
    wrong = answer.leaf != leaf
    assert not wrong.any(), f"{command} {flags}: {wrong.sum()} of {len(rows)} leaves are wrong"
    output = model.predict(rows[accepted]).reshape(accepted.sum(), -1)
    assert np.array_equal(answer.output[accepted], output), f"{command} {flags}: outputs differ"
    return "right"


SAMPLE = [
    ("gcc", "-O2 -funsafe-math-optimizations", "refused"),
    ("gcc", f"-O3 {ASSOCIATIVE}", "refused"),
    ("gcc", "-O2 -ffp-contract=fast -march=native", "right"),
    ("gcc", "-O2 -fsingle-precision-constant", "self-test"),
    ("gcc", "-O1 -mfpmath=387", "refused"),
    ("clang", "-O2 -fassociative-math", "right"),
    ("clang", "-O3 -funsafe-math-optimizations", "self-test"),  # it links what makes the processor flush to 0
    ("clang", "-O3 -march=native -ffp-contract=fast", "self-test"),
    ("clang", "-O2 -ffast-math -fno-finite-math-only", "self-test"),
    ("gcc", "-O2 -m32", "refused"),
    ("gcc", "-O2 -m32 -msse2 -mfpmath=sse", "right"),
    ("clang", "-O3 -m32 -msse2 -mfpmath=sse", "right"),
]


@pytest.mark.parametrize(("command", "flags", "verdict"), SAMPLE)
def test_no_part_of_fast_math_gives_a_wrong_leaf(command, flags, verdict):
    if command not in COMPILERS:
        pytest.skip(f"needs {command}")
    model = Model.of(wide_tree())
    found = judge(command, flags, model, to_c(model).text, wide_rows(3000))
    if "-m32" in flags and found == "unknown to this compiler":
        pytest.skip("needs gcc-multilib")
    if "march" not in flags:  # a processor without fused multiply-adds has nothing to fuse
        assert found == verdict


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPILERS)
def test_no_flags_give_a_wrong_leaf(command, capsys):
    model, source = Model.of(wide_tree()), to_c(wide_tree()).text
    verdicts = {flags: judge(command, flags, model, source, wide_rows(30_000)) for flags in flag_sets(command)}
    with capsys.disabled():
        for verdict in sorted(set(verdicts.values())):
            flags = [flags for flags, found in verdicts.items() if found == verdict]
            print(f"\n{command} {verdict}: {len(flags)} of {len(verdicts)} sets of flags")
            print("   ", "; ".join(sorted({f.split(" ", 1)[-1].replace("-march=native ", "") for f in flags})))


@pytest.mark.parametrize(("width", "n_splits"), [(1, 1), (16, 15), (17, 1), (70, 15)])
def test_fused_sums_are_noticed_in_small_trees_too(width, n_splits, monkeypatch):
    """Up to 16 columns each partial sum is one product, which nothing can be fused with."""
    if "clang" not in COMPILERS:
        pytest.skip("needs clang")
    if " fma " not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        return  # this processor has nothing to fuse with
    rng = np.random.default_rng(width)
    topology = Topology([[~k, k + 1] for k in range(n_splits - 1)] + [[~(n_splits - 1), ~n_splits]])
    weight = rng.normal(size=(n_splits, width)) * 10.0 ** rng.integers(-3, 4, width)
    tree = Tree(topology, weight, 1e3 * rng.normal(size=n_splits), rng.normal(size=(n_splits + 1, 1)))
    rows = probe_rows(Model.of(tree), None, 100, np.random.default_rng(0))
    for command, flags in (("clang", "-O2 -mfma -ffp-contract=fast"), ("gcc", "-O2 -mfma -ffp-contract=fast")):
        fused = command == "clang" and width > 16
        verdict = judge(command, flags, Model.of(tree), to_c(tree).text, rows)
        assert verdict == ("self-test" if fused else "right")


@pytest.mark.parametrize("kind", ["wide", "mixed linear"])
def test_a_file_of_floats_may_fuse_and_regroup(kind, monkeypatch):
    """It promises leaves up to rounding, and its self-test allows for that."""
    if "clang" not in COMPILERS:
        pytest.skip("needs clang")
    monkeypatch.setenv("CC", "clang")
    model = make_model(kind)
    flags = ("-O3", "-march=native", "-ffp-contract=fast", "-fassociative-math")
    artefact = to_c(model, number="float")
    answer = partial(compiler.run, model, artefact.text, name="tree", number="float", flags=flags)
    assert check_export(model, replace(artefact, answer=answer), n_rows=300).n_rows > 200


def test_a_processor_that_takes_tiny_numbers_for_zero_fails_the_self_test(tmp_path):
    """A program linked with fast-math switches the processor, though this file was compiled without."""
    main = "int main(void) { return tree_selftest() ? 3 : 0; }\n"
    (tmp_path / "tree.c").write_text(to_c(wide_tree()).text + main, encoding="utf-8")
    subprocess.run(["gcc", "-O2", "-c", "tree.c"], cwd=tmp_path, check=True)
    for flags, code in (([], 0), (["-ffast-math"], 3)):  # gcc sets the processor when it links a program
        subprocess.run(["gcc", *flags, "tree.o", "-o", "tree", "-lm"], cwd=tmp_path, check=True)
        assert subprocess.run([tmp_path / "tree"]).returncode == code
