"""The page writes numbers, splits and answers as the other readable views do, in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.explorer.description import describe
from dtsemnet.tree import Column, Encoder, Model, ReadableView, Topology, Tree, class_colors
from dtsemnet.tree.wording import Digits, display_number, write_question, write_sum

PAGE = Path(__file__).parents[2] / "src" / "dtsemnet" / "explorer" / "page"

SCRIPT = """
import { createInterface } from "node:readline";
import { readModel } from "PAGE/model.js";
import { numberText, questionText, readEquation, sumParts } from "PAGE/text.js";
const byFeature = ({ terms, bias }) => ({ terms: terms.sort((a, b) => a.feature - b.feature), bias });
const tasks = {
  numbers: ([values, digits]) => values.map((value) => numberText(value, digits)),
  model(description) {
    const model = readModel(description), { weight, bias, coef, value, nFeatures } = model;
    const equation = (w, k, b) => byFeature(readEquation(model, w, k * nFeatures, b));
    return {
      splits: [...bias.keys()].map((i) => questionText(model, equation(weight, i, bias[i]), true)),
      leaves: [...value.keys()].map((k) => sumParts(model, equation(coef, k, value[k])).join(" ")),
    };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, argument] = JSON.parse(line);
  console.log(JSON.stringify(tasks[name](argument)));
}
""".replace("PAGE", PAGE.as_uri())


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Ask the page's modules in one process of Node."""
    if shutil.which("node") is None:
        pytest.skip("needs node, version 20 or later (Debian: nodejs)")
    script = tmp_path_factory.mktemp("node") / "ask.mjs"
    script.write_text(SCRIPT, encoding="utf-8")
    with subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None

        def ask_(task: str, argument):
            node.stdin.write(json.dumps([task, argument]) + "\n")
            node.stdin.flush()
            return json.loads(node.stdout.readline())

        yield ask_
        node.stdin.close()


def display(text: str) -> str:
    """Write the signs of a text of the library as the page writes them."""
    return text.replace("-", "\N{MINUS SIGN}")


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**8), 10**8).map(float),
    st.integers(-(10**6), 10**6).map(lambda k: k / 64),  # ties, which round to even
)


@given(st.lists(NUMBERS, min_size=1, max_size=50), st.integers(2, 6))
def test_numbers_read_as_in_plots(ask, numbers, digits):
    assert ask("numbers", [numbers, digits]) == [display_number(number, digits) for number in numbers]


ENCODER = Encoder(
    [
        Column("age", missing="indicator", fill=41.5, center=40.0, scale=0.125),
        Column("size", center=-3.0, scale=0.5),
        Column("height", lower=0.5, upper=2.0, missing="indicator", fill=5.0),
        Column("plan", categories=["basic", "plus", "premium"], missing="indicator"),
        Column("floor", categories=[0, 1, 2.5]),
    ]
)
EIGHTHS = st.one_of(st.just(0.0), st.integers(-80, 80).map(lambda k: k / 8))


@st.composite
def models(draw) -> Model:
    """Trees on numbers, categories and missing values; some splits read one column alone."""
    n_splits, width = 3, ENCODER.n_features
    weight = np.array(draw(st.lists(st.lists(EIGHTHS, min_size=width, max_size=width), min_size=3, max_size=3)))
    for split in range(n_splits):
        column = draw(st.one_of(st.none(), st.sampled_from(ENCODER.features_of_column)))
        if column is not None:
            kept = weight[split, column].copy()
            weight[split] = 0.0
            weight[split, column] = kept
    bias = draw(st.lists(EIGHTHS, min_size=3, max_size=3))
    value = draw(st.lists(EIGHTHS, min_size=4, max_size=4))
    coef = draw(st.lists(st.lists(EIGHTHS, min_size=width, max_size=width), min_size=4, max_size=4))
    tree = Tree(Topology.complete(2), weight, bias, np.reshape(value, (4, 1)), np.reshape(coef, (4, 1, width)))
    return Model(ENCODER, tree)


@settings(max_examples=60)
@given(models())
def test_splits_and_leaves_read_as_in_text(ask, model):
    view = ReadableView.of(model)
    digits = Digits.same(ENCODER.n_features, 4)
    written = ask("model", describe(model, None, title="", max_rows=0, image_shape=None))
    splits = [write_question(view, w, float(b), digits) for w, b in zip(view.tree.weight, view.tree.bias)]
    leaves = [write_sum(view, w, float(b), digits) for w, b in zip(view.tree.coef[:, 0], view.tree.value[:, 0])]
    # Sums of eighths have few digits, so the two number formats differ by the minus sign alone.
    assert written["splits"] == [display(" ".join(question.parts)) for question in splits]
    assert written["leaves"] == [display(" ".join(answer.parts)) for answer in leaves]


@pytest.mark.parametrize("n_classes", [2, 7, 12, 20])
def test_classes_have_the_colours_of_plots(n_classes):
    names = [f"class {k}" for k in range(n_classes)]
    leaf = Tree(Topology([]), np.empty((0, 1)), [], np.eye(1, n_classes), class_names=names)
    palette = describe(Model.of(leaf), None, title="", max_rows=0, image_shape=None)["palette"]
    assert palette == class_colors(n_classes)
    assert len(set(palette)) == n_classes
