"""Properties in VNN-LIB 1, the part of SMT-LIB in which verifiers of networks state what must not happen.

A file declares inputs ``X_i`` and outputs ``Y_j`` as reals and asserts linear comparisons of them, joined by ``and``
and ``or``. The property is *sat* if some input and its outputs satisfy all assertions. What is read here:

    (declare-const X_0 Real)      (assert (<= X_0 0.5))      (assert (or (and (>= Y_0 Y_1) (<= Y_2 0.1)) ...))

with ``<=``, ``>=`` and ``=`` between linear terms (``+``, ``-``, ``*`` and ``/`` by numbers) of inputs alone or of
outputs alone. Numbers are decimals, kept as fractions. Strict comparisons and ``not`` are no part of VNN-LIB 1; they,
and comparisons of inputs with outputs, are refused by the number of the line.

The assertions become *cases*, of which one must hold: each is a box of inputs and some atoms ``terms <= bound``. A file
needs time and memory in proportion to its length; nesting, digits and the number of cases have limits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, NoReturn

from dtsemnet.files import read_bytes
from dtsemnet.names import shown

__all__ = ["Atom", "Case", "VnnProperty", "parse_vnnlib", "read_vnnlib"]

MAX_BYTES = 2**24
MAX_NESTING = 100
MAX_DIGITS, MAX_EXPONENT = 400, 400
MAX_BITS = 2**14
"""Of what arithmetic makes of such numbers: a sum of fractions has all their denominators."""
MAX_INDEX = 10**6
MAX_ENTRIES = 500_000
"""Ends and atoms that may be copied when cases are multiplied."""

Bounds = dict[int, tuple[Fraction | None, Fraction | None]]
Term = tuple[dict[tuple[str, int], Fraction], Fraction]
"""Factors of variables, and a constant."""

_TOKEN = re.compile(r"[()]|[^\s();]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,6})", re.ASCII)
_IGNORED = {"set-logic", "set-info", "set-option", "check-sat", "get-model", "exit"}


class Atom(NamedTuple):
    """A sum of variables of one kind that is at most a bound."""

    kind: str
    """"X" for inputs, "Y" for outputs."""
    terms: tuple[tuple[int, Fraction], ...]
    bound: Fraction

    def holds(self, values: list[Fraction]) -> bool:
        """Whether the atom holds for the values of the variables."""
        return sum((factor * values[k] for k, factor in self.terms), Fraction(0)) <= self.bound


@dataclass(frozen=True)
class Case:
    """Assertions that hold together: ends of single inputs, and atoms."""

    box: Bounds = field(default_factory=dict)
    atoms: tuple[Atom, ...] = ()


@dataclass(frozen=True)
class VnnProperty:
    """What a file asserts: one of some cases."""

    n_inputs: int
    n_outputs: int
    cases: tuple[Case, ...]
    """Ends that all cases share are in each of them. No case is left if the boxes contradict each other."""

    def holds(self, x: list[Fraction], y: list[Fraction]) -> bool:
        """Whether an input with its outputs satisfies all assertions."""
        return any(_holds(case, x, y) for case in self.cases)


def _holds(case: Case, x: list[Fraction], y: list[Fraction]) -> bool:
    ends = case.box.items()
    inside = all((low is None or low <= x[i]) and (high is None or x[i] <= high) for i, (low, high) in ends)
    return inside and all(atom.holds(x if atom.kind == "X" else y) for atom in case.atoms)


def read_vnnlib(path: str | os.PathLike[str]) -> VnnProperty:
    """Read a property from a file; errors name it and the line."""
    content = read_bytes(path, max_bytes=MAX_BYTES)
    try:
        return parse_vnnlib(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: a VNN-LIB file is text in UTF-8, this is not.") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_vnnlib(text: str) -> VnnProperty:
    """Read a property.

    Examples
    --------
    >>> found = parse_vnnlib('''
    ... (declare-const X_0 Real)
    ... (declare-const Y_0 Real)
    ... (declare-const Y_1 Real)
    ... (assert (>= X_0 -1))
    ... (assert (<= X_0 0.5))
    ... (assert (or (<= Y_0 Y_1) (and (>= X_0 0) (>= Y_0 1e-3))))
    ... ''')
    >>> found.n_inputs, found.n_outputs, len(found.cases)
    (1, 2, 2)
    """
    reader = _Reader()
    for command in _commands(text):
        reader.run(command)
    return reader.property()


class _Node(NamedTuple):
    """A word, or a list in parentheses, and its line."""

    line: int
    word: str
    parts: list[_Node]

    @property
    def is_list(self) -> bool:
        return not self.word


def _refuse(line: int, problem: str) -> NoReturn:
    raise ValueError(f"line {line}: {problem}")


def _commands(text: str) -> Iterator[_Node]:
    """The lists at the top of a file, one at a time."""
    stack: list[_Node] = []
    line = 0
    for line, content in enumerate(text.split("\n"), start=1):
        for token in _TOKEN.findall(content.partition(";")[0]):
            if token == "(":
                if len(stack) >= MAX_NESTING:
                    _refuse(line, f"parentheses are nested more than {MAX_NESTING} deep.")
                stack.append(_Node(line, "", []))
            elif token != ")":
                if not stack:
                    _refuse(line, f"expected a command in parentheses, got {shown(token[:40])}.")
                stack[-1].parts.append(_Node(line, token, []))
            elif not stack:
                _refuse(line, "there is a ) without its (.")
            else:
                done = stack.pop()
                if stack:
                    stack[-1].parts.append(done)
                else:
                    yield done
    if stack:
        _refuse(stack[0].line, "the ( has no ).")


class _Reader:
    """Reads commands in their order."""

    def __init__(self) -> None:
        self.declared: dict[str, set[int]] = {"X": set(), "Y": set()}
        self.line = 1
        self.asserted: list[list[Case]] = []

    def run(self, command: _Node) -> None:
        name = command.parts[0].word if command.parts else ""
        if name in ("declare-const", "declare-fun"):
            self._declare(command)
        elif name == "assert":
            if len(command.parts) != 2:
                _refuse(command.line, f"assert takes one formula, got {len(command.parts) - 1}.")
            self.asserted.append(self._cases(command.parts[1]))
            self.line = command.line
        elif name not in _IGNORED:
            _refuse(command.line, f"unknown command {shown(name[:40])}; VNN-LIB has declare-const and assert.")

    def property(self) -> VnnProperty:
        """What all commands say together."""
        counts = {}
        for kind, indices in self.declared.items():
            if not indices:
                raise ValueError(f"line 1: no {kind}_0 is declared.")
            counts[kind] = max(indices) + 1
            if len(indices) < counts[kind]:
                absent = next(k for k in range(counts[kind]) if k not in indices)
                raise ValueError(f"line 1: {kind}_{counts[kind] - 1} is declared, but {kind}_{absent} is not.")
        return VnnProperty(counts["X"], counts["Y"], tuple(_all_of(self.line, self.asserted)))

    def _declare(self, command: _Node) -> None:
        words = [part.word for part in command.parts]
        is_function = words[:1] == ["declare-fun"]
        form = len(words) == 3 + is_function and words[-1] == "Real"
        if is_function and form:
            form = command.parts[2].is_list and not command.parts[2].parts
        if not form:
            _refuse(command.line, f"{words[0]} must read ({words[0]} X_0 {'() ' * is_function}Real).")
        match = _VARIABLE.fullmatch(words[1])
        if match is None or int(match[2]) > MAX_INDEX:
            _refuse(command.line, f"variables are called X_0, X_1, ... and Y_0, Y_1, ..., not {shown(words[1][:40])}.")
        if int(match[2]) in self.declared[match[1]]:
            _refuse(command.line, f"{words[1]} is declared twice.")
        self.declared[match[1]].add(int(match[2]))

    def _cases(self, node: _Node) -> list[Case]:
        """A formula as cases."""
        name = node.parts[0].word if node.parts else ""
        if node.is_list and name in ("and", "or"):
            inner = [self._cases(part) for part in node.parts[1:]]
            return _all_of(node.line, inner) if name == "and" else [case for cases in inner for case in cases]
        if node.is_list and name in ("<=", ">=", "="):
            return self._comparison(node, name)
        if name in ("<", ">", "not", "=>", "distinct", "xor", "ite"):
            _refuse(node.line, f"{name} is no part of VNN-LIB 1; write <= or >=, joined by and, or.")
        _refuse(node.line, f"expected and, or, <= or >=, got {shown((node.word or name or '()')[:40])}.")

    def _comparison(self, node: _Node, name: str) -> list[Case]:
        if len(node.parts) != 3:
            _refuse(node.line, f"{name} compares two terms, got {len(node.parts) - 1}.")
        left, right = (self._term(part) for part in node.parts[1:])
        terms = {key: left[0].get(key, Fraction(0)) - right[0].get(key, Fraction(0)) for key in {**left[0], **right[0]}}
        terms = {key: factor for key, factor in terms.items() if factor}
        bound = right[1] - left[1]
        kinds = {kind for kind, _ in terms}
        if len(kinds) > 1:
            _refuse(node.line, "a comparison of inputs with outputs is not supported; compare X with X and Y with Y.")
        kind = kinds.pop() if kinds else "X"
        cases = []
        for sign in {"<=": [1], ">=": [-1], "=": [1, -1]}[name]:
            pairs = tuple(sorted((k, sign * factor) for (_, k), factor in terms.items()))
            cases.append(_case_of(Atom(kind, pairs, sign * bound)))
        return _all_of(node.line, cases)

    def _term(self, node: _Node) -> Term:
        """A linear term: the factors of variables, and a constant."""
        if not node.is_list:
            match = _VARIABLE.fullmatch(node.word)
            if match is None:
                return {}, _number(node)
            if int(match[2]) not in self.declared[match[1]]:
                _refuse(node.line, f"{node.word} is not declared.")
            return {(match[1], int(match[2])): Fraction(1)}, Fraction(0)
        name = node.parts[0].word if node.parts else ""
        inner = [self._term(part) for part in node.parts[1:]]
        if name not in ("+", "-", "*", "/") or not inner:
            _refuse(node.line, f"expected a term with +, -, * or /, got {shown((name or '()')[:40])}.")
        if name in ("+", "-"):
            total, constant = dict(inner[0][0]), inner[0][1]
            sign = 1 if name == "+" else -1
            if len(inner) == 1 and sign < 0:
                return {key: -factor for key, factor in total.items()}, -constant
            for terms, number in inner[1:]:
                for key, factor in terms.items():
                    total[key] = _short(node, total.get(key, Fraction(0)) + sign * factor)
                constant = _short(node, constant + sign * number)
            return total, constant
        return self._product(node, name, inner)

    def _product(self, node: _Node, name: str, inner: list[Term]) -> Term:
        if len(inner) != 2:
            _refuse(node.line, f"{name} takes two terms, got {len(inner)}.")
        (terms, constant), (others, factor) = inner
        if others and not terms and name == "*":
            (terms, constant), (others, factor) = inner[1], inner[0]
        if others:
            _refuse(node.line, f"{name} of two terms with variables is not linear.")
        if name == "/":
            if not factor:
                _refuse(node.line, "division by 0.")
            factor = 1 / factor
        return {key: _short(node, entry * factor) for key, entry in terms.items()}, _short(node, constant * factor)


def _short(node: _Node, number: Fraction) -> Fraction:
    """Pass a number on, if its digits are not too many."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        _refuse(node.line, f"the numbers of a term have more than {MAX_BITS} binary digits as one fraction.")
    return number


