"""Compile the kernels while a wheel is built, if there is a compiler of C; else numba compiles them at first use.

Hatch loads this file (``pyproject.toml``). The modules use nothing of Python beyond the stable interface of 3.11, so
that one wheel for each system serves all later versions of Python. A wheel without them serves every system.
"""

from __future__ import annotations

import contextlib
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "dtsemnet/kernels"
# Products and sums are never fused, or results would depend on the processor. That nobody looks at the errors of single
# operations lets loops become vector instructions and changes no result.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-g0", "-w"]
LEVELS: dict[str, list[str]] = {
    "_native": [],
    "_native3": ["-march=x86-64-v3"],
    "_native4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}


class KernelHook(BuildHookInterface[Any]):
    """Adds the compiled kernels to a wheel, or lays them beside the sources of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "src" / PACKAGE / "native.c"
        editable = version == "editable"
        folder = source.parent if editable else Path(tempfile.mkdtemp(prefix="dtsemnet-kernels-"))
        built = compile_kernels(source, folder)
        if not built:
            self.app.display_warning("no compiled kernels: numba will compile them at first use")
        elif not editable:
            build_data["force_include"] |= {str(path): f"{PACKAGE}/{path.name}" for path in built}
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{_platform()}"


def compile_kernels(source: Path, folder: Path, levels: dict[str, list[str]] | None = None) -> list[Path]:
    """Compile ``native.c`` for any processor and for levels of vector instructions; return the files that were made."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        return []
    try:
        from setuptools import Distribution, Extension
        from setuptools.command.build_ext import build_ext
    except ImportError:
        return []
    built: list[Path] = []
    for name, flags in (levels or _levels()).items():
        with tempfile.TemporaryDirectory() as scratch:
            extension = Extension(
                name,
                [source.name],  # relative, so that no path of this machine is in the machine code
                define_macros=[("MODULE_NAME", name)],
                extra_compile_args=["/O2", "/fp:precise"] if sys.platform == "win32" else [*FLAGS, *flags],
                libraries=[] if sys.platform == "win32" else ["m"],
                py_limited_api=True,
            )
            command = build_ext(Distribution({"ext_modules": [extension]}))
            command.build_lib, command.build_temp, command.force = str(folder), scratch, True
            try:
                with contextlib.chdir(source.parent):
                    command.ensure_finalized()
                    command.run()
            except (Exception, SystemExit):  # no compiler, or one that does not know these instructions
                if not built:
                    return []
                continue
            built.append(Path(command.get_ext_fullpath(name)))
    return built


def _levels() -> dict[str, list[str]]:
    """Levels of vector instructions that modules can choose among: those of x86-64, by gcc and clang."""
    chooses = platform.machine() in ("x86_64", "AMD64") and sys.platform != "win32"
    return LEVELS if chooses else {"_native": []}


def _platform() -> str:
    """The system that a wheel of machine code runs on, as wheels name it."""
    from packaging.tags import sys_tags

    return next(
        tag.platform for tag in sys_tags() if "manylinux" not in tag.platform and "musllinux" not in tag.platform
    )
