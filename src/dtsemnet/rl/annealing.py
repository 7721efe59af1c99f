"""Annealing: callbacks that lower a setting while an agent learns, by the share of the steps done.

They change it before a rollout, never between a rollout and its update. They have no state of their own, so a training
that resumes after a kill finds the setting where it was.
"""

from __future__ import annotations

from abc import abstractmethod

from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.preprocessing import get_action_dim

from dtsemnet.rl.policies.actors import TreeActor

__all__ = ["AnnealEntropy", "AnnealPooling"]


class _Annealing(BaseCallback):
    """Set a value before each rollout and at the end."""

    @abstractmethod
    def _set(self, progress: float) -> None:
        """Set the value for a share ``progress`` of the steps."""

    def _on_rollout_start(self) -> None:
        self._set(self.num_timesteps / max(1, self.model._total_timesteps))

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self._on_rollout_start()


class AnnealPooling(_Annealing):
    """Lower the pooling temperature of a ``TreePolicy`` to 0 while it learns.

    It falls geometrically from ``start`` to ``end`` and is 0 afterwards: the last part of the training runs on the tree
    itself.

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

    def __init__(self, start: float = 1.0, end: float = 0.05, fraction: float = 0.7) -> None:
        super().__init__()
        if not start >= end > 0:
            raise ValueError(
                f"start must be at least end, and end positive, got {start} and {end}; 0 follows by itself."
            )
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction must be in (0, 1], got {fraction}.")
        self.start, self.end, self.fraction = start, end, fraction

    def temperature(self, progress: float) -> float:
        """Compute the temperature after a share ``progress`` of the steps."""
        if progress >= self.fraction:
            return 0.0
        return float(self.start * (self.end / self.start) ** (progress / self.fraction))

    def _on_training_start(self) -> None:
        if not isinstance(getattr(self.model.policy, "actor", None), TreeActor):
            raise TypeError(f"AnnealPooling needs an agent with TreePolicy, got {type(self.model.policy).__name__}.")

    def _set(self, progress: float) -> None:
        temperature = self.temperature(progress)
        assert isinstance(self.model.policy.actor, TreeActor)
        self.model.policy.actor.pooling = temperature
        self.logger.record("train/pooling", temperature)


class AnnealEntropy(_Annealing):
    """Lower the target entropy of SAC while it learns: first the agent explores, in the end it acts precisely.

    The policy that is trained is noisy, and keeps away from every danger that its noise may lead it into. The policy
    that acts in the end has no noise and does not need that distance.

    Parameters
    ----------
    start, end : float, default=-1.0, -3.0
        Target entropy in nats per action dimension; SAC keeps it at -1. The corresponding noise has a standard
        deviation of 0.09 at -1, of 0.24 at 0 and of 0.01 at -3, for actions from -1 to 1 that are far from both bounds.
    since, until : float, default=0.3, 0.9
        Shares of all steps between which it falls linearly.

    Examples
    --------
    >>> annealing = AnnealEntropy(0.0, -2.0, since=0.5, until=0.9)
    >>> [round(annealing.target(progress), 6) + 0.0 for progress in (0.0, 0.5, 0.7, 0.9, 1.0)]
    [0.0, 0.0, -1.0, -2.0, -2.0]
    """

    def __init__(self, start: float = -1.0, end: float = -3.0, since: float = 0.3, until: float = 0.9) -> None:
        super().__init__()
        if not start >= end:
            raise ValueError(f"start must be at least end, got {start} and {end}.")
        if not 0 <= since < until <= 1:
            raise ValueError(f"since must be below until, both in [0, 1], got {since} and {until}.")
        self.start, self.end, self.since, self.until = start, end, since, until

    def target(self, progress: float) -> float:
        """Compute the target per action dimension after a share ``progress`` of the steps."""
        share = min(1.0, max(0.0, (progress - self.since) / (self.until - self.since)))
        return self.start + share * (self.end - self.start)

    def _on_training_start(self) -> None:
        if not isinstance(self.model, SAC) or self.model.ent_coef_optimizer is None:
            raise TypeError(
                "AnnealEntropy needs SAC that learns its entropy weight (ent_coef='auto'), "
                f"got {type(self.model).__name__}."
            )

    def _set(self, progress: float) -> None:
        assert isinstance(self.model, SAC)
        target = self.target(progress)
        self.model.target_entropy = target * get_action_dim(self.model.action_space)
        self.logger.record("train/target_entropy", self.model.target_entropy)
