"""Run all benchmarks, print their tables, and write ``results.jsonl`` and ``RESULTS.md`` beside this file.

Run by ``make bench`` or ``python benchmarks/run.py``. Each part that is measured appends one record; the newest one
of each part counts. ``RESULTS.md`` is a function of the records alone: ``python benchmarks/run.py --report`` writes it
again without measuring.
"""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

import export_c
import first_start
import growth
import peers
import predict
import rl_speed
import whole_fit
from measure import machine

import training
from dtsemnet_paper.records import Job, Record, latest, read_records, run_once

HERE = Path(__file__).parent
RESULTS, REPORT = HERE / "results.jsonl", HERE / "RESULTS.md"
PARTS = {
    "training": training,
    "prediction": predict,
    "growth": growth,
    "whole fits": whole_fit,
    "first start": first_start,
    "default and others": peers,
    "exported C": export_c,
    "tree agents": rl_speed,
}


def main() -> None:
    """Measure, unless only the report is wanted, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help=f"measure these alone: {', '.join(PARTS)}")
    parser.add_argument("--report", action="store_true", help="write RESULTS.md from results.jsonl, measure nothing")
    arguments = parser.parse_args()
    # Growth first: its processes start while the machine is idle, and this process holds no data yet.
    for name in () if arguments.report else sorted(arguments.part or PARTS, key=lambda name: name != "growth"):
        run_once(Job(name, RESULTS, lambda name=name: measure(name)), fresh=True)
    text = report({record["key"]: record for record in latest(read_records(RESULTS))})
    REPORT.write_text(text)
    print(text)


def measure(name: str) -> Record:
    """Measure one part."""
    origin = {"command": f"python benchmarks/run.py '{name}'", "date": date.today().isoformat(), "machine": machine()}
    return origin | {"records": PARTS[name].records()}


def report(records: dict[str, Record]) -> str:
    """Lay out all results as one page."""
    page = ["# Speed and memory\n\nCPU time on one thread, what is compared interleaved, the best of the repeats.\n"]
    for name, part in PARTS.items():
        if name not in records:
            continue
        record, m = records[name], records[name]["machine"]
        versions = ", ".join(f"{package} {number}" for package, number in m["versions"].items())
        page.append(f"## {name[0].upper() + name[1:]}\n\n{part.report(record['records'])}\n")
        system = f"{m['processor']}, {m['cores']} cores, {m['system']}"
        page.append(f"`{record['command']}`, {record['date']}: {system}; {versions}.\n")
    return "\n".join(page)


if __name__ == "__main__":
    main()
