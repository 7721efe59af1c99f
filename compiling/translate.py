"""Translate kernels to C: the same operations on the same types in the same order, so that results are the same bits.

Kernels are written once, in the part of Python that numba compiles. Here their syntax trees become C functions, one for
each combination of types, with the types that numba would give them: float32 with an integer is float64, a name that
is bound twice has the wider type, ``max(a, b)`` is ``b if b > a else a``, a float to the power of an integer is a
repeated square. Arrays are C-ordered and become a pointer with its lengths. Arrays that a function makes lie on a
stack of memory, which is cut back when the function returns and at the end of each turn of a loop; so an array that is
made in a loop cannot leave it, which is checked.

What is not in that part of Python is refused with its line, so a kernel that needs more gets it here first.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.kernels import exp, log
from dtsemnet.kernels.routing import _aligned, dot

__all__ = ["Array", "Program", "Record", "Scalar", "Type"]

NAMES = {
    "f4": "float", "f8": "double", "i1": "int8_t", "i4": "int32_t", "i8": "int64_t", "u8": "uint64_t", "b1": "bool",
}  # fmt: skip
DTYPES = {
    np.float32: "f4", np.float64: "f8", np.int8: "i1", np.int32: "i4", np.int64: "i8", np.uint64: "u8", bool: "b1",
    np.bool_: "b1", float: "f8", int: "i8",
}  # fmt: skip
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**", ast.BitXor: "^",
    ast.BitAnd: "&", ast.BitOr: "|", ast.RShift: ">>", ast.LShift: "<<", ast.Mod: "%",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


@dataclass(frozen=True)
class Scalar:
    """A number, by the code of its type in numpy: ``f4``, ``i8``, ``b1`` ..."""

    code: str

    @property
    def c(self) -> str:
        return NAMES[self.code]

    @property
    def tag(self) -> str:
        return self.code


@dataclass(frozen=True)
class Array:
    """A C-ordered array of numbers with one or two dimensions."""

    code: str
    n_dims: int

    @property
    def c(self) -> str:
        return f"array{self.n_dims}_{self.code}"

    tag = c


@dataclass(frozen=True)
class Record:
    """A named tuple, or a tuple without names if ``maker`` is None."""

    maker: type | None
    types: tuple[Type, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return self.maker._fields if self.maker else tuple(f"item{k}" for k in range(len(self.types)))  # type: ignore[attr-defined]

    @property
    def c(self) -> str:
        return f"{self.maker.__name__ if self.maker else 'tuple'}_" + "_".join(part.tag for part in self.types)

    tag = c


@dataclass(frozen=True)
class Static:
    """What is known when kernels are translated: constants, functions, types of arrays, modules."""

    content: Any


@dataclass(frozen=True)
class DType:
    """The type of the numbers of an array; called, or by its ``type``, it converts."""

    code: str


Type = Scalar | Array | Record
I8, F8, B1 = Scalar("i8"), Scalar("f8"), Scalar("b1")


@dataclass(frozen=True)
class Value:
    """An expression of C with its type. ``turned`` marks the transpose of a matrix, for products alone."""

    type: Type
    code: str
    turned: bool = False


Result = Value | Static | DType | tuple["Result", ...]


class Program:
    """The functions of C that some kernels become, with the types that they use."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.heads: list[str] = []
        self.bodies: list[str] = []
        self.known: dict[tuple[Any, tuple[Type, ...]], tuple[str, Type | None, bool]] = {}
        self.files: set[str] = set()

    def declare(self, kind: Type) -> str:
        """Name of a type in C, declared before its first use."""
        if isinstance(kind, Scalar):
            return kind.c
        if kind.c not in self.types:
            if isinstance(kind, Array):
                lengths = " ".join(f"int64_t n{k};" for k in range(kind.n_dims))
                inner = f"{NAMES[kind.code]} *p; {lengths}"
            else:
                inner = " ".join(f"{self.declare(part)} {name};" for name, part in zip(kind.fields, kind.types))
            self.types[kind.c] = f"typedef struct {{ {inner} }} {kind.c};"
        return kind.c

    def function(self, kernel: Any, types: tuple[Type, ...]) -> tuple[str, Type | None, bool]:
        """Name in C, type of the result (None: nothing), and whether the result holds new arrays."""
        source = getattr(kernel, "py_func", kernel)
        key = (source, types)
        if key not in self.known:
            name = f"{source.__name__.lstrip('_')}_{len(self.known)}"
            self.known[key] = (name, None, False)  # taken, before the functions that it calls get theirs
            self.files.add(inspect.getfile(source))
            translated = _Function(self, source, types, name)
            self.known[key] = (name, translated.result, translated.makes)
            self.heads.append(translated.head() + ";")
            self.bodies.append(translated.text())
        return self.known[key]


