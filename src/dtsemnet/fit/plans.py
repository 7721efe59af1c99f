"""The trees that a fit tries: where each begins, how large it is, and what it is trained with.

No single beginning, size and strength suits every table. A few of them, compared on rows that they
were not trained on, leave little to gain by trying more, and every further plan makes it likelier
that one wins by luck. ``paper/EXPERIMENTS.md`` in the repository tells what each is worth.

Tables of more than a million numbers get fewer plans, so that a fit takes no longer than its data warrant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dtsemnet.fit.initial_trees import (
    CartTree,
    GreedyTree,
    HingeTree,
    InitialTree,
    LogisticTree,
    OneLeaf,
    RandomTree,
)
from dtsemnet.fit.settings import CLASSIFICATION, REGRESSION, Setting

__all__ = ["COLUMN_LIMITS", "Plan", "TableSize", "class_plans", "ordered_plans", "regression_plans", "sparse_plans"]

LARGE = 1_000_000
"""Numbers in a table (rows times features) above which only trees trained by gradient descent are tried."""
MOST_TOURNAMENT_CLASSES = 5
"""With more classes the tournament of a logistic regression is too large: 2 ** (K - 1) leaves."""
DEEPEST = 10
"""Largest depth that is tried if the user sets no limit."""
LARGEST_CART = 15
"""Depth at which CART stops if the user sets no limit; rows run out before."""
COLUMN_LIMITS = (10, 5, 3, 2, 1)
"""Most columns of a split, as they are tried to find the sparsest tree that is good enough."""
MANY_ROWS = 2000
"""Rows that are enough for larger hinge trees, and too many for CART trees with a linear model for every few rows."""


@dataclass(frozen=True)
class Plan:
    """One way to make a tree."""

    tree: InitialTree
    setting: Setting | None = None
    """What it is trained with; None: it is kept as it is grown."""
    n_columns: int | None = None
    """Most columns that a split may read; None: all."""
    splits_read_directed: bool = True
    """Whether splits may read columns whose rise no output may follow by a fall; else only linear leaves may."""

    def __str__(self) -> str:
        limit = "" if self.n_columns is None else f", at most {self.n_columns} columns a split"
        order = "" if self.splits_read_directed else ", monotone columns in the leaves alone"
        return f"{self.tree}{'' if self.setting is None else ', trained'}{limit}{order}"


@dataclass(frozen=True)
class TableSize:
    """What the choice of plans depends on."""

    n_rows: int
    n_features: int
    n_classes: int = 0

    @property
    def is_large(self) -> bool:
        """Whether the table has more numbers than ``LARGE``."""
        return self.n_rows * self.n_features > LARGE


def sparse_plans(plans: Sequence[Plan], limits: Sequence[int | None]) -> tuple[Plan, ...]:
    """Plans with each limit on the columns of a split, from the widest to the narrowest.

    The widest is tried with every plan. Narrower ones are tried with trees that were grown and with random splits that
    have an L1 penalty: others were hardly ever the best there. A tree whose splits read one column anyway is tried
    once.
    """
    wide = [plan for plan in plans if not _reads_one_column(plan)]
    likely = [plan for plan in wide if not isinstance(plan.tree, RandomTree) or (plan.setting and plan.setting.l1 > 0)]
    if all(isinstance(plan.tree, RandomTree) for plan in wide):
        likely = wide
    return tuple(
        replace(plan, n_columns=limit) for limit in limits for plan in (plans if limit == limits[0] else likely)
    )


def ordered_plans(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Plans for a regressor with linear leaves some of whose columns must not make outputs fall.

    A split that reads such a column parts the answers of its leaves by a threshold. Where outputs are near linear in
    the column it is better left to the leaves, so trees are also tried without it in their splits.
    """
    apart = [plan for plan in plans if not isinstance(plan.tree, CartTree | OneLeaf)]
    return (*plans, *(replace(plan, splits_read_directed=False) for plan in apart))


def _reads_one_column(plan: Plan) -> bool:
    return isinstance(plan.tree, OneLeaf) or (isinstance(plan.tree, CartTree) and plan.setting is None)


def class_plans(size: TableSize, max_depth: int | None) -> tuple[Plan, ...]:
    """Plans for a classifier whose trees have at most this depth."""
    if max_depth == 0:
        return (Plan(OneLeaf()),)
    limit = DEEPEST if max_depth is None else max_depth
    smallest = max(1, (size.n_classes - 1).bit_length())
    fast, spread, decayed, _ = CLASSIFICATION
    sparse, sparser = replace(spread, l1=0.001), replace(spread, l1=0.004)

    def every() -> Iterator[Plan]:
        if max_depth is not None:
            yield from (Plan(RandomTree(limit), setting) for setting in CLASSIFICATION)
        if smallest <= limit:
            yield Plan(RandomTree(smallest), sparse)
        depths = [(4, fast), (4, sparser), (6, spread), (6, fast), (8, spread)]
        depths += [(DEEPEST, spread)] if size.n_rows >= 1000 else []
        if size.is_large:
            depths = [(6, fast), (6, spread), (8, spread), (8, decayed)]
        yield from (Plan(RandomTree(min(depth, limit)), setting) for depth, setting in depths)
        if size.is_large:
            return
        if size.n_classes <= min(MOST_TOURNAMENT_CLASSES, limit + 1):
            yield Plan(LogisticTree(0.03))
            yield Plan(LogisticTree(0.3), spread)
        deepest = LARGEST_CART if max_depth is None else limit
        for depth, min_rows in ((deepest, 1), (8, 2), (6, 5)):
            yield Plan(CartTree(min(depth, deepest), min_rows))
        yield Plan(CartTree(min(6, deepest), 3), spread)
        yield Plan(GreedyTree(min(8, limit)), spread)

    enough = [
        plan for plan in every() if not isinstance(plan.tree, RandomTree) or plan.tree.depth >= min(smallest, limit)
    ]
    return tuple(dict.fromkeys(enough))


def regression_plans(size: TableSize, max_depth: int | None) -> tuple[Plan, ...]:
    """Plans for a regressor whose trees have at most this depth."""
    if max_depth == 0:
        return (Plan(OneLeaf()),)
    limit = DEEPEST if max_depth is None else max_depth

    def every() -> Iterator[Plan]:
        yield Plan(OneLeaf())
        if max_depth is not None:
            yield from (Plan(RandomTree(limit), setting) for setting in REGRESSION)
        slow, fast, _, sparse, _ = REGRESSION
        for depth, setting in ((2, sparse), (5, fast), (5, sparse)):
            yield Plan(RandomTree(min(depth, limit)), setting)
        if size.is_large:
            yield Plan(RandomTree(min(5, limit)), slow)
            return
        deepest = LARGEST_CART if max_depth is None else limit
        small = size.n_rows < MANY_ROWS
        for depth, min_rows in ((1, 5), (3, 5), (6, 3), (12, 2), (12, 10)) if small else ((6, 3), (12, 10)):
            yield Plan(CartTree(min(depth, deepest), min_rows))
        hinges = HingeTree(min(5 if small else 7, limit))
        yield Plan(hinges)
        yield Plan(hinges, sparse)

    return tuple(dict.fromkeys(every()))
