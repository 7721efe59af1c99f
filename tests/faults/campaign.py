"""Kill processes at random moments, and see that nothing is lost: ``python -m faults.campaign --kills 200``.

Each case is some work in a folder. It is done once without a kill, and then again and again: a process is forked, does
the work, and gets a SIGKILL after a random time; what is on the disk is checked; the next process goes on in the same
folder. At last one is let through, and must end with the same bytes as the first.

A kill *loses* something if a file that was there is gone or torn, a record is missing or twice, or the end is another.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.json_lines import read_lines
from dtsemnet.training import loop
from dtsemnet.training.archive import read_archive
from dtsemnet.tree import Model, Topology, Tree

__all__ = ["CASES", "Case", "Tally", "campaign"]


@dataclass(frozen=True)
class Case:
    """Some work that is killed."""

    name: str
    work: Callable[[Path], None]
    """Does the work in a folder, or the rest of it."""
    check: Callable[[Path], None]
    """Looks at what is on the disk after a kill; raises an error if something is torn."""
    result: Callable[[Path], Any]
    """Reads what must be the same with kills and without."""
    owned: str | None = "."
    """Folder in which the next run removes temporary files that a kill left. Elsewhere, as where a user saves a model,
    they stay: nobody can tell whether the process that writes them is dead. Their hidden names are never read."""


@dataclass
class Tally:
    """What came of the kills of a case."""

    kills: int = 0
    rounds: int = 0
    """Folders that were worked through to the end."""
    lost: int = 0
    leftovers: int = 0
    """Temporary files after the last run of each folder, in places that runs clean up."""
    hidden: int = 0
    """Temporary files elsewhere."""


def campaign(case: Case, kills: int, rng: random.Random, kills_per_round: int = 8) -> Tally:
    """Kill a case that many times."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        straight = Path(place, "straight")
        straight.mkdir()
        started = time.monotonic()
        assert _forked(case.work, straight) == 0, f"{case.name} fails without a kill"
        duration, expected = time.monotonic() - started, case.result(straight)
        while tally.kills < kills:
            folder = Path(place, f"round {tally.rounds}")
            folder.mkdir()
            for _ in range(kills_per_round):
                if _forked(case.work, folder, rng.uniform(0, duration)) != -signal.SIGKILL:
                    break  # it had ended before
                tally.kills += 1
                tally.lost += not _holds(case.name, lambda folder=folder: case.check(folder))
            assert _forked(case.work, folder) == 0, f"{case.name} fails after kills"
            tally.lost += not _holds(case.name, lambda folder=folder: _same(case.result(folder), expected))
            owned = [] if case.owned is None else list((folder / case.owned).rglob("*.tmp"))
            tally.leftovers += len(owned)
            tally.hidden += len(list(folder.rglob("*.tmp"))) - len(owned)
            tally.rounds += 1
            shutil.rmtree(folder)
    return tally