class _Function:
    """One function for one combination of types."""

    def __init__(self, program: Program, source: Callable[..., Any], types: tuple[Type, ...], name: str) -> None:
        self.program, self.source, self.name = program, source, name
        tree = ast.parse(textwrap.dedent(inspect.getsource(source))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.tree, self.globals = tree, source.__globals__
        self.parameters = list(inspect.signature(source).parameters)
        self.given = dict(zip(self.parameters, types))
        self.variables: dict[str, Type] = dict(self.given)
        self.result: Type | None = None
        self.makes = False
        self.n_temporary = 0
        while True:  # until the types of names that are bound twice stand still
            before = dict(self.variables), self.result
            self.aliases: dict[str, Result] = {}
            self.depth, self.loops, self.lines = 1, [], []
            self.made_here = False
            self.block(self.tree.body)
            if before == (self.variables, self.result):
                break

    def head(self) -> str:
        result = "void" if self.result is None else self.program.declare(self.result)
        words = [f"{self.program.declare(kind)} v_{name}" for name, kind in self.given.items()]
        return f"static {result} {self.name}({', '.join(['stack *memory', *words])})"

    def text(self) -> str:
        names = sorted(set(self.variables) - set(self.given))
        lines = [f"    {self.program.declare(self.variables[name])} v_{name};" for name in names]
        lines.append("    place start = top(memory); (void)start;")
        if self.result is None:
            self.lines.append("    cut(memory, start);")
        return "\n".join([self.head(), "{", *lines, *self.lines, "}", ""])

    # Statements

    def refuse(self, node: ast.AST, why: str) -> Exception:
        line = self.source.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return NotImplementedError(f"{inspect.getfile(self.source)}:{line}: {why}: {ast.unparse(node)}")

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def temporary(self) -> str:
        self.n_temporary += 1
        return f"t{self.n_temporary}_"

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, f"do_{type(statement).__name__.lower()}", self.do_other)(statement)

    def do_other(self, node: ast.stmt) -> None:
        raise self.refuse(node, "no such statement in kernels")

    def do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        value = self.value(node.value)
        if value is not None:
            self.emit(f"(void){value.code};")

    def do_annassign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self.bind(node.target, self.result_of(node.value))

    def do_assign(self, node: ast.Assign) -> None:
        found = self.result_of(node.value)
        if len(node.targets) > 1 and isinstance(found, Value):
            found = self.keep(found)
        for target in node.targets:
            self.bind(target, found)

    def keep(self, value: Value) -> Value:
        """Store a value before the targets of an assignment change."""
        name = self.temporary()
        self.emit(f"{self.program.declare(value.type)} {name} = {value.code};")
        return Value(value.type, name, value.turned)

    def bind(self, target: ast.expr, found: Result) -> None:
        if isinstance(found, Static) and isinstance(found.content, bool | int | float | np.generic):
            found = self.constant(found.content, target)
        if isinstance(target, ast.Tuple):
            if isinstance(found, tuple):
                kept = [self.keep(part) if isinstance(part, Value) else part for part in found]
                for part, value in zip(target.elts, kept):
                    self.bind(part, value)
                return
            assert isinstance(found, Value)
            assert isinstance(found.type, Record)
            whole = self.keep(found)
            for part, name, kind in zip(target.elts, found.type.fields, found.type.types):
                self.bind(part, Value(kind, f"{whole.code}.{name}"))
            return
        if isinstance(target, ast.Name):
            if isinstance(found, Value) and not found.turned:
                self.set_name(target, found)
            elif isinstance(found, tuple):
                self.set_name(target, self.joined(found))
            else:
                self.aliases[target.id] = found
            return
        if not isinstance(target, ast.Subscript) or not isinstance(found, Value):
            raise self.refuse(target, "no such target in kernels")
        place = self.value(target)
        if isinstance(place.type, Scalar):
            self.emit(f"{place.code} = {self.cast(found, place.type)};")
        elif isinstance(found.type, Scalar):
            self.fill(place, found)
        else:
            raise self.refuse(target, "arrays are copied by loops")

    def fill(self, place: Value, value: Value) -> None:
        kind = place.type
        assert isinstance(kind, Array)
        array, number, i = self.keep(place), self.temporary(), self.temporary()
        self.emit(f"{NAMES[kind.code]} {number} = {self.cast(value, Scalar(kind.code))};")
        self.emit(f"for (int64_t {i} = 0; {i} < {_size(array)}; {i}++) {array.code}.p[{i}] = {number};")

    def set_name(self, target: ast.Name, value: Value) -> None:
        name, known = target.id, self.variables.get(target.id)
        kind = value.type if known is None else self.wider(known, value.type, target)
        if known != kind and name in self.given:
            raise self.refuse(target, "a parameter cannot change its type")
        self.variables[name] = kind
        if self.loops and any(isinstance(part, Array) for part in _parts(kind)):
            self.loops[-1].add(name)
        self.emit(f"v_{name} = {self.cast(value, kind)};")

    def do_augassign(self, node: ast.AugAssign) -> None:
        sign = OPERATORS[type(node.op)]
        if isinstance(node.target, ast.Name) and isinstance(self.variables.get(node.target.id), Array):
            array, value = self.value(node.target), self.keep(self.value(node.value))
            i, kind = self.temporary(), array.type
            assert isinstance(kind, Array)
            entry = Value(Scalar(kind.code), f"{array.code}.p[{i}]")
            changed = self.cast(self.operate(sign, entry, value, node), entry.type)
            self.emit(f"for (int64_t {i} = 0; {i} < {_size(array)}; {i}++) {entry.code} = {changed};")
            return
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        self.bind(node.target, self.operate(sign, self.value(target), self.value(node.value), node))

    def do_return(self, node: ast.Return) -> None:
        if node.value is None:
            self.emit("cut(memory, start);")
            self.emit("return;")
            return
        value = self.value(node.value)
        self.result = value.type if self.result is None else self.wider(self.result, value.type, node)
        name = self.temporary()
        self.emit(f"{self.program.declare(self.result)} {name} = {self.cast(value, self.result)};")
        if any(isinstance(part, Array) for part in _parts(self.result)):
            self.makes = self.makes or self.made_here
        else:
            self.emit("cut(memory, start);")
        self.emit(f"return {name};")

    def do_if(self, node: ast.If) -> None:
        test = self.result_of(node.test)
        if isinstance(test, Static):
            self.block(node.body if test.content else node.orelse)
            return
        self.emit(f"if ({_condition(test)}) {{")
        self.inner(node.body)
        if node.orelse:
            self.emit("} else {")
            self.inner(node.orelse)
        self.emit("}")

    def inner(self, statements: list[ast.stmt]) -> None:
        self.depth += 1
        self.block(statements)
        self.depth -= 1

    def turn(self, node: ast.For | ast.While, prepare: Callable[[], None] = lambda: None) -> None:
        """The body of a loop. If it makes arrays, the stack is cut back at its end, so they must not leave it."""
        self.loops.append(set())
        before = self.made_here
        self.made_here = False
        self.depth += 1
        head = len(self.lines)
        prepare()
        self.block(node.body)
        if self.made_here:
            if any(isinstance(part, ast.Continue) for part in ast.walk(node)):
                raise self.refuse(node, "no continue in loops that make arrays")
            place = self.temporary()
            self.lines.insert(head, "    " * self.depth + f"place {place} = top(memory);")
            self.emit(f"cut(memory, {place});")
            inside = {id(part) for part in ast.walk(node)}
            for part in ast.walk(self.tree):
                if isinstance(part, ast.Name) and part.id in self.loops[-1] and id(part) not in inside:
                    raise self.refuse(node, f"the array {part.id} is made in a loop and used outside")
        self.depth -= 1
        self.made_here = before or self.made_here
        self.loops.pop()
        self.emit("}")

    def do_while(self, node: ast.While) -> None:
        self.emit(f"while ({_condition(self.result_of(node.test))}) {{")
        self.turn(node)

    def do_for(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            ends = [self.keep(Value(I8, self.cast(self.value(part), I8))).code for part in call.args]
            first, last = (ends[0], ends[1]) if len(ends) > 1 else ("0", ends[0])
            i = self.temporary()
            step, sign = "1", "<"
            if len(ends) == 3:
                step = ends[2]
                sign = ">" if isinstance(call.args[2], ast.UnaryOp) else "<"
            self.emit(f"for (int64_t {i} = {first}; {i} {sign} {last}; {i} += {step}) {{")
            self.turn(node, lambda: self.set_name(node.target, Value(I8, i)))  # type: ignore[arg-type]
            return
        found = self.result_of(call)
        if isinstance(found, Value) and isinstance(found.type, Array):
            array, i = self.keep(found), self.temporary()
            self.emit(f"for (int64_t {i} = 0; {i} < {array.code}.n0; {i}++) {{")
            self.turn(node, lambda: self.set_name(node.target, self.at(array, [Value(I8, i)])))  # type: ignore[arg-type]
            return
        parts = found if isinstance(found, tuple) else tuple(self.parts(found))
        for part in parts:
            self.bind(node.target, part)
            self.block(node.body)

    def parts(self, found: Result) -> Iterator[Value]:
        assert isinstance(found, Value)
        assert isinstance(found.type, Record)
        for name, kind in zip(found.type.fields, found.type.types):
            yield Value(kind, f"{found.code}.{name}")

    def do_break(self, node: ast.Break) -> None:
        self.emit("break;")

    def do_continue(self, node: ast.Continue) -> None:
        self.emit("continue;")

    def do_pass(self, node: ast.Pass) -> None:
        pass

    # Expressions

    def value(self, node: ast.expr) -> Any:
        """A value of C; None for a call without a result."""
        found = self.result_of(node)
        if isinstance(found, Static) and found.content is None:
            return None
        if isinstance(found, Static):
            return self.constant(found.content, node)
        if isinstance(found, tuple):
            return self.joined(found)
        if isinstance(found, DType):
            raise self.refuse(node, "a type is no number")
        return found

    def result_of(self, node: ast.expr) -> Result:
        make = getattr(self, f"of_{type(node).__name__.lower()}", None)
        if make is None:
            raise self.refuse(node, "no such expression in kernels")
        found: Result = make(node)
        return found

    def constant(self, content: Any, node: ast.AST) -> Value:
        if isinstance(content, bool | np.bool_):
            return Value(B1, "true" if content else "false")
        code = DTYPES.get(type(content))
        if code is None:
            raise self.refuse(node, f"no constant of C: {content!r}")
        if code[0] == "f":
            if math.isnan(content):
                return Value(Scalar(code), f"(({NAMES[code]})NAN)")
            if math.isinf(content):
                return Value(Scalar(code), f"({'-' if content < 0 else ''}({NAMES[code]})INFINITY)")
            return Value(Scalar(code), f"(({NAMES[code]}){float(content).hex()})")
        return Value(Scalar(code), f"(({NAMES[code]}){int(content)}{'u' if code == 'u8' else ''}ll)")

    def of_constant(self, node: ast.Constant) -> Result:
        return Static(node.value)

    def of_name(self, node: ast.Name) -> Result:
        if node.id in self.aliases:
            return self.aliases[node.id]
        if node.id in self.variables:
            return Value(self.variables[node.id], f"v_{node.id}")
        if node.id in self.globals:
            return Static(self.globals[node.id])
        builtins = {
            "len": len, "range": range, "min": min, "max": max, "abs": abs, "int": int, "float": float, "bool": bool,
        }  # fmt: skip
        if node.id in builtins:
            return Static(builtins[node.id])
        raise self.refuse(node, "an unknown name")

    def of_attribute(self, node: ast.Attribute) -> Result:
        owner = self.result_of(node.value)
        if isinstance(owner, Static):
            return Static(getattr(owner.content, node.attr))
        if isinstance(owner, DType) and node.attr == "type":
            return owner
        if isinstance(owner, Value) and isinstance(owner.type, Record) and node.attr in owner.type.fields:
            kind = owner.type.types[owner.type.fields.index(node.attr)]
            return Value(kind, f"{owner.code}.{node.attr}")
        if isinstance(owner, Value) and isinstance(owner.type, Array):
            if node.attr == "dtype":
                return DType(owner.type.code)
            if node.attr == "ndim":
                return Static(owner.type.n_dims)
            if node.attr == "shape":
                return tuple(Value(I8, f"{owner.code}.n{k}") for k in range(owner.type.n_dims))
            if node.attr == "T" and owner.type.n_dims == 2:
                return Value(owner.type, owner.code, not owner.turned)
        raise self.refuse(node, "no such attribute in kernels")

    def of_tuple(self, node: ast.Tuple) -> Result:
        found = [self.result_of(part) for part in node.elts]
        return tuple(self.constant(p.content, node) if isinstance(p, Static) else p for p in found)

    def joined(self, found: tuple[Result, ...]) -> Value:
        values = [part for part in found if isinstance(part, Value)]
        kind = Record(None, tuple(value.type for value in values))
        return Value(kind, f"(({self.program.declare(kind)}){{{', '.join(value.code for value in values)}}})")

    def of_subscript(self, node: ast.Subscript) -> Result:
        owner = self.result_of(node.value)
        if isinstance(owner, tuple):
            return eval(f"x[{ast.unparse(node.slice)}]", {"x": owner})  # type: ignore[no-any-return]
        if isinstance(owner, Value) and isinstance(owner.type, Record):
            return list(self.parts(self.keep(owner)))[ast.literal_eval(node.slice)]
        if not isinstance(owner, Value) or not isinstance(owner.type, Array):
            raise self.refuse(node, "no such subscript in kernels")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if all(isinstance(part, ast.Slice) and part.lower is part.upper is None for part in parts):
            return owner
        if len(parts) == 1 and isinstance(parts[0], ast.Slice):
            return self.cut(owner, parts[0])
        row = self.at(owner, [self.value(part) for part in parts if not isinstance(part, ast.Slice)])
        if any(isinstance(part, ast.Slice) for part in parts[:1]):
            raise self.refuse(node, "no columns in kernels")
        return row

    def cut(self, owner: Value, part: ast.Slice) -> Value:
        kind = owner.type
        assert isinstance(kind, Array)
        array = self.keep(owner).code
        first = self.cast(self.value(part.lower), I8) if part.lower else "0"
        last = f"least({self.cast(self.value(part.upper), I8)}, {array}.n0)" if part.upper else f"{array}.n0"
        width = f"{array}.n1" if kind.n_dims == 2 else "1"
        begin = self.keep(Value(I8, first)).code
        lengths = [f"{last} - {begin}", *([width] if kind.n_dims == 2 else [])]
        return Value(kind, f"(({kind.c}){{{array}.p + {begin} * {width}, {', '.join(lengths)}}})")

    def at(self, owner: Value, index: list[Any]) -> Value:
        kind = owner.type
        assert isinstance(kind, Array)
        code = owner.code
        where = [self.cast(i, I8) for i in index]
        if len(where) == kind.n_dims:
            offset = where[0] if len(where) == 1 else f"{where[0]} * {code}.n1 + {where[1]}"
            return Value(Scalar(kind.code), f"{code}.p[{offset}]")
        row = Array(kind.code, 1)
        return Value(row, f"(({self.program.declare(row)}){{{code}.p + {where[0]} * {code}.n1, {code}.n1}})")

    def of_binop(self, node: ast.BinOp) -> Result:
        left, right = self.result_of(node.left), self.result_of(node.right)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        if isinstance(left, Static) and isinstance(right, Static):
            content = eval(f"a {OPERATORS[type(node.op)]} b", {"a": left.content, "b": right.content})
            return Static(content)
        return self.operate(OPERATORS[type(node.op)], self.value(node.left), self.value(node.right), node)

    def of_unaryop(self, node: ast.UnaryOp) -> Result:
        found = self.result_of(node.operand)
        sign = {ast.USub: "-", ast.Invert: "~", ast.Not: "!", ast.UAdd: "+"}[type(node.op)]
        if isinstance(found, Static):
            content = found.content
            return Static({"-": lambda: -content, "~": lambda: ~content, "!": lambda: not content}[sign]())
        value = self.value(node.operand)
        kind = B1 if sign == "!" else (I8 if value.type.code in ("b1", "i1", "i4") else value.type)
        return Value(kind, f"({sign}{value.code})")

    def operate(self, sign: str, left: Value, right: Value, node: ast.AST) -> Value:
        if not isinstance(left.type, Scalar) or not isinstance(right.type, Scalar):
            raise self.refuse(node, "arithmetic of whole arrays belongs in loops")
        kind = self.arithmetic(left.type, right.type)
        if sign in ("<", "<=", ">", ">=", "==", "!="):
            return Value(B1, f"({self.cast(left, kind)} {sign} {self.cast(right, kind)})")
        if (sign == "|" and left.type == right.type == B1) or (sign == "&" and left.type == right.type == B1):
            return Value(B1, f"({left.code} {sign} {right.code})")
        if kind == B1:
            kind = I8
        if sign == "**":
            if right.type.code[0] != "i":
                raise self.refuse(node, "powers have whole exponents")
            return Value(F8, f"whole_power({self.cast(left, F8)}, {self.cast(right, I8)})")
        if sign == "/" and kind.code[0] != "f":
            kind = F8
        a, b = self.cast(left, kind), self.cast(right, kind)
        if sign in ("//", "%"):
            if kind != I8:
                raise self.refuse(node, "whole quotients are of integers")
            return Value(kind, f"{'quotient' if sign == '//' else 'remainder_of'}({a}, {b})")
        return Value(kind, f"({a} {sign} {b})")

    def arithmetic(self, a: Scalar, b: Scalar) -> Scalar:
        """The type of an operation, as in numba: integers count as int64, and with float32 they make float64."""
        if a == b:
            return a if a.code not in ("i1", "i4") else I8
        if "f8" in (a.code, b.code) or (a.code[0] == "f") != (b.code[0] == "f"):
            return F8
        if "u8" in (a.code, b.code):
            return F8
        return I8

    def wider(self, a: Type, b: Type, node: ast.AST) -> Type:
        """The type that holds values of both."""
        if a == b:
            return a
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            if {a.code, b.code} <= {"i1", "i4", "i8", "b1"}:
                return I8
            return self.arithmetic(a, b)
        if isinstance(a, Record) and isinstance(b, Record) and a.maker == b.maker and len(a.types) == len(b.types):
            return Record(a.maker, tuple(self.wider(x, y, node) for x, y in zip(a.types, b.types)))
        raise self.refuse(node, f"two types for one name, {a} and {b}")

    def cast(self, value: Value, kind: Type) -> str:
        if value.type == kind:
            return value.code
        if isinstance(kind, Scalar) and isinstance(value.type, Scalar):
            return f"(({kind.c}){value.code})"
        if isinstance(kind, Record) and isinstance(value.type, Record):
            whole = self.keep(value)
            parts = [self.cast(part, wanted) for part, wanted in zip(self.parts(whole), kind.types)]
            return f"(({self.program.declare(kind)}){{{', '.join(parts)}}})"
        raise NotImplementedError(f"{self.name}: {value} is no {kind}")

    def of_compare(self, node: ast.Compare) -> Result:
        found = [self.result_of(part) for part in (node.left, *node.comparators)]
        if all(isinstance(part, Static) for part in found):
            names = {f"x{k}": part.content for k, part in enumerate(found) if isinstance(part, Static)}
            words = [f"x{k} {OPERATORS[type(sign)]} x{k + 1}" for k, sign in enumerate(node.ops)]
            return Static(eval(" and ".join(words), names))
        values = [self.value(part) for part in (node.left, *node.comparators)]
        tests = [
            self.operate(OPERATORS[type(sign)], a, b, node).code for sign, a, b in zip(node.ops, values, values[1:])
        ]
        return Value(B1, tests[0] if len(tests) == 1 else f"({' && '.join(tests)})")

    def of_boolop(self, node: ast.BoolOp) -> Result:
        parts = [_condition(self.value(part)) for part in node.values]
        return Value(B1, f"({(' && ' if isinstance(node.op, ast.And) else ' || ').join(parts)})")

    def of_ifexp(self, node: ast.IfExp) -> Result:
        test = self.result_of(node.test)
        if isinstance(test, Static):
            return self.result_of(node.body if test.content else node.orelse)
        left, right = self.value(node.body), self.value(node.orelse)
        kind = self.wider(left.type, right.type, node)
        return Value(kind, f"({_condition(test)} ? {self.cast(left, kind)} : {self.cast(right, kind)})")

    # Calls

    def of_call(self, node: ast.Call) -> Result:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "max"):
            owner = self.result_of(node.func.value)
            if isinstance(owner, Value) and isinstance(owner.type, Array):
                return self.method(node.func.attr, owner)
        callee = self.result_of(node.func)
        if isinstance(callee, DType):
            return Value(Scalar(callee.code), f"(({NAMES[callee.code]}){self.value(node.args[0]).code})")
        assert isinstance(callee, Static)
        known = callee.content
        if known is _aligned:  # everything on the stack of memory starts on a cache line
            array = self.allocate(Array("f8", 1), [self.value(node.args[0]).code])
            self.emit(f"memset({array.code}.p, 0, {_size(array)} * sizeof(double));")
            return array
        if getattr(math, getattr(known, "__name__", ""), None) is known:
            return Static(known(*(self.static(part) for part in node.args)))
        if known is len:
            found = self.result_of(node.args[0])
            if isinstance(found, tuple):
                return Static(len(found))
            return Value(I8, f"{found.code}.n0")  # type: ignore[union-attr]
        if isinstance(known, type) and known in DTYPES:
            found = self.result_of(node.args[0])
            if isinstance(found, Static):
                return Static(known(found.content))
            code = DTYPES[known]
            return Value(Scalar(code), self.cast(self.value(node.args[0]), Scalar(code)))
        if isinstance(known, type) and hasattr(known, "_fields"):
            values = [self.value(part) for part in node.args]
            kind = Record(known, tuple(value.type for value in values))
            return Value(kind, f"(({self.program.declare(kind)}){{{', '.join(value.code for value in values)}}})")
        if known in (min, max):
            first, second = (self.value(part) for part in node.args)
            both = self.arithmetic(first.type, second.type)
            a, b = self.cast(first, both), self.cast(second, both)
            a, b = (self.keep(Value(both, x)).code if "(" in x else x for x in (a, b))
            return Value(both, f"({b} {'>' if known is max else '<'} {a} ? {b} : {a})")
        if known is abs:
            value = self.value(node.args[0])
            return Value(value.type, f"{'fabs' if value.type.code == 'f8' else 'fabsf'}({value.code})")
        if known in (exp, log):
            value = self.value(node.args[0])
            return Value(value.type, f"{known.__name__}_{value.type.code}({value.code})")
        if known is dot:
            w, w_start, x, x_start, length = (self.value(part) for part in node.args)
            return Value(F8, f"dot16({w.code}.p + {w_start.code}, {x.code}.p + {x_start.code}, {length.code})")
        if getattr(np, getattr(known, "__name__", ""), None) is known:
            return self.numpy(known.__name__, node)
        return self.call(known, node)

    def static(self, node: ast.expr) -> Any:
        found = self.result_of(node)
        if not isinstance(found, Static):
            raise self.refuse(node, "not known when kernels are translated")
        return found.content

    def method(self, name: str, owner: Value) -> Value:
        kind = owner.type
        assert isinstance(kind, Array)
        if name == "max":
            return Value(Scalar(kind.code), f"largest_{kind.code}({owner.code}.p, {_size(owner)})")
        whole = self.keep(owner)
        copy = self.allocate(kind, [f"{whole.code}.n{k}" for k in range(kind.n_dims)])
        self.emit(f"memcpy({copy.code}.p, {whole.code}.p, {_size(whole)} * sizeof({NAMES[kind.code]}));")
        return copy

    def allocate(self, kind: Array, lengths: list[str]) -> Value:
        self.made_here = True
        lengths = [self.keep(Value(I8, length)).code for length in lengths]
        name = self.temporary()
        size = " * ".join([*lengths, f"sizeof({NAMES[kind.code]})"])
        self.emit(f"{self.program.declare(kind)} {name} = {{push(memory, {size}), {', '.join(lengths)}}};")
        return Value(kind, name)

    def numpy(self, name: str, node: ast.Call) -> Result:
        if name in ("isfinite", "isnan", "sqrt"):
            value = self.value(node.args[0])
            if name == "sqrt":
                wide = Value(value.type if value.type.code[0] == "f" else F8, value.code)
                return Value(wide.type, f"{'sqrt' if wide.type == F8 else 'sqrtf'}({value.code})")
            return Value(B1, f"is_{'finite' if name == 'isfinite' else 'nan'}_{value.type.code}({value.code})")
        if name == "dot":
            return self.product(node)
        if name == "arange":
            first, last = (self.keep(Value(I8, self.cast(self.value(part), I8))).code for part in node.args)
            array, i = self.allocate(Array("i8", 1), [f"{last} - {first}"]), self.temporary()
            self.emit(f"for (int64_t {i} = 0; {i} < {array.code}.n0; {i}++) {array.code}.p[{i}] = {first} + {i};")
            return array
        if name in ("empty_like", "zeros_like"):
            like = self.keep(self.value(node.args[0]))
            assert isinstance(like.type, Array)
            array = self.allocate(like.type, [f"{like.code}.n{k}" for k in range(like.type.n_dims)])
        elif name in ("empty", "zeros", "ones", "full"):
            shape = self.result_of(node.args[0])
            lengths = shape if isinstance(shape, tuple) else (self.value(node.args[0]),)
            given = [self.result_of(part) for part in node.args[1:]] + [self.result_of(k.value) for k in node.keywords]
            dtype = given[-1] if len(given) > (name == "full") else DType("f8")
            code = dtype.code if isinstance(dtype, DType) else DTYPES[dtype.content]  # type: ignore[union-attr]
            sizes = [self.cast(length, I8) for length in lengths if isinstance(length, Value)]
            array = self.allocate(Array(code, len(sizes)), sizes)
        else:
            raise self.refuse(node, "no such function in kernels")
        if name in ("zeros", "zeros_like"):
            assert isinstance(array.type, Array)
            self.emit(f"memset({array.code}.p, 0, {_size(array)} * sizeof({NAMES[array.type.code]}));")
        if name in ("ones", "full"):
            self.fill(array, self.value(node.args[1]) if name == "full" else Value(I8, "1"))
        return array

    def product(self, node: ast.Call) -> Value:
        """A product of matrices by BLAS, called as numba calls it."""
        a, b = (self.value(part) for part in node.args[:2])
        x, y = self.keep(a), self.keep(b)
        assert isinstance(x.type, Array)
        rows, inner = ("n1", "n0") if a.turned else ("n0", "n1")
        columns = "n0" if b.turned else "n1"
        if len(node.args) == 3:
            out = self.value(node.args[2])
        else:
            out = self.allocate(x.type, [f"{x.code}.{rows}", f"{y.code}.{columns}"])
        words = [
            f"'{'t' if b.turned else 'n'}'", f"'{'t' if a.turned else 'n'}'", f"{y.code}.{columns}", f"{x.code}.{rows}",
            f"{x.code}.{inner}", f"{y.code}.p", f"{y.code}.n1", f"{x.code}.p", f"{x.code}.n1", f"{out.code}.p",
        ]  # fmt: skip
        self.emit(f"product_{x.type.code}({', '.join(words)});")
        return out

    def call(self, kernel: Any, node: ast.Call) -> Result:
        signature = inspect.signature(getattr(kernel, "py_func", kernel))
        given: dict[str, ast.expr] = dict(zip(signature.parameters, node.args))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        values = []
        for name, parameter in signature.parameters.items():
            content = self.value(given[name]) if name in given else self.constant(parameter.default, node)
            values.append(content)
        name, result, makes = self.program.function(kernel, tuple(value.type for value in values))
        self.made_here = self.made_here or makes
        code = f"{name}({', '.join(['memory', *(value.code for value in values)])})"
        if result is None:
            self.emit(f"{code};")
            return Static(None)
        return self.keep(Value(result, code)) if isinstance(result, Record) or makes else Value(result, code)


def _parts(kind: Type) -> Iterator[Type]:
    if isinstance(kind, Record):
        for part in kind.types:
            yield from _parts(part)
    else:
        yield kind


def _size(array: Value) -> str:
    assert isinstance(array.type, Array)
    return " * ".join(f"{array.code}.n{k}" for k in range(array.type.n_dims))


def _condition(value: Any) -> str:
    assert isinstance(value, Value)
    return value.code
