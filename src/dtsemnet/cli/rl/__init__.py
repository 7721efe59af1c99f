"""``dtsemnet rl``: train tree policies, test them, read them and film them."""

from __future__ import annotations

__all__ = ["EXAMPLES", "HELP", "VERBS"]

HELP = """
Train policies that are trees, and read what they have learnt.

Needs stable-baselines3 and gymnasium: pip install 'dtsemnet\\[rl]'. A training that was killed resumes when the same
command is given again.
"""

EXAMPLES = """
dtsemnet rl train CartPole-v1 --depth 4 --seed 1
dtsemnet rl evaluate runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl show runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl render runs/rl/CartPole-v1/dtsemnet/1 --out cartpole.gif
"""

VERBS = {
    "train": "dtsemnet.cli.rl.train",
    "evaluate": "dtsemnet.cli.rl.evaluate",
    "show": "dtsemnet.cli.rl.show",
    "render": "dtsemnet.cli.rl.render",
}
"""Module of each verb of ``rl``, in the order of the help."""
