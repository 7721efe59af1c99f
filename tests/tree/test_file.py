"""Loading undoes saving, bit for bit; anything else is one ValueError that names the field."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, MarginProbability, Model, TanhScale, Topology, Tree, load_document, read
from dtsemnet.tree.file import dumps, loads, save, schema
from strategies import make_model, probabilities, trees, wild_trees

VALIDATOR = jsonschema.Draft202012Validator(schema())


def stump(**changes):
    return Tree(Topology.complete(1), [[1.0, -0.0]], [0.25], [[0.0], [1.0]], **changes)


def full_model():
    columns = [
        Column("age", missing="indicator", fill=-0.0, center=3.0, scale=0.5, upper=9.0),
        Column("b", ["x", 1, 2.5]),
    ]
    tree = Tree(Topology.complete(1), [[1.0, 0.1, 0.2, 0.3, 5e-324]], [0.0], [[0.0], [1.0]])
    return Model(Encoder(columns), tree, TanhScale(-1.0, 2.0))


def filled_model():
    return make_model("mixed filled")


def sure_model():
    tree = Tree(Topology.complete(1), [[0.1]], [0.0], [[0.9, 0.1], [0.2, 0.8]], class_names=["no", "yes"])
    return Model(Encoder.identity(["size"]), tree, probability=MarginProbability(0.1, 2.0, 0.05))


def models(tree):
    return [tree, Model(Encoder.identity(tree.feature_labels), tree), full_model(), filled_model()]


@given(st.one_of(trees(), wild_trees()))
def test_loading_undoes_saving_and_the_schema_agrees(tree):
    for content in models(tree):
        text = dumps(content, about={"seed": 3})
        assert loads(text) == content
        VALIDATOR.validate(json.loads(text))


@given(trees(kind="class"), probabilities())
def test_margin_probabilities_make_a_model_of_version_2(tree, probability):
    model = Model(Encoder.identity(tree.feature_labels), tree, probability=probability)
    document = json.loads(dumps(model))
    VALIDATOR.validate(document)
    assert document["version"] == 2
    assert loads(dumps(model)) == model
    assert loads(json.dumps(document)).probability == probability
    del document["encoder"], document["output"]
    alone = loads(json.dumps(document))
    assert isinstance(alone, Model)
    assert alone.probability == probability
    del document["probability"]
    assert loads(json.dumps(document)) == tree
    assert json.loads(dumps(Model.of(tree)))["version"] == 1


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["red", 1, 2.5, False]))
def test_columns_that_fill_missing_values_make_a_file_of_version_2(number, category):
    columns = [Column("age", missing="fill", fill=number)]
    columns += [Column("plan", categories=["red", 1, 2.5, False], missing="fill", fill=category)]
    model = Model(Encoder(columns), Tree(Topology([]), np.empty((0, 5)), [], [[0.0]]))
    document = json.loads(dumps(model))
    VALIDATOR.validate(document)
    assert document["version"] == 2
    assert loads(dumps(model)) == model
    document["version"] = 1
    with pytest.raises(ValueError, match=r"encoder\.columns\[0\]\.missing: 'fill' is unknown in version 1"):
        loads(json.dumps(document))
    document["version"] = 2
    document["encoder"]["columns"][1]["fill"] = "mauve"
    with pytest.raises(ValueError, match=r"encoder\.columns\[1\]: fill must be one of the categories"):
        loads(json.dumps(document))


@pytest.mark.parametrize("name", ["dry_bean", "lunar_lander"])
def test_files_of_version_1_load_and_are_written_as_they_were(name):
    path = Path(__file__).parents[2] / "docs" / "models" / f"{name}.json"
    document = load_document(path)
    assert document.content.probability is None
    assert dumps(document.content, about=document.about) == path.read_text(encoding="utf-8")


def test_files_hold_metadata_and_are_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "tree.json"
    stump().save(path, about={"made by": "ü", "numbers": [1, 2.5, None, True]})
    document = load_document(path)
    assert document.about == {"made by": "ü", "numbers": [1, 2.5, None, True]}
    assert document.tree == document.content == Tree.load(path) == read(path) == stump()
    assert Model.load(path).tree == stump()

    def broken(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="disk full"):
            save(full_model(), path)
    assert os.listdir(tmp_path) == ["tree.json"]
    assert Tree.load(path) == stump()
    full_model().save(path)
    assert Model.load(path) == full_model()
    with pytest.raises(ValueError, match=r"Model\.load"):
        Tree.load(path)


def test_metadata_that_json_cannot_hold_is_refused():
    loop = {}
    loop["self"] = loop
    for about in ({"a": float("nan")}, {"a": {1, 2}}, {1: "a"}, {"a": "\ud800"}, {"a": np.float64("inf")}, loop):
        with pytest.raises(ValueError, match="about"):
            dumps(stump(), about=about)
    with pytest.raises(TypeError, match="Tree or a Model"):
        dumps("tree")


def test_size_and_encoding_are_checked_before_parsing(tmp_path):
    path = tmp_path / "tree.json"
    stump().save(path)
    size = path.stat().st_size
    assert read(path, max_bytes=size) == stump()
    with pytest.raises(ValueError, match="max_bytes"):
        read(path, max_bytes=size - 1)
    for data in (b"", b"\xff\xfe", b"{", b"nonsense", b"[]", b"null", b"\xef\xbb\xbf{}"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"document|format") as caught:
            read(path)
        assert type(caught.value) is ValueError


def change(place, value):
    """Write a document with one field replaced by raw JSON."""
    document = json.loads(dumps(sure_model() if place[0] == "probability" else full_model()))
    part = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = "PLACEHOLDER"
    return json.dumps(document).replace('"PLACEHOLDER"', value)


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (["tree", "weight", 0, 2], "NaN", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "-Infinity", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "1e999", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "1" + "0" * 400, r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "1" + "0" * 10_000, r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "true", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], '"1"', r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "null", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0, 2], "[1]", r"tree\.weight\[0\]\[2\]"),
        (["tree", "weight", 0], "[1, 2]", r"tree\.weight\[0\]: must have length 5"),
        (["tree", "weight"], "[]", r"tree\.weight: must have length 1"),
        (["tree", "weight"], "{}", r"tree\.weight: must be a list"),
        (["tree", "n_features"], "4", r"tree\.weight\[0\]: must have length 4"),
        (["tree", "n_features"], "0", r"tree\.n_features"),
        (["tree", "n_splits"], "1000000000", r"tree\.children: must have length"),
        (["tree", "n_splits"], "true", r"tree\.n_splits"),
        (["tree", "n_splits"], "1.0", r"tree\.n_splits"),
        (["tree", "n_splits"], "1" + "0" * 50, r"tree\.n_splits"),
        (["tree", "children", 0, 0], "0", r"tree\.children"),
        (["tree", "children", 0, 0], "-1.0", r"tree\.children\[0\]\[0\]"),
        (["tree", "children", 0, 0], "99999999999999999999", r"tree\.children\[0\]\[0\]"),
        (["tree", "value", 0], "[1, 2]", r"tree\.value\[0\]"),
        (["tree", "class_names"], '["a"]', "tree: value must hold class probabilities"),
        (["tree", "class_names"], "[null]", "tree: class_names"),
        (["tree", "feature_names"], '["a", "a", "b", "c", "d"]', "tree: feature_names must be distinct"),
        (["tree", "lower"], "[[1], [1]]", "PASS"),
        (["tree", "extra"], "1", r"tree\.extra: is unknown"),
        (["tree"], "[]", "tree: must be an object"),
        (["extra"], "1", r"document\.extra: is unknown"),
        (["version"], "3", "version: .* upgrade"),
        (["version"], "0", "version"),
        (["version"], "true", "version"),
        (["version"], '"1"', "version"),
        (["format"], '"other"', "format"),
        (["encoder", "columns", 0, "fill"], "true", r"encoder\.columns\[0\]\.fill"),
        (["encoder", "columns", 0, "fill"], "1e999", r"encoder\.columns\[0\]\.fill"),
        (["encoder", "columns", 0, "name"], "1", r"encoder\.columns\[0\]: name"),
        (["encoder", "columns", 0, "name"], '"b"', r"encoder\.columns"),
        (["encoder", "columns", 0, "missing"], "null", r"encoder\.columns\[0\]\.missing"),
        (["encoder", "columns", 0, "missing"], '"drop"', r"encoder\.columns\[0\]\.missing"),
        (["encoder", "columns", 1, "categories"], '"abc"', r"encoder\.columns\[1\]\.categories"),
        (["encoder", "columns", 1, "categories"], "[[1], 2, 3]", r"encoder\.columns\[1\]"),
        (["encoder", "columns", 1, "categories"], '["a"]', "encoder gives 3 features"),
        (["encoder", "columns"], "[]", r"encoder\.columns"),
        (["output", "kind"], '"sigmoid"', r"output\.kind"),
        (["output", "kind"], "[]", r"output\.kind"),
        (["output", "low"], "[1, 2]", "output"),
        (["output", "low"], "[NaN]", r"output\.low\[0\]"),
        (["output", "low"], "[-1.7e308]", "PASS"),
        (["output"], '{"kind": "tanh-scale", "low": [-1.7e308], "high": [1.7e308]}', "output: .* differ by a finite"),
        (["probability", "rate"], "-1", r"^probability\.rate: must be a finite number of at least 0, got -1"),
        (["probability", "rate"], "1e999", r"^probability\.rate: must be"),
        (["probability", "rate"], "1" + "0" * 400, r"^probability\.rate: must be"),
        (["probability", "rate"], "true", r"^probability\.rate: must be"),
        (["probability", "power"], "null", r"^probability\.power: must be"),
        (["probability", "power"], "NaN", r"^probability\.power: must be"),
        (["probability", "floor"], "1.5", r"^probability\.floor: must be a finite number from 0 to 1"),
        (["probability", "floor"], "1", "PASS"),
        (["probability", "extra"], "1", r"^probability\.extra: is unknown"),
        (["probability"], "{}", r"^probability\.rate: is missing"),
        (["probability"], "[]", "^probability: must be an object"),
        (["about"], "[]", "about"),
        (["about"], '{"a": NaN}', r"about\.a"),
        (["about"], '{"a": "\\ud800"}', r"about\.a"),
        (["about"], "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (["about"], '{"a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        (["about"], '{"a": 1, "a": 2}', "occurs twice"),
    ],
)
def test_each_way_to_be_wrong_is_named(place, value, named):
    text = change(place, value)
    if named == "PASS":
        assert isinstance(loads(text), Model)
        return
    with pytest.raises(ValueError, match=named) as caught:
        loads(text)
    assert type(caught.value) is ValueError


def test_margin_probabilities_need_version_2_and_classes():
    document = json.loads(dumps(sure_model())) | {"version": 1}
    with pytest.raises(ValueError, match=r"^probability: is unknown in version 1"):
        loads(json.dumps(document))
    assert not VALIDATOR.is_valid(document)
    regressor = json.loads(dumps(stump())) | {"version": 2, "probability": document["probability"]}
    with pytest.raises(ValueError, match=r"^probability: is for classifiers"):
        loads(json.dumps(regressor))
    assert not VALIDATOR.is_valid(regressor)


def test_a_file_that_names_its_features_in_two_orders_is_refused():
    tree = Tree(Topology.complete(1), [[1.0, 2.0]], [0.0], [[0.0], [1.0]], feature_names=["a", "b"])
    document = json.loads(dumps(Model.of(tree)))
    document["encoder"]["columns"].reverse()
    with pytest.raises(ValueError, match=r"^encoder: encoder gives 'a' as feature 1, but the tree calls feature 0 so"):
        loads(json.dumps(document))
    other = Model(Encoder.identity(["age", "b"]), tree)  # another name for a feature contradicts nothing
    assert loads(dumps(other)) == other


def test_no_control_character_stands_in_a_file():
    names = ["\x1b[2J", "\x9b", "\u202e", "größe"]
    tree = Tree(Topology([]), np.empty((0, 4)), [], [[0.0]], feature_names=names)
    text = dumps(tree, about={"\u2066": "\x7f"})
    assert text.replace("\n", "").isprintable()
    assert "größe" in text
    assert loads(text) == tree


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs of POSIX")
def test_a_fifo_is_not_waited_for_and_not_replaced(tmp_path):
    path = tmp_path / "tree.json"
    os.mkfifo(path)
    for use in (read, Tree.load, Model.load, stump().save):
        with pytest.raises(OSError, match=r"tree\.json' is a FIFO, not a regular file"):
            use(path)


@pytest.mark.parametrize("key", ["format", "version", "tree"])
def test_missing_fields_are_named(key):
    document = json.loads(dumps(stump()))
    del document[key]
    with pytest.raises(ValueError, match=key):
        loads(json.dumps(document))


def attempt(load):
    """Load, or catch what must be a plain ValueError; anything else is not caught."""
    try:
        return load(), None
    except ValueError as error:
        return None, error


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from([10**400, -(2**63)])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=500)
@given(st.data(), st.sampled_from(["tree", "model", "probability"]))
def test_mutated_documents_load_or_raise_one_value_error(data, kind):
    starts = {
        "tree": trees(max_splits=4, n_features=2),
        "model": st.builds(full_model),
        "probability": st.builds(sure_model),
    }
    start = data.draw(starts[kind])
    document = json.loads(dumps(start))
    for _ in range(data.draw(st.integers(1, 3))):
        part = document
        while True:  # walk to some place, and replace, remove or repeat what stands there
            keys = list(part) if isinstance(part, dict) else range(len(part))
            key = data.draw(st.sampled_from(keys))
            if not isinstance(part[key], (dict, list)) or not part[key] or data.draw(st.integers(0, 3)) == 0:
                break
            part = part[key]
        action = data.draw(st.sampled_from(["replace", "remove", "repeat"]))
        if action == "replace":
            part[key] = data.draw(json_values)
        elif action == "remove":
            del part[key]
        elif isinstance(part, list):
            part.append(part[key])
        if not part:
            break
    if not document:
        return
    loaded, error = attempt(lambda: loads(json.dumps(document)))
    if error is not None:
        assert type(error) is ValueError
        assert ":" in str(error)
    else:
        assert loads(dumps(loaded)) == loaded


@settings(max_examples=300)
@given(data=st.data())
def test_mutated_bytes_load_or_raise_one_value_error(tmp_path_factory, data):
    text = bytearray(dumps(full_model(), about={"a": [1, 2]}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path_factory.getbasetemp() / "mutated.json"
    path.write_bytes(bytes(text))
    content, error = attempt(lambda: read(path))
    if error is not None:
        assert type(error) is ValueError
    else:
        assert isinstance(content, (Tree, Model))


def test_the_schema_refuses_what_it_can_state():
    VALIDATOR.check_schema(schema())
    for place, value in [(["version"], "3"), (["tree", "extra"], "1"), (["tree", "weight", 0, 0], '"1"')]:
        assert not VALIDATOR.is_valid(json.loads(change(place, value)))
