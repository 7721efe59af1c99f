"""The largest jump against exact optima over all pairs of leaves that touch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, largest_jump, reachable_leaves
from strategies import make_model, trees
from verify.oracle import N_TREES, affine, answer, box, hard_trees, is_satisfiable, law, leaf_terms, optimum, variables
from verify.tally import is_close

small_trees = st.integers(2, 4).flatmap(
    lambda d: st.sampled_from(["constant", "linear", "guard", "multi-output"]).flatmap(
        lambda kind: trees(kind=kind, n_features=d, max_splits=4)
    )
)


def closed(tree, leaf, x):
    split, side = (part[leaf] for part in tree.topology.paths)
    pairs = [(affine(tree.weight[i], tree.bias[i], x), right) for i, right in zip(split, side) if i >= 0]
    return [score >= 0 if right else score <= 0 for score, right in pairs]


def exact_jump(tree, o=0, rounded=()):
    """Largest gap over the closures of all pairs of leaves that hold a point each, in real arithmetic.

    Leaves that only rounding reaches are ``rounded``.
    """
    x, found = variables(tree), [Fraction(0)]
    leaves = [
        leaf
        for leaf in range(tree.n_leaves)
        if leaf in rounded or is_satisfiable(box(x, -1, 1) + leaf_terms(tree, leaf, x, inside=False))
    ]
    for i, a in enumerate(leaves):
        for b in leaves[i + 1 :]:
            terms = box(x, -1, 1) + closed(tree, a, x) + closed(tree, b, x)
            if is_satisfiable(terms):
                gap = answer(tree, a, o, x) - answer(tree, b, o, x)
                found += [-optimum(terms, -gap), -optimum(terms, gap)]
    return max(found)


@pytest.mark.parametrize("n", N_TREES)
def test_jump_is_the_exact_optimum(n, tally):
    @law(n, *({"tree": tree} for kind in ("constant", "linear") for tree in hard_trees(kind)), tree=small_trees)
    def agrees(tree):
        leaves = reachable_leaves(tree, Domain(-1.0, 1.0))
        assert all(tree.apply(leaves.verdicts[leaf].witness[None])[0] == leaf for leaf in leaves.reachable)
        found, exact = largest_jump(tree, Domain(-1.0, 1.0)), exact_jump(tree, rounded=leaves.reachable)
        assert found.lower <= exact
        tally.next_tree()
        tally("largest_jump", is_close(found.lower, found.upper))
        assert exact_jump(tree) <= found.upper
        if not leaves.undecided and exact == exact_jump(tree):  # thinner than rounding: counts in upper alone
            assert found.upper - found.lower <= 1e-9
        if found.lower:
            assert tree.apply(np.stack(found.sides)).tolist() == list(found.leaves)
            output = tree.predict(np.stack(found.sides)).reshape(2, -1)[:, 0]
            assert output.tolist() == list(found.answers)
            assert abs(np.diff(output)[0]) >= found.lower - 1e-6
            assert np.abs(found.sides[0] - found.sides[1]).max() <= 1e-6
            assert np.abs(found.sides[0] - found.point).max() <= 1e-6

    agrees()


def quarters(values, weight=((1, 0), (0, 1), (0, 1)), bias=(0, 0, 0)):
    return Tree(Topology.complete(2), weight, bias, [[v] for v in values])


@pytest.mark.parametrize(
    ("tree", "jump"),
    [
        (quarters([0, 1, 2, 10]), 10.0),  # leaves 0 and 3 touch at one corner
        (quarters([0, 1, 2, 10], bias=(0, 0, -0.5)), 9.0),  # the corner is gone: 1 and 3 share an edge
        (quarters([0, 0, 9, 9], bias=(2, 0, 0)), 0.0),  # the first split lies outside the box
        (quarters([0, 7, 0, 0], weight=((1, 1), (1, 1), (1, 0)), bias=(0, 0, 0)), 0.0),  # leaf 1 is empty
        (quarters([0, 7, 0, 0], weight=((1, 1), (-1, -1), (1, 0)), bias=(0, 0, 0)), 7.0),  # leaf 0 is the line s = 0
        (quarters([5, 5, 5, 5]), 0.0),
        (quarters([0, 1, 3, 7], weight=((1, 1), (1, 1), (1, 1)), bias=(0, 1, -1)), 4.0),  # parallel: neighbours only
        (quarters([1, 0, 0, 0], weight=((0, 0), (1, 0), (1, 0))), 1.0),  # a split without weights
        (Tree(Topology([]), np.empty((0, 2)), [], [[3.0]]), 0.0),
    ],
)
def test_adversarial_cases(tree, jump):
    found = largest_jump(tree, Domain(-1.0, 1.0))
    assert found.lower == jump
    assert jump <= found.upper <= jump * (1 + 1e-12)


def test_step_between_whole_numbers_is_no_jump():
    tree = Tree(Topology.complete(2), [[1, 0], [0, 1], [0, 1]], [-0.5, -0.5, -0.5], [[0], [1], [20], [40]])
    assert largest_jump(tree, Domain(0, 2)).lower == 40.0
    assert largest_jump(tree, Domain(0, 2, integer=[0])).lower == 20.0  # only the second column has an edge
    found = largest_jump(tree, Domain(0, 2, integer=[0, 1]))
    assert (found.lower, found.upper) == (0.0, 0.0)
    assert str(found) == "no jump found; none exceeds 0"


def test_categories_are_the_same_on_both_sides():
    encoder = Encoder([Column("colour", categories=["red", "blue"]), Column("size", center=10.0, scale=0.5)])
    tree = Tree(
        Topology.complete(2), [[1, 0, 0], [0, 0, 1], [0, 0, 1]], [-0.5, 0, 0], [[0], [1], [100], [103]]
    )  # fmt: skip
    found = largest_jump(Model(encoder, tree), Domain(0.0, 20.0))
    assert (found.lower, found.leaves) == (3.0, (2, 3))
    assert [row[0] for row in found.sides] == ["red", "red"]
    assert found.point[1] == pytest.approx(10.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["mixed linear", "mixed class", "tanh", "multi-output"])
def test_small_steps_over_an_edge_change_no_more(kind, seed):
    model = make_model(kind, seed)
    output = "no" if model.is_classifier else 0
    missing = [column.name for column in model.encoder.columns if column.missing and column.categories is None]
    found = largest_jump(model, Domain(-2.0, 2.0, missing=missing), output=output)
    assert found.sides is not None
    assert abs(found.answers[0] - found.answers[1]) == pytest.approx(found.lower, abs=1e-4)
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert model.apply(np.stack(found.sides)).tolist() == list(found.leaves)
    rng = np.random.default_rng(0)
    rows = np.empty((20_000, model.encoder.n_columns), dtype=object)
    for j, column in enumerate(model.encoder.columns):
        choice = np.array(column.categories or [0], dtype=object)
        rows[:, j] = rng.uniform(-2, 2, len(rows)) if column.categories is None else rng.choice(choice, len(rows))
    moved = rows.copy()
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            moved[:, j] = np.clip(rows[:, j].astype(float) + rng.normal(size=len(rows)) * 1e-3, -2, 2)
    z, after = (model.transform(X) for X in (rows, moved))
    crossed = model.tree.apply(z) != model.tree.apply(after)
    assert crossed.any()
    answer = model.tree.predict_proba if model.is_classifier else model.tree.predict
    change = np.abs(answer(after).reshape(len(z), -1) - answer(z).reshape(len(z), -1))[crossed, 0]
    steepest = 0.0 if model.tree.coef is None else np.abs(model.tree.coef[:, 0]).sum(axis=1).max()
    assert change.max() <= found.upper + 2 * steepest * np.abs(after - z).max()


def test_time_limit_and_progress():
    rng = np.random.default_rng(0)
    tree = Tree(
        Topology.complete(5), rng.normal(size=(31, 6)), rng.normal(size=31), rng.normal(size=(32, 1)),
        rng.normal(size=(32, 1, 6)),
    )  # fmt: skip
    seen = []
    found = largest_jump(tree, Domain(-1.0, 1.0), progress=lambda done, all_: seen.append((done, all_)))
    hurried = largest_jump(tree, Domain(-1.0, 1.0), time_limit=0.0)
    assert hurried.upper >= found.upper >= found.lower > 0 == hurried.lower
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {all_ for _, all_ in seen} == {32 * 31 // 2}
    assert found.n_programs < 32 * 31 // 2  # bounds spare most pairs


def test_bad_output_is_named():
    with pytest.raises(ValueError, match="output must be a number from 0 to 0, got 3"):
        largest_jump(quarters([0, 1, 2, 3]), Domain(-1, 1), output=3)
    with pytest.raises(ValueError, match="output must be a class"):
        largest_jump(make_model("class"), Domain(-1, 1), output=0)
