"""Hard oblique decision trees trained by plain gradient descent, with no approximation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["DTSemNetClassifier", "DTSemNetRegressor", "Model", "Topology", "Tree", "__version__"]

if TYPE_CHECKING:
    from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
    from dtsemnet.tree import Model, Topology, Tree

# Loaded when first asked for: `dtsemnet --help` should not wait for a compiler and scikit-learn.
_HOME = {
    "DTSemNetClassifier": "dtsemnet.estimators",
    "DTSemNetRegressor": "dtsemnet.estimators",
    "Model": "dtsemnet.tree",
    "Topology": "dtsemnet.tree",
    "Tree": "dtsemnet.tree",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dtsemnet' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


def versions(*names: str) -> dict[str, str | None]:
    """Look up versions of packages, as model files, records and ``dtsemnet info`` state them.

    ``"python"`` and ``"machine"`` (the architecture of the processor) are known as well. A package that is not
    installed has the version None.

    Examples
    --------
    >>> versions("dtsemnet", "a-package-that-does-not-exist")  # doctest: +ELLIPSIS
    {'dtsemnet': '...', 'a-package-that-does-not-exist': None}
    """
    import platform
    from importlib import metadata

    # A checkout may be newer than the metadata of its installation.
    known = {"dtsemnet": __version__, "python": platform.python_version(), "machine": platform.machine()}

    def version(name: str) -> str | None:
        try:
            return known.get(name) or metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    return {name: version(name) for name in names}
