"""Boxes of a few doubles against a look at every one of them: around ties, around 0, and among the least doubles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.verify import (
    Domain,
    certify,
    counterfactual,
    equivalent,
    monotone,
    output_bounds,
    reachable_leaves,
    robustness,
)
from verify.finite import finite_tree
from verify.tally import Tally, is_cheapest, is_close
from verify.test_finite_domains import LISTING, SEEDS, listing


def doubles_around(rng: np.random.Generator, tree: Tree, n: int = 5) -> np.ndarray:
    """All doubles of a small box around a point near two hyperplanes, one of them, or 0."""
    x = rng.choice([0.0, 0.0, 1.0, 1e-300], tree.n_features) * rng.normal(size=tree.n_features)
    for i in rng.permutation(tree.n_splits)[:2]:
        j = int(np.argmax(np.abs(tree.weight[i])))
        if tree.weight[i, j] and rng.random() < 0.7:
            x[j] -= tree.scores(x[None])[0, i] / tree.weight[i, j]
    rank = rank_of(np.clip(x, -2, 2))
    first = rank - rng.integers(0, n, tree.n_features)
    axes = [double_at(np.arange(k, k + n)) for k in first]
    return np.array(list(itertools.product(*axes)))


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_every_question_on_a_few_doubles(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        rng = np.random.default_rng(seed)
        tree = finite_tree(rng, int(rng.integers(2, 4)), ["class", "constant", "linear"][seed % 3])
        X = doubles_around(rng, tree)
        domain = Domain(X.min(axis=0), X.max(axis=0))
        with listing(lists):
            found = reachable_leaves(tree, domain)
            seen = set(tree.apply(X).tolist())
            assert found.check(), seed
            assert not seen & set(found.unreachable), seed
            assert set(found.reachable) <= seen, seed
            assert not (lists and found.undecided), seed
            for leaf in range(tree.n_leaves):
                tally("reachable_leaves", leaf not in found.undecided)
            factor = float(rng.choice([1.0, 2.0, 0.25]))
            other = tree.replace(weight=factor * tree.weight, bias=factor * tree.bias)
            differ = (tree.predict(X) != other.predict(X)).any()
            same = equivalent(tree, other, domain).status
            assert same in ("undecided", "no" if differ else "yes"), seed
            tally("equivalent", same != "undecided")
            output = tree.class_names[0] if tree.is_classifier else 0
            answer = tree.predict_proba(X)[:, 0] if tree.is_classifier else tree.predict(X)
            table = answer.reshape(5, -1)  # the first column rises from row to row
            falls = (np.maximum.accumulate(table, axis=0) > table).any()
            order = monotone(tree, 0, domain, output=output).status
            assert order in ("undecided", "no" if falls else "yes"), seed
            tally("monotone", order != "undecided")
            bounds = output_bounds(tree, domain)[0]
            assert bounds.minimum.certified <= answer.min() <= answer.max() <= bounds.maximum.certified, seed
            for end in (bounds.minimum, bounds.maximum):
                tally("output_bounds", is_close(end.certified, end.attained))
            if tree.is_classifier:
                check_distances(tree, X, domain, X[rng.integers(len(X))], seed, tally)


def check_distances(tree: Tree, X: np.ndarray, domain: Domain, x: np.ndarray, seed: int, tally: Tally) -> None:
    label = tree.predict(x[None])[0]
    for norm, size in (("inf", np.abs(X - x).max(axis=1)), (1, np.abs(X - x).sum(axis=1))):
        radius = size[tree.predict(X) != label].min(initial=np.inf)
        found = robustness(tree, x, norm, domain=domain)
        assert found.lower <= radius * (1 + 1e-15), seed
        assert found.upper >= radius * (1 - 1e-15), seed
        tally("robustness", is_close(found.lower, found.upper))
        for epsilon in (0.0, radius, radius / 2):
            if np.isfinite(epsilon):
                status = certify(tree, x[None], epsilon, norm, domain=domain).status[0]
                assert status in ("undecided", "certified" if radius > epsilon else "broken"), seed
                tally("certify", status != "undecided")
    for target in tree.class_names:
        cost = np.abs(X - x).sum(axis=1)[tree.predict(X) == target].min(initial=np.inf)
        answers = counterfactual(tree, x, target, domain=domain, cost=np.ones(len(x)))
        assert min(answers.lower, answers[0].lower if answers else np.inf) <= cost * (1 + 1e-15), seed
        assert all(answer.cost >= cost * (1 - 1e-15) for answer in answers), seed
        tally("counterfactual", is_cheapest(answers))


def test_weights_that_differ_by_a_power_of_two_are_parallel_unless_products_are_lost():
    def leaf_between(weight, bias, factor):
        """Right of a split and left of the same split, scaled."""
        tree = Tree(
            Topology([[-1, 1], [-2, -3]]), [weight, factor * np.array(weight)], [bias, factor * bias], [[0], [1], [2]]
        )
        verdict = reachable_leaves(tree, Domain(-2, 2)).verdicts[1]
        assert verdict.witness is None or tree.apply(verdict.witness[None])[0] == 1
        return verdict.status

    for factor in (2.0, 0.5, 2.0**-30, 2.0**40):
        assert leaf_between([0.3, 0.7], -0.4, factor) == "unreachable"
        assert leaf_between([0.3] * 40, -0.4, factor) == "unreachable"
    # 0.75 * 5e-324 is rounded up to 5e-324, and 0.375 * 5e-324 down to 0.
    assert Tree(Topology.complete(1), [[0.375, 0.375]], [0.0], [[0], [1]]).apply([[5e-324, 0.0]])[0] == 0
    assert leaf_between([0.75, 0.75], 0.0, 0.5) == "reachable"
