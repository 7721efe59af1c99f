"""Agents of the paper's experiments: the rivals, the games, and the records of all runs with their tables and curves.

The command ``dtsemnet rl`` finds ``EXTENSION`` by the entry point of the group ``dtsemnet.agents``: the rivals as
agents, the settings of rivals and games with the published results (``environments/``), and the folder of results.
Importing this package registers the environments ``dtsemnet/MarinesAndCritters-v0`` and
``dtsemnet/FindAndDefeatZerglings-v0`` of :mod:`~dtsemnet_paper.agents.games`; the latter needs StarCraft II.
"""

from pathlib import Path

from dtsemnet.rl.environments import Extension
from dtsemnet_paper.agents.games import FindAndDefeatZerglings, MarinesAndCritters, register
from dtsemnet_paper.agents.results import open_results
from dtsemnet_paper.agents.rivals import RECIPES, DGTPolicy, ICCTPolicy, SoftTreePolicy

__all__ = [
    "DGTPolicy",
    "ICCTPolicy",
    "SoftTreePolicy",
    "MarinesAndCritters",
    "FindAndDefeatZerglings",
    "EXTENSION",
]

register()

EXTENSION = Extension(Path(__file__).parent / "environments", RECIPES, open_results)
