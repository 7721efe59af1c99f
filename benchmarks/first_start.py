"""What a user waits for once: import, first fit, and prediction by a model that is loaded, in a fresh container.

A wheel is built and laid into a new virtual environment, as an installer does: compiled to bytecode, without a home
folder and without a kernel cache, site-packages read-only. Other packages are those of the environment that runs this
file. Each program runs in processes of its own, several times, programs interleaved; CPU seconds of the whole process
and of the part that is named, medians. What was written into site-packages meanwhile is counted. Then the same as if
the wheel had come without compiled kernels, once, with an empty cache: numba compiles what a fit needs. Run by
``python benchmarks/first_start.py``; ``--wheel`` takes a wheel that is there.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Any

from measure import table

ROOT = Path(__file__).parents[1]
REPEATS = 3

TIMED = """
import json, os, sys, time
start = time.process_time()
{program}
print(json.dumps({{"part": time.process_time() - start, "whole": time.process_time()}}))
"""
DATA = "from sklearn.datasets import load_{table}; X, y = load_{table}(return_X_y=True); "
PROGRAMS = {
    "import dtsemnet": "import dtsemnet",
    "import scikit-learn's boosting": "import sklearn.ensemble",
    "first fit, classes": DATA.format(table="iris")
    + "from dtsemnet import DTSemNetClassifier as E; start = time.process_time(); E(random_state=0).fit(X, y)",
    "first fit, numbers": DATA.format(table="diabetes")
    + "from dtsemnet import DTSemNetRegressor as E; start = time.process_time(); E(random_state=0).fit(X, y)",
    "first fit of boosting, classes": DATA.format(table="iris")
    + "from sklearn.ensemble import HistGradientBoostingClassifier as E; start = time.process_time(); E().fit(X, y)",
    "first fit of boosting, numbers": DATA.format(table="diabetes")
    + "from sklearn.ensemble import HistGradientBoostingRegressor as E; start = time.process_time(); E().fit(X, y)",
    "load a model, predict": "from dtsemnet.tree import Model; import numpy as np; "
    "Model.load(sys.argv[1]).predict(np.ones((1000, 4)))",
    "load an estimator, predict": "from dtsemnet import DTSemNetClassifier as E; import numpy as np; "
    "E.load(sys.argv[1]).predict(np.ones((1000, 4)))",
}
WITHOUT = ("first fit, classes", "first fit, numbers", "load a model, predict")
"""Measured once more as if the wheel had come without compiled kernels."""


def records(wheel: Path | None = None) -> list[dict[str, Any]]:
    """Run all programs; CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        python, site = _container(Path(folder), wheel or _build(Path(folder)))
        model = Path(folder) / "model.json"
        save = DATA.format(table="iris") + "from dtsemnet import DTSemNetClassifier as E; "
        _run(python, save + f"E(max_depth=2, random_state=0).fit(X, y).save({str(model)!r})", model)
        before = _files(site)
        times: dict[tuple[str, bool], list[dict[str, float]]] = {}
        for _ in range(REPEATS):
            for name, program in PROGRAMS.items():
                times.setdefault((name, False), []).append(_run(python, program, model))
        written = sorted(_files(site) - before)
        for name in WITHOUT:  # once: slow, and not what most people meet
            times[name, True] = [_run(python, PROGRAMS[name], model, by_numba=True)]
    return [
        {
            "case": name, "by_numba": by_numba, "written": written,
            "part": statistics.median(r["part"] for r in found), "whole": statistics.median(r["whole"] for r in found),
        }
        for (name, by_numba), found in times.items()
    ]  # fmt: skip


def report(results: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = [
        (
            r["case"] + (", without compiled kernels" if r["by_numba"] else ""),
            f"{r['part']:.2f} s",
            f"{r['whole']:.2f} s",
        )
        for r in results
    ]
    written = len(results[0]["written"])
    return f"{table(('what', 'CPU', 'whole process'), rows)}\n\nFiles written into site-packages meanwhile: {written}."


def _build(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl"))


def _container(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """Make a virtual environment with the wheel; returns its interpreter and its site-packages."""
    home = folder / "venv"
    venv.create(home, with_pip=False)
    python = home / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    compileall.compile_dir(site, quiet=2)
    # Behind the wheel on the path, and links to editable packages in there are not followed.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    for path in [*site.rglob("*"), site]:
        path.chmod(path.stat().st_mode & ~0o222)
    return python, site


def _run(python: Path, program: str, model: Path, *, by_numba: bool = False) -> dict[str, float]:
    """Run a program in a process without a home and without the settings of this one."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    with tempfile.TemporaryDirectory() as scratch:
        environment = kept | {"HOME": "/nonexistent", "TMPDIR": scratch, "OMP_NUM_THREADS": "1"}
        if by_numba:
            environment["DTSEMNET_KERNELS"] = "numba"
        command = [python, "-c", TIMED.format(program=program), str(model)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=scratch)
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel to measure in place of one that is built")
    print(report(records(parser.parse_args().wheel)))
