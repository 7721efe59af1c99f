"""Every export gives the margin probabilities of the model, and its check finds other ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export import (
    Artefact,
    ExportError,
    Predictions,
    check_export,
    explain,
    to_c,
    to_json,
    to_numpy_function,
    to_onnx,
    to_python,
    to_smt2,
    to_sql,
)
from dtsemnet.export.sql import query
from dtsemnet.tree import MarginProbability, Model, Topology, Tree
from strategies import make_model, points, probabilities, trees, wild_points, wild_trees, with_classes

EXACT = {
    "C": to_c,
    "Python": to_python,
    "numpy": to_numpy_function,
    "SQL": partial(to_sql, output="proba"),
    "JSON": to_json,
}
ROUNDING = {
    "C float": partial(to_c, number="float"),
    "ONNX": to_onnx,
    "ONNX double": partial(to_onnx, dtype="float64"),
}


def in_duckdb(model: Model, artefact: Artefact, rows) -> Predictions:
    frame = pd.DataFrame(rows, columns=[column.name for column in model.encoder.columns])
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("given", frame.assign(**{"row number": np.arange(len(frame))}))
        found = connection.execute(f'SELECT {artefact.text} FROM given ORDER BY "row number"').fetchall()
    return Predictions(output=np.array(found, dtype=np.float64).reshape(len(rows), -1))


@pytest.mark.parametrize("export", EXACT.values(), ids=EXACT)
@settings(max_examples=8)
@given(tree=trees(kind="class"), probability=probabilities(), data=st.data())
def test_every_tree_agrees(export, tree, probability, data):
    model, X = replace(Model.of(tree), probability=probability), data.draw(points(tree.n_features))
    artefact = export(model, X)
    assert artefact.report.n_near == 0
    output = artefact.answer(X).output
    np.testing.assert_allclose(output, model.predict_proba(X), rtol=1e-14)
    np.testing.assert_array_equal(output.argmax(axis=1), tree.leaf_class[tree.apply(X)])  # on hyperplanes too


@pytest.mark.parametrize("export", EXACT.values(), ids=EXACT)
@settings(max_examples=5)
@given(tree=wild_trees(max_splits=7), probability=probabilities(), data=st.data())
def test_every_magnitude_agrees(export, tree, probability, data):
    X = data.draw(wild_points(tree.n_features))
    model = replace(Model.of(with_classes(tree, 3, 0)), probability=probability)
    assert export(model, X).report.n_near == 0


@pytest.mark.parametrize("export", ROUNDING.values(), ids=ROUNDING)
@settings(max_examples=8)
@given(tree=trees(kind="class"), probability=probabilities(), data=st.data())
def test_every_tree_agrees_within_rounding(export, tree, probability, data):
    if probability.rate > 1e30:
        probability = replace(probability, rate=1e30)  # no float holds more
    model, X = replace(Model.of(tree), probability=probability), data.draw(points(tree.n_features))
    artefact = export(model, X)
    answer = artefact.answer(X)  # sums of eighths are exact in floats too
    np.testing.assert_array_equal(answer.leaf, model.apply(X))
    np.testing.assert_array_equal(answer.output.argmax(axis=1), tree.leaf_class[tree.apply(X)])
    np.testing.assert_allclose(answer.output, model.predict_proba(X), rtol=1e-3, atol=1e-5)


@settings(max_examples=8)
@given(tree=trees(kind="class"), probability=probabilities())
def test_every_tree_agrees_in_duckdb(tree, probability):
    model = replace(Model.of(tree), probability=probability)
    artefact = to_sql(model, output="proba")
    duck = replace(artefact, answer=partial(in_duckdb, model, artefact))
    assert check_export(model, duck, n_rows=100).n_near == 0


@pytest.mark.parametrize("kind", ["margin class", "mixed margin"])
@pytest.mark.parametrize("export", (EXACT | ROUNDING).values(), ids=EXACT | ROUNDING)
def test_every_model_agrees_to_the_digits_of_its_arithmetic(kind, export):
    report = export(make_model(kind)).report
    assert report.n_rows > 300
    assert report.largest_difference < (1e-15 if export in EXACT.values() else 1e-4)


def test_a_deep_tree_of_many_classes_agrees_in_both_databases():
    rng = np.random.default_rng(0)
    topology = Topology.complete(6)
    value = rng.dirichlet(np.full(6, 0.3), topology.n_leaves)
    tree = Tree(topology, rng.normal(size=(63, 5)), rng.normal(size=63), value, class_names=list("abcdef"))
    model = replace(Model.of(tree), probability=MarginProbability(2.0, 0.5, 0.1))
    artefact = to_sql(model, output="proba")
    X = rng.normal(size=(50, 5))
    np.testing.assert_allclose(in_duckdb(model, artefact, X).output, model.predict_proba(X), rtol=1e-14)


def test_names_of_columns_do_not_clash_with_those_of_the_stages():
    tree = Tree(Topology.complete(1), [[1.0, -2.0]], [0.5], [[0.9, 0.1], [0.3, 0.7]], class_names=["p0", "p1"],
                feature_names=["p1", "p0"])  # fmt: skip
    model, X = replace(Model.of(tree), probability=MarginProbability(1.5)), np.array([[1.0, 3.0], [-2.0, 0.25]])
    for table in (None, "p"):
        artefact = to_sql(model, output="proba", table=table)
        np.testing.assert_allclose(query(["p1", "p0"], X, artefact.text, table or "t", 2), model.predict_proba(X))
    np.testing.assert_allclose(in_duckdb(model, to_sql(model, output="proba"), X).output, model.predict_proba(X))


def test_rows_with_a_sum_that_overflows_off_the_path_have_no_probabilities():
    tree = Tree(
        Topology([[-1, 1], [-2, -3]]), [[1.0, 0.0], [1e10, -1e10]], [0.0, 0.0], np.eye(3), class_names=[0, 1, 2]
    )
    model, rows = replace(Model.of(tree), probability=MarginProbability(1.0)), np.array([[-1e300, -1e300], [1.0, 1.0]])
    with pytest.raises(ValueError, match="overflow"):
        model.predict_proba(rows)
    text = to_sql(model, output="proba").text
    for found in (
        query(["x0", "x1"], rows, text, "t", 3),
        in_duckdb(model, to_sql(model, output="proba"), rows).output,
    ):
        assert np.isnan(np.array(found, dtype=float)).tolist() == [[True] * 3, [False] * 3]
    for export in (to_python, to_numpy_function):
        module = {}
        exec(export(model).text, module)
        row = rows[0].tolist() if export is to_python else rows[:1]
        with pytest.raises(ValueError, match="overflow"):
            module["predict_proba"](row)
        assert module["predict"](row) == 0


def as_other(other: Model, *, exact: bool, unit: float = 2.0**-53) -> Artefact:
    return Artefact("model", "", exact, partial(Predictions.of, other), unit)


@pytest.mark.parametrize("field", ["rate", "power", "floor"])
def test_other_numbers_are_found_and_rounding_is_not(field):
    model = make_model("margin class")
    probability = model.probability

    def changed(by: float) -> Model:
        return replace(model, probability=replace(probability, **{field: getattr(probability, field) * (1 + by)}))

    assert check_export(model, as_other(changed(0.0), exact=True)).largest_difference == 0
    with pytest.raises(ExportError, match="disagrees"):
        check_export(model, as_other(changed(1e-12), exact=True))
    for unit, by in ((2.0**-53, 1e-9), (2.0**-24, 1e-2)):
        with pytest.raises(ExportError, match="disagrees"):
            check_export(model, as_other(changed(by), exact=False, unit=unit))
        assert check_export(model, as_other(changed(unit), exact=False, unit=unit)).n_rows > 300


@pytest.mark.parametrize("exact", [True, False])
def test_shares_are_not_margin_probabilities(exact):
    model = make_model("margin class")
    with pytest.raises(ExportError, match="disagrees"):
        check_export(model, as_other(replace(model, probability=None), exact=exact))


def test_scripts_for_proofs_keep_the_shares_of_the_leaf():
    model = make_model("margin class")
    script = to_smt2(model)
    assert script.text == to_smt2(replace(model, probability=None)).text
    assert check_export(model, script, n_rows=100).n_rows > 50


def test_an_explanation_shows_the_probabilities_of_the_row_and_the_shares_of_the_leaf():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.8, 0.2], [0.2, 0.8]], class_names=["no", "yes"])
    model = replace(Model.of(tree), probability=MarginProbability(1.0))
    said = explain(model, [2.0])
    assert said.classes == tuple(zip(["no", "yes"], model.predict_proba([[2.0]])[0].tolist()))
    assert said.shares == (("no", 0.2), ("yes", 0.8))
    assert str(said).endswith("probabilities\n  96.7 %  yes\n   3.3 %  no\n\nleaf 1 holds\n  80.0 %  yes\n  20.0 %  no")
    assert "probabilities" not in str(explain(tree, [2.0]))
