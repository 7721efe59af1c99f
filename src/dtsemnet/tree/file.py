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

* the file is at most ``max_bytes`` long, valid UTF-8, and no key occurs twice in an object;
* every number is finite as a float64 (``1e999`` is not), no list is longer or shorter than declared:
  ``n_leaves = n_splits + 1`` rows of leaves, ``n_features`` columns of weights, and so on;
* ``children`` form one tree, splits breadth-first, leaves from left to right;
* class probabilities sum to 1 within 1e-6, ``lower <= upper``, names are distinct;
* the encoder gives ``n_features`` features, the output map has ``n_outputs`` entries;
* ``probability`` and ``"missing": "fill"`` stand in a file of version 2, ``probability`` beside a tree
  of classes; the ``fill`` of a column of categories is one of them.

Whatever is wrong, loading raises one ``ValueError`` that opens with the field. It runs no code
from the file, and saving replaces a file in one step, so no reader sees half of one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.files import read_bytes, write_atomically
from dtsemnet.tree.encoder import Column, Encoder
from dtsemnet.tree.model import Identity, Model, Output, TanhScale
from dtsemnet.tree.probability import MarginProbability
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = [
    "Document",
    "MAX_BYTES",
    "VERSION",
    "dumps",
    "load_document",
    "loads",
    "read",
    "save",
    "schema",
]

VERSION = 2
"""The newest version of the format that this library reads; it writes the oldest that holds the content."""

MAX_BYTES = 256 * 2**20
"""Largest file that is read unless a caller asks for more."""

