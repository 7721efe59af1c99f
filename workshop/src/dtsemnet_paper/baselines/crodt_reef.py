"""The reef: corals, holes, and what happens to them in a generation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints

__all__ = ["Reef"]


OCCUPIED = 0.6  # share of places taken at the start
BROADCAST = 0.9  # share of corals that spawn with others
BUDDING = 0.1  # share of corals, the fittest, that bud
DEPREDATION = 0.1  # share of corals, the weakest, that may be eaten
EATEN = 0.2  # probability of it
TRIES = 3  # places that a larva tries


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
        Places.
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
        self.fitness[rng.permutation(size)[max(2, int(OCCUPIED * size)) :]] = -np.inf  # holes
        self.substrates = (self._cross_nodes, self._cross_subtree, self._differential, self._shift)
        self.success = np.ones(len(self.substrates))
        self.below = _subtrees(n_splits)

    @property
    def best(self) -> float:
        """Fitness of the fittest coral."""
        return float(self.fitness.max())

    def fittest(self) -> tuple[Ints, Floats]:
        """Features and thresholds of the fittest coral."""
        place = int(self.fitness.argmax())
        return self.feature[place], self.threshold[place]

    def generation(self) -> None:
        """Spawn, brood, settle, bud, depredate."""
        corals = self.rng.permutation(np.flatnonzero(np.isfinite(self.fitness)))
        n_broadcast = int(np.ceil(BROADCAST * len(corals)))
        origin = np.full(len(corals), -1)
        feature, threshold = self.feature[corals].copy(), self.threshold[corals].copy()
        origin[:n_broadcast] = self.rng.choice(len(self.substrates), n_broadcast, p=self.success / self.success.sum())
        for number, substrate in enumerate(self.substrates):
            chosen = np.flatnonzero(origin == number)
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
        """A subtree of one parent in the place it has in the other."""
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
        """Let larvae try their places one after the other; tell which have settled."""
        places = self.rng.integers(len(self.fitness), size=(len(fitness), TRIES)).tolist()
        settled = np.zeros(len(fitness), bool)
        health = self.fitness.tolist()
        for larva, value in enumerate(fitness.tolist()):
            for place in places[larva]:
                if value > health[place]:
                    health[place] = value
                    self.feature[place], self.threshold[place] = feature[larva], threshold[larva]
                    settled[larva] = True
                    break
        self.fitness[:] = health
        return settled

    def _credit(self, origin: Ints, settled: Array) -> None:
        """Move the odds of each substrate towards the share of its larvae that settled."""
        for number in range(len(self.substrates)):
            own = settled[origin == number]
            if len(own):
                self.success[number] = max(0.95 * self.success[number] + 0.05 * own.mean(), 0.02)

    def _bud(self) -> None:
        """Copies of the fittest try places as larvae do."""
        n_buds = int(BUDDING * np.isfinite(self.fitness).sum())
        fittest = np.argsort(-self.fitness, kind="stable")[:n_buds]
        self._settle(self.feature[fittest].copy(), self.threshold[fittest].copy(), self.fitness[fittest].copy())

    def _depredate(self) -> None:
        """Some of the weakest leave a hole; the fittest stays."""
        corals = np.flatnonzero(np.isfinite(self.fitness))
        weakest = corals[np.argsort(self.fitness[corals], kind="stable")][: int(DEPREDATION * len(corals))]
        self.fitness[weakest[self.rng.random(len(weakest)) < EATEN]] = -np.inf


def _subtrees(n_splits: int) -> Array:
    """For each split, which splits lie below it, itself included."""
    below = np.eye(n_splits, dtype=bool)
    for i in range(n_splits - 1, 0, -1):
        below[(i - 1) // 2] |= below[i]
    return below
