"""Runs: one agent, one environment, one seed, one folder.

A run has the folder ``runs/rl/ENVIRONMENT/AGENT/SEED``. If it was killed, :func:`execute` resumes it from its
checkpoint; if it is finished, it is not repeated. An extension can supply a :class:`ResultsStore`, which collects the
records of all runs in one place.

:func:`load_policy` loads what a run has kept: a tree from its model file, another agent from its archive. The folder
states its environment and its agent (``configuration.json``), and so does a model file among the results, in its
metadata. For any other file the environment must be given.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Protocol
from zipfile import BadZipFile

from gymnasium import spaces
from stable_baselines3.common import logger as logs
from stable_baselines3.common.base_class import BaseAlgorithm
from threadpoolctl import threadpool_limits

from dtsemnet.files import write_atomically
from dtsemnet.folders import own_folder
from dtsemnet.json_lines import read_lines
from dtsemnet.rl.checkpoints import CHECKPOINT
from dtsemnet.rl.environments import Configuration, Environment, read_environment
from dtsemnet.rl.environments.from_spaces import register_class
from dtsemnet.rl.evaluation import JUDGING_SEEDS, TEST_SEEDS, evaluate, summary
from dtsemnet.rl.extraction import named_model
from dtsemnet.rl.imitation import imitate
from dtsemnet.rl.recipes import build_agent, build_student, find_recipe, read_settings
from dtsemnet.rl.training import Clock, Record, Watch, append_record, load_statistics, train
from dtsemnet.tree import Model, load_document

__all__ = ["RUNS", "ResultsStore", "Run", "SavedPolicy", "execute", "has_tensorboard", "load_agent", "load_policy"]

RUNS = Path("runs/rl")
"""Default folder of all runs."""


@dataclass(frozen=True)
class Run:
    """What to train, and where."""

    configuration: Configuration
    seed: int
    """Seed of the agent and of the episodes that it trains on."""
    runs: Path = RUNS

    @property
    def folder(self) -> Path:
        """Folder of this run."""
        return self.runs / self.configuration.environment.name / self.configuration.agent / str(self.seed)

    @property
    def description(self) -> Record:
        """The first entries of the record: what was run."""
        return {
            "environment": self.configuration.environment.environment,
            "agent": self.configuration.agent,
            "seed": self.seed,
            "configuration": dict(self.configuration.settings),
        }

    @property
    def key(self) -> str:
        """Identifier of the run: a hash of its description."""
        return hashlib.sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def imitates(self) -> bool:
        """Whether the agent imitates the agent mlp."""
        return find_recipe(self.configuration).student is not None

    def finished(self) -> Record | None:
        """Read the record that this run wrote at its end, if there is one in its folder."""
        records = [record for record in read_lines(self.folder / "record.jsonl") if record.get("key") == self.key]
        return records[-1] if records else None

    def begun(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return (self.folder / CHECKPOINT).is_file()


class ResultsStore(Protocol):
    """A place that collects the records of runs."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    def find(self, run: Run) -> Record | None:
        """Find the newest record of a run."""

    def add(self, run: Run, record: Record, *, replace: bool) -> Record:
        """Add the record of a finished run, unless there is one and ``replace`` is false; return it as stored."""


def execute(
    run: Run,
    *,
    fresh: bool = False,
    checkpoint_minutes: float = 5.0,
    watch: Watch | None = None,
    store: ResultsStore | None = None,
) -> Record:
    """Do a run, or the rest of it, and return its record; a finished run is not repeated.

    Parameters
    ----------
    run : Run
    fresh : bool, default=False
        Delete what was done, and start again.
    checkpoint_minutes : float, default=5.0
        Time between checkpoints.
    watch : callable, optional
        Called with a :class:`~dtsemnet.rl.training.Progress` twice a second.
    store : ResultsStore, optional
        Receives the record. A run whose record is in the store counts as finished.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.rl.environments import read_environment
    >>> short = {"steps": 832, "judge_every": 832, "n_epochs": 1}
    >>> configuration = read_environment("CartPole-v1").configuration("dtsemnet", short)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Run(configuration, 1, Path(folder))
    ...     record = execute(run)
    ...     record == execute(run), sorted(path.name for path in run.folder.glob("best.*"))
    (True, ['best.json', 'best.zip'])
    """
    _check_seed(run)
    stored = None if store is None or fresh else store.find(run)
    if stored is not None:
        return stored
    # More threads would only wait for each other: the networks are small.
    busy = f"{run.folder} is being trained by another process; wait for it."
    with own_folder(run.folder, busy=busy), threadpool_limits(1):
        _prepare(run, fresh=fresh)
        record = run.finished()
        if record is None and run.imitates:
            record = _imitate(run, checkpoint_minutes, watch, store)
        elif record is None:
            record = _train(run, checkpoint_minutes, watch)
        return record if store is None else store.add(run, record, replace=fresh)


