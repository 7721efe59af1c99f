"""Write the kernels as C: ``python compiling/generate.py`` after any change of a kernel.

The result, ``src/dtsemnet/kernels/native.c``, is kept with the sources, so that building a wheel needs a compiler of C
and nothing else. A test compares it with what this program writes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from translate import Array, Program, Record, Scalar, Type

from dtsemnet.kernels import epochs, logits, optimizer, regression, routing, rows
from dtsemnet.kernels._numba import FORMATS
from dtsemnet.kernels.classification import ClassLoss, classification_loss
from dtsemnet.kernels.native import STAMPED, source_stamp

HERE = Path(__file__).parent
TARGET = HERE.parent / "src/dtsemnet/kernels/native.c"

I8, F8 = Scalar("i8"), Scalar("f8")
CLASS_LOSS = Record(ClassLoss, (I8, F8, F8))
REGRESSION_LOSS = Record(regression.RegressionLoss, (I8, I8, F8, I8, F8))
RATES = Record(epochs.Rates, (F8,) * 5)
CHILDREN, CODES, FLAGS = Array("i8", 2), Array("i8", 1), Array("i1", 2)
VECTOR, MATRIX = Array("f8", 1), Array("f8", 2)


def entries() -> list[tuple[Any, list[tuple[Type, ...]]]]:
    """The kernels that Python calls, each with the types that it is called with."""
    both = [Array("f4", 2), Array("f8", 2)]
    row = {real: Array(real.code, 1) for real in both}
    moments = {real: Record(optimizer.Moments, (real,) * 3) for real in both}
    of_classes = {real: Record(rows.Rows, (real, CODES, row[real])) for real in both}
    of_numbers = {real: Record(rows.Rows, (real, real, row[real])) for real in both}
    return [
        (routing.apply, [(X, VECTOR, VECTOR, CODES, CODES) for X in both]),
        (routing.decision_path, [(X, VECTOR, VECTOR, CODES, CHILDREN) for X in both]),
        (routing.scores, [(X, VECTOR, VECTOR, MATRIX) for X in both]),
        (routing.linear, [(X, CODES, VECTOR, MATRIX, MATRIX, MATRIX, MATRIX) for X in both]),
        (routing.first_non_finite, [(X,) for X in both]),
        (logits.class_margins, [(MATRIX, CHILDREN, CODES, I8)]),
        (logits.choices, [(MATRIX, CHILDREN, I8)]),
        (logits.reached, [(X, X, CHILDREN) for X in both]),
        (logits.walk, [(X, CHILDREN, CODES) for X in both]),
        (rows.mix_rows, [(Array("u8", 2), Array("u8", 1))]),
        (optimizer.hold, [(X, FLAGS) for X in both]),
        (regression.losses_of, [(X, X, I8, F8) for X in both]),
        (classification_loss, [(of_classes[X], CHILDREN, CODES, X, CLASS_LOSS) for X in both]),
        (regression.regression_loss, [(of_numbers[X], CHILDREN, X, X, REGRESSION_LOSS) for X in both]),
        (epochs.classification_epoch, [
            (of_classes[X], CODES, I8, CHILDREN, CODES, moments[X], FLAGS, I8, CLASS_LOSS, RATES) for X in both
        ]),
        (epochs.regression_epoch, [
            (of_numbers[X], CODES, I8, CHILDREN, moments[X], moments[X], FLAGS, FLAGS, I8, REGRESSION_LOSS, RATES)
            for X in both
        ]),
    ]  # fmt: skip


def constants() -> str:
    """The numbers of exp and log, as numba's kernels have them."""
    lines = []
    for form in FORMATS.values():
        real, code = ("float", "f4") if form.dtype is np.float32 else ("double", "f8")
        for name, terms in (("EXP", form.exp_terms), ("LOG", form.log_terms)):
            lines.append(f"static const {real} {name}_{code}[] = {{{', '.join(map(_hex, terms))}}};")
        numbers = [
            form.magic, form.ln2_high, form.ln2_low, form.dtype(1 / math.log(2)), form.smallest,
            form.dtype(math.sqrt(0.5)),
        ]  # fmt: skip
        words = [code, real, *(("int32_t", "uint32_t") if code == "f4" else ("int64_t", "uint64_t"))]
        words += [str(form.fraction), str(form.bias), *(f"({real}){_hex(number)}" for number in numbers)]
        lines.append(f"TRANSCENDENTAL({', '.join(words)})")
    return "\n".join(lines)


def _hex(number: Any) -> str:
    return float(number).hex()


