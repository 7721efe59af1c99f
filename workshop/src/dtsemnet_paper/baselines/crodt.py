"""CRO-DT: axis-aligned trees evolved by coral reef optimisation over a matrix encoding.

V. Costa, S. Salcedo-Sanz, C. Pedreira, "Efficient evolution of decision trees via
fully matrix-based fitness evaluation", 2024, on the coral reef optimisation of
S. Salcedo-Sanz and others, 2014.

A coral is a complete tree of fixed depth: the column and the threshold of each
split. The reef has a number of sites, some of them empty. In each generation most
corals spawn larvae with others (broadcast spawning), and the others brood mutants
of themselves. A larva tries a few sites and settles on the first that is empty or
has a less fit coral. The fittest corals bud, and some of the weakest are eaten.
Ways to make larvae (substrates) are used more often if their larvae settle more often.

A threshold is stored as the share of rows below it, so that it has a meaning under
any column, in any unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.estimators.kinds import TreeClassifier
from dtsemnet.estimators.persistence import Rule, whole
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.leaves import class_tree, constant_tree, count_classes, frequencies
from dtsemnet.training import History
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.common import cut_idle_splits
from dtsemnet_paper.baselines.kernels.crodt_fitness import population_fitness

__all__ = ["CRODTClassifier", "Reef"]


OCCUPIED = 0.6  # share of sites that are occupied at the start
BROADCAST = 0.9  # share of corals that spawn with others
BUDDING = 0.1  # share of corals, the fittest, that bud
DEPREDATION = 0.1  # share of corals, the weakest, that may be eaten
EATEN = 0.2  # probability that one of these is eaten
TRIES = 3  # sites that a larva tries


class CRODTClassifier(TreeClassifier):
    """An axis-aligned tree of fixed depth, found by evolution (CRO-DT).

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the complete tree, at most 10; splits without effect are cut off at the end. The authors use 2 to 4:
        evolution needs more time for deeper trees.
    reef_size : int, default=100
        Number of sites of the reef.
    max_iter : int, default=4000
        Number of generations; with the default reef size 400,000 trees are evaluated. The published runs have 4,000.
    n_iter_no_change : int, default=1000
        Generations without a fitter tree after which the search ends.
    class_weight, categorical_features, missing, random_state
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Attributes
    ----------
    history_ : History
        Empty; the fitness by generation is ``fitness_curve_``.
    fitness_curve_ : list of float
        Training accuracy of the fittest tree after each generation.
    tree_, model_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Notes
    -----
    Fitness is the accuracy on training rows, as published; validation rows are not used. The reef size and the
    substrates differ from the authors'.
    ``paper/REPORT.md`` has its figures beside the published ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> CRODTClassifier(max_depth=2, max_iter=100, random_state=0).fit(X, y).score(X, y) > 0.94
    True
    """

    _legal: ClassVar[dict[str, Rule]] = {"max_depth": whole(0, 10), "reef_size": whole(4), "max_iter": whole(1)}

    fitness_curve_: list[float]

    def __init__(
        self,
        max_depth: int = 4,
        *,
        reef_size: int = 100,
        max_iter: int = 4000,
        n_iter_no_change: int = 1000,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.reef_size = reef_size
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        self.history_, self.fitness_curve_ = History(), []
        if data.is_constant or self.max_depth == 0:
            return constant_tree(data)
        sample, n_classes = data.sample, len(data.class_names or ())
        columns = _shares_below(sample)
        varies = np.flatnonzero(columns.min(axis=1) < 1)  # the largest value of each column has share 1
        if not len(varies):
            return constant_tree(data)

        def fitness(feature: Array, share: Floats) -> Floats:
            right = population_fitness(columns, sample.y, sample.weight, n_classes, feature, share)
            return right / sample.weight.sum()

        reef = Reef(fitness, varies, 2**self.max_depth - 1, self.reef_size, rng)
        self._evolve(reef)
        topology = Topology.complete(self.max_depth)
        weight, bias = _splits(sample, columns, *reef.fittest())
        tree = Tree(topology, weight, bias, np.zeros((topology.n_leaves, 1)))
        value = frequencies(topology, count_classes(tree, sample, n_classes) / sample.weight.mean())
        return cut_idle_splits(class_tree(tree, value, data), sample)

    def _evolve(self, reef: Reef) -> None:
        """Run generations until the last one, until the fitness no longer improves, or until it is perfect."""
        for _ in range(self.max_iter):
            reef.generation()
            self.fitness_curve_.append(reef.best)
            waited = len(self.fitness_curve_) - self.n_iter_no_change
            if reef.best >= 1 - 1e-12 or (waited > 0 and self.fitness_curve_[waited - 1] >= reef.best):
                break


class Reef:
    """A population of trees in their matrix encoding.

    Parameters
    ----------
    fitness : callable
        From (features, thresholds), each of shape (n_trees, n_splits), to the fitness of each tree.
    features : array of int
        Columns that splits may read.
    n_splits : int
        Splits of a complete tree.
    size : int
        Number of sites.
    rng : numpy.random.Generator
    """

    def __init__(
        self, fitness: Callable[[Ints, Floats], Floats], features: Ints, n_splits: int, size: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.evaluate, self.features, self.rng = fitness, features, rng
        self.feature = rng.choice(features, (size, n_splits))
        self.threshold = rng.random((size, n_splits))
        self.fitness = fitness(self.feature, self.threshold)
        self.fitness[rng.permutation(size)[max(2, int(OCCUPIED * size)) :]] = -np.inf  # empty sites
        self.substrates = (self._cross_nodes, self._cross_subtree, self._differential, self._shift)
        self.success = np.ones(len(self.substrates))
        self.below = _subtrees(n_splits)

    @property
    def best(self) -> float:
        """Fitness of the fittest coral."""
        return float(self.fitness.max())

    def fittest(self) -> tuple[Ints, Floats]:
        """Features and thresholds of the fittest coral."""
        site = int(self.fitness.argmax())
        return self.feature[site], self.threshold[site]

    def generation(self) -> None:
        """Spawn, brood, settle, bud, depredate."""
        corals = self.rng.permutation(np.flatnonzero(np.isfinite(self.fitness)))
        n_broadcast = int(np.ceil(BROADCAST * len(corals)))
        origin = np.full(len(corals), -1)
        feature, threshold = self.feature[corals].copy(), self.threshold[corals].copy()
        origin[:n_broadcast] = self.rng.choice(len(self.substrates), n_broadcast, p=self.success / self.success.sum())
        for i, substrate in enumerate(self.substrates):
            chosen = np.flatnonzero(origin == i)
            if len(chosen):
                feature[chosen], threshold[chosen] = substrate(corals[chosen])
        brood = np.flatnonzero(origin < 0)
        feature[brood], threshold[brood] = self._mutate(corals[brood])
        settled = self._settle(feature, threshold, self.evaluate(feature, threshold))
        self._credit(origin, settled)
        self._bud()
        self._depredate()

    def _cross_nodes(self, corals: Ints) -> tuple[Ints, Floats]:
        """Each split from one of two parents."""
        mates = self._mates(corals)
        swap = self.rng.random((len(corals), self.feature.shape[1])) < 0.5
        return self._mixed(corals, mates, swap)

    def _cross_subtree(self, corals: Ints) -> tuple[Ints, Floats]:
        """A subtree of one parent replaces the same subtree of the other."""
        mates = self._mates(corals)
        return self._mixed(corals, mates, self.below[self.rng.integers(len(self.below), size=len(corals))])

    def _differential(self, corals: Ints) -> tuple[Ints, Floats]:
        """Thresholds moved by the difference of two others', at some of the splits."""
        first, second = self._mates(corals), self._mates(corals)
        moved = self.threshold[corals] + 0.5 * (self.threshold[first] - self.threshold[second])
        some = self.rng.random(moved.shape) < 0.5
        threshold = np.where(some, np.abs(moved) % 1, self.threshold[corals])
        return self.feature[corals], threshold

    def _shift(self, corals: Ints) -> tuple[Ints, Floats]:
        """The threshold of one split moved a little, or a little more."""
        threshold, row = self.threshold[corals].copy(), np.arange(len(corals))
        node = self.rng.integers(threshold.shape[1], size=len(corals))
        width = 10.0 ** self.rng.uniform(-3, -0.5, len(corals))
        threshold[row, node] = np.clip(threshold[row, node] + width * self.rng.standard_normal(len(corals)), 0, 1)
        return self.feature[corals], threshold

    def _mutate(self, corals: Ints) -> tuple[Ints, Floats]:
        """One split drawn anew."""
        feature, threshold = self.feature[corals].copy(), self.threshold[corals].copy()
        row, node = np.arange(len(corals)), self.rng.integers(feature.shape[1], size=len(corals))
        feature[row, node] = self.rng.choice(self.features, len(corals))
        threshold[row, node] = self.rng.random(len(corals))
        return feature, threshold

    def _mates(self, corals: Ints) -> Ints:
        return self.rng.choice(np.flatnonzero(np.isfinite(self.fitness)), len(corals))

    def _mixed(self, corals: Ints, mates: Ints, swap: Array) -> tuple[Ints, Floats]:
        feature = np.where(swap, self.feature[mates], self.feature[corals])
        return feature, np.where(swap, self.threshold[mates], self.threshold[corals])

    def _settle(self, feature: Ints, threshold: Floats, fitness: Floats) -> Array:
        """Let the larvae try their sites, one larva after the other; return which have settled."""
        sites = self.rng.integers(len(self.fitness), size=(len(fitness), TRIES)).tolist()
        settled = np.zeros(len(fitness), bool)
        health = self.fitness.tolist()
        for larva, value in enumerate(fitness.tolist()):
            for site in sites[larva]:
                if value > health[site]:
                    health[site] = value
                    self.feature[site], self.threshold[site] = feature[larva], threshold[larva]
                    settled[larva] = True
                    break
        self.fitness[:] = health
        return settled

    def _credit(self, origin: Ints, settled: Array) -> None:
        """Move the odds of each substrate towards the share of its larvae that settled."""
        for i in range(len(self.substrates)):
            own = settled[origin == i]
            if len(own):
                self.success[i] = max(0.95 * self.success[i] + 0.05 * own.mean(), 0.02)

    def _bud(self) -> None:
        """Copies of the fittest try sites as larvae do."""
        n_buds = int(BUDDING * np.isfinite(self.fitness).sum())
        fittest = np.argsort(-self.fitness, kind="stable")[:n_buds]
        self._settle(self.feature[fittest].copy(), self.threshold[fittest].copy(), self.fitness[fittest].copy())

    def _depredate(self) -> None:
        """Some of the weakest leave an empty site; the fittest stays."""
        corals = np.flatnonzero(np.isfinite(self.fitness))
        weakest = corals[np.argsort(self.fitness[corals], kind="stable")][: int(DEPREDATION * len(corals))]
        self.fitness[weakest[self.rng.random(len(weakest)) < EATEN]] = -np.inf


