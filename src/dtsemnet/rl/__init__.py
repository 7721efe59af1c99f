"""Reinforcement learning: policies that are hard oblique trees, on stable-baselines3.

Discrete actions train ``TreePolicy`` by PPO, continuous actions ``TreeSACPolicy`` by ``TopKSAC``. The result is a tree:
``policy_tree`` reads it off a trained agent, in the units of the raw observations, for every export, plot and proof of
the library.

- ``policies``: the actors and policies, for PPO and for SAC.
- ``algorithms``: ``LeanPPO``, ``LeanSAC`` and ``TopKSAC``, with their compiled kernels.
- ``extraction``, ``evaluation``, ``explaining``, ``imitation``, ``shrinking``, ``annealing``: an agent as a tree, its
  rewards, when each leaf acts, trees that imitate an agent, the smallest tree that is as good, and settings that change
  while it learns.
- ``spaces``: which environments a tree can act in.
- ``training``, ``checkpoints``, ``runs``: training with a record, resumed after a kill, and loading what was kept.
- ``recipes``, ``environments``: agents built from settings in TOML files.
- ``film``: an episode as a GIF or MP4, with the tree beside it.
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
    import stable_baselines3 as _stable_baselines3  # noqa: F401
except ModuleNotFoundError as error:
    if error.name not in ("gymnasium", "stable_baselines3"):  # installed but broken: its own message says more
        raise
    raise ImportError(
        'dtsemnet.rl needs stable-baselines3 and gymnasium; install them with: pip install "dtsemnet[rl]"'
    ) from error

from dtsemnet.rl.algorithms.lean_ppo import LeanPPO
from dtsemnet.rl.algorithms.lean_sac import LeanSAC
from dtsemnet.rl.algorithms.topk_sac import TopKSAC
from dtsemnet.rl.annealing import AnnealEntropy, AnnealPooling
from dtsemnet.rl.evaluation import evaluate
from dtsemnet.rl.explaining import PolicyExplanation, explain_policy
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.rl.film import render
from dtsemnet.rl.imitation import imitate, viper
from dtsemnet.rl.policies.actors import DiscreteActor, TreeActor
from dtsemnet.rl.policies.ppo import ActorPolicy, TreePolicy
from dtsemnet.rl.policies.sac import RegressionActor, TreeSACPolicy
from dtsemnet.rl.shrinking import Shrunk, shrink
from dtsemnet.rl.training import train

__all__ = [
    "TreePolicy", "AnnealPooling", "TreeSACPolicy", "TopKSAC", "AnnealEntropy", "LeanPPO", "LeanSAC", "policy_tree",
    "train", "evaluate", "render", "imitate", "viper", "shrink", "Shrunk", "explain_policy",
    "PolicyExplanation", "ActorPolicy", "DiscreteActor", "TreeActor",
    "RegressionActor",
]  # fmt: skip
