"""The page answers as Python does, to the bit, in a real browser."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.explorer import to_html
from dtsemnet.explorer.description import describe, pack
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from explorer.conftest import BITS, as_json, bits
from strategies import points, probabilities, trees, wild_points, wild_trees

EXTREMES = [0.0, -0.0, 5e-324, 1e-300, 1e16, 1e150, -1e150, 1.7e308, -1.7e308]
SET = BITS + "return rows.map((row) => { explorer.set(row); return tell(explorer.state.result); });"
EVALUATE = (
    BITS
    + "const model = explorer.read(JSON.parse(arguments[1]));"
    + "return rows.map((row) => tell(explorer.evaluate(row, model)));"
)


def said_by_python(model: Model, X) -> list:
    """Leaf, path with scores and answer of each row; None for a row that is refused. One row at a time."""
    found = []
    for row in X:
        table = np.array([row], dtype=object if model.encoder.columns[-1].categories else np.float64)
        with np.errstate(all="ignore"):
            try:
                leaf, steps = int(model.apply(table)[0]), model.decision_path(table)[0]
                answer = model.predict_proba(table) if model.is_classifier else model.predict(table)
                scores = scores_on_the_path(model, table, steps)
            except ValueError:
                found.append(None)
                continue
        path = [[int(split), bits(score)] for split, score in zip(steps, scores)]
        found.append([leaf, path, [bits(number) for number in np.ravel(answer)]])
    return found


def scores_on_the_path(model: Model, table, steps) -> list[float]:
    """Scores of the splits met: each asked alone, since a split elsewhere may overflow."""
    features, tree = model.transform(table), model.tree
    stump = Topology.complete(1)
    return [
        float(Tree(stump, tree.weight[[i]], tree.bias[[i]], [[0.0], [0.0]]).scores(features)[0, 0])
        for i in steps
        if i >= 0
    ]


def assert_same(browser_says: list, python_says: list) -> None:
    for number, (theirs, ours) in enumerate(zip(browser_says, python_says, strict=True)):
        assert theirs == ours, f"row {number}"


def hard_rows(tree: Tree, rng: np.random.Generator, n_rows: int = 200) -> np.ndarray:
    """Random rows, rows on and beside hyperplanes, and extreme ones."""
    X = rng.normal(size=(n_rows, tree.n_features)) * 10.0 ** rng.integers(-3, 4, size=(n_rows, 1))
    for row in range(0, n_rows // 2):
        split, column = rng.integers(tree.n_splits), rng.integers(tree.n_features)
        if tree.weight[split, column] == 0:
            continue
        X[row, column] -= tree.scores(X[[row]])[0, split] / tree.weight[split, column]
        X[row, column] = np.nextafter(X[row, column], [-np.inf, X[row, column], np.inf][row % 3])
    for row in range(n_rows // 2, n_rows // 2 + 40):
        places = rng.integers(tree.n_features, size=rng.integers(1, 4))
        X[row, places] = rng.choice(EXTREMES, size=len(places))
    return X


def random_tree(rng: np.random.Generator, depth: int, n_features: int, n_outputs: int, **arrays) -> Tree:
    topology = Topology.complete(depth)
    weight = rng.normal(size=(topology.n_splits, n_features)) * 10.0 ** rng.integers(-2, 3, size=(1, n_features))
    value = arrays.pop("value", rng.normal(size=(topology.n_leaves, n_outputs)))
    return Tree(topology, weight, rng.normal(size=topology.n_splits), value, **arrays)


def classifier(rng) -> Model:
    return Model.of(random_tree(rng, 5, 21, 3, value=rng.dirichlet(np.ones(3), size=32), class_names=["a", "b", "c"]))


def guarded(rng) -> Model:
    ends = np.sort(rng.normal(size=(2, 16, 1)) * 5, axis=0)
    return Model.of(random_tree(rng, 4, 18, 1, coef=rng.normal(size=(16, 1, 18)), lower=ends[0], upper=ends[1]))


def several(rng) -> Model:
    upper = rng.normal(size=(16, 3)) + 10
    return Model.of(random_tree(rng, 4, 5, 3, coef=rng.normal(size=(16, 3, 5)), upper=upper))


MIXED = Encoder(
    [
        Column("age", missing="indicator", fill=41.7, center=40.1, scale=0.0813),
        Column("size", center=-3.3, scale=1.7, lower=-2.0, upper=2.5),
        Column("plain"),
        Column("grade", categories=[1, 2, 3], missing="indicator"),
        Column("colour", categories=["red", "blue"]),
        Column("dose", missing="fill", fill=0.3, scale=1.1),
        Column("plan", categories=["a", "b"], missing="fill", fill="b"),
    ]
)


def random_codes(rng, n_rows: int) -> np.ndarray:
    """Rows as the page writes them, for the columns of MIXED."""
    numbers = rng.normal(size=(n_rows, 3)) * [20, 2, 1] + [40, -3, 0]
    numbers[rng.random(n_rows) < 0.3, 0] = np.nan
    numbers[: n_rows // 4, 1:] = rng.choice(EXTREMES, size=(n_rows // 4, 2))
    grade = rng.choice([-1, 0, 1, 2, np.nan], size=n_rows)
    dose = np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows))
    plan = rng.choice([-1, 0, 1, np.nan], size=n_rows)
    return np.column_stack([numbers, grade, rng.integers(-1, 2, size=n_rows), dose, plan])


def from_codes(codes: np.ndarray) -> list[list]:
    """The same rows as a user has them."""
    grades, colours = {-1: 9, 0: 1, 1: 2, 2: 3}, {-1: "green", 0: "red", 1: "blue"}
    return [
        [
            None if np.isnan(age) else age,
            size,
            plain,
            None if np.isnan(grade) else grades[int(grade)],
            colours[int(colour)],
            None if np.isnan(dose) else dose,
            None if np.isnan(plan) else {-1: "c", 0: "a", 1: "b"}[int(plan)],
        ]
        for age, size, plain, grade, colour, dose, plan in codes
    ]


@pytest.mark.parametrize("make", [classifier, guarded, several])
def test_two_hundred_inputs_reach_the_leaf_and_answer_of_python(open_page, tmp_path, make):
    rng = np.random.default_rng(7)
    model = make(rng)
    X = hard_rows(model.tree, rng)
    browser = open_page(to_html(model, tmp_path / "page.html"))
    ours = said_by_python(model, X)
    assert_same(browser.execute_script(SET, as_json(X)), ours)
    assert len({answer[0] for answer in ours if answer}) > 5


@pytest.mark.parametrize("kind", ["class", "linear"])
def test_categories_and_missing_values_are_encoded_as_by_python(open_page, tmp_path, kind):
    rng = np.random.default_rng(8)
    arrays = {"class": {"value": rng.dirichlet([1, 1], size=16), "class_names": [0, 1]}, "linear": {}}[kind]
    coef = {} if kind == "class" else {"coef": rng.normal(size=(16, 1, MIXED.n_features))}
    model = Model(MIXED, random_tree(rng, 4, MIXED.n_features, 1, **arrays, **coef))
    codes = random_codes(rng, 200)
    browser = open_page(to_html(model, tmp_path / "page.html"))
    assert_same(browser.execute_script(SET, as_json(codes)), said_by_python(model, from_codes(codes)))


def test_rows_in_the_page_are_those_of_the_data(open_page, tmp_path):
    rng = np.random.default_rng(9)
    model = Model(MIXED, random_tree(rng, 3, MIXED.n_features, 1))
    X = from_codes(random_codes(rng, 60)[15:30])
    table = np.empty((len(X), MIXED.n_columns), dtype=object)
    table[:] = X
    browser = open_page(to_html(model, tmp_path / "page.html", table))
    for number, leaf in enumerate(model.apply(table)):
        assert browser.find_element("id", "answer").get_attribute("data-leaf") == str(leaf)
        assert browser.find_element("id", "row").get_attribute("value") == str(number + 1)
        browser.find_element("id", "row-next").click()


def test_squashed_outputs_agree_to_rounding(open_page, tmp_path):
    rng = np.random.default_rng(10)
    tree = random_tree(rng, 3, 4, 2, coef=rng.normal(size=(8, 2, 4)))
    model = Model(Encoder.identity("abcd"), tree, TanhScale([-1.0, 0.0], [1.0, 300.0]))
    X = rng.normal(size=(200, 4))
    browser = open_page(to_html(model, tmp_path / "page.html"))
    said = browser.execute_script(BITS + "return rows.map((row) => explorer.evaluate(row).output);", as_json(X))
    # One rounding of tanh, near -1, is one of the whole interval.
    np.testing.assert_allclose(said, model.predict(X), rtol=1e-14, atol=300 * 1e-15)


@pytest.fixture(scope="module")
def evaluate(browser, tmp_path_factory):
    """Ask the scripts of a page about any model."""
    path = to_html(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]), tmp_path_factory.mktemp("page") / "page.html")
    browser.get(path.as_uri())

    def ask(model: Model, X, script: str = EVALUATE) -> list:
        if not browser.current_url.startswith(path.as_uri()):
            browser.get(path.as_uri())
        description = describe(model, None, title="", max_rows=0, image_shape=None)
        return browser.execute_script(script, as_json(X), json.dumps(description))

    return ask


@settings(max_examples=40)
@given(st.data(), trees())
def test_trees_of_every_shape_and_kind_agree_on_ties(evaluate, data, tree):
    X = data.draw(points(tree.n_features))
    assert_same(evaluate(Model.of(tree), X), said_by_python(Model.of(tree), X))


@settings(max_examples=25)
@given(st.data(), wild_trees())
def test_trees_of_every_magnitude_agree(evaluate, data, tree):
    X = data.draw(wild_points(tree.n_features))
    assert_same(evaluate(Model.of(tree), X), said_by_python(Model.of(tree), X))


NUMBERS = (
    "const model = explorer.read(JSON.parse(arguments[1])), rows = JSON.parse(arguments[0]);"
    + "return rows.map((row) => { const { leaf, output } = explorer.evaluate(row, model); return [leaf, ...output]; });"
)


@settings(max_examples=25)
@given(st.data(), trees(kind="class"), probabilities())
def test_margin_probabilities_agree_to_the_last_digits(evaluate, data, tree, probability):
    X, model = data.draw(points(tree.n_features)), Model.of(tree)
    model = replace(model, probability=probability)
    said = np.array(evaluate(model, X, NUMBERS))
    np.testing.assert_array_equal(said[:, 0], model.apply(X))
    np.testing.assert_allclose(said[:, 1:], model.predict_proba(X), rtol=1e-14)
    assert evaluate(Model.of(tree), X) == said_by_python(Model.of(tree), X)


MANY = """
const model = explorer.read(JSON.parse(arguments[0])), rows = explorer.unpack(JSON.parse(arguments[1]));
const width = model.columns.length, found = new Float64Array((rows.length / width) * (1 + model.nOutputs));
for (let i = 0, k = 0; i < rows.length; i += width) {
  const { leaf, output } = explorer.evaluate(rows.subarray(i, i + width), model);
  found[k++] = leaf;
  for (const number of output) found[k++] = number;
}
const bytes = new Uint8Array(found.buffer);
let text = "";
for (let k = 0; k < bytes.length; k += 4096) text += String.fromCharCode(...bytes.subarray(k, k + 4096));
return btoa(text);
"""


def mixed(rng) -> Model:
    return Model(MIXED, random_tree(rng, 5, MIXED.n_features, 2, coef=rng.normal(size=(32, 2, MIXED.n_features))))


@pytest.mark.slow
@pytest.mark.parametrize("make", [classifier, guarded, several, mixed])
def test_a_hundred_thousand_rows_agree(open_page, tmp_path, make):
    rng = np.random.default_rng(11)
    model = make(rng)
    browser = open_page(to_html(model, tmp_path / "page.html"))
    description = json.dumps(describe(model, None, title="", max_rows=0, image_shape=None))
    for _ in range(10):
        if make is mixed:
            codes = random_codes(rng, 14_000)[4000:]  # without the extremes, which some trees refuse
            X = np.array(from_codes(codes), dtype=object)
        else:
            X = codes = hard_rows(model.tree, rng, 10_000)
            X[np.abs(X) > 1e100] = 0.0
        said = browser.execute_script(MANY, description, json.dumps(pack(codes)))
        table = np.frombuffer(base64.b64decode(said)).reshape(len(X), -1)
        answer = model.predict_proba(X) if model.is_classifier else model.predict(X).reshape(len(X), -1)
        np.testing.assert_array_equal(table[:, 0], model.apply(X))
        np.testing.assert_array_equal(table[:, 1:].copy().view(np.uint64), np.ascontiguousarray(answer).view(np.uint64))
