"""A tree as one C99 file: constant arrays, no allocation, no library but ``tanh`` where an output needs it.

In double the file repeats the encoder and the documented order of summation, so it answers
as the tree does, bit for bit, under any optimisation that keeps to the C standard. It
forbids fused multiply-adds itself, and refuses to compile where the arithmetic would be
another one (fast-math, x87 registers, 32-bit doubles). In float it is smaller and faster on
small machines; then rows within rounding of a split may take its other side, and the check
counts them.
"""

from __future__ import annotations

import logging
from typing import Any

from dtsemnet.arrays import Array
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.c import compiler
from dtsemnet.export.c.literals import Identifiers, check_name, comment
from dtsemnet.export.c.parts import Style, encoder, lookups, outputs, routing
from dtsemnet.export.check import checked
from dtsemnet.tree import Model, as_model

__all__ = ["to_c"]

logger = logging.getLogger("dtsemnet")

_USE = """A row is an array of NAME_COLUMNS numbers in the order of enum NAME_column.
Every function gives -1 for a row that the tree refuses: an infinite number, a missing one where
the tree knows no missing values, or one so large that a sum overflows both ways.

Compile this file as it is. To call it from another file, define NAME_PROTOTYPES and include it there.
Define DTSEMNET_FLASH (a section attribute, or __flash) to place the arrays in flash memory."""

_OPEN = """#ifndef NAME_H
#define NAME_H
#ifdef __cplusplus
extern "C" {
#endif

"""

_NUMBER_FACE = """int NAME_apply(const REAL *row);              /* number of the leaf, from left to right */
int NAME_predict(const REAL *row, REAL *out); /* writes NAME_OUTPUTS numbers; gives the leaf */
"""

_CLASS_FACE = """extern const char *const NAME_class_names[NAME_CLASSES];
int NAME_apply(const REAL *row);                    /* number of the leaf, from left to right */
int NAME_predict_class(const REAL *row);            /* number of the class, enum NAME_class */
int NAME_predict_proba(const REAL *row, REAL *out); /* writes NAME_CLASSES numbers; gives the leaf */
"""

_BODY = """
#ifdef __cplusplus
}
#endif
#endif

#ifndef NAME_PROTOTYPES
#include <float.h>
#include <math.h>

#ifndef DTSEMNET_FLASH
#define DTSEMNET_FLASH
#endif
"""

_FAST = """
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "fast-math computes another function than the tree; compile this file without it"
#endif
"""

