"""The kinds of files that are read from elsewhere: how each is made, damaged and checked.

Each harness damages files that are right and checks a law that holds for any bytes: the file is read, or there is one
``ValueError``. The law of model files is in ``laws.py``; the other kinds promise no more than that.
"""

from __future__ import annotations

import contextlib
import io
import random
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.laws import check_model_file
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
    """Small model files of every kind: classes, numbers, categories, missing values, margins, folds, a policy."""
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*.json"))]


def checkpoints() -> list[bytes]:
    """Checkpoints of a training, with and without a best state."""
    from dtsemnet.training import History
    from dtsemnet.training.loop import Checkpoint, Saved

    rng = np.random.default_rng(0)
    state = {"splits": rng.normal(size=(3, 3)).astype(np.float32), "step": np.array(7)}
    files = []
    for best, score in ((None, None), (state, (0.5, 1.0))):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = Checkpoint(Path(folder, "run.npz"))
            checkpoint.write("run", Saved(state, best, rng.bit_generator.state, History(), score))
            files.append(Path(checkpoint.path).read_bytes())
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
    from dtsemnet.training.loop import Checkpoint

    try:
        Checkpoint(path).read("run")
    except (ValueError, MemoryError) as error:  # an array may declare more than there is memory
        if str(path) not in str(error):
            raise
        return "refused"
    return "read"


def environments() -> list[bytes]:
    """The files of environments in this distribution."""
    from dtsemnet.rl import environments

    return [path.read_bytes() for path in sorted(environments.FOLDER.glob("*.toml"))]


def mutate_lines(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or whole lines and the words in them."""
    data = rng.choice(seeds)
    if rng.random() < 0.3:
        return mutate_bytes(rng, data, seeds)
    lines = data.decode().split("\n")
    for _ in range(rng.choice([1, 2, 3])):
        i = rng.randrange(len(lines))
        action = rng.randrange(4)
        if action == 0:
            del lines[i]
        elif action == 1:
            lines.insert(i, rng.choice(rng.choice(seeds).decode().split("\n")))
        elif action == 2:
            key = lines[i].partition("=")[0]
            lines[i] = (
                f"{key}= {rng.choice(['1', '-1e999', 'nan', '[]', '{}', '[1, [2]]', 'true', '0xff', '1979-05-27'])}"
            )
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
    except ValueError:
        return "refused"
    for agent in environment.agents:
        environment.configuration(agent)
    return "read"


TABLES = [
    "age,colour,size,smoker\n30,red,S,True\n41.5,blue,M,False\n,green,L,True\n",
    "age;colour;size;smoker\n1e3;red;S;0\n-7;;M;1\n",
    "age\tcolour\tsize\tsmoker\n30\tr\u00e9d\tXL\tyes\n",
    '"age","colour","size","smoker","note"\n"30","red","S","True","a ""quoted"" note, with\na line break"\n',
    "\ufeffage,colour,size,smoker\n2020-01-01,red,S,True\n",
]


def mutate_table(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or cells, rows and the header."""
    data = rng.choice(seeds)
    if rng.random() < 0.4:
        return mutate_bytes(rng, data, seeds)
    rows = [line.split(",") for line in data.decode().split("\n")]
    cells = [
        "",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "=1+1",
        '"',
        "\x1b[2J",
        "\0",
        "NA",
        "9" * 400,
        "1_0",
        "0x1F",
        "a" * 9999,
    ]
    for _ in range(rng.choice([1, 2, 4])):
        row = rng.choice(rows)
        action = rng.randrange(5)
        if action <= 1:
            row[rng.randrange(len(row))] = rng.choice(cells)
        elif action == 2:
            row.append(rng.choice(cells))
        elif action == 3 and len(row) > 1:
            row.pop()
        else:
            rows.insert(rng.randrange(len(rows)), list(row))
    return "\n".join(map(",".join, rows)).encode()


def check_table(path: Path) -> str:
    from dtsemnet.cli.models import load

    loaded = load(GOLDEN / "categories.json")
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = loaded.read(path)
            answers: Any = loaded.model.predict(rows.X)
    except ValueError:
        return "refused"
    assert set(answers.tolist()) <= set(loaded.model.class_names or ())
    return "read"


PROPERTIES = [
    "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n" + body
    for body in (
        "; near a row\n(assert (>= X_0 0.25))\n(assert (<= X_0 0.5))\n(assert (>= X_1 -1))\n(assert (<= X_1 1e-3))\n"
        "(assert (or (and (>= Y_1 Y_0)) (and (<= Y_0 (- 0.5)))))\n",
        "(set-logic QF_LRA)\n(assert (>= X_1 (- 4)))\n(assert (or (and (<= X_0 0) (>= X_0 (- 1)) (= X_1 0.125))\n"
        "(and (= X_0 (/ 1 2)) (<= X_1 0) (>= (+ X_1 (* 2.0 X_0)) 0))))\n"
        "(assert (<= (- Y_0 (* 3 Y_1)) 0.5))\n(check-sat)\n",
    )
]


def mutate_property(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or words and lists."""
    data = rng.choice(seeds)
    if rng.random() < 0.3:
        return mutate_bytes(rng, data, seeds)
    words = data.decode().replace("(", " ( ").replace(")", " ) ").split(" ")
    others = ["(", ")", "and", "or", "<=", ">=", "=", "not", "<", "X_0", "Y_1", "X_9999999", "Y_-1", "1e400", "1e-9999"]
    others += ["9" * 500, "nan", "0x1", "1/2", "\x1b[2J", ";", "|X_0|", "\n", "(" * 300, "(or X_0 (and" * 40]
    for _ in range(rng.choice([1, 1, 2, 4])):
        i = rng.randrange(len(words))
        action = rng.randrange(3)
        if action == 0:
            words[i] = rng.choice(others)
        elif action == 1:
            j = rng.randrange(i, min(len(words), i + 30))
            words[i:i] = words[i:j] * rng.choice([1, 2, 20])
        else:
            del words[i : i + rng.choice([1, 3])]
        words = words or [""]
    return " ".join(words).encode()


def check_property(path: Path) -> str:
    from dtsemnet.tree import Topology, Tree
    from dtsemnet.verify.vnnlib import answer_vnnlib, read_vnnlib

    tree = Tree(Topology.complete(1), [[1.0, -0.5]], [-0.25], [[1, 0], [0, 1]], class_names=["a", "b"])
    try:
        question = read_vnnlib(path)
        found = answer_vnnlib(tree, question, time_limit=0.5)
    except ValueError as error:
        words = str(error)
        assert "\n" not in words, words
        assert words.isprintable(), words
        return "refused"
    assert found.status != "sat" or tree.predict([found.x])[0] in ("a", "b")
    return found.status


HARNESSES = {
    "property": Harness(
        ".vnnlib", lambda: [text.encode() for text in PROPERTIES], mutate_property, check_property, grows=True
    ),
    "model file": Harness(".json", model_files, mutate_file, check_model_file, grows=True),
    "checkpoint": Harness(".npz", checkpoints, mutate_checkpoint, check_checkpoint),
    "environment": Harness(".toml", environments, mutate_lines, check_environment),
    "table": Harness(".csv", lambda: [text.encode() for text in TABLES], mutate_table, check_table),
}
"""All kinds, by name."""
