"""The law of exports finds what is wrong, and lets pass what is right."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from dtsemnet import export
from dtsemnet.export import Artefact, ExportError, Predictions, check_export
from dtsemnet.export.artefact import CheckReport
from dtsemnet.export.probes import probe_rows, read_table
from dtsemnet.tree import Column, Encoder, MarginProbability, Model, Topology, Tree
from strategies import MODELS, make_model, trees


def as_itself(model: Model, other: Model, *, exact=True, unit=2.0**-53) -> Artefact:
    """An artefact that answers as another model would."""
    return Artefact("model", "", exact, partial(Predictions.of, other), unit)


def moved(model: Model, field: str, index: tuple[int, ...], factor: float) -> Model:
    """The model with one number changed."""
    array = getattr(model.tree, field).copy()
    array[index] = np.nextafter(array[index], np.inf) if factor == 1 else array[index] * factor
    tree = copy.copy(model.tree)
    kept = {name: getattr(tree, name) for name in ("weight", "bias", "value", "coef", "lower", "upper")} | {
        field: array
    }
    changed = Tree(tree.topology, **kept, feature_names=tree.feature_names, class_names=tree.class_names)
    return replace(model, tree=changed)


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_agrees_with_itself(kind):
    model = make_model(kind)
    report = check_export(model, as_itself(model, model))
    assert report.n_rows > 300
    assert (report.n_near, report.n_beyond, report.largest_difference) == (0, 0, 0.0)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "one leaf"])
@pytest.mark.parametrize(
    ("split", "n_rows"), [(0, 3000), *(pytest.param(split, 20_000, marks=pytest.mark.slow) for split in (0, 5, 11))]
)
def test_one_bit_of_a_split_is_found_in_an_exact_export(kind, split, n_rows):
    model = make_model(kind)
    numbers = [feature.index for feature in model.encoder.features if feature.kind == "number"]
    used = next(index for index in numbers if model.tree.weight[split, index] != 0)
    off = moved(model, "weight", (split, used), 1)
    with pytest.raises(ExportError, match="disagrees with the tree on"):
        check_export(model, as_itself(model, off), n_rows=n_rows)


@pytest.mark.parametrize("kind", ["linear", "mixed linear", "tanh"])
def test_a_wrong_leaf_is_found_in_any_export(kind):
    model = make_model(kind)
    reached = int(np.bincount(model.apply(probe_rows(model, None, 300, np.random.default_rng(1)))).argmax())
    off = moved(model, "value", (reached, 0), 1.001)
    for exact in (True, False):
        with pytest.raises(ExportError, match="disagrees"):
            check_export(model, as_itself(model, off, exact=exact, unit=2.0**-24), n_rows=3000)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "one leaf"])
def test_rounding_to_floats_is_counted_not_refused(kind):
    model = make_model(kind)
    tree = model.tree
    rounded = {name: getattr(tree, name) for name in ("weight", "bias", "value", "coef", "lower", "upper")}
    rounded = {k: None if v is None else v.astype(np.float32).astype(float) for k, v in rounded.items()}
    if tree.is_classifier:
        rounded["value"] = tree.value
    floats = replace(model, tree=Tree(tree.topology, **rounded, class_names=tree.class_names))
    report = check_export(model, as_itself(model, floats, exact=False, unit=2.0**-24), n_rows=3000)
    assert report.n_near > 0
    with pytest.raises(ExportError):
        check_export(model, as_itself(model, floats), n_rows=3000)


def test_floats_of_columns_far_from_zero_are_counted_not_refused():
    column = Column("a", center=1000.0, scale=0.1)
    line = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]], coef=[[[1.0]]])
    model = Model(Encoder([column]), line)

    def in_floats(rows):
        x = (rows.astype(np.float32) - np.float32(1000)) * np.float32(0.1)
        return Predictions(np.zeros(len(rows), np.int64), x.astype(float))

    rows = np.random.default_rng(0).normal(1000, 1, (300, 1))
    assert check_export(model, Artefact("model", "", False, in_floats, 2.0**-24), rows).n_rows > 300
    with pytest.raises(ExportError, match="disagrees"):
        check_export(model, Artefact("model", "", False, lambda rows: in_floats(rows + 0.01), 2.0**-24), rows)


@given(trees())
def test_probes_come_near_every_split_that_can_be_steered(tree):
    model = Model.of(tree)
    rows = probe_rows(model, None, 100, np.random.default_rng(0))
    rows = rows[np.abs(rows).max(axis=1) < 1e100]  # no sum overflows
    scores, size = tree.scores(rows), np.abs(rows) @ np.abs(tree.weight).T + np.abs(tree.bias)
    near = np.abs(scores) <= 1e-12 * size + 1e-300
    steerable = (tree.weight != 0).any(axis=1)
    assert (near & (scores > 0)).any(axis=0)[steerable].all()
    assert (near & (scores <= 0)).any(axis=0)[steerable].all()


def test_the_weight_of_missing_values_does_not_scale_the_probes():
    tree = Tree(Topology.complete(1), [[1.0, 1e6]], [-1000.0], [[0.0], [1.0]])
    model = Model(Encoder([Column("income", missing="indicator", fill=1000.0)]), tree)
    rows = probe_rows(model, None, 1000, np.random.default_rng(0))
    assert np.nanmedian(np.abs(rows)) > 100  # thresholds lie at 1000, not at 1000 / 1e6


@pytest.mark.parametrize("target", ["c", "sql", "python", "numpy_function", "onnx", "smt2", "json"])
def test_a_column_without_categories_is_exported(target):
    tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-0.5], [[0.0], [1.0]])
    model = Model(Encoder([Column("empty", categories=[], missing="indicator"), Column("size")]), tree)
    assert getattr(export, f"to_{target}")(model).report.n_rows > 300


def test_tables_are_read_from_frames_and_arrays_alike():
    model = make_model("mixed class")
    rows = probe_rows(model, None, 50, np.random.default_rng(0))
    frame = pd.DataFrame(rows, columns=[column.name for column in model.encoder.columns])
    again = read_table(model, frame[frame.columns[::-1]])
    np.testing.assert_array_equal(model.transform(again), model.transform(rows))
    np.testing.assert_array_equal(model.transform(read_table(model, rows.tolist())), model.transform(rows))


def test_rows_with_a_column_too_many_are_refused():
    model = make_model("class")
    with pytest.raises(ValueError, match="column"):
        read_table(model, np.zeros((2, model.encoder.n_columns + 1)))


@pytest.mark.parametrize("kind", ["margin class", "mixed margin"])
@pytest.mark.parametrize(("unit", "share"), [(2.0**-53, 1e-10), (2.0**-24, 1e-3)])
def test_a_probability_that_rounding_does_not_explain_is_found(kind, unit, share):
    model = make_model(kind)
    rate = model.probability.rate * (1 + share)
    wrong = replace(model, probability=replace(model.probability, rate=rate))
    check_export(model, as_itself(model, model, exact=False, unit=unit), n_rows=300)
    with pytest.raises(ExportError, match="disagrees"):
        check_export(model, as_itself(model, wrong, exact=False, unit=unit), n_rows=300)


def test_rows_whose_margins_overflow_floats_are_left_out():
    value = [[0.9, 0.1], [0.2, 0.8]]
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [2e37], value, class_names=["a", "b"])
    shares, margins = (
        Model.of(tree),
        Model(Encoder.identity(["x", "y"]), tree, probability=MarginProbability(0.7, 1, 0)),
    )
    for model, all_beyond in ((shares, False), (margins, True)):
        report = check_export(model, as_itself(model, model, exact=False, unit=2.0**-24), n_rows=50)
        assert (report.n_rows == 0) == all_beyond
        assert report.n_beyond > 0


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((1, 0, 0.0), "agrees on 9 rows (1 of them lies so near to a split that rounding may take its other side)"),
        ((2, 0, 0.5), "agrees on 9 rows (2 of them lie so near to a split that rounding may take its other side), "
                      "outputs within 0.5"),
        ((0, 1, 0.0), "agrees on 9 rows; 1 more row with numbers too large or too small for it left out"),
        ((0, 2, 0.0), "agrees on 9 rows; 2 more rows with numbers too large or too small for it left out"),
    ],
)  # fmt: skip
def test_a_report_counts_in_words(counts, said):
    assert str(CheckReport(9, *counts)) == said


def test_many_rows_are_compared_in_blocks_and_counted_as_one(monkeypatch):
    model = make_model("linear")
    whole, told = check_export(model, as_itself(model, model)), []
    monkeypatch.setattr(export.artefact, "BLOCK", 100)
    blocks = check_export(model, as_itself(model, model), progress=lambda *said: told.append(said))
    assert blocks == whole
    assert told == [(start, whole.n_rows) for start in range(0, whole.n_rows, 100)]