_EXACT = """
#if DBL_MANT_DIG != 53
#error "double is not a 64-bit IEEE number here; export with number='float'"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "sums are kept in wider registers here; compile with -msse2 -mfpmath=sse"
#endif
/* A product and a sum are two roundings, never fused into one. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#define DTSEMNET_POP_OPTIONS
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""

_ARITHMETIC = {"double": _FAST + _EXACT, "float": _FAST}

_CLOSE = """
#ifdef DTSEMNET_POP_OPTIONS
#pragma GCC pop_options
#undef DTSEMNET_POP_OPTIONS
#endif
#endif
"""


def to_c(tree: Any, X: Any = None, *, name: str = "tree", number: str = "double") -> Artefact:
    """Write a tree as a C99 file.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which the compiled file is compared with the tree, beside the probes of :func:`check_export`.
    name : str, default="tree"
        Start of every identifier, so that several trees fit into one program.
    number : {"double", "float"}, default="double"
        Type of all numbers. Doubles agree bit for bit. Floats take half the room; rows within rounding of a split
        may differ, and ``report.n_near`` counts them.

    Returns
    -------
    Artefact
        A file with ``NAME_apply`` (leaf), ``NAME_predict_class`` and ``NAME_predict_proba`` (classifier) or
        ``NAME_predict`` (regressor); each gives -1 for a row that the tree refuses. Its first comment says how rows
        are passed. ``report`` is None where the system has no C compiler to check it with.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> artefact = to_c(tree, name="side")
    >>> "int side_predict_class(const double *row);" in artefact.text
    True
    """
    check_name(name)
    if number not in ("double", "float"):
        raise ValueError(f"number must be 'double' or 'float', got {number!r}.")
    model = as_model(tree)
    source = _write(model, Style(name, number))

    def answer(rows: Array) -> Answer:
        return compiler.run(model, source, rows, name=name, number=number)

    exact = number == "double"
    artefact = Artefact(f"C ({number})", source, exact, answer, 2.0**-53 if exact else 2.0**-24)
    if compiler.find_compiler() is None:
        logger.warning("to_c found no C compiler (cc, gcc, clang or $CC), so the file is not checked.")
        return artefact
    return checked(model, artefact, X)


def _write(model: Model, style: Style) -> str:
    face, functions = _face(model, style)
    parts = [_head(model, style), style.fill(_OPEN), face, style.fill(_BODY), style.fill(_ARITHMETIC[style.real])]
    parts += [lookups(model, style, functions), encoder(model, style), routing(model, style), outputs(model, style)]
    return "".join([*parts, _CLOSE])


def _head(model: Model, style: Style) -> str:
    from dtsemnet import __version__

    lines = [f"A decision tree, written by dtsemnet {__version__}.", repr(model.tree), ""]
    lines += style.fill(_USE).splitlines()
    columns = model.encoder.columns
    if any(column.missing for column in columns):
        lines.append("A missing number is NAN.")
    if any(column.categories for column in columns):
        lines.append(
            "A category is passed as its place in the enum of its column, -1 for any other value, NAN if missing."
        )
    return "/*\n" + "".join(f" * {comment(line)}".rstrip() + "\n" for line in lines) + " */\n"


def _face(model: Model, style: Style) -> tuple[str, dict[int, str]]:
    """Write what a caller sees: enums and prototypes; and name the functions that look up categories."""
    tree, columns, prefix = model.tree, model.encoder.columns, style.name
    lines: list[str] = []
    functions: dict[int, str] = {}
    names = Identifiers(f"{prefix}_class_names")
    places = [names.take(f"{prefix}_column_", column.name) for column in columns]
    lines.append(_enum(f"{prefix}_column", [*places, f"{prefix}_COLUMNS"], [*(c.name for c in columns), ""]))
    for place, column in enumerate(columns):
        if column.categories is None:
            continue
        short = places[place].removeprefix(f"{prefix}_column_")
        function = names.take(f"{prefix}_category_", short)
        values = [names.take(f"{function}_", value) for value in column.categories]
        lines.append(_enum(None, values, [str(value) for value in column.categories]))
        types = {isinstance(value, str) for value in column.categories}
        if len(types) == 1:  # no C type holds text and numbers
            functions[place] = function
            lines.append(f"int {functions[place]}({'const char *text' if True in types else 'double value'});\n")
    if tree.class_names is None:
        count = "OUTPUTS"
    else:
        count = "CLASSES"
        classes = [names.take(f"{prefix}_class_", value) for value in tree.class_names]
        lines.append(_enum(f"{prefix}_class", classes, [str(value) for value in tree.class_names]))
    lines.append(f"enum {{ {prefix}_LEAVES = {tree.n_leaves}, {prefix}_{count} = {tree.n_outputs} }};\n\n")
    return "".join(lines) + style.fill(_CLASS_FACE if tree.is_classifier else _NUMBER_FACE), functions


def _enum(name: str | None, identifiers: list[str], remarks: list[str]) -> str:
    """Write an enum, each constant with the name that it stands for where that differs."""
    cells = []
    for place, (identifier, remark) in enumerate(zip(identifiers, remarks)):
        end = "," if place + 1 < len(identifiers) else ""
        told = "" if not remark or identifier.endswith(f"_{remark}") else f" /* {comment(remark)} */"
        cells.append(f"    {identifier} = {place}{end}{told}")
    return f"enum {name + ' ' if name else ''}{{\n" + "\n".join(cells) + "\n};\n"
