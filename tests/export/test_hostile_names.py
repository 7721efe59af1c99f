"""Whatever columns, categories and classes are called, an export runs and agrees, and commands no terminal.

A program that has no escape for a character refuses the name, in a message that is harmless itself.
"""

from __future__ import annotations

import ast

import numpy as np
import pytest

from dtsemnet.export import to_c, to_milp, to_numpy_function, to_onnx, to_python, to_smt2, to_sql
from dtsemnet.tree import Column, Encoder, MarginProbability, Model, Topology, Tree

ODD = [
    "", " ", "a\nb", "a\tb", 'a"b', "it's", '"""', "'''", "a\\", "\\\n", "\\N{x}", "\\u000a", "%s{0}", "{{model}}",
    "a|b", "*/ int x; /*", "-- ; DROP TABLE t", "#", "??/", "größe 12", "Ä", "ä", "🌲", "a\u200db", "a\u2028b",
    "\ufeffa", "rowid", "oid", "_rowid_", "row", "sqlite_a", "select", "X", "leaf", "score.0", "c0", "p0", "\uffff",
    "w" * 1000,
]  # fmt: skip
HOSTILE = ["a\0b", "a\x1b[2Jb", "a\x9b2Jb", "\u202egnp.exe", "\u2066a", "a\x07", "a\x7f", "a\x08\x08b", "a\x0cb"]
COMMANDS = {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066)} - {"\r"}

EXPORTERS = {
    "c": to_c,
    "python": to_python,
    "numpy": to_numpy_function,
    "sql": to_sql,
    "sql leaf": lambda model: to_sql(model, output="leaf", table='it\'s a "table"'),
    "sql proba": lambda model: to_sql(model, output="proba"),
    "postgresql": lambda model: to_sql(model, dialect="postgresql"),
    "onnx": to_onnx,
    "smt": to_smt2,
}


def named(names, *, categories: bool = True, classes: bool = True) -> Model:
    """A model whose columns, categories and classes have these names."""
    columns = [Column(name, missing="fill", fill=0.3) for name in names]
    if categories:
        columns.append(Column("colour", categories=names))
    encoder = Encoder(columns)
    rng = np.random.default_rng(0)
    labels = names if classes and len(names) > 1 else ["p", "q"]
    value = rng.dirichlet(np.ones(len(labels)), 4)
    weight = rng.normal(size=(3, encoder.n_features))
    tree = Tree(Topology.complete(2), weight, rng.normal(size=3), value, class_names=labels)
    return Model(encoder, tree, probability=MarginProbability(rate=0.7, power=0.6, floor=0.03))


def assert_commands_no_terminal(text: str) -> None:
    assert not COMMANDS & set(text)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_odd_names_are_written_and_agree(exporter):
    model = named(ODD)
    if exporter == "sql proba":
        model = named(ODD, classes=False)  # as many subqueries as classes
    artefact = EXPORTERS[exporter](model)
    assert artefact.report.n_rows > 100
    if isinstance(artefact.content, str):
        assert_commands_no_terminal(artefact.content)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_characters_that_command_a_terminal_are_escaped_or_refused(exporter, name):
    for given in ({"categories": False, "classes": False}, {}):
        model = named([name, "other"], **given)
        if exporter.startswith(("sql", "postgresql")) or (exporter == "c" and given == {} and "\0" in name):
            with pytest.raises(ValueError, match="rename it") as refusal:
                EXPORTERS[exporter](model)
            assert_commands_no_terminal(str(refusal.value))
            continue
        content = EXPORTERS[exporter](model).content
        if isinstance(content, str):
            assert_commands_no_terminal(content)


@pytest.mark.parametrize("given", [{"categories": False}, {"classes": False}])
def test_a_nul_at_the_end_of_a_text_is_refused_by_onnx_for_what_it_is(given):
    with pytest.raises(ValueError, match="drops a NUL character at the end of a text such as"):
        to_onnx(named(["a\0", "b"], **given))


@pytest.mark.parametrize("write", [to_python, to_numpy_function])
def test_a_nul_in_a_name_is_no_syntax_error(write):
    text = write(named(["a\0b", 'say "\\x41"""'])).text
    documentation = ast.get_docstring(ast.parse(text))
    assert r"Columns: 'a\x00b', 'say " in documentation
    assert r'"\\x41"""' in documentation


def test_a_program_of_constraints_takes_any_name():
    names = [*ODD, *HOSTILE]
    assert set(names) <= set(to_milp(named(names, categories=False), lower=-10, upper=10).names)


def test_names_that_differ_beyond_ascii_case_are_two_columns():
    assert to_sql(named(["Ä", "ä", "É", "é"], categories=False)).report.n_near == 0


def test_names_that_postgresql_cuts_to_one_are_refused():
    model = named(["w" * 63 + "a", "w" * 63 + "b"], categories=False)
    assert to_sql(model).report.n_near == 0
    with pytest.raises(ValueError, match="as one; rename one of them"):
        to_sql(model, dialect="postgresql")
