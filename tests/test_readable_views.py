"""Every readable view of one model shows the same weights, the same names and the same colours.

Views: ``to_text``, ``to_frame``, ``to_dot``, ``explain``, the drawings, the page's description and ``dtsemnet show``.
The model has what views could disagree on: standardised and clipped numbers, categories, missing values with a fill,
and seven classes.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from typer.testing import CliRunner

from dtsemnet.cli import app
from dtsemnet.explorer.description import describe
from dtsemnet.export import explain, to_dot, to_frame, to_text
from dtsemnet.plot import plot_leaves, plot_regions, plot_tree
from dtsemnet.tree import Column, Encoder, Model, ReadableView, Topology, Tree, class_colors, tint
from dtsemnet.tree.file import loads

CLASSES = ["ash", "birch", "cedar", "elm", "fir", "oak", "yew"]
COLUMNS = [
    Column("age", center=40.0, scale=0.1, missing="indicator", fill=41.5),
    Column("plan", categories=["basic", "plus"], missing="indicator"),
    Column("income", center=2.0, scale=0.5, lower=-1.0, upper=1.0),
]
# age, age missing, plan = basic, plan = plus, plan missing, clip(income)
WEIGHT = [
    [1.0, 0.2, -0.5, 0.0, 0.25, 2.0],
    [0.0, 0.0, 3.0, 0.0, 0.0, 0.0],
    [-2.0, 0.4, 0.0, 0.0, 0.0, 0.0],
    [0.5, 0.0, 0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 2.0, 0.0, -1.0],
]
ROWS = [[45.0, "basic", 3.0], [None, "plus", 1.0], [30.0, None, 8.0], [60.0, "other", 2.0]]


@pytest.fixture(scope="module")
def model() -> Model:
    topology = Topology([[1, 2], [3, 4], [5, -7], [-1, -2], [-3, -4], [-5, -6]])
    value = 0.79 * np.eye(7) + 0.03
    tree = Tree(topology, WEIGHT, [0.5, -1.5, 0.3, -0.2, 0.1, 0.4], value, class_names=CLASSES)
    return Model(Encoder(COLUMNS), tree)


def read_sum(text: str) -> dict[str, float]:
    """Read ``0.1 age + 4.35 (age missing) - 3.5 > 0`` back into numbers; the constant has the name "1"."""
    text = text.removesuffix(" ?").removesuffix(" > 0").replace("\N{MINUS SIGN}", "-")
    terms: dict[str, float] = {}
    for sign, size, name in re.findall(
        r"(?:^|\s)([+-]?)\s?(\d[\d.]*)?\s?((?:\(.*?\)|clip\(.*?\)\)?|[a-z]+)?)(?=\s[+-]|$)", text
    ):
        if size or name:
            terms[name.strip("()") if name.startswith("(") else name or "1"] = float(size or 1) * (
                -1 if sign == "-" else 1
            )
    return terms


def weights_of(view: ReadableView, split: int) -> dict[str, float]:
    named = zip(view.labels, view.tree.weight[split].tolist())
    return {name: number for name, number in named if number} | {"1": float(view.tree.bias[split])}


def dot_labels(model: Model) -> dict[str, str]:
    return dict(re.findall(r'^  (split\d|leaf\d) \[label="([^"]*)"', to_dot(model, digits=6).text, re.MULTILINE))


def test_a_missing_number_has_one_weight_in_every_view(model):
    view = ReadableView.of(model)
    expected = weights_of(view, 0)
    assert expected["age missing"] == pytest.approx(0.2 + 0.1 * 41.5)
    text = to_text(model, digits=6, width=None).split("\n")[0]
    assert read_sum(text) == pytest.approx(expected, rel=1e-5)
    assert read_sum(dot_labels(model)["split0"]) == pytest.approx(expected, rel=1e-5)
    assert read_sum(explain(model, ROWS[0]).path[0].question) == pytest.approx(expected, rel=1e-3)
    row = to_frame(model).loc["split 0"]
    assert {label: row[f"coef {label}"] for label in view.labels if row[f"coef {label}"]} | {
        "1": row["intercept"]
    } == pytest.approx(expected)


def test_the_title_of_a_drawing_has_the_same_weights(model):
    figure, ax = plt.subplots(figsize=(40, 8))
    plot_tree(model, ax=ax)
    titles = [text.get_text() for text in ax.texts]
    title = next(title for title in titles if " … " in title or "(age missing)" in title)
    sum_text, threshold = re.split(r" [<>] ", title)
    shown, expected = read_sum(sum_text.replace(" …", "")), weights_of(ReadableView.of(model), 0)
    lead = expected[next(iter(shown))]  # a title is divided by the weight of its largest term
    assert {name: number * lead for name, number in shown.items()} == pytest.approx(
        {name: expected[name] for name in shown}, rel=0.02
    )
    if "…" in title:  # a threshold would be that of the whole sum, and mislead beside a part of it
        assert threshold == "0"
    else:
        assert float(threshold.replace("\N{MINUS SIGN}", "-")) * -lead == pytest.approx(expected["1"], rel=0.02)
    plt.close(figure)


def test_the_page_folds_to_the_same_weights(model):
    view = ReadableView.of(model)
    page = describe(model, None, title="", max_rows=0, image_shape=None)
    plain = {"term": None, "kind": "number", "category": None, "scale": 1.0, "shift": 0.0, "fill": None}
    features = [plain | feature for feature in page["features"]]
    scale = np.array([feature["scale"] for feature in features])
    weight = model.tree.weight * scale
    for j, feature in enumerate(features):
        if feature["fill"] is not None:
            weight[:, j] += weight[:, j - 1] * feature["fill"]
    np.testing.assert_array_equal(weight, view.tree.weight)
    shift = np.array([feature["shift"] for feature in features])
    np.testing.assert_allclose(model.tree.bias + model.tree.weight @ shift, view.tree.bias)
    assert [feature["label"] for feature in features] == list(view.labels)
    assert [feature["term"] or feature["label"] for feature in features] == [f.term for f in view.features]


def test_names_are_spelled_one_way(model):
    labels = ("plan = basic", "plan missing", "age missing", "clip((income - 2) * 0.5, -1, 1)")
    figure, ax = plt.subplots(figsize=(40, 8))
    plot_tree(model, max_terms=6, ax=ax)
    views = {
        "text": to_text(model, width=None),
        "dot": to_dot(model).text,
        "frame": "\n".join(to_frame(model).columns),
        "drawing": "\n".join(text.get_text() for text in ax.texts),
        "page": "\n".join(
            f["label"] for f in describe(model, None, title="", max_rows=0, image_shape=None)["features"]
        ),
    }
    plt.close(figure)
    for name, shown in views.items():
        for label in labels:
            assert label in shown, (name, label)
        assert "plan=" not in shown, name


def test_a_split_on_one_column_is_solved_alike(model):
    lines, labels = to_text(model, width=None).split("\n"), dot_labels(model)
    figure, ax = plt.subplots(figsize=(40, 8))
    plot_tree(model, ax=ax)
    titles = [text.get_text() for text in ax.texts]
    plt.close(figure)
    for split, question in ((1, "plan = basic"), (2, "age < 41.5 or missing")):
        assert any(line.endswith(f"{question} ?") for line in lines), question
        assert labels[f"split{split}"] == question
        assert question in titles


def test_a_class_has_one_colour(model):
    colors = class_colors(7)
    assert len(set(colors)) == 7
    page = describe(model, None, title="", max_rows=0, image_shape=None)
    assert page["palette"] == colors
    fills = re.findall(r'leaf\d \[.*fillcolor="(#\w+)"', to_dot(model).text)
    certainty = (0.82 - 1 / 7) / (1 - 1 / 7)
    assert fills == [tint(color, 0.35 * certainty) for color in colors]
    for draw in (plot_tree, plot_leaves, plot_regions):
        options = {"features": ("age", "income")} if draw is plot_regions else {}
        ax = draw(model, np.array(ROWS, dtype=object), **options)
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == CLASSES
        assert [to_hex(patch.get_facecolor()) for patch in legend.get_patches()] == colors
        plt.close(ax.figure)


def test_the_command_line_shows_the_text(model, tmp_path: Path):
    model.save(tmp_path / "model.json")
    done = CliRunner().invoke(app, ["show", str(tmp_path / "model.json")])
    assert done.stdout == to_text(model, leaf_numbers=True) + "\n"


def test_rows_are_counted_alike(model):
    rows = np.array(ROWS * 5, dtype=object)
    frame = to_frame(model, rows)
    counts = [int(frame.loc[f"leaf {leaf}", "rows"]) for leaf in range(7)]
    assert counts == np.bincount(model.apply(rows), minlength=7).tolist()
    dot = to_dot(model, rows).text
    assert [int(re.search(rf"leaf{leaf} \[label=\"[^\"]*\\n(\d+) rows", dot)[1]) for leaf in range(7)] == counts
    words = re.findall(r"\[(\d+|no) rows?\]", to_text(model, rows))
    text = [0 if word == "no" else int(word) for word in words]
    assert text == counts[::-1]  # the text writes the branch yes, on the right, first
    ax = plot_leaves(model, rows, sort=False)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(7, 7).sum(axis=0)
    np.testing.assert_allclose(heights, np.array(counts) / len(rows))
    plt.close(ax.figure)


def test_the_page_on_the_model_file_shows_its_example_as_text():
    page = (Path(__file__).parents[1] / "docs" / "model-file.md").read_text(encoding="utf-8")
    example, text = re.search(r"```json\n(.*?)```.*?```text\n(.*?)```", page, re.DOTALL).groups()
    assert to_text(loads(example)) + "\n" == text


def test_points_are_shown_in_steps_of_their_columns_by_every_view():
    columns = [Column("age", center=40.0, scale=0.1), Column("bmi", scale=0.5), Column("sex", categories=["f"])]
    tree = Tree(Topology.complete(2), [[3, -2, 4], [1, 0, 0], [0, 0, 1]], [-14, -1, 0], np.eye(4))
    points = Model(Encoder(columns), tree)
    text, page = to_text(points), describe(points, None, title="", max_rows=0, image_shape=None)
    assert "3 (age - 40) / 10 - 2 (bmi / 2) + 4 (sex = f) - 14 > 0" in text
    assert "age > 50" in text, "alone, a column is read in its own units"
    assert [feature["label"] for feature in page["features"]] == ["(age - 40) / 10", "bmi / 2", "sex = f"]
    assert [feature.get("in_steps", False) for feature in page["features"]] == [True, True, False]
    for written in (str(to_dot(points)), str(explain(points, [[60.0, 20.0, "f"]]))):
        assert "(age - 40) / 10" in written
    flip = explain(points, [[60.0, 20.0, "f"]]).path[0].flips
    assert {step.column: round(step.value, 6) for step in flip}["bmi"] == pytest.approx(-4.0)
