"""Damaged files: whole documents with some fields changed, and files with some bytes changed.

A mutation of the structure keeps the file JSON, and often keeps it nearly right, so that it comes past the first
checks: a number becomes an extreme one, a list grows or loses an entry, two parts change places, a part of another
file is grafted in, a name gets an escape code. A mutation of bytes knows nothing of JSON.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

__all__ = ["mutate_bytes", "mutate_document", "mutate_file"]

NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 7, 255, 256, 10_000, 10_001, 2**31 - 1, 2**31, -(2**31), 2**53, 2**53 + 1, 2**63 - 1, 2**63,
    -(2**63), 2**64, 2**64 - 1, 2**61 - 1, 10**30, 10**299, 10**300, 10**308, 0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 1e-7,
    5e-324, 2.2e-308, 1e-300, 1e16, 1e150, 1e154, 1e300, 1.7976931348623157e308, -1.7976931348623157e308,
]  # fmt: skip
RAW = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "1" * 301,
    "1" * 5000,
    "0." + "1" * 400,
    "-0",
    "1E5",
    "01",
    "[" * 5000 + "]" * 5000,
]
"""Numbers that Python does not write, and some that are no JSON."""
LETTERS = [
    "", "a", "x0", "x1", " ", "\n", "\t", "\0", "\x1b[2J", "\x1b]0;t\x07", "\x9b31m", "\x7f", "\u202e", "\u2066",
    "\u200d", "\u2028", "\ufeff", "é", "e\u0301", "\ud83d\ude00", "\ud800", "\udfff", "=1+1", "@a", "'", '"', "\\",
    "<b>", "$x$", "[red]", "{0}", "%s", "nan", "inf", "true", "null", "missing", "a missing", "colour=red",
]  # fmt: skip
WORDS = [
    "fill", "indicator", "identity", "tanh-scale", "dtsemnet", "DTSemNetClassifier", "DTSemNetRegressor", "Tree",
    "from_dtype", "balanced", "auto", "margin", "leaf", "<U1", "<U0", "<U1000000000", "|S1", "object", "int8", "int64",
    "uint8", "float16", "float64", "bool", "datetime64[s]", "datetime64[ns]", "V8", "i4,i4", "complex128", "str",
    "/etc/passwd", "../checkpoint", "cuda", "torch", "O", "timedelta64[s]", "float128", "longdouble",
    "pairwise", "no_interactions", "poisson", "gamma", "tweedie", "linear", "constant",
]  # fmt: skip
KEYS = [
    "n_features", "n_splits", "n_outputs", "children", "weight", "bias", "value", "coef", "lower", "upper",
    "feature_names", "class_names", "name", "categories", "missing", "fill", "center", "scale", "low", "high", "kind",
    "rate", "power", "floor", "about", "probability", "output", "encoder", "columns", "tree", "version", "checkpoint",
    "class_weight", "random_state", "cross_fit", "leaf_weight", "class_dtype", "extra",
    "integer_weights", "monotonic_cst", "interaction_cst", "max_leaf_features", "max_split_features", "sparsity",
    "loss", "tweedie_power", "leaf",
]  # fmt: skip
TOKENS = [b",", b"[", b"]", b"{", b"}", b'"', b":", b"1", b"e9", b"\\u0000", b"-", b"\xef\xbb\xbf"]
_RAW = "@raw number "


def mutate_file(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Damage one of some files."""
    data = rng.choice(seeds)
    kind = rng.random()
    if kind < 0.8:
        data = mutate_document(rng, data, seeds)
    if kind > 0.7:
        data = mutate_bytes(rng, data, seeds)
    return data


