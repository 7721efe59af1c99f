"""The model file: one JSON document for a tree or a model.

.. code-block:: text

    {"format": "dtsemnet", "version": 1,
     "tree": {"n_features": 2, "n_splits": 1, "n_outputs": 1, "children": [[-1, -2]],
              "weight": [[1.0, -0.5]], "bias": [0.25], "value": [[0.0], [1.0]]},
     "encoder": {...}, "output": {...}, "probability": {...}, "about": {...}}

The tree may have ``coef``, ``lower``, ``upper``, ``feature_names`` and ``class_names``; the
encoder, the output map, the margin probabilities and ``about`` (free metadata) are optional.
A file with ``probability`` or with a column that fills missing values has version 2, any other
version 1, so older readers refuse only what they do not know. Numbers are written so that float64
comes back bit for bit, ``-0.0`` too.
``model.schema.json`` beside this module is the JSON Schema. Checked here beyond what a schema can
state:

* the file keeps to the budget of :mod:`dtsemnet.tree.fields`, is valid UTF-8, and no key occurs
  twice in an object;
* every number is finite as a float64 (``1e999`` is not), no list is longer or shorter than declared:
  ``n_leaves = n_splits + 1`` rows of leaves, ``n_features`` columns of weights, and so on; a large
  ``n_features`` is backed by a list of that length, or by the encoder;
* ``children`` form one tree, splits breadth-first, leaves from left to right;
* class probabilities sum to 1 within 1e-6, ``lower <= upper``, names are distinct;
* the encoder gives ``n_features`` features, in the order of ``feature_names`` if both name them; the
  output map has ``n_outputs`` entries;
* ``probability`` and ``"missing": "fill"`` stand in a file of version 2, ``probability`` beside a tree
  of classes; the ``fill`` of a column of categories is one of them.

Whatever is wrong, loading raises one ``ValueError`` that opens with the field. It runs no code
from the file and uses no path in it, and saving replaces a file in one step, so no reader sees half
of one.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from dtsemnet.files import read_bytes, write_atomically
from dtsemnet.names import printable_json, shown
from dtsemnet.tree.columns import Column
from dtsemnet.tree.encoder import Encoder
from dtsemnet.tree.fields import (
    MAX_BYTES,
    MAX_WIDTH_ALONE,
    check_json,
    check_numbers,
    fail,
    name_field,
    parse,
    read_array,
    read_count,
    read_list,
    read_object,
)
from dtsemnet.tree.model import Identity, Model, Output, TanhScale
from dtsemnet.tree.probability import MarginProbability
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = [
    "Document", "VERSION", "dumps", "load_document", "loads", "read", "read_document", "read_probability", "save",
    "schema",
]  # fmt: skip

VERSION = 2
"""The newest version of the format that this library reads; it writes the oldest that holds the content."""

_LEAF_ARRAYS = ("coef", "lower", "upper")
_COLUMN_FIELDS = ("categories", "missing", "fill", "center", "scale", "lower", "upper")


@dataclass(frozen=True)
class Document:
    """What a model file holds.

    Parameters
    ----------
    content : Tree or Model
        A model if the file has an encoder, an output map or margin probabilities.
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
    if isinstance(content, Tree):
        _check_width(tree)
    probability = content.probability if isinstance(content, Model) else None
    fills = isinstance(content, Model) and any(column.fills_missing for column in content.encoder.columns)
    version = 2 if fills or probability is not None else 1
    document: dict[str, Any] = {"format": "dtsemnet", "version": version, "tree": _describe_tree(tree)}
    if isinstance(content, Model):
        document["encoder"] = {"columns": [_describe_column(column) for column in content.encoder.columns]}
        document["output"] = {"kind": "identity"}
        if isinstance(content.output, TanhScale):
            document["output"] = {"kind": "tanh-scale", "low": content.output.low, "high": content.output.high}
    if probability is not None:
        document["probability"] = asdict(probability)
    if about:
        check_json("about", about)
        document["about"] = about
    # One top-level field per line: readable, and a change of one array is a change of one line.
    lines = [f"{json.dumps(key)}: {_write(part, 1)}" for key, part in document.items()]
    return printable_json("{\n  " + ",\n  ".join(lines) + "\n}\n")


