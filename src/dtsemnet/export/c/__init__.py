"""A tree as one C99 file: constant arrays, no allocation, no library but ``exp`` or ``tanh`` if an output needs it.

The code is a fixed file, ``runtime.c`` beside this module. What differs from tree to tree is
generated: the names that a caller sees, the tables, and the switches that select branches of
the runtime (:func:`generate`). :func:`assemble` puts the two together into one file.

In double the file repeats the encoder and the documented order of summation, so it answers
as the tree does, bit for bit (margin probabilities to the last digits of ``exp``), under any
optimisation that keeps to the C standard. It
forbids fused multiply-adds itself, and refuses to compile if the arithmetic would be
another one (fast-math, x87 registers, 32-bit doubles). In float it is smaller, and faster on
small machines; then rows within rounding of a split may take its other side, and the check
counts them.

Numbers are hexadecimal floats: each denotes exactly one double, so nothing depends on how a
compiler rounds decimals or on the locale of the running program. Bytes of a string beyond
plain ASCII are octal escapes, which end after three digits (a hexadecimal escape would
swallow the digits behind it).
"""

from __future__ import annotations

import functools
import logging
import math
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.export.artefact import Artefact, checked
from dtsemnet.export.c import compiler
from dtsemnet.export.c.selftest import KnownAnswers
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Column, Model, TanhScale

__all__ = [
    "KEYWORDS", "Generated", "Identifiers", "assemble", "comment", "generate", "number_literal", "string_literal",
    "to_c",
]  # fmt: skip

SPARSE_SHARE = 0.4
"""Matrices with a smaller share of non-zeros are written as lists of them; each entry then costs its index as well."""

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm bool catch class delete false friend namespace new operator private protected public template this throw true try
using virtual alignas alignof constexpr nullptr static_assert thread_local typeof
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Words of C and C++ that no identifier may be."""

_COMMENT = frozenset(" _.,;:=+()<>%-#@!$'\"")
_LONGEST = 40  # C99 distinguishes identifiers by their first 63 characters

logger = logging.getLogger("dtsemnet")

_USE = """A row is an array of {name}_COLUMNS numbers in the order of enum {name}_column.
Functions of one row return -1 if the tree refuses it: a row with an infinite number, with a missing
one if the tree knows no missing values, or with numbers so large that a sum overflows both ways.
Batches are rows one behind the other.

