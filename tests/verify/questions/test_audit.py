"""The audit file says what the functions say."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, audit, certify, never, output_bounds, possible_classes, reachable_leaves
from dtsemnet.verify.proof import exploration


def test_report_lists_every_leaf_output_and_share():
    tree = Tree(
        Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[1, 0], [0, 1], [0, 1], [1, 0]],
        class_names=["a", "b"], feature_names=["height", "width"],
    )  # fmt: skip
    X, y = np.array([[-0.5, -0.5], [0.5, 0.5]]), ["a", "a"]
    text = audit(tree, Domain(-1, 1), X, y, epsilon=[0.1, 0.9]).to_markdown()
    assert "height in [-1, 1]; width in [-1, 1]" in text
    assert "| 1 | unreachable | a half-space lies outside the box |" in text
    assert text.count("| reachable |") == 3
    assert f"- {certify(tree, X, 0.9, y=y)}" in text
    assert "Checked once more against the tree and the domain: yes" in text
    assert "| a | yes |\n| b | yes |" in text


def test_statements_say_what_holds_and_what_shows_it():
    tree = Tree(
        Topology.complete(1), [[1.0, -1.0]], [-1.5], [[0.9, 0.1], [0.2, 0.8]],
        class_names=["no", "yes"], feature_names=["income", "debt"],
    )  # fmt: skip
    poor = Domain(0, 1)
    report = audit(tree, poor, never_output=["yes", "no"], monotone_in=["income"])
    assert [said.status for said in report.statements] == ["yes", "no", "yes"]
    assert report.classes == {"no": "reachable", "yes": "unreachable"}
    rich = audit(tree, Domain(0, 4), never_output=["yes"], monotone_in=["income", "debt"], output="yes")
    assert [said.status for said in rich.statements] == ["no", "yes", "no"]
    text = rich.to_markdown()
    assert "| never 'yes' | no | `" in text
    assert "| raising debt never lowers the probability of 'yes' | no | `" in text
    assert "| yes | never, proved |" in report.to_markdown()


def test_time_that_runs_out_is_told():
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(3), rng.normal(size=(7, 4)), rng.normal(size=7), rng.normal(size=(8, 1)))
    said = audit(tree, Domain(-1, 1), monotone_in=[0], time_limit=0.0).statements[0]
    assert said.status == "undecided"
    assert "is not ruled out" in said.shown_by


@pytest.fixture
def explorations(monkeypatch):
    """Trees that were explored, in order."""
    explored = []
    explore_leaves = exploration.explore_leaves

    def counted(cuts, *args, **options):
        explored.append(cuts.tree)
        return explore_leaves(cuts, *args, **options)

    monkeypatch.setattr(exploration, "explore_leaves", counted)
    return explored


def test_one_exploration_serves_the_whole_audit(explorations):
    rng = np.random.default_rng(0)
    tree = Tree(
        Topology.complete(4), rng.normal(size=(15, 3)), rng.normal(size=15), np.eye(3)[rng.integers(0, 3, 16)],
        class_names=["a", "b", "c"],
    )  # fmt: skip
    domain = Domain(-1, 1)
    report = audit(tree, domain, never_output=["a", "b", "c"])
    assert explorations == [tree]
    # The questions alone give the same answers, each by an exploration of its own.
    assert [said.status for said in report.statements] == [never(tree, domain, name).status for name in "abc"]
    assert report.classes == {name: verdict.status for name, verdict in possible_classes(tree, domain).items()}
    assert report.leaves.unreachable == reachable_leaves(tree, domain).unreachable
    assert [str(bounds) for bounds in report.outputs] == [str(bounds) for bounds in output_bounds(tree, domain)]
    assert explorations == [tree] * 7


def test_independence_is_stated_and_rows_that_would_flip_are_counted():
    tree = Tree(
        Topology.complete(1), [[1.0, -1.0]], [-1.5], [[0.9, 0.1], [0.2, 0.8]],
        class_names=["no", "yes"], feature_names=["income", "debt"],
    )  # fmt: skip
    X = [[0.0, 0.5], [3.0, 1.0], [9.0, 0.0]]
    report = audit(tree, Domain(0, 4), X, independent_of=["debt", {"debt": 0.25}, ["income", "debt"]])
    assert [said.status for said in report.statements] == ["no", "no", "no"]
    assert report.n_outside == 1
    assert [change for change, _ in report.flips] == ["debt", "debt by at most 0.25", "income and debt"]
    assert [found.lower for _, found in report.flips] == [0.5, 0.0, 1.0]
    text = report.to_markdown()
    assert "| changing debt alone never changes the answer | no | `income = " in text
    assert "- debt by at most 0.25: 0.0% of 2 rows flip" in text
    assert "Rows outside the domain, which were left out: 1." in text
    assert audit(tree, Domain(0, 1), independent_of=["debt"]).statements[0].status == "yes"


def test_progress_names_what_is_done_and_counts_it():
    told = []
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    audit(
        tree, Domain(0, 1), [[0.1, 0.1], [0.9, 0.9]], epsilon=[0.01], never_output=["a"], independent_of=[0],
        progress=lambda *said: told.append(said),
    )  # fmt: skip
    assert list(dict.fromkeys(what for _, _, what in told)) == [
        "deciding leaves", "proving statements", "certifying rows within 0.01", "asking which rows would flip",
        "bounding outputs",
    ]  # fmt: skip
    assert (2, 2, "certifying rows within 0.01") in told
    assert all(0 <= done <= total for done, total, _ in told)


def test_shares_of_leaves_are_not_called_probabilities_if_margins_weigh_them():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    model = DTSemNetClassifier(max_depth=1, random_state=0).fit(X, X.sum(axis=1) > 0).model_
    assert model.probability is not None
    report = audit(model, Domain(-1.0, 1.0), monotone_in=[0], output=True)
    bounds = report.outputs[1]
    assert model.predict_proba(X)[:, 1].max() > bounds.maximum.certified
    text = report.to_markdown()
    assert "probability" not in text
    assert "never lowers the share in the leaf of True" in text
    assert "| share in the leaf of class |" in text
    assert "may lie outside" in text