def mutate_document(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Change one to four things in a JSON document."""
    document = json.loads(data)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        _change(rng, document, seeds)
    separators = rng.choice([(", ", ": "), (",", ":")])
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5, separators=separators)
    for i, raw in enumerate(RAW):
        text = text.replace(f'"{_RAW}{i}"', raw)
    if rng.random() < 0.02:  # a key twice
        text = text.replace('"n_splits"', '"n_splits": 0, "n_splits"', 1)
    return text.encode("utf-8", "surrogatepass")


def mutate_bytes(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Change a few bytes: replace, remove, insert, repeat, cut off, or join two files."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(changed) + 1)
        action = rng.randrange(7)
        if action == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            del changed[at : at + rng.choice([1, 1, 2, 10, 100])]
        elif action == 2:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 2, 4])))
        elif action == 3:
            changed[at:at] = rng.choice(TOKENS)
        elif action == 4:
            part = changed[at : at + rng.choice([1, 5, 50])]
            changed[at:at] = part * rng.choice([1, 2, 20])
        elif action == 5 and rng.random() < 0.3:
            del changed[at:]
        elif action == 6 and rng.random() < 0.3:
            other = rng.choice(seeds)
            changed[at:] = other[rng.randrange(len(other) or 1) :]
    return bytes(changed)


def _change(rng: random.Random, document: Any, seeds: Sequence[bytes]) -> None:
    """Change one thing, somewhere."""
    part, key = _place(rng, document)
    if part is None:
        return
    action = rng.randrange(14)
    value = part[key]
    if action <= 2:
        part[key] = _value(rng)
    elif action == 3:
        del part[key]
    elif action == 4 and isinstance(part, list):
        part[key:key] = [copy.deepcopy(value)] * rng.choice([1, 1, 2, 30])
    elif action == 5 and isinstance(part, dict):
        part[rng.choice(KEYS)] = _value(rng) if rng.random() < 0.5 else part.pop(key)
    elif action == 6 and isinstance(value, list):
        rng.shuffle(value)
    elif action == 7:
        other, place = _place(rng, document)
        if other is not None:
            part[key] = copy.deepcopy(other[place])
    elif action == 8:
        graft, place = _place(rng, json.loads(rng.choice(seeds)))
        if graft is not None:
            part[key] = graft[place]
    elif action == 9:
        part[key] = _scaled(value, rng.choice([0.0, -1.0, 0.5, 3.0, 1e150, 1e300, 1e-300]))
    elif action == 10 and isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        part[key] = value[:at] + rng.choice(LETTERS) * rng.choice([1, 1, 1, 500]) + value[at:]
    elif action == 11 and isinstance(value, (int, float)) and not isinstance(value, bool):
        part[key] = rng.choice([value + 1, value - 1, -value, float(value), str(value), bool(value), value * 2])
    elif action == 12:
        part[key] = [value] if rng.random() < 0.5 else {rng.choice(KEYS): value}
    else:
        _change_together(rng, document)


def _change_together(rng: random.Random, document: Any) -> None:
    """Change a count and the lists that it counts, so that they still agree."""
    tree = document.get("tree") if isinstance(document, dict) else None
    if not isinstance(tree, dict):
        return
    try:
        columns = document["encoder"]["columns"]
        j = rng.randrange(len(columns))
        choice = rng.randrange(5)
        if choice == 0:  # a column of numbers with an extreme map
            columns[j] |= {rng.choice(["center", "scale", "lower", "upper", "fill"]): rng.choice(NUMBERS)}
        elif choice == 1:
            names = rng.sample(tree["feature_names"], len(tree["feature_names"]))
            tree["feature_names"] = names
        elif choice == 2:
            tree.pop("feature_names", None)
            columns[j]["name"] = rng.choice(LETTERS) + rng.choice(LETTERS)
        elif choice == 3:
            tree["class_names"] = [_value(rng) for _ in tree["class_names"]]
        else:
            document["probability"] = {"rate": rng.choice(NUMBERS), "power": rng.choice(NUMBERS), "floor": rng.random()}
            document["version"] = 2
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return  # this document has no such part


def _place(rng: random.Random, document: Any) -> tuple[Any, Any]:
    """Walk to some place, deep ones as likely as high ones."""
    part, key = None, None
    here = document
    while isinstance(here, (dict, list)) and here:
        part, key = here, rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        here = part[key]
        if rng.random() < 0.2:
            break
    return part, key


def _value(rng: random.Random) -> Any:
    kind = rng.randrange(8)
    if kind <= 2:
        return rng.choice(NUMBERS)
    if kind == 3:
        return f"{_RAW}{rng.randrange(len(RAW))}"
    if kind == 4:
        return rng.choice(LETTERS) + rng.choice(LETTERS)
    if kind == 5:
        return rng.choice(WORDS)
    if kind == 6:
        return rng.choice([None, True, False, [], {}, [[]], [0], [[0]], {"a": 0}])
    nested: Any = rng.choice(NUMBERS)
    for _ in range(rng.choice([1, 3, 98, 120])):
        nested = [nested]
        if rng.random() < 0.1:
            nested = {"a": nested}
    return nested


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_scaled(part, factor) for part in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    product = float(value) * factor if abs(value) < 1e300 else float("inf")
    return product if abs(product) < 1.7e308 else value
