"""Imports point one way: no room of the product imports what lies above it, and none imports the workshop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtsemnet

PACKAGE = Path(dtsemnet.__file__).parent
ROOMS = {
    "arrays": "",
    "files": "",
    "folders": "",
    "json_lines": "folders",
    "notebook": "",
    "kernels": "arrays",
    "tables": "arrays files",
    "tree": "arrays files kernels notebook",
    "nn": "arrays files kernels tree",
    "training": "arrays files kernels notebook tree nn",
    "fit": "arrays files folders kernels tree nn training",
    "estimators": "arrays files tables kernels tree nn training fit",
    "export": "arrays files kernels notebook tree",
    "plot": "arrays files kernels tree",
    "explorer": "arrays files kernels notebook tree",
    "verify": "arrays files kernels notebook tree",
    "rl": "arrays files folders json_lines kernels tree nn training fit estimators plot",
    "mlflow": "arrays files tree estimators",
    "cli": "arrays files tables tree estimators export plot explorer verify rl",
}
"""What each room may import. The rooms that read a model alone (export to verify) do not know each other."""

EVERYWHERE = {"files", "names"}
"""Modules that every room may import; they import no room."""

TORCH = {"nn", "rl", "training/torch.py"}
"""The only places that import torch."""


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports, anywhere in it, but for the types that only a checker reads."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {id(node) for branch in for_types for part in branch.body for node in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            # Of `from dtsemnet import fit` either the package or one of its rooms is meant.
            yield from (
                f"{node.module}.{name.name}" if node.module == "dtsemnet" else f"{node.module}" for name in node.names
            )


def files(room: str) -> list[Path]:
    folder = PACKAGE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{room}.py"]


def test_every_room_is_in_the_table() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    modules = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    assert folders | modules == set(ROOMS) | EVERYWHERE


@pytest.mark.parametrize("module", sorted(EVERYWHERE))
def test_what_every_room_imports_imports_none(module: str) -> None:
    assert not [name for path in files(module) for name in imports(path) if name.startswith("dtsemnet")]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    allowed = {*ROOMS[room].split(), room}
    wrong = []
    for path in files(room):
        for module in imports(path):
            target = module.split(".")[1] if module.startswith("dtsemnet.") else None
            if target in ROOMS and target not in allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert not wrong


def test_torch_is_imported_in_three_places_only() -> None:
    wrong = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if (
            name not in TORCH
            and name.split("/")[0] not in TORCH
            and any(m.split(".")[0] == "torch" for m in imports(path))
        ):
            wrong.add(name)
    assert not wrong


def test_the_product_does_not_import_the_workshop() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        constants = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))
        paths = [c.value for c in constants if isinstance(c.value, str) and c.value.startswith("dtsemnet_paper")]
        if paths or any(module.split(".")[0] == "dtsemnet_paper" for module in imports(path)):
            wrong.append(path)
    assert not wrong
