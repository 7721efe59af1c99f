"""ONNX files answer as the tree does outside the rounding bound, in every form."""

from __future__ import annotations

import functools
import json
import sys

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.export import ExportError, check_export
from dtsemnet.export.onnx import feed, input_names, to_onnx
from dtsemnet.export.probes import probe_rows
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import MODELS, make_model, points, trees, wild_trees

DTYPES = ("float32", "float64")
SPLIT = [kind for kind in MODELS if kind != "one leaf"]
CLASSES = ["class", "mixed class", "wide"]


def metadata_of(artefact):
    return {prop.key: json.loads(prop.value) for prop in onnx.load_from_string(artefact.content).metadata_props}


def operators(artefact):
    return [node.op_type for node in onnx.load_from_string(artefact.content).graph.node]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind, dtype):
    model = make_model(kind)
    report = check_export(model, to_onnx(model, dtype=dtype), n_rows=2000)
    assert report.n_rows > 500
    assert report.n_near < report.n_rows / 4


@pytest.mark.parametrize("kind", SPLIT)
def test_every_tree_agrees_as_a_network(kind):
    tree = make_model(kind).tree
    for dtype in DTYPES:
        artefact = to_onnx(tree, form="network", dtype=dtype)
        assert artefact.report.n_rows > 300
        assert operators(artefact) == ["Gemm", "Relu", "Gemm"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", CLASSES)
def test_class_logits_agree(kind, dtype):
    assert to_onnx(make_model(kind).tree, form="class network", dtype=dtype).report.n_rows > 300


@functools.cache
def many_rows(kind):
    return probe_rows(make_model(kind), None, 170_000, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind):
    model, rows = make_model(kind), many_rows(kind)
    assert len(rows) >= 100_000
    for dtype in DTYPES:
        assert check_export(model, to_onnx(model, dtype=dtype), rows, n_rows=100).n_rows >= 0.8 * len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPLIT)
def test_every_network_agrees_on_many_rows(kind):
    model = make_model(kind)
    tree, features = model.tree, model.transform(many_rows(kind))
    for form in ["network"] + ["class network"] * tree.is_classifier:
        report = check_export(tree, to_onnx(tree, form=form), features, n_rows=100)
        assert report.n_rows >= 0.8 * len(features)


@given(trees(), st.data())
@settings(max_examples=25, deadline=None)
def test_exact_scores_reach_the_leaf_of_the_tree_ties_included(tree, data):
    X = data.draw(points(tree.n_features))
    dtype = data.draw(st.sampled_from(DTYPES))
    for form in ["tree"] + ["network"] * (tree.n_splits > 0):
        np.testing.assert_array_equal(to_onnx(tree, form=form, dtype=dtype).answer(X).leaf, tree.apply(X))


@given(wild_trees(max_splits=7), st.sampled_from(DTYPES))
@settings(max_examples=25, deadline=None)
def test_a_wild_tree_agrees_or_is_refused(tree, dtype):
    try:
        artefact = to_onnx(tree, dtype=dtype)
    except ExportError:
        assert dtype == "float32"
    else:
        check_export(tree, artefact, n_rows=300, random_state=1)


def test_a_number_beyond_float32_is_refused_by_name():
    tree = Tree(Topology.complete(1), [[1e200]], [0.0], [[0.0], [1.0]])
    with pytest.raises(ExportError, match=r"weight of the tree is 1e\+200.*dtype='float64'"):
        to_onnx(tree)


def test_scaling_is_folded_into_a_network():
    tree = make_model("constant").tree
    columns = [Column(f"c{j}", center=3.0 * j, scale=0.1 * (j + 1)) for j in range(tree.n_features)]
    model = Model(Encoder(columns), Tree(tree.topology, tree.weight, tree.bias, tree.value))
    report = to_onnx(model, form="network", dtype="float64").report
    assert report.n_rows > 300


