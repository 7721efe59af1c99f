"""The Python module answers as the tree does, needs nothing, and refuses what the tree refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from dtsemnet.export import check_export, to_python
from strategies import MODELS, make_model, trees


def load(model):
    module = {}
    exec(to_python(model).text, module)
    return module


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind):
    model = make_model(kind)
    report = check_export(model, to_python(model), n_rows=3000)
    assert report.n_near == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind):
    model = make_model(kind)
    assert check_export(model, to_python(model), n_rows=170_000).n_rows >= 100_000


@given(trees())
@settings(max_examples=30)
def test_every_tree_agrees(tree):
    assert to_python(tree).report.n_near == 0


def test_rows_may_be_dicts():
    model = make_model("mixed class")
    module = load(model)
    row = [30.0, "it's", 2, 900.0, None, 1.5]
    names = [column.name for column in model.encoder.columns]
    assert module["predict"](dict(zip(names, row))) == model.predict(np.array([row], dtype=object))[0]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ([30.0, "red", 2, None, 70.0, 1.5], "income"),
        ([30.0, "red", 2, 900.0, 70.0, float("inf")], "plain"),
        ([30.0, "red", 2], "6 values"),
    ],
)
def test_bad_rows_are_refused_by_column(row, named):
    with pytest.raises(ValueError, match=named):
        load(make_model("mixed class"))["predict"](row)


def test_the_module_runs_without_any_package(tmp_path):
    model = make_model("class")
    path = to_python(model).save(tmp_path / "tree.py")
    code = "import sys, tree; print(tree.predict([1.0] * 8)); print('numpy' in sys.modules)"
    command = [sys.executable, "-S", "-X", "utf8", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split("\n")[:2] == [str(model.predict(np.ones((1, 8)))[0]), "False"]
    assert path == tmp_path / "tree.py"
