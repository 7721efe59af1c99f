"""The model file as an artefact reads back as what it was made from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from dtsemnet.export import check_export
from dtsemnet.export.model_json import to_json
from dtsemnet.tree import read
from dtsemnet.tree.file import loads
from strategies import MODELS, make_model, trees


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_reads_back(kind, tmp_path):
    model = make_model(kind)
    artefact = to_json(model)
    assert artefact.report.n_near == 0
    assert read(artefact.save(tmp_path / "model.json")) == model


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind):
    model = make_model(kind)
    assert check_export(model, to_json(model), n_rows=170_000).n_rows >= 100_000


@given(trees())
@settings(max_examples=25, deadline=None)
def test_a_bare_tree_stays_one(tree):
    assert loads(to_json(tree).text) == tree
