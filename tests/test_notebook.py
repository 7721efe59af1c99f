"""What notebooks show: well-formed, self-contained, inert, whatever the names; and a notebook that is run as one."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet import Model, Topology, Tree
from dtsemnet.explorer import explore
from dtsemnet.export import explain, to_c, to_json
from dtsemnet.notebook import block, brief, curves, facts, folded, markdown
from dtsemnet.training import Epoch, History, ProgressBar, Step
from dtsemnet.tree import Column, Encoder
from dtsemnet.verify import (
    Domain,
    audit,
    counterfactual,
    difference,
    never,
    output_bounds,
    reachable_leaves,
    robustness,
)
from strategies import trees, wild_trees

ROOT = Path(__file__).parents[1]
VOID = {"br", "img", "input", "meta", "link", "hr"}
NASTY = "<script>alert(1)</script>\"'&\x1b[2J\u202e</text></svg>"


class _Reader(HTMLParser):
    """Reads HTML strictly: every element is closed where it was opened, and nothing is run or loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "object", "embed", "img", "base", "form"), tag
        names = {name: value or "" for name, value in attrs}
        assert not [name for name in names if name.startswith("on") or name in ("src", "href")]
        assert "url(" not in names.get("style", "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


def check(thing: Any) -> str:
    """Check what a notebook would show of an object, and its short form."""
    assert len(repr(thing)) < 400
    text = thing._repr_html_()
    _Reader(text)
    return text


@given(tree=trees())
def test_trees_of_every_shape_are_drawn(tree: Tree) -> None:
    text = check(tree)
    assert text.count("<title>leaf ") == tree.n_leaves * (tree.n_leaves <= 128)
    check(Model.of(tree))


@given(tree=wild_trees())
def test_trees_of_extreme_numbers_are_drawn_or_left_to_their_short_form(tree: Tree) -> None:
    text = tree._repr_html_()
    if text is not None:
        _Reader(text)


@given(name=st.text(max_size=30), other=st.text(max_size=30))
def test_names_are_text_whatever_they_hold(name: str, other: str) -> None:
    drawn = curves({name: [1.0, 2.0, float("nan")]})
    report = markdown(f"# {name}\n\n| a |\n|---|\n| {other} |\n- `{name}`")
    for text in (facts([(name, other)], (other, name)), folded(name, other), block(name), drawn, report):
        _Reader(text)
        assert "\x1b" not in text


def test_hostile_names_of_columns_and_classes_stay_text() -> None:
    names = {"feature_names": ["a", NASTY], "class_names": ["no", NASTY]}
    tree = Tree(Topology.complete(1), [[1.0, -2.0]], [0.5], [[1, 0], [0, 1]], **names)
    model = Model(Encoder([Column("a"), Column(NASTY)]), tree)
    domain = Domain([-1, -1], [1, 1])
    answers = [
        tree, model, to_json(model), reachable_leaves(model, domain), never(model, domain, NASTY),
        robustness(model, [0.0, 0.0]), counterfactual(model, [0.0, 1.0], NASTY, domain=domain),
        *output_bounds(model, domain), audit(model, domain), difference(model, model, domain),
    ]  # fmt: skip
    for answer in answers:
        text = check(answer)
        assert "<script>" not in text
    _Reader(explain(model, [0.0, 1.0])._repr_html_())


def test_an_answer_shows_what_it_found_and_not_how() -> None:
    tree = Tree(Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[0], [1], [2], [3]])
    leaves = reachable_leaves(tree, Domain([-1, -1], [1, 1]))
    assert repr(leaves) == "Reachability(verdicts=4 x Verdict, regions=4 x Region, n_programs=0)"
    assert "3 of 4 leaves reachable" in check(leaves)


def test_history_is_short_and_drawn_with_its_best_epoch() -> None:
    epochs = [Epoch(k, Step(0.1), loss=1.0 / (k + 1), monitor=0.5) for k in range(200)]
    history = History(epochs, best_epoch=150, stopped="patience")
    assert repr(history) == "History(200 epochs, loss 0.005, best epoch 150, stopped by patience)"
    text = check(history)
    assert text.count("<polyline") == 2
    assert "stroke-dasharray" in text
    check(History())


