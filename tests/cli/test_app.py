"""The command line as a whole: help, examples, exit codes, what goes where."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from cli.conftest import Run
from dtsemnet.cli import VERBS, app

DOCUMENTS = Path(__file__).parents[2] / "docs"
GREETING = """
EXAMPLES = "dtsemnet greet"

def run(loud: bool = False):
    "Greet."
    print("HELLO" if loud else "hello")
"""
NO_COMMAND = ("", "--help", "-h", "--version", "--install-completion", "--show-completion")


def parse(line: str) -> None:
    """Read a command line as the program would, without running it."""
    words = shlex.split(line, comments=True)
    assert words.pop(0) == "dtsemnet"
    group = get_command(app)
    with group.make_context("dtsemnet", list(words), resilient_parsing=True) as context:
        name, verb, rest = group.resolve_command(context, [word for word in words if word != "--debug"])
        verb.make_context(name, rest, parent=context)


def commands(text: str) -> list[str]:
    """Lines that call dtsemnet, also behind a pipe."""
    found = re.findall(r"(?:^|\| )(dtsemnet [^|>\n]+)", text.replace("\\\n", " "), re.MULTILINE)
    return [line for line in found if shlex.split(line)[1] not in NO_COMMAND]


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_shows_its_examples(verb: str, run: Run) -> None:
    module = importlib.import_module(VERBS[verb])
    shown = " ".join(run(verb, "--help").stdout.split())
    for line in module.EXAMPLES.strip().splitlines():
        assert " ".join(line.split())[:60] in shown


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "rl"])
def test_help_shows_names_of_options_in_full_on_a_narrow_screen(verb: str) -> None:
    shown = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    group = get_command(app)
    with group.make_context("dtsemnet", [], resilient_parsing=True) as context:
        options = [name for option in group.get_command(context, verb).params
                   for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]  # fmt: skip
    assert [name for name in options if not re.search(rf"{name}\b", shown)] == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "rl"])
def test_every_verb_has_json(verb: str) -> None:
    assert "as_json" in inspect.signature(importlib.import_module(VERBS[verb]).run).parameters


@pytest.mark.parametrize("verb", VERBS)
def test_examples_are_commands_that_exist(verb: str) -> None:
    lines = commands(importlib.import_module(VERBS[verb]).EXAMPLES)
    assert lines
    for line in lines:
        parse(line)


@pytest.mark.parametrize("document", ["command-line.md", "tutorial.md"])
def test_commands_in_documents_exist(document: str) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", (DOCUMENTS / document).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in commands(block)]
    assert lines
    for line in lines:
        parse(line)


def test_a_wrong_option_would_be_noticed_by_the_tests_above() -> None:
    with pytest.raises(Exception, match="depht"):
        parse("dtsemnet fit data.csv --depht 3")


def test_help_names_every_verb(run: Run) -> None:
    shown = run("--help").stdout
    assert [verb for verb in VERBS if f" {verb} " in shown] == list(VERBS)


@pytest.fixture
def distribution(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Install a distribution ``greetings`` with the entry points given and a module that is a verb."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "greeting.py").write_text(GREETING)
    (folder / "faulty.py").write_text("import a_package_that_does_not_exist")
    info = folder / "greetings-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")

    def install(points: str) -> None:
        (info / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(str(folder))

    return install


def test_another_distribution_adds_a_verb_by_an_entry_point(run: Run, distribution: Callable[[str], None]) -> None:
    distribution("[dtsemnet.verbs]\ngreet = greeting\n\n[dtsemnet.rl_verbs]\ngreet = greeting\n")
    assert run("greet", "--loud").stdout == "HELLO\n"
    assert run("rl", "greet").stdout == "hello\n"
    assert " greet " in run("--help").stdout
    assert " greet " in run("rl", "--help").stdout
    assert "Usage" in run("greet", "--quiet", code=2).stderr


def test_a_broken_entry_point_says_so_and_leaves_the_other_verbs_alone(
    run: Run, distribution: Callable[[str], None]
) -> None:
    distribution("[dtsemnet.verbs]\nbroken = faulty\nfit = faulty\n")
    message = run("broken", "--any", "words", code=1).stderr
    assert message.splitlines() == [
        "error: the verb 'broken' of greetings could not be loaded from faulty: ModuleNotFoundError: No module named "
        "'a_package_that_does_not_exist'; reinstall or remove greetings."
    ]
    shown = run("--help").stdout
    assert " broken " in shown
    assert " show " in shown
    assert "--depth" in run("fit", "--help").stdout  # a verb of this distribution is not replaced
    assert isinstance(run("broken", "--debug", code=1).exception, ImportError)


@pytest.mark.parametrize("words", [("bench", "table", "concise", "--seeds", "2"), ("bench", "--help"), ("rl", "list")])
def test_without_the_workshop_its_verbs_say_how_to_get_them(
    words: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dtsemnet.cli.entry_points", lambda **_: ())
    if words[0] == "rl":
        monkeypatch.setattr("dtsemnet.cli.rl.VERBS", {})
    name = words[0] if words[0] != "rl" else words[1]
    assert run(*words, code=1).stderr.splitlines() == [
        f"error: the verb '{name}' is in the package dtsemnet-paper, which is not installed; install it by: "
        "pip install dtsemnet-paper (in a checkout: pip install -e workshop)"
    ]
    assert " bench " not in run("--help").stdout


@pytest.mark.parametrize("words", [["fitt"], ["fit", "--depht", "2"], ["fit", "--depth", "x"], ["show"], ["--nothing"]])
def test_a_wrong_command_line_is_exit_code_2(words: list[str], run: Run) -> None:
    done = run(*words, code=2)
    assert done.stdout == ""
    assert "Usage" in done.stderr


def test_what_is_refused_is_one_line_on_standard_error(run: Run) -> None:
    done = run("show", "nowhere.json", code=1)
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["error: model file 'nowhere.json' does not exist; dtsemnet fit writes one."]


@pytest.mark.parametrize("words", [["--debug", "show", "nowhere.json"], ["show", "nowhere.json", "--debug"]])
def test_debug_lets_the_error_through_wherever_it_stands(words: list[str], run: Run) -> None:
    assert isinstance(run(*words, code=1).exception, FileNotFoundError)


def test_an_error_nobody_foresaw_has_no_traceback_either(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("dtsemnet.cli.models.load", broken)
    done = run("show", "x.json", code=1)
    assert done.stderr.startswith("error: KeyError: 'lost'")
    assert "--debug" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupt_is_exit_code_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dtsemnet.cli.models.load", interrupted)
    assert "interrupted" in run("show", "x.json", code=130).stderr


def test_a_verb_may_be_added_by_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    module = type("module", (), {"EXAMPLES": "dtsemnet greet", "run": staticmethod(lambda: typer.echo("hello"))})
    module.run.__doc__ = "Greet."
    monkeypatch.setitem(VERBS, "greet", "greetings")
    monkeypatch.setitem(importlib.import_module("sys").modules, "greetings", module)  # type: ignore[arg-type]
    assert run("greet").stdout == "hello\n"


def test_version(run: Run) -> None:
    import dtsemnet

    assert run("--version").stdout == f"{dtsemnet.__version__}\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dtsemnet ex", ["explain", "explore", "export"]),
        ("dtsemnet export model.json --to onnx", ["onnx", "onnx-network"]),
        ("dtsemnet plot model.json re", ["regions"]),
        ("dtsemnet fit --task c", ["classification"]),
    ],
)
def test_shell_completes(line: str, expected: list[str]) -> None:
    words = line.split(" ")
    environment = {"_DTSEMNET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = CliRunner().invoke(app, [], prog_name="dtsemnet", env=environment)
    assert done.stdout.split() == expected


def test_json_is_all_that_standard_output_holds(run: Run) -> None:
    for words in (["info"], ["evaluate", "@people.json", "@people.csv"], ["predict", "@people.json", "@people.csv"]):
        assert json.loads(run(*words, "--json").stdout)
