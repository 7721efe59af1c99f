"""Every question against independent oracles, as one table: ``PYTHONPATH=tests python -m verify.campaign``.

Runs the slow tests of this folder, which ask about at least 500 random trees (or loops) each and compare every answer
with the oracle that a line of the table names. A test fails at the first answer that its oracle contradicts. An answer
is *undecided* if it says so, or if what is certified and what is attained are not the same number. Words on the command
line are the beginnings of oracles to run: ``python -m verify.campaign z3``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).parent
ORACLES = {
    "all rows of a finite domain": ["test_finite_domains.py"],
    "every double of a small box": [
        "test_float_neighbours.py", "vnnlib/test_answer.py::test_agrees_with_every_double_of_a_small_box"
    ],
    "all pairs of rows": ["questions/test_independent.py::test_agrees_with_all_pairs_of_a_finite_domain"],
    "z3": [
        "questions/test_reachability.py", "questions/test_output_bounds.py", "questions/test_robustness.py",
        "questions/test_counterfactual.py", "questions/test_equivalence.py", "questions/test_monotone.py",
        "questions/test_independent.py::test_agrees_with_exact_arithmetic", "questions/test_jump.py",
        "questions/test_simplify.py", "vnnlib/test_answer.py::test_agrees_with_exact_arithmetic",
    ],
    "z3 and cvc5, steps in exact arithmetic": ["proof/test_smt.py"],
    "traces": ["closed_loop/test_questions.py"],
}  # fmt: skip


def run(oracle: str, place: str) -> bool:
    """Run the slow tests of a file, and print a line for each question; whether all is well."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "slow", "--hypothesis-seed=22"]
        command = [sys.executable, "-m", "pytest", *words, f"--junit-xml={report}", str(HERE / place)]
        before = os.times()
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        after = os.times()
        cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        ways = {"True": ", by listing", "False": ", by linear programs alone"}
        way = ways.get(case.get("name", "").partition("[")[2].partition("-")[0], "")
        kind = next((f", {word}" for word in ("affine", "curved") if f"[{word}]" in case.get("name", "")), "")
        for tally in case.iter("property"):
            name, counted = tally.get("name", ""), tally.get("value", "")
            if name.startswith("tally "):
                trees, asked, undecided = map(int, counted.split())
                question = name.removeprefix("tally ") + way + kind
                share = f"{undecided} ({undecided / asked:.1%})"
                print(f"| {question} | {oracle} | {trees} | {asked} | {share} |", flush=True)
    is_well = bool(cases) and not any(
        case.find("failure") is not None or case.find("error") is not None for case in cases
    )
    seconds = sum(after[2:4]) - sum(before[2:4])
    print(f"<!-- {place}: {'nothing wrong' if is_well else 'FAILED'}, {seconds:.0f} s of CPU -->", flush=True)
    if not is_well:
        print(said)
    return is_well


def main(words: list[str]) -> int:
    """Print the table; 1 if an answer is wrong."""
    print("| question | oracle | trees | answers | undecided |\n|---|---|---:|---:|---:|", flush=True)
    chosen = [oracle for oracle in ORACLES if not words or any(oracle.startswith(word) for word in words)]
    is_well = True
    for oracle in chosen:
        for place in ORACLES[oracle]:
            is_well &= run(oracle, place)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