def _forked(work: Callable[[Path], None], folder: Path, seconds: float | None = None) -> int:
    """Do the work in a process of its own, killed after some seconds; return its exit code, negative for a signal."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with Path(os.devnull).open("w") as null, redirect_stdout(null), redirect_stderr(null):
                work(folder)
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)  # it is ours until it is waited for, even if it has ended
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _holds(name: str, check: Callable[[], None]) -> bool:
    try:
        check()
    except Exception:
        print(f"{name}:", file=sys.stderr)
        traceback.print_exc()
        return False
    return True


def _same(found: Any, expected: Any) -> None:
    assert found == expected, "the end is another than without a kill"


def _fit_case(kind: Any, data: Any, name: str, options: dict[str, Any], seconds: float) -> Case:
    def work(folder: Path) -> None:
        loop.CHECKPOINT_SECONDS = seconds  # of the forked process
        estimator = kind(random_state=0, checkpoint=folder / "checkpoints", **options).fit(*data)
        estimator.model_.save(folder / "model.json")

    def check(folder: Path) -> None:
        for path in (folder / "checkpoints").glob("*.npz"):
            read_archive(path)

    return Case(name, work, check, lambda folder: (folder / "model.json").read_bytes(), owned="checkpoints")


def _save_case() -> Case:
    rng = np.random.default_rng(0)
    trees = [Tree(Topology.complete(6), rng.normal(size=(63, 20)), np.zeros(63), np.zeros((64, 1))) for _ in range(2)]

    def work(folder: Path) -> None:
        for number in range(40):
            trees[number % 2].save(folder / "model.json")

    def check(folder: Path) -> None:
        if (folder / "model.json").exists():
            assert Tree.load(folder / "model.json") in trees

    return Case("save", work, check, lambda folder: (folder / "model.json").read_bytes(), owned=None)


def _command_case() -> Case:
    def work(folder: Path) -> None:
        from dtsemnet.cli import app

        os.chdir(folder)
        app(["fit", "--depth", "2", "--effort", "0", "--epochs", "10", "--force"], standalone_mode=False)

    def check(folder: Path) -> None:
        if (folder / "model.json").exists():
            Model.load(folder / "model.json")

    return Case("command fit", work, check, lambda folder: (folder / "model.json").read_bytes(), owned=None)


def _table_case() -> Case:
    from dtsemnet_paper.bench import MethodRun, read_table, run_all

    def work(folder: Path) -> None:
        for name, load, task in (("iris", load_iris, "classification"), ("diabetes", load_diabetes, "regression")):
            path = folder / f"{name}.npz"
            if not path.exists():
                X, y = load(return_X_y=True)
                names = {"class_names": load().target_names} if task == "classification" else {}
                np.savez(folder / "aside.npz", X=X, y=y, feature_names=load().feature_names, **names)
                (folder / "aside.npz").replace(path)
        (folder / "datasets.toml").write_text(
            '[iris]\ntask = "classification"\nrows = 150\nfeatures = 4\nclasses = 3\nsplit = { rule = "random" }\n'
        )
        (folder / "small.toml").write_text(
            'title = "t"\nsource = "s"\nscore = "accuracy"\nsets = ["iris"]\nmethods = ["cart"]\nseeds = 2\n'
            "heights = [2]\n[height]\niris = 2\n"
        )
        os.environ["DTSEMNET_DATA"] = str(folder)
        table = read_table("small", folder=folder)
        runs = [
            MethodRun(method, "iris", seed, "paper", {"max_depth": 2} | more)
            for seed in range(8)
            for method, more in (("cart", {}), ("dtsemnet", {"effort": 0, "max_iter": 10, "n_init": 1}))
        ]
        run_all(runs, table.catalogue(), table.results)

    def check(folder: Path) -> None:
        keys = [record["key"] for path in (folder / "results").glob("*.jsonl") for record in read_lines(path)]
        assert len(set(keys)) == len(keys), "a run was done twice"
        known = folder / "known.json"
        before = json.loads(known.read_text()) if known.exists() else []
        assert keys[: len(before)] == before, "a record is gone"
        known.write_text(json.dumps(keys))

    def result(folder: Path) -> Any:
        records = [record for path in (folder / "results").glob("*.jsonl") for record in read_lines(path)]
        assert all(record["error"] is None for record in records), records
        return sorted((record["key"], record["test"]) for record in records)

    return Case("bench table", work, check, result)


def _agent_case(name: str, environment: str) -> Case:
    import torch

    from dtsemnet.rl import runs
    from dtsemnet.rl.environments import read_environment
    from dtsemnet.rl.plain_values import read_values

    torch.set_num_threads(1)
    tiny = {"steps": 512, "judge_every": 128, "n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1}
    tiny |= {"judge_episodes": 2, "normalize": True}
    configuration = read_environment(environment).configuration("dtsemnet", tiny)

    def planned(folder: Path) -> Any:
        return runs.Run(configuration, 1, folder)

    def work(folder: Path) -> None:
        runs.execute(planned(folder), checkpoint_minutes=0)

    def check(folder: Path) -> None:
        checkpoint = planned(folder).folder / "checkpoint.npz"
        if checkpoint.exists():
            assert read_values(checkpoint)["counters"]["num_timesteps"] > 0

    def result(folder: Path) -> Any:
        [record] = read_lines(planned(folder).folder / "record.jsonl")
        told = {name: value for name, value in record.items() if name not in ("date", "seconds", "cpu_seconds")}
        return told, (planned(folder).folder / "best.json").read_bytes()

    return Case(name, work, check, result)


IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
STARTS = {"max_depth": 2, "effort": 0, "n_init": 4, "max_iter": 60}
CHOOSES: dict[str, Any] = {"max_depth": 2, "max_iter": 20}
CASES: dict[str, Callable[[], Case]] = {
    "classes": lambda: _fit_case(DTSemNetClassifier, IRIS, "fit, classes", STARTS, 0.02),
    "numbers": lambda: _fit_case(DTSemNetRegressor, DIABETES, "fit, numbers", STARTS, 0.02),
    "classes-chosen": lambda: _fit_case(DTSemNetClassifier, IRIS, "fit that chooses, classes", CHOOSES, 0.1),
    "numbers-chosen": lambda: _fit_case(DTSemNetRegressor, DIABETES, "fit that chooses, numbers", CHOOSES, 0.1),
    "save": _save_case,
    "command": _command_case,
    "table": _table_case,
    "agent": lambda: _agent_case("rl train", "CartPole-v1"),
    "agent-opaque": lambda: _agent_case("rl train, Box2D", "LunarLander-v3"),
}


def main() -> None:
    """Run all cases and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=216, help="kills in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", choices=CASES, action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    names, total = options.case or list(CASES), Tally()
    for name in names:
        case, started = CASES[name](), time.monotonic()
        tally = campaign(case, -(-options.kills // len(names)), random.Random(f"{options.seed} {name}"))
        figures = f"{tally.kills} kills in {tally.rounds} folders, {tally.lost} lost, {tally.leftovers} temporary files"
        figures += f", {tally.hidden} hidden ones where nobody cleans up, {time.monotonic() - started:.0f} s"
        print(f"{case.name:28} {figures}", flush=True)
        total.kills += tally.kills
        total.lost += tally.lost
        total.leftovers += tally.leftovers
        total.hidden += tally.hidden
    print(
        f"{total.kills} kills, {total.lost} lost, {total.leftovers} temporary files left in folders of runs, "
        f"{total.hidden} hidden ones beside saved models"
    )
    sys.exit(bool(total.lost or total.leftovers))


if __name__ == "__main__":
    main()