def loads(text: str, *, max_bytes: int = MAX_BYTES) -> Tree | Model:
    """Read a tree or a model from the text of a model file.

    Parameters
    ----------
    text : str
    max_bytes : int, default=MAX_BYTES
        Budget of the text, see :mod:`dtsemnet.tree.fields`.

    Examples
    --------
    >>> loads('{"format": "dtsemnet", "version": 3}')
    Traceback (most recent call last):
    ValueError: version: the file has version 3, this library reads up to 2; upgrade dtsemnet.
    """
    if len(text) > max_bytes:
        fail("document", f"the text is longer than max_bytes={max_bytes}; pass a larger max_bytes if you trust it")
    return read_document(parse(text, max_bytes=max_bytes)).content


def save(content: Tree | Model, path: str | PathLike[str], *, about: dict[str, Any] | None = None) -> None:
    """Write a model file in one step: the path always holds either the whole old file or the whole new one."""
    write_atomically(path, dumps(content, about=about))


def read(path: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> Tree | Model:
    """Read a model file: a model if it has an encoder, an output map or margin probabilities, else a tree."""
    return load_document(path, max_bytes=max_bytes).content


def load_document(path: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> Document:
    """Read a model file with its metadata.

    Parameters
    ----------
    path : path
    max_bytes : int, default=MAX_BYTES
        A longer file is refused before it is parsed; see :mod:`dtsemnet.tree.fields` for the whole budget.
    """
    data = name_field("document", lambda: read_bytes(path, max_bytes=max_bytes))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"document: not valid UTF-8 at byte {error.start}.") from None
    del data
    return read_document(parse(text, max_bytes=max_bytes))


def schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of the model file.

    Examples
    --------
    >>> schema()["properties"]["version"]
    {'enum': [1, 2]}
    """
    document: dict[str, Any] = json.loads(Path(__file__).with_name("model.schema.json").read_text(encoding="utf-8"))
    return document


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


def read_document(document: Any) -> Document:
    """Read a model file that has been parsed."""
    if isinstance(document, dict):  # before unknown keys: a newer version may have new ones
        if document.get("format") != "dtsemnet":
            fail(
                "format", f"must be 'dtsemnet', got {shown(document.get('format'))}; this is not a dtsemnet model file"
            )
        version = document.get("version")
        if type(version) is int and version > VERSION:
            fail("version", f"the file has version {version}, this library reads up to {VERSION}; upgrade dtsemnet.")
        if type(version) is not int or version < 1:
            fail("version", f"must be an integer of at least 1, got {shown(version)}")
        if version == 1 and "probability" in document:
            fail("probability", "is unknown in version 1; a file that has it must have version 2")
    optional = ("encoder", "output", "probability", "about")
    document = read_object("document", document, ("format", "version", "tree"), optional)
    tree = _read_tree(document["tree"])
    about = document.get("about", {})
    if not isinstance(about, dict):
        fail("about", f"must be an object, got {shown(about)}")
    check_json("about", about)
    if "encoder" not in document:
        _check_width(tree)
    if not {"encoder", "output", "probability"} & document.keys():
        return Document(tree, about)
    given = document.get("encoder")
    version = document["version"]
    encoder = _read_encoder(given, version) if "encoder" in document else Encoder.identity(tree.feature_labels)
    output = _read_output(document["output"]) if "output" in document else Identity()
    model = name_field("encoder", lambda: Model(encoder, tree, output))
    if "probability" in document:
        if not tree.is_classifier:
            fail("probability", "is for classifiers, but the tree has no class_names; remove it")
        model = replace(model, probability=read_probability("probability", document["probability"]))
    return Document(model, about)


def _read_tree(given: Any) -> Tree:
    required = ("n_features", "n_splits", "n_outputs", "children", "weight", "bias", "value")
    given = read_object("tree", given, required, (*_LEAF_ARRAYS, "feature_names", "class_names"))
    n_features = read_count("tree.n_features", given["n_features"], 1)
    n_splits = read_count("tree.n_splits", given["n_splits"], 0)
    n_outputs = read_count("tree.n_outputs", given["n_outputs"], 1)
    n_leaves = n_splits + 1
    children = read_array("tree.children", given["children"], (n_splits, 2), integer=True)
    topology = name_field("tree.children", lambda: Topology(children))
    shapes = {"weight": (n_splits, n_features), "bias": (n_splits,), "coef": (n_leaves, n_outputs, n_features)}
    shapes |= dict.fromkeys(("value", "lower", "upper"), (n_leaves, n_outputs))
    arrays: dict[str, Any] = {
        name: read_array(f"tree.{name}", given[name], shape) for name, shape in shapes.items() if name in given
    }
    lengths = {"feature_names": n_features, "class_names": n_outputs}
    names: dict[str, Any] = {
        name: read_list(f"tree.{name}", given[name], n) for name, n in lengths.items() if name in given
    }
    return name_field("tree", lambda: Tree(topology, **arrays, **names))


def _check_width(tree: Tree) -> None:
    """Refuse a width that nothing in the file backs: a few bytes must not declare millions of columns."""
    if not tree.n_splits and tree.coef is None and tree.feature_names is None and tree.n_features > MAX_WIDTH_ALONE:
        fail(
            "tree.n_features",
            f"must be at most {MAX_WIDTH_ALONE} in a tree of one leaf without coef, feature_names or an encoder, "
            f"got {tree.n_features}; give the tree feature_names",
        )


def _read_encoder(given: Any, version: int) -> Encoder:
    columns = []
    for i, item in enumerate(read_list("encoder.columns", read_object("encoder", given, ("columns",))["columns"])):
        path = f"encoder.columns[{i}]"
        item = read_object(path, item, ("name",), _COLUMN_FIELDS)
        if "missing" in item and item["missing"] not in ("indicator", "fill"):
            fail(f"{path}.missing", f"must be 'indicator' or 'fill', got {shown(item['missing'])}")
        if version == 1 and item.get("missing") == "fill":
            fail(f"{path}.missing", "'fill' is unknown in version 1; a file that has it must have version 2")
        for name in ("fill", "center", "scale", "lower", "upper"):
            is_category = name == "fill" and "categories" in item and item.get("missing") == "fill"
            if name in item and not is_category:
                check_numbers(f"{path}.{name}", [item[name]])
        if "categories" in item:
            read_list(f"{path}.categories", item["categories"])
        columns.append(name_field(path, partial(Column, **item)))
    return name_field("encoder.columns", lambda: Encoder(columns))


def _read_output(given: Any) -> Output:
    if not isinstance(given, dict) or given.get("kind") not in ("identity", "tanh-scale"):
        fail("output.kind", f"must be 'identity' or 'tanh-scale', got {shown(given)}")
    if given["kind"] == "identity":
        read_object("output", given, ("kind",))
        return Identity()
    given = read_object("output", given, ("kind", "low", "high"))
    ends = [check_numbers(f"output.{end}", read_list(f"output.{end}", given[end])) for end in ("low", "high")]
    return name_field("output", lambda: TanhScale(*ends))


def read_probability(path: str, given: Any) -> MarginProbability:
    """Read the numbers of margin probabilities."""
    numbers = read_object(path, given, ("rate", "power", "floor"))
    for name, number in numbers.items():
        kind, high = ("from 0 to 1", 1) if name == "floor" else ("of at least 0", math.inf)
        if type(number) not in (int, float) or not math.isfinite(number) or not 0 <= number <= high:
            fail(f"{path}.{name}", f"must be a finite number {kind}, got {shown(number)}")
    return MarginProbability(**numbers)
