"""Write what a proof about a decision tree claims as SMT-LIB problems, each with a proof in the Alethe format.

A second way to check a proof file, by programs that were written for other purposes. While :mod:`dtsemnet_check` walks
through a tree, it derives the half-spaces and the box of every part of the domain that the certificate calls empty.
Here they are written down: one problem for each claim that holds, which says that *some* of these parts has a point,

    (assert (or (and (<= (+ (* 2.0 z0) z1) 0.5) (>= z0 0.0) ...) (and ...)))        (check-sat) is unsat

and one Alethe proof of its unsatisfiability. Farkas multipliers are the arguments of ``la_generic``; one such step
closes each part, and resolution does the rest. Numbers are exact fractions. Any SMT solver for linear real arithmetic
can decide the problems, any checker of Alethe can check the proofs.

What the problems leave to :mod:`dtsemnet_check`: that these half-spaces follow from the tree and the rounding of its
scores, that the parts cover the domain, the order of doubles, and parts whose few points were computed one by one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import dtsemnet_check
from dtsemnet_check import Box, Domain, HalfSpace, Malformed, Model, Unproved, Walk, exact, require

__all__ = ["Part", "alethe_proof", "main", "parts_of", "smt_problem"]


class Part(NamedTuple):
    """Inequalities over the features that contradict each other, with their multipliers."""

    inequalities: tuple[str, ...]
    multipliers: tuple[Fraction, ...]


def parts_of(walk: Walk, certificate: dict[str, Any]) -> list[Part]:
    """The parts that multipliers show to be empty, as the checker comes by them; the checker must agree."""
    parts: list[Part] = []
    check = walk.farkas

    def noted(rows: dict[str, HalfSpace], box: Box, multipliers: Any) -> None:
        check(rows, box, multipliers)
        parts.append(_part([(*rows[name], exact(text)) for name, text in multipliers], box))

    walk.farkas = noted  # type: ignore[method-assign]
    try:
        walk.check(certificate)
    finally:
        del walk.farkas  # the method is there again
    return list({part.inequalities: part for part in parts}.values())


def _part(used: list[tuple[dict[int, Fraction], Fraction, Fraction]], box: Box) -> Part:
    """Half-spaces with multipliers, then the ends of the box that their sum needs."""
    inequalities, multipliers = [], []
    total: dict[int, Fraction] = {}
    for coef, bound, multiplier in used:
        if not multiplier:
            continue
        inequalities.append(f"(<= {_sum(coef)} {number(bound)})")
        multipliers.append(multiplier)
        for v, c in coef.items():
            total[v] = total.get(v, Fraction(0)) + multiplier * c
    for v, c in sorted(total.items()):
        if c:
            sign, end = (">=", box[0][v]) if c > 0 else ("<=", box[1][v])
            inequalities.append(f"({sign} z{v} {number(Fraction(end))})")
            multipliers.append(abs(c))
    return Part(tuple(inequalities), tuple(multipliers))


def number(value: Fraction) -> str:
    """Write a fraction as SMT-LIB writes a real.

    Examples
    --------
    >>> number(Fraction(-3, 2)), number(Fraction(4))
    ('(- (/ 3.0 2.0))', '4.0')
    """
    size = abs(value)
    text = f"{size.numerator}.0" if size.denominator == 1 else f"(/ {size.numerator}.0 {size.denominator}.0)"
    return f"(- {text})" if value < 0 else text


def _sum(coef: dict[int, Fraction]) -> str:
    terms = [f"(* {number(c)} z{v})" for v, c in sorted(coef.items()) if c]
    return "0.0" if not terms else terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def _joined(name: str, formulas: Iterable[str]) -> str:
    formulas = list(formulas)
    return formulas[0] if len(formulas) == 1 else f"({name} {' '.join(formulas)})"


def _assertion(parts: list[Part]) -> str:
    return _joined("or", (_joined("and", part.inequalities) for part in parts))


def smt_problem(parts: list[Part], title: str = "") -> str:
    """Write the claim that some part has a point; it is unsatisfiable.

    Examples
    --------
    >>> part = Part(("(<= (* 1.0 z0) 0.0)", "(>= z0 1.0)"), (Fraction(1), Fraction(1)))
    >>> print(smt_problem([part]))
    (set-logic QF_LRA)
    (set-info :status unsat)
    (declare-const z0 Real)
    (assert (and (<= (* 1.0 z0) 0.0) (>= z0 1.0)))
    (check-sat)
    (exit)
    <BLANKLINE>
    """
    text = _assertion(parts)
    used = sorted({int(word[1:].rstrip(")")) for word in text.split() if word.startswith("z")})
    remark = [f"; {ascii(title)[1:-1]}"] if title else []
    declared = [f"(declare-const z{v} Real)" for v in used]
    head = ["(set-logic QF_LRA)", "(set-info :status unsat)"]
    return "\n".join([*remark, *head, *declared, f"(assert {text})", "(check-sat)", "(exit)", ""])


def alethe_proof(parts: list[Part]) -> str:
    """Write the proof that the problem is unsatisfiable.

    Examples
    --------
    >>> part = Part(("(<= (* 1.0 z0) 0.0)", "(>= z0 1.0)"), (Fraction(1), Fraction(1)))
    >>> print(alethe_proof([part]))
    (assume h (and (<= (* 1.0 z0) 0.0) (>= z0 1.0)))
    (step p0.i0 (cl (not (and (<= (* 1.0 z0) 0.0) (>= z0 1.0))) (<= (* 1.0 z0) 0.0)) :rule and_pos :args (0))
    (step p0.i1 (cl (not (and (<= (* 1.0 z0) 0.0) (>= z0 1.0))) (>= z0 1.0)) :rule and_pos :args (1))
    (step p0.la (cl (not (<= (* 1.0 z0) 0.0)) (not (>= z0 1.0))) :rule la_generic :args (1.0 1.0))
    (step p0 (cl (not (and (<= (* 1.0 z0) 0.0) (>= z0 1.0)))) :rule resolution :premises (p0.la p0.i0 p0.i1))
    (step end (cl) :rule resolution :premises (h p0))
    <BLANKLINE>
    """
    formulas = [_joined("and", part.inequalities) for part in parts]
    lines = [f"(assume h {_assertion(parts)})"]
    first = "h"
    if len(parts) > 1:
        lines.append(f"(step c (cl {' '.join(formulas)}) :rule or :premises (h))")
        first = "c"
    for n, (part, formula) in enumerate(zip(parts, formulas)):
        clause = " ".join(f"(not {inequality})" for inequality in part.inequalities)
        multipliers = " ".join(map(number, part.multipliers))
        closing = f"(cl {clause}) :rule la_generic :args ({multipliers}))"
        if len(part.inequalities) == 1:
            lines.append(f"(step p{n} {closing}")
            continue
        for k, inequality in enumerate(part.inequalities):
            lines.append(f"(step p{n}.i{k} (cl (not {formula}) {inequality}) :rule and_pos :args ({k}))")
        lines.append(f"(step p{n}.la {closing}")
        steps = " ".join(f"p{n}.i{k}" for k in range(len(part.inequalities)))
        lines.append(f"(step p{n} (cl (not {formula})) :rule resolution :premises (p{n}.la {steps}))")
    closed = " ".join(f"p{n}" for n in range(len(parts)))
    return "\n".join([*lines, f"(step end (cl) :rule resolution :premises ({first} {closed}))", ""])


def main(words: list[str] | None = None) -> int:
    """Write a problem and a proof for each claim of a proof file that holds."""
    parser = argparse.ArgumentParser(
        prog="dtsemnet-check-smt",
        description="Write a proof about a decision tree as SMT-LIB problems and Alethe proofs.",
    )
    parser.add_argument("proof", type=Path, help="proof file (JSON)")
    parser.add_argument("folder", type=Path, help="folder for claim-N.smt2 and claim-N.alethe")
    options = parser.parse_args(words)
    written = 0
    try:
        document = dtsemnet_check.read(options.proof.read_bytes(), None)
        require(document["format"] == "dtsemnet-proof", "proofs about loops have no problems of linear arithmetic yet")
        domain = Domain(Model(document["model"]), document["domain"])
        options.folder.mkdir(parents=True, exist_ok=True)
        for n, claim in enumerate(document["claims"]):
            if not claim["holds"]:
                continue
            walk = Walk(claim["statement"], domain, document.get("second"))
            parts = parts_of(walk, claim["certificate"])
            if not parts:
                continue  # the order of doubles, or points computed one by one, are the whole proof
            for suffix, text in (
                ("smt2", smt_problem(parts, json.dumps(claim["statement"]))),
                ("alethe", alethe_proof(parts)),
            ):
                (options.folder / f"claim-{n}.{suffix}").write_text(text, "ascii")
            written += 1
    except Unproved as error:
        print(f"not proved: {ascii(str(error))[1:-1][:200]}", file=sys.stderr)
        return 1
    except (Malformed, OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        print(f"refused: {ascii(str(error))[1:-1][:200]} ({type(error).__name__})", file=sys.stderr)
        return 2
    print(f"{written} problems written to {ascii(str(options.folder))[1:-1]}, each with its proof")
    return 0


if __name__ == "__main__":
    sys.exit(main())
