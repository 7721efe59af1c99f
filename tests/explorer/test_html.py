"""The file: what it holds, what it does not hold, how it is written, which arguments are refused."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.explorer import to_html
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, audit
from strategies import trees

TREE = Tree(Topology.complete(1), [[1.0, 2.0]], [-1.0], [[1, 0], [0, 1]], class_names=["a", "b"])


def description(path) -> dict:
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="model">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_is_whole_and_names_no_address(tmp_path):
    text = to_html(TREE, tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"\{\{\w+\}\}", text)
    assert not re.search(r"https?:|src=|@import|url\(", text)
    assert text.count("<script") == text.count("</script>") == 2
    assert "default-src 'none'" in text


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), trees(max_splits=3))
def test_any_name_survives_the_way_into_the_page(tmp_path_factory, name, tree):
    columns = [Column(f"{name}{j}") for j in range(tree.n_features)]
    path = to_html(Model(Encoder(columns), tree), tmp_path_factory.mktemp("page") / "page.html", title=name)
    found = description(path)
    assert found["title"] == name
    assert [column["name"] for column in found["columns"]] == [column.name for column in columns]
    assert found["children"] == tree.topology.children.tolist()


def test_no_row_is_in_the_page_without_X(tmp_path):
    found = description(to_html(TREE, tmp_path / "page.html"))
    assert (found["rows"], found["leaves"]) == (None, None)


def test_rows_are_cut_evenly_and_counted_wholly(tmp_path):
    X = np.column_stack([np.arange(100.0), np.zeros(100)])
    found = description(to_html(TREE, tmp_path / "page.html", X, TREE.predict(X), max_rows=10))
    assert found["rows"]["given"] == 100
    assert found["rows"]["number"] == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert found["leaves"] == {"count": [2, 98], "mix": [[2, 0], [0, 98]], "right": [2, 98]}


def test_counts_alone_need_no_row(tmp_path):
    found = description(to_html(TREE, tmp_path / "page.html", [[0.5, 0.0], [7.0, 0.0]], max_rows=0))
    assert found["rows"]["number"] == []
    assert found["rows"]["column"]["data"] == ""
    assert found["leaves"]["count"] == [1, 1]


def test_ranges_come_from_rows_or_encoder_or_splits(tmp_path):
    encoder = Encoder([Column("a", center=10.0, scale=0.5), Column("b", lower=-2.0, upper=4.0)])
    model = Model(encoder, TREE)
    ends = [(c["low"], c["high"]) for c in description(to_html(model, tmp_path / "page.html"))["columns"]]
    assert ends == [(4.0, 16.0), (-2.0, 4.0)]
    ends = [
        (c["low"], c["high"]) for c in description(to_html(model, tmp_path / "page.html", [[1, 2], [3, 8]]))["columns"]
    ]
    assert ends == [(1.0, 3.0), (2.0, 8.0)]
    ends = [(c["low"], c["high"]) for c in description(to_html(TREE, tmp_path / "page.html"))["columns"]]
    assert ends == [(0.0, 2.0), (0.0, 1.0)]  # twice the place where the split cuts the column alone


def test_wide_axis_aligned_trees_stay_small(tmp_path):
    topology = Topology.complete(10)
    weight = np.zeros((1023, 784))
    weight[np.arange(1023), np.arange(1023) % 784] = 0.1
    tree = Tree(topology, weight, np.full(1023, 0.3), np.full((1024, 1), 0.7))
    assert to_html(tree, tmp_path / "page.html").stat().st_size < 400_000


def test_the_page_of_a_large_image_tree_stays_below_ten_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    value = np.full((256, 10), 0.1)
    tree = Tree(Topology.complete(8), rng.normal(size=(255, 784)), rng.normal(size=255), value, class_names=range(10))
    X = rng.integers(0, 256, size=(1500, 784), dtype=np.uint8)
    path = to_html(tree, tmp_path / "page.html", X, tree.predict(X), image_shape=(28, 28))
    assert path.stat().st_size < 10_000_000


def test_a_page_is_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        to_html(TREE, path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    monkeypatch.undo()
    assert to_html(TREE, str(path)) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"y": ["a"]}, "y was given without X"),
        ({"X": [[1.0, 2.0]], "y": ["c"]}, "'c', which is none of the classes"),
        ({"X": [[1.0, 2.0]], "y": ["a", "b"]}, "y must have shape"),
        ({"X": [[1.0]]}, "X must have shape"),
        ({"X": np.empty((0, 2))}, "at least one row"),
        ({"max_rows": -1}, "max_rows"),
        ({"max_rows": True}, "max_rows"),
        ({"image_shape": (2, 2)}, "image_shape 2 x 2 does not fit 2 columns"),
        ({"image_shape": 2}, "image_shape must be"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, arguments, named):
    with pytest.raises(ValueError, match=named):
        to_html(TREE, tmp_path / "page.html", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a folder"):
        to_html(TREE, tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        to_html(TREE, tmp_path)


def test_targets_that_are_no_numbers_are_refused(tmp_path):
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="y must be finite"):
        to_html(tree, tmp_path / "page.html", [[1.0]], [np.nan])


def test_what_is_no_tree_is_refused(tmp_path):
    with pytest.raises(TypeError, match="tree must be"):
        to_html("tree", tmp_path / "page.html")


def test_proofs_of_the_same_tree_are_told_leaf_by_leaf(tmp_path):
    tree = Tree(
        Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[1, 0], [0, 1], [0, 1], [1, 0]],
        class_names=["a", "b"],
    )  # fmt: skip
    report = audit(tree, Domain(-1, 1), [[-0.5, -0.5]], epsilon=[0.1])
    found = description(to_html(tree, tmp_path / "page.html", proofs=report))["proofs"]
    assert found["status"] == ["reachable", "unreachable", "reachable", "reachable"]
    assert found["reason"] == [None, "a half-space lies outside the box", None, None]
    assert found["shares"] == [str(report.certified[0])]
    assert description(to_html(tree, tmp_path / "bare.html"))["proofs"] is None
    with pytest.raises(ValueError, match="proofs belong to another tree"):
        to_html(TREE, tmp_path / "other.html", proofs=report)
