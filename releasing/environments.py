"""Interpreters that this machine has, and environments that are made with them for one check.

Nothing is fetched but packages: a version of Python that is not installed is skipped by the caller, with a line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Environment", "find_interpreter", "run"]


def run(
    words: Sequence[str | Path], *, folder: Path | None = None, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without the variables that would lead Python to the checkout; its output is kept as text."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment | {"PYTHONUTF8": "1"} | (variables or {}),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip


def find_interpreter(version: str) -> Path | None:
    """Find an interpreter of a version such as "3.12": on the search path, or where pyenv or uv keep theirs."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
    if shutil.which("uv"):
        found = run(["uv", "python", "find", "--no-python-downloads", version])
        candidates += [found.stdout.strip()] if found.returncode == 0 else []
    for candidate in [sys.executable, *candidates]:
        if candidate and _version(candidate) == version:
            return Path(candidate)
    return None


def _version(interpreter: str) -> str | None:
    try:
        done = run([interpreter, "-c", "import sys; print(*sys.version_info[:2], sep='.')"])
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, interpreter: Path) -> Environment:
        """Make a new one; an old one in its place is removed."""
        shutil.rmtree(folder, ignore_errors=True)
        done = run([interpreter, "-m", "venv", folder])
        if done.returncode:
            raise RuntimeError(f"no environment could be made with {interpreter}:\n{done.stdout}")
        return cls(folder)

    def program(self, name: str) -> Path:
        """Path of a program in it."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / name

    def install(self, *requirements: str | Path, constraints: Iterable[Path] = ()) -> None:
        """Install packages by pip."""
        words: list[str | Path] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        for path in constraints:
            words += ["--constraint", path]
        done = self.python(*words)
        if done.returncode:
            raise RuntimeError(f"pip could not install {', '.join(map(str, requirements))}:\n{done.stdout[-3000:]}")

    def python(
        self, *words: str | Path, folder: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python."""
        return run([self.program("python"), *words], folder=folder, variables=variables)
