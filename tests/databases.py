"""The databases in which tests run exported SQL, beside sqlite: duckdb, and a private PostgreSQL server.

The server runs in a temporary folder, on a socket, without a network. PostgreSQL refuses to run as
root, so root starts it as the user ``postgres``, whom the Debian package makes.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from dtsemnet.export import Artefact, Predictions
from dtsemnet.tree import Model

__all__ = [
    "OUTPUTS", "PostgresServer", "find_postgres", "frame_of", "in_duckdb", "run_in_duckdb", "run_in_postgres",
    "running_postgres",
]  # fmt: skip

OUTPUTS = ("predict", "leaf", "proba")


def frame_of(model: Model, rows: Any) -> pd.DataFrame:
    """Make a table with a type for each column; missing values are NULL."""
    data = {}
    for j, column in enumerate(model.encoder.columns):
        data[column.name] = pd.array(rows[:, j].tolist(), dtype="string" if _holds_text(column) else "Float64")
    return pd.DataFrame(data)


def in_duckdb(frame: pd.DataFrame, expression: str, types: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """Select an expression from a table in duckdb, whose columns may be cast to other types."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("given", frame.assign(**{"row number": np.arange(len(frame))}))
        if types is not None:
            quoted = [f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in zip(frame.columns, types)]
            connection.execute(f'CREATE TABLE typed AS SELECT {", ".join(quoted)}, "row number" FROM given')
        source = "given" if types is None else "typed"
        return connection.execute(f'SELECT {expression} FROM {source} ORDER BY "row number"').fetchall()


def run_in_duckdb(model: Model, artefact: Artefact, output: str) -> Artefact:
    """Let duckdb answer in place of sqlite."""
    return replace(artefact, answer=lambda rows: _read(model, output, in_duckdb(frame_of(model, rows), artefact.text)))


def run_in_postgres(server: PostgresServer, model: Model, artefact: Artefact, output: str) -> Artefact:
    """Let PostgreSQL answer in place of sqlite."""
    names = [column.name for column in model.encoder.columns]
    types = ["text" if _holds_text(column) else "double precision" for column in model.encoder.columns]

    def answer(rows: Any) -> Predictions:
        return _read(model, output, server.select(artefact.text, names, types, rows.tolist(), "given"))

    return replace(artefact, answer=answer)


def _holds_text(column: Any) -> bool:
    return column.categories is not None and isinstance(column.categories[0], str)


def _read(model: Model, output: str, values: Sequence[Sequence[Any]]) -> Predictions:
    """Read what a database answered."""
    if output == "leaf":
        return Predictions(leaf=np.array([-1 if leaf is None else int(leaf) for (leaf,) in values]))
    if output == "predict" and model.is_classifier:
        return Predictions(label=np.array([label for (label,) in values], dtype=object))
    return Predictions(output=np.array(values, dtype=np.float64).reshape(len(values), -1))


def find_postgres() -> Path | None:
    """Find the folder of the newest installed server, which Debian keeps off the search path; None if there is none."""
    on_path = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return installed[-1].parent if installed else Path(on_path).parent if on_path else None


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server and stop it again."""
    folder = Path(tempfile.mkdtemp(prefix="dtsemnet-pg-", dir="/tmp"))  # a socket has a short path
    server = PostgresServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class PostgresServer:
    """Runs queries in a server of its own."""

    def __init__(self, folder: Path) -> None:
        programs = find_postgres()
        assert programs is not None
        self.folder, self.programs = folder, programs

    def start(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self._run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-U", "tester")
        options = f"-c listen_addresses='' -c fsync=off -c jit=off -k {self.folder}"
        self._run("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")

    def stop(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def select(
        self, expression: str, columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], table: str
    ) -> list[list[str | None]]:
        """Select an expression from a table of rows, in their order; values come back as text, NULL as None."""
        quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
        declared = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, types))
        script = [
            f"CREATE TEMP TABLE {table} (row_number_ integer, {declared});",
            f"COPY {table} FROM STDIN;",
            *("\t".join([str(i), *map(_cell, row)]) for i, row in enumerate(rows)),
            "\\.",
            f"COPY (SELECT {expression} FROM {table} ORDER BY row_number_) TO STDOUT (FORMAT csv, NULL 'null');",
        ]
        answers = self.psql("\n".join(script))
        return [[None if value == "null" else value for value in row] for row in csv.reader(io.StringIO(answers))]

    def psql(self, script: str) -> str:
        """Run a script; an error raises RuntimeError."""
        command = [self.programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "tester",
                   "-d", "postgres"]  # fmt: skip
        done = subprocess.run(command, input=script, capture_output=True, encoding="utf-8")
        if done.returncode:
            raise RuntimeError(done.stderr[:2000])
        return done.stdout

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout.decode(errors='replace')[-2000:]}")


def _cell(value: Any) -> str:
    """Write a value of a row for COPY."""
    if value is None or value != value:
        return "\\N"
    if isinstance(value, str):
        escapes = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
        return "".join(escapes.get(letter, letter) for letter in value)
    return repr(float(value)) if isinstance(value, float) else str(value)
