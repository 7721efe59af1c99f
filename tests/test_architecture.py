"""The pages for people who change the code name files, functions and classes; what they name is there."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["docs/architecture.md", "CONTRIBUTING.md"]
ROOMS = [
    ".ci", ".github", "benchmarks", "checker", "compiling", "docs", "examples", "paper", "releasing", "src", "tests",
    "workshop",
]  # fmt: skip
MADE_LATER = {"dist/", "docs/_build/html", "paper/NAME.toml", "paper/results/NAME.jsonl"}
"""What the pages name and a clone does not hold: what commands write, and names that stand for any other."""

pytestmark = pytest.mark.skipif(not (ROOT / "paper").exists(), reason="only a checkout holds all that is named")


@functools.cache
def paths() -> str:
    """Every file and folder, one a line, folders with a slash at the end."""
    found = [path for room in ROOMS for path in (ROOT / room).rglob("*") if "_build" not in path.parts]
    found += [path for path in ROOT.iterdir() if path.is_file() or path.name in ROOMS]
    return "".join(f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}\n" for path in found)


@functools.cache
def words() -> set[str]:
    """Every word of the sources."""
    sources = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path != Path(__file__)]
    return set(re.findall(r"\w+", "".join(path.read_text("utf-8") for path in [*sources, ROOT / "Makefile"])))


def named(page: str) -> list[str]:
    """What a page writes as code, outside of blocks."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return sorted(set(re.findall(r"`([^`\s]+)`", text)) - MADE_LATER)


@pytest.mark.parametrize("page", PAGES)
def test_files_and_folders_that_a_page_names_exist(page: str) -> None:
    files = [name for name in named(page) if re.fullmatch(r"[\w./-]+(\.(py|js|json|md|toml|txt|yml|cff|c)|/)", name)]
    assert files
    assert [name for name in files if f"/{name}\n" not in paths() and f"/{name.rstrip('/')}/\n" not in paths()] == []


@pytest.mark.parametrize("page", PAGES)
def test_functions_and_classes_that_a_page_names_exist(page: str) -> None:
    names = [name for name in named(page) if re.fullmatch(r"[A-Za-z]\w{3,}(\.[A-Za-z]\w*)*(\([^)]*\))?", name)]
    names = [name.partition("(")[0] for name in names if f"/{name}\n" not in paths()]
    assert names
    assert [name for name in names if not set(name.split(".")) <= words()] == []
