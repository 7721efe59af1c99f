"""Compilation: the cache may be missing, contested or stale; exp and log against extended precision."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dtsemnet.kernels import exp, kernel, log

PROGRAM = """
import numpy as np
from dtsemnet.kernels.logits import walk
leaf = np.empty(2, np.int64)
walk(np.array([[1.0, -1.0]]), np.array([[-1, -2]]), leaf)
print(leaf.tolist())
"""


def start(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "DTSEMNET_KERNELS": "numba"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_two_processes_compile_into_one_cache_and_a_third_reads_it(tmp_path):
    first = [process.communicate(timeout=900) for process in [start(tmp_path), start(tmp_path)]]
    for out, err in first:
        assert out.strip() == "[1, 0]", err
    out, err = start(tmp_path).communicate(timeout=900)
    assert out.strip() == "[1, 0]"
    assert "compiling" not in err


RACE = """
import sys
import numpy as np
from dtsemnet.kernels.logits import walk
real = np.dtype(sys.argv[1]).type
for _ in range(3):
    leaf = np.empty(2, np.int64)
    walk(np.array([[1.0, -1.0]], real), np.array([[-1, -2]]), leaf)
print(leaf.tolist())
"""


def test_two_signatures_compiled_at_once_are_not_mixed_up(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "DTSEMNET_KERNELS": "numba"}
    for _ in range(2):  # the second round reads what the first has written
        processes = [
            subprocess.Popen([sys.executable, "-c", RACE, name], env=environment, text=True, stdout=subprocess.PIPE)
            for name in ("float32", "float64")
        ]
        assert [process.communicate(timeout=900)[0].strip() for process in processes] == ["[1, 0]"] * 2
    names = [path.name for path in tmp_path.rglob("*walk*.nbc")]
    assert len(names) == len(set(names)) >= 2


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    out, err = start(blocked / "cache").communicate(timeout=900)
    assert out.strip() == "[1, 0]", err


SLOW = """
import itertools, logging, sys, time
from dtsemnet.kernels import kernel
from dtsemnet.kernels._numba import _Announcement, event
@kernel
def inner(x):
    return x + 1
@kernel
def outer(x):
    return inner(x) + 1
for each in (inner, outer):
    each.py_func.__module__ = "dtsemnet.slow"
clock = itertools.count(0, int(sys.argv[1]))
time.monotonic = lambda: next(clock)
print(outer(1))
"""


@pytest.mark.parametrize("seconds", [0, 2])
def test_only_what_takes_over_a_second_is_announced_and_where_it_is_kept(seconds, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "slow.py", str(seconds)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "3", done.stderr
    said = done.stderr.splitlines()
    if seconds:
        assert said[0] == "dtsemnet: compiling kernels for this machine"
        assert said[1].startswith("dtsemnet: compiling kernels took 4 s, kept in ")
        kept = said[1].partition("kept in ")[2].removesuffix(" for the next time")
        assert any(name.endswith(".nbc") for name in os.listdir(kept))
    assert len(said) == (2 if seconds else 0)


HOMELESS = """
import os, tempfile
from pathlib import Path
from numba.core import caching
caching._CacheLocator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError("read-only")) if not str(
    self.get_cache_path()).startswith(tempfile.gettempdir()) else os.makedirs(self.get_cache_path(), exist_ok=True)
from dtsemnet.kernels import logits
import numpy as np
leaf = np.empty(2, np.int64)
logits.walk(np.array([[1.0, -1.0]]), np.array([[-1, -2]]), leaf)
print(leaf.tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders of users have other rules")
def test_without_a_folder_to_write_to_kernels_are_kept_among_temporary_files_of_the_user(tmp_path):
    environment = {**os.environ, "DTSEMNET_KERNELS": "numba", "TMPDIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    run = [sys.executable, "-c", HOMELESS]
    done = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[1, 0]", done.stderr
    (folder,) = tmp_path.iterdir()
    assert done.stderr.count(f"kernels are kept in {folder}") == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*walk*.nbc"))
    folder.chmod(0o777)  # so that others could have put machine code there
    before = sorted(folder.rglob("*"))
    done = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[1, 0]", done.stderr
    assert "kept in" not in done.stderr
    assert sorted(folder.rglob("*")) == before


SOURCES = {
    "__init__": "",
    "constants": "SCALE = {scale}",
    "inner": """
from dtsemnet.kernels import kernel
from pieces.constants import SCALE
@kernel
def inner(x):
    return {factor} * x * SCALE
""",
    "middle": """
from dtsemnet.kernels import kernel
from pieces.inner import inner
@kernel
def middle(x):
    return inner(x) + 1
""",
    "outer": """
from dtsemnet.kernels import kernel
from pieces import middle
step = middle.middle
@kernel
def outer(x):
    return step(x) + 10
""",
}


def test_a_cached_kernel_expires_when_anything_changes_that_it_is_made_of(tmp_path):
    """A kernel that it calls by way of another module, or a constant of a module without kernels."""
    sources, cache = tmp_path / "pieces", tmp_path / "cache"
    sources.mkdir()

    def answer(**values):
        for name, text in SOURCES.items():
            (sources / f"{name}.py").write_text(text.format(**values))
        path = os.pathsep.join([str(tmp_path), *sys.path])
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        program = "from pieces.outer import outer; print(outer(3), sum(outer.stats.cache_hits.values()))"
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert answer(scale=2, factor=1) == ["17", "0"]
    assert answer(scale=2, factor=1) == ["17", "1"], "what has not changed is read from the cache"
    assert answer(scale=2, factor=5) == ["41", "0"]
    assert answer(scale=3, factor=5) == ["56", "0"]
    assert answer(scale=3, factor=5) == ["56", "1"]


RENAMED = """
from typing import NamedTuple
from dtsemnet.kernels import kernel
class {name}(NamedTuple):
    x: float
@kernel
def double(pair):
    return 2 * pair.x
"""


def test_a_stale_cache_that_names_a_class_which_has_gone_is_compiled_anew(tmp_path):
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    for name in ("Before", "After"):
        (tmp_path / "renamed.py").write_text(RENAMED.format(name=name))
        program = f"from renamed import {name}, double; print(double({name}(21.0)))"
        done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True)
        assert done.stdout.strip() == "42.0", done.stderr


@kernel
def exp_all(x, out):
    for i in range(len(x)):
        out[i] = exp(x[i])


@kernel
def log_all(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


def ulps(found, exact):
    return np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(found.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_is_right_to_two_units_in_the_last_place(dtype):
    top = 80.0 if dtype == np.float32 else 300.0
    x = np.linspace(-top, top, 200_001).astype(dtype)
    found = np.empty_like(x)
    exp_all(x, found)
    assert ulps(found, np.exp(x.astype(np.longdouble))).max() <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_of_zero_is_one_and_of_minus_infinity_zero(dtype):
    x = np.array([0.0, -0.0, -np.inf, -1e30, -800.0], dtype)
    found = np.empty_like(x)
    exp_all(x, found)
    assert found.tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_is_right_to_three_units_in_the_last_place(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-60, 60, 100_000)), 1 + rng.uniform(-0.4, 0.4, 100_000)]).astype(dtype)
    found = np.empty_like(x)
    log_all(x, found)
    assert ulps(found, np.log(x.astype(np.longdouble))).max() <= 3
    one = np.ones(1, dtype)
    log_all(one, found[:1])
    assert found[0] == 0
