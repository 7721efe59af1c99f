"""Ship the tables of the folder ``paper``, which a checkout holds beside this distribution, with it.

A wheel holds them in the package, where ``dtsemnet bench`` looks if there is no folder ``paper``. A source distribution
holds them in a folder of its own, so that a wheel can be built from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PaperHook(BuildHookInterface):  # type: ignore[type-arg]
    """Add every TOML file of ``paper`` to the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map each file to its place in the wheel or in the source distribution."""
        here = Path(self.root)
        folder = next(place for place in (here / "paper", here.parent / "paper") if place.is_dir())
        target = "dtsemnet_paper/paper" if self.target_name == "wheel" else "paper"
        if version == "editable" or (folder.parent == here and self.target_name == "sdist"):
            return
        for path in sorted(folder.rglob("*.toml")):
            build_data["force_include"][str(path)] = f"{target}/{path.relative_to(folder).as_posix()}"
