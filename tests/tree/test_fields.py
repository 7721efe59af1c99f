"""The budget of the loader: no file takes more time or memory than its length allows."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.tree import fields as fields_module
from dtsemnet.tree.fields import MAX_WIDTH_ALONE, parse, read_array
from dtsemnet.tree.file import dumps, loads

LEAF = {"n_features": 1, "n_splits": 0, "n_outputs": 1, "children": [], "weight": [], "bias": [], "value": [[0.0]]}
IDENTITY = {"kind": "identity"}


def text_of(tree: dict[str, Any] | None = None, **parts: Any) -> str:
    return json.dumps({"format": "dtsemnet", "version": 1, "tree": LEAF | (tree or {}), **parts})


def refused(text: str) -> str:
    with pytest.raises(ValueError, match=r"^\S") as caught:
        loads(text)
    assert type(caught.value) is ValueError
    return str(caught.value)


def cost(work: Callable[[], Any]) -> tuple[float, int]:
    """Processor time, and the largest memory at any time."""
    started = time.process_time()
    work()
    seconds = time.process_time() - started
    tracemalloc.start()
    try:
        work()
        return seconds, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n_features", [MAX_WIDTH_ALONE + 1, 3_000_000, 2**31 - 1])
@pytest.mark.parametrize("parts", [{}, {"output": IDENTITY}])
def test_a_file_of_169_bytes_is_no_memory_bomb(n_features: int, parts: dict[str, Any]) -> None:
    text = text_of({"n_features": n_features}, **parts)
    assert len(text) < 250
    seconds, memory = cost(lambda: refused(text))
    assert refused(text).startswith("tree.n_features: must be at most 10000 in a tree of one leaf")
    assert seconds < 5
    assert memory < 10**6


def test_a_width_that_a_list_backs_is_read() -> None:
    width = MAX_WIDTH_ALONE + 5
    names = [f"x{j}" for j in range(width)]
    leaf = Tree(Topology([]), np.empty((0, width)), [], [[0.0]])
    for content in (
        leaf.replace(feature_names=names),
        leaf.replace(coef=np.zeros((1, 1, width))),
        Model(Encoder.identity(names), leaf),
    ):
        assert loads(dumps(content)) == content
    narrow = Tree(Topology([]), np.empty((0, MAX_WIDTH_ALONE)), [], [[0.0]])
    assert loads(dumps(narrow)) == narrow
    with pytest.raises(ValueError, match=r"^tree\.n_features: .* give the tree feature_names"):
        dumps(leaf)  # what could not be read is not written


def test_forty_thousand_keys_do_not_take_half_a_minute() -> None:
    text = "{" + ",".join(f'"k{i}": 0' for i in range(40_000)) + ', "k39999": 0}'
    seconds, memory = cost(lambda: refused(text))
    assert refused(text) == "'k39999': the key occurs twice in one object"
    assert seconds < 5
    assert memory < 40 * len(text)


@pytest.mark.parametrize("values", [range(20_000), [f"c{i}" for i in range(20_000)]], ids=["numbers", "texts"])
def test_a_repeated_category_is_found_in_linear_time(values: Any) -> None:
    text = text_of({"n_features": 20_001}, encoder={"columns": [{"name": "a", "categories": [*values, values[-1]]}]})
    assert cost(lambda: refused(text))[0] < 5
    assert "categories must be distinct" in refused(text)


def test_integers_with_one_hash_are_refused() -> None:
    # Python hashes an integer by its remainder, so that a dictionary of these would be searched one by one.
    text = text_of(encoder={"columns": [{"name": "a", "categories": [k * (2**61 - 1) for k in range(20_000)]}]})
    assert cost(lambda: refused(text))[0] < 5
    assert "categories must be integers of 64 bits" in refused(text)


@pytest.mark.parametrize("entry", ["0", "1e1", "[]", '{"a": 0}', '"ab"', "[[0]]", "null"])
def test_metadata_takes_memory_in_proportion_to_the_file(entry: str) -> None:
    text = text_of(about={"a": "HERE"}).replace('"HERE"', "[" + ",".join([entry] * 50_000) + "]")
    _, memory = cost(lambda: loads(text))
    assert memory < 40 * len(text) + 10**5


def test_a_long_name_with_many_categories_does_not_multiply() -> None:
    column = {"name": "a" * 30_000, "categories": [*range(30_000)]}
    text = text_of({"n_features": 30_000}, encoder={"columns": [column]})
    _, memory = cost(lambda: refused(text))
    assert refused(text).startswith("encoder.columns: columns give features whose names have 900,138,890 letters")
    assert memory < 40 * len(text)
    with pytest.raises(ValueError, match="900,138,890 letters"):
        Encoder([Column("a" * 30_000, range(30_000))])  # type: ignore[arg-type]
    Encoder([Column("a" * 300, [*range(30_000)]), Column("b" * 10**6)])


def test_values_are_counted_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields_module, "MAX_BYTES", 160)
    assert parse("[" + "0," * 8 + "0]", max_bytes=160)[0] == 0
    with pytest.raises(ValueError, match=r"^document: the file holds about 11 values, more than 10; pass"):
        parse("[" + "0," * 10 + "0]", max_bytes=160)
    assert len(parse("[" + "0," * 10 + "0]", max_bytes=176)) == 11


def test_a_long_class_name_does_not_widen_all_labels() -> None:
    names = ["a" * 100_000, *map(str, range(999))]
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.001] * 1000], class_names=names)
    _, memory = cost(lambda: tree.replace().predict(np.zeros((100, 1))))
    assert memory < 10**7
    assert tree.predict([[0.0]]).tolist() == [names[0]]


def test_the_place_of_a_wrong_number_is_named_at_any_depth() -> None:
    given: Any = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, None]]]
    with pytest.raises(ValueError, match=r"^tree\.coef\[1\]\[1\]\[1\]: must be a finite number"):
        read_array("tree.coef", given, (2, 2, 2))
    given[1] = [[5.0, 6.0]]
    with pytest.raises(ValueError, match=r"^tree\.coef\[1\]: must have length 2"):
        read_array("tree.coef", given, (2, 2, 2))
    given[1] = [[5.0, 6.0], [7.0]]
    with pytest.raises(ValueError, match=r"^tree\.coef\[1\]\[1\]: must have length 2"):
        read_array("tree.coef", given, (2, 2, 2))


@pytest.mark.parametrize("key", ["\x1b[2J", "\u202e", "a\nb"])
def test_an_error_shows_no_control_character_of_the_file(key: str) -> None:
    for text in (text_of({key: 0}), text_of(**{key: 0}), text_of(about={key: {key: "\ud800"}}), f'{{"{key}": 0}}'):
        assert refused(text).isprintable()
    assert refused(text_of({"class_names": [key, key], "n_outputs": 2, "value": [[0.5, 0.5]]})).isprintable()
