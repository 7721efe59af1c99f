"""verify: the same answers as the library's, statements that fail the command, and domains from tables and options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import QUICK, Run
from dtsemnet.tree import Model, load_document
from dtsemnet.verify import Domain, certify, monotone, never, output_bounds, reachable_leaves

BARE = ("--box", "a=0:1", "--box", "b=0:4")  # the tree says yes where a - b + 0.5 > 0


def test_report_says_what_the_library_says(prepared: Path, run: Run) -> None:
    model = Model.of(load_document(prepared / "wine.json").content)
    wine = pd.read_csv(prepared / "wine.csv")
    X, y = wine.drop(columns="cultivar"), wine["cultivar"]
    found = run("verify", "@wine.json", "--data", "@wine.csv", "--epsilon", 0.01, "--epsilon", 0.1, "--json").json()
    domain = Domain.from_data(X)
    assert found["leaves"]["reachable"] == reachable_leaves(model, domain).reachable
    assert found["fingerprint"] == model.fingerprint()
    for line, outcome in zip(found["outputs"], output_bounds(model, domain)):
        assert line["never below"] == outcome.minimum.certified
        assert line["largest"] == outcome.maximum.attained
    assert [line["share"] for line in found["robustness"]] == [certify(model, X, e, y=y).share for e in (0.01, 0.1)]
    assert found["robustness"][0]["rows"] == len(X)


def test_people_read_a_summary_and_file_the_rest(run: Run) -> None:
    done = run("verify", "@wine.json", "--data", "@wine.csv", "--epsilon", 0.05, "--max-rows", 20, "--out", "audit.md")
    shown = done.stdout
    assert "leaves reachable" in shown
    assert "cultivar 1" in shown
    assert "20 rows certified and correct within 0.05" in shown
    assert "20 of 178 rows certified" in done.stderr
    text = Path("audit.md").read_text("utf-8")
    assert text.startswith("# What is proved about this tree")
    assert "## Robustness" in text
    assert "--force" in run("verify", "@wine.json", "--data", "@wine.csv", "--out", "audit.md", code=1).stderr


def test_numbers_with_categories_and_missing_values(run: Run) -> None:
    free = run("verify", "@people.json", "--data", "@people.csv", "--json").json()
    held = run(
        "verify", "@people.json", "--data", "@people.csv", "--fix", "city=Oslo", "--fix", "age=40", "--json"
    ).json()
    (wide,), (narrow,) = free["outputs"], held["outputs"]
    assert wide["never below"] <= narrow["never below"] <= narrow["never above"] <= wide["never above"]
    assert wide["never above"] - wide["never below"] > narrow["never above"] - narrow["never below"]
    shown = run("verify", "@people.json", "--data", "@people.csv").stdout
    assert "never below" in shown


def test_a_statement_that_holds_is_proved_and_one_that_does_not_fails_the_command(prepared: Path, run: Run) -> None:
    model = Model.of(load_document(prepared / "bare.json").content)
    away = ("--box", "a=0:1", "--box", "b=2:4")
    assert never(model, Domain([0, 2], [1, 4]), "yes").status == "yes"
    assert "never 'yes': proved" in run("verify", "@bare.json", *away, "--never", "yes").stdout
    done = run("verify", "@bare.json", *BARE, "--never", "yes", code=1)
    assert "never 'yes': wrong (`" in done.stdout
    assert "not proved: never 'yes'" in done.stderr
    assert monotone(model, "a", Domain([0, 0], [1, 4]), output="yes").status == "yes"
    rising = run("verify", "@bare.json", *BARE, "--monotone", "a", "--output", "yes", "--json").json()
    assert rising["statements"][0]["status"] == "yes"
    falling = run("verify", "@bare.json", *BARE, "--monotone", "b", "--output", "yes", "--json", code=1).json()
    assert falling["statements"][0]["status"] == "no"


def test_whole_numbers_and_margins_change_the_domain(run: Run) -> None:
    thin = ("--box", "a=0.2:0.8", "--box", "b=0:4")
    assert "no integer in column 'a'" in run("verify", "@bare.json", *thin, "--integer", "a", code=1).stderr
    narrow, wide = (
        run("verify", "@bare.json", "--data", "@ab.csv", "--margin", margin, "--json").json() for margin in (0, 3)
    )
    assert len(narrow["leaves"]["reachable"]) <= len(wide["leaves"]["reachable"]) == 2


def test_page_shows_the_proofs(run: Run) -> None:
    done = run("verify", "@bare.json", "--data", "@ab.csv", "--epsilon", 0.1, "--page", "page.html")
    assert "Page written to page.html" in done.stdout
    assert '"proofs":{"status"' in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the range of column 'a' is open"),
        (["--box", "a=0:1"], "add --box b=LOW:HIGH"),
        (["--box", "a"], "--box must read COLUMN=LOW:HIGH"),
        (["--box", "a=0"], "--box must read a=LOW:HIGH with two numbers"),
        (["--box", "c=0:1"], "--box 'c' is no column of the model"),
        ([*BARE, "--never", "maybe"], "--never 'maybe' is no class of the model"),
        ([*BARE, "--epsilon", "0.1"], "add --data FILE"),
        ([*BARE, "--monotone", "c"], "--monotone 'c' is no column"),
    ],
)
def test_what_is_refused(words: list[str], reason: str, run: Run) -> None:
    assert reason in run("verify", "@bare.json", *words, code=1).stderr


def test_norm_is_one_of_three(run: Run) -> None:
    assert "is not one of 'inf', '1', '2'" in run("verify", "@bare.json", *BARE, "--norm", "3", code=2).stderr
    rows = ("verify", "@bare.json", "--data", "@ab.csv", "--epsilon", 0.1, "--json")
    shares = [run(*rows, "--norm", norm).json()["robustness"][0]["share"] for norm in ("inf", "1")]
    assert shares[0] <= shares[1]


def test_options_for_classes_are_refused_for_numbers(run: Run) -> None:
    words = ("verify", "@people.json", "--data", "@people.csv")
    assert "the model predicts numbers" in run(*words, "--never", "Oslo", code=1).stderr
    assert "leave it out, and hold its columns near a row by --box" in run(*words, "--epsilon", 0.1, code=1).stderr
    assert "hold it by --fix city=VALUE" in run(*words, "--box", "city=0:1", code=1).stderr
    assert "no category" in run(*words, "--fix", "city=Paris", code=1).stderr


def test_codes_that_fit_read_as_categories_are_no_range_of_numbers(run: Run) -> None:
    rng = np.random.default_rng(0)
    code = rng.choice([1.0, 2.0, np.nan], 120)
    table = pd.DataFrame({"code": code, "x": rng.normal(size=120)})
    table["kind"] = np.where(np.isnan(code), "review", "pass")
    table.to_csv("codes.csv", index=False)
    run("fit", "codes.csv", "--target", "kind", "--categorical", "code", "--depth", 2, "--out", "codes.json", *QUICK)
    model = Model.load("codes.json")
    assert "review" in model.predict(table)
    done = run("verify", "codes.json", "--data", "codes.csv", "--never", "review", code=1)
    assert "never 'review': wrong (`code = None" in done.stdout
    held = run(
        "verify", "codes.json", "--data", "codes.csv", "--fix", "code=1.0", "--never", "review", "--epsilon", 0.1
    )
    assert "never 'review': proved" in held.stdout
    assert f"{int((code != 1).sum())} more rows lie outside the domain" in held.stdout


def test_dependence_on_a_column_fails_the_command_and_flips_are_counted(run: Run) -> None:
    near = ("--box", "a=0:1", "--box", "b=0:0.25")
    assert "never changes the answer: proved" in run("verify", "@bare.json", *near, "--independent", "a").stdout
    done = run("verify", "@bare.json", *BARE, "--independent", "b=0.5", "--independent", "a,b", code=1)
    assert "changing b by at most 0.5 alone never changes the answer: wrong" in done.stdout
    assert "changing a and b alone" in done.stderr
    table = run("verify", "@people.json", "--data", "@people.csv", "--independent", "city", "--json", code=1)
    (found,) = table.json()["flips"]
    assert found["change"] == "city"
    assert 0 <= found["at least"] <= found["at most"] <= 1
    assert "a number" in run("verify", "@bare.json", *BARE, "--independent", "b=x", code=1).stderr
    assert "is no column" in run("verify", "@bare.json", *BARE, "--independent", "c", code=1).stderr
