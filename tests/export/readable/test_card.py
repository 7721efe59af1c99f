"""A model card holds what its model and file know, says what they do not, and no name can break out of its place."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.export import to_card
from dtsemnet.export.readable.card import MOST_ROWS, _text
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, audit
from strategies import MODELS, make_model

TREE = Tree(Topology.complete(1), [[1.0, 2.0]], [-0.5], [[1, 0], [0, 1]], class_names=["cold", "warm"])


def header(card: str) -> dict[str, object]:
    """Read the header as YAML reads it: each line is a field, an entry, or both, with its value in JSON."""
    fields: dict[str, object] = {}
    name = ""
    _, head, _ = card.split("---\n", 2)
    for line in head.splitlines():
        if line.startswith("- "):
            entries = fields[name]
            assert isinstance(entries, list)
            entries.append(json.loads(line[2:]))
        else:
            name, _, value = line.partition(":")
            fields[name] = json.loads(value) if value.strip() else []
    return fields


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model_has_a_card_with_its_columns_and_fingerprint(kind: str) -> None:
    model = make_model(kind)
    card = to_card(model, name=kind)
    assert model.fingerprint() in card
    for column in model.encoder.columns[:MOST_ROWS]:
        assert _text(column.name) in card
    task = "tabular-classification" if model.is_classifier else "tabular-regression"
    assert header(card)["pipeline_tag"] == task
    assert "model-index" not in header(card), "without scores there are no results"
    assert "Not measured" in card
    assert "Nothing was proved" in card


def test_scores_and_licence_are_in_the_header_that_hubs_read() -> None:
    scores = {"accuracy": 0.875, "log loss": 0.25, "R2": float("nan")}
    card = to_card(TREE, name="weather", scores=scores, evaluated_on="30 days of May", license="mit")
    fields = header(card)
    assert fields["license"] == "mit"
    (entry,) = fields["model-index"]  # type: ignore[misc]
    (result,) = entry["results"]
    assert result["dataset"]["name"] == "30 days of May"
    assert {metric["name"]: metric["value"] for metric in result["metrics"]} == {"accuracy": 0.875, "log loss": 0.25}
    assert "| accuracy | 0.875 |" in card
    assert "On 30 days of May:" in card


def test_hugging_face_reads_the_header() -> None:
    hub = pytest.importorskip("huggingface_hub", reason="only the development tools have it")
    card = to_card(TREE, name="weather", scores={"accuracy": 0.875}, evaluated_on="May", license="mit")
    data = hub.ModelCard(card).data
    assert data.library_name == "dtsemnet"
    assert data.license == "mit"
    assert [(result.metric_type, result.metric_value) for result in data.eval_results] == [("accuracy", 0.875)]


def test_proofs_are_a_section_with_headings_below_it() -> None:
    proofs = audit(TREE, Domain(0.0, 1.0), never_output=["cold"]).to_markdown()
    card = to_card(TREE, proofs=proofs)
    section = card.partition("## What is proved\n")[2]
    assert "### Leaves" in section
    assert "never 'cold'" in section
    assert re.findall(r"^# .*$", card, re.MULTILINE) == ["# model"]


def test_what_the_file_says_of_the_fit_is_told_and_nonsense_in_it_is_not_trusted() -> None:
    about = {
        "estimator": "DTSemNetClassifier", "target": "state", "parameters": {"max_depth": 2, "init": None},
        "fit": {"data": "may.csv", "rows": {"train": 24, "test": 6}}, "versions": {"dtsemnet": "0.1.0", "numpy": None},
    }  # fmt: skip
    card = to_card(TREE, about=about)
    for words in ("`state`", "`may.csv`", "24 train", r"| max\_depth | 2 |", "DTSemNetClassifier.load"):
        assert words in card
    for value in (None, 3, "text", [], {"rows": 3}):
        to_card(TREE, about={"estimator": value, "fit": value, "parameters": value, "versions": value, "target": value})
    assert "os.system" not in to_card(TREE, about={"estimator": "os.system"}).partition("## How it was made")[0]


NAMES = st.text(max_size=12) | st.sampled_from(
    ["---", "a\n# b", "|", "<script>", "](http://x)", "```", "\u202e", "`", "- x"]
)


@given(names=st.lists(NAMES, min_size=3, max_size=3, unique=True))
def test_names_stay_in_their_places(names: list[str]) -> None:
    column, first, second = names
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[first, second])
    model = Model(Encoder([Column(column or "x")]), tree)
    card = to_card(model, np.zeros((1, 1)), name=column, scores={first: 0.5}, evaluated_on=second, license=column)
    plain = to_card(TREE.replace(weight=[[1.0, 0.0]]), name="a", scores={"b": 0.5}, evaluated_on="c", license="d")
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", card, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^## .*$", plain, re.MULTILINE)
    assert re.findall(r"^## .*$", outside, re.MULTILINE) == titles
    assert len(re.findall(r"^# ", outside, re.MULTILINE)) == 1
    assert "<script" not in outside.split("---\n", 2)[2]
    assert header(card)["license"] == column if column else True
