"""The paper's network as torch modules: split layers, leaf logits, selectors and heads.

A tree is encoded into a network and decoded from it without a change of its output.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":  # torch is there, but broken: its own message says more
        raise
    raise ImportError('dtsemnet.nn needs torch; install it with: pip install "dtsemnet[torch]"') from error

from dtsemnet.nn.heads import ClassMaxPool, ConstantLeaves, Head, LeafArrays, LinearLeaves
from dtsemnet.nn.logits import leaf_logits
from dtsemnet.nn.network import DTSemNet, decode, encode
from dtsemnet.nn.selectors import Hardmax, Selector, StraightThrough, TopK
from dtsemnet.nn.splits import LinearSplits, Splits

__all__ = [
    "DTSemNet",
    "encode",
    "decode",
    "leaf_logits",
    "Selector",
    "Hardmax",
    "TopK",
    "StraightThrough",
    "Head",
    "LeafArrays",
    "ClassMaxPool",
    "ConstantLeaves",
    "LinearLeaves",
    "Splits",
    "LinearSplits",
]