Made = TypeVar("Made")
_DIGITS = 300  # an integer with more digits may exceed the range of float64
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
        _check_json("about", about)
        document["about"] = about
    # One top-level field per line: readable, and a change of one array is a change of one line.
    lines = [f"{json.dumps(key)}: {_write(part, 1)}" for key, part in document.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def loads(text: str) -> Tree | Model:
    """Read a tree or a model from the text of a model file.

    Examples
    --------
    >>> loads('{"format": "dtsemnet", "version": 3}')
    Traceback (most recent call last):
    ValueError: version: the file has version 3, this library reads up to 2; upgrade dtsemnet.
    """
    return _read_document(_parse(text)).content


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
        A longer file is refused before it is parsed.
    """
    data = _name_field("document", lambda: read_bytes(path, max_bytes=max_bytes))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"document: not valid UTF-8 at byte {error.start}.") from None
    return _read_document(_parse(text))


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


def _read_document(document: Any) -> Document:
    if isinstance(document, dict):  # before unknown keys: a newer version may have new ones
        if document.get("format") != "dtsemnet":
            _fail(
                "format", f"must be 'dtsemnet', got {_show(document.get('format'))}; this is not a dtsemnet model file"
            )
        version = document.get("version")
        if type(version) is int and version > VERSION:
            _fail("version", f"the file has version {version}, this library reads up to {VERSION}; upgrade dtsemnet.")
        if type(version) is not int or version < 1:
            _fail("version", f"must be an integer of at least 1, got {_show(version)}")
        if version == 1 and "probability" in document:
            _fail("probability", "is unknown in version 1; a file that has it must have version 2")
    optional = ("encoder", "output", "probability", "about")
    document = _get_object("document", document, ("format", "version", "tree"), optional)
    tree = _read_tree(document["tree"])
    about = document.get("about", {})
    if not isinstance(about, dict):
        _fail("about", f"must be an object, got {_show(about)}")
    _check_json("about", about)
    if not {"encoder", "output", "probability"} & document.keys():
        return Document(tree, about)
    given = document.get("encoder")
    version = document["version"]
    encoder = _read_encoder(given, version) if "encoder" in document else Encoder.identity(tree.feature_labels)
    output = _read_output(document["output"]) if "output" in document else Identity()
    model = _name_field("encoder", lambda: Model(encoder, tree, output))
    if "probability" in document:
        if not tree.is_classifier:
            _fail("probability", "is for classifiers, but the tree has no class_names; remove it")
        model = replace(model, probability=_read_probability(document["probability"]))
    return Document(model, about)


def _read_tree(given: Any) -> Tree:
    required = ("n_features", "n_splits", "n_outputs", "children", "weight", "bias", "value")
    given = _get_object("tree", given, required, (*_LEAF_ARRAYS, "feature_names", "class_names"))
    n_features = _read_count("tree.n_features", given["n_features"], 1)
    n_splits = _read_count("tree.n_splits", given["n_splits"], 0)
    n_outputs = _read_count("tree.n_outputs", given["n_outputs"], 1)
    n_leaves = n_splits + 1
    children = _read_array("tree.children", given["children"], (n_splits, 2), integer=True)
    topology = _name_field("tree.children", lambda: Topology(children))
    shapes = {"weight": (n_splits, n_features), "bias": (n_splits,), "coef": (n_leaves, n_outputs, n_features)}
    shapes |= dict.fromkeys(("value", "lower", "upper"), (n_leaves, n_outputs))
    arrays: dict[str, Any] = {
        name: _read_array(f"tree.{name}", given[name], shape) for name, shape in shapes.items() if name in given
    }
    lengths = {"feature_names": n_features, "class_names": n_outputs}
    names: dict[str, Any] = {
        name: _read_list(f"tree.{name}", given[name], n) for name, n in lengths.items() if name in given
    }
    return _name_field("tree", lambda: Tree(topology, **arrays, **names))


def _read_encoder(given: Any, version: int) -> Encoder:
    columns = []
    for i, item in enumerate(_read_list("encoder.columns", _get_object("encoder", given, ("columns",))["columns"])):
        path = f"encoder.columns[{i}]"
        item = _get_object(path, item, ("name",), _COLUMN_FIELDS)
        if version == 1 and item.get("missing") == "fill":
            _fail(f"{path}.missing", "'fill' is unknown in version 1; a file that has it must have version 2")
        for name in ("fill", "center", "scale", "lower", "upper"):
            is_category = name == "fill" and "categories" in item and item.get("missing") == "fill"
            if name in item and not is_category:
                _numbers(f"{path}.{name}", [item[name]])
        if "categories" in item:
            _read_list(f"{path}.categories", item["categories"])
        columns.append(_name_field(path, partial(Column, **item)))
    return _name_field("encoder.columns", lambda: Encoder(columns))


def _read_output(given: Any) -> Output:
    if not isinstance(given, dict) or given.get("kind") not in ("identity", "tanh-scale"):
        _fail("output.kind", f"must be 'identity' or 'tanh-scale', got {_show(given)}")
    if given["kind"] == "identity":
        _get_object("output", given, ("kind",))
        return Identity()
    given = _get_object("output", given, ("kind", "low", "high"))
    ends = [_numbers(f"output.{end}", _read_list(f"output.{end}", given[end])) for end in ("low", "high")]
    return _name_field("output", lambda: TanhScale(*ends))


def _read_probability(given: Any) -> MarginProbability:
    numbers = _get_object("probability", given, ("rate", "power", "floor"))
    for name, number in numbers.items():
        kind, high = ("from 0 to 1", 1) if name == "floor" else ("of at least 0", math.inf)
        if type(number) not in (int, float) or not math.isfinite(number) or not 0 <= number <= high:
            _fail(f"probability.{name}", f"must be a finite number {kind}, got {_show(number)}")
    return MarginProbability(**numbers)


def _name_field(path: str, make: Callable[[], Made]) -> Made:
    """Make an object of checked fields; what it refuses is an error of the file."""
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path}: {error}") from None


def _parse(text: str) -> Any:
    """Parse JSON, with duplicate keys and deep nesting refused; numbers out of range come out as infinities."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_int=_integer)
    except RecursionError:
        raise ValueError("document: nested too deeply; a model file nests no deeper than ten levels.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"document: not valid JSON, {error.msg} in line {error.lineno}.") from None


def _fail(field: str, problem: str) -> NoReturn:
    raise ValueError(f"{field}: {problem}")


def _get_object(field: str, given: Any, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """Check that ``given`` is an object with all the required keys and none that is unknown."""
    if not isinstance(given, dict):
        _fail(field, f"must be an object, got {_show(given)}")
    for key in required:
        if key not in given:
            _fail(f"{field}.{key}", "is missing")
    for key in given:
        if key not in required and key not in optional:
            _fail(f"{field}.{key}"[:200], f"is unknown; known are {', '.join([*required, *optional])}")
    return given


def _read_count(field: str, given: Any, least: int) -> int:
    if type(given) is not int or not least <= given < 2**31:
        _fail(field, f"must be an integer of at least {least}, got {_show(given)}")
    return given


def _read_list(field: str, given: Any, length: int | None = None) -> list[Any]:
    """Read a list, of the declared length if there is one."""
    if not isinstance(given, list):
        _fail(field, f"must be a list, got {_show(given)}")
    if length is not None and len(given) != length:
        _fail(field, f"must have length {length}, as declared, got {len(given)}")
    return given


def _read_array(field: str, given: Any, shape: tuple[int, ...], *, integer: bool = False) -> Array:
    """Read nested lists of exactly this shape."""
    rows: list[tuple[str, Any]] = [(field, given)]
    for length in shape[:-1]:
        rows = [(f"{path}[{i}]", row) for path, part in rows for i, row in enumerate(_read_list(path, part, length))]
    # All lengths are checked before the first array is made.
    lists = [(path, _read_list(path, part, shape[-1])) for path, part in rows]
    array = np.empty((len(lists), shape[-1]), dtype=np.int64 if integer else np.float64)
    for i, (path, row) in enumerate(lists):
        array[i] = _numbers(path, row, integer=integer)
    return array.reshape(shape)


def _numbers(field: str, row: list[Any], *, integer: bool = False) -> list[Any]:
    """Check that a list holds finite numbers (integers that fit 32 bits) and nothing else; booleans are not numbers."""
    kinds = {int} if integer else {int, float}

    def is_wrong(numbers: list[Any]) -> bool:
        if not set(map(type, numbers)) <= kinds or not all(map(math.isfinite, numbers)):
            return True
        return integer and any(not -(2**31) <= number < 2**31 for number in numbers)

    for i, number in enumerate(row if is_wrong(row) else []):
        if is_wrong([number]):
            kind = "an integer below 2**31" if integer else "a finite number that float64 holds"
            _fail(f"{field}[{i}]", f"must be {kind}, got {_show(number)}")
    return row


def _check_json(field: str, given: Any) -> None:
    """Check that free metadata can be written again: plain JSON, finite numbers, text that UTF-8 holds."""
    todo: list[tuple[str, Any, int]] = [(field, given, 0)]
    while todo:
        path, part, level = todo.pop()
        if level > 100:
            _fail(field, "nested too deeply")
        if isinstance(part, dict):
            for key, content in part.items():
                if type(key) is not str:
                    _fail(path, f"must have strings as keys, got {_show(key)}")
                _check_json(f"{path} key", key)
                todo.append((f"{path}.{key}"[:200], content, level + 1))
        elif isinstance(part, (list, tuple)):
            todo += [(f"{path}[{i}]"[:200], content, level + 1) for i, content in enumerate(part)]
        elif isinstance(part, str):
            if any("\ud800" <= letter <= "\udfff" for letter in part):
                _fail(path, "holds half a surrogate pair, which UTF-8 cannot write")
        elif isinstance(part, float):
            if not math.isfinite(part):
                _fail(path, f"must be finite, got {_show(part)}")
        elif type(part) is int and abs(part) >= 10**_DIGITS:
            _fail(path, "is too large a number")
        elif part is not None and type(part) not in (bool, int):
            _fail(path, f"must be plain JSON, got {_show(part)}")


def _show(given: Any) -> str:
    """Show a value in an error, cut short."""
    if isinstance(given, (dict, list)):
        return f"{'an object' if isinstance(given, dict) else 'a list'} of length {len(given)}"
    shown = repr(given)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        _fail(_show(twice), "the key occurs twice in one object")
    return unique


def _integer(digits: str) -> int | float:
    # An infinity is refused later, with the name of its field; int() of thousands of digits would take long.
    return int(digits) if len(digits) <= _DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)
