"""Counts of the answers that a test compares with an oracle."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np


class Tally:
    """Answers and undecided answers of each question, and the trees that it was asked about."""

    def __init__(self) -> None:
        self.n_trees = 0
        self.trees: dict[str, set[int]] = defaultdict(set)
        self.asked, self.undecided = Counter[str](), Counter[str]()

    def next_tree(self) -> None:
        """The answers that follow are about another tree, or another loop."""
        self.n_trees += 1

    def __call__(self, question: str, is_decided: bool) -> None:
        """Count one answer."""
        self.trees[question].add(self.n_trees)
        self.asked[question] += 1
        self.undecided[question] += not is_decided


def is_close(certified: float, attained: float) -> bool:
    """Whether what is certified and what is attained are the same number, but for rounding."""
    return certified == attained or abs(attained - certified) <= 1e-6 * (1 + abs(attained))


def is_cheapest(answers: list[object]) -> bool:
    """Whether the first counterfactual is proved to be the cheapest one, or that there is none."""
    return is_close(answers[0].lower, answers[0].cost) if answers else answers.lower == np.inf  # type: ignore[attr-defined]
