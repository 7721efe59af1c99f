"""The model file: one JSON document for a tree or a model.

.. code-block:: text

    {"format": "dtsemnet", "version": 1,
     "tree": {"n_features": 2, "n_splits": 1, "n_outputs": 1, "children": [[-1, -2]],
              "weight": [[1.0, -0.5]], "bias": [0.25], "value": [[0.0], [1.0]]},
     "encoder": {...}, "output": {...}, "about": {...}}

The tree may have ``coef``, ``lower``, ``upper``, ``feature_names`` and ``class_names``; the
encoder, the output map and ``about`` (free metadata) are optional. Numbers are written
so that float64 comes back bit for bit, ``-0.0`` too. ``model.schema.json`` beside this
module is the JSON Schema. Checked here beyond what a schema can state:

* the file is at most ``max_bytes`` long, valid UTF-8, and no key stands twice in an object;
* every number is finite as a float64 (``1e999`` is not), no list is longer or shorter than declared:
  ``n_leaves = n_splits + 1`` rows of leaves, ``n_features`` columns of weights, and so on;
* ``children`` form one tree, splits breadth-first, leaves from left to right;
* class probabilities sum to 1 within 1e-6, ``lower <= upper``, names are distinct;
* the encoder gives ``n_features`` features, the output map has ``n_outputs`` entries.

Whatever is wrong, loading raises one ``ValueError`` that opens with the field. It runs no code
from the file, and saving replaces a file in one step, so no reader sees half of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from dtsemnet.tree.atomic import write_atomically
from dtsemnet.tree.encoder import Column, Encoder
from dtsemnet.tree.fields import check_json, fail, get_object, numbers, parse, read_array, read_count, read_list, show
from dtsemnet.tree.model import Identity, Model, Output, TanhScale
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = ["Document", "MAX_BYTES", "VERSION", "dumps", "load_document", "loads", "read", "save", "schema"]

VERSION = 1
"""Version of the format that this library writes, and the newest that it reads."""

MAX_BYTES = 256 * 2**20
"""Largest file that is read unless a caller asks for more."""

Made = TypeVar("Made")
_LEAF_ARRAYS = ("coef", "lower", "upper")
_COLUMN_FIELDS = ("categories", "missing", "fill", "center", "scale", "lower", "upper")


@dataclass(frozen=True)
class Document:
    """What a model file holds.

    Parameters
    ----------
    content : Tree or Model
        A model where the file has an encoder or an output map.
    about : dict
        Free metadata: plain JSON.
    """

    content: Tree | Model
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def tree(self) -> Tree:
        """The tree, bare."""
        return self.content if isinstance(self.content, Tree) else self.content.tree


def dumps(content: Tree | Model, *, about: dict[str, Any] | None = None) -> str:
    """Write a tree or a model as the text of a model file.

    Examples
    --------
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-0.0], [[0.1], [0.2]])
    >>> loads(dumps(tree)) == tree
    True
    """
    if not isinstance(content, (Tree, Model)):
        raise TypeError(f"content must be a Tree or a Model, got {type(content).__name__}.")
    tree = content if isinstance(content, Tree) else content.tree
    document: dict[str, Any] = {"format": "dtsemnet", "version": VERSION, "tree": _describe_tree(tree)}
    if isinstance(content, Model):
        document["encoder"] = {"columns": [_describe_column(column) for column in content.encoder.columns]}
        document["output"] = {"kind": "identity"}
        if isinstance(content.output, TanhScale):
            document["output"] = {"kind": "tanh-scale", "low": content.output.low, "high": content.output.high}
    if about:
        check_json("about", about)
        document["about"] = about
    # One top-level field a line: readable, and a change of one array is a change of one line.
    lines = [f"{json.dumps(key)}: {_write(part, 1)}" for key, part in document.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def loads(text: str) -> Tree | Model:
    """Read a tree or a model from the text of a model file.

    Examples
    --------
    >>> loads('{"format": "dtsemnet", "version": 2}')
    Traceback (most recent call last):
    ValueError: version: the file has version 2, this library reads up to 1; upgrade dtsemnet.
    """
    return _read_document(parse(text)).content


def save(content: Tree | Model, path: str | PathLike[str], *, about: dict[str, Any] | None = None) -> None:
    """Write a model file in one step: either the old file stands, or the new one, whole."""
    write_atomically(path, dumps(content, about=about))


def read(path: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> Tree | Model:
    """Read what a model file holds: a model where it has an encoder or an output map, else a tree."""
    return load_document(path, max_bytes=max_bytes).content


def load_document(path: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> Document:
    """Read a model file with its metadata.

    Parameters
    ----------
    path : path
    max_bytes : int, default=MAX_BYTES
        A longer file is refused before it is parsed.
    """
    with open(path, "rb") as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        fail("document", f"the file is longer than max_bytes={max_bytes}; pass a larger max_bytes if you trust it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"document: not valid UTF-8 at byte {error.start}.") from None
    return _read_document(parse(text))


def schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of the model file.

    Examples
    --------
    >>> schema()["properties"]["version"]
    {'const': 1}
    """
    found: dict[str, Any] = json.loads(Path(__file__).with_name("model.schema.json").read_text(encoding="utf-8"))
    return found


