"""The parts of an exported C file, each a function of the model: encoder, routing, outputs.

Templates say NAME for the prefix of the file and REAL for its type of numbers; they are
filled in before anything that a user has named comes near them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.export.c.literals import number, string, table
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Model, TanhScale

__all__ = ["SPARSE_SHARE", "Style", "encoder", "lookups", "outputs", "routing"]

SPARSE_SHARE = 0.4
"""Matrices with a smaller share of non-zeros are written as lists of them; an entry costs its place as well."""

_LOOKUP_TEXT = """
int FUNCTION(const char *text)
{
    int k, i;
    for (k = 0; k < COUNT; ++k) {
        for (i = 0; text[i] != 0 && text[i] == TABLE[k][i]; ++i)
            ;
        if (text[i] == TABLE[k][i])
            return k;
    }
    return -1;
}
"""

_LOOKUP_NUMBER = """
int FUNCTION(double value)
{
    int k;
    for (k = 0; k < COUNT; ++k)
        if (TABLE[k] == value)
            return k;
    return -1;
}
"""

_ENCODE = """
/* Turn a row into the features that the tree reads; -1 if it is refused. */
static int NAME_encode(const REAL *row, REAL *x)
{
    int c, k, j = 0;
    for (c = 0; c < NAME_COLUMNS; ++c) {
        const int missing = row[c] != row[c], categories = NAME_categories[c];
        if (categories >= 0) {
            for (k = 0; k < categories; ++k)
                x[j++] = row[c] == (REAL)k ? ONE : ZERO;
        } else {
            REAL number = missing ? NAME_fill[c] : row[c];
            if ((missing && !NAME_indicator[c]) || !(number - number == 0))
                return -1;
            number = (number - NAME_center[c]) * NAME_scale[c];
            if (number < NAME_lowest[c])
                number = NAME_lowest[c];
            if (number > NAME_highest[c])
                number = NAME_highest[c];
            if (!(number - number == 0))
                return -1;
            x[j++] = number;
        }
        if (NAME_indicator[c])
            x[j++] = missing ? ONE : ZERO;
    }
    return 0;
}
"""

_DENSE = """
/* Row of FIELD times x, plus an offset. The order is part of the tree: LANES partial sums, joined by halves. */
static REAL NAME_FUNCTION(int row, const REAL *x)
{
    REAL sum[LANES] = { ZERO };
    const long start = (long)row * WIDTH;
    int j, k;
PRODUCTS    for (j = LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + NAME_OFFSET[row];
}
"""

_FEW = """    for (k = 0; k < WIDTH; ++k)
        sum[k] += NAME_FIELD[start + k] * x[k];
"""

_MANY = """    for (j = 0; j + LANES <= WIDTH; j += LANES)
        for (k = 0; k < LANES; ++k)
            sum[k] += NAME_FIELD[start + j + k] * x[j + k];
"""

_REST = """    for (k = 0; j + k < WIDTH; ++k)
        sum[k] += NAME_FIELD[start + j + k] * x[j + k];
"""

_SPARSE = """
/* Row of FIELD times x, plus an offset. The order is part of the tree: LANES partial sums, joined by halves. */
static REAL NAME_FUNCTION(int row, const REAL *x)
{
    REAL sum[LANES] = { ZERO };
    long i;
    int j, k;
    for (i = NAME_FIELD_start[row]; i < NAME_FIELD_start[row + 1]; ++i)
        sum[NAME_FIELD_place[i] % LANES] += NAME_FIELD[i] * x[NAME_FIELD_place[i]];
    for (j = LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + NAME_OFFSET[row];
}
"""

_FINITE = """
static int NAME_finite(const REAL *x)
{
    int j;
    for (j = 0; j < WIDTH; ++j)
        if (!(x[j] - x[j] == 0))
            return 0;
    return 1;
}
"""

_LEAF = """
static int NAME_leaf(const REAL *x)
{
    int node = 0;
UPFRONT    while (node >= 0) {
        const REAL score = NAME_score(node, x);
        /* An infinite score of finite numbers routes by its sign; infinite numbers are refused. */
        if (!(score - score == 0) && (score != score || !NAME_finite(x)))
            return -1;
        node = NAME_children[2 * node + (score > 0)];
    }
    return -1 - node;
}
"""

_ONE_LEAF = """
static int NAME_leaf(const REAL *x)
{
    return NAME_finite(x) ? 0 : -1;
}
"""

_UPFRONT = """    if (!NAME_finite(x))
        return -1;
"""

_READ = {
    True: "    const REAL *x = row;\n    const int leaf = NAME_leaf(x);\n",
    False: "    REAL x[WIDTH];\n    const int leaf = NAME_encode(row, x) < 0 ? -1 : NAME_leaf(x);\n",
}

_APPLY = """
int NAME_apply(const REAL *row)
{
READ    return leaf;
}
"""

_CLASSES = """
int NAME_predict_class(const REAL *row)
{
    const int leaf = NAME_apply(row);
    return leaf < 0 ? -1 : NAME_leaf_class[leaf];
}

int NAME_predict_proba(const REAL *row, REAL *out)
{
    const int leaf = NAME_apply(row);
    int k;
    for (k = 0; leaf >= 0 && k < NAME_CLASSES; ++k)
        out[k] = NAME_value[leaf * NAME_CLASSES + k];
    return leaf;
}
"""

_NUMBERS = """
int NAME_predict(const REAL *row, REAL *out)
{
READ    int o;
    for (o = 0; leaf >= 0 && o < NAME_OUTPUTS; ++o) {
        const int k = leaf * NAME_OUTPUTS + o;
        REAL output = OUTPUT;
GUARD        out[o] = MAPPED;
    }
    return leaf;
}
"""

_GUARD = """        if (output != output)
            return -1;
        if (output < NAME_lower[k])
            output = NAME_lower[k];
        if (output > NAME_upper[k])
            output = NAME_upper[k];
"""


@dataclass(frozen=True)
class Style:
    """Prefix and type of numbers of a file."""

    name: str
    real: str

    def fill(self, template: str, **words: str) -> str:
        """Fill in a template; the words given come first, and may hold the others."""
        zeros = {"ONE": self.number(1.0), "ZERO": self.number(0.0)}
        for word, text in {**words, **zeros, "NAME": self.name, "REAL": self.real}.items():
            template = template.replace(word, text)
        return template

    def number(self, value: float) -> str:
        """Write a number of the file."""
        return number(value, self.real)

    def numbers(self, name: str, values: Floats) -> str:
        """Write an array of numbers."""
        return table(self.real, f"{self.name}_{name}", [self.number(v) for v in values.ravel().tolist()])

    def integers(self, name: str, values: Ints, kind: str = "int") -> str:
        """Write an array of integers."""
        return table(kind, f"{self.name}_{name}", [str(v) for v in values.ravel().tolist()], 16)


def lookups(model: Model, style: Style, functions: dict[int, str]) -> str:
    """Write the functions that find the place of a category, by column."""
    parts = []
    for place, function in functions.items():
        categories = model.encoder.columns[place].categories or ()
        if isinstance(categories[0], str):
            cells, kind, body = [string(str(c)) for c in categories], "char *const", _LOOKUP_TEXT
        else:
            cells, kind, body = [number(float(c)) for c in categories], "double", _LOOKUP_NUMBER
        values = f"{style.name}_categories_{place}"
        flash = "" if "char" in kind else "DTSEMNET_FLASH "
        parts.append(f"\nstatic const {flash}{kind} {values}[{len(cells)}] = {{ {', '.join(cells)} }};\n")
        parts.append(body.replace("FUNCTION", function).replace("COUNT", str(len(cells))).replace("TABLE", values))
    return "".join(parts)


def encoder(model: Model, style: Style) -> str:
    """Write the tables of the columns and the function that encodes; nothing where columns are read as they are."""
    if model.encoder.is_identity:
        return ""
    columns = model.encoder.columns

    def numbers(name: str, field: str, absent: float = 0.0) -> str:
        found = [getattr(column, field) for column in columns]
        return style.numbers(name, np.array([absent if value is None else value for value in found]))

    counts = np.array([-1 if column.categories is None else len(column.categories) for column in columns])
    marks = np.array([int(column.missing is not None) for column in columns])
    parts = [style.integers("categories", counts), style.integers("indicator", marks, "unsigned char")]
    parts += [numbers(name, name) for name in ("fill", "center", "scale")]
    parts += [numbers("lowest", "lower", -math.inf), numbers("highest", "upper", math.inf)]
    return "\n" + "".join(parts) + style.fill(_ENCODE)


def routing(model: Model, style: Style) -> str:
    """Write the splits and the function that finds the leaf."""
    tree, identity = model.tree, model.encoder.is_identity
    width = str(tree.n_features)
    parts = [style.fill(_FINITE, WIDTH=width)]
    if tree.n_splits:
        sparse = _is_sparse(tree.weight)
        parts.append(_sums(style, "score", "weight", tree.weight, "bias", tree.bias))
        parts.append("\n" + style.integers("children", tree.topology.children))
        # A sum over all columns is not finite where one of them is not; one that leaves columns out may be.
        parts.append(style.fill(_LEAF, UPFRONT=_UPFRONT if sparse and identity else ""))
    else:
        parts.append(style.fill(_ONE_LEAF))
    return "".join([*parts, style.fill(_APPLY, READ=_READ[identity], WIDTH=width)])


def outputs(model: Model, style: Style) -> str:
    """Write the leaves and the functions that answer."""
    tree = model.tree
    if tree.class_names is not None:
        names = ",\n    ".join(string(str(name)) for name in tree.class_names)
        declared = style.fill("\nconst char *const NAME_class_names[NAME_CLASSES] = {\n    ")
        parts = [declared, names, "\n};\n", style.integers("leaf_class", tree.leaf_class)]
        return "".join([*parts, style.numbers("value", tree.value), style.fill(_CLASSES)])
    lower, upper = tree.guard
    guarded = tree.lower is not None or tree.upper is not None
    if tree.coef is None:
        parts = ["\n", style.numbers("value", np.where(tree.value < lower, lower, np.minimum(tree.value, upper)))]
        output, guard = "NAME_value[k]", ""
    else:
        parts = [_sums(style, "linear", "coef", tree.coef.reshape(-1, tree.n_features), "value", tree.value)]
        if guarded:
            parts += ["\n", style.numbers("lower", lower), style.numbers("upper", upper)]
        output, guard = "NAME_linear(k, x)", _GUARD if guarded else "\n".join([*_GUARD.split("\n")[:2], ""])
    mapped = "output"
    if isinstance(model.output, TanhScale):
        parts += [style.numbers("low", np.array(model.output.low)), style.numbers("high", np.array(model.output.high))]
        tanh = "tanh" if style.real == "double" else "tanhf"
        half = f"({tanh}(output) + ONE) / {style.number(2.0)}"
        mapped = f"NAME_low[o] + {half} * (NAME_high[o] - NAME_low[o])"
    words = {"READ": _READ[model.encoder.is_identity], "OUTPUT;": f"{output};", "GUARD": guard, "MAPPED": mapped}
    return "".join([*parts, style.fill(_NUMBERS, **words, WIDTH=str(tree.n_features))])


def _sums(style: Style, function: str, field: str, matrix: Floats, offset: str, bias: Floats) -> str:
    """Write a matrix, whole or as the list of its non-zeros, and the function that multiplies a row of it by x."""
    width = matrix.shape[1]
    lanes = min(LANES, 1 << (width - 1).bit_length())  # of fewer columns the other partial sums are zero
    tables = [style.numbers(offset, bias)]
    if _is_sparse(matrix):
        row, place = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(len(matrix) + 1))
        tables += [style.integers(f"{field}_start", start, "long")]
        tables += [style.integers(f"{field}_place", place, "unsigned short" if width < 2**16 else "long")]
        tables += [style.numbers(field, matrix[row, place])]
        body = _SPARSE
    else:
        tables.append(style.numbers(field, matrix))
        products = _FEW if width <= lanes else _MANY + (_REST if width % lanes else "")
        body = _DENSE.replace("PRODUCTS", products)
    words = {"FUNCTION": function, "FIELD": field, "OFFSET": offset, "LANES": str(lanes), "WIDTH": str(width)}
    return "\n" + "".join(tables) + style.fill(body, **words)


def _is_sparse(matrix: Floats) -> bool:
    return bool(matrix.any() and np.count_nonzero(matrix) < SPARSE_SHARE * matrix.size)
