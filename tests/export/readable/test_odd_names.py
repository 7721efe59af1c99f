"""Names of columns, categories and classes reach no reader with control characters, in any form."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtsemnet import Model
from dtsemnet.export import explain, to_dot, to_frame, to_text
from dtsemnet.tree import Encoder, Topology, Tree

GOLDEN = Path(__file__).parents[2] / "golden" / "v0.1"
ROW = {"red\x1b[2J": 1.5, "a\nb": "=1+1", "x\u202ey": 2.0}


@pytest.fixture
def model() -> Model:
    return Model.load(GOLDEN / "odd-names.json")


def test_no_form_shows_control_characters(model: Model) -> None:
    explanation = explain(model, ROW)
    words = [
        to_text(model),
        to_dot(model).text,
        str(explanation),
        explanation._repr_html_(),
        repr(model),
        *model.feature_labels,
        *map(str, to_frame(model).columns),
    ]
    for text in words:
        assert text.replace("\n", "").isprintable()
    assert "red\\x1b[2J" in to_text(model)
    assert "red\\\\x1b[2J" in to_dot(model).text


def test_data_keep_names_as_they_are(model: Model) -> None:
    described = explain(model, ROW).to_dict()
    assert {term["column"] for step in described["path"] for term in step["terms"]} == set(ROW)
    assert [part["class"] for part in described["classes"]] == list(model.class_names or ())
    assert model.encoder.feature_names[0] == "red\x1b[2J"
    assert set(to_frame(model)["class"].dropna()) == set(model.class_names or ())


def test_names_that_look_alike_keep_their_columns() -> None:
    names = ["a\x1b", "a\\x1b", "a\\x1b (1)", "a\\x1b (2)"]
    tree = Tree(Topology.complete(1), [[1.0, 2.0, 3.0, 4.0]], [0.0], [[0.0], [1.0]])
    frame = to_frame(Model(Encoder.identity(names), tree))
    coefs = [name for name in frame.columns if name.startswith("coef ")]
    assert frame.loc["split 0", coefs].tolist() == [1.0, 2.0, 3.0, 4.0]
