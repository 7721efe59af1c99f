"""Scorecards say what the tree does: whoever adds up the points reaches its answer."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.export import to_scorecard, to_text
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree

pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
CANCER = load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def fitted():
    options = {"effort": 1, "max_iter": 10, "random_state": 0, "integer_weights": True}
    return DTSemNetClassifier(1, max_split_features=4, **options).fit(CANCER.data, CANCER.target)


def test_adding_up_points_by_hand_predicts_as_the_tree(fitted):
    (card,) = to_scorecard(fitted).cards
    total = sum(line.value_points(CANCER.data[line.what]) for line in card.lines)
    _, side, threshold = card.question.split()
    says_yes = total > float(threshold) if side == "above" else total < float(threshold)
    answer = np.where(says_yes, card.yes.split()[0], card.no.split()[0]).astype(int)
    away = np.abs(total - float(threshold)) > 1e-9
    assert (answer == fitted.predict(CANCER.data))[away].all()


def test_the_total_tells_the_probability(fitted):
    sheet = to_scorecard(fitted)
    (card,) = sheet.cards
    total = sum(line.value_points(CANCER.data[line.what]) for line in card.lines)
    (name, chances), _ = sheet.chances
    near = np.interp(total, sheet.totals, chances)
    middle = sheet.totals[len(sheet.totals) // 2]  # the threshold, where probabilities leap
    inside = (total > sheet.totals[0]) & (total < sheet.totals[-1])
    inside &= np.abs(total - middle) > sheet.totals[1] - sheet.totals[0]
    column = fitted.classes_.tolist().index(int(name))
    assert np.abs(near - fitted.predict_proba(CANCER.data)[:, column])[inside].max() < 0.15
    assert inside.sum() > 20


def test_text_reads_points_in_steps(fitted):
    text = to_text(fitted, CANCER.data)
    assert " / " in text.split("\n")[0]
    assert "reach the same leaf" in text


def test_two_levels_make_cards_that_follow_each_other():
    tree = Tree(Topology.complete(2), [[1, 2], [2, 1], [-1, -1]], [-3, 0, 4], np.eye(4), class_names=list("abcd"))
    sheet = to_scorecard(tree)
    assert [(card.yes, card.no) for card in sheet.cards] == [("card 3", "card 2"), ("b (100 %)", "a (100 %)"),
                                                             ("d (100 %)", "c (100 %)")]  # fmt: skip
    assert sheet.cards[2].question == "total below 4"
    assert "Card 2" in str(sheet)


def test_categories_and_missing_values_have_lines_of_their_own():
    columns = [Column("age", scale=0.1, missing="indicator", fill=50.0), Column("sex", categories=["f", "m"])]
    tree = Tree(Topology.complete(1), [[3, -1, 2, 0]], [-20], [[0.0], [1.5]])
    sheet = to_scorecard(Model(Encoder(columns), tree), pd.DataFrame({"age": [30.0, 70.0], "sex": ["f", "m"]}))
    (card,) = sheet.cards
    assert [(line.what, line.rule) for line in card.lines] == [
        ("age", "3 for every 10"), ("age missing", "14"), ("sex = f", "2"),
    ]  # fmt: skip
    assert (card.question, card.yes, card.no) == ("total above 20", "1.5", "0")
    assert sheet.values[0][1][0] == (30.0, 9.0)
    assert "<table" in sheet.to_html()


def test_names_cannot_break_out_of_the_page():
    tree = Tree(Topology.complete(1), [[3, -1]], [-20], [[0.0], [1.5]], feature_names=["<b>x", "y\x1b"])
    page = to_scorecard(tree).to_html("<title>")
    assert "<b>x" not in page
    assert "\x1b" not in page


def test_other_trees_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"depth 3.*max_depth=2"):
        to_scorecard(Tree(Topology.complete(3), np.ones((7, 1)), np.arange(7.0), np.zeros((8, 1))))
    with pytest.raises(ValueError, match="integer_weights=True"):
        to_scorecard(Tree(Topology.complete(1), [[0.5]], [0], [[0.0], [1.0]]))
    linear = DTSemNetRegressor(1, effort=0, max_iter=3, integer_weights=True).fit(*load_diabetes(return_X_y=True))
    with pytest.raises(ValueError, match="leaf='constant'"):
        to_scorecard(linear)


def test_a_tree_without_splits_is_its_answer():
    assert str(to_scorecard(Tree(Topology([]), np.empty((0, 1)), [], [[2.5]]))) == "Everything is 2.5."
