"""Runs: one agent, one environment, one seed, one record.

A run lives in a folder of its own, ``runs/rl/ENVIRONMENT/AGENT/SEED``. Killed, it goes on from its checkpoint when it
is asked for again; finished, it is not done again. Its record, with configuration, curve of judgements, test and
versions, is appended to ``rl.jsonl`` in a folder of results, and its tree is copied there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from stable_baselines3.common import logger as logs

from dtsemnet.rl.agents import STUDENTS, build_agent, build_student, check_settings
from dtsemnet.rl.configurations import Configuration
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS, TEST_SEEDS, evaluate, summary
from dtsemnet.rl.extraction import named_model
from dtsemnet.rl.imitation import imitate
from dtsemnet.rl.judging import Progress
from dtsemnet.rl.kept import load_agent
from dtsemnet.rl.training import CHECKPOINT, train, versions
from dtsemnet.tree import Model
from dtsemnet.tree.file import write_atomically
from dtsemnet_paper.records import Record, append_record, mend, read_records

__all__ = ["RECORDS", "RUNS", "Run", "execute", "has_tensorboard"]

RUNS = Path("runs/rl")
"""Where runs live."""
RECORDS = "rl.jsonl"
"""File of the records, in a folder of results."""
CHECKPOINT_MINUTES = 5.0

Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Run:
    """What is asked, and where it lives.

    Parameters
    ----------
    configuration : Configuration
    seed : int
        Of the agent and of the episodes that it trains on.
    runs : Path
        Folder of all runs.
    results : Path
        Folder of records and trees.
    """

    configuration: Configuration
    seed: int
    runs: Path = RUNS
    results: Path = RUNS

    @property
    def folder(self) -> Path:
        """Folder of this run."""
        return self.runs / self.configuration.environment.name / self.configuration.agent / str(self.seed)

    @property
    def tree(self) -> Path:
        """The model file among the results; with settings of its own it does not take the place of the usual one."""
        environment, agent = self.configuration.environment, self.configuration.agent
        usual = self.configuration.settings == environment.configuration(agent).settings
        return self.results / "rl" / f"{environment.name}-{agent}-{self.seed}{'' if usual else '-' + self.key[:6]}.json"

    @property
    def asked(self) -> Record:
        """The run as a record tells it, without results."""
        return {
            "environment": self.configuration.environment.environment,
            "agent": self.configuration.agent,
            "seed": self.seed,
            "configuration": dict(self.configuration.settings),
        }

    @property
    def key(self) -> str:
        """Name of the run."""
        return hashlib.sha256(json.dumps(self.asked, sort_keys=True).encode()).hexdigest()[:16]

    def recorded(self) -> Record | None:
        """The newest record of this run among the results."""
        found = [record for record in read_records(self.results / RECORDS) if record["key"] == self.key]
        return found[-1] if found else None

    def finished(self) -> Record | None:
        """What this run has written at its end, if its folder is here."""
        found = [record for record in read_records(self.folder / "record.jsonl") if record["key"] == self.key]
        return found[-1] if found else None

    def begun(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return (self.folder / CHECKPOINT).is_file()


def execute(
    run: Run, *, fresh: bool = False, checkpoint_minutes: float = CHECKPOINT_MINUTES, watch: Watch | None = None
) -> Record:
    """Do a run, or what is left of it, and give its record; a finished run is not done again.

    Parameters
    ----------
    run : Run
    fresh : bool, default=False
        Forget what was done.
    checkpoint_minutes : float, default=5.0
        Time between checkpoints.
    watch : callable, optional
        Told a :class:`Progress` twice a second.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.rl.configurations import read_environment
    >>> short = {"steps": 832, "judge_every": 832, "n_epochs": 1}
    >>> configuration = read_environment("CartPole-v1").configuration("dtsemnet", short)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Run(configuration, 1, Path(folder), Path(folder))
    ...     record = execute(run)
    ...     record == execute(run), Model.load(run.tree).tree.depth
    (True, 4)
    """
    check_settings(run.configuration)
    _check_seed(run)
    found = run.recorded()
    if found is not None and not fresh:
        return found
    run.folder.mkdir(parents=True, exist_ok=True)
    with _locked(run.folder / "lock"), _one_thread():
        _begin(run, fresh=fresh)
        record = run.finished() or _do(run, checkpoint_minutes, watch)
        return _publish(run, record, replace=fresh)


def _do(run: Run, checkpoint_minutes: float, watch: Watch | None) -> Record:
    if run.configuration.agent in STUDENTS:
        return _imitate(run, checkpoint_minutes, watch)
    environment = run.configuration.environment
    agent, callbacks = build_agent(run.configuration, run.seed)
    log = _logger(run.folder)
    agent.set_logger(log)
    try:
        return train(
            agent,
            environment.environment,
            run.folder,
            n_steps=run.configuration.steps,
            judge_every=run.configuration.settings["judge_every"],
            judging_seeds=JUDGING_SEEDS[: run.configuration.settings.get("judge_episodes", JUDGING_EPISODES)],
            test_seeds=TEST_SEEDS,
            callback=callbacks,
            feature_names=environment.features,
            checkpoint_minutes=checkpoint_minutes,
            watch=watch,
            about={"key": run.key, **run.asked},
        )
    finally:
        log.close()


def _imitate(run: Run, checkpoint_minutes: float, watch: Watch | None) -> Record:
    """Let a tree imitate the agent ``mlp`` of the same seed, which is trained first if it is not there."""
    settings, environment = run.configuration.settings, run.configuration.environment
    same = {name: settings[name] for name in ("steps", "judge_every", "judge_episodes") if name in settings}
    school = Run(environment.configuration("mlp", same), run.seed, run.runs, run.results)
    if school.finished() is None:  # a record among the results is not enough: the network itself is needed
        school.folder.mkdir(parents=True, exist_ok=True)
        with _locked(school.folder / "lock"):
            _begin(school, fresh=False)
            _publish(school, _do(school, checkpoint_minutes, watch), replace=False)
    (n_rounds, n_episodes), n_steps = _rounds(run), settings.get("round_steps", 2000)
    started, cpu = time.perf_counter(), time.process_time()
    student = build_student(run.configuration, run.seed)
    found = imitate(
        load_agent(school.folder, school.configuration),
        environment.environment,
        student,
        n_rounds=n_rounds,
        n_steps=n_steps,
        n_episodes=n_episodes,
        seed=run.seed,
        watch=watch,
    )
    seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
    policy = named_model(found, environment.features)
    policy.save(run.folder / "best.json")
    record = {
        **run.asked,
        "key": run.key,
        "algorithm": "VIPER",
        "policy": type(student).__name__,
        "steps": n_rounds * n_steps,
        "test": summary(evaluate(policy, environment.environment, TEST_SEEDS)),
        **{name: round(value, 1) for name, value in seconds.items()},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    append_record(run.folder / "record.jsonl", record)
    return record


def _begin(run: Run, *, fresh: bool) -> None:
    """Prepare the folder; refuse one that holds a run with other settings."""
    note = run.folder / "configuration.json"
    if fresh:
        for path in run.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()
    elif note.is_file() and (run.begun() or (run.folder / "record.jsonl").is_file()):
        before, now = json.loads(note.read_text("utf-8"))["configuration"], run.asked["configuration"]
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if names:
            told = ", ".join(f"{name} {before.get(name)} (now {now.get(name)})" for name in names)
            raise ValueError(
                f"{run.folder} holds a run with {told}; add --fresh to replace it, or --runs to put this one elsewhere."
            )
    write_atomically(note, json.dumps(run.asked, indent=2) + "\n")


def _publish(run: Run, record: Record, *, replace: bool) -> Record:
    """Put the record among the results, rounded, with the curve of judgements, and the tree beside it."""
    record = {"key": run.key, **{name: value for name, value in record.items() if name != "key"}}
    record["test"] = record["test"] | {"rewards": [round(reward, 2) for reward in record["test"]["rewards"]]}
    if "test_last" in record:
        record["test_last"] = {name: value for name, value in record["test_last"].items() if name != "rewards"}
    judged = read_records(run.folder / "judgements.jsonl")
    record["curve"] = {"step": [row["step"] for row in judged], "mean": [round(row["mean"], 2) for row in judged]}
    if (run.folder / "best.json").is_file():
        model = Model.load(run.folder / "best.json")
        record["tree"] = {"depth": model.tree.depth, "leaves": model.tree.n_leaves}
        run.tree.parent.mkdir(parents=True, exist_ok=True)
        model.save(run.tree, about=run.asked)
    run.results.mkdir(parents=True, exist_ok=True)
    path = run.results / RECORDS
    mend(path)
    if replace or run.recorded() is None:
        append_record(path, record)
    return record


def _check_seed(run: Run) -> None:
    """Refuse a seed from which an agent would train, or be chosen, on episodes that judge or test it."""
    n_rounds, n_episodes = _rounds(run)
    reach = max(100, n_rounds + n_episodes)
    if run.seed < 0 or any(run.seed + n in seeds for n in range(reach) for seeds in (JUDGING_SEEDS, TEST_SEEDS)):
        raise ValueError(
            f"seed must be at least 0 and not within {reach} of the test's {TEST_SEEDS[0]} to {TEST_SEEDS[-1]} or the "
            f"judges' {JUDGING_SEEDS[0]} to {JUDGING_SEEDS[-1]}, got {run.seed}; take 1 to {TEST_SEEDS[0] - reach}."
        )


def _rounds(run: Run) -> tuple[int, int]:
    """Rounds of imitation and episodes that judge its trees, all with seeds of their own; none for other agents."""
    if run.configuration.agent not in STUDENTS:
        return 0, 0
    settings = run.configuration.settings
    return settings.get("rounds", 10), settings.get("round_episodes", 10)


def _logger(folder: Path) -> logs.Logger:
    """Log to a CSV file, a new one each time the run is taken up, and for TensorBoard where that is installed."""
    number = len(list(folder.glob("log-*.csv"))) + 1
    outputs: list[logs.KVWriter] = [logs.CSVOutputFormat(str(folder / f"log-{number}.csv"))]
    if has_tensorboard():
        outputs.append(logs.TensorBoardOutputFormat(str(folder / "tensorboard")))
    return logs.Logger(str(folder), outputs)


def has_tensorboard() -> bool:
    """Tell whether logs for TensorBoard can be written."""
    return importlib.util.find_spec("tensorboard") is not None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep a second process out of the folder, where the system can."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BlockingIOError(f"{path.parent} is being trained by another process; wait for it.") from None
        yield


@contextmanager
def _one_thread() -> Iterator[None]:
    """Small networks: more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
