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


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    out, err = start(blocked / "cache").communicate(timeout=120)
    assert out.strip() == "[1, 0]", err