Compile this file as it is. To call it from another file, define {name}_PROTOTYPES and include it there.
Define DTSEMNET_FLASH (a section attribute, or __flash) to place the arrays in flash memory."""

_ARGUMENTS = {"text": "const char *text", "number": "double number"}


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
        ``NAME_predict`` (regressor); each returns -1 for a row that the tree refuses. ``NAME_apply_batch``,
        ``NAME_predict_class_batch`` and ``NAME_predict_batch`` take many rows. Its first comment says how rows are
        passed. ``report`` is None if the system has no C compiler to check it with.

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
    model = Model.of(tree)
    source = _head(model, name) + assemble(generate(model, name, number))
    answer = functools.partial(compiler.run, model, source, name=name, number=number)
    exact = number == "double"
    artefact = Artefact(f"C ({number})", source, exact, answer, 2.0**-53 if exact else 2.0**-24)
    if compiler.find_compiler() is None:
        logger.warning("to_c found no C compiler (cc, gcc, clang or $CC), so the file is not checked.")
        return artefact
    return checked(model, artefact, X)


@dataclass(frozen=True)
class Generated:
    """What belongs to one tree in an exported file."""

    name: str
    number: str
    switches: dict[str, bool]
    """Branches of the runtime, by the name of the switch."""
    parts: dict[str, str]
    """Generated text, by the include of the runtime that it replaces."""


def generate(model: Model, name: str, number: str) -> Generated:
    """Write what differs from tree to tree."""
    writer = _Writer(model, name, number)
    parts = {"names.h": writer.names(), "tables.h": writer.tables(), "lookups.h": writer.lookups()}
    return Generated(name, number, writer.switches, parts)


def assemble(generated: Generated) -> str:
    """Put the runtime and the generated parts together into one file.

    Branches are selected as a C preprocessor would; whole identifiers are renamed, so no name can break a word.
    """
    names = {"tree_": f"{generated.name}_", "real": generated.number}
    text = []
    branches: list[bool | None] = []  # for each open #if: whether its branch is kept; None if the compiler decides
    for line in _runtime():
        switch = re.fullmatch(r"#if (?P<negated>!?)(?P<name>TREE_\w+)", line)
        part = re.fullmatch(r"#include \"(?P<name>.+)\"", line)
        if switch:
            branches.append(generated.switches[switch["name"]] != bool(switch["negated"]))
            continue
        if line.startswith("#if"):
            branches.append(None)
        elif line in ("#else", "#endif"):
            kept = branches.pop()
            if line == "#else":
                branches.append(None if kept is None else not kept)
            if kept is not None:
                continue
        if False not in branches:
            renamed = re.sub(r"\btree_(?=\w)|\breal\b", lambda word: names[word[0]], line)
            text.append(generated.parts[part["name"]] if part else f"{renamed}\n")
    return "".join(text)


@functools.cache
def _runtime() -> tuple[str, ...]:
    """The lines of the runtime behind its opening comment, which is for maintainers."""
    text = resources.files("dtsemnet.export.c").joinpath("runtime.c").read_text(encoding="utf-8")
    return tuple(text.split("*/\n", 1)[1].splitlines())


def _head(model: Model, name: str) -> str:
    from dtsemnet import __version__

    lines = [f"A decision tree, written by dtsemnet {__version__}.", repr(model.tree), ""]
    lines += _USE.format(name=name).splitlines()
    if any(column.missing for column in model.encoder.columns):
        lines.append("A missing number is NAN.")
    if not model.encoder.is_numeric:
        lines.append(
            "A category is passed as its number in the enum of its column, -1 for any other value, NAN if missing."
        )
    return "/*\n" + "".join(f" * {comment(line)}".rstrip() + "\n" for line in lines) + " */\n"


class _Writer:
    """Writes the names and tables of a model."""

    def __init__(self, model: Model, name: str, number: str) -> None:
        self.model, self.tree, self.columns = model, model.tree, model.encoder.columns
        self.name, self.number = name, number
        coef = self.tree.coef
        # With fewer features the other partial sums are zero. A vector holds half of them, and should hold two.
        self.lanes = min(LANES, max(4, 1 << (self.tree.n_features - 1).bit_length()))
        self.switches = {
            "TREE_FLOAT": number == "float",
            "TREE_CLASSIFIER": model.is_classifier,
            "TREE_MARGINS": model.probability is not None,
            "TREE_ENCODED": not model.encoder.is_identity or any(column.fills_missing for column in self.columns),
            "TREE_FILLED": model.encoder.is_identity and all(column.fills_missing for column in self.columns),
            "TREE_TEXTS": any(_category_kind(column) == "text" for column in self.columns),
            "TREE_NUMBERS": any(_category_kind(column) == "number" for column in self.columns),
            "TREE_SPLITS": self.tree.n_splits > 0,
            "TREE_SPARSE_SPLITS": _is_sparse(self.tree.weight),
            "TREE_LINEAR": coef is not None,
            "TREE_SPARSE_LEAVES": coef is not None and _is_sparse(coef),
            "TREE_GUARDED": coef is not None and (self.tree.lower is not None or self.tree.upper is not None),
            "TREE_SUMS": self.tree.n_splits > 0 or coef is not None,
            "TREE_DENSE": any(not _is_sparse(matrix) for matrix in self._matrices()),
            "TREE_TANH": isinstance(model.output, TanhScale),
        }
        names = Identifiers(f"{name}_class_names")
        self.column_names = [names.take(f"{name}_column_", column.name) for column in self.columns]
        self.category_names: dict[int, list[str]] = {}
        self.lookup_names: dict[int, str] = {}
        for j, column in enumerate(self.columns):
            if column.categories:
                short = self.column_names[j].removeprefix(f"{name}_column_")
                self.lookup_names[j] = names.take(f"{name}_category_", short)
                self.category_names[j] = [names.take(f"{self.lookup_names[j]}_", value) for value in column.categories]
        self.class_names = [names.take(f"{name}_class_", label) for label in self.tree.class_names or ()]

    def _matrices(self) -> list[Floats]:
        """The rows of weights that are summed with features."""
        coef = self.tree.coef
        parts = [self.tree.weight] if self.tree.n_splits else []
        return parts if coef is None else [*parts, coef.reshape(-1, self.tree.n_features)]

    def names(self) -> str:
        """Write what a caller sees: enums of columns, categories and classes, and the lookups of categories."""
        name, tree = self.name, self.tree
        labels = [*(column.name for column in self.columns), ""]
        parts = [_enum(f"{name}_column", [*self.column_names, f"{name}_COLUMNS"], labels)]
        for j, constants in self.category_names.items():
            parts.append(_enum(None, constants, [str(value) for value in self.columns[j].categories or ()]))
            kind = _category_kind(self.columns[j])
            if kind is not None:
                parts.append(f"int {self.lookup_names[j]}({_ARGUMENTS[kind]});\n")
        if tree.class_names is not None:
            parts.append(_enum(f"{name}_class", self.class_names, [str(label) for label in tree.class_names]))
        count = "CLASSES" if tree.is_classifier else "OUTPUTS"
        return "".join([*parts, f"enum {{ {name}_LEAVES = {tree.n_leaves}, {name}_{count} = {tree.n_outputs} }};\n"])

    def lookups(self) -> str:
        """Write the functions that find the number of a category."""
        parts, start = [], {"text": 0, "number": 0}
        for j, column in enumerate(self.columns):
            kind = _category_kind(column)
            if kind is not None:
                end = start[kind] + len(column.categories or ())
                call = f"{self.name}_find_{kind}({start[kind]}, {end}, {kind})"
                parts.append(f"int {self.lookup_names[j]}({_ARGUMENTS[kind]})\n{{\n    return {call};\n}}\n\n")
                start[kind] = end
        return "".join(parts)

    def tables(self) -> str:
        """Write the arrays of the encoder, the splits and the leaves."""
        width = self.tree.n_features
        sizes = f"enum {{ {self.name}_FEATURES = {width}, {self.name}_LANES = {self.lanes} }};\n"
        parts = [sizes, *self._known_categories()]
        if self.switches["TREE_ENCODED"]:
            parts += self._encoder()
        if self.switches["TREE_SPLITS"]:
            parts += [self._integers("children", self.tree.topology.children), self._numbers("bias", self.tree.bias)]
            parts += self._matrix("weight", self.tree.weight, self.switches["TREE_SPARSE_SPLITS"])
        return "".join([*parts, *self._leaves(), *self._known_answers()])

    def _known_categories(self) -> list[str]:
        known: dict[str, list[Any]] = {"text": [], "number": []}
        for column in self.columns:
            kind = _category_kind(column)
            if kind is not None:
                known[kind] += column.categories or ()
        parts = []
        if known["text"]:
            texts = [string_literal(text) for text in known["text"]]
            parts.append(_array("const char *const", f"{self.name}_known_texts", texts))
        if known["number"]:  # doubles also in a file of floats: categories are compared exactly
            numbers = [number_literal(float(value)) for value in known["number"]]
            parts.append(_array("const DTSEMNET_FLASH double", f"{self.name}_known_numbers", numbers))
        return parts

    def _encoder(self) -> list[str]:
        columns = self.columns
        fill = [c.fill_code if c.categories is not None and c.fills_missing else c.fill for c in columns]
        parts = [self._numbers("fill", fill)]
        if self.switches["TREE_FILLED"]:
            return parts
        counts = [-1 if column.categories is None else len(column.categories) for column in columns]
        missing = [(None, "indicator", "fill").index(column.missing) for column in columns]
        parts += [self._integers("categories", counts), self._integers("missing", missing, "unsigned char")]
        for field in ("center", "scale"):
            parts.append(self._numbers(field, [getattr(column, field) for column in columns]))
        lowest, highest = zip(*(column.bounds for column in columns))
        return [*parts, self._numbers("lowest", lowest), self._numbers("highest", highest)]

    def _leaves(self) -> list[str]:
        tree, (lower, upper) = self.tree, self.tree.guard
        if tree.class_names is not None:
            labels = ",\n    ".join(string_literal(str(label)) for label in tree.class_names)
            declared = f"const char *const {self.name}_class_names[{self.name}_CLASSES] = {{\n    {labels}\n}};\n"
            return [declared, self._integers("leaf_class", tree.leaf_class), *self._probabilities()]
        if tree.coef is None:
            parts = [self._numbers("value", np.where(tree.value < lower, lower, np.minimum(tree.value, upper)))]
        else:
            coef = tree.coef.reshape(-1, tree.n_features)
            parts = [self._numbers("value", tree.value)]
            parts += self._matrix("coef", coef, self.switches["TREE_SPARSE_LEAVES"])
            if self.switches["TREE_GUARDED"]:
                parts += [self._numbers("lower", lower), self._numbers("upper", upper)]
        if isinstance(self.model.output, TanhScale):
            parts += [self._numbers("low", self.model.output.low), self._numbers("high", self.model.output.high)]
        return parts

    def _known_answers(self) -> list[str]:
        known = KnownAnswers.of(self.tree, 2.0**-24 if self.number == "float" else None)
        parts = [f"enum {{ {self.name}_TESTS = {known.n_tests} }};\n", self._numbers("test_scale", known.scale)]
        if self.switches["TREE_SUMS"]:
            parts.append(self._numbers("test_rounding", [known.rounding]))
        for field, answers in (("test_score", known.score), ("test_output", known.output)):
            if answers.size:
                parts.append(self._numbers(field, answers))
        return parts

    def _probabilities(self) -> list[str]:
        probability = self.model.probability
        if probability is None:
            return [self._numbers("value", self.tree.value)]
        unit = 2.0**-24 if self.number == "float" else 2.0**-53
        log = self._numbers("leaf_log", probability.leaf_logs(self.tree, unit))
        return [log, self._numbers("rate", [probability.rate])]

    def _matrix(self, field: str, matrix: Floats, sparse: bool) -> list[str]:
        """Write a matrix whole, or as the list of its non-zeros."""
        if not sparse:
            beyond = np.zeros(-matrix.shape[1] % self.lanes)  # which vectors read behind the last weight
            return [self._numbers(field, np.append(matrix, beyond))]
        row, feature = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(len(matrix) + 1))
        index = "unsigned short" if matrix.shape[1] < 2**16 else "long"
        parts = [self._integers(f"{field}_start", start, "long"), self._integers(f"{field}_feature", feature, index)]
        return [*parts, self._numbers(field, matrix[row, feature])]

    def _numbers(self, field: str, values: Any) -> str:
        cells = [number_literal(value, self.number) for value in np.ravel(values).tolist()]
        return _array(f"const DTSEMNET_FLASH {self.number}", f"{self.name}_{field}", cells)

    def _integers(self, field: str, values: Any, kind: str = "int") -> str:
        cells = [str(value) for value in np.ravel(values).tolist()]
        return _array(f"const DTSEMNET_FLASH {kind}", f"{self.name}_{field}", cells, 16)


def _enum(name: str | None, identifiers: list[str], labels: list[str]) -> str:
    """Write an enum; a constant whose identifier does not show its label has it in a comment."""
    lines = []
    for value, (identifier, label) in enumerate(zip(identifiers, labels)):
        end = "," if value + 1 < len(identifiers) else ""
        remark = "" if not label or identifier.endswith(f"_{label}") else f" /* {comment(label)} */"
        lines.append(f"    {identifier} = {value}{end}{remark}")
    return f"enum {name + ' ' if name else ''}{{\n" + "\n".join(lines) + "\n};\n"


def _array(kind: str, name: str, cells: list[str], per_line: int = 8) -> str:
    lines = (", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line))
    return f"static {kind} {name}[{len(cells)}] = {{\n    " + ",\n    ".join(lines) + "\n};\n"


def _category_kind(column: Column) -> Literal["text", "number"] | None:
    """How a category of the column is looked up; None if it cannot be, since no C type holds both."""
    texts = {isinstance(value, str) for value in column.categories or ()}
    return None if len(texts) != 1 else "text" if True in texts else "number"


def _is_sparse(matrix: Floats) -> bool:
    return bool(matrix.any() and np.count_nonzero(matrix) < SPARSE_SHARE * matrix.size)


class Identifiers:
    """Hands out identifiers that differ from each other: the plain letters of a name behind a prefix.

    Examples
    --------
    >>> names = Identifiers()
    >>> names.take("tree_column_", "a b"), names.take("tree_column_", "a-b"), names.take("tree_column_", "größe")
    ('tree_column_a_b', 'tree_column_a_b_2', 'tree_column_gr_e')
    """

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def take(self, prefix: str, name: Any) -> str:
        """Make an identifier of a name."""
        plain = re.sub(r"[^A-Za-z0-9]+", "_", str(name)).strip("_")[:_LONGEST] or "empty"
        identifier, count = prefix + plain, 1
        while identifier in self._taken:
            count += 1
            identifier = f"{prefix}{plain}_{count}"
        self._taken.add(identifier)
        return identifier


def check_name(name: str) -> None:
    """Refuse a prefix that is no C identifier, or one that C reserves."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name must be a C identifier such as 'tree', got {name!r}; use letters, digits and _, a letter first."
        )
    if name in KEYWORDS:
        raise ValueError(f"name must be a C identifier, but {name!r} is a keyword of C or C++; use {name + '_tree'!r}.")


