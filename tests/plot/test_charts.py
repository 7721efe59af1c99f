"""Leaves, history, importance and pictures: what is drawn are the numbers."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.plot import plot_history, plot_importance, plot_leaves, plot_regions, plot_tree, plot_weights_image
from dtsemnet.tree import Topology, Tree, class_colors
from strategies import KINDS, points, trees


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"max_depth": 2, "n_init": 1, "max_iter": 12, "random_state": 0}
    return DTSemNetClassifier(early_stopping=True, **options).fit(X, names), X, names


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return DTSemNetRegressor(max_depth=2, n_init=1, max_iter=5, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(st.data())
def test_bars_are_the_shares_of_leaves(kind, data):
    tree = data.draw(trees(kind=kind, max_splits=7))
    X = data.draw(points(tree.n_features))
    y = data.draw(st.sampled_from([None, tree.predict(X)]))
    for sort in (True, False):
        ax = plot_leaves(tree, X, y, sort=sort)
        height = np.array([bar.get_height() for bar in ax.patches]).reshape(-1, tree.n_leaves).sum(axis=0)
        share = np.bincount(tree.apply(X), minlength=tree.n_leaves) / len(X)
        assert_allclose(height, np.sort(share)[::-1] if sort else share, atol=1e-12)
        plt.close(ax.figure)


def test_dots_are_the_errors_of_leaves(diabetes):
    estimator, X, y = diabetes
    ax = plot_leaves(estimator, X, y, sort=False)
    (right,) = [other for other in ax.figure.axes if other.lines]
    leaf, residual = estimator.apply(X), y - estimator.predict(X)
    expected = [np.sqrt(np.mean(residual[leaf == k] ** 2)) if (leaf == k).any() else np.nan for k in range(4)]
    assert_allclose(right.lines[0].get_ydata(), expected)


def test_stacks_are_the_classes_of_the_rows(iris):
    estimator, X, y = iris
    ax = plot_leaves(estimator, X, y, sort=False)
    height = np.array([bar.get_height() for bar in ax.patches]).reshape(3, -1)
    leaf = estimator.apply(X)
    expected = [[np.mean((y == name) & (leaf == k)) for k in range(height.shape[1])] for name in estimator.classes_]
    assert_allclose(height, expected, atol=1e-12)


def test_history_shows_loss_validation_and_best_epoch(iris):
    estimator, *_ = iris
    ax = plot_history(estimator)
    assert_array_equal(ax.lines[0].get_ydata(), estimator.loss_curve_)
    (right,) = [other for other in ax.figure.axes if other is not ax]
    assert_allclose(1 - np.array(right.lines[0].get_ydata()), estimator.validation_scores_)
    rows = [row.epoch for row in estimator.history_]
    assert list(ax.lines[1].get_xdata()) == [1 + rows.index(estimator.history_.best_epoch)] * 2
    ax.figure.canvas.draw()


@pytest.mark.parametrize("schedule", ["temperature", "learning_rate", None])
def test_history_names_its_schedule(diabetes, schedule):
    texts = [text.get_text() for text in plot_history(diabetes[0], schedule=schedule).texts]
    assert [text.split(" from ")[0] for text in texts] == ([] if schedule is None else [schedule.replace("_", " ")])


def test_history_that_is_not_there_is_named(iris, tmp_path):
    with pytest.raises(TypeError, match="have a history_, got Tree"):
        plot_history(iris[0].tree_)
    with pytest.raises(ValueError, match="schedule must be"):
        plot_history(iris[0], schedule="speed")
    iris[0].save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="loaded model"):
        plot_history(DTSemNetClassifier.load(tmp_path / "model.json"))


def test_importance_is_sorted_and_the_rest_summed(iris):
    estimator, X, _ = iris
    expected = estimator.feature_importances_
    ax = plot_importance(estimator, top=2)
    assert_allclose([bar.get_width() for bar in ax.patches], [*np.sort(expected)[:1:-1], np.sort(expected)[:2].sum()])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [*X.columns[np.argsort(-expected, kind="stable")[:2]], "2 others"]


def test_importance_measured_on_the_training_rows_is_that_of_the_estimator(diabetes):
    estimator, X, _ = diabetes
    known = plot_importance(estimator)
    measured = plot_importance(estimator.model_, X)
    assert_allclose(
        [bar.get_width() for bar in measured.patches], [bar.get_width() for bar in known.patches], rtol=1e-5
    )


@settings(max_examples=5)
@given(st.data())
def test_importances_of_any_tree_sum_to_one_or_are_zero(data):
    tree = data.draw(trees(max_splits=7))
    ax = plot_importance(tree, data.draw(points(tree.n_features)))
    total = sum(bar.get_width() for bar in ax.patches)
    assert total == pytest.approx(1.0) or total == 0
    plt.close(ax.figure)


def test_importance_of_a_bare_tree_needs_rows():
    with pytest.raises(ValueError, match="pass rows as X"):
        plot_importance(Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]]))


def test_pictures_are_the_weights_of_the_splits():
    X, y = load_digits(return_X_y=True)
    estimator = DTSemNetClassifier(max_depth=4, n_init=1, max_iter=3, refit=False, random_state=0).fit(X, y)
    ax = plot_weights_image(estimator, (8, 8), X=X)
    size = estimator.tree_.weight * X.std(axis=0)
    assert len(ax.images) == 15
    for image, expected in zip(ax.images, size):
        assert_allclose(np.asarray(image.get_array()).ravel(), expected / np.abs(expected).max(), atol=1e-12)
        assert image.get_clim()[0] == -image.get_clim()[1]
    grid = plot_weights_image(estimator, (8, 8), splits=[3, 5])
    assert [patch.get_gid() for patch in grid.patches] == ["split-3", "split-5"]


def test_pictures_do_not_overlap_in_any_arrangement():
    tree = Tree(Topology.complete(7), np.ones((127, 4)), np.zeros(127), np.zeros((128, 1)))
    for splits, count in [(None, 31), (range(50), 50)]:
        ax = plot_weights_image(tree, (2, 2), splits)
        boxes = [image.get_extent() for image in ax.images]
        assert len(boxes) == count
        for i, (a, b, c, d) in enumerate(boxes):
            assert not any(a < f and e < b and c < h and g < d for e, f, g, h in boxes[:i])


def test_wrong_pictures_are_named():
    tree = Tree(Topology.complete(1), np.ones((1, 4)), [0.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="4 pixels"):
        plot_weights_image(tree, (3, 3))
    with pytest.raises(ValueError, match="between 0 and 0, got 5"):
        plot_weights_image(tree, (2, 2), splits=[5])
    with pytest.raises(ValueError, match="no splits"):
        plot_weights_image(Tree(Topology([]), np.empty((0, 4)), [], [[0.0]]), (2, 2))


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_every_plot_draws_on_given_axes_and_can_be_saved(iris, kind, tmp_path):
    estimator, X, y = iris
    plots = [
        lambda ax: plot_tree(estimator, X, y, ax=ax),
        lambda ax: plot_regions(estimator, X, y, resolution=20, ax=ax),
        lambda ax: plot_leaves(estimator, X, y, ax=ax),
        lambda ax: plot_history(estimator, ax=ax),
        lambda ax: plot_importance(estimator, ax=ax),
        lambda ax: plot_weights_image(estimator, (2, 2), ax=ax),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(10, 6))
    for plot, ax in zip(plots, axes.flat):
        assert plot(ax) is ax
        assert ax.has_data() or ax.images or ax.patches
    figure.savefig(path := tmp_path / f"all.{kind}")
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 12, 13, 40])
def test_classes_have_colours_of_their_own(n_classes):
    assert len(set(class_colors(n_classes))) == n_classes


def test_matplotlib_is_imported_by_plots_alone():
    code = "import sys, dtsemnet; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import sys; sys.modules['matplotlib'] = None; import dtsemnet.plot"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "install dtsemnet[plot]" in result.stderr
