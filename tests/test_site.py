"""The site: its sources are complete before it is built. What only the built pages show, ``docs/check_site.py``
checks."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import Any

import api_pages
import pytest
import repository_pages

import dtsemnet

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

PRIVATE = {"dtsemnet.kernels", "dtsemnet.cli", "dtsemnet.fit", "dtsemnet.tables"}
"""Packages whose names are for this library alone, as their opening pages say."""


def test_every_package_with_public_names_is_in_the_reference() -> None:
    found = {name for _, name, is_package in pkgutil.iter_modules(dtsemnet.__path__, "dtsemnet.") if is_package}
    assert found - PRIVATE <= set(api_pages.PACKAGES)


@pytest.mark.parametrize("public", api_pages.public_names(), ids=lambda p: f"{p.package}.{p.name}")
def test_every_public_name_is_documented(public: Any) -> None:
    if not (inspect.isclass(public.value) or inspect.isfunction(public.value)):
        return  # a constant, or a name for a type: described where it is defined
    words = inspect.getdoc(public.value) or ""
    assert len(words.split()) >= 3, "needs a docstring"
    assert not words.startswith(f"{public.name}("), "has the docstring that dataclasses write, which says nothing"


@pytest.mark.parametrize("public", api_pages.public_names(), ids=lambda p: f"{p.package}.{p.name}")
def test_signatures_read_alike_in_every_build(public: Any) -> None:
    is_error = inspect.isclass(public.value) and issubclass(public.value, Exception)
    if not is_error and (inspect.isclass(public.value) or inspect.isfunction(public.value)):
        assert " at 0x" not in str(inspect.signature(public.value))


def parameters_in(docstring: str) -> set[str]:
    """Read the names in the section of parameters of a numpydoc docstring."""
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    if match is None:
        return set()
    heads = re.findall(r"^(\S[^\n:]*?)(?: *:.*)?$", match[1], re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("public", api_pages.public_names(), ids=lambda p: f"{p.package}.{p.name}")
def test_documented_parameters_are_those_of_the_signature(public: Any) -> None:
    documented = parameters_in(inspect.getdoc(public.value) or "") if callable(public.value) else set()
    if documented:
        names = set(inspect.signature(public.value).parameters) - {"args", "kwargs"}
        assert documented - names - {"args", "kwargs", "settings"} == set(), "documented, but not in the signature"


def toctrees() -> set[Path]:
    """Collect the pages that some table of contents names."""
    named = set()
    for page in DOCS.rglob("*.md"):
        if "_build" in page.parts:
            continue
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            paths = [re.sub(r".*<(.*)>", r"\1", entry).strip().rstrip("*") for entry in entries]
            named |= {(page.parent / f"{path}.md").resolve() for path in paths}
    return named


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {path.resolve() for folder in (DOCS, DOCS / "guide", DOCS / "project") for path in folder.glob("*.md")}
    assert {path.name for path in pages - toctrees() - {DOCS / "index.md"}} == set()


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_every_example_has_a_title_for_the_gallery(script: Path) -> None:
    if script.name != "demo.py":
        title, line, *_ = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "\n").splitlines()
        assert title
        assert line == "=" * len(title)


def test_links_of_the_repository_hold_on_the_site() -> None:
    pages = {"docs/verify.md": "docs/verify.md", "CHANGELOG.md": "docs/project/changelog.md"}
    text = "See [proofs](docs/verify.md#limits), [changes](CHANGELOG.md), [`x`](Makefile), [web](https://a.b).\n"
    text += "```\n[kept](docs/verify.md)\n```\n"
    file, page = (repository_pages.PurePosixPath(name) for name in ("README.md", "docs/project/readme.md"))
    assert repository_pages.rewrite(text, file, page, pages) == (
        "See [proofs](../verify.md#limits), [changes](changelog.md), `x`, [web](https://a.b).\n"
        "```\n[kept](docs/verify.md)\n```\n"
    )


def test_reference_finds_a_name_wherever_it_is_handed_on() -> None:
    lookup = api_pages.Lookup(api_pages.public_names())
    for name in ("Tree", "dtsemnet.Tree", "dtsemnet.tree.Tree", "dtsemnet.tree.tree.Tree"):
        assert lookup(name) == ("dtsemnet.Tree", [])
    assert lookup("dtsemnet.tree.Tree.apply") == ("dtsemnet.Tree", ["apply"])
    assert lookup("dtsemnet.tree.nothing") == (None, [])
    assert api_pages.exists("dtsemnet.tree.tree.Tree.apply")
    assert not api_pages.exists("dtsemnet.tree.tree.Tree.nothing")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guide/which_model.md"])
def test_scores_on_first_pages_are_those_of_the_report(page: str) -> None:
    report = (ROOT / "paper" / "REPORT.md").read_text("utf-8")
    shown = (ROOT / page).read_text("utf-8")
    for title in ("## Tables, classes", "## Tables, numbers"):
        section = report.split(f"{title}\n")[1].split("\n## ")[0]
        means = re.findall(r"^\| (dtsemnet-default|cart-tuned|forest|boosting) \| ([\d.]+) \|", section, re.MULTILINE)
        assert len(means) == 4
        for method, score in means:
            assert score in shown, f"{page} does not show {score}, the mean of {method} in paper/REPORT.md"


def test_the_extras_are_listed_where_they_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = re.findall(r"^\| `(\w+)` \|", (DOCS / "guide" / "installation.md").read_text("utf-8"), re.MULTILINE)
    assert set(listed) == set(project["optional-dependencies"]) - {"dev", "docs", "test"}
