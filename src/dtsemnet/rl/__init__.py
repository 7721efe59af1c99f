"""Reinforcement learning: policies that are hard oblique trees, on stable-baselines3.

Discrete actions train ``TreePolicy`` by PPO, continuous actions ``TreeSACPolicy`` by ``TopKSAC``.
What comes out is a tree: ``policy_tree`` reads it off a trained agent, in the units of the raw
observations, for every export, plot and check of the library. Importing this package registers
the environments ``dtsemnet/MarinesAndCritters-v0`` and ``dtsemnet/FindAndDefeatZerglings-v0``, the latter for those
who have StarCraft II.
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
    import stable_baselines3 as _stable_baselines3  # noqa: F401
except ModuleNotFoundError as error:
    if error.name not in ("gymnasium", "stable_baselines3"):  # it is there, but broken: its own message says more
        raise
    raise ImportError(
        'dtsemnet.rl needs stable-baselines3 and gymnasium; install them with: pip install "dtsemnet[rl]"'
    ) from error

from dtsemnet.rl.actors import DiscreteActor, TreeActor
from dtsemnet.rl.annealing import AnnealEntropy, AnnealPooling
from dtsemnet.rl.continuous import RegressionActor, TreeSACPolicy
from dtsemnet.rl.critters import MarinesAndCritters, register
from dtsemnet.rl.evaluation import evaluate
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.rl.imitation import imitate, viper
from dtsemnet.rl.lean_ppo import LeanPPO
from dtsemnet.rl.lean_sac import LeanSAC
from dtsemnet.rl.policies import ActorPolicy, TreePolicy
from dtsemnet.rl.pysc2_adapter import FindAndDefeatZerglings
from dtsemnet.rl.rendering import render
from dtsemnet.rl.rivals import DGTPolicy, ICCTPolicy, SoftTreePolicy
from dtsemnet.rl.sac import TopKSAC
from dtsemnet.rl.training import train

__all__ = [
    "TreePolicy",
    "AnnealPooling",
    "TreeSACPolicy",
    "TopKSAC",
    "AnnealEntropy",
    "LeanPPO",
    "LeanSAC",
    "policy_tree",
    "train",
    "evaluate",
    "render",
    "DGTPolicy",
    "ICCTPolicy",
    "SoftTreePolicy",
    "imitate",
    "viper",
    "ActorPolicy",
    "DiscreteActor",
    "TreeActor",
    "RegressionActor",
    "MarinesAndCritters",
    "FindAndDefeatZerglings",
]

register()
