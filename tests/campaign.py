"""Compares exports with trees on millions of rows, C under sanitizers: ``make sanitize``.

Each round draws one model of every kind and sends probe rows (random rows, rows on and beside every
hyperplane, extreme values, missing values, unknown categories) through the exports that promise every bit.
The C file is compiled anew for each model, by gcc and clang in turn, at -O0 to -O3, with the address and
undefined-behaviour sanitizers, which end the program at the first fault. A difference or a fault is printed,
and the exit code is then 1.

    python tests/campaign.py --minutes 10
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from databases import OUTPUTS, PostgresServer, find_postgres, run_in_duckdb, run_in_postgres, running_postgres
from dtsemnet.export import Artefact, ExportError, check_export, to_c, to_json, to_numpy_function, to_python, to_sql
from dtsemnet.export.c import compiler
from dtsemnet.tree import Model, Topology, Tree
from strategies import MODELS, make_model

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")
LEVELS = ("-O0", "-O1", "-O2", "-O3")
ROWS = {"C, plain": 60_000, "C, sanitized": 60_000, "numpy": 60_000, "JSON": 60_000, "duckdb": 10_000, "sqlite": 10_000,
        "PostgreSQL": 6_000, "Python": 4_000}  # fmt: skip
"""Probe rows for each model: as many as each export answers in about the same time."""


@contextlib.contextmanager
def compiled_by(command: str) -> Iterator[None]:
    """Make the exporter compile with this command."""
    before = os.environ.get("CC")
    os.environ["CC"] = command
    try:
        yield
    finally:
        os.environ.pop("CC")
        if before is not None:
            os.environ["CC"] = before


def sanitized(model: Model, artefact: Artefact, command: str, level: str, number: str = "double") -> Artefact:
    """Let a program compiled with sanitizers answer."""

    def answer(rows):
        with compiled_by(command):
            return compiler.run(model, artefact.text, rows, name="tree", number=number, flags=(level, *SANITIZERS))

    return replace(artefact, answer=answer)


def models(seed: int) -> Iterator[tuple[str, Model]]:
    """One model of every kind; among them trees whose numbers span 1e-150 to 1e150, sparse trees and chains."""
    for kind in MODELS:
        yield kind, make_model(kind, seed)
    rng = np.random.default_rng(seed)
    n_splits, width = int(rng.integers(1, 12)), int(rng.integers(1, 40))
    chain = Topology([[~k, k + 1] for k in range(n_splits - 1)] + [[~(n_splits - 1), ~n_splits]])

    def numbers(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) * 10.0 ** rng.uniform(-150, 150, shape)

    wild = Tree(chain, numbers(n_splits, width), numbers(n_splits), numbers(n_splits + 1, 1),
                numbers(n_splits + 1, 1, width))  # fmt: skip
    yield "wild", Model.of(wild)
    weight = rng.normal(size=(15, 60)) * (rng.random((15, 60)) < 0.1)
    yield "sparse", Model.of(Tree(Topology.complete(4), weight, rng.normal(size=15), rng.normal(size=(16, 2))))


class Campaign:
    """Counts rows, and what went wrong."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.failures: list[str] = []

    def compare(self, model: Model, artefacts: Iterator[tuple[str, Artefact]], seed: int) -> None:
        """Send rows through the exports of one model, up to the first that fails."""
        name = "the first"
        try:
            for name, artefact in artefacts:
                self.rows[name] += check_export(model, artefact, n_rows=ROWS[name], random_state=seed).n_rows
                self.models[name] += 1
        except (ExportError, RuntimeError) as error:
            self.failures.append(f"{name}, or the export behind it, seed {seed}, {model}: {error}")

    def summary(self) -> str:
        lines = [f"{name:14} {self.models[name]:6,} models {self.rows[name]:12,} rows" for name in ROWS]
        lines.append(f"{'in all':14} {sum(self.models.values()):6,} models {sum(self.rows.values()):12,} rows")
        return "\n".join([*lines, f"{len(self.failures)} differences or faults", *self.failures[:20]])


def exports(
    model: Model, seed: int, way: tuple[str, str], server: PostgresServer | None
) -> Iterator[tuple[str, Artefact]]:
    """Make the exports of a model, one after the other; ``way`` is a compiler and a level of optimisation."""
    source = to_c(model)
    yield "C, plain", source
    yield "C, sanitized", sanitized(model, source, *way)
    yield "numpy", to_numpy_function(model)
    yield "JSON", to_json(model)
    yield "Python", to_python(model)
    outputs = OUTPUTS if model.is_classifier else OUTPUTS[:2]
    output = outputs[seed % len(outputs)]
    sql = to_sql(model, output=output)
    yield "sqlite", sql
    yield "duckdb", run_in_duckdb(model, sql, output)
    if server is not None:
        sql = to_sql(model, output=output, dialect="postgresql")
        yield "PostgreSQL", run_in_postgres(server, model, sql, output)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="when to stop, at the end of a model")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of models and rows")
    options = parser.parse_args()
    campaign, end = Campaign(), time.monotonic() + 60 * options.minutes
    ways = itertools.cycle(itertools.product(filter(shutil.which, ("gcc", "clang")), LEVELS))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_postgres()) if find_postgres() else None
        for seed in itertools.count(options.seed):
            for kind, model in models(seed):
                if time.monotonic() > end:
                    print(campaign.summary())
                    return 1 if campaign.failures else 0
                # PostgreSQL cannot hold numbers of all magnitudes, and its dialect says so.
                campaign.compare(model, exports(model, seed, next(ways), None if kind == "wild" else server), seed)
            print(f"seed {seed}: {sum(campaign.rows.values()):,} rows", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
