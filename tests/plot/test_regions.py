"""Regions: colours are predictions, lines are where the leaf changes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.plot import plot_regions
from dtsemnet.plot.regions import Plane, boundaries
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import KINDS, points, trees

LOW, HIGH = np.array([-2.0, -2.0]), np.array([2.0, 2.0])


def grid_of(resolution):
    ticks = -2 + (np.arange(resolution) + 0.5) / resolution * 4
    return np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


def slice_of(tree, at=None):
    model = Model.of(tree)
    at = np.zeros(model.encoder.n_columns) if at is None else at
    direction = np.zeros((2, len(at)))
    direction[[0, 1], [0, 1]] = 1.0
    return Plane(model, at, direction)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(st.data())
def test_the_image_is_the_prediction(kind, data):
    tree = data.draw(trees(kind=kind, n_features=3, max_splits=7))
    at = data.draw(points(3, max_rows=1))[0]
    ax = plot_regions(tree, at=at, limits=((-2, 2), (-2, 2)), resolution=16)
    rows = np.column_stack([grid_of(16), np.full(256, at[2])])
    if tree.is_classifier:
        expected = tree.leaf_class[tree.apply(rows)]
    else:
        expected = tree.predict(rows).reshape(256, -1)[:, 0]
    assert_array_equal(np.asarray(ax.images[0].get_array()).ravel(), expected)
    plt.close(ax.figure)


@settings(max_examples=25)
@given(trees(n_features=2, max_splits=10))
def test_the_leaf_changes_across_a_boundary(tree):
    """On both sides of the middle of a segment rows meet its split, and part there."""
    plane = slice_of(tree)
    for split, (start, end) in boundaries(plane, LOW, HIGH):
        weight = tree.weight[split]
        length = np.linalg.norm(end - start)
        step = 1e-9 * weight / np.linalg.norm(weight)
        if length < 1e-6:
            continue
        # A point that no other split's line passes through: splits may share a line.
        for place in (0.31, 0.5, 0.77):
            middle = start + place * (end - start)
            others = np.abs(tree.scores(middle[None, :])[0])
            if (np.delete(others, split) > 1e-6).all():
                left, right = tree.decision_path([middle - step, middle + step])
                assert split in left
                assert split in right
                leaves = tree.apply([middle - step, middle + step])
                side = tree.topology.paths.side[leaves, list(left).index(split)]
                assert_array_equal(side, [0, 1])


@settings(max_examples=25)
@given(trees(n_features=2, max_splits=10), points(2, max_rows=2))
def test_between_two_leaves_lies_a_boundary(tree, ends):
    """Walk a straight line: the leaf changes exactly where the line crosses a segment."""
    assume(len(ends) == 2)
    a, b = ends
    steps = a + np.linspace(0, 1, 400)[:, None] * (b - a)
    changes = (np.diff(tree.apply(steps)) != 0).any()
    near = min(
        (_distance(segment, a, b) for _, segment in boundaries(slice_of(tree), LOW - 9, HIGH + 9)), default=np.inf
    )
    assert not changes or near < 1e-6


def _distance(segment, a, b):
    """Least distance of two segments in the plane, by their ends, or 0 where they cross."""

    def cross(u, v):
        return u[0] * v[1] - u[1] * v[0]

    def to(point, p, q):
        along = q - p
        t = 0.0 if not along.any() else np.clip((point - p) @ along / (along @ along), 0, 1)
        return np.linalg.norm(point - p - t * along)

    p, q = segment
    sides = cross(q - p, a - p) * cross(q - p, b - p), cross(b - a, p - a) * cross(b - a, q - a)
    if sides[0] < 0 and sides[1] < 0:
        return 0.0
    return min(to(a, p, q), to(b, p, q), to(p, a, b), to(q, a, b))


def test_clipped_columns_bend_boundaries():
    columns = [Column("a", center=0.5, scale=2.0, lower=-1.0, upper=1.0), Column("b")]
    model = Model(Encoder(columns), Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[0.0], [1.0]]))
    found = boundaries(slice_of(model), LOW, HIGH)
    assert [split for split, _ in found] == [0, 0, 0]
    for _, segment in found:
        for place in (0.1, 0.5, 0.9):
            middle = segment[0] + place * (segment[1] - segment[0])
            assert_allclose(middle[1], np.clip((middle[0] - 0.5) * 2, -1, 1), atol=1e-12)
    assert_allclose(sorted(np.ravel([segment[:, 0] for _, segment in found])), [-2, 0, 0, 1, 1, 2])


def test_other_columns_are_held_at_the_median_of_the_rows():
    tree = Tree(Topology.complete(1), [[0.0, 0.0, 1.0]], [-4.5], [[0.0], [1.0]])
    X = np.array([[0, 0, 0], [1, 1, 5], [2, 2, 100]])
    assert (np.asarray(plot_regions(tree, X, resolution=4).images[0].get_array()) == 1).all()
    assert (np.asarray(plot_regions(tree, X, at=[0, 0, 0], resolution=4).images[0].get_array()) == 0).all()


def test_a_projection_paints_the_plane_and_projects_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1, 10, 100, 1000]
    tree = Tree(
        Topology.complete(2),
        rng.normal(size=(3, 4)) / [1, 10, 100, 1000],
        [0.1, 0, 0],
        np.eye(4),
        class_names=list("abcd"),
    )
    matrix = rng.normal(size=(2, 4))
    ax = plot_regions(tree, X, projection=matrix, limits=((-2, 2), (-2, 2)), resolution=8)
    expected = tree.leaf_class[tree.apply(X.mean(axis=0) + grid_of(8) @ matrix)]
    assert_array_equal(np.asarray(ax.images[0].get_array()).ravel(), expected)
    drawn = np.asarray(ax.collections[0].get_offsets())
    residual = X - X.mean(axis=0) - drawn @ matrix
    assert_allclose(residual @ matrix.T, 0, atol=1e-9 * np.abs(X).max())


def test_principal_components_have_falling_spread_and_hold_the_rows_of_a_plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 5)) * [1, 10, 100, 1000, 1]
    weight = rng.normal(size=(1, 5)) / X.std(axis=0)
    tree = Tree(Topology.complete(1), weight, [0.0], [[0.0], [1.0]])
    ax = plot_regions(tree, X, tree.predict(X), projection="pca", resolution=8)
    drawn = np.asarray(ax.collections[0].get_offsets())
    assert np.ptp(drawn, axis=0)[0] > 0
    assert drawn[:, 0].std() >= drawn[:, 1].std()
    assert_allclose(np.cov(drawn.T)[0, 1], 0, atol=1e-9)
    # The rows lie in the plane, so the one boundary divides them as the tree does.
    (segment,) = ax.collections[1].get_segments()
    normal = np.array([-(segment[1] - segment[0])[1], (segment[1] - segment[0])[0]])
    side = (drawn - segment[0]) @ normal > 0
    assert_array_equal(side == side[0], tree.apply(X) == tree.apply(X)[0])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2)
@given(st.data())
def test_one_column_is_enough(kind, data):
    tree = data.draw(trees(kind=kind, n_features=1, max_splits=7))
    X = data.draw(points(1))
    ax = plot_regions(tree, X, tree.predict(X), resolution=8)
    ax.figure.canvas.draw()
    image = np.asarray(ax.images[0].get_array())
    assert (image == image[0]).all()
    plt.close(ax.figure)


def test_categories_are_held_at_the_most_frequent():
    columns = [Column("a"), Column("colour", categories=["red", "blue"]), Column("b", missing="indicator")]
    tree = Tree(Topology.complete(1), [[0.0, -1.0, 1.0, 0.0, 0.0]], [0.0], [[1, 0], [0, 1]], class_names=["r", "b"])
    X = np.array([[0, "blue", 1], [1, "blue", None], [2, "red", 3]], dtype=object)
    ax = plot_regions(Model(Encoder(columns), tree), X, features=("a", "b"), resolution=4)
    assert (np.asarray(ax.images[0].get_array()) == 1).all()
    assert ax.get_xlabel() == "a"
    with pytest.raises(ValueError, match="'colour' is categorical"):
        plot_regions(Model(Encoder(columns), tree), X, features=("a", "colour"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": (0, 7)}, "columns of the tree, got 7"),
        ({"features": (1, 1)}, "two different columns"),
        ({"features": (0,)}, "two columns, got 1"),
        ({"at": [1.0]}, "3 values"),
        ({"projection": np.eye(2)}, r"shape \(2, 3\)"),
        ({"projection": "pca"}, "with X given"),
        ({"limits": ((1, 0), (0, 1))}, "low < high"),
        ({"output": 3}, "between 0 and 0"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        plot_regions(Tree(Topology.complete(1), [[1.0, 0, 0]], [0.0], [[0.0], [1.0]]), **options)
