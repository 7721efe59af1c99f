"""Questions in the language of network verification (VNN-LIB), read, answered and written.

``language`` reads a property, ``answer`` decides it for a tree, ``write`` states questions about a tree for others.
"""

from dtsemnet.verify.vnnlib.answer import VnnAnswer, answer_vnnlib
from dtsemnet.verify.vnnlib.language import Atom, Case, VnnProperty, parse_vnnlib, read_vnnlib
from dtsemnet.verify.vnnlib.write import never_vnnlib, robustness_vnnlib

__all__ = [
    "Atom", "Case", "VnnAnswer", "VnnProperty", "answer_vnnlib", "never_vnnlib", "parse_vnnlib", "read_vnnlib",
    "robustness_vnnlib",
]  # fmt: skip
