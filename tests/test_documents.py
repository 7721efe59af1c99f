"""What the documents promise: every example runs, the code in README and docs runs, and prints what they show.

A ``text`` block that follows a ``python`` block is what that block prints, and is compared with it; ``...`` stands for
anything. A block marked ``text varies`` shows a tree or a score that training found: training rounds differently on
another processor or with other versions of numpy, so such a block is compared only in the environment where the
documents were written, which ``fingerprints/trees.json`` names; elsewhere it has to be printed at all.

Examples are run twice: as they are where the slow tests are run (and wherever the site is built), and with short fits
everywhere, which shows that what they call is there.

    python tests/test_documents.py          # writes what is printed into the documents
"""

from __future__ import annotations

import doctest
import itertools
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dtsemnet.tree.file import loads, schema
from test_fingerprints import TREES, environment
from warm import Warm, run_afresh

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples" / "demo.py"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path != DEMO)
SLOW = {"docs/rl.md", "examples/rl_cartpole.py"}
"""Those that train agents."""
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "workshop/README.md", "paper/README.md"]
DOCUMENTS = [
    *(ROOT / page for page in PAGES),
    *sorted(page for folder in ("docs", "docs/guide", "docs/project") for page in (ROOT / folder).glob("*.md")),
]
BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<content>.*?)^```$", re.MULTILINE | re.DOTALL)
BORDER = "-- end of a block of code --"
"""Printed after every block of code, so that it is known which block printed what."""


class Code(NamedTuple):
    """A block of Python, and the block of text that shows what it prints, if there is one."""

    code: re.Match[str]
    output: re.Match[str] | None

    @property
    def varies(self) -> bool:
        """Whether the output depends on the machine."""
        return self.output is not None and self.output["kind"] == "text varies"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_blocks(text: str) -> list[Code]:
    """Find the blocks of Python in a document, with their outputs."""
    blocks = [*BLOCK.finditer(text), None]
    pairs = []
    for block, after in itertools.pairwise(blocks):
        if block is not None and block["kind"] == "python":
            follows = after is not None and after["kind"].startswith("text")
            follows = follows and not text[block.end() : after.start()].strip()
            pairs.append(Code(block, after if follows else None))
    return pairs


def has_blocks(document: Path, kind: str) -> bool:
    return any(block["kind"] == kind for block in BLOCK.finditer(document.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def python() -> Iterator[Warm]:
    with Warm() as process:
        yield process


def marked(paths: list[Path]) -> list[object]:
    """Mark those that are slow."""
    return [pytest.param(path, marks=pytest.mark.slow) if name_of(path) in SLOW else path for path in paths]


def run_document(text: str, folder: Path, python: Warm) -> list[str]:
    """Run the Python of a document as one script; return what each block printed.

    Line numbers of the script are those of the document, so that a traceback leads to the right place.
    """
    script, content = folder / "script.py", ""
    for block in python_blocks(text):
        content += "\n" * (text.count("\n", 0, block.code.start("content")) - content.count("\n"))
        content += block.code["content"] + f"print({BORDER!r})\n"
    script.write_text(content, encoding="utf-8")
    result = python.run(script, folder)
    assert result.returncode == 0, result.stderr
    return result.stdout.split(BORDER + "\n")[:-1]


@pytest.mark.parametrize("hurried", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["hurried", "as it is"])
@pytest.mark.parametrize("script", marked(EXAMPLES), ids=name_of)
def test_example_runs_and_prints(script: Path, hurried: bool, tmp_path: Path, python: Warm) -> None:
    pytest.importorskip("pandas", reason="examples read data frames")
    result = python.run(script, tmp_path, hurried=hurried)
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
demo, tests, hurried = sys.argv[1:]
if hurried == "True":
    sys.path.append(tests)
    from warm import hurry
    hurry()
runpy.run_path(demo, run_name="__main__")
"""


@pytest.mark.parametrize("hurried", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["hurried", "as it is"])
def test_demo_needs_no_more_than_the_base_package(hurried: bool, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ONLY_THE_BASE, encoding="utf-8")
    result = run_afresh(script, tmp_path, [str(DEMO), str(ROOT / "tests"), str(hurried)])
    assert result.returncode == 0, result.stderr
    assert "cultivar" in result.stdout


@pytest.mark.parametrize("document", marked([d for d in DOCUMENTS if has_blocks(d, "python")]), ids=name_of)
def test_code_in_document_prints_what_is_shown(document: Path, tmp_path: Path, python: Warm) -> None:
    pytest.importorskip("pandas", reason="the code reads data frames")
    text = document.read_text(encoding="utf-8")
    for block, printed in zip(python_blocks(text), run_document(text, tmp_path, python), strict=True):
        if block.output is None:
            continue
        if block.varies and environment() != json.loads(TREES.read_text(encoding="utf-8"))["documents"]:
            assert printed.strip()
        else:
            shown, lines = block.output["content"], [line.rstrip() for line in printed.splitlines()]
            got = "\n".join(lines).strip("\n") + "\n"
            assert doctest.OutputChecker().check_output(shown, got, doctest.ELLIPSIS), (
                f"{shown}\n--- but printed\n{got}"
            )


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if has_blocks(d, "json")], ids=name_of)
def test_model_file_in_document_is_one(document: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="only the development tools have it")
    for block in BLOCK.finditer(document.read_text(encoding="utf-8")):
        if block["kind"] == "json":
            loads(block["content"])
            jsonschema.validate(json.loads(block["content"]), schema())


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def write_outputs(document: Path, python: Warm) -> None:
    """Put what the code of a document prints into its blocks of text; blocks with ``...`` are left as they are."""
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        outputs = run_document(text, Path(folder), python)
    for block, printed in reversed(list(zip(python_blocks(text), outputs))):
        if block.output is not None and "..." not in block.output["content"]:
            lines = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n") + "\n"
            text = text[: block.output.start("content")] + lines + text[block.output.end("content") :]
    document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with Warm() as process:
        for page in DOCUMENTS:
            if has_blocks(page, "text") or has_blocks(page, "text varies"):
                write_outputs(page, process)
    written = json.loads(TREES.read_text(encoding="utf-8")) | {"documents": environment()}
    TREES.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
