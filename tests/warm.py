"""Scripts run in forks of a process that has its imports behind it.

A script that a user runs first imports the library, which takes a second or two, and loads its compiled code. The tests
of the documents run dozens of scripts. Here one process imports once and forks for each of them, so that a script costs
what it does itself. Where there is no fork (Windows), every script starts afresh.

    with Warm() as python:
        done = python.run(script, folder)
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Warm", "run_afresh"]

HERE = Path(__file__)
LONGEST = 900
"""Seconds after which a script is taken to hang."""


class Warm:
    """A process that waits for scripts; ``run`` is like :func:`subprocess.run` of a script."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._process is not None:
            self._process.communicate()  # no more scripts

    def run(
        self, script: Path, folder: Path, arguments: Sequence[str] = (), *, hurried: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a script in a folder, in a process of its own; ``hurried`` makes every fit in it a short one."""
        if not hasattr(os, "fork"):
            return run_afresh(script, folder, arguments, hurried=hurried)
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE)], env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as written:
            out, err = Path(written, "out"), Path(written, "err")
            words = words_of(script, arguments, hurried)
            request = {"words": words, "folder": str(folder), "out": str(out), "err": str(err)}
            print(json.dumps(request), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(words, code, out.read_text("utf-8"), err.read_text("utf-8"))


def run_afresh(
    script: Path, folder: Path, arguments: Sequence[str] = (), *, hurried: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that has imported nothing yet."""
    return subprocess.run(
        [sys.executable, str(HERE), *words_of(script, arguments, hurried)],
        cwd=folder, env=environment(), capture_output=True, encoding="utf-8", timeout=LONGEST, check=False,
    )  # fmt: skip


def words_of(script: Path, arguments: Sequence[str], hurried: bool) -> list[str]:
    return ["--hurried"] * hurried + [str(script), *arguments]


def environment() -> dict[str, str]:
    """One thread, a terminal of a known width, and a matplotlib that draws nothing, whose show() says nothing."""
    ours = {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "template"}
    return os.environ | ours


def hurry() -> None:
    """Make every fit in this process a short one: for scripts that are run to see that they run."""
    from dtsemnet.estimators.base import TreeEstimator

    fit, short = TreeEstimator.fit, {"max_iter": 3}

    @functools.wraps(fit)
    def fit_shortly(self: Any, *data: Any, **more: Any) -> Any:
        self.set_params(**{name: value for name, value in short.items() if name in self.get_params()})
        return fit(self, *data, **more)

    TreeEstimator.fit = fit_shortly  # type: ignore[method-assign]


def execute(words: Sequence[str]) -> None:
    """Run a script as ``python`` would."""
    if words[0] == "--hurried":
        hurry()
        words = words[1:]
    sys.argv, sys.path[0] = list(words), str(Path(words[0]).parent)
    runpy.run_path(words[0], run_name="__main__")


def prepare() -> None:
    """Import what most scripts import, and load the compiled code of a fit."""
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd

    import dtsemnet
    import dtsemnet.explorer
    import dtsemnet.export
    import dtsemnet.plot
    import dtsemnet.verify

    del plt, pd
    X = np.linspace(-1, 1, 40)[:, None]
    for estimator, y in ((dtsemnet.DTSemNetClassifier, X[:, 0] > 0), (dtsemnet.DTSemNetRegressor, X[:, 0])):
        estimator(max_depth=1, effort=0, n_init=1, max_iter=2, random_state=0).fit(X, y)


def serve() -> None:
    """Fork for every request that comes, and answer with the exit code of the script; a fork goes on from here."""
    prepare()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            for stream, path in ((1, request["out"]), (2, request["err"])):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(request["folder"])
            signal.alarm(LONGEST)
            execute(request["words"])
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    execute(sys.argv[1:]) if len(sys.argv) > 1 else serve()