def test_export_is_folded_away_and_cut() -> None:
    tree = Tree(Topology.complete(1), [[1.0, -2.0]], [0.5], [[0.0], [1.0]])
    text = check(to_json(tree))
    assert "<details>" in text
    assert "more characters" in folded("x", "a" * 100, longest=10)
    assert "agrees on" in repr(to_c(tree)) or "not checked" in repr(to_c(tree))


def test_explorer_is_a_frame_that_holds_the_page() -> None:
    tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", NASTY])
    page = explore(tree, [[3.0, 2.0]], title=NASTY, height=321)
    text = page._repr_html_()
    _Reader(text)
    (inner,) = re.findall(r'srcdoc="([^"]*)"', text)
    assert html.unescape(inner) == page.html
    assert 'sandbox="allow-scripts"' in text
    assert "height:321px" in text
    assert len(repr(page)) < 200


def test_brief_cuts_what_is_long() -> None:
    assert brief(np.zeros((3, 4))) == "3 x 4 numbers"
    assert brief({"a": 1.0}) == "a: 1"
    assert brief("x" * 1000).endswith("...")
    assert brief(True) == "True"
    assert brief(-0.0) == "0"


def test_bar_in_a_notebook_is_one_output_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Display:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/plain"])

    monkeypatch.setattr("dtsemnet.training.callbacks.in_notebook", lambda: True)
    monkeypatch.setattr("dtsemnet.notebook.Rewritten.open", lambda self: setattr(self, "display", Display()))
    with ProgressBar() as bar:
        task = bar.add_task("start 1", total=10_000, figures="")
        for k in range(10_000):
            bar.update(task, completed=k + 1)
    assert 1 <= len(shown) < 1000
    assert "epoch 10,000/10,000" in shown[-1]


def cells(script: Path) -> list[str]:
    """Cut a script with ``# %%`` into the sources of cells; comments at the top of a cell are part of it."""
    text = script.read_text(encoding="utf-8").split('"""\n', 2)[2]
    return [part.strip() for part in text.split("# %%") if part.strip()]


def run_notebook(script: Path, folder: Path) -> Any:
    """Run a script as a notebook; return it with its outputs."""
    nbformat = pytest.importorskip("nbformat", reason="only the development tools have notebooks")
    nbclient = pytest.importorskip("nbclient", reason="only the development tools have notebooks")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells(script)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    return client.execute()


def test_the_tour_runs_as_a_notebook_and_every_cell_shows_something(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="only the development tools have a kernel")
    notebook = run_notebook(ROOT / "examples" / "notebook_tour.py", tmp_path)
    for cell in notebook.cells:
        rich = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert len(rich) == 1, cell.source
        text = rich[0]["data"]["text/html"]
        if "<style" not in text:  # scikit-learn's own diagram brings a style and a script along
            _Reader(text)
        assert not re.search(r'<(?!a )[a-z]+[^>]* (src|href)="https?://', text)
        remarks = [o["text"] for o in cell.outputs if o.get("name") == "stderr"]
        assert all("compiling kernels" in text for text in remarks), remarks


def test_a_long_fit_leaves_one_output_in_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="only the development tools have a kernel")
    script = tmp_path / "fit.py"
    script.write_text(
        '"""\nTitle\n"""\n# %%\nfrom sklearn.datasets import load_iris\nfrom dtsemnet import DTSemNetClassifier\n'
        "X, y = load_iris(return_X_y=True)\n"
        "# %%\ntree = DTSemNetClassifier(max_depth=2, effort=0, random_state=0, verbose=1).fit(X, y)\n"
    )
    notebook = run_notebook(script, tmp_path)
    outputs = notebook.cells[-1].outputs
    bars = [o for o in outputs if o.output_type == "display_data"]
    assert len(bars) == 1
    assert "epoch" in bars[0]["data"]["text/plain"]
    assert len(bars[0]["data"]["text/plain"].splitlines()) < 20
