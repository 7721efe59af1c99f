"""card: the page holds the scores of the fit, or those of a table."""

from __future__ import annotations

from pathlib import Path

from cli.conftest import Run


def test_a_card_holds_the_scores_that_the_fit_kept(run: Run) -> None:
    card = run("card", "@wine.json", "--license", "mit").stdout
    assert card.startswith('---\nlibrary_name: "dtsemnet"\n')
    assert "rows that were set aside from training" in card
    assert "| accuracy |" in card
    assert "wine.csv" in card


def test_a_table_is_scored_and_the_proofs_are_taken_in(run: Run, prepared: Path) -> None:
    figures = run("evaluate", "@people.json", "@people.csv", "--json").json()
    done = run("verify", "@wine.json", "--data", "@wine.csv", "--out", "audit.md")
    assert done.stdout
    run(
        "card",
        "@people.json",
        "--data",
        "@people.csv",
        "--out",
        "README.md",
        "--use",
        "Guessing incomes. Not for loans.",
    )
    card = Path("README.md").read_text("utf-8")
    assert "On 198 rows of people.csv:" in card
    assert f"{figures['scores']['MAE']:.4g}"[:4] in card
    assert "Not for loans." in card
    assert "### Leaves" in run("card", "@wine.json", "--proofs", "audit.md").stdout


def test_a_bare_tree_has_a_card_that_says_what_is_unknown(run: Run) -> None:
    done = run("card", "@bare.json")
    assert "Not measured on rows" in done.stdout
    assert "The file does not say." in done.stdout
    assert "--data FILE adds some" in done.stderr
    assert "--target is missing" in run("card", "@bare.json", "--data", "@ab.csv", code=1).stderr


def test_a_file_is_not_replaced_unasked(run: Run) -> None:
    Path("README.md").write_text("mine")
    assert "README.md" in run("card", "@bare.json", "--out", "README.md", code=1).stderr
    run("card", "@bare.json", "--out", "README.md", "--force")
    assert "library_name" in Path("README.md").read_text("utf-8")
