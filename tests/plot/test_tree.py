"""The drawing of a tree: every node once, the path that the sample takes, no words over words."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from dtsemnet.plot import plot_tree
from dtsemnet.plot.layout import Contents, lay_out, make_room
from dtsemnet.plot.style import ACCENT
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from strategies import KINDS, points, topologies, trees, wild_trees


def ids(ax):
    return [patch.get_gid() for patch in ax.patches if patch.get_gid()]


def random_tree(topology, n_features=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    value = rng.dirichlet(np.ones(n_classes), topology.n_leaves)
    weight = rng.normal(size=(topology.n_splits, n_features))
    return Tree(topology, weight, rng.normal(size=topology.n_splits), value, class_names=["ham", "egg", "spam"])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(st.data())
def test_each_node_and_edge_is_drawn_once(kind, data):
    tree = data.draw(trees(kind=kind, max_splits=7))
    X = data.draw(st.none() | points(tree.n_features))
    ax = plot_tree(tree, X)
    expected = [f"split-{i}" for i in range(tree.n_splits)] + [f"leaf-{j}" for j in range(tree.n_leaves)]
    expected += [f"to-split-{i}" for i in range(1, tree.n_splits)]
    expected += [f"to-leaf-{j}" for j in range(tree.n_leaves)] * (tree.n_splits > 0)
    assert sorted(ids(ax)) == sorted(expected)
    plt.close(ax.figure)


@settings(max_examples=6)
@given(st.data())
def test_the_highlighted_path_is_the_decision_path(data):
    tree = data.draw(trees(max_splits=7))
    x = data.draw(points(tree.n_features, max_rows=1))
    ax = plot_tree(tree, x=x[0])
    path = [split for split in tree.decision_path(x)[0] if split >= 0]
    nodes = {f"split-{split}" for split in path} | {f"leaf-{tree.apply(x)[0]}"}
    lines = {name for name in ids(ax) if name.startswith("path-to-")}
    root = "split-0" if path else "leaf-0"
    assert lines == {f"path-to-{node}" for node in nodes - {root}}
    marked = {
        patch.get_gid()
        for patch in ax.patches
        if re.match(r"(split|leaf)-", patch.get_gid() or "") and to_hex(patch.get_edgecolor()) == ACCENT
    }
    assert marked == nodes
    plt.close(ax.figure)


def test_paths_end_in_the_node_that_stands_for_the_leaf():
    tree = random_tree(Topology.complete(3))
    x = np.ones(6)
    leaf = int(tree.apply(x[None, :])[0])
    names = ids(plot_tree(tree, x=x, max_depth=1))
    assert f"path-to-leaves-{leaf // 4 * 4}-{leaf // 4 * 4 + 3}" in names
    assert sum(name.startswith("path-") for name in names) == 1


def test_leaves_show_the_mix_and_the_share_of_their_rows():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    texts = [text.get_text() for text in plot_tree(tree, [[-1], [1], [2], [3]], ["a", "a", "b", "b"]).texts]
    assert "a 100 %" in texts
    assert "leaf 0, 25 % of rows" in texts
    assert "b 67 %" in texts
    assert "leaf 1, 75 % of rows" in texts


def test_edges_are_as_wide_as_their_share():
    tree = random_tree(Topology.complete(2))
    X = np.random.default_rng(1).normal(size=(100, 6))
    width = {patch.get_gid(): patch.get_linewidth() for patch in plot_tree(tree, X).patches if patch.get_gid()}
    count = np.bincount(tree.apply(X), minlength=4)
    at_leaves = np.array([width[f"to-leaf-{leaf}"] for leaf in range(4)])
    slope = np.ptp(at_leaves) / np.ptp(count)
    assert_allclose(at_leaves, at_leaves.min() + slope * (count - count.min()))
    assert (np.argsort(at_leaves) == np.argsort(count)).all()


def test_bars_multiply_weights_by_the_spread_of_the_rows():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[0.0], [1.0]], feature_names=["narrow", "wide"])

    def first_label(*rows):
        texts = (text.get_text() for text in plot_tree(tree, *rows).texts)
        return next(text for text in texts if text in ("narrow", "wide"))

    assert first_label() == "narrow"
    assert first_label([[0.0, 0.0], [1.0, 10.0]]) == "wide"


def test_a_scaled_model_is_drawn_as_its_raw_tree():
    standardised = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[0.0], [1.0]])
    model = Model(Encoder([Column("a", scale=0.001), Column("b", scale=1.0)]), standardised)
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1000.0, 1.0]
    ax = plot_tree(model, X)
    assert ax.texts[-1].get_text().startswith("Bars: weight times standard deviation")
    bars = sorted(patch.get_width() for patch in ax.patches if patch.get_gid() is None and hasattr(patch, "get_width"))
    expected = (X / [1000.0, 1.0]).std(axis=0)
    assert_allclose(bars[0] / bars[1], expected.min() / expected.max())


def overlapping(ax):
    """Pairs of texts whose boxes share more than a hair."""
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    texts = [text for text in [*ax.texts, *(legend.get_texts() if legend else [])] if text.get_text().strip()]
    boxes = np.array([text.get_window_extent().shrunk(0.96, 0.8).extents for text in texts])
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    shared = (low < boxes[None, :, 2:]).all(axis=2) & (boxes[None, :, :2] < high).all(axis=2)
    return [(texts[i].get_text(), texts[j].get_text()) for i, j in np.argwhere(np.triu(shared, 1))]


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_no_text_lies_on_another_at_any_depth(depth):
    tree = random_tree(Topology.complete(depth), n_features=20)
    X = np.random.default_rng(1).normal(size=(400, 20))
    ax = plot_tree(tree, X)
    assert overlapping(ax) == []
    assert len(ids(ax)) == 2 * (tree.n_splits + tree.n_leaves) - 1


@pytest.mark.slow
@pytest.mark.parametrize("depth", [5, 6, 8])
def test_no_text_lies_on_another_with_many_leaves(depth):
    tree = random_tree(Topology.complete(depth), n_features=20)
    ax = plot_tree(tree, np.random.default_rng(1).normal(size=(400, 20)))
    assert overlapping(ax) == []
    assert len(ids(ax)) == 2 * (tree.n_splits + tree.n_leaves) - 1


def test_long_lists_of_classes_are_cut_short():
    names = [f"a class of long name {k}" for k in range(30)]
    value = np.full((4, 30), 1 / 30)
    tree = Tree(Topology([[-1, 1], [-2, 2], [-3, -4]]), np.ones((3, 2)), np.arange(3.0), value, class_names=names)
    ax = plot_tree(tree)
    assert overlapping(ax) == []
    listed = [text.get_text() for text in ax.get_legend().get_texts()]
    assert listed[-1] == f"and {31 - len(listed)} more"


@settings(max_examples=4)
@given(topologies(max_splits=9))
def test_no_text_lies_on_another_whatever_the_shape(topology):
    ax = plot_tree(random_tree(topology), np.random.default_rng(1).normal(size=(50, 6)))
    assert overlapping(ax) == []
    plt.close(ax.figure)


@pytest.mark.parametrize("size", [(3, 2), (8, 3), (4, 9)])
def test_drawings_shrink_into_the_axes_given(size):
    ax = plt.figure(figsize=size).add_axes((0, 0, 1, 1))
    assert plot_tree(random_tree(Topology.complete(4)), ax=ax) is ax
    assert len([name for name in ids(ax) if not name.startswith("to-")]) == 31
    assert overlapping(ax) == []


@settings(max_examples=40)
@given(topologies(max_splits=30), st.floats(4, 16), st.booleans())
def test_plans_keep_nodes_apart(topology, width, pictures):
    plan = make_room(layout := lay_out(topology), Contents(4, 2, pictures), width, None)
    for level, form in enumerate(plan.levels):
        nodes = [(x, form.split_width) for x in plan.split_x[layout.split_depth == level]]
        nodes += [(x, form.leaf_width) for x in plan.leaf_x[layout.leaf_depth == level]]
        nodes.sort()
        for (a, wide), (b, narrow) in pairwise(nodes):
            assert a + wide / 2 <= b - narrow / 2
        assert all(x - size / 2 >= 0 and x + size / 2 <= width for x, size in nodes)


def test_pictures_take_the_place_of_bars():
    tree = random_tree(Topology.complete(2), n_features=12)
    ax = plot_tree(tree, image_shape=(3, 4))
    assert len(ax.images) == tree.n_splits
    for image, weight in zip(ax.images, tree.weight):
        shown = np.asarray(image.get_array())
        assert shown.shape == (3, 4)
        assert_allclose(shown.ravel() * np.abs(weight).max(), weight)
        low, high = image.get_clim()
        assert low == -high


def test_odd_names_are_shown_as_they_are():
    names = ["$a_b", r"x^{$\alpha", "_c", "ok"]
    tree = Tree(
        Topology.complete(1), [[1.0, 2.0, 0, 0]], [0.0], [[1, 0], [0, 1]], feature_names=names, class_names=["_n", "$$"]
    )
    ax = plot_tree(tree)
    ax.figure.savefig(io.BytesIO(), format="svg")
    assert {"$a_b", r"x^{$\alpha"} <= {text.get_text() for text in ax.texts}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_n", "$$"]


@settings(max_examples=2)
@given(wild_trees(max_splits=5))
def test_numbers_of_any_size_are_drawn(tree):
    ax = plot_tree(tree)
    ax.figure.canvas.draw()
    plt.close(ax.figure)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_drawings_can_be_saved(kind, tmp_path):
    plot_tree(random_tree(Topology.complete(2))).figure.savefig(path := tmp_path / f"tree.{kind}")
    content = path.read_bytes()
    assert len(content) > 1000
    if kind == "svg":
        assert b'id="split-2"' in content


def test_categories_missing_values_and_output_maps_are_drawn():
    columns = [Column("age", missing="indicator", fill=3.0), Column("colour", categories=["red", "blue"])]
    weight = np.ones((1, 4))
    model = Model(Encoder(columns), Tree(Topology.complete(1), weight, [0.0], [[0.0], [1.0]]), TanhScale(0.0, 5.0))
    ax = plot_tree(model, np.array([[1.0, "red"], [None, "blue"]], dtype=object), x=[None, "red"])
    texts = [text.get_text() for text in ax.texts]
    assert {"age missing", "colour = red"} <= set(texts)
    assert any("tanh" in text for text in texts)
    assert "path-to-leaf-1" in ids(ax)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (2, 2)}, "6 pixels"),
        ({"max_terms": 0}, "at least 1"),
        ({"x": [[0.0] * 6] * 2}, "one row of 6 values, got shape"),
        ({"y": ["ham"]}, "without X"),
        ({"X": np.zeros((1, 6)), "y": ["tofu"]}, "none of the classes"),
        ({"X": np.zeros((0, 6))}, "no rows"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        plot_tree(random_tree(Topology.complete(1)), **options)
