"""Tables of all kinds, plain and packed, and the recipe in a model file by which they are read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import random
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.laws import check_message
from fuzz.mutate import mutate_bytes

__all__ = [
    "ENDINGS", "check_prediction", "check_recipe", "check_table", "files", "mutate", "mutate_text", "recipes", "texts",
]  # fmt: skip

GOLDEN = Path(__file__).parents[1] / "golden" / "v0.1"
TABLES = [
    "age,colour,size,smoker\n30,red,S,True\n41.5,blue,M,False\n,green,L,True\n",
    "age;colour;size;smoker\n1e3;red;S;0\n-7;;M;1\n",
    "age\tcolour\tsize\tsmoker\n30\tr\u00e9d\tXL\tyes\n",
    '"age","colour","size","smoker","note"\n"30","red","S","True","a ""quoted"" note, with\na line break"\n',
    "\ufeffage,colour,size,smoker\n2020-01-01,red,S,True\n",
]


def texts() -> list[bytes]:
    """Delimited tables."""
    return [text.encode() for text in TABLES]


def mutate_text(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or cells, rows and the header."""
    data = rng.choice(seeds)
    if rng.random() < 0.4:
        return mutate_bytes(rng, data, seeds)
    rows = [line.split(",") for line in data.decode().split("\n")]
    cells = [
        "",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "=1+1",
        '"',
        "\x1b[2J",
        "\0",
        "NA",
        "9" * 400,
        "1_0",
        "0x1F",
        "a" * 9999,
    ]
    for _ in range(rng.choice([1, 2, 4])):
        row = rng.choice(rows)
        action = rng.randrange(5)
        if action <= 1:
            row[rng.randrange(len(row))] = rng.choice(cells)
        elif action == 2:
            row.append(rng.choice(cells))
        elif action == 3 and len(row) > 1:
            row.pop()
        else:
            rows.insert(rng.randrange(len(rows)), list(row))
    return "\n".join(map(",".join, rows)).encode()


def check_prediction(path: Path) -> str:
    from dtsemnet.cli.models import load

    loaded = load(GOLDEN / "categories.json")
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = loaded.read(path)
            answers: Any = loaded.model.predict(rows.X)
    except ValueError as error:
        check_message(error)
        return "refused"
    assert set(answers.tolist()) <= set(loaded.model.class_names or ())
    return "read"


ENDINGS = {
    "lines": ".jsonl", "JSON": ".json", "Excel": ".xlsx", "Parquet": ".parquet", "Feather": ".feather",
    "gzip": ".csv.gz", "bzip2": ".csv.bz2", "xz": ".csv.xz", "zip": ".csv.zip", "Zstandard": ".csv.zst",
}  # fmt: skip
"""Kinds of tables that no person writes, or of packed text, with their endings."""


@cache
def files(ending: str) -> list[bytes]:
    """Small tables of a kind."""
    import pandas
    import pyarrow

    frame = pandas.DataFrame({"n": [1.5, None, 3.0], "text": ["a", "b \u00e9", None], "k": [1, 2, 3]})
    text = frame.to_csv(index=False).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{ending}")
        if ending in (".jsonl", ".json"):
            frame.to_json(path, orient="records", lines=ending == ".jsonl")
        elif ending == ".xlsx":
            frame.to_excel(path, index=False)
        elif ending == ".parquet":
            frame.to_parquet(path)
        elif ending == ".feather":
            frame.to_feather(path)
        elif ending == ".csv.zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("table.csv", text)
        else:
            pack: Any = {".csv.gz": gzip.compress, ".csv.bz2": bz2.compress, ".csv.xz": lzma.compress}.get(ending)
            path.write_bytes(pyarrow.compress(text, "zstd", asbytes=True) if pack is None else pack(text))
        return [path.read_bytes()]


def mutate(ending: str, rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Change bytes, or what is inside an archive, so that its check sums are right again."""
    data = rng.choice(seeds)
    if ending not in (".xlsx", ".csv.zip") or rng.random() < 0.4:
        return mutate_bytes(rng, data, seeds)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheets = [name for name in members if "sheet1" in name or "sharedStrings" in name or name.endswith(".csv")]
    name = rng.choice(sheets if rng.random() < 0.6 else list(members))
    kind = rng.randrange(4)
    if kind == 0:
        members[name] = mutate_bytes(rng, members[name], list(members.values()))
    elif kind == 1:
        words = [(b'"A1"', b'"XFD1048576"'), (b'"1"', b'"99999999999"'), (b"<v>", b"<v>9999"), (b'"s"', b'"inlineStr"')]
        words += [(b'"n"', b'"e"'), (b"<row", b"<c"), (b"<si>", b"<si><r>"), (b'"2"', b'"0"'), (b"<v>", b"<v>\x00")]
        words += [(b"?>", b'?><!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c "&b;&b;">]>'), (b"<t>", b"<t>&c;&#27;")]
        members[name] = members[name].replace(*rng.choice(words))
    elif kind == 2:
        members[rng.choice(["other.csv", "../up.csv", "/root.csv", "\x1b.csv", "xl/a.xml"])] = members.pop(name)
    else:
        del members[name]
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two members of one name
        with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    return out.getvalue()


def check_table(path: Path) -> str:
    """Check that a table is read and its texts become numbers, or that there is one error."""
    from dtsemnet.tables.files import read_table
    from dtsemnet.tables.recipe import Recipe

    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = read_table(path)
            result = Recipe.find(frame).apply(frame)
    except ValueError as error:
        check_message(error)
        return "refused"
    assert list(result.columns) == list(frame.columns)
    assert len(result) == len(frame)
    return "read"


def recipes() -> list[bytes]:
    """Model files with a recipe for each column of :data:`TABLE`."""
    document = json.loads((GOLDEN / "bare-leaf.json").read_bytes())
    numbers = {
        "x0": {"decimal": ",", "thousands": ".", "sign": "$"},
        "x1": {"decimal": ".", "thousands": "", "sign": "%"},
    }
    dates = {"day": {"format": "%d.%m.%Y", "parts": ["year", "weekday"], "origin": "2024-01-01"}}
    table = {"numbers": numbers, "dates": dates, "missing": {"x2": ["?", "-"]}, "na": ["none"]}
    return [json.dumps(table).encode(), json.dumps(document | {"about": {"table": table}}).encode()]


TABLE = 'x0,x1,x2,x3,day\n"1.000,5",7%,8,1,24.12.2023\n"2,5",9 %,3,4,01.02.2024\n'


def check_recipe(path: Path) -> str:
    """Check a model file, or what its recipe would be, with a table that it fits."""
    from dtsemnet.cli.models import load

    content = path.read_bytes()
    if not content.lstrip().startswith(b'{"format"'):  # a recipe alone: put it into a model file
        document = (GOLDEN / "bare-leaf.json").read_bytes().strip()
        path.write_bytes(document[:-1] + b', "about": {"table": ' + content + b"}}")
    table = path.with_suffix(".csv")
    table.write_text(TABLE)
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = load(path)
            rows = loaded.read(table)
            loaded.model.predict(rows.X)
    except ValueError as error:
        check_message(error)
        return "refused"
    return "read"