def _number(node: _Node) -> Fraction:
    match = _NUMBER.fullmatch(node.word) if len(node.word) <= MAX_DIGITS else None
    if match is None:
        _refuse(node.line, f"expected a number or a variable, got {shown(node.word[:40])}.")
    if match[2] is not None and (len(match[2]) > 5 or abs(int(match[2])) > MAX_EXPONENT):
        _refuse(node.line, f"the number {shown(node.word[:40])} has an exponent beyond {MAX_EXPONENT}.")
    return Fraction(node.word)


def _case_of(atom: Atom) -> list[Case]:
    """An atom as cases: none if it never holds; the end of one input is part of a box."""
    if not atom.terms:
        return [Case()] if atom.bound >= 0 else []
    if atom.kind == "X" and len(atom.terms) == 1:
        ((i, factor),) = atom.terms
        end = atom.bound / factor
        return [Case({i: (None, end) if factor > 0 else (end, None)})]
    return [Case(atoms=(atom,))]


def _all_of(line: int, parts: list[list[Case]]) -> list[Case]:
    """One case of each part together, in every way that leaves a box."""
    box: Bounds = {}
    atoms: list[Atom] = []
    for (case,) in (part for part in parts if len(part) == 1):  # in one go: most files have many single ends
        if not _shrink(box, case.box):
            return []
        atoms += case.atoms
    found, size = [Case(box, tuple(atoms))], 0
    for part in sorted((part for part in parts if len(part) != 1), key=len):
        joined = []
        for one in found:
            for other in part:
                size += 1 + len(one.box) + len(other.box) + len(one.atoms) + len(other.atoms)
                if size > MAX_ENTRIES:
                    _refuse(line, f"the formula has too many cases: more than {MAX_ENTRIES} comparisons in all.")
                both = dict(one.box)
                if _shrink(both, other.box):
                    joined.append(Case(both, one.atoms + other.atoms))
        found = joined
    return found


def _shrink(box: Bounds, other: Bounds) -> bool:
    """Cut a box by another in place; whether something is left."""
    for i, (low, high) in other.items():
        least, most = box.get(i, (None, None))
        low = least if low is None else low if least is None else max(low, least)
        high = most if high is None else high if most is None else min(high, most)
        if low is not None and high is not None and low > high:
            return False
        box[i] = low, high
    return True
