"""The tutorial, run as it stands: every shell block, in order, in one folder.

The commands of this package run in this process, which saves its imports eight times; ``test_process.py`` starts it as
people do.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from dtsemnet.cli import app
from dtsemnet.tree import read

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def blocks(language: str) -> list[str]:
    text = TUTORIAL.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _run(lines: list[str], is_ours: bool, environment: dict[str, str]) -> str:
    """Run lines of a block, and return what they print."""
    if not is_ours:
        words = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
        done = subprocess.run(words, env=environment, capture_output=True, encoding="utf-8", timeout=900)
        assert done.returncode == 0, f"{lines}\n{done.stderr}"
        return done.stdout
    ours = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in lines]
    assert all(done.exit_code == 0 for done in ours), [(done.stderr, done.exception) for done in ours]
    return "".join(done.stdout for done in ours)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder after the last command, and what each block printed."""
    if shutil.which("cc") is None:  # a compiler is no Python package; .ci/run installs one and forbids skips
        pytest.skip("the tutorial compiles C, and there is no cc")
    folder, commands = tmp_path_factory.mktemp("tutorial"), tmp_path_factory.mktemp("bin")
    (commands / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (commands / "python").chmod(0o755)
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    (program,) = blocks("c")
    (folder / "main.c").write_text(program)
    printed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks("sh"):
            parts = itertools.groupby(block.splitlines(), lambda line: line.startswith("dtsemnet "))
            printed.append("".join(_run(list(lines), is_ours, environment) for is_ours, lines in parts))
    return folder, printed


def test_every_command_succeeds_and_leaves_its_file(followed: tuple[Path, list[str]]) -> None:
    folder, _ = followed
    names = {path.name for path in folder.iterdir()}
    assert {"wine.csv", "wine.json", "answers.csv", "wine.html", "wine.c", "from-c.txt", "earlier.json"} <= names


def test_output_shown_is_the_output(followed: tuple[Path, list[str]]) -> None:
    _, printed = followed
    (shown,) = blocks("text")
    for line in shown.splitlines():
        assert re.sub(r"[\d.]+", "#", line) in [re.sub(r"[\d.]+", "#", found) for found in printed[1].splitlines()]


def test_answers_are_those_of_the_model(followed: tuple[Path, list[str]]) -> None:
    folder, _ = followed
    answers, table = pd.read_csv(folder / "answers.csv"), pd.read_csv(folder / "wine.csv")
    assert answers["prediction"].tolist() == read(folder / "wine.json").predict(table).tolist()
    assert (answers["prediction"] == table["cultivar"]).mean() > 0.9


def test_five_commands_lead_from_the_table_to_c() -> None:
    numbered = re.split(r"^## \d\. .*$", TUTORIAL.read_text("utf-8"), flags=re.MULTILINE)[1:]
    verbs = [re.search(r"^dtsemnet (\w+)", part, re.MULTILINE) for part in numbered]
    assert [verb and verb[1] for verb in verbs] == ["fit", "show", "predict", "explore", "export"]
