"""The SQL expression answers as the tree does in sqlite and duckdb, and is NULL if the tree refuses a row."""

from __future__ import annotations

import functools
import math
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from databases import frame_of, in_duckdb, run_in_duckdb
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.export import check_export
from dtsemnet.export.sql import ordered_sum, query, to_sql
from dtsemnet.export.sql.values import double
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import MODELS, make_model, trees, wild_points, wild_trees

cached = functools.cache(lambda kind, output="predict": to_sql(make_model(kind), output=output))

CASES = [
    (kind, output)
    for kind in MODELS
    for output in ("predict", "leaf", "proba")
    if output != "proba" or make_model(kind).is_classifier
]


@pytest.mark.parametrize(("kind", "output"), CASES)
def test_every_model_agrees(kind, output):
    assert cached(kind, output).report.n_near == 0


@pytest.mark.parametrize(("kind", "output"), [*((kind, "predict") for kind in MODELS), ("mixed class", "proba")])
def test_every_model_agrees_in_duckdb(kind, output):
    model = make_model(kind)
    artefact = cached(kind, output)
    assert check_export(model, run_in_duckdb(model, artefact, output), n_rows=300).n_near == 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "output"), CASES)
def test_every_model_agrees_on_many_rows(kind, output):
    model = make_model(kind)
    artefact = to_sql(model, output=output)
    for database in (artefact, run_in_duckdb(model, artefact, output)):
        assert check_export(model, database, n_rows=170_000).n_rows >= 100_000


@given(trees())
@settings(max_examples=30)
def test_every_tree_agrees(tree):
    assert to_sql(tree, output="leaf").report.n_near == 0
    assert to_sql(tree).report.n_near == 0


@given(wild_trees(max_splits=7), st.data())
@settings(max_examples=15)
def test_every_magnitude_agrees(tree, data):
    assert to_sql(tree, data.draw(wild_points(tree.n_features))).report.n_near == 0


@given(wild_trees(max_splits=3), st.data())
@settings(max_examples=5)
def test_every_magnitude_agrees_in_duckdb(tree, data):
    X, model = data.draw(wild_points(tree.n_features)), Model.of(tree)
    values = in_duckdb(frame_of(model, X), to_sql(tree).text)
    assert_array_equal([value for (value,) in values], tree.predict(X))


@given(wild_trees(), st.data())
def test_an_ordered_sum_is_the_sum_of_the_tree(tree, data):
    X = data.draw(wild_points(tree.n_features))
    scores = tree.scores(X)
    for i, x in enumerate(X):
        for split in range(tree.n_splits):
            terms = {j: w * v for j, (w, v) in enumerate(zip(tree.weight[split], x)) if w != 0}
            total = ordered_sum(terms, lambda a, b: a + b)
            assert (0.0 if total is None else total) + tree.bias[split] == scores[i, split]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@settings(max_examples=25)
@example([5e-324, -5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, 1.7976931348623157e308, -0.0])
@example([0.1, 1 / 3, 1e22, 1e23, 9007199254740993.0, 123456789.125, 0.30000000000000004])
def test_literals_are_read_as_the_number_that_was_written(numbers):
    select = "SELECT " + ", ".join(map(double, numbers))
    with sqlite3.connect(":memory:") as lite, duckdb.connect() as connection:
        assert list(lite.execute(select).fetchone()) == numbers
        assert list(connection.execute(select).fetchone()) == numbers


def mixed_row(**changed):
    row = {"age": 30.0, "it's a colour": "red", "rooms": 2, "income": 900.0, "weight": 70.0, "plain": 1.5} | changed
    return np.array([list(row.values())], dtype=object)


@pytest.mark.parametrize(
    "changed", [{"income": None}, {"plain": None}, {"plain": math.inf}, {"plain": -math.inf}, {"income": math.inf},
                {"age": math.inf}]
)  # fmt: skip
@pytest.mark.parametrize("output", ["predict", "leaf"])
def test_rows_that_the_tree_refuses_are_null(changed, output):
    model, row = make_model("mixed class"), mixed_row(**changed)
    with pytest.raises(ValueError, match="must be finite"):
        model.predict(row)
    text = cached("mixed class", output).text
    assert query([c.name for c in model.encoder.columns], row, text, "t") == [(None,)]
    assert in_duckdb(frame_of(model, row), text) == [(None,)]


@pytest.mark.parametrize("name", ["income", "plain"])
def test_nan_in_duckdb_is_a_missing_value(name):
    model = make_model("mixed class")
    text, frame = cached("mixed class").text, frame_of(model, mixed_row())
    nan = text.replace(f'"{name}"', "CAST('NaN' AS DOUBLE)")
    assert in_duckdb(frame, nan) == [(None,)]
    text = cached("mixed class", "leaf").text.replace('"weight"', "CAST('NaN' AS DOUBLE)")
    assert in_duckdb(frame, text) == [(model.apply(mixed_row(weight=None))[0],)]


def test_sums_that_overflow_both_ways_are_null():
    tree = Tree(Topology.complete(1), [[1e10, -1e10]], [0.0], [[1.0], [2.0]], feature_names=["a", "b"])
    rows = np.array([[1e300, 1e300], [1e300, 1.0], [1.0, 1e300]])
    with pytest.raises(ValueError, match="overflow"):
        tree.predict(rows[:1])
    text = to_sql(tree).text
    assert query(["a", "b"], rows, text, "t") == [(None,), (2.0,), (1.0,)]
    assert in_duckdb(pd.DataFrame(rows, columns=["a", "b"]), text) == [(None,), (2.0,), (1.0,)]