@dataclass(frozen=True)
class SavedPolicy:
    """A policy and the environment that it acts in."""

    policy: Model | BaseAlgorithm
    environment: str | None
    """Name for ``gymnasium.make``, if the file states it."""
    about: dict[str, Any]
    """What else the file states: ``agent``, ``seed``, ``configuration``."""

    def named(self) -> Model:
        """Give the tree the names of features and actions, for people to read; its actions are then words."""
        if not isinstance(self.policy, Model):
            raise TypeError(f"the agent {self.about.get('agent')!r} is not a tree, so there is nothing to read.")
        described = _description(self.environment)
        if described is None:
            return self.policy
        return named_model(self.policy, described.features, described.actions if self.policy.is_classifier else None)

    def output_names(self) -> Sequence[str] | None:
        """Give the names of the numbers of a continuous action."""
        described = _description(self.environment)
        if isinstance(self.policy, Model):
            continuous = not self.policy.is_classifier
        else:
            continuous = isinstance(self.policy.action_space, spaces.Box)
        return described.actions if continuous and described is not None else None

    def playable(self) -> Model | BaseAlgorithm:
        """Give the policy with names, as long as its actions can still be told by their order."""
        described = _description(self.environment)
        if described is None or not isinstance(self.policy, Model):
            return self.policy
        # A tree that imitates may know fewer actions than there are, and their order would give the wrong ones.
        complete = len(described.actions or ()) == len(self.policy.class_names or ())
        return named_model(self.policy, described.features, described.actions if complete else None)


def load_policy(path: str | PathLike[str], *, last: bool = False) -> SavedPolicy:
    """Load the policy of a run.

    Parameters
    ----------
    path : path
        Folder of a run, its ``best.zip`` or another archive in it, or a model file.
    last : bool, default=False
        Load the last policy of a folder instead of the best.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.tree import Topology, Tree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    ...     tree.save(f"{folder}/policy.json", about={"environment": "CartPole-v1"})
    ...     load_policy(f"{folder}/policy.json").environment
    'CartPole-v1'
    """
    file = Path(path)
    if file.is_dir():
        candidates = [file / f"{'last' if last else 'best'}.{ending}" for ending in ("json", "zip")]
        file = next((candidate for candidate in candidates if candidate.is_file()), candidates[0])
    if not file.is_file():
        raise FileNotFoundError(f"there is no policy {file}; name the folder of a run, or a model file.")
    note = file.parent / "configuration.json"
    about = json.loads(note.read_text("utf-8")) if note.is_file() else {}
    if file.suffix == ".zip":
        if not about:
            raise FileNotFoundError(f"{file} needs the configuration.json of its run beside it.")
        name, agent, settings = about["environment"], about["agent"], about["configuration"]
        register_class(name)
        configuration = Configuration(Environment(name, name, {agent: settings}), agent, settings)
        policy: Model | BaseAlgorithm = load_agent(file.parent, configuration, file.stem)
    else:
        document = load_document(file)
        policy, about = Model.of(document.content), about | document.about
    return SavedPolicy(policy, about.get("environment"), about)


def load_agent(folder: Path, configuration: Configuration, name: str = "best") -> BaseAlgorithm:
    """Load an agent that a run has kept, with environments of its own.

    It is made by the recipe, and only its parameters are read, which runs no code of the archive. The rest of the
    archive, which ``load`` of stable-baselines3 reads, is a pickle.
    """
    agent, _ = build_agent(configuration, seed=0)
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        load_statistics(folder / f"{name}.npz", normalize)
        normalize.training = False
    path = folder / f"{name}.zip"
    try:
        agent.set_parameters(str(path), device="cpu")
    except (BadZipFile, EOFError, KeyError, RuntimeError, UnpicklingError, ValueError) as error:
        raise ValueError(
            f"{path} does not hold the parameters of this agent ({type(error).__name__}: {error}); it is torn, or of "
            "another configuration. Train the agent again (rl train --fresh)."
        ) from error
    return agent


def has_tensorboard() -> bool:
    """Tell whether logs for TensorBoard can be written."""
    return importlib.util.find_spec("tensorboard") is not None


def _description(name: str | None) -> Environment | None:
    """Read the file of an environment, if there is one."""
    with suppress(ValueError):
        return read_environment(name or "")
    return None


