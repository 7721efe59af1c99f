"""Versions of packages, as model files, records and ``dtsemnet info`` state them."""

from __future__ import annotations

import platform
from importlib import metadata

__all__ = ["versions"]


def versions(*names: str) -> dict[str, str | None]:
    """Look up the versions of packages, in the order given.

    Parameters
    ----------
    *names : str
        Names of distributions, such as ``"scikit-learn"``; ``"dtsemnet"``, ``"python"`` and ``"machine"`` (the
        architecture of the processor) are known as well.

    Returns
    -------
    dict
        None for a package that is not installed.

    Examples
    --------
    >>> versions("dtsemnet", "a-package-that-does-not-exist")  # doctest: +ELLIPSIS
    {'dtsemnet': '...', 'a-package-that-does-not-exist': None}
    """
    return {name: _version(name) for name in names}


def _version(name: str) -> str | None:
    if name == "dtsemnet":  # a checkout may be newer than the metadata of its installation
        from dtsemnet import __version__

        return __version__
    if name == "python":
        return platform.python_version()
    if name == "machine":
        return platform.machine()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
