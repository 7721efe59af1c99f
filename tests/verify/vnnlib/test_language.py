"""The reader of VNN-LIB against z3's reader of SMT-LIB, and what it refuses."""

from __future__ import annotations

import random
import re
import time
import timeit
from fractions import Fraction

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.verify.vnnlib import parse_vnnlib, read_vnnlib

N_INPUTS, N_OUTPUTS = 2, 3
HEAD = "".join(f"(declare-const {kind}_{k} Real)\n" for kind, n in (("X", 2), ("Y", 3)) for k in range(n))
WORDS = ["0", "1", "-1", "0.5", "-2.25", "(- 1.5)", "(/ 1 4)", "2."]


def make_term(rng, kind, depth=0):
    n = {"X": N_INPUTS, "Y": N_OUTPUTS}[kind]
    choice = rng.random()
    if depth > 2 or choice < 0.4:
        return f"{kind}_{rng.randrange(n)}"
    if choice < 0.55:
        return rng.choice(WORDS)
    if choice < 0.7:
        return f"(* {rng.choice(WORDS)} {make_term(rng, kind, depth + 1)})"
    parts = " ".join(make_term(rng, kind, depth + 1) for _ in range(rng.choice([1, 2, 3])))
    return f"({rng.choice('+-')} {parts})" if " " in parts.strip() else f"(- {parts})"


def make_formula(rng, depth=0):
    if depth > 2 or rng.random() < 0.5:
        kind = rng.choice("XXY")
        return f"({rng.choice(['<=', '>=', '='])} {make_term(rng, kind)} {make_term(rng, kind)})"
    parts = " ".join(make_formula(rng, depth + 1) for _ in range(rng.choice([1, 2, 3])))
    return f"({rng.choice(['and', 'or'])} {parts})"


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_holds_where_the_formulas_hold_as_z3_reads_them(seed):
    rng = random.Random(seed)
    text = HEAD + "; a remark\n" + "\n".join(f"(assert {make_formula(rng)})" for _ in range(rng.choice([1, 2, 3])))
    question = parse_vnnlib(text)
    formula = z3.And(list(z3.parse_smt2_string(text.replace("2.)", "2.0)").replace("2. ", "2.0 "))))
    names = [f"X_{i}" for i in range(N_INPUTS)] + [f"Y_{j}" for j in range(N_OUTPUTS)]
    for _ in range(8):
        values = [Fraction(rng.randrange(-12, 13), 4) for _ in names]
        pairs = [(z3.Real(name), z3.Q(v.numerator, v.denominator)) for name, v in zip(names, values)]
        expected = z3.is_true(z3.simplify(z3.substitute(formula, *pairs)))
        assert question.holds(values[:N_INPUTS], values[N_INPUTS:]) == expected, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(assert (<= X_0 1)", "line 6: the ( has no )"),
        ("(assert (<= X_0 1)))", "line 6: there is a ) without"),
        ("assert", "line 6: expected a command"),
        ("(assert (< X_0 1))", "line 6: < is no part of VNN-LIB 1"),
        ("(assert\n(or (<= X_0 1)\n(not (<= X_0 2))))", "line 8: not is no part"),
        ("(assert (<= X_7 1))", "line 6: X_7 is not declared"),
        ("(assert (<= X_0 1 2))", "line 6: <= compares two terms"),
        ("(assert (<= X_0 (* X_0 X_1)))", "line 6: * of two terms with variables is not linear"),
        ("(assert (<= X_0 (/ 1 X_1)))", "line 6: / of two terms with variables"),
        ("(assert (<= X_0 (/ X_1 0.0)))", "line 6: division by 0"),
        ("(assert (<= X_0 Y_0))", "line 6: a comparison of inputs with outputs"),
        ("(assert (<= X_0 1e999999999))", "line 6: the number '1e999999999' has an exponent"),
        ("(assert (<= X_0 0x10))", "line 6: expected a number or a variable"),
        ("(assert (<= X_0 " + "9" * 500 + "))", "line 6: expected a number"),
        ("(assert X_0)", "line 6: expected and, or"),
        ("(assert)", "line 6: assert takes one formula"),
        ("(declare-const X_0 Real)", "line 6: X_0 is declared twice"),
        ("(declare-const X_0 Int)", "line 6: declare-const must read"),
        ("(declare-const Z_0 Real)", "line 6: variables are called"),
        ("(declare-const Y_9 Real)", "line 1: Y_9 is declared, but Y_3 is not"),
        ("(push 1)", "line 6: unknown command 'push'"),
        ("(" * 200, "line 6: parentheses are nested"),
        ("(assert (and " + "(or (<= Y_0 1) (<= Y_1 1)) " * 40 + "))", "line 6: the formula has too many cases"),
        ("(assert \x1b)", r"line 6: expected and, or, <= or >=, got '\x1b'"),
    ],
)
def test_refusals_name_the_line(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        parse_vnnlib(HEAD + text)


def test_files_are_named_and_bytes_that_are_no_text_refused(tmp_path):
    path = tmp_path / "p.vnnlib"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"p.vnnlib: a VNN-LIB file is text"):
        read_vnnlib(path)
    path.write_text("(declare-const X_0 Real)")
    with pytest.raises(ValueError, match=r"p.vnnlib: line 1: no Y_0 is declared"):
        read_vnnlib(path)


def test_boxes_that_contradict_each_other_leave_no_case():
    assert parse_vnnlib(HEAD + "(assert (<= X_0 0))(assert (>= X_0 1))").cases == ()
    question = parse_vnnlib(HEAD + "(assert (<= X_0 0))(assert (or (>= X_0 1) (>= X_0 0)))")
    assert [case.box for case in question.cases] == [{0: (0, 0)}]
    assert parse_vnnlib(HEAD + "(assert (<= 1 0))").cases == ()
    assert parse_vnnlib(HEAD + "(set-logic QF_LRA)(assert (>= 1 0))(check-sat)").cases[0].box == {}


def test_time_grows_with_the_length_alone():
    def seconds(n):
        head = (
            "".join(f"(declare-const X_{i} Real)(assert (<= X_{i} 1))" for i in range(n)) + "(declare-const Y_0 Real)"
        )
        text = f"{head}(assert (and {' '.join(f'(>= X_{i} 0)' for i in range(n))}))"
        return min(timeit.repeat(lambda: parse_vnnlib(text), timer=time.process_time, number=1, repeat=5))

    # Four times as long; quadratic would be sixteen times. The least of five leaves out what else the machine did.
    assert seconds(4000) < 16 * seconds(1000)


@pytest.mark.parametrize(
    "term",
    [
        "(+ 1 " + " ".join(f"(/ 1 {10**300 + k})" for k in range(1, 400)) + ")",
        "(* X_0 " * 90 + "9" * 300 + ")" * 90,
        f"(* {'9' * 300} " * 90 + "X_0" + ")" * 90,
        "(+ X_0 " + " ".join(f"(/ X_0 {10**300 + k})" for k in range(1, 400)) + ")",
    ],
    ids=["sum", "not linear", "product", "factors"],
)
def test_fractions_whose_digits_pile_up_are_refused(term):
    with pytest.raises(ValueError, match=r"^line 6: (the numbers of a term have more than 16384|. of two terms)"):
        parse_vnnlib(HEAD + f"(assert (<= X_0 {term}))")
