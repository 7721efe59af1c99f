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

enum {{ AT_ONCE = 21 }}; /* rows, so that some that walk side by side are fewer than there is room for */

int main(int n_arguments, char **path)
{{
    static {number} rows[AT_ONCE * {n_columns}];
    static struct {{ int leaf, number; {number} out[{n_outputs}]; }} alone, beside;
    static int leaf[AT_ONCE], number[AT_ONCE];
    {space}
    FILE *from = fopen(path[n_arguments - 2], "rb"), *to = fopen(path[n_arguments - 1], "wb");
    long n_rows, i, k, refused;
    if ({name}_selftest()) {{
        fputs("the self-test fails: options of the compiler change the arithmetic of the tree\\n", stderr);
        return 1;
    }}
    if (!from || !to)
        return 1;
    while ((n_rows = (long)fread(rows, {n_columns} * sizeof *rows, AT_ONCE, from)) > 0) {{
        refused = {name}_apply_batch(rows, n_rows, leaf) + {batch};
        for (i = 0; i < n_rows; ++i) {{
            const {number} *const row = rows + i * {n_columns};
            alone.leaf = {name}_apply(row);
            alone.number = {prediction};
            beside.leaf = leaf[i];
            beside.number = number[i];
            refused -= (leaf[i] < 0) + (number[i] < 0);
            for (k = 0; k < {n_outputs}; ++k)
                beside.out[k] = {output};
            if (fwrite(&alone, sizeof alone, 1, to) != 1 || fwrite(&beside, sizeof beside, 1, to) != 1)
                return 1;
        }}
        if (refused) {{
            fputs("a batch miscounts the rows that it refuses\\n", stderr);
            return 1;
        }}
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
    n_columns, n_outputs = model.encoder.n_columns, model.tree.n_outputs
    calls = {
        "space": f"static {number} out[AT_ONCE * {n_outputs}];",
        "prediction": f"{name}_predict(row, alone.out)",
        "batch": f"{name}_predict_batch(rows, n_rows, number, out)",
        "output": f"out[i * {n_outputs} + k]",
    }
    if model.is_classifier:  # probabilities are computed row by row
        calls = {
            "space": "",
            "prediction": f"({name}_predict_proba(row, alone.out), {name}_predict_class(row))",
            "batch": f"{name}_predict_class_batch(rows, n_rows, number)",
            "output": "alone.out[k]",
        }
    main = _MAIN.format(name=name, number=number, n_columns=n_columns, n_outputs=n_outputs, **calls)
    real = np.dtype(np.float64 if number == "double" else np.float32)
    with tempfile.TemporaryDirectory(prefix="dtsemnet-") as folder:
        code, program, given, answers = (Path(folder) / part for part in ("tree.c", "tree.out", "rows", "answers"))
        code.write_text(source + main, encoding="utf-8")
        _call([*compiler, *flags, str(code), "-o", str(program), "-lm"])
        given.write_bytes(_rounded(encode_categories(model, rows), real).tobytes())
        _call([str(program), str(given), str(answers)])
        record = np.dtype([("leaf", np.intc), ("number", np.intc), ("out", real, (n_outputs,))], align=True)
        alone, beside = np.frombuffer(answers.read_bytes(), dtype=record).reshape(-1, 2).T
    _compare(alone, beside, exact=number == "double")
    leaf, output = beside["leaf"].astype(np.int64), beside["out"].astype(np.float64)
    if model.class_names is None:
        return Predictions(leaf, output)
    names = (*model.class_names, None)  # the class of a row that is refused is -1
    return Predictions(leaf, output, np.array([names[k] for k in beside["number"]], dtype=object))


def _compare(alone: Array, beside: Array, *, exact: bool) -> None:
    """Check that rows side by side are answered as each alone is; in floats they may be rounded otherwise."""
    refused = beside["number"] < 0  # their output means nothing
    same = (alone["out"] == beside["out"]) | np.isnan(alone["out"]) & np.isnan(beside["out"]) | refused[:, None]
    wrong = (alone["leaf"] != beside["leaf"]) | (alone["number"] != beside["number"]) | ~same.all(axis=1)
    if exact and wrong.any():
        raise RuntimeError(f"a batch answers row {int(np.argmax(wrong))} otherwise than a call for that row alone.")


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
