"""Checkpoints: after any epoch, all that the rest of training depends on, in one file.

A checkpoint holds the engine's state, the best state so far, the state of the
random generator and the history. It is a numpy archive without pickled
objects, written beside its place and moved there, so that a kill leaves the
old one or the new one. A run resumed from it ends with the same bytes as one
that was never stopped.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.training.history import History

__all__ = ["Checkpoint", "Saved"]

State = dict[str, Array]


@dataclass(frozen=True)
class Saved:
    """Content of a checkpoint."""

    state: State
    best: State | None
    rng: dict[str, Any]
    history: History


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep a run, and how often.

    Parameters
    ----------
    path : str or Path
        File to write; if it is there when training starts, training goes on from it.
    every : int
        Epochs between two writes; the last epoch is always written.
    """

    path: str | Path
    every: int = 1

    def write(self, run: str, saved: Saved) -> None:
        """Write the content; ``run`` says which run it belongs to."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"run": run, "rng": saved.rng, "history": saved.history.to_dict()})
        arrays = {f"state/{name}": array for name, array in saved.state.items()}
        arrays |= {f"best/{name}": array for name, array in (saved.best or {}).items()}
        partial = path.with_name(path.name + f".{os.getpid()}.part")
        with open(partial, "wb") as file:
            np.savez(file, text=np.array(text), **arrays)  # type: ignore[arg-type]
        os.replace(partial, path)

    def read(self, run: str) -> Saved | None:
        """Read the content, or None where there is no file yet."""
        if not Path(self.path).exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                content = json.loads(str(archive["text"]))
                arrays = {name: archive[name] for name in archive.files if name != "text"}
        except (BadZipFile, KeyError, OSError, ValueError) as error:
            raise ValueError(f"checkpoint {self.path} cannot be read ({error}); delete it to start anew.") from error
        if content["run"] != run:
            raise ValueError(
                f"checkpoint {self.path} belongs to another run (other data, settings or seed); "
                "delete it or name another file."
            )

        def part(name: str) -> State:
            return {key.removeprefix(name): array for key, array in arrays.items() if key.startswith(name)}

        return Saved(part("state/"), part("best/") or None, content["rng"], History.from_dict(content["history"]))
