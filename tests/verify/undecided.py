"""Count what stays undecided: ``PYTHONPATH=tests python -m verify.undecided``, from the root of the repository.

Adversarial trees have ties, parallel splits and thin leaves (:mod:`verify.finite`), on boxes of doubles and on a few
integers; trained trees are those of a data set of scikit-learn.
"""

from __future__ import annotations

import sys

import numpy as np

from dtsemnet.verify import Domain, counterfactual, equivalent, monotone, reachable_leaves, robustness
from verify.finite import finite_tree


def adversarial(n: int, integers: bool) -> dict[str, tuple[int, int]]:
    """Undecided answers and all answers, by question."""
    count = {name: [0, 0] for name in ("leaves", "equivalent", "monotone", "robustness", "counterfactual")}

    def add(name: str, undecided: int, total: int = 1) -> None:
        count[name][0] += undecided
        count[name][1] += total

    for seed in range(n):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 5))
        tree = finite_tree(rng, d, "class", int(rng.integers(3, 9)))
        domain = Domain(-2, 2, integer=range(d) if integers else ())
        add("leaves", len(reachable_leaves(tree, domain).undecided), tree.n_leaves)
        other = tree.replace(bias=tree.bias + rng.choice([0.0, 0.125], tree.n_splits, p=[0.8, 0.2]))
        other = other.replace(weight=2 * other.weight, bias=2 * other.bias) if seed % 4 == 0 else other
        add("equivalent", equivalent(tree, other, domain).status == "undecided")
        add("monotone", monotone(tree, 0, domain, output="a").status == "undecided")
        x = np.round(rng.uniform(-2, 2, d)) if integers else np.round(rng.uniform(-2, 2, d) * 8) / 8
        found = robustness(tree, x, domain=domain)
        gap = 0.0 if found.lower == found.upper else found.upper - found.lower
        add("robustness", not gap <= 1e-6 * (1 + found.upper))
        for name in tree.class_names:
            answers = counterfactual(tree, x, name, domain=domain)
            lower = getattr(answers, "lower", np.inf)
            add("counterfactual", not (answers[0].cost - answers[0].lower <= 1e-6 if answers else lower == np.inf))
    return {name: (a, b) for name, (a, b) in count.items()}


def trained(n: int) -> dict[str, tuple[int, int]]:
    """The same on trees that were fitted."""
    from sklearn.datasets import load_breast_cancer

    from dtsemnet import DTSemNetClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = DTSemNetClassifier(max_depth=4, max_iter=60, n_init=1, random_state=0).fit(X, y)
    domain = Domain.from_data(X)
    leaves = reachable_leaves(model, domain)
    count = {"leaves": (len(leaves.undecided), len(leaves.verdicts))}
    opens = [0, 0]
    for x in X[:n]:
        for name in (0, 1):
            answers = counterfactual(model, x, name, domain=domain)
            open_ = not answers or not answers[0].cost - answers[0].lower <= 1e-6
            opens = [opens[0] + open_, opens[1] + 1]
    return count | {"counterfactual": (opens[0], opens[1])}


if __name__ == "__main__":
    n_trees = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for title, counted in (
        ("adversarial, doubles", adversarial(n_trees, False)),
        ("adversarial, integers", adversarial(n_trees, True)),
        ("trained", trained(n_trees // 10)),
    ):
        parts = [f"{name} {a} of {b} ({a / b:.1%})" for name, (a, b) in counted.items()]
        print(f"{title}: {', '.join(parts)}", flush=True)
