"""info: versions, and what a model file holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cli.conftest import Run
from dtsemnet.tree import read


def test_info_tells_what_a_file_holds(run: Run, prepared: Path) -> None:
    facts = run("info", "@people.json", "--json").json()
    assert (facts["task"], facts["target"], facts["leaves"]) == ("regression", "income", 2)
    assert facts["fingerprint"] == read(prepared / "people.json").fingerprint()
    shown = run("info", "@people.json").stdout
    assert "3 categories, may be missing" in shown
    assert run("info", "@bare.json", "--json").json()["holds"] == "Tree"


def test_info_tells_versions(run: Run) -> None:
    facts = run("info", "--json").json()
    assert facts["numpy"] == np.__version__
    assert f"numpy               {np.__version__}" in run("info").stdout
