"""What the documents promise: every example runs, and so does the code in README and docs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dtsemnet.tree.file import loads, schema

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples" / "demo.py"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path != DEMO)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(document: Path, language: str) -> list[str]:
    """Code blocks of one language, each after as many empty lines as make its line numbers those of the document."""
    text = document.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return ["\n" * text.count("\n", 0, match.start(1)) + match[1] for match in found]


def run(script: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a user would, but with one thread and in a folder that is thrown away."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("script", EXAMPLES, ids=name_of)
def test_example_runs_and_prints(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="examples read data frames")
    result = run(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    assert "Warning" not in result.stderr


ONLY_THE_BASE = """
import runpy, sys

class Absent:
    def find_spec(name, *_):
        if name in ("torch", "pandas", "polars", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(f"{name} is no base dependency", name=name)

sys.meta_path.insert(0, Absent)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_demo_needs_no_more_than_the_base_package(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ONLY_THE_BASE, encoding="utf-8")
    result = run(script, tmp_path, str(DEMO))
    assert result.returncode == 0, result.stderr
    assert "cultivar" in result.stdout


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if blocks(d, "python")], ids=name_of)
def test_code_in_document_runs(document: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="the code reads data frames")
    script, content = tmp_path / "script.py", ""
    for block in blocks(document, "python"):
        content += block[content.count("\n") :]
    script.write_text(content, encoding="utf-8")
    result = run(script, tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if blocks(d, "json")], ids=name_of)
def test_model_file_in_document_is_one(document: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="only the development tools have it")
    for block in blocks(document, "json"):
        loads(block)
        jsonschema.validate(json.loads(block), schema())


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target
