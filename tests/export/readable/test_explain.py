"""One prediction explained: every number it gives is the tree's."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export.readable.explain import explain
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from strategies import points, trees, wild_points, wild_trees

COLUMNS = [
    Column("age", center=40.0, scale=0.1, missing="indicator", fill=50.0),
    Column("colour", categories=["red", "green", "blue"], missing="indicator"),
    Column("dose", center=1.0, scale=-0.5, lower=-1.0, upper=2.0),
]


@st.composite
def cases(draw):
    """A model with missing values, categories and a clipped number, and one row for it."""
    tree = draw(trees(n_features=7, max_splits=7))
    age = draw(st.sampled_from([None, 0.0, 30.0, 47.5]))
    colour = draw(st.sampled_from(["red", "green", "blue", "violet", None]))
    return Model(Encoder(COLUMNS), tree), {
        "age": age,
        "colour": colour,
        "dose": draw(st.sampled_from([-9.0, 0.5, 3.0])),
    }


def table(*rows):
    array = np.empty((len(rows), 3), dtype=object)
    array[:] = [list(row.values()) for row in rows]
    return array


@settings(max_examples=50)
@given(st.data(), trees(n_features=3))
def test_path_leaf_and_prediction_are_the_trees(data, tree):
    x = data.draw(points(3, max_rows=1))
    found = explain(tree, x[0])
    assert found.leaf == tree.apply(x)[0]
    path = [i for i in tree.decision_path(x)[0] if i >= 0]
    assert [step.split for step in found.path] == path
    assert [step.score for step in found.path] == tree.scores(x)[0, path].tolist()
    assert all(step.yes == (step.score > 0) for step in found.path)
    assert np.array_equal(found.prediction, tree.predict(x)[0])
    for step in found.path:
        assert step.bias + sum(term.amount for term in step.terms) == pytest.approx(step.score)


@settings(max_examples=50)
@given(st.data(), st.sampled_from(["linear", "guard", "multi-output", "constant"]), st.booleans())
def test_attributions_sum_to_the_output_before_the_guard(data, kind, compared):
    tree = data.draw(trees(kind=kind, n_features=3))
    x, background = data.draw(points(3, max_rows=1)), data.draw(points(3))
    found = explain(tree, x[0], background=background if compared else None)
    wanted = np.atleast_1d(tree.predict(x)[0])
    for output, answer in zip(found.outputs, wanted, strict=True):
        assert output.baseline + sum(term.amount for term in output.contributions) == pytest.approx(output.total)
        assert output.output == answer
        assert (output.clipped is None) == (output.total == output.output)


@settings(max_examples=50)
@given(st.data(), wild_trees(n_features=3, max_splits=5))
def test_attributions_sum_within_rounding_at_any_magnitude(data, tree):
    x = data.draw(wild_points(3, n_rows=1))
    (output,) = explain(tree, x[0]).outputs
    amounts = [output.baseline, *(term.amount for term in output.contributions)]
    assert abs(sum(amounts) - output.total) <= 8 * np.finfo(float).eps * sum(map(abs, amounts))


def test_against_a_background_the_mean_row_gets_no_contribution():
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], coef=[[[2.0, -3.0]]])
    background = np.array([[1.0, 5.0], [3.0, 7.0]])
    (output,) = explain(tree, [2.0, 6.0], background=background).outputs
    assert output.baseline == tree.predict([[2.0, 6.0]])[0]
    assert [term.amount for term in output.contributions] == [0.0, 0.0]


@settings(max_examples=50)
@given(cases())
def test_with_an_encoder_sums_hold_too(case):
    model, row = case
    found = explain(model, row, background=table(row, {"age": 20.0, "colour": "red", "dose": 1.0}))
    X = table(row)
    assert found.leaf == model.apply(X)[0]
    assert np.array_equal(found.prediction, model.predict(X)[0])
    for output in found.outputs:
        assert output.baseline + sum(term.amount for term in output.contributions) == pytest.approx(output.total)
    for step in found.path:
        assert step.bias + sum(term.amount for term in step.terms) == pytest.approx(step.score, abs=1e-12)


def flipped(model, row, step, column, value):
    return (model.scores(table(row | {column: value}))[0, step.split] > 0) != step.yes


@settings(max_examples=50)
@given(cases())
def test_each_flip_turns_its_split(case):
    model, row = case
    for step in explain(model, row).path:
        for flip in step.flips:
            assert flipped(model, row, step, flip.column, flip.value)
            if flip.change is not None and abs(flip.change) > 1e-9:
                # Nearest, to rounding: a thousandth less of the change does not turn the split.
                assert not flipped(model, row, step, flip.column, row[flip.column] + 0.999 * flip.change)


@settings(max_examples=50)
@given(cases())
def test_where_a_flip_is_missing_no_value_turns_the_split(case):
    model, row = case
    for step in explain(model, row).path:
        able = {flip.column for flip in step.flips}
        if "colour" not in able:
            assert not any(flipped(model, row, step, "colour", colour) for colour in ["red", "green", "blue"])
        if "dose" not in able:
            assert not any(flipped(model, row, step, "dose", dose) for dose in [-1e6, -3.0, -1.0, 0.0, 1.0, 3.0, 1e6])
        if "age" not in able and row["age"] is not None:
            assert not any(flipped(model, row, step, "age", age) for age in [-1e6, 1e6])


def test_distance_is_euclidean_in_standard_deviations():
    tree = Tree(Topology.complete(1), [[3.0, 4.0]], [0.0], [[0.0], [1.0]])
    background = np.array([[-2.0, -1.0], [2.0, -1.0], [-2.0, 1.0], [2.0, 1.0]])
    (step,) = explain(tree, [1.0, 1.0], background=background).path
    assert step.score == 7
    assert step.distance == pytest.approx(7 / np.hypot(3.0 * 2.0, 4.0 * 1.0))
    first, second = step.flips
    assert (first.change, first.deviations, first.seen) == pytest.approx((-7 / 3, -7 / 6, True))
    assert (second.change, second.deviations, second.seen) == pytest.approx((-7 / 4, -7 / 4, True))
    assert [flip.column for flip in step.nearest] == ["x0", "x1"]
    near = explain(tree, [9.0, 9.0], background=background)
    assert "no column turns this alone within the range of the rows" in str(near)
    assert "x0 <= -12" not in str(near)
    assert [flip.seen for flip in near.path[0].flips] == [False, False]


def test_an_explanation_says_which_columns_pushed_and_which_pulled():
    tree = Tree(Topology.complete(1), [[2.0, -1.0, 0.0]], [-3.0], [[0.0], [1.0]], feature_names=["age", "dose", "more"])
    background = np.array([[5.0, 1.0, 7.0], [7.0, 3.0, 9.0]])
    (step,) = explain(tree, [9.0, 4.0, 0.0], background=background).path
    assert [(push.column, push.amount) for push in step.pushes] == [("age", 6.0), ("dose", -2.0)]
    assert "towards yes: age = 9 (+6); against: dose = 4 (-2)" in str(
        explain(tree, [9.0, 4.0, 0.0], background=background)
    )
    named = explain(tree, [9.0, 4.0, 0.0], output_names=["risk"])
    assert str(named).startswith("risk: 1  (leaf 1)")
    assert named.path[0].pushes == named.path[0].terms


def test_rows_come_in_every_form():
    model = Model(Encoder(COLUMNS), Tree(Topology([]), np.empty((0, 7)), [], [[1.0]], coef=[[[1, 2, 3, 4, 5, 6, 7.0]]]))
    frame = pd.DataFrame({"dose": [2.0], "age": [30.0], "colour": ["blue"], "more": [0]})
    forms = [
        frame, frame.iloc[0], frame.iloc[0].to_dict(), pl.from_pandas(frame), [30.0, "blue", 2.0],
        np.array([30.0, "blue", 2.0], dtype=object), np.array([[30.0, "blue", 2.0]], dtype=object),
        pd.Series([30.0, "blue", 2.0]),
    ]  # fmt: skip
    assert len({str(explain(model, form)) for form in forms}) == 1
    missing = explain(model, {"age": float("nan"), "colour": None, "dose": 2.0})
    assert [term.value for term in missing.outputs[0].contributions] == [None, None, 2.0]
    assert "age = missing" in str(missing)


def test_what_is_not_one_row_is_refused():
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], feature_names=["age", "dose"])
    with pytest.raises(ValueError, match="one row of 2 values"):
        explain(tree, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="one row of 2 values"):
        explain(tree, np.ones((2, 2)))
    with pytest.raises(ValueError, match="got a table of 3"):
        explain(tree, pd.DataFrame({"age": [1.0, 2.0, 3.0], "dose": 1.0}))
    with pytest.raises(ValueError, match="no value for column 'dose'"):
        explain(tree, {"age": 1.0})
    with pytest.raises(ValueError, match="at least one row"):
        explain(tree, [1.0, 2.0], background=np.empty((0, 2)))


@settings(max_examples=50)
@given(cases(), st.booleans())
def test_an_explanation_is_plain_data_and_text(case, compared):
    model, row = case
    found = explain(model, row, background=table(row) if compared else None)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["leaf"] == found.leaf
    assert [step["split"] for step in plain["path"]] == [step.split for step in found.path]
    assert f"(leaf {found.leaf})" in str(found)
    assert found._repr_html_().count("<tr>") >= len(found.path)


def test_notebooks_show_what_pushed_a_row_too():
    tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    shown = explain(tree, [3.0, 1.0], background=[[0.0, 0.0], [1.0, 2.0]])._repr_html_()
    assert "towards yes: x0 = 3 (+2.5)" in shown
    assert "what pushed" not in explain(tree, [3.0, 1.0])._repr_html_()


def test_names_are_escaped_in_html():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], feature_names=["<b>"], class_names=["<i>", "&"])
    shown = explain(tree, [1.0])._repr_html_()
    assert "<b> " not in shown
    assert "&lt;b&gt;" in shown
    assert "&lt;i&gt;" in shown


def test_the_guard_and_the_map_behind_it_are_told():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]], coef=[[[1.0]]], lower=[[-1.0]], upper=[[0.5]])
    model = Model(Encoder.identity(["v"]), tree, TanhScale(0.0, 2.0))
    found = explain(model, [3.0])
    assert found.prediction == model.predict([[3.0]])[0]
    assert (found.outputs[0].clipped, found.outputs[0].output) == ("upper", 0.5)
    assert "within [-1, 0.5]: clipped to 0.5" in str(found)
    assert "tanh" in str(found)
    assert explain(model, [-3.0]).outputs[0].clipped == "lower"


def test_what_is_shown_of_a_sum_adds_up_as_shown():
    tree = Tree(Topology([]), np.empty((0, 3)), [], [[100.0]], coef=[[[1.0, 1.0, 1.0]]])
    lines = str(explain(tree, [0.123456, 22.2, -3.0])).split("\n")[3:]
    assert lines == [" 100.0  intercept", "  22.2  x1 = 22.2", "  -3.0  x2 = -3", "   0.1  x0 = 0.1235", " 119.3  sum"]


def test_long_explanations_stay_short():
    rng = np.random.default_rng(0)
    tree = Tree(
        Topology.complete(1), rng.normal(size=(1, 784)), [0.0], [[0.0], [0.0]], coef=rng.normal(size=(2, 1, 784))
    )
    x = rng.normal(size=784)
    found = explain(tree, x)
    assert len(str(found).split("\n")) < 30
    assert "772 more columns" in str(found)
    assert len(found.outputs[0].contributions) == 784


def test_a_missing_value_that_is_filled_in_is_shown_as_missing():
    columns = [
        Column("age", missing="fill", fill=50.0, center=40.0, scale=0.1),
        Column("colour", categories=["red", "blue"], missing="fill", fill="blue"),
    ]
    tree = Tree(Topology.complete(1), [[1.0, 0.0, 3.0]], [-2.0], [[0.0], [1.0]], coef=np.ones((2, 1, 3)))
    found = explain(Model(Encoder(columns), tree), [None, None])
    assert (found.leaf, found.path[0].score) == (1, 2.0)
    assert [(term.column, term.value) for term in found.path[0].terms] == [("age", None), ("colour", None)]
    assert [flip.column for flip in found.path[0].flips] == ["colour"]  # a missing number stays missing
    assert "age = missing" in str(found)


def test_terms_that_do_next_to_nothing_are_left_out_of_questions_and_counted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    tree = Tree(Topology.complete(1), [[1.0, -2.0, 1e-7]], [0.1], [[0.0], [1.0]])
    (step,) = explain(tree, X[0], background=X).path
    assert step.n_negligible == 1
    assert "x2" not in step.question
    assert "x2" in {term.column for term in step.terms}, "sums are as the tree computes them"
    assert "; 1 small term left out" in str(explain(tree, X[0], background=X))
    assert "x2" in explain(tree, X[0]).path[0].question, "without rows nobody knows what matters"