@pytest.mark.parametrize("kind", ["FLOAT", "DECIMAL(18, 3)", "BIGINT", "UTINYINT", "BOOLEAN", "VARCHAR"])
def test_columns_of_other_types_are_read_as_doubles(kind):
    model = make_model("linear")
    rows = np.random.default_rng(0).integers(0, 2 if kind == "BOOLEAN" else 100, (200, 8)).astype(float)
    if kind in ("FLOAT", "DECIMAL(18, 3)", "VARCHAR"):
        rows = (rows / 8).astype(np.float32).astype(float)
    names = [f"c{j}" for j in range(8)]
    plain = Model(Encoder.identity(names), Tree(model.tree.topology, model.tree.weight, model.tree.bias,
                                                model.tree.value, model.tree.coef))  # fmt: skip
    values = in_duckdb(pd.DataFrame(rows, columns=names), to_sql(plain).text, [kind] * 8)
    assert [value for (value,) in values] == plain.predict(rows).tolist()


def test_booleans_and_numbers_are_categories_too():
    columns = [Column("yes", categories=[True, False], missing="indicator"), Column("size", categories=[0.1, 2.5])]
    weight = [[0.3, -0.2, 0.7, 0.1, -0.4]]
    model = Model(Encoder(columns), Tree(Topology.complete(1), weight, [-0.1], [[1, 0], [0, 1]], class_names=[0, 1]))
    rows = np.array([[a, b] for a in (True, False, None) for b in (0.1, 2.5, 7.0, None)], dtype=object)
    text, expected = to_sql(model).text, [(label,) for label in model.predict(rows)]
    assert query(["yes", "size"], rows, text, "t") == expected
    frame = pd.DataFrame({"yes": pd.array(rows[:, 0], dtype="boolean"), "size": pd.array(rows[:, 1], dtype="Float64")})
    assert in_duckdb(frame, text) == expected


@pytest.mark.parametrize("depth", [11, 16, 30])
def test_deep_trees_fit_into_the_parsers(depth):
    children = [[~k, k + 1] for k in range(depth - 1)] + [[~(depth - 1), ~depth]]
    rng = np.random.default_rng(0)
    weight, value = rng.normal(size=(depth, 3)), rng.normal(size=(depth + 1, 1))
    tree = Tree(Topology(children), weight, rng.normal(size=depth) + 2, value)
    artefact = to_sql(tree)
    assert check_export(tree, run_in_duckdb(Model.of(tree), artefact, "predict"), n_rows=100).n_near == 0


@pytest.mark.parametrize("filled", [False, True])
def test_deep_trees_with_long_sums_in_the_leaves_fit_into_the_parser_of_sqlite(filled):
    rng = np.random.default_rng(0)
    topology = Topology([[~k, k + 1] for k in range(9)] + [[~9, ~10]])
    weight, coef = rng.normal(size=(10, 40)), rng.normal(size=(11, 1, 40))
    tree = Tree(topology, weight, rng.normal(size=10) + 2, rng.normal(size=(11, 1)), coef)
    columns = [Column(f"x{j}", missing="fill" if filled else None, fill=0.1) for j in range(40)]
    model = Model(Encoder(columns), tree)
    artefact = to_sql(model)
    assert check_export(model, run_in_duckdb(model, artefact, "predict"), n_rows=100).n_near == 0


def test_what_sqlite_cannot_run_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="sqlite cannot run this expression of 2,001 characters"):
        query(["a"], np.array([[1.0]]), "(" * 1000 + "1" + ")" * 1000, "t")


def test_several_outputs_are_a_list_with_names():
    model = make_model("class")
    text = cached("class", "proba").text
    with duckdb.connect() as connection:
        connection.register("t", frame_of(model, np.ones((1, 8))))
        cursor = connection.execute(f"SELECT {text} FROM t")
        assert [column[0] for column in cursor.description] == ["no", "it's", 'a"b\\', "größe"]


def test_labels_of_several_types_are_text():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[True, "x"])
    assert query(["x0"], np.array([[-1.0], [1.0]]), to_sql(tree).text, "t") == [("True",), ("x",)]
    alike = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[1, "1"])
    with pytest.raises(ValueError, match="alike as text"):
        to_sql(alike)


def test_a_column_that_is_not_there_is_an_error_where_the_table_is_named():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]], feature_names=["height"])
    text = to_sql(tree, table="my table").text
    assert query(["height"], np.array([[1.0]]), text, "my table") == [(1.0,)]
    with pytest.raises(ValueError, match=r"no such column: my table\.height"):
        query(["hight"], np.array([[1.0]]), text, "my table")


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "A"], "reads the columns 'a' and 'A' as one"), (["a\0", "b"], r"escape the character .\\x00")],
)
def test_names_that_sql_cannot_hold_are_refused(names, message):
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[0.0], [1.0]], feature_names=names)
    with pytest.raises(ValueError, match=message):
        to_sql(tree)


def test_unknown_outputs_are_refused():
    with pytest.raises(ValueError, match="output must be"):
        to_sql(make_model("linear"), output="proba")


@pytest.mark.parametrize("estimator", [DTSemNetClassifier, DTSemNetRegressor])
def test_fitted_estimators_agree_on_their_rows(estimator):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200)})
    X.loc[::7, "size"] = np.nan
    y = np.where(X["size"].fillna(0) + (X["colour"] == "red") > 0.5, 1, 0)
    fitted = estimator(max_depth=2, n_init=1, max_iter=5, random_state=0).fit(X, y)
    assert to_sql(fitted, X).report.n_rows > 500
