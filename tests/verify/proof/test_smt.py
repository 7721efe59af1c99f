"""Proof files as SMT-LIB problems, which solvers find unsatisfiable, with Alethe proofs, which are checked."""

from __future__ import annotations

import random
import re

import cvc5
import numpy as np
import pytest
import z3

import dtsemnet_check_smt
from dtsemnet import Topology, Tree
from dtsemnet.verify import Domain, independent, never, reachable_leaves
from verify.finite import finite_case, finite_tree
from verify.proof.alethe import Wrong, check, parse
from verify.questions.test_independent import question
from verify.test_finite_domains import listing


def is_unsat_by_z3(problem):
    solver = z3.Solver()
    solver.from_string(problem)
    return solver.check() == z3.unsat


def is_unsat_by_cvc5(problem):
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, problem, "problem")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, parser.getSymbolManager()).strip())
    return "unsat" in answers


def written(answer, folder):
    """The problems and proofs of an answer."""
    path = answer.save_proof(folder / "answer.proof.json")
    assert dtsemnet_check_smt.main([str(path), str(folder / "smt")]) == 0
    found = []
    for problem in sorted((folder / "smt").glob("*.smt2")):
        found.append((problem.read_text("ascii"), problem.with_suffix(".alethe").read_text("ascii")))
        problem.unlink()
    return found


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 500), marks=pytest.mark.slow)])
def test_every_claim_of_a_finite_domain_is_checked_in_three_ways(seeds, tmp_path, tally):
    n_problems = 0
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed)
        with listing(False):
            found = written(reachable_leaves(case.model, case.domain), tmp_path)
            moved, by = question(case, np.random.default_rng(seed))
            found += written(independent(case.model, moved, case.domain, by=by), tmp_path)
        for problem, proof in found:
            check(problem, proof)
            assert is_unsat_by_z3(problem), seed
            assert is_unsat_by_cvc5(problem), seed
            n_problems += 1
            tally("proofs in SMT-LIB and Alethe", True)
    assert n_problems


@pytest.mark.parametrize("n", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_every_claim_about_boxes_of_doubles_is_checked_in_three_ways(n, tmp_path, tally):
    n_problems = 0
    for seed in range(n):
        tally.next_tree()
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 6))
        tree = finite_tree(rng, d, "class", 8)
        for problem, proof in written(reachable_leaves(tree, Domain(-1.0, 1.0)), tmp_path):
            check(problem, proof)
            assert is_unsat_by_z3(problem), seed
            assert is_unsat_by_cvc5(problem), seed
            n_problems += 1
            tally("proofs in SMT-LIB and Alethe", True)
    assert n_problems > n / 4


def example(tmp_path):
    tree = Tree(
        Topology.complete(2), [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]], [0.0, -2.5, 2.5], np.eye(2)[[0, 1, 1, 0]],
        class_names=["a", "b"],
    )  # fmt: skip
    ((problem, proof),) = written(never(tree, Domain(-1.0, 1.0), "b"), tmp_path)
    return problem, proof


def test_a_claim_is_one_problem_and_its_proof_one_la_generic_for_each_part(tmp_path):
    problem, proof = example(tmp_path)
    assert problem.startswith('; {"kind": "never", "classes": ["b"]}\n')
    (asserted,) = [command[1] for command in parse(problem) if command[0] == "assert"]
    assert (asserted[0], len(asserted)) == ("or", 3)
    assert proof.count(":rule la_generic") == 2
    check(problem, proof)


@pytest.mark.parametrize("seed", range(40))
def test_a_proof_with_one_number_or_sign_changed_is_refused(seed, tmp_path):
    problem, proof = example(tmp_path)
    rng = random.Random(seed)
    lines = proof.splitlines()
    k = rng.choice([i for i, line in enumerate(lines) if "la_generic" in line])
    line, sign, arguments = lines[k].partition(":args")
    choice = seed % 4
    if choice == 0:  # one multiplier
        numbers = re.findall(r"\d+\.0", arguments)
        arguments = arguments.replace(rng.choice(numbers), "987654321.0", 1)
    elif choice == 1:  # one sign
        line = line.replace(*rng.choice([pair for pair in (("<=", ">="), (">=", "<=")) if pair[0] in line]), 1)
    elif choice == 2:  # one bound
        line = line.replace(rng.choice(re.findall(r"\d+\.0", line)), "987654321.0", 1)
    else:  # one step is lost
        del lines[k]
        k = None
    if k is not None:
        lines[k] = line + sign + arguments
    with pytest.raises((Wrong, KeyError)):
        check(problem, "\n".join(lines))


def test_files_that_are_no_proofs_are_refused(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text('{"format": "something"}')
    assert dtsemnet_check_smt.main([str(path), str(tmp_path / "smt")]) == 2
    assert "refused" in capsys.readouterr().err
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    path = never(tree, Domain(0.0, 1.0), "b").save_proof(tmp_path / "proof.json")
    path.write_text(path.read_text("utf-8").replace('"farkas": [["s0", 1.0]]', '"farkas": [["s0", 0.0]]'), "utf-8")
    assert dtsemnet_check_smt.main([str(path), str(tmp_path / "smt")]) == 1
    assert "not proved" in capsys.readouterr().err
