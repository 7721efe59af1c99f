"""The readable view computes what the model computes, in the units of the data; classes have one colour each."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet.export.probes import probe_rows
from dtsemnet.tree import ReadableView, class_colors, raw_view, tint
from strategies import MODELS, make_model


@pytest.mark.parametrize("kind", MODELS)
def test_the_view_scores_as_the_model_does(kind):
    model = make_model(kind)
    rows = probe_rows(model, None, 200, np.random.default_rng(0))[:100]  # extreme rows come last
    view = ReadableView.of(model)
    np.testing.assert_allclose(view.tree.scores(view.rows(rows)), model.scores(rows), rtol=1e-6, atol=1e-6)
    assert len(view.labels) == view.tree.n_features == model.tree.n_features


@pytest.mark.parametrize("kind", MODELS)
def test_views_differ_by_the_fill_alone(kind):
    model = make_model(kind)
    raw, view = raw_view(model), ReadableView.of(model)
    assert raw.tree == view.filled
    assert raw.labels == view.labels
    for feature in model.encoder.features:
        added = 0.0 if feature.fill is None else raw.tree.weight[:, feature.index - 1] * feature.fill
        expected = raw.tree.weight[:, feature.index] + added
        np.testing.assert_array_equal(view.tree.weight[:, feature.index], expected)


def test_sizes_are_shares_of_the_largest_term():
    model = make_model("mixed linear")
    view, rows = ReadableView.of(model), probe_rows(model, None, 100, np.random.default_rng(0))
    for part in ("weight", "coef"):
        for spread in (None, view.spread(rows[:20])):
            size = np.abs(view.sizes(part, spread))
            assert size.max() <= 1.0
            assert np.isin(np.round(size.max(axis=-1), 12), [0.0, 1.0]).all()


@pytest.mark.parametrize("n_classes", [1, 2, 7, 8, 9, 12, 13, 40, 100])
def test_classes_have_colours_of_their_own(n_classes):
    colors = class_colors(n_classes)
    assert len(set(colors)) == n_classes
    assert all(tint(color, 1.0) == color and tint(color, 0.0) == "#ffffff" for color in colors)
