"""Graphviz files hold every split, leaf and edge once, and say odd names as they are."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given

from dtsemnet.export.readable.dot import to_dot
from dtsemnet.tree import Topology, Tree
from strategies import MODELS, make_model, trees

STRING = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTE = rf"\w+=(?:{STRING}|\w+)"
STATEMENT = re.compile(rf"  (?:(\w+)(?: -> (\w+))? \[({ATTRIBUTE}(?:, {ATTRIBUTE})*)\]|{ATTRIBUTE});")


def parse(text):
    """Read the file by the grammar of the language, or fail: nodes and edges with their attributes."""
    lines = text.split("\n")
    assert (lines[0], lines[-2], lines[-1]) == ("digraph tree {", "}", "")
    nodes, edges = {}, {}
    for line in lines[1:-2]:
        found = STATEMENT.fullmatch(line)
        assert found, line
        start, end, attributes = found.groups()
        if start in (None, "node", "edge"):
            continue
        pairs = dict(part.split("=", 1) for part in re.findall(ATTRIBUTE, attributes))
        read = {key: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], v[1:-1]) for key, v in pairs.items()}
        (nodes if end is None else edges)[start if end is None else (start, end)] = read
    return nodes, edges


def name(child):
    return f"split{child}" if child >= 0 else f"leaf{~child}"


@given(trees())
def test_the_graph_is_the_tree(tree):
    nodes, edges = parse(to_dot(tree).text)
    assert len(nodes) == tree.n_splits + tree.n_leaves
    expected = {
        (f"split{i}", name(child)): word
        for i, children in enumerate(tree.topology.children.tolist())
        for child, word in zip(children, ("no", "yes"))
    }
    assert {ends: edge["label"] for ends, edge in edges.items()} == expected


@pytest.mark.parametrize("kind", MODELS)
def test_odd_names_are_said_as_they_are(kind):
    model = make_model(kind)
    nodes, _ = parse(to_dot(model, max_terms=1000).text)
    shown = "\n".join(node["label"] for node in nodes.values())
    used = (model.tree.weight != 0).any(axis=0)
    for label, column in zip(model.feature_labels, used):
        if column and "income" not in label and not label.startswith("clip") and kind != "tanh":
            assert "".join(c if c.isprintable() else " " for c in label) in shown
    for k in range(model.tree.n_leaves):
        if model.is_classifier:
            assert nodes[f"leaf{k}"]["label"].startswith(model.class_names[model.tree.leaf_class[k]])


def test_equations_are_in_raw_units_largest_first():
    tree = Tree(Topology.complete(1), [[0.5, -2.0, 0.0, 1e-9]], [1.25], [[1.0], [2.0]])
    nodes, _ = parse(to_dot(tree, max_terms=2).text)
    assert nodes["split0"]["label"] == "-2 x1 + 0.5 x0 + … 1 more term + 1.25 > 0"


def test_shares_of_rows_add_up():
    model, X = make_model("class"), np.random.default_rng(0).normal(size=(200, 8))
    nodes, _ = parse(to_dot(model, X).text)
    counts = {node: int(re.search(r"(\d+) rows", about["label"])[1]) for node, about in nodes.items()}
    assert counts["split0"] == 200
    for i, (left, right) in enumerate(model.tree.topology.children.tolist()):
        assert counts[f"split{i}"] == counts[name(left)] + counts[name(right)]


def test_classes_have_colours_of_their_own():
    value = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9], [0.9, 0.0, 0.1]]
    tree = Tree(Topology.complete(2), np.eye(3), np.zeros(3), value, class_names=["a", "b", "c"])
    nodes, _ = parse(to_dot(tree).text)
    colours = [nodes[f"leaf{k}"]["fillcolor"] for k in range(4)]
    assert len(set(colours)) == 3
    assert colours[0] == colours[3]


@pytest.mark.parametrize("wrong", ["max_terms", "digits"])
def test_nothing_to_show_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{wrong} must be at least 1"):
        to_dot(make_model("class"), **{wrong: 0})
