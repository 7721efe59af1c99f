"""What the verbs of ``rl`` share: where results are, and policies with their environments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtsemnet.rl.kept import Kept

__all__ = ["load", "results_folder"]

PAPER = Path("paper")
RUNS = Path("runs/rl")


def results_folder(named: Path | None, runs: Path = RUNS) -> Path:
    """The folder of records: the one named, else that of the paper if it is here, else that of the runs."""
    return named or (PAPER / "results" if PAPER.is_dir() else runs)


def load(path: Path, env: str | None = None, *, last: bool = False) -> tuple[Kept, str]:
    """Load a policy and name its environment: the one that is told, else that of its training."""
    import gymnasium as gym

    from dtsemnet.rl.configurations import environment_names, read_environment
    from dtsemnet.rl.kept import load_kept

    kept = load_kept(path, last=last)
    if env is not None and env not in gym.registry:
        env = read_environment(env).environment
    name = env or kept.environment
    if name is None:
        raise ValueError(f"{path} does not tell its environment; add --env, such as --env {environment_names()[0]}.")
    return replace(kept, environment=name), name
