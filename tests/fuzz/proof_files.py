"""VNN-LIB properties and proof files, which are written by people and programs that nobody knows."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.laws import check_message
from fuzz.mutate import mutate_bytes, mutate_document

__all__ = ["check_proof", "check_property", "mutate_proof", "mutate_property", "proofs", "properties"]

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


def properties() -> list[bytes]:
    """Properties of two inputs and two outputs."""
    return [text.encode() for text in PROPERTIES]


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
        check_message(error)
        return "refused"
    assert found.status != "sat" or tree.predict([found.x])[0] in ("a", "b")
    return found.status


def proofs() -> list[bytes]:
    """Proof files with multipliers, divided boxes, norms, categories, missing values, witnesses, and loops."""
    from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
    from dtsemnet.verify import Domain, independent, never, output_bounds, possible_classes, robustness
    from dtsemnet.verify.closed_loop import System, sin, stays_safe

    tree = Tree(
        Topology.complete(2), [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]], [0.5, -9.0, 0.25],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], class_names=["a", "b", "c"], feature_names=["x", "y"],
    )  # fmt: skip
    domain = Domain([-1, -1], [1, 1], A=[[1.0, -1.0]], b=[0.5])
    columns = [Column("n", missing="fill", fill=0.25), Column("k", categories=("u", "v"))]
    numbers = Tree(Topology.complete(1), [[1.0, 0.5, -0.5]], [-0.5], [[1.0], [2.0]], coef=[[[1.0, 0, 0]], [[0, 0, 0]]])
    brake = Tree(Topology.complete(1), [[1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["go", "stop"])
    actions, wind = {"go": 0.5, "stop": -0.5}, {"w": (-0.1, 0.1)}
    line = System(lambda x, u, w: [0.5 * x[0] + sin(x[0]) / 2 + u[0] + w[0]], ["x"], actions=actions, disturbance=wind)
    answers: list[Any] = [
        stays_safe(brake, line, {"x": (0, 1)}, {"x": (-1, 1.61)}, 3),
        stays_safe(brake, line, {"x": (0, 1)}, {"x": (-1, 1.2)}, 3),
        independent(tree, "x", domain.narrow({"y": (0.9, 1)}), by=0.01),
        never(tree, domain, "b"),
        possible_classes(tree, domain),
        robustness(tree, [0.25, 0.5], domain=Domain([-1, -1], [1, 1])),
        output_bounds(Model(Encoder(columns), numbers), Domain([0, 0], [1, 0])),
    ]
    with tempfile.TemporaryDirectory() as folder:
        return [answer.save_proof(Path(folder, "proof.json")).read_bytes() for answer in answers]


def mutate_proof(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes or structure, or make a number of a certificate long."""
    data = rng.choice(seeds)
    kind = rng.random()
    if kind < 0.25:
        return mutate_bytes(rng, data, seeds)
    if kind < 0.35:
        number = rng.choice(
            [b"9" * 4000, b"1e400", b'"1/0"', b'"-1/3"', b'"1/' + b"7" * 999 + b'"', b"[" * 5000, b"-0"]
        )
        places = [i for i, letter in enumerate(data) if letter in b"0123456789"]
        at = rng.choice(places) if places else 0
        return data[:at] + number + data[at + 1 :]
    try:
        return mutate_document(rng, data, [data])
    except (ValueError, RecursionError):  # it is no JSON any more
        return mutate_bytes(rng, data, seeds)


def check_proof(path: Path) -> str:
    """Check that the checker says yes, no or "refused", in words that command no terminal."""
    import dtsemnet_check
    import dtsemnet_check_smt

    said, problem = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(problem):
        code = dtsemnet_check.main([str(path)])
    words, refused = said.getvalue(), problem.getvalue()
    assert words.replace("\n", "").isprintable(), words
    if code == 2:
        assert refused.startswith("refused: "), refused
        assert refused.count("\n") == 1, refused
        assert refused[:-1].isprintable(), refused
        return "refused"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(problem):
        assert dtsemnet_check_smt.main([str(path), str(path.with_suffix(".smt"))]) in (0, 1, 2)
    assert words.endswith("of them not proved\n"), words
    assert (code == 0) == words.endswith(" 0 of them not proved\n"), words
    assert json.loads(path.read_bytes())["format"] in ("dtsemnet-proof", "dtsemnet-loop-proof")
    return "proved" if code == 0 else "not proved"
