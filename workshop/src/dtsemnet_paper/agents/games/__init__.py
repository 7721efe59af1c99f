"""Games to train agents in: Marines and critters, and the StarCraft II mini-game that it resembles."""

import gymnasium as gym

from dtsemnet_paper.agents.games.marines import MarinesAndCritters
from dtsemnet_paper.agents.games.pysc2_adapter import FindAndDefeatZerglings

__all__ = ["FindAndDefeatZerglings", "MarinesAndCritters", "register"]


def register() -> None:
    """Register both games with gymnasium; a second call changes nothing."""
    if "dtsemnet/MarinesAndCritters-v0" not in gym.registry:
        gym.register(
            "dtsemnet/MarinesAndCritters-v0",
            entry_point="dtsemnet_paper.agents.games.marines:MarinesAndCritters",
            max_episode_steps=500,
        )
        # Without a limit of steps: it ends by itself, after 180 seconds of game time.
        gym.register(
            "dtsemnet/FindAndDefeatZerglings-v0",
            entry_point="dtsemnet_paper.agents.games.pysc2_adapter:FindAndDefeatZerglings",
        )
