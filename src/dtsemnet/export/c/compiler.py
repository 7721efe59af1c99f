"""Compiling an exported C file and sending rows through it.

The file is compiled, with a small main program behind it, by the C compiler of the system
(``$CC``, cc, gcc or clang) in a temporary folder. The program reads rows from a file and
writes leaves and outputs to another, so a crash there is an error here and nothing stays
loaded.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Answer
from dtsemnet.tree import Column, Model
from dtsemnet.tree.encoder import is_missing

__all__ = ["FLAGS", "find_compiler", "pass_rows", "run"]

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-O1")
"""How the check compiles."""

_MAIN = """
#include <stdio.h>

int main(int n_arguments, char **path)
{{
    static {number} row[{n_columns}], out[{n_outputs}];
    FILE *from = fopen(path[n_arguments - 2], "rb"), *to = fopen(path[n_arguments - 1], "wb");
    if (!from || !to)
        return 1;
    while (fread(row, sizeof row, 1, from) == 1) {{
        const int found[2] = {{ {name}_apply(row), {told} }};
        if (fwrite(found, sizeof found, 1, to) != 1 || fwrite(out, sizeof out, 1, to) != 1)
            return 1;
    }}
    return fclose(to) ? 1 : 0;
}}
"""


def find_compiler() -> list[str] | None:
    """Name the C compiler of the system; None where there is none."""
    asked = shlex.split(os.environ.get("CC", ""))
    for command in [asked, ["cc"], ["gcc"], ["clang"]]:
        if command and shutil.which(command[0]):
            return command
    return None


def run(model: Model, source: str, rows: Array, *, name: str, number: str, flags: Sequence[str] = FLAGS) -> Answer:
    """Send rows through the compiled file.

    Parameters
    ----------
    model : Model
    source : str
        What :func:`dtsemnet.export.to_c` wrote.
    rows : table
        As :func:`dtsemnet.export.probes.read_table` gives it.
    name, number : str
        As they were exported.
    flags : sequence of str
        For the compiler.
    """
    compiler = find_compiler()
    if compiler is None:
        raise RuntimeError("no C compiler was found; install gcc or clang, or name one by the variable CC.")
    classes, width = model.is_classifier, model.tree.n_outputs
    told = f"({name}_predict_proba(row, out), {name}_predict_class(row))" if classes else f"{name}_predict(row, out)"
    main = _MAIN.format(name=name, number=number, told=told, n_columns=model.encoder.n_columns, n_outputs=width)
    real = np.dtype(np.float64 if number == "double" else np.float32)
    with tempfile.TemporaryDirectory(prefix="dtsemnet-") as folder:
        code, program, given, found = (Path(folder) / part for part in ("tree.c", "tree.out", "rows", "found"))
        code.write_text(source + main, encoding="utf-8")
        _call([*compiler, *flags, str(code), "-o", str(program), "-lm"])
        given.write_bytes(_rounded(pass_rows(model, rows), real).tobytes())
        _call([str(program), str(given), str(found)])
        answer = np.frombuffer(
            found.read_bytes(), dtype=[("leaf", np.intc), ("told", np.intc), ("out", real, (width,))]
        )
    leaf = answer["leaf"].astype(np.int64)
    if not classes:
        return Answer(leaf, answer["out"].astype(np.float64))
    label = np.empty(len(rows), dtype=object)
    label[:] = [(*(model.class_names or ()), None)[k] for k in answer["told"]]
    return Answer(leaf, answer["out"].astype(np.float64), label)


def pass_rows(model: Model, rows: Array) -> Floats:
    """Turn a table into the numbers that the C functions take: categories by their places, -1 unknown, NaN missing."""
    passed = np.empty(rows.shape)
    for j, column in enumerate(model.encoder.columns):
        passed[:, j] = rows[:, j] if column.categories is None else _places(column, rows[:, j])
    return passed


def _places(column: Column, values: Array) -> list[float]:
    place = {value: float(k) for k, value in enumerate(column.categories or ())}
    return [np.nan if lost else place.get(value, -1.0) for value, lost in zip(values.tolist(), is_missing(values))]


def _rounded(passed: Floats, real: np.dtype[Any]) -> Array:
    """Round to the numbers of the file; what is finite stays finite, as a caller who has floats would have it."""
    ends = np.finfo(real)
    return np.where(np.isinf(passed), passed, passed.clip(ends.min, ends.max)).astype(real)


def _call(command: list[str]) -> None:
    told = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    if told.returncode:
        what = "\n".join(told.stderr.splitlines()[:5]) or f"exit code {told.returncode}"
        raise RuntimeError(f"{Path(command[0]).name} failed on an exported tree: {what}")
