"""Kernels that were compiled when the package was built.

``native.c`` holds the kernels that fits and predictions start with, translated from the Python in this package by
``compiling/generate.py``: the same operations in the same order, so the same bits. A wheel holds it compiled, up to
three times, for any processor and for two levels of vector instructions. If the machine code is missing, is of other
sources (an edited checkout), or a call has other types, numba compiles the Python. ``DTSEMNET_KERNELS=numba`` in the
environment leaves all kernels to numba, to compare the two.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path
from types import ModuleType

__all__ = ["MODULES", "STAMPED", "native", "source_stamp"]

STAMPED = (
    "_numba.py", "classification.py", "epochs.py", "logits.py", "optimizer.py", "regression.py", "routing.py",
    "rows.py",
)  # fmt: skip
"""The sources that ``native.c`` is made of."""
MODULES = {4: "_native4", 3: "_native3", 0: "_native"}
"""Names of the modules by the level of instructions that they need, the best first."""


def native() -> ModuleType | None:
    """The best module that this processor can run, or None: without one, or if its sources are others."""
    if os.environ.get("DTSEMNET_KERNELS") == "numba":
        return None
    try:
        module = importlib.import_module(f"dtsemnet.kernels.{MODULES[0]}")
        if module.stamp != source_stamp():
            return None
        for level, name in MODULES.items():
            if 0 < level <= module.level():
                try:
                    better = importlib.import_module(f"dtsemnet.kernels.{name}")
                except ImportError:
                    continue
                if better.stamp == module.stamp:
                    return better
    except ImportError:
        return None
    return module


def source_stamp() -> str:
    """Hash the sources of the kernels; line ends do not count."""
    content = hashlib.sha256()
    for name in STAMPED:
        content.update((Path(__file__).parent / name).read_bytes().replace(b"\r\n", b"\n"))
    return content.hexdigest()[:32]
