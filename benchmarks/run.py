"""Run all benchmarks, print their tables, and write ``results.json`` and ``RESULTS.md`` beside this file.

Run by ``make bench`` or ``python benchmarks/run.py``. ``RESULTS.md`` is a function of ``results.json`` alone:
``python benchmarks/run.py --report`` writes it anew without measuring.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

import growth
import predict
from measure import machine

import training

HERE = Path(__file__).parent
RESULTS, REPORT = HERE / "results.json", HERE / "RESULTS.md"
PARTS = {"training": training, "prediction": predict, "growth": growth}


def main() -> None:
    """Measure, unless told not to, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="write RESULTS.md from results.json, measure nothing")
    if not parser.parse_args().report:
        found = {"command": "python benchmarks/run.py", "date": date.today().isoformat(), "machine": machine()}
        # Growth first: its processes start from a machine at rest, and this one holds no data yet.
        found |= {name: PARTS[name].records() for name in ("growth", "training", "prediction")}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    text = report(json.loads(RESULTS.read_text()))
    REPORT.write_text(text)
    print(text)


def report(found: dict[str, Any]) -> str:
    """Lay out all results as one page."""
    m = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in m["versions"].items())
    head = (
        "# Speed and memory\n\n"
        f"Written by `{found['command']}` on {found['date']}: {m['processor']}, {m['cores']} cores, {m['system']}; "
        f"{versions}.\nCPU time on one thread, what is compared interleaved, the best of the repeats.\n"
    )
    parts = [f"## {name.capitalize()}\n\n{part.report(found[name])}\n" for name, part in PARTS.items()]
    return "\n".join([head, *parts])


if __name__ == "__main__":
    main()
