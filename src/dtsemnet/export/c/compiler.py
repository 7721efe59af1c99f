"""Compiles an exported C file and sends rows through it.

The file is compiled, with a small main program behind it, by the C compiler of the system
(``$CC``, cc, gcc or clang) in a temporary folder. The program reads rows from one file and
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
from dtsemnet.export.artefact import Predictions
from dtsemnet.tree import Model
from dtsemnet.tree.encoder import is_missing

__all__ = ["FLAGS", "encode_categories", "find_compiler", "run"]

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-O1")
"""How the check compiles."""

_MAIN = """
#include <stdio.h>

int main(int n_arguments, char **path)
{{
    static {number} row[{n_columns}], out[{n_outputs}];
    FILE *from = fopen(path[n_arguments - 2], "rb"), *to = fopen(path[n_arguments - 1], "wb");
    if ({name}_selftest()) {{
        fputs("the self-test fails: options of the compiler change the arithmetic of the tree\\n", stderr);
        return 1;
    }}
    if (!from || !to)
        return 1;
    while (fread(row, sizeof row, 1, from) == 1) {{
        const int answer[2] = {{ {name}_apply(row), {prediction} }};
        if (fwrite(answer, sizeof answer, 1, to) != 1 || fwrite(out, sizeof out, 1, to) != 1)
            return 1;
    }}
    return fclose(to) ? 1 : 0;
}}
"""


def find_compiler() -> list[str] | None:
    """Find the C compiler of the system; None if there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for command in [chosen, ["cc"], ["gcc"], ["clang"]]:
        if command and shutil.which(command[0]):
            return command
    return None


def run(model: Model, source: str, rows: Array, *, name: str, number: str, flags: Sequence[str] = FLAGS) -> Predictions:
    """Send rows (see :func:`dtsemnet.export.probes.read_table`) through what ``to_c`` wrote by this name and number."""
    compiler = find_compiler()
    if compiler is None:
        raise RuntimeError("no C compiler was found; install gcc or clang, or name one by the variable CC.")
    prediction = f"{name}_predict(row, out)"
    if model.is_classifier:
        prediction = f"({name}_predict_proba(row, out), {name}_predict_class(row))"
    n_columns, n_outputs = model.encoder.n_columns, model.tree.n_outputs
    main = _MAIN.format(name=name, number=number, prediction=prediction, n_columns=n_columns, n_outputs=n_outputs)
    real = np.dtype(np.float64 if number == "double" else np.float32)
    with tempfile.TemporaryDirectory(prefix="dtsemnet-") as folder:
        code, program, given, answers = (Path(folder) / part for part in ("tree.c", "tree.out", "rows", "answers"))
        code.write_text(source + main, encoding="utf-8")
        _call([*compiler, *flags, str(code), "-o", str(program), "-lm"])
        given.write_bytes(_rounded(encode_categories(model, rows), real).tobytes())
        _call([str(program), str(given), str(answers)])
        record = [("leaf", np.intc), ("class", np.intc), ("out", real, (n_outputs,))]
        answer = np.frombuffer(answers.read_bytes(), dtype=record)
    leaf, output = answer["leaf"].astype(np.int64), answer["out"].astype(np.float64)
    if model.class_names is None:
        return Predictions(leaf, output)
    names = (*model.class_names, None)  # the class of a row that is refused is -1
    return Predictions(leaf, output, np.array([names[k] for k in answer["class"]], dtype=object))


def encode_categories(model: Model, rows: Array) -> Floats:
    """Turn a table into the numbers that the C functions take: a category by its number, -1 unknown, NaN missing."""
    numbers = np.empty(rows.shape)
    for j, column in enumerate(model.encoder.columns):
        values = rows[:, j]
        if column.categories is not None:
            number = {value: float(k) for k, value in enumerate(column.categories)}
            values = np.where(is_missing(values), np.nan, [number.get(value, -1.0) for value in values.tolist()])
        numbers[:, j] = values
    return numbers


def _rounded(numbers: Floats, real: np.dtype[Any]) -> Array:
    """Round to the type of the file; what is finite stays finite, as for a caller who has floats."""
    limits = np.finfo(real)
    return np.where(np.isinf(numbers), numbers, numbers.clip(limits.min, limits.max)).astype(real)


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        problem = "\n".join(done.stderr.splitlines()[:5]) or f"exit code {done.returncode}"
        raise RuntimeError(f"{Path(command[0]).name} failed on an exported tree: {problem}")
