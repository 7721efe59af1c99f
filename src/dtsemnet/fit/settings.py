"""How a tree is trained: the options of a fit, the settings that its starts try, and the phases of a start.

*Annealed* training, the default, evaluates a smooth function whose limit is the
tree, optimises that function as it is, and ends on the limit. For classes these
are the pooled logits ``tau * logsumexp(z / tau)`` with ``tau`` falling to 0; for
regression the softmax over all leaves at a falling temperature, after which the
leaves are refitted in closed form. No single learning rate and temperature suit
every table, so a fit tries a few settings from different random starts.

*Paper* training is max-pooled cross-entropy from the first step for classes, and
the paper's Algorithm 1 with k = 4 and temperature 0.5 for regression.
*Straight-through* training is the estimator that the paper compares with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from dtsemnet.kernels.regression import DEVIANCES
from dtsemnet.training import ALL, Cosine, Decay, Geometric, Linear, Phase, algorithm_1

__all__ = [
    "ANNEALED_SHARE",
    "CLASSIFICATION",
    "CLASSIFICATION_RECIPES",
    "HAVE_MEANS",
    "INTERACTIONS",
    "LAST_Q",
    "MOST_POINTS",
    "OVERRIDES",
    "REGRESSION",
    "REGRESSION_RECIPES",
    "FitOptions",
    "Recipe",
    "Setting",
    "n_epochs_for",
    "regression_recipe",
    "with_fewer_columns",
]

STEPS = 4500
"""Number of gradient steps of a start, if the number of epochs is not given."""
ANNEALED_SHARE = 0.7
"""Share of a classifier's training after which the temperature is 0 and the tree itself is trained."""
SHRINKING_SHARE = 0.3
"""Share of the training after which each split has as few columns as it may have at the end."""
HAVE_MEANS = ("squared_error", *DEVIANCES)
"""Losses whose best constant is the mean of the targets."""
MOST_POINTS = 10
"""Largest weight of a split if the user only asks for whole numbers."""
INTERACTIONS = {"no_interactions": 1, "pairwise": 2}
"""Most columns of a split, by the words that scikit-learn has for it."""
LAST_Q = 0.7
"""Last exponent of the bounded classification loss."""

OVERRIDES = ("learning_rate", "weight_decay", "l1", "max_grad_norm")
"""Hyper-parameters of a setting that the user may give."""


@dataclass(frozen=True)
class FitOptions:
    """What the user chose for the course of a fit: parameters of the estimators, which describe them."""

    effort: int = 1
    min_samples_leaf: int | float = 1
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0
    max_split_features: int | None = None
    max_leaf_features: int | None = None
    sparsity: Literal["auto"] | None = None
    integer_weights: int | None = None
    n_init: int | Literal["auto"] = "auto"
    max_iter: int | None = None
    batch_size: int = 128
    early_stopping: bool = False
    n_iter_no_change: int = 20
    tol: float = 0.0
    validation_fraction: float = 0.2
    refit: bool = True
    engine: Literal["cpu", "torch"] = "cpu"
    device: str | None = None
    n_jobs: int | None = None
    checkpoint: str | Path | None = None
    verbose: int = 0

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Read the options from an estimator's parameters; those that it does not have keep their defaults."""
        given = {field.name: parameters[field.name] for field in fields(cls) if field.name in parameters}
        points = given.get("integer_weights", False)
        given["integer_weights"] = None if points is False else MOST_POINTS if points is True else int(points)
        interactions = parameters.get("interaction_cst")
        if isinstance(interactions, str):
            most = INTERACTIONS[interactions]
            given["max_split_features"] = min(most, given.get("max_split_features") or most)
        return cls(**given)


@dataclass(frozen=True)
class Setting:
    """The hyper-parameters of one start."""

    learning_rate: float
    """Step size of Adam, which falls to 0 along a cosine."""
    temperature: tuple[float, float] = (1.0, 1.0)
    """First and last temperature of the annealing, in standard deviations of a split's score at the start."""
    weight_decay: float = 0.0
    """Decoupled weight decay of the splits."""
    proportional: bool = False
    """Leaves are given to classes by the square root of their frequency, else in turn (classification)."""
    q: float = LAST_Q
    """Last exponent of the bounded loss; 0 is cross-entropy (classification)."""
    first_q: float = 0.0
    """First exponent."""
    l1: float = 0.0
    """Penalty on the absolute values of the splits."""
    max_grad_norm: float = 0.0
    """Larger gradients are scaled down to this norm; 0: none are."""
    columns: tuple[int, int] | None = None
    """Most columns that a split reads at the beginning and at the end; None: all."""
    leaf_columns: tuple[int, int] | None = None
    """The same for the linear models of leaves."""

    def at_depth(self, depth: int) -> Self:
        """Adapt a setting made for depth 4 to a deeper classifier, whose logits sum more margins and are larger."""
        factor = max(1.0, depth / 4)
        first, last = self.temperature
        return replace(self, learning_rate=self.learning_rate / factor, temperature=(first * factor, last * factor))

    def override(self, **given: float | None) -> Self:
        """Replace hyper-parameters by those that the user gave; None means not given."""
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return replace(self, **values)

    def sparse(self) -> Self:
        """Go on from a tree that has its few columns: no others come back."""
        columns, leaf_columns = (
            None if limits is None else (limits[1],) * 2 for limits in (self.columns, self.leaf_columns)
        )
        return replace(self, columns=columns, leaf_columns=leaf_columns)

    def warm(self) -> Self:
        """Start from a given tree: a third of the learning rate, and a temperature that does not erase the tree."""
        last = self.temperature[1]
        return replace(self, learning_rate=self.learning_rate / 3, temperature=(5 * last, last), first_q=self.q)


