"""Text that a person can follow, and that says what the tree does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.export import to_text
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from strategies import points, trees


def follow(text, x):
    """Read the text as a person would: evaluate each inequality, take its branch, return the line of the leaf."""
    lines = text.split("\n")
    i = 0
    while lines[i].endswith(" ?"):
        question = re.sub(r"^[│ ]*(?:├─ yes: |└─ no:  )?", "", lines[i])[:-2]
        terms = re.sub(r"(\d) (x\d)", r"\1 * \2", question)
        yes = eval(terms, {f"x{j}": number for j, number in enumerate(x)})
        # The node's own column, then the first line below it with the branch wanted at that column.
        column = lines[i].index(question)
        branch = "├─ yes: " if yes else "└─ no:  "
        i = next(k for k in range(i + 1, len(lines)) if lines[k][column : column + len(branch)] == branch)
    return re.sub(r"^[│ ]*(?:├─ yes: |└─ no:  )?", "", lines[i])


@given(st.data(), trees(kind="constant", n_features=3, max_splits=7))
def test_following_the_text_reaches_the_leaf(data, tree):
    tree = Tree(tree.topology, tree.weight, tree.bias, np.arange(tree.n_leaves)[:, None])
    # 17 digits: the questions are exact but for thresholds -b / w, so rows on those are left out.
    text = to_text(tree, digits=17)
    for x, leaf, scores in zip(X := data.draw(points(3)), tree.apply(X), tree.scores(X)):
        if (scores != 0).all():
            assert follow(text, x) == str(leaf)


def test_ties_take_the_branch_no():
    for weight, question in [(2.0, "x0 > 0.5"), (-2.0, "x0 < 0.5")]:
        tree = Tree(Topology.complete(1), [[weight]], [-weight / 2], [[0], [1]])
        text = to_text(tree)
        assert text.split("\n")[0] == f"{question} ?"
        assert follow(text, [0.5]) == str(tree.apply([[0.5]])[0])


def test_leaves_say_what_they_answer():
    values = {"lower": [[0.0], [0.0]], "coef": [[[1.0, 0.0]], [[0.0, -2.5]]]}
    tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[0.5], [0.0]], **values, feature_names=["age", "weight"])
    assert to_text(tree, [[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]).split("\n") == [
        "age - weight > 0 ?",
        "├─ yes: -2.5 weight within [0, inf]  [2 rows]",
        "└─ no:  age + 0.5 within [0, inf]  [1 row]",
    ]
    two = Tree(Topology([]), np.empty((0, 1)), [], [[1.0, -2.0]])
    assert to_text(two) == "(1, -2)"
    constant = Tree(Topology.complete(1), [[0.0]], [-1.0], [[0.0], [1.0]])
    assert to_text(constant).startswith("-1 > 0 ?")


def test_models_are_shown_in_raw_units():
    columns = [
        Column("age", center=40.0, scale=0.1),
        Column("income", center=1.0, scale=2.0, lower=-3.0, missing="indicator"),
        Column("colour", categories=["red"]),
    ]
    weight = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    tree = Tree(Topology([[-1, 1], [-2, -3]]), weight, [-1.0, 0.5], [[0.0], [1.0], [2.0]])
    assert to_text(Model(Encoder(columns), tree, TanhScale(0.0, 5.0))).split("\n") == [
        "age > 50 ?",
        "├─ yes: clip((income - 1) * 2, -3, inf) + colour=red + 0.5 > 0 ?",
        "│       ├─ yes: 2",
        "│       └─ no:  1",
        "└─ no:  0",
        "output: low + (tanh(v) + 1) / 2 * (high - low), TanhScale(low=(0.0,), high=(5.0,))",
    ]


def test_a_threshold_that_overflows_is_left_as_a_sum():
    tree = Tree(Topology.complete(1), [[1e-200]], [1e200], [[0.0], [1.0]])
    assert to_text(tree).startswith("1e-200 x0 + 1e+200 > 0 ?")


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="a Model or a fitted estimator"):
        to_text("tree")
