"""The table of a tree: what it says is what the tree does."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export import to_text
from dtsemnet.export.readable.frame import to_frame
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import points, trees


def walk(frame, labels, x):
    """Find the leaf of a row by the table alone."""
    node = frame.index[0]
    while node.startswith("split"):
        row = frame.loc[node]
        score = row["intercept"] + sum(row[f"coef {label}"] * number for label, number in zip(labels, x))
        below = frame[(frame["parent"] == node) & (frame["branch"] == ("yes" if score > 0 else "no"))]
        node = below.index[0]
    return node


@settings(max_examples=40)
@given(st.data(), trees(n_features=3, max_splits=7))
def test_walking_the_table_reaches_the_leaf(data, tree):
    frame = to_frame(tree)
    for x, leaf in zip(X := data.draw(points(3)), tree.apply(X)):
        assert walk(frame, tree.feature_labels, x) == f"leaf {leaf}"


@settings(max_examples=40)
@given(trees(max_splits=7))
def test_rows_stand_in_the_order_of_the_text(tree):
    frame = to_frame(tree)
    frame = frame[~frame.index.duplicated()]
    lines = to_text(tree, width=None, max_terms=40).split("\n")
    assert ["split" if line.endswith("?") else "leaf" for line in lines] == [node.split()[0] for node in frame.index]
    assert sorted(frame.index) == sorted(
        [f"split {i}" for i in range(tree.n_splits)] + [f"leaf {i}" for i in range(tree.n_leaves)]
    )
    deeper = frame["parent"].dropna()
    assert (frame.loc[deeper.index, "depth"].to_numpy() == frame.loc[deeper, "depth"].to_numpy() + 1).all()


@settings(max_examples=40)
@given(st.data(), trees(n_features=3, max_splits=7))
def test_leaves_hold_the_numbers_of_the_tree(data, tree):
    frame = to_frame(tree)
    X = data.draw(points(3, max_rows=5))
    for x, leaf, wanted in zip(X, tree.apply(X), tree.predict(X)):
        rows = frame.loc[[f"leaf {leaf}"]]
        if tree.is_classifier:
            assert rows["class"].iloc[0] == wanted
            shares = [rows[f"share {name}"].iloc[0] for name in tree.class_names]
            assert shares == tree.value[leaf].tolist()
            continue
        output = rows["intercept"] + sum(
            rows[f"coef x{j}" if not tree.feature_names else f"coef column {j}"] * x[j] for j in range(3)
        )
        lower = rows.get("lower", pd.Series(-np.inf, rows.index))
        upper = rows.get("upper", pd.Series(np.inf, rows.index))
        assert np.clip(output, lower, upper).tolist() == np.atleast_1d(wanted).tolist()
        if tree.n_outputs > 1:
            assert rows["output"].tolist() == list(range(tree.n_outputs))


@settings(max_examples=40)
@given(st.data(), trees(n_features=2, max_splits=7))
def test_counts_add_up(data, tree):
    X = data.draw(points(2))
    frame = to_frame(tree, X)
    frame = frame[~frame.index.duplicated()]
    assert frame["rows"].iloc[0] == len(X)
    assert frame["row_share"].iloc[0] == 1
    leaves = frame[frame.index.str.startswith("leaf")]
    assert leaves["rows"].sum() == len(X)
    for node in frame.index[frame.index.str.startswith("split")]:
        assert frame.loc[frame["parent"] == node, "rows"].sum() == frame.loc[node, "rows"]


def test_targets_tell_how_good_each_node_is():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    X, y = [[-1.0], [-2.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b", "a"]
    frame = to_frame(tree, X, y)
    assert frame["accuracy"].tolist() == pytest.approx([3 / 5, 2 / 3, 1 / 2])
    assert frame["rows a"].tolist() == [2, 1, 1]
    assert frame["rows b"].tolist() == [3, 2, 1]
    line = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [10.0]])
    frame = to_frame(line, X, [3.0, -1.0, 10.0, 10.0, 13.0])
    assert frame.loc["leaf 0", "rmse"] == pytest.approx(np.sqrt((9 + 1) / 2))
    assert frame.loc["split 0", "rmse"] == pytest.approx(np.sqrt((9 + 1 + 0 + 0 + 9) / 5))
    empty = to_frame(line, [[1.0]], [10.0])
    assert empty.loc["leaf 0", "rows"] == 0
    assert np.isnan(empty.loc["leaf 0", "rmse"])


def test_each_output_has_its_own_error():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0, 1.0], [2.0, 3.0]])
    frame = to_frame(tree, [[1.0], [1.0]], [[2.0, 5.0], [4.0, 3.0]])
    assert frame.loc["leaf 1", "rmse"].tolist() == pytest.approx([np.sqrt(2), np.sqrt(2)])
    frame = to_frame(tree, [[1.0]], [[2.0, 7.0]])
    assert frame.loc["leaf 1", "rmse"].tolist() == [0.0, 4.0]
    assert frame.loc["split 0", "rmse"] == pytest.approx(np.sqrt(8))


def test_a_model_is_laid_out_in_raw_units():
    columns = [
        Column("age", center=40.0, scale=0.1, missing="indicator", fill=50.0),
        Column("colour", categories=["red", "blue"]),
    ]
    tree = Tree(Topology.complete(1), [[1.0, 0.5, 2.0, 0.0]], [-1.0], [[0.0], [1.0]])
    first = to_frame(Model(Encoder(columns), tree)).loc["split 0"]
    assert first["coef age"] == pytest.approx(0.1)
    assert first["intercept"] == pytest.approx(-5.0)
    # Missing means 50: what the indicator adds is its own weight and the number filled in.
    assert first["coef age missing"] == pytest.approx(0.5 + 5.0)
    assert first["coef colour = red"] == 2


def test_names_that_read_alike_keep_their_columns():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.5, 0.5]], class_names=[1, "1"])
    assert [name for name in to_frame(tree).columns if name.startswith("share")] == ["share 1", "share 1 (1)"]


def test_what_does_not_fit_is_refused(monkeypatch):
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    with pytest.raises(ValueError, match="y was given without X"):
        to_frame(tree, y=[1.0])
    with pytest.raises(ValueError, match=r"y must have shape \(1,\)"):
        to_frame(tree, [[1.0]], [1.0, 2.0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"dtsemnet\[data\]"):
        to_frame(tree)
