"""The numpy module answers as the tree does, bit for bit, and refuses what the tree refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export import check_export
from dtsemnet.export.probes import probe_rows
from dtsemnet.export.python import to_numpy_function
from strategies import MODELS, make_model, trees, wild_points, wild_trees


def load(model):
    module = {}
    exec(to_numpy_function(model).text, module)
    return module


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind):
    model = make_model(kind)
    assert check_export(model, to_numpy_function(model), n_rows=3000).n_near == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind):
    model = make_model(kind)
    assert check_export(model, to_numpy_function(model), n_rows=170_000).n_rows >= 100_000


@given(trees())
@settings(max_examples=25, deadline=None)
def test_every_tree_agrees(tree):
    assert to_numpy_function(tree).report.n_near == 0


@given(wild_trees(max_splits=7), st.data())
@settings(max_examples=25, deadline=None)
def test_sums_are_taken_in_the_order_of_the_tree(tree, data):
    assert to_numpy_function(tree, data.draw(wild_points(tree.n_features))).report.n_near == 0


def test_tables_may_be_frames_dicts_and_lists():
    model = make_model("mixed class")
    rows, module = probe_rows(model, None, 60, np.random.default_rng(0)), load(model)
    names = [column.name for column in model.encoder.columns]
    expected = model.predict(rows).tolist()
    assert module["predict"](pd.DataFrame(rows, columns=names)).tolist() == expected
    assert module["predict"](dict(zip(names, rows.T))).tolist() == expected
    assert module["predict"](rows.tolist()).tolist() == expected


def test_many_rows_are_read_block_by_block():
    model = make_model("wide")
    X = np.random.default_rng(0).normal(size=(7001, 70))
    np.testing.assert_array_equal(load(model)["apply"](X), model.apply(X))


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ([30.0, "red", 2, None, 70.0, 1.5], "income"),
        ([30.0, "red", 2, 900.0, 70.0, float("inf")], "plain"),
        ([30.0, "red", 2], r"shape \(n_rows, 6\)"),
    ],
)
def test_bad_rows_are_refused_by_column(row, named):
    with pytest.raises(ValueError, match=named):
        load(make_model("mixed class"))["predict"]([row])


def test_a_plain_table_with_a_hole_is_refused():
    X = np.ones((2, 8))
    X[1, 3] = np.nan
    with pytest.raises(ValueError, match="'select' must be finite, got nan in row 1"):
        load(make_model("class"))["predict"](X)


def test_the_module_needs_numpy_alone(tmp_path):
    model = make_model("class")
    to_numpy_function(model).save(tmp_path / "tree.py")
    code = "import sys, tree; print(tree.predict([[1.0] * 8])[0]); print('dtsemnet' in sys.modules)"
    command = [sys.executable, "-X", "utf8", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split("\n")[:2] == [str(model.predict(np.ones((1, 8)))[0]), "False"]
