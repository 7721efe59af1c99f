"""SMT-LIB scripts say what the tree says, outside the rounding bound, and z3 can reason with them."""

from __future__ import annotations

import logging
import sys
from fractions import Fraction

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export import check_export, smt
from dtsemnet.export.probes import probe_rows
from dtsemnet.export.smt import constants_of, symbols_of, to_smt2
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import MODELS, make_model, points, trees


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind):
    report = to_smt2(make_model(kind)).report
    assert report.n_rows > 300
    assert report.n_near < report.n_rows / 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind):
    model = make_model(kind)
    assert check_export(model, to_smt2(model), n_rows=170_000).n_rows >= 100_000


@given(trees(n_features=3, max_splits=5), st.data())
@settings(max_examples=15, deadline=None)
def test_exact_scores_reach_the_leaf_of_the_tree_ties_included(tree, data):
    X = data.draw(points(3))
    np.testing.assert_array_equal(to_smt2(tree).answer(X).leaf, tree.apply(X))


@pytest.mark.parametrize("kind", ["mixed linear", "multi-output"])
def test_rows_are_evaluated_as_z3_evaluates_them(kind):
    model = make_model(kind)
    artefact, symbols = to_smt2(model), symbols_of(model.encoder)
    rows = probe_rows(model, None, 30, np.random.default_rng(0))[:12]
    answer = artefact.answer(rows)
    asks = "(declare-const ask Int)(assert (= ask leaf))(declare-const out Real)(assert (= out output.0))"
    leaf, output = (equation.arg(1) for equation in z3.parse_smt2_string(artefact.text + asks)[-2:])
    for i, row in enumerate(rows.tolist()):
        values = z3.Model()
        for name, value in constants_of(model.encoder, symbols, row).items():
            if isinstance(value, bool):
                values.update_value(z3.Bool(name), z3.BoolVal(value))
            else:
                values.update_value(z3.Real(name), z3.RealVal(value[0] * Fraction(2) ** value[1]))
        assert values.eval(leaf, model_completion=True).as_long() == answer.leaf[i]
        assert float(values.eval(output, model_completion=True).as_fraction()) == answer.output[i, 0]


def small_tree():
    """Four leaves with linear models and a guard, small enough for z3 to search."""
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(2, 4, 1)), axis=0)
    coef = rng.normal(size=(4, 1, 3))
    return Tree(Topology.complete(2), rng.normal(size=(3, 3)), rng.normal(size=3), np.zeros((4, 1)), coef, *ends)


def test_z3_finds_a_row_in_every_leaf():
    tree = small_tree()
    text = to_smt2(tree).text
    for k in range(4):
        solver = z3.Solver()
        off = "".join(f"(assert (or (> score.{i} 0.001) (< score.{i} (- 0.001))))" for i in range(3))
        solver.from_string(f"{text}(assert (= leaf {k})){off}")  # off the hyperplanes: rounding cannot matter
        assert solver.check() == z3.sat
        point = solver.model()
        row = [float(point.eval(z3.Real(f"x:x{j}"), model_completion=True).as_fraction()) for j in range(3)]
        assert tree.apply([row]).tolist() == [k]


def test_z3_proves_the_guard():
    tree = small_tree()
    text, most = to_smt2(tree).text, Fraction(float(tree.upper.max()))
    for sign, verdict in ((">", z3.unsat), (">=", z3.sat)):
        solver = z3.Solver()
        solver.from_string(f"{text}(assert ({sign} output.0 (/ {most.numerator}.0 {most.denominator}.0)))")
        assert solver.check() == verdict


def test_at_most_one_category_holds():
    model = make_model("mixed class")
    solver = z3.Solver()
    solver.from_string(f"{to_smt2(model).text}(assert (and |x:rooms=1| |x:rooms=2|))")
    assert solver.check() == z3.unsat


def test_names_that_differ_in_illegal_characters_stay_apart():
    columns = [Column("a|b"), Column("a\\b"), Column("a\nb"), Column("leaf"), Column("abs")]
    tree = Tree(Topology.complete(1), [[1.0, 2.0, 4.0, 8.0, 16.0]], [0.0], [[0.0], [1.0]])
    artefact = to_smt2(Model(Encoder(columns), tree))
    declared = [line.split("|")[1] for line in artefact.text.split("\n") if line.startswith("(declare-const")]
    assert declared == ["x:a_b", "x:a_b (2)", "x:a_b (3)", "x:leaf", "x:abs"]
    assert artefact.answer(np.array([[1.0, -2.0, 0.0, 0.0, 0.25]])).leaf == [1]


def test_without_z3_the_script_is_returned_unchecked(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "z3", None)
    with caplog.at_level(logging.WARNING, logger="dtsemnet"):
        artefact = to_smt2(make_model("class"))
    assert artefact.report is None
    assert "z3 is not installed" in caplog.text


def test_a_large_script_is_returned_unchecked(monkeypatch, caplog):
    monkeypatch.setattr(smt, "MOST_PRODUCTS", 10)
    with caplog.at_level(logging.WARNING, logger="dtsemnet"):
        artefact = to_smt2(make_model("class"))
    assert artefact.report is None
    assert "products" in caplog.text
    assert check_export(make_model("class"), artefact, n_rows=50).n_rows > 50