def _shares_below(sample: Sample) -> Floats:
    """For each value the share of rows that are not above it; one row per feature."""
    rows = sample.to_array()
    columns = np.empty((rows.shape[1], len(rows)))
    for j in range(rows.shape[1]):
        value, index = np.unique(rows[:, j], return_inverse=True)
        below = np.cumsum(np.bincount(index, sample.weight, len(value)))
        columns[j] = (below / below[-1])[index]
    return columns


def _splits(sample: Sample, columns: Floats, feature: Array, share: Floats) -> tuple[Floats, Floats]:
    """Turn shares into thresholds half way between the two values they lie between."""
    rows = sample.to_array()
    weight, bias = np.zeros((len(feature), rows.shape[1])), np.empty(len(feature))
    for i, (j, cut) in enumerate(zip(feature, share)):
        left = columns[j] <= cut
        weight[i, j] = 1.0
        low = rows[left, j].max() if left.any() else rows[:, j].min() - 1
        high = rows[~left, j].min() if not left.all() else rows[:, j].max() + 1
        middle = low + (high - low) / 2
        bias[i] = -(middle if middle < high else low)
    return weight, bias


def _subtrees(n_splits: int) -> Array:
    """For each split, which splits lie below it, itself included."""
    below = np.eye(n_splits, dtype=bool)
    for i in range(n_splits - 1, 0, -1):
        below[(i - 1) // 2] |= below[i]
    return below
