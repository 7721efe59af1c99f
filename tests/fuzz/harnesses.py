"""The kinds of files that are read from elsewhere: how each is made, damaged and checked.

Each harness damages files that are right and checks a law that holds for any bytes: the file is read, or there is one
``ValueError``. The law of model files is in ``laws.py``, tables are in ``table_files.py``, VNN-LIB and proof files in
``proof_files.py``; the other kinds are here.
"""

from __future__ import annotations

import io
import random
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz import proof_files, table_files
from fuzz.laws import check_message, check_model_file
from fuzz.mutate import mutate_bytes, mutate_document, mutate_file

__all__ = ["HARNESSES", "Harness"]

GOLDEN = Path(__file__).parents[1] / "golden" / "v0.1"


class Harness(NamedTuple):
    """One kind of file."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    """Makes files that are right."""
    mutate: Callable[[random.Random, Sequence[bytes]], bytes]
    check: Callable[[Path], str]
    """Checks the law for a file; names what became of it."""
    grows: bool = False
    """Whether damaged files that are read become seeds."""


def model_files() -> list[bytes]:
    """Small model files of all kinds: classes, numbers, labels, categories, missing values, margins, a policy."""
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*.json"))] + fitted()


@cache
def fitted() -> list[bytes]:
    """Files of estimators with parameters and targets that no old file has."""
    from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    y, above = np.exp(X[:, 0]), X > 0
    brief: dict[str, Any] = {"max_depth": 1, "effort": 0, "max_iter": 2, "n_init": 1}
    order = {"integer_weights": 5, "monotonic_cst": [1, 0, 0], "interaction_cst": [[0, 1], [2]]}
    fits: list[tuple[Any, Any]] = [
        (DTSemNetClassifier(**brief, **order, class_weight={0: 1.0, 1: 2.5}), above[:, 0].astype(int)),
        (DTSemNetClassifier(**brief, max_split_features=2), above.astype(int)),
        (DTSemNetClassifier(**brief, interaction_cst="no_interactions"), np.where(above[:, 1], "b", "a")),
        (DTSemNetRegressor(**brief, max_leaf_features=1, monotonic_cst=[0, -1, 0]), y),
        (DTSemNetRegressor(**brief, leaf="constant", loss="tweedie", tweedie_power=1.3), y),
        (DTSemNetRegressor(**brief, leaf="constant", loss="poisson", integer_weights=True), y),
    ]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for estimator, target in fits:
            estimator.fit(X, target).save(Path(folder, "model.json"))
            files.append(Path(folder, "model.json").read_bytes())
    return files


def training(kind: str, path: Path, n_epochs: int | None = None) -> Any:
    """A training that writes to a checkpoint, or resumes from it; it may stop before its end."""
    from dtsemnet import training as t
    from dtsemnet.tree import Topology

    rng, topology = np.random.default_rng(0), Topology.complete(2)
    X, splits, weight = rng.normal(size=(30, 2)), rng.normal(size=(3, 3)), np.ones(30)
    monitor = None
    if kind == "classes":
        rows = t.Rows(X, rng.integers(0, 3, 30), weight)
        engine: Any = t.cpu_engine(
            t.Classification(3), topology, rows, t.ClassParameters(splits, np.array([0, 1, 2, 1]))
        )
        monitor = t.validation_loss(rows, t.Step(0.0))
    else:
        rows = t.Rows(X, rng.normal(size=(30, 1)), weight)
        start = t.RegressionParameters(splits, rng.normal(size=(4, 3)))
        engine = t.cpu_engine(t.Regression(), topology, rows, start)
    options = {"n_samples": 30, "monitor": monitor, "checkpoint": t.Checkpoint(path)}
    run = t.Training(engine, [t.Phase(4, learning_rate=0.1)], np.random.default_rng(1), **options).start()
    run.advance(1.0 if n_epochs is None else n_epochs / 4)
    return run


TRAININGS = ("classes", "numbers")


def checkpoints() -> list[bytes]:
    """Checkpoints of trainings in their middle, with and without a best state."""
    files = []
    for kind in TRAININGS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.npz")
            training(kind, path, 2).write_checkpoint()
            files.append(path.read_bytes())
    return files


def mutate_checkpoint(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Damage the archive, or a member of it with a check sum that is right again."""
    data = rng.choice(seeds)
    if rng.random() < 0.4:
        return mutate_bytes(rng, data, seeds)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    if name == "text.npy" and rng.random() < 0.7:
        text = str(np.load(io.BytesIO(members[name]))).encode()
        changed, stream = mutate_document(rng, text, [text]), io.BytesIO()
        np.save(stream, np.array(changed.decode("utf-8", "replace")))
        members[name] = stream.getvalue()
    elif rng.random() < 0.2:
        members[rng.choice(["state/other.npy", "best/splits.npy", "text", "a.txt"])] = members.pop(name)
    else:
        members[name] = mutate_bytes(rng, members[name], list(members.values()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def check_checkpoint(path: Path) -> str:
    """Check that a training resumes and ends, or that there is one error, which names the file."""
    others = 0
    data = path.read_bytes()
    for kind in TRAININGS:
        path.write_bytes(data)
        try:
            training(kind, path).finish()
            return "read"
        except FloatingPointError as error:  # parameters may be any numbers, also those that lead nowhere
            if "training stopped in epoch" not in str(error):
                raise
            return "read"
        except (ValueError, MemoryError) as error:  # an array may declare more than there is memory
            if str(path) not in str(error):
                raise
            others += "belongs to another run" in str(error)
            check_message(error)
    return "of another run" if others == len(TRAININGS) else "refused"


def environments() -> list[bytes]:
    """The files of environments in this distribution."""
    from dtsemnet.rl import environments

    return [path.read_bytes() for path in sorted(environments.FOLDER.glob("*.toml"))]


TOML_VALUES = ["1", "-1e999", "nan", "[]", "{}", "[1, [2]]", "true", "0xff", "1979-05-27", "[" * 5000, "{a = 1}",
               "{mlp = {}}", "'os:system'", "'\\x1b[2J:X'", "':'", "[{}]"]  # fmt: skip


def first_table(lines: Sequence[str]) -> int:
    """The number of the first line that opens a table."""
    return next((i for i, line in enumerate(lines) if line.startswith("[")), len(lines))


def mutate_lines(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or whole lines and the words in them."""
    data = rng.choice(seeds)
    if rng.random() < 0.3:
        return mutate_bytes(rng, data, seeds)
    lines = data.decode().split("\n")
    for _ in range(rng.choice([1, 2, 3])):
        i = rng.randrange(len(lines))
        action = rng.randrange(5)
        if action == 0:
            del lines[i]
        elif action == 1:
            lines.insert(i, rng.choice(rng.choice(seeds).decode().split("\n")))
        elif action == 2:
            lines[i] = f"{lines[i].partition('=')[0]}= {rng.choice(TOML_VALUES)}"
        elif action == 3:  # an entry of the environment itself, in place of its table
            entry = rng.choice(["all", "agents", "agents.dtsemnet", "published", "features", "seeds", "environment"])
            lines = [line for line in lines[: first_table(lines)] if not line.startswith(f"{entry} ")]
            lines.append(f"{entry} = {rng.choice(TOML_VALUES)}")
        else:
            lines[i] = lines[i].replace(
                rng.choice(list(lines[i]) or [" "]), rng.choice(["", '"', "\x1b", ".", "[", "\ufeff"])
            )
        lines = lines or [""]
    return "\n".join(lines).encode()


def check_environment(path: Path) -> str:
    from dtsemnet.rl.environments import read_environment

    try:
        environment = read_environment(str(path))
    except ValueError as error:
        check_message(error)
        return "refused"
    for agent in environment.agents:
        environment.configuration(agent)
    return "read"


RECORDS = [b'{"key": "a", "test": 0.5}\n{"key": "b", "test": null}\n', b'[1]\n"text"\n{"torn": ', b"{}"]


def mutate_records(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or nest a value deeply."""
    data = mutate_bytes(rng, rng.choice(seeds), seeds)
    return (
        data if rng.random() < 0.9 else data.replace(b'"', rng.choice([b"[" * 10_000, b"9" * 5000, b"\x1b", b"\0"]), 1)
    )


def check_records(path: Path) -> str:
    """Check that lines are read or refused, and that appending a line changes no whole line before it."""
    from dtsemnet.json_lines import append_line, read_lines

    before = path.read_bytes()
    before = before[: before.rfind(b"\n") + 1]
    append_line(path, '{"appended": 1}')
    assert path.read_bytes() == before + b'{"appended": 1}\n'
    Path(f"{path}.torn").unlink(missing_ok=True)
    try:
        lines = read_lines(path)
    except ValueError as error:
        check_message(error)
        return "refused"
    assert lines[-1] == {"appended": 1}
    return "read"


HARNESSES = {
    "model file": Harness(".json", model_files, mutate_file, check_model_file, grows=True),
    "property": Harness(
        ".vnnlib", proof_files.properties, proof_files.mutate_property, proof_files.check_property, True
    ),
    "proof file": Harness(".json", proof_files.proofs, proof_files.mutate_proof, proof_files.check_proof, True),
    "records": Harness(".jsonl", lambda: RECORDS, mutate_records, check_records, True),
    "checkpoint": Harness(".npz", checkpoints, mutate_checkpoint, check_checkpoint),
    "environment": Harness(".toml", environments, mutate_lines, check_environment),
    "table": Harness(".csv", table_files.texts, table_files.mutate_text, table_files.check_prediction),
    "recipe": Harness(".json", table_files.recipes, mutate_file, table_files.check_recipe),
    **{
        f"{kind} table": Harness(
            ending, partial(table_files.files, ending), partial(table_files.mutate, ending), table_files.check_table
        )
        for kind, ending in table_files.ENDINGS.items()
    },
}
"""All kinds, by name."""
