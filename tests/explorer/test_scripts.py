"""The scripts of the page by themselves: their own tests in Node, their types, their style.

Node alone runs the tests of the pure modules (``*.test.js`` beside this file). Types and style need the packages of
``package.json``: ``npm install --no-package-lock`` puts them into ``node_modules``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dtsemnet.explorer import html

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "dtsemnet" / "explorer" / "page"


def run(*command: str | Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node, version 20 or later (Debian: nodejs)")
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def run_package(program: str, *arguments: str) -> None:
    path = ROOT / "node_modules" / ".bin" / program
    if not path.exists():
        pytest.skip(f"needs {program}; run npm install --no-package-lock")
    run(path, *arguments)


def test_pure_modules_pass_their_tests_in_node():
    run("node", "--test", "--test-reporter=spec", *sorted(Path(__file__).parent.glob("*.test.js")))


def test_joined_modules_are_one_module(tmp_path):
    script = tmp_path / "page.mjs"
    script.write_text("\n".join(html._inline((PAGE / name).read_text("utf-8")) for name in html.SCRIPTS), "utf-8")
    assert not re.search(r"^(import|export)\b", script.read_text("utf-8"), re.MULTILINE)
    run("node", "--check", script)  # two modules must not define the same name


def test_types_hold():
    run_package("tsc", "--project", "tsconfig.json")


def test_lint_and_format():
    run_package("biome", "check", "--error-on-warnings")


def test_every_module_is_in_the_page_after_those_it_imports():
    assert sorted(html.SCRIPTS) == sorted(path.name for path in PAGE.glob("*.js"))
    for position, name in enumerate(html.SCRIPTS):
        imports = re.findall(r'^import [^;]*from "\./([^"]+)";', (PAGE / name).read_text("utf-8"), re.MULTILINE)
        assert set(imports) <= set(html.SCRIPTS[:position]), name
