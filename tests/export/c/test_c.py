"""The C file answers as the tree does, compiles without a warning, and survives any name."""

from __future__ import annotations

import functools
import logging
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.export import check_export
from dtsemnet.export.c import Identifiers, comment, compiler, number_literal, string_literal, to_c
from dtsemnet.export.probes import probe_rows
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from strategies import MODELS, make_model, trees, wild_points, wild_trees

cached = functools.cache(lambda kind, number="double": to_c(make_model(kind), number=number))

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Werror")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
NASTY = ['a"b\\', "*/ int x; /*", "??/", "line\nbreak \\", "größe 12", "\u202egnp.exe", "%s", "names", "café\u0301", ""]


def say(tmp_path, source, code, *flags):
    """Compile a file with a main program behind it and return what it prints."""
    body = "#include <stdio.h>\nint main(void)\n{\n" + code + "    return 0;\n}\n"
    (tmp_path / "main.c").write_text(source + body, encoding="utf-8")
    command = [*compiler.find_compiler(), *STRICT, *flags, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout.decode()


def both_kinds(names):
    """A classifier whose columns, categories and classes have these names."""
    columns = [Column(f"{name}_{k}", categories=names) for k, name in enumerate(names)]
    encoder = Encoder(columns)
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(1), rng.normal(size=(1, encoder.n_features)), [0.1],
                rng.dirichlet(np.ones(len(names)), 2), class_names=names)  # fmt: skip
    return Model(encoder, tree)


@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind, number):
    report = cached(kind, number).report
    assert report.n_rows > 300
    assert number == "float" or report.n_near == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees_on_many_rows(kind, number):
    model = make_model(kind)
    report = check_export(model, to_c(model, number=number), n_rows=170_000)
    assert report.n_rows >= 100_000


@given(trees())
@settings(max_examples=8)
def test_every_tree_agrees(tree):
    assert to_c(tree).report.n_near == 0


@given(wild_trees(), st.data())
@settings(max_examples=8)
def test_every_magnitude_agrees(tree, data):
    assert to_c(tree, data.draw(wild_points(tree.n_features))).report.n_near == 0


@pytest.mark.parametrize("command", COMPILERS)
@pytest.mark.parametrize(
    "flags",
    [
        (*STRICT, "-O0"),
        (*STRICT, "-O2"),
        (*STRICT, "-O3", "-march=native"),
        ("-std=gnu17", "-O3", "-march=native"),
        (*STRICT, "-O2", "-DDTSEMNET_FLASH="),
    ],
    ids=["O0", "O2", "O3", "gnu17", "loops"],
)
@pytest.mark.parametrize("kind", ["wide", "mixed linear"])
def test_no_flag_of_the_standard_changes_a_bit(kind, flags, command, monkeypatch):
    model = make_model(kind)
    rows = probe_rows(model, None, 1000, np.random.default_rng(1))
    monkeypatch.setenv("CC", command)
    answer = compiler.run(model, cached(kind).text, rows, name="tree", number="double", flags=flags)
    assert_array_equal(answer.leaf, model.apply(rows))
    expected = model.predict_proba(rows) if model.is_classifier else model.predict(rows)[:, None]
    assert_array_equal(answer.output, expected)


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
def test_flags_that_change_the_arithmetic_do_not_compile(flag):
    model = make_model("class")
    with pytest.raises(RuntimeError, match="fast-math computes another function"):
        compiler.run(model, cached("class").text, np.zeros((1, 8)), name="tree", number="double", flags=(flag,))


def test_sparse_splits_are_lists_and_agree():
    rng = np.random.default_rng(0)
    weight, coef = (rng.normal(size=s) * (rng.random(s) < 0.1) for s in [(7, 50), (8, 1, 50)])
    tree = Tree(Topology.complete(3), weight, rng.normal(size=7), rng.normal(size=(8, 1)), coef)
    artefact = to_c(tree)
    assert "tree_weight_feature" in artefact.text
    assert "tree_coef_feature" in artefact.text
    unused = int(np.flatnonzero(~weight.any(axis=0))[0])
    row = np.zeros((1, 50))
    row[0, unused] = np.inf
    assert artefact.answer(row).leaf.tolist() == [-1]


@pytest.mark.parametrize("kind", ["class", "linear", "one leaf", "mixed class", "tanh"])
def test_rows_that_the_tree_refuses_give_minus_one(kind):
    model = make_model(kind)
    rows = probe_rows(model, None, 30, np.random.default_rng(0))[:3]
    rows[:, -1] = [np.nan, np.inf, -np.inf]
    for row in rows:
        with pytest.raises(ValueError, match="finite"):
            model.predict(row[None])
    answer = cached(kind).answer(rows)
    assert answer.leaf.tolist() == [-1] * 3
    assert answer.label is None or answer.label.tolist() == [None] * 3


@pytest.mark.parametrize("kind", ["class", "linear", "mixed class"])
def test_a_batch_goes_on_behind_rows_that_it_refuses(kind):
    model = make_model(kind)
    rows = probe_rows(model, None, 60, np.random.default_rng(0))[:40]
    refused = np.arange(40) % 7 == 3
    rows[refused, -1] = np.inf
    answer = cached(kind).answer(rows)
    assert_array_equal(answer.leaf[refused], -1)
    assert_array_equal(answer.leaf[~refused], model.apply(rows[~refused]))