def _train(run: Run, checkpoint_minutes: float, watch: Watch | None) -> Record:
    environment, settings = run.configuration.environment, read_settings(run.configuration)
    agent, callbacks = build_agent(run.configuration, run.seed)
    with _named_errors(run.folder), _logging(run) as log:
        agent.set_logger(log)
        return train(
            agent,
            environment.environment,
            run.folder,
            n_steps=settings.steps,
            judge_every=settings.judge_every,
            judging_seeds=JUDGING_SEEDS[: settings.judge_episodes],
            test_seeds=TEST_SEEDS,
            callback=callbacks,
            feature_names=environment.features,
            checkpoint_minutes=checkpoint_minutes,
            watch=watch,
            about={"key": run.key, **run.description},
        )


@contextmanager
def _logging(run: Run) -> Iterator[logs.Logger]:
    """Log to a CSV file, a new one each time the run is resumed, and to TensorBoard if it is installed."""
    n_files = len(list(run.folder.glob("log-*.csv")))
    outputs: list[logs.KVWriter] = [logs.CSVOutputFormat(str(run.folder / f"log-{n_files + 1}.csv"))]
    if has_tensorboard():
        outputs.append(logs.TensorBoardOutputFormat(str(run.folder / "tensorboard")))
    log = logs.Logger(str(run.folder), outputs)
    try:
        yield log
    finally:
        log.close()


@contextmanager
def _named_errors(folder: Path) -> Iterator[None]:
    """Name the folder in an error of the system that names no file, such as that of a log on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(folder)) from error


def _imitate(run: Run, checkpoint_minutes: float, watch: Watch | None, store: ResultsStore | None) -> Record:
    """Let a tree imitate the agent ``mlp`` of the same seed, which is trained first if necessary."""
    given, environment = run.configuration.settings, run.configuration.environment
    same = {name: given[name] for name in ("steps", "judge_every", "judge_episodes") if name in given}
    teacher = Run(environment.configuration("mlp", same), run.seed, run.runs)
    if teacher.finished() is None:  # a record in the store is not enough: the network itself is needed
        taught = execute(teacher, checkpoint_minutes=checkpoint_minutes, watch=watch)
        if store is not None:
            store.add(teacher, taught, replace=False)
    settings, clock = read_settings(run.configuration), Clock()
    student = build_student(run.configuration, run.seed)
    model = imitate(
        load_agent(teacher.folder, teacher.configuration),
        environment.environment,
        student,
        n_rounds=settings.rounds,
        n_steps=settings.round_steps,
        n_episodes=settings.round_episodes,
        seed=run.seed,
        watch=watch,
    )
    spent = clock.entries()
    policy = named_model(model, environment.features)
    policy.save(run.folder / "best.json")
    record = {
        **run.description,
        "key": run.key,
        "algorithm": "VIPER",
        "policy": type(student).__name__,
        "steps": settings.rounds * settings.round_steps,
        "test": summary(evaluate(policy, environment.environment, TEST_SEEDS)),
    }
    return append_record(run.folder / "record.jsonl", record | spent)


def _prepare(run: Run, *, fresh: bool) -> None:
    """Prepare the folder; refuse one that holds a run with other settings."""
    note = run.folder / "configuration.json"
    if fresh:
        for path in run.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    elif note.is_file() and (run.begun() or (run.folder / "record.jsonl").is_file()):
        before, now = json.loads(note.read_text("utf-8"))["configuration"], run.description["configuration"]
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if names:
            changes = ", ".join(f"{name} {before.get(name)} (now {now.get(name)})" for name in names)
            raise ValueError(
                f"{run.folder} holds a run with {changes}; add --fresh to replace it, or --runs to use another folder."
            )
    write_atomically(note, json.dumps(run.description, indent=2) + "\n")


def _check_seed(run: Run) -> None:
    """Refuse a seed whose training episodes, or those that choose among trees, also judge or test the policy."""
    settings = read_settings(run.configuration)
    reach = max(100, settings.rounds + settings.round_episodes if run.imitates else 0)
    if run.seed < 0 or any(run.seed + n in seeds for n in range(reach) for seeds in (JUDGING_SEEDS, TEST_SEEDS)):
        raise ValueError(
            f"seed must be at least 0 and not within {reach} of the test's {TEST_SEEDS[0]} to {TEST_SEEDS[-1]} or the "
            f"judge's {JUDGING_SEEDS[0]} to {JUDGING_SEEDS[-1]}, got {run.seed}; take 1 to {TEST_SEEDS[0] - reach}."
        )
