"""Text that a person can follow, and that says what the tree does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dtsemnet.export import to_text
from dtsemnet.export.readable.text import fold_small
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from dtsemnet.tree.wording import number_text
from dtsemnet.verify import Domain, simplify
from strategies import points, trees, wild_points, wild_trees

BRANCH = r"^[│ ]*(?:├─ yes: |└─ no:  )?"


def follow(text, x):
    """Read the text as a person would: evaluate each inequality, take its branch, return the line of the leaf."""
    lines = text.split("\n")
    i = 0
    while lines[i].endswith(" ?"):
        question = re.sub(BRANCH, "", lines[i])[:-2]
        terms = re.sub(r"(\d) (x\d)", r"\1 * \2", question)
        yes = eval(terms, {f"x{j}": number for j, number in enumerate(x)})
        # The node's own column, then the first line below it with the branch wanted at that column.
        column = lines[i].index(question)
        branch = "├─ yes: " if yes else "└─ no:  "
        i = next(k for k in range(i + 1, len(lines)) if lines[k][column : column + len(branch)] == branch)
    return re.sub(BRANCH, "", lines[i])


def numbered(tree):
    """The same splits, with leaves that answer their number."""
    return Tree(tree.topology, tree.weight, tree.bias, np.arange(tree.n_leaves)[:, None])


@settings(max_examples=50)
@given(st.data(), trees(kind="constant", n_features=3, max_splits=7))
def test_following_the_text_reaches_the_leaf(data, tree):
    tree = numbered(tree)
    # 17 digits: the questions are exact but for thresholds -b / w, so rows on those are left out.
    text = to_text(tree, digits=17, width=None)
    for x, leaf, scores in zip(X := data.draw(points(3)), tree.apply(X), tree.scores(X)):
        if (scores != 0).all():
            assert follow(text, x) == str(leaf)


@given(st.data(), trees(kind="constant", n_features=3, max_splits=7), st.sampled_from([1.0, 1 / 3, 1e5 / 7]))
def test_with_rows_the_text_sends_each_to_its_leaf(data, tree, scale):
    tree = numbered(Tree(tree.topology, tree.weight * scale, tree.bias * scale, tree.value))
    X = data.draw(points(3))
    # Python adds from left to right and the tree by halves: with numbers that round, ties may differ.
    X = X[(np.abs(tree.scores(X)) > 1e-6 * scale).all(axis=1) | (scale == 1.0)]
    assume(len(X))
    text = to_text(tree, X, width=None)
    assert tree.n_splits == 0 or "the same leaf as in the tree." in text.split("\n")[-1]
    for x, leaf in zip(X, tree.apply(X)):
        assert follow(text, x).split("  [")[0] == str(leaf)


@settings(max_examples=30)
@given(st.data(), wild_trees(n_features=3, max_splits=5))
def test_the_last_line_counts_rows_that_go_elsewhere(data, tree):
    assume(tree.n_splits)
    tree, X = numbered(tree), data.draw(wild_points(3))
    text = to_text(tree, X, digits=1, width=None)
    moved = sum(follow(text, x).split("  [")[0] != str(leaf) for x, leaf in zip(X, tree.apply(X)))
    # Python adds from left to right and the tree by halves, so a row within rounding of a split may differ.
    found = re.search(r"digits?: (?:all (\d+) rows|(\d+) of)", text)
    assert abs(int(found[2] or 0) - moved) <= 1


@settings(max_examples=30)
@given(st.data(), wild_trees(n_features=3, max_splits=5))
def test_digits_suffice_at_any_magnitude(data, tree):
    assert "another leaf" not in to_text(tree, data.draw(wild_points(3)))


def test_digits_rise_until_the_rows_agree():
    tree = numbered(Tree(Topology.complete(1), [[1.0]], [-0.123456], [[0], [0]]))
    for gap, threshold in [(1e-2, "0.123"), (1e-4, "0.1235"), (1e-8, "0.123456")]:
        X = np.array([[0.123456 - gap], [0.123456 + gap]])
        assert to_text(tree, X).startswith(f"x0 > {threshold} ?")
    forced = to_text(tree, [[0.1231], [0.1239]], digits=2)
    assert forced.startswith("x0 > 0.12 ?")
    assert forced.endswith("2 digits: 1 of 2 rows reaches another leaf than in the tree.")


def test_terms_that_hardly_count_get_fewer_digits():
    weight, X = np.array([[1.23456, 0.000123456]]), np.array([[1.0, 1.0], [-1.0, 1.0]])
    text = to_text(Tree(Topology.complete(1), weight, [1e-9], [[0], [1]]), X)
    assert text.startswith("1.23 x0 + 0.00012 x1 + 1e-09 > 0 ?")


def test_folded_terms_leave_their_mean_and_the_effect_is_told():
    X = np.array([[-3.0, 10.0], [-1.0, 10.2], [0.05, 9.8], [2.0, 10.0]])
    tree = numbered(Tree(Topology.complete(1), [[1.0, 1.0]], [-10.0], [[0], [0]]))
    assert tree.apply(X).tolist() == [0, 0, 0, 1]
    assert to_text(tree, X, fold=0.2).split("\n") == [
        "x0 > 0 ?",
        "├─ yes: 1  [1 row]",
        "└─ no:  0  [3 rows]",
        "",
        "3 digits, 1 small term of 2 folded into constants: 1 of 4 rows reaches another leaf than in the tree.",
    ]
    assert "folded" not in to_text(tree, X, fold=0.01)
    with pytest.raises(ValueError, match=r"fold=0\.2 needs rows"):
        to_text(tree, fold=0.2)


@given(st.data(), trees(n_features=3, max_splits=1), st.floats(0, 0.9))
def test_folding_keeps_the_mean_of_a_sum(data, tree, fold):
    X = data.draw(points(3))
    for weight, bias in zip(tree.weight, tree.bias):
        folded = fold_small(weight, float(bias), X, fold)
        assert np.mean(X @ folded.weight + folded.bias) == pytest.approx(np.mean(X @ weight + bias), abs=1e-9)
        assert np.count_nonzero(folded.weight) + folded.n_folded == np.count_nonzero(weight)


def test_long_sums_show_their_largest_terms_and_claim_nothing():
    weight = np.arange(1.0, 41.0)[None, :] * np.where(np.arange(40) % 2, -1, 1)
    tree = Tree(Topology.complete(1), weight, [0.5], [[0], [1]])
    text = to_text(tree, np.eye(40))
    shown = re.sub(r"\s*\n[│ ]+", " ", text)
    assert shown.startswith("-40 x39 + 39 x38 - 38 x37 + 37 x36 - 36 x35 + 35 x34 - 34 x33 + 33 x32 + … 32 more terms ")
    assert "32 more terms [-272 to 256] + 0.5 > 0 ?" in shown
    assert "reach" not in text
    assert (
        "1 split of 1 hides 32 terms, so the text alone does not say where rows go; a limit of 40 terms shows all."
        in text
    )
    whole = to_text(tree, np.eye(40), max_terms=40)
    assert "more terms" not in whole
    assert "all 40 rows reach the same leaf" in whole


def test_long_lines_are_broken_and_the_drawing_goes_on():
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(2), rng.normal(size=(3, 12)), rng.normal(size=3), np.eye(4), class_names=list("abcd"))
    text, whole = to_text(tree, width=60), to_text(tree, width=None)
    assert max(map(len, text.split("\n"))) <= 60
    assert re.sub(r"\n[│ ]+(?=[-+>])", " ", text) == whole


@settings(max_examples=50)
@given(trees())
def test_every_leaf_and_split_has_its_line(tree):
    lines = to_text(tree, width=None, max_terms=40).split("\n")
    assert sum(line.endswith(" ?") for line in lines) == tree.n_splits
    assert len(lines) == tree.n_splits + tree.n_leaves


def test_without_rows_nothing_is_claimed():
    tree = numbered(Tree(Topology.complete(1), [[1.0]], [0.0], [[0], [0]]))
    assert "reach" not in to_text(tree)
    assert "reach" not in to_text(tree, np.empty((0, 1)))


def test_ties_take_the_branch_no():
    for weight, question in [(2.0, "x0 > 0.5"), (-2.0, "x0 < 0.5")]:
        tree = Tree(Topology.complete(1), [[weight]], [-weight / 2], [[0], [1]])
        text = to_text(tree)
        assert text.split("\n")[0] == f"{question} ?"
        assert follow(text, [0.5]) == str(tree.apply([[0.5]])[0])


def test_leaves_say_what_they_answer():
    values = {"lower": [[0.0], [0.0]], "coef": [[[1.0, 0.0]], [[0.0, -2.5]]]}
    tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[0.5], [0.0]], **values, feature_names=["age", "weight"])
    assert to_text(tree, [[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]).split("\n")[:3] == [
        "age - weight > 0 ?",
        "├─ yes: -2.5 weight within [0, inf]  [2 rows]",
        "└─ no:  age + 0.5 within [0, inf]  [1 row]",
    ]
    two = Tree(Topology([]), np.empty((0, 1)), [], [[1.0, -2.0]])
    assert to_text(two) == "(1, -2)"
    constant = Tree(Topology.complete(1), [[0.0]], [-1.0], [[0.0], [1.0]])
    assert to_text(constant).startswith("-1 > 0 ?")
    share = [[0.5, 0.0, 0.25, 0.125, 0.125]]
    assert to_text(Tree(Topology([]), np.empty((0, 1)), [], share, class_names=list("abcde"))) == (
        "a (50 %, c: 25 %, d: 12.5 %, …)"
    )


def test_outputs_as_printed_are_as_near_as_the_text_says():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[1 / 3]], coef=[[[2 / 3]]], upper=[[2.0]])
    X = np.array([[0.5], [1.0], [9.0]])
    text = to_text(tree, X, digits=2)
    assert text.startswith("0.67 x0 + 0.33 within [-inf, 2]")
    worst = np.abs(np.minimum(0.67 * X[:, 0] + 0.33, 2.0) - tree.predict(X)).max()
    assert f"within {number_text(worst, 2)} of the tree's" in text


def test_named_outputs_have_lines_of_their_own():
    coef, value = [[[1.0, 2.0], [0.0, 3.0]], [[0.5, 0.0], [0.0, 0.0]]], [[0.0, 1.0], [-1.0, 4.0]]
    tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], value, coef=coef)
    assert to_text(tree, [[1.0, 1.0]], output_names=["thrust", "turn"]).split("\n")[:5] == [
        "x0 > 0 ?",
        "├─ yes: thrust = 0.5 x0 - 1",
        "│       turn = 4  [1 row]",
        "└─ no:  thrust = x0 + 2 x1",
        "        turn = 3 x1 + 1  [no rows]",
    ]
    assert to_text(tree).split("\n")[1:] == ["├─ yes: (0.5 x0 - 1, 4)", "└─ no:  (x0 + 2 x1, 3 x1 + 1)"]
    with pytest.raises(ValueError, match="output_names must name 2 outputs, got \\['thrust'\\]"):
        to_text(tree, output_names=["thrust"])
    classes = Tree(Topology([]), np.empty((0, 1)), [], [[1.0, 0.0]], class_names=["a", "b"])
    with pytest.raises(ValueError, match="output_names is for a regressor"):
        to_text(classes, output_names=["a", "b"])


COLUMNS = [
    Column("age", center=40.0, scale=0.1),
    Column("income", center=1.0, scale=2.0, lower=-3.0, missing="indicator", fill=3.0),
    Column("colour", categories=["red", "green", "blue"], missing="indicator"),
    Column("visits", missing="indicator", fill=9.0),
]


def asked(weight, bias):
    """First line of the text of one split over the columns above."""
    tree = Tree(Topology.complete(1), [weight], [bias], [[0.0], [1.0]])
    return to_text(Model(Encoder(COLUMNS), tree)).split("\n")[0].removesuffix(" ?")


@pytest.mark.parametrize(
    ("weight", "bias", "question"),
    [
        ([1, 0, 0, 0, 0, 0, 0, 0, 0], -1.0, "age > 50"),
        ([0, 0, 0, 2, 0, 0, 0, 0, 0], -1.0, "colour = red"),
        ([0, 0, 0, 2, 0, 2, 0, 0, 0], -1.0, "colour in {red, blue}"),
        ([0, 0, 0, 0, -2, 0, 0, 0, 0], 1.0, "colour ≠ green"),
        ([0, 0, 0, 0, -2, 0, -3, 0, 0], 1.0, "colour not in {green, missing}"),
        ([0, 0, 0, 0, 0, 0, 2, 0, 0], -1.0, "colour is missing"),
        ([0, 0, 0, 0, 0, 0, 0, 0, -2], 1.0, "visits is not missing"),
        ([0, 0, 0, 0, 0, 0, 0, 1, 0], -5.0, "visits > 5 or missing"),
        ([0, 0, 0, 0, 0, 0, 0, -1, 0], 5.0, "visits < 5 and not missing"),
        ([0, 0, 0, 0.5, 0, 0, 0, 0, 0], -1.0, "0.5 (colour = red) - 1 > 0"),
        ([1, 0, 0, 0, 0, 0, 0, 1, -2], -1.0, "(age - 40) / 10 + visits + 7 (visits missing) - 1 > 0"),
        ([1, 0, 0, 0, 0, 0, 0, 1, -2.5], -1.0, "0.1 age + visits + 6.5 (visits missing) - 5 > 0"),
        ([1, 1, 0, 0, 0, 0, 0, 0, 0], 4.5, "0.1 age + clip((income - 1) * 2, -3, inf) + 4 (income missing) + 0.5 > 0"),
    ],
)  # fmt: skip
def test_models_speak_of_their_columns(weight, bias, question):
    assert asked(weight, bias) == question


@settings(max_examples=50)
@given(st.data())
def test_a_model_with_categories_and_missing_values_is_printed_truly(data):
    tree = data.draw(trees(kind="constant", n_features=9, max_splits=7))
    value = st.sampled_from([None, -3.0, 0.125, 7.5])
    colour = st.sampled_from(["red", "green", "blue", "violet", None])
    rows = data.draw(st.lists(st.tuples(st.sampled_from([20.0, 47.5]), value, colour, value), min_size=1, max_size=9))
    X = np.empty((len(rows), 4), dtype=object)
    X[:] = rows
    text = to_text(Model(Encoder(COLUMNS), tree), X)
    # Folding 0.1 into a weight rounds, so a row on a split may fall to its other side: then the text says so.
    n_tied = int((np.abs(Model(Encoder(COLUMNS), tree).scores(X)) < 1e-12).any(axis=1).sum())
    moved = re.search(r"(\d+) of \d+ rows? reach", text)
    assert "reach" in text or not tree.n_splits
    assert (0 if moved is None else int(moved[1])) <= n_tied


def test_the_map_behind_the_leaves_and_brackets_are_told():
    tree = Tree(Topology.complete(1), [[1, 0, 0, 1, 0, 0, 0, 1, 0]], [-1.0], [[0.0], [1.0]])
    assert to_text(Model(Encoder(COLUMNS), tree, TanhScale(0.0, 5.0))).split("\n")[-2:] == [
        "output: low + (tanh(v) + 1) / 2 * (high - low), TanhScale(low=(0.0,), high=(5.0,))",
        "A term in brackets, such as (colour = red), counts if it holds. A missing number counts as 0.",
    ]


def test_a_threshold_that_overflows_is_left_as_a_sum():
    tree = Tree(Topology.complete(1), [[1e-200]], [1e200], [[0.0], [1.0]])
    assert to_text(tree).startswith("1e-200 x0 + 1e+200 > 0 ?")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"digits": 0}, "digits must be None or an integer of at least 1 and at most 17, got 0"),
        ({"digits": 2.5}, r"got 2\.5"),
        ({"max_terms": 0}, "max_terms must be None or an integer of at least 1, got 0"),
        ({"fold": 1.0}, "fold must be a share"),
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        to_text(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]), **wrong)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="a Model or a fitted estimator"):
        to_text("tree")


@given(st.integers(0, 2**32))
def test_terms_that_are_left_out_add_what_the_text_says(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.uniform(-2, 3, (30, 9)), rng.standard_normal((1, 9))
    tree = Tree(Topology.complete(1), weight, [0.0], [[0], [1]])
    text = " ".join(to_text(tree, X, max_terms=3, fold=0).split())
    low, high = (float(end) for end in re.search(r"6 more terms \[(\S+) to (\S+)\]", text).groups())
    hidden = np.argsort(np.abs(weight[0]) * X.std(axis=0))[:6]
    added = X[:, hidden] @ weight[0, hidden]
    assert low - 0.01 * abs(low) <= added.min() <= added.max() <= high + 0.01 * abs(high)
    shift = simplify(tree, 0.0, Domain.from_data(X)).score_shift  # nothing is dropped
    assert shift == 0
    ends = np.sort(np.stack([X.min(axis=0), X.max(axis=0)]) * weight[0], axis=0)[:, hidden].sum(axis=1)
    np.testing.assert_allclose([low, high], ends, rtol=0.01)


def test_weights_that_matter_to_nobody_are_not_printed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    tree = Tree(Topology.complete(1), [[1.0, -2.0, 1e-7, -1e-6]], [0.1], [[0.0], [1.0]])
    text = to_text(tree, X)
    assert "x2" not in text
    assert "x3" not in text
    assert "2 small terms of 4 left out" in text
    assert "all 200 rows reach the same leaf as in the tree" in text
    assert "x3" in to_text(tree, X, fold=0)
    assert "x3" in to_text(tree), "without rows nobody knows what matters"
    simple = simplify(tree, 0.001, Domain.from_data(X))
    assert simple.n_dropped == 2, "the same terms as the ones that a proof drops"
    near = np.where(np.arange(4) < 2, X, X)
    near[0] = [0.0, 0.05, 0.0, 3.0]  # the last weight decides this row
    assert "x3" in to_text(tree, near)


def test_equations_of_leaves_have_digits_enough_to_be_added_up():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(2019, 2022, 100), rng.normal(size=100)])
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[-98170.4321]], coef=[[[48.6173, 30.0]]])
    equation = " ".join(to_text(tree, X).split())
    year, other, constant = map(float, re.match(r"(\S+) x0 \+ (\S+) x1 - (\S+)", equation).groups())
    outputs = tree.predict(X).ravel()
    assert np.abs(X @ [year, other] - constant - outputs).max() <= 0.01 * np.ptp(outputs)


def test_leaves_that_hide_terms_say_so_and_what_the_brackets_are():
    rng = np.random.default_rng(0)
    tree = Tree(Topology([]), np.empty((0, 5)), [], [[1.0]], coef=[[[5.0, 4.0, 3.0, 2.0, 1.0]]])
    text = to_text(tree, rng.normal(size=(50, 5)), max_terms=2)
    assert "3 more terms [" in text
    assert "Leaves hide up to 3 terms, so the text alone does not give the tree's outputs." in text
    assert "In brackets behind hidden terms: the least and the most that they add" in text


def test_only_numbers_count_as_0_if_they_are_missing():
    encoder = Encoder([Column("colour", categories=("red", "blue"), missing="indicator")])
    text = to_text(Model(encoder, Tree(Topology([]), np.empty((0, 3)), [], [[0.0]], coef=[[[1.0, 2.0, 3.0]]])))
    assert "counts if it holds." in text
    assert "A missing number counts as 0" not in text
