"""The runtime of exported C files compiles by itself, and puts up with every name that C allows."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from importlib import resources

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dtsemnet.export import to_c
from dtsemnet.export.c import KEYWORDS, assemble, generate
from strategies import MODELS, make_model

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Wconversion", "-Wshadow", "-Werror")
RUNTIME = resources.files("dtsemnet.export.c").joinpath("runtime.c").read_text(encoding="utf-8")
MACROS = [
    "real", "TREE_FLOAT", "DTSEMNET_FLASH", "DTSEMNET_VECTORS", "DTSEMNET_POP_OPTIONS", "FLT_EVAL_METHOD",
    "DBL_MANT_DIG", "HUGE_VAL",
]  # fmt: skip
SMALL = make_model("one leaf")
MIXED = make_model("mixed class")


def lay_out(folder, model, number):
    """Write the runtime as it is with the generated parts beside it; return the options that it needs."""
    generated = generate(model, "tree", number)
    (folder / "runtime.c").write_text(RUNTIME, encoding="utf-8")
    for name, text in generated.parts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [f"-Dreal={number}", *(f"-D{switch}={int(on)}" for switch, on in generated.switches.items())]


def compile_text(compiler, text, *flags):
    command = [compiler, *STRICT, *flags, "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8")
    assert not done.returncode, done.stderr


@functools.cache
def suffixes():
    """What follows the prefix in the identifiers of the runtime."""
    return {word.removeprefix("tree_") for word in re.findall(r"\btree_\w+", RUNTIME)}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("kind", MODELS)
def test_the_runtime_compiles_by_itself(kind, number, compiler, tmp_path):
    switches = lay_out(tmp_path, make_model(kind), number)
    subprocess.run([compiler, *STRICT, *switches, "-O2", "-c", "runtime.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("number", ["double", "float"])
@pytest.mark.parametrize("kind", MODELS)
def test_branches_are_selected_as_the_preprocessor_selects_them(kind, number, tmp_path):
    model = make_model(kind)
    switches = lay_out(tmp_path, model, number)
    (tmp_path / "assembled.c").write_text(assemble(generate(model, "tree", number)), encoding="utf-8")
    command = [COMPILERS[0], "-std=c99", "-E", "-P"]
    expected = subprocess.run([*command, *switches, "runtime.c"], cwd=tmp_path, capture_output=True, check=True).stdout
    seen = subprocess.run([*command, "assembled.c"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert seen.split() == expected.split()
    assert "TREE_" not in (tmp_path / "assembled.c").read_text(encoding="utf-8")


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,24}", fullmatch=True).filter(lambda name: name not in KEYWORDS))
@example("REALTIME")
@example("REAL")
@example("SURREAL")
@example("NAME")
@example("OUTPUT")
@example("real")
@example("tree")
@example("tree_tree")
@example("TREE")
@example("TREE_FLOAT")
@example("DTSEMNET")
@example("DTSEMNET_FLASH")
@example("HUGE_VAL")
@example("tanh")
@example("main")
@example("x")
@example("int_")
@example("linux")
@settings(max_examples=20, deadline=None)
def test_every_identifier_is_a_name(name):
    for number in ("double", "float"):
        compile_text(COMPILERS[0], assemble(generate(MIXED, name, number)))


@given(st.sampled_from(MACROS), st.sampled_from(["", "_", "_tree", "S"]))
@settings(max_examples=15, deadline=None)
def test_names_near_the_macros_of_the_runtime_compile(macro, end):
    compile_text(COMPILERS[0], assemble(generate(SMALL, macro + end, "double")))


@pytest.mark.parametrize("macro", MACROS)
def test_no_name_makes_an_identifier_that_is_a_macro(macro):
    """A prefix, an underscore and a suffix of the runtime never spell a macro."""
    assert not any(macro.endswith(f"_{suffix}") for suffix in suffixes())


def test_no_identifier_of_the_runtime_can_be_made_of_the_name_of_a_column():
    taken = [suffix for suffix in suffixes() if re.match("(column|category|class)_.", suffix)]
    assert taken == ["class_names"]


@pytest.mark.parametrize("name", ["REALTIME", "SURREAL", "OUTPUT", "NAME", "real", "DTSEMNET"])
def test_files_of_awkward_names_agree(name):
    assert to_c(MIXED, name=name).report.n_near == 0


@pytest.mark.parametrize("name", ["while", "double", "class", "typeof"])
def test_keywords_are_refused_as_such(name):
    with pytest.raises(ValueError, match=f"{name!r} is a keyword of C or C\\+\\+; use '{name}_tree'"):
        to_c(MIXED, name=name)
