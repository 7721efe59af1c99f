"""The distributions of this repository, and what their files must hold.

A distribution is a folder with a ``pyproject.toml`` that builds a wheel: the checkout itself and some folders in it.
They are found, not listed, so that a new one is built, checked and released with the others.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

__all__ = ["Distribution", "Wheel", "distributions", "relative_links", "sdist_files", "tracked"]

ROOT = Path(__file__).resolve().parents[1]

ADDED = {"dtsemnet-paper": ("paper", "dtsemnet_paper/paper", ".toml")}
"""Files of the checkout that a build adds to a wheel: their folder, the folder in the wheel, how their names end."""


COMPILED = re.compile(r"dtsemnet/kernels/_native\d?\.[\w.-]*(so|pyd)$")
"""Compiled kernels: a wheel that is built where there is a compiler of C holds them."""


@dataclass(frozen=True)
class Distribution:
    """One distribution: the folder of its ``pyproject.toml``, and what that says."""

    folder: Path
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """Name on the package index."""
        return str(self.settings["project"]["name"])

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return re.sub(r"[-_.]+", "_", self.name)

    @property
    def packages(self) -> list[Path]:
        """Folders of packages, and modules, that are imported."""
        wheel = self.settings["tool"]["hatch"]["build"]["targets"]["wheel"]
        return [self.folder / path for path in wheel.get("packages") or wheel["include"]]

    @property
    def version(self) -> str:
        """Version as the sources state it."""
        if "version" in self.settings["project"]:
            return str(self.settings["project"]["version"])
        source = (self.folder / self.settings["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
        found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.name} states no __version__.")
        return found[1]

    def wheel_files(self, root: Path = ROOT) -> set[str]:
        """Files that its wheel must hold, and no others: those of the package under version control."""
        names = set()
        for package in self.packages:
            above = package.parent.relative_to(root).as_posix()
            here = tracked(package.relative_to(root).as_posix(), root)
            names |= {name.removeprefix(f"{above}/") for name in here}
        folder, target, ending = ADDED.get(self.name, ("", "", ""))
        return names | {
            f"{target}/{path.removeprefix(folder + '/')}" for path in tracked(folder, root) if path.endswith(ending)
        }


def distributions(root: Path = ROOT) -> list[Distribution]:
    """Find all distributions: the one of the checkout first, then those of its folders by name."""
    found = []
    for file in [root / "pyproject.toml", *sorted(root.glob("*/pyproject.toml"))]:
        settings = tomllib.loads(file.read_text("utf-8"))
        if "build-system" in settings:
            found.append(Distribution(file.parent, settings))
    return found


def tracked(folder: str, root: Path = ROOT) -> set[str]:
    """Files of a folder that are under version control, so that what a test left behind does not count."""
    if not folder:
        return set()
    done = subprocess.run(["git", "ls-files", "-z", folder], cwd=root, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if name and (root / name).is_file()}


@dataclass(frozen=True)
class Wheel:
    """A wheel that was built."""

    path: Path

    def files(self) -> set[str]:
        """Files of packages in it, but for compiled kernels, which depend on the machine."""
        return {name for name in self._names() if ".dist-info/" not in name and not COMPILED.match(name)}

    def metadata(self) -> Message:
        """Its metadata; the payload is the page that the package index shows."""
        with zipfile.ZipFile(self.path) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return Parser().parsestr(archive.read(name).decode("utf-8"))

    def has_licence(self) -> bool:
        """Whether the text of the licence is in it."""
        return any(re.search(r"\.dist-info/(licenses/)?LICENSE", name) for name in self._names())

    def _names(self) -> list[str]:
        with zipfile.ZipFile(self.path) as archive:
            return archive.namelist()


def sdist_files(path: Path) -> set[str]:
    """Files of a source distribution, without the folder that holds them all."""
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def relative_links(page: str) -> list[str]:
    """Links and pictures of a page that lead nowhere outside a checkout.

    Examples
    --------
    >>> relative_links("[a](docs/a.md), [b](https://b.org), [c](#c), ![d](d.png)")
    ['docs/a.md', 'd.png']
    """
    return re.findall(r"\]\((?!https?://|#|mailto:)([^)\s]+)", page)