CLASSIFICATION = (
    Setting(0.1, (1.0, 0.05), 0.01),
    Setting(0.03, (3.0, 0.1), 0.03, proportional=True),
    Setting(0.03, (3.0, 0.1), 0.3, proportional=True),
    Setting(0.03, (3.0, 0.1), 0.03, q=0.0),
)
# The L1 penalty keeps splits from relying on columns with rare huge values. Data with many small regions do better
# without it, so starts with and without it are tried.
REGRESSION = (
    Setting(0.005, (1.0, 0.01), 0.03),
    Setting(0.02, (0.3, 0.006), 0.03),
    Setting(0.02, (1.0, 0.01), 0.3, l1=0.001),
    Setting(0.02, (1.0, 0.01), 0.03, l1=0.001),
    Setting(0.005, (1.0, 0.01), 0.03, l1=0.001),
)


@dataclass(frozen=True)
class Recipe:
    """One way to train."""

    settings: tuple[Setting, ...]
    """Those of its starts, in turn."""
    phases: Callable[[Setting, int], tuple[Phase, ...]]
    """Phases of a start, given its setting and its number of epochs."""
    adapts: bool = False
    """Whether settings and shapes are adapted to the data: to the depth of a classifier, and by comparing plans."""
    closed_form: bool = False
    """Whether the leaves of a regressor are refitted by ridge regression; else they stay as they were trained."""


def _annealed_classes(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    # q grows during training: at first every row counts, at the end mainly rows that some leaf can classify.
    annealed = Geometric(*setting.temperature, until=ANNEALED_SHARE, after=0.0)
    return (Phase(n_epochs, Cosine(setting.learning_rate), temperature=annealed, q=Linear(setting.first_q, setting.q)),)


def _paper_classes(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    return (Phase(n_epochs, Decay(setting.learning_rate, 0.98)),)


def _annealed_splits(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    return (Phase(n_epochs, Cosine(setting.learning_rate), k=ALL, temperature=Geometric(*setting.temperature)),)


def _annealed_splits_then_leaves(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    leaves = Phase(_n_leaf_epochs(n_epochs), 0.0, Cosine(setting.learning_rate))
    return (*_annealed_splits(setting, n_epochs), leaves)


def _algorithm_1(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    n_leaves = _n_leaf_epochs(n_epochs)
    n_joint = max(1, n_epochs - 2 * n_leaves)
    return algorithm_1(n_joint, n_leaves, n_leaves, learning_rate=Decay(setting.learning_rate, 0.95))


def _straight_through(setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
    return (Phase(n_epochs, Decay(setting.learning_rate, 0.95), selector="straight_through", temperature=1.0),)


def with_fewer_columns(phases: tuple[Phase, ...], setting: Setting) -> tuple[Phase, ...]:
    """Let splits and leaves lose columns during the first phase, so that those left adapt while training goes on."""
    limits = {"n_columns": setting.columns, "n_leaf_columns": setting.leaf_columns}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    shrinking: dict[str, Any] = {
        name: Geometric(*limit, until=SHRINKING_SHARE, after=limit[1]) for name, limit in given.items()
    }
    ends: dict[str, Any] = {name: end for name, (_, end) in given.items()}
    first, *later = phases
    return replace(first, **shrinking), *(replace(phase, **ends) for phase in later)


def _n_leaf_epochs(n_epochs: int) -> int:
    return max(1, n_epochs // 4)


CLASSIFICATION_RECIPES = {
    "annealed": Recipe(CLASSIFICATION, _annealed_classes, adapts=True),
    "paper": Recipe((Setting(0.1, (1.0, 1.0)),), _paper_classes),
}
REGRESSION_RECIPES = {
    "annealed": Recipe(REGRESSION, _annealed_splits, adapts=True, closed_form=True),
    "paper": Recipe((Setting(0.01, (0.5, 0.5)),), _algorithm_1),
    "straight_through": Recipe((Setting(0.01, (0.5, 0.5)),), _straight_through),
}
ANNEALED_WITHOUT_CLOSED_FORM = Recipe(REGRESSION, _annealed_splits_then_leaves)


def regression_recipe(training: str, loss: str) -> Recipe:
    """The recipe of a regressor; only means have a closed form: the squared error, and the deviances."""
    recipe = REGRESSION_RECIPES[training]
    return ANNEALED_WITHOUT_CLOSED_FORM if recipe.closed_form and loss not in HAVE_MEANS else recipe


def n_epochs_for(n_rows: int, batch_size: int, most: int, fewest: int) -> int:
    """Number of epochs that make about ``STEPS`` steps, at most ``most`` and at least ``fewest``."""
    return max(fewest, min(most, round(STEPS / max(1, n_rows / batch_size))))