def _describe_tree(tree: Tree) -> dict[str, Any]:
    described: dict[str, Any] = {name: getattr(tree, name) for name in ("n_features", "n_splits", "n_outputs")}
    described["children"] = tree.topology.children.tolist()
    described |= {name: getattr(tree, name).tolist() for name in ("weight", "bias", "value")}
    described |= {name: getattr(tree, name).tolist() for name in _LEAF_ARRAYS if getattr(tree, name) is not None}
    names = ("feature_names", "class_names")
    return described | {name: list(getattr(tree, name)) for name in names if getattr(tree, name) is not None}


def _describe_column(column: Column) -> dict[str, Any]:
    plain = Column(column.name)
    # repr, not ==: a fill of -0.0 is written, though it equals the default.
    changed = [name for name in _COLUMN_FIELDS if repr(getattr(column, name)) != repr(getattr(plain, name))]
    return {"name": column.name} | {name: getattr(column, name) for name in changed}


def _write(part: Any, level: int) -> str:
    """Write objects of the upper levels field by field, everything below on one line."""
    if isinstance(part, dict) and level < 3 and part:
        indent = "  " * (level + 1)
        lines = [f"{indent}{json.dumps(key, ensure_ascii=False)}: {_write(value, 3)}" for key, value in part.items()]
        return "{\n" + ",\n".join(lines) + "\n" + "  " * level + "}"
    return json.dumps(part, ensure_ascii=False, allow_nan=False)


def _read_document(document: Any) -> Document:
    if isinstance(document, dict):  # before unknown keys: a newer version may have new ones
        if document.get("format") != "dtsemnet":
            fail("format", f"must be 'dtsemnet', got {show(document.get('format'))}; this is not a dtsemnet model file")
        version = document.get("version")
        if type(version) is int and version > VERSION:
            fail("version", f"the file has version {version}, this library reads up to {VERSION}; upgrade dtsemnet.")
        if type(version) is not int or version < 1:
            fail("version", f"must be an integer of at least 1, got {show(version)}")
    document = get_object("document", document, ("format", "version", "tree"), ("encoder", "output", "about"))
    tree = _read_tree(document["tree"])
    about = document.get("about", {})
    if not isinstance(about, dict):
        fail("about", f"must be an object, got {show(about)}")
    check_json("about", about)
    if "encoder" not in document and "output" not in document:
        return Document(tree, about)
    encoder = Encoder.identity(tree.feature_labels)
    if "encoder" in document:
        encoder = _read_encoder(document["encoder"])
    output = _read_output(document["output"]) if "output" in document else Identity()
    return Document(_name_field("encoder", lambda: Model(encoder, tree, output)), about)


def _read_tree(given: Any) -> Tree:
    required = ("n_features", "n_splits", "n_outputs", "children", "weight", "bias", "value")
    given = get_object("tree", given, required, (*_LEAF_ARRAYS, "feature_names", "class_names"))
    n_features = read_count("tree.n_features", given["n_features"], 1)
    n_splits = read_count("tree.n_splits", given["n_splits"], 0)
    n_outputs = read_count("tree.n_outputs", given["n_outputs"], 1)
    n_leaves = n_splits + 1
    children = read_array("tree.children", given["children"], (n_splits, 2), integer=True)
    topology = _name_field("tree.children", lambda: Topology(children))
    shapes = {"weight": (n_splits, n_features), "bias": (n_splits,), "value": (n_leaves, n_outputs)}
    shapes |= {
        "coef": (n_leaves, n_outputs, n_features),
        "lower": (n_leaves, n_outputs),
        "upper": (n_leaves, n_outputs),
    }
    arrays: dict[str, Any] = {
        name: read_array(f"tree.{name}", given[name], shape) for name, shape in shapes.items() if name in given
    }
    lengths = {"feature_names": n_features, "class_names": n_outputs}
    names: dict[str, Any] = {
        name: read_list(f"tree.{name}", given[name], n) for name, n in lengths.items() if name in given
    }
    return _name_field("tree", lambda: Tree(topology, **arrays, **names))


def _read_encoder(given: Any) -> Encoder:
    columns = []
    for i, item in enumerate(read_list("encoder.columns", get_object("encoder", given, ("columns",))["columns"])):
        place = f"encoder.columns[{i}]"
        item = get_object(place, item, ("name",), _COLUMN_FIELDS)
        for name in ("fill", "center", "scale", "lower", "upper"):
            if name in item:
                numbers(f"{place}.{name}", [item[name]])
        if "categories" in item:
            read_list(f"{place}.categories", item["categories"])
        columns.append(_name_field(place, partial(Column, **item)))
    return _name_field("encoder.columns", lambda: Encoder(columns))


def _read_output(given: Any) -> Output:
    if not isinstance(given, dict) or given.get("kind") not in ("identity", "tanh-scale"):
        fail("output.kind", f"must be 'identity' or 'tanh-scale', got {show(given)}")
    if given["kind"] == "identity":
        get_object("output", given, ("kind",))
        return Identity()
    given = get_object("output", given, ("kind", "low", "high"))
    ends = [numbers(f"output.{end}", read_list(f"output.{end}", given[end])) for end in ("low", "high")]
    return _name_field("output", lambda: TanhScale(*ends))


def _name_field(place: str, make: Callable[[], Made]) -> Made:
    """Make an object of checked fields; what it refuses is an error of the file."""
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{place}: {error}") from None