def test_a_batch_that_answers_otherwise_is_found():
    wrong = cached("class").text.replace("node[r] = tree_next(node[r], x[r]);", "node[r] = tree_next(node[r], x[0]);")
    assert wrong != cached("class").text
    model = make_model("class")
    rows = probe_rows(model, None, 60, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="otherwise than a call for that row alone"):
        compiler.run(model, wrong, rows, name="tree", number="double")


def test_sums_that_overflow_both_ways_give_minus_one():
    tree = Tree(Topology.complete(1), [[1e10, -1e10]], [0.0], [[1.0], [2.0]])
    rows = np.array([[1e300, 1e300], [1e300, 1.0], [1.0, 1e300]])
    assert to_c(tree).answer(rows).leaf.tolist() == [-1, 1, 0]


def test_names_of_classes_and_categories_come_back_as_they_went_in(tmp_path):
    artefact = to_c(both_kinds(NASTY))
    names = Identifiers()
    functions = [names.take("tree_column_", f"{name}_{k}").replace("_column_", "_category_")
                 for k, name in enumerate(NASTY)]  # fmt: skip
    code = '    int k;\n    for (k = 0; k < tree_CLASSES; ++k)\n        printf("%s%c", tree_class_names[k], 1);\n'
    for function in functions:
        code += f'    for (k = 0; k < tree_CLASSES; ++k)\n        printf("%d ", {function}(tree_class_names[k]));\n'
        code += f'    printf("%d%c", {function}("neither"), 1);\n'
    printed = say(tmp_path, artefact.text, code).split("\1")
    assert printed[: len(NASTY)] == NASTY
    assert printed[len(NASTY) : -1] == [" ".join([*map(str, range(len(NASTY))), "-1"])] * len(NASTY)


def test_numbers_are_looked_up_by_value(tmp_path):
    code = '    printf("%d %d %d", tree_category_rooms(3), tree_category_rooms(2.5), tree_category_rooms_2);\n'
    assert say(tmp_path, cached("mixed class", "float").text, code) == "2 -1 1"


def test_trees_share_a_program_and_one_file_is_header_and_body(tmp_path):
    first, second = make_model("constant"), make_model("linear")
    to_c(first, name="first").save(tmp_path / "first.c")
    source = '#define first_PROTOTYPES\n#include "first.c"\n' + to_c(second, name="second").text
    code = "    const double row[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };\n    double out[1];\n"
    code += '    printf("%d ", first_predict(row, out));\n    printf("%d", second_predict(row, out));\n'
    (tmp_path / "body.c").write_text('#include "first.c"\n')
    printed = say(tmp_path, source, code, "body.c")
    row = np.arange(1.0, 9.0)[None]
    assert printed.split() == [str(first.apply(row)[0]), str(second.apply(row)[0])]


def test_without_a_compiler_the_file_is_handed_over_unchecked(monkeypatch, caplog):
    monkeypatch.setattr(compiler, "find_compiler", lambda: None)
    with caplog.at_level(logging.WARNING, logger="dtsemnet"):
        artefact = to_c(make_model("class"))
    assert artefact.report is None
    assert "not checked" in caplog.text
    with pytest.raises(RuntimeError, match="no C compiler"):
        artefact.answer(np.zeros((1, 8)))


@pytest.mark.parametrize("name", ["1st", "a b", "", "while", "größe", "_x"])
def test_prefixes_that_are_no_identifiers_are_refused(name):
    with pytest.raises(ValueError, match="C identifier"):
        to_c(make_model("class"), name=name)


def test_what_does_not_fit_is_refused():
    tree = Tree(Topology.complete(1), [[1e39]], [0.0], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="number='double'"):
        to_c(tree, number="float")
    with pytest.raises(ValueError, match="must be 'double' or 'float'"):
        to_c(tree, number="half")
    named = Tree(Topology([]), np.empty((0, 1)), [], [[1.0]], class_names=["a\0b"])
    with pytest.raises(ValueError, match="NUL"):
        to_c(named)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_exactly(value):
    text = number_literal(value)
    assert (float.fromhex(text) if "x" in text else float(text)) == value


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_strings_and_comments_hold_nothing_that_c_would_read(text):
    written = string_literal(text)
    assert written.isascii()
    assert not set('"\n?') & set(written[1:-1])
    assert written[1:-1].encode().decode("unicode_escape").encode("latin-1").decode() == text
    assert not set("*/\\?\n\r") & set(comment(text))


@pytest.mark.parametrize("estimator", [DTSemNetClassifier, DTSemNetRegressor])
def test_fitted_estimators_agree_on_their_rows(estimator):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200)})
    X.loc[::7, "size"] = np.nan
    y = np.where(X["size"].fillna(0) + (X["colour"] == "red") > 0.5, 1, 0)
    fitted = estimator(max_depth=2, n_init=1, max_iter=5, random_state=0).fit(X, y)
    assert to_c(fitted, X).report.n_rows > 500
    assert Model.of(fitted).encoder.n_features > 2
