"""Figures show what their records say, and the experiments do what they claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.bench import figures
from dtsemnet_paper.bench.figure_experiments import _reached, leaf_evolution, loss_landscape, teacher_student
from dtsemnet_paper.bench.figure_files import draw, read_figures
from dtsemnet_paper.bench.figures import _alike
from dtsemnet_paper.bench.statistics import compare
from strategies import points, trees

PAPER = Path(__file__).parents[3] / "paper"
FIGURES = """
[rise]
kind = "height"
sets = ["iris"]
methods = ["sklearn.tree:DecisionTreeClassifier"]
heights = [1, 2]
seeds = 2

[spread]
kind = "evolution"

[spread.sets]
diabetes = { max_depth = 2, epochs = 2, batch_size = 64 }

[valley]
kind = "landscape"
methods = ["dtsemnet-paper"]
rows = 60

[valley.sets]
iris = 2
"""


def record(method: str, height: int, test: float) -> dict[str, object]:
    return {"set": "iris", "method": method, "configuration": {"max_depth": height}, "test": test, "score": "accuracy"}


def test_heights_are_drawn_as_means() -> None:
    records = [record("a", 2, 90), record("a", 2, 94), record("a", 3, 95), record("b", 2, 80)]
    ax = figures.plot_heights(records).axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["a"].get_ydata(), [92, 95])
    np.testing.assert_array_equal(lines["a"].get_xdata(), [2, 3])
    np.testing.assert_array_equal(lines["b"].get_ydata(), [80])


def test_bars_join_what_cannot_be_told_apart() -> None:
    assert _alike([1.0, 1.5, 2.4, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert _alike([1.0, 3.0], 1.0) == []
    figure = figures.plot_critical_difference(compare(["a", "b", "c"], [[3, 2, 1], [3, 1, 2]], larger_is_better=True))
    assert {"a  1.00", "b  2.50", "c  2.50"} <= {text.get_text() for text in figure.axes[0].texts}


def test_figures_are_made_once_and_drawn_again(paper: Path) -> None:
    (paper / "figures.toml").write_text(FIGURES)
    assert draw(None, paper, make=False) == []
    written = draw(None, paper)
    assert {path.name for path in written} == {f"{n}.{e}" for n in ("rise", "spread", "valley") for e in ("png", "svg")}
    pictures = {path: path.read_bytes() for path in written if path.suffix == ".png"}
    results = {path: path.read_bytes() for path in (paper / "results").iterdir()}
    assert len(results) == 3
    assert draw(None, paper, make=False) == written
    assert {path: path.read_bytes() for path in pictures} == pictures
    assert {path: path.read_bytes() for path in (paper / "results").iterdir()} == results


def test_figures_of_the_paper_are_sound() -> None:
    assert {figure.options["kind"] for figure in read_figures(PAPER).values()} == {
        "height", "time", "leaves", "ranks", "teacher", "evolution", "landscape",
    }  # fmt: skip


@given(tree=trees(), data=st.data())
def test_leaf_is_found_from_scores(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(points(tree.n_features))
    np.testing.assert_array_equal(_reached(tree.topology, tree.scores(X)), tree.apply(X))


@pytest.fixture
def stump() -> Tree:
    return Tree(Topology.complete(1), [[1.0]], [0.0], [[0.9, 0.1], [0.2, 0.8]], class_names=("a", "b"))


def test_landscape_at_its_centre_is_the_loss_of_the_tree(stump: Tree) -> None:
    X, y = np.array([[-1.0], [-3.0], [1.0], [3.0]]), np.array([0, 1, 1, 1])
    found = loss_landscape(stump, X, y, network=False, n_steps=3)
    assert found["loss"][1][1] == pytest.approx(-np.mean(np.log([0.9, 0.1, 0.8, 0.8])), abs=1e-5)
    # Class logits are 0 for the side reached and -|x| for the other one.
    found = loss_landscape(stump, X, y, network=True, n_steps=3)
    wrong = np.array([-1.0, 3.0, -1.0, -3.0])  # margin by which the other class is ahead
    assert found["loss"][1][1] == pytest.approx(np.mean(np.log1p(np.exp(wrong))), abs=1e-5)


def test_directions_have_the_norms_of_the_splits(stump: Tree) -> None:
    # One split (1, 0) in standardised units of deviation 1: a step of 1 along a direction moves it by norm 1.
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    flat = loss_landscape(stump, X, y, network=True, n_steps=3, reach=0.0)
    assert np.ptp(flat["loss"]) == 0
    tall = Tree(stump.topology, [[10.0]], [0.0], stump.value, class_names=("a", "b"))
    near, far = (loss_landscape(t, X, y, network=False, n_steps=5) for t in (stump, tall))
    assert near == far, "a loss that does not know the scale of the splits has one landscape for all scales"


def test_students_start_where_the_paper_says() -> None:
    found = teacher_student("top_2", seed=1, epochs=1)
    assert found["path"][0] == [0.25, 0.25]
    assert len(found["path"]) == len(found["train"]) == 2
    # Adam's first step has the size of the rate in each weight.
    np.testing.assert_allclose(np.abs(np.subtract(*found["path"])), 0.01, rtol=1e-4)


def test_reg_1_differs_from_top_k_by_its_gradient_alone() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(256, 3))
    y = np.abs(X[:, 0]) + X[:, 1]
    options = {"max_depth": 2, "epochs": 1, "batch_size": 256, "seed": 3}
    runs = {s: leaf_evolution(s, X, y, **options) for s in ("straight_through", "top_k", "top_k_reg_1")}
    assert len({str(run["rows"][0]) for run in runs.values()}) == 1, "all start from one tree"
    assert runs["top_k"]["train"][1] != runs["top_k_reg_1"]["train"][1]
    assert all(sum(rows) == 256 for run in runs.values() for rows in run["rows"])
