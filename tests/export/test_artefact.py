"""What runs is an artefact with a report; what is only read is not, and is never checked."""

from __future__ import annotations

import pytest

from dtsemnet import export
from dtsemnet.export import Artefact, Drawing, check_export, to_dot, to_onnx, to_python
from strategies import make_model


def test_a_drawing_is_shown_and_saved_but_not_checked(tmp_path):
    model = make_model("class")
    drawing = to_dot(model)
    assert isinstance(drawing, Drawing)
    assert not isinstance(drawing, Artefact)
    assert str(drawing) == drawing.text == drawing.save(tmp_path / "tree.dot").read_text(encoding="utf-8")
    assert repr(drawing) == f"Drawing(DOT, {len(drawing.text):,} characters)"
    with pytest.raises(TypeError, match="only for reading"):
        check_export(model, drawing)


def test_a_program_says_how_it_was_checked():
    assert repr(to_python(make_model("class"))).endswith(f"{to_python(make_model('class')).report})")
    with pytest.raises(TypeError, match="is bytes, not text"):
        _ = to_onnx(make_model("class")).text


def test_earlier_names_are_kept():
    assert export.Answer is export.Predictions
    assert export.Report is export.CheckReport
