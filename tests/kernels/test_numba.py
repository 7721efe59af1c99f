"""Compilation: the cache may be missing or contested, and a first compile is announced."""

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
from dtsemnet.kernels.logits import walk
leaf = np.empty(2, np.int64)
walk(np.array([[1.0, -1.0]]), np.array([[-1, -2]]), leaf)
print(leaf.tolist())
"""


def start(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_two_processes_compile_into_one_cache_and_a_third_reads_it(tmp_path):
    first = [process.communicate(timeout=120) for process in [start(tmp_path), start(tmp_path)]]
    for out, err in first:
        assert out.strip() == "[1, 0]", err
    assert any("compiling kernels" in err for _, err in first)
    out, err = start(tmp_path).communicate(timeout=120)
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
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # the second round reads what the first has written
        processes = [
            subprocess.Popen([sys.executable, "-c", RACE, name], env=environment, text=True, stdout=subprocess.PIPE)
            for name in ("float32", "float64", "float32", "float64")
        ]
        assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["[1, 0]"] * 4
    names = [path.name for path in tmp_path.rglob("*walk*.nbc")]
    assert len(names) == len(set(names)) >= 2


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    out, err = start(blocked / "cache").communicate(timeout=120)
    assert out.strip() == "[1, 0]", err
