"""Callbacks that harden a policy while it learns.

A temperature falls in equal factors, so that what is trained at the end is the tree that acts. It changes before a
rollout, never between a rollout and its update.
"""

from __future__ import annotations

from abc import abstractmethod

from stable_baselines3.common.callbacks import BaseCallback

from dtsemnet.nn import TopK
from dtsemnet.rl.actors import TreeActor
from dtsemnet.rl.continuous import RegressionActor

__all__ = ["AnnealPooling", "AnnealTopK"]


class _Anneal(BaseCallback):
    """Base: a subclass says what it needs, and what a temperature is set to.

    Parameters
    ----------
    start, end : float
        First and last temperature above 0.
    fraction : float
        Share of all steps after which it has fallen.
    """

    name: str

    def __init__(self, start: float, end: float, fraction: float) -> None:
        super().__init__()
        if not start >= end > 0:
            raise ValueError(f"start must be at least end, and end positive, got {start} and {end}.")
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction must be in (0, 1], got {fraction}.")
        self.start, self.end, self.fraction = start, end, fraction

    def temperature(self, progress: float) -> float:
        """Give the temperature after a share ``progress`` of the steps."""
        return float(self.start * (self.end / self.start) ** min(1.0, progress / self.fraction))

    @abstractmethod
    def _check(self) -> None:
        """Refuse an agent without such a temperature."""

    @abstractmethod
    def _set(self, temperature: float) -> None: ...

    def _on_training_start(self) -> None:
        self._check()

    def _on_rollout_start(self) -> None:
        self._follow()

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._follow()

    def _follow(self) -> None:
        temperature = self.temperature(self.num_timesteps / max(1, self.model._total_timesteps))
        self._set(temperature)
        self.logger.record(f"train/{self.name}", temperature)


class AnnealPooling(_Anneal):
    """Drive the pooling temperature of a ``TreePolicy`` to 0 while it learns.

    It falls from ``start`` to ``end`` in equal factors, then is 0: the last part of the training runs on the
    tree itself.

    Parameters
    ----------
    start, end : float, default=1.0, 0.05
        First and last temperature above 0.
    fraction : float, default=0.7
        Share of all steps after which the pool is the maximum.

    Examples
    --------
    >>> [round(AnnealPooling().temperature(progress), 3) for progress in (0.0, 0.35, 0.69, 0.7, 1.0)]
    [1.0, 0.224, 0.052, 0.0, 0.0]
    """

    name = "pooling"

    def __init__(self, start: float = 1.0, end: float = 0.05, fraction: float = 0.7) -> None:
        super().__init__(start, end, fraction)

    def temperature(self, progress: float) -> float:
        """Give the temperature after a share ``progress`` of the steps."""
        return 0.0 if progress >= self.fraction else super().temperature(progress)

    def _check(self) -> None:
        actor = getattr(self.model.policy, "actor", None)
        if not isinstance(actor, TreeActor):
            raise TypeError(f"AnnealPooling needs an agent with TreePolicy, got {type(self.model.policy).__name__}.")

    def _set(self, temperature: float) -> None:
        assert isinstance(self.model.policy.actor, TreeActor)
        self.model.policy.actor.pooling = temperature


class AnnealTopK(_Anneal):
    """Let the temperature of a ``TopK`` selector fall while ``TopKSAC`` learns.

    The smaller it is, the nearer the actor that is trained comes to the tree that acts.

    Parameters
    ----------
    start, end : float, default=0.5, 0.05
        First and last temperature.
    fraction : float, default=0.8
        Share of all steps after which the last is reached.

    Examples
    --------
    >>> [round(AnnealTopK().temperature(progress), 3) for progress in (0.0, 0.4, 0.8, 1.0)]
    [0.5, 0.158, 0.05, 0.05]
    """

    name = "top_k_temperature"

    def __init__(self, start: float = 0.5, end: float = 0.05, fraction: float = 0.8) -> None:
        super().__init__(start, end, fraction)

    def _check(self) -> None:
        actor = getattr(self.model.policy, "actor", None)
        if not isinstance(actor, RegressionActor) or not isinstance(actor.tree.selector, TopK):
            raise TypeError(
                "AnnealTopK needs an agent with TreeSACPolicy and a TopK selector, "
                f"got {type(self.model.policy).__name__}."
            )

    def _set(self, temperature: float) -> None:
        actor = self.model.policy.actor
        assert isinstance(actor, RegressionActor)
        assert isinstance(actor.tree.selector, TopK)
        actor.tree.selector.temperature = temperature
