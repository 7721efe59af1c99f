"""explore: the tree as a page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from cli.conftest import Run


def test_page_holds_rows_only_where_a_table_is_named(run: Run) -> None:
    run("explore", "@people.json", "--out", "bare.html")
    run("explore", "@people.json", "--data", "@people.csv", "--out", "full.html", "--title", "A <b>title</b>")
    bare, full = (Path(name).read_text("utf-8") for name in ("bare.html", "full.html"))
    assert bare.startswith("<!doctype html>")
    assert len(full) > len(bare) + 1000
    assert "<title>people" in bare
    assert "<b>title</b>" not in full


def test_script_and_style_are_written_beside_the_page_and_replaced_only_by_force(run: Run) -> None:
    run("explore", "@people.json", "--out", "page.html", "--separate")
    assert {path.name for path in Path().glob("page.*")} == {"page.html", "page.js", "page.css"}
    Path("page.html").unlink()
    assert "page.js" in run("explore", "@people.json", "--out", "page.html", "--separate", code=1).stderr
    assert not Path("page.html").exists()


def test_page_opens_on_demand(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run("explore", "@bare.json", "--out", "page.html")
    assert opened == []
    run("explore", "@bare.json", "--out", "page.html", "--force", "--open")
    assert opened == [Path("page.html").resolve().as_uri()]