def number_literal(value: float, kind: str = "double") -> str:
    """Write a number so that it is read back exactly, rounded to a float first if ``kind`` is "float".

    Examples
    --------
    >>> number_literal(41.0), number_literal(0.1), number_literal(0.1, "float"), number_literal(-math.inf)
    ('41.0', '0x1.999999999999ap-4', '0x1.99999ap-4f', '-HUGE_VAL')
    """
    suffix = "f" if kind == "float" else ""
    if math.isinf(value):
        return f"{'-' * (value < 0)}HUGE_VAL{suffix.upper()}"
    if kind == "float":
        if abs(value) > float(np.finfo(np.float32).max):
            raise ValueError(f"number='float' cannot hold {value!r}, which is in this tree; use number='double'.")
        value = float(np.float32(value))
    if value == round(value) and abs(value) < 1e6:
        return repr(value) + suffix
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0')}p{exponent}{suffix}"


def string_literal(text: str) -> str:
    r"""Write a string literal.

    Examples
    --------
    >>> print(string_literal('say "µ"??/'))
    "say \042\302\265\042\077\077/"
    """
    if "\0" in text:
        raise ValueError(f"a C string ends at its first NUL character, so {text!r} cannot be written; rename it.")
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


def comment(text: str) -> str:
    """Make text that cannot end a comment, continue a line or turn the reading direction.

    Examples
    --------
    >>> comment("km/h */ #include <größe>")
    'km_h __ #include <größe>'
    """
    return "".join(letter if letter.isalnum() or letter in _COMMENT else "_" for letter in text)
