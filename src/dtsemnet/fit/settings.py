"""How a tree is trained by default, and as the paper has it.

*Annealed* training evaluates at each step a smooth function whose limit is the
tree, optimises it as it is, and ends on the limit: for classes the pooled
logits ``tau * logsumexp(z / tau)`` with ``tau`` falling to 0, for regression the
softmax over all leaves at a falling temperature, then leaves refitted in closed
form. No single rate and temperature fit every table, so a fit tries a few
settings from different random starts and keeps what does best on rows set aside.
The smallest tree with a leaf for each class is among the starts of a classifier: a maximal depth is a maximum.
The best tree is then trained on with all rows: annealed once more, or, for regression, warmed up a little.

*Paper* training is max-pooled cross-entropy from the first step, and the
paper's Algorithm 1 with k = 4 and temperature 0.5. *Straight-through* training
is the estimator that the paper compares with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dtsemnet.training import ALL, Cosine, Decay, Geometric, Linear, Phase, algorithm_1

__all__ = [
    "CLASSIFICATION",
    "PAPER_CLASSIFICATION",
    "PAPER_REGRESSION",
    "REGRESSION",
    "Setting",
    "classification_phases",
    "n_epochs_for",
    "regression_phases",
]

STEPS = 4500
"""Gradient steps that a start takes, where the number of epochs is not given."""


@dataclass(frozen=True)
class Setting:
    """What one start is trained with.

    Parameters
    ----------
    learning_rate : float
        Of Adam, falling to 0 along a cosine.
    temperature : (float, float)
        First and last temperature of the annealing, in standard deviations of a split's score at the start.
    weight_decay : float
        Decoupled decay of the splits.
    proportional : bool
        Leaves dealt out to classes by the root of their frequency, else in turn (classification).
    q : float
        Last exponent of the bounded loss; 0 is cross-entropy (classification).
    first_q : float
        First exponent.
    l1 : float
        Penalty on the absolute values of the splits.
    """

    learning_rate: float
    temperature: tuple[float, float]
    weight_decay: float
    proportional: bool = False
    q: float = 0.7
    first_q: float = 0.0
    l1: float = 0.0

    def at_depth(self, depth: int) -> Setting:
        """Fit a setting made for depth 4 to a deeper classifier: its logits sum more margins, so they are larger."""
        factor = max(1.0, depth / 4)
        first, last = self.temperature
        return replace(self, learning_rate=self.learning_rate / factor, temperature=(first * factor, last * factor))

    def override(self, **given: float | None) -> Setting:
        """Use the numbers that the user gave."""
        numbers: dict[str, Any] = {name: number for name, number in given.items() if number is not None}
        return replace(self, **numbers)

    def warm(self) -> Setting:
        """Start from a given tree: a third of the rate, and no heat that would wipe the tree out."""
        last = self.temperature[1]
        return replace(self, learning_rate=self.learning_rate / 3, temperature=(5 * last, last), first_q=self.q)


CLASSIFICATION = (
    Setting(0.1, (1.0, 0.05), 0.01),
    Setting(0.03, (3.0, 0.1), 0.03, proportional=True),
    Setting(0.03, (3.0, 0.1), 0.3, proportional=True),
    Setting(0.03, (3.0, 0.1), 0.03, q=0.0),
)
# The penalty on absolute values keeps splits from leaning on columns with rare huge values; sets with many small
# regions do better without it, so starts with and without it are tried.
REGRESSION = (
    Setting(0.005, (1.0, 0.01), 0.03),
    Setting(0.02, (0.3, 0.006), 0.03),
    Setting(0.02, (1.0, 0.01), 0.3, l1=0.001),
    Setting(0.02, (1.0, 0.01), 0.03, l1=0.001),
    Setting(0.005, (1.0, 0.01), 0.03, l1=0.001),
)


PAPER_CLASSIFICATION = Setting(0.1, (1.0, 1.0), 0.0)
"""Rate of the paper's training; it has no decay and no annealed pooling."""
PAPER_REGRESSION = Setting(0.01, (0.5, 0.5), 0.0)


def n_epochs_for(n_rows: int, batch_size: int, most: int, fewest: int) -> int:
    """Epochs that make about ``STEPS`` steps, at most ``most`` and at least ``fewest``."""
    return max(fewest, min(most, round(STEPS / max(1, n_rows / batch_size))))


def classification_phases(training: str, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    """Lay out the training of a classifier."""
    if training == "paper":
        return (Phase(n_epochs, Decay(setting.learning_rate, 0.98)),)
    # The bounded loss grows in over training: first every row pulls, at last those that some leaf can serve.
    annealed = Geometric(*setting.temperature, until=0.7, after=0.0)
    return (Phase(n_epochs, Cosine(setting.learning_rate), temperature=annealed, q=Linear(setting.first_q, setting.q)),)


def regression_phases(training: str, setting: Setting, n_epochs: int, *, closed_form: bool) -> tuple[Phase, ...]:
    """Lay out the training of a regressor; leaves without a closed form are trained on after the splits rest."""
    rate, n_leaf_epochs = setting.learning_rate, max(1, n_epochs // 4)
    if training == "paper":
        n_joint = max(1, n_epochs - 2 * n_leaf_epochs)
        return algorithm_1(n_joint, n_leaf_epochs, n_leaf_epochs, learning_rate=Decay(rate, 0.95))
    if training == "straight_through":
        return (Phase(n_epochs, Decay(rate, 0.95), selector="straight_through", temperature=1.0),)
    annealed = Phase(n_epochs, Cosine(rate), k=ALL, temperature=Geometric(*setting.temperature))
    return (annealed,) if closed_form else (annealed, Phase(n_leaf_epochs, 0.0, Cosine(rate)))