def leaves(kind: Type, code: str) -> list[tuple[Type, str]]:
    if not isinstance(kind, Record):
        return [(kind, code)]
    return [leaf for name, part in zip(kind.fields, kind.types) for leaf in leaves(part, f"{code}.{name}")]


def caller(program: Program, kernel: Any, types: tuple[Type, ...], number: int) -> tuple[str, str]:
    """A function that hands read arguments to one overload, and the line that lists it."""
    name, result, _ = program.function(kernel, types)
    letters = {"f4": "f", "f8": "d", "i1": "b", "i4": "i", "i8": "q", "u8": "Q", "b1": "?"}
    flat, described = 0, ""

    def build(kind: Type) -> str:
        nonlocal flat, described
        if isinstance(kind, Record):
            return f"({program.declare(kind)}){{{', '.join(build(part) for part in kind.types)}}}"
        source = f"given[{flat}]"
        flat += 1
        described += f"{kind.n_dims if isinstance(kind, Array) else 0}{letters[kind.code]}"
        if isinstance(kind, Scalar):
            return f"{source}.real" if kind.code == "f8" else f"{source}.whole"
        lengths = ", ".join(f"{source}.n{k}" for k in range(kind.n_dims))
        return f"({program.declare(kind)}){{{source}.p, {lengths}}}"

    arguments = ", ".join(["memory", *(build(kind) for kind in types)])
    lines = [f"static void call_{number}(stack *memory, const argument *given, answer *out) {{"]
    n_answers = 0
    if result is None:
        lines += ["    (void)out;", f"    {name}({arguments});"]
    else:
        lines.append(f"    {program.declare(result)} found = {name}({arguments});")
        for k, (kind, code) in enumerate(leaves(result, "found")):
            if isinstance(kind, Array):
                lengths = [f"{code}.n{d}" for d in range(kind.n_dims)]
                lines.append(f"    out[{k}].p = {code}.p;")
                lines += [f"    out[{k}].n{d} = {length};" for d, length in enumerate(lengths)]
                lines.append(f"    out[{k}].n_dims = {kind.n_dims};")
            else:
                lines.append(f"    out[{k}].{'real' if kind.code[0] == 'f' else 'whole'} = {code};")
                lines.append(f"    out[{k}].n_dims = 0;")
            letter = letters[kind.code] if isinstance(kind, Array) else ("d" if kind.code[0] == "f" else "q")
            lines.append(f"    out[{k}].code = '{letter}';")
            n_answers = k + 1
    text = "\n".join([*lines, "}", ""])
    source = getattr(kernel, "py_func", kernel)
    qualified = f"{source.__module__}.{source.__name__}"
    uses_blas = int("product_" in _reached(program, name))
    return text, f'    {{"{qualified}", "{described}", call_{number}, {n_answers}, {uses_blas}}},'


def _reached(program: Program, name: str) -> str:
    """The text of a function and of all that it calls."""
    text_of = {body.split("(")[0].split()[-1]: body for body in program.bodies}
    pending, done = [name], set[str]()
    while pending:
        at = pending.pop()
        if at not in done:
            done.add(at)
            pending += [other for other in text_of if f" {other}(memory" in text_of[at]]
    return "".join(text_of[at] for at in done)


def generate() -> str:
    program = Program()
    callers, table, first = [], [], [0]
    for kernel, overloads in entries():
        for types in overloads:
            text, line = caller(program, kernel, types, len(table))
            callers.append(text)
            table.append(line)
        first.append(len(table))
    known = {Path(file).resolve() for file in program.files}
    stamped = {(TARGET.parent / name).resolve() for name in STAMPED}
    assert known <= stamped, f"kernels.native.STAMPED lacks {known - stamped}"
    runtime, module = ((HERE / name).read_text("utf-8") for name in ("runtime.h", "module.h"))
    cut = runtime.index("/* The dot product")
    parts = [
        "/* Written by compiling/generate.py from the kernels in Python; change those, then run it again. */",
        f'#define STAMP "{source_stamp()}"',
        runtime[:cut] + constants() + "\n",
        runtime[cut:],
        "/* The kernels. */\n",
        *program.types.values(),
        "",
        *program.heads,
        "",
        *program.bodies,
        *callers,
        "static const overload OVERLOADS[] = {",
        *table,
        "};",
        f"#define N_KERNELS {len(first) - 1}",
        f"static const int FIRST[] = {{{', '.join(map(str, first))}}};",
        module,
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(generate(), "utf-8")