def test_a_class_without_leaves_is_never_the_largest():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0, 1, 0], [0, 0, 1]], class_names=["none", "left", "right"])
    answer = to_onnx(tree, form="class network").answer(np.array([[-2.0], [0.0], [2.0]]))
    assert answer.label.tolist() == ["left", "left", "right"]


@pytest.mark.parametrize(
    ("model", "form", "named"),
    [
        (make_model("mixed class"), "network", "'age'.*model.tree"),
        (make_model("tanh"), "network", "clipped"),
        (make_model("linear"), "class network", "regressor"),
        (make_model("one leaf"), "network", "single leaf"),
        (make_model("class"), "forest", "form must be one of"),
    ],
)
def test_what_a_form_cannot_hold_is_refused_with_a_way_out(model, form, named):
    with pytest.raises(ValueError, match=named):
        to_onnx(model, form=form)


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'"):
        to_onnx(make_model("class"), dtype="float16")


def test_leaf_values_stand_beside_a_network():
    tree = make_model("guard").tree
    artefact, X = to_onnx(tree, form="network", dtype="float64"), np.random.default_rng(0).normal(size=(50, 8))
    metadata = {name: np.array(part) for name, part in metadata_of(artefact).items() if name != "columns"}
    leaf = artefact.answer(X).leaf
    raw = np.einsum("nod,nd->no", metadata["leaf_coef"][leaf], X) + metadata["leaf_value"][leaf]
    output = np.clip(raw, metadata["leaf_lower"][leaf], metadata["leaf_upper"][leaf])
    np.testing.assert_allclose(output[:, 0], tree.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "dtype"),
    [
        (["a", "b"], object),
        ([3, 1], np.int64),
        ([0.1, -2.5], np.float64),
        ([True, False], np.bool_),
        ([True, "b"], None),
    ],
)
def test_labels_keep_their_type(names, dtype):
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=names)
    artefact = to_onnx(tree)
    assert artefact.answer(np.array([[-1.0], [1.0]])).label.tolist() == names
    import onnxruntime

    session = onnxruntime.InferenceSession(artefact.content, providers=["CPUExecutionProvider"])
    label = session.run(["label"], {"X": np.array([[-1.0], [1.0]], dtype=np.float32)})[0]
    assert label.dtype == (np.int64 if dtype is None else dtype)
    assert label.tolist() == ([0, 1] if dtype is None else names)


def test_inputs_are_named_after_columns_and_never_clash():
    columns = [Column("leaf", categories=["<missing>"], missing="indicator"), Column("a b"), Column("a_b"), Column("1")]
    encoder = Encoder(columns)
    assert input_names(encoder) == ["leaf_2", "a_b", "a_b_2", "_1"]
    tree = Tree(Topology.complete(1), [[1.0, 1.0, 0.5, 0.25, 2.0]], [-1.0], [[0.0], [1.0]])
    artefact = to_onnx(Model(encoder, tree))
    assert metadata_of(artefact)["missing"] == "<<missing>>"
    assert metadata_of(artefact)["inputs"] == input_names(encoder)


def test_the_evaluator_of_onnx_stands_in_for_onnxruntime(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert to_onnx(make_model("mixed class")).report.n_rows > 300


def test_without_onnx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"dtsemnet\[onnx\]"):
        to_onnx(make_model("class"))


def test_rows_are_fed_by_column():
    model = make_model("mixed class")
    given = feed(model.encoder, probe_rows(model, None, 20, np.random.default_rng(0)), "float32")
    kinds = {name: array.dtype for name, array in given.items()}
    assert kinds["age"] == np.float32
    assert kinds["rooms"] == np.float64
    assert kinds["it_s_a_colour"].kind == "O"
    assert all(array.shape[1] == 1 for array in given.values())


def test_mixed_categories_are_refused():
    encoder = Encoder([Column("colour", categories=["red", 1])])
    tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-1.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="fit on a column of strings"):
        to_onnx(Model(encoder, tree))
