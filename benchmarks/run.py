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

import export_c
import growth
import predict
import rl_speed
from measure import machine

import training

HERE = Path(__file__).parent
RESULTS, REPORT = HERE / "results.json", HERE / "RESULTS.md"
PARTS = {"training": training, "prediction": predict, "growth": growth, "exported C": export_c, "tree agents": rl_speed}


def main() -> None:
    """Measure, unless told not to, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help=f"measure these alone: {', '.join(PARTS)}")
    parser.add_argument("--report", action="store_true", help="write RESULTS.md from results.json, measure nothing")
    asked = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    # Growth first: its processes start from a machine at rest, and this one holds no data yet.
    for name in () if asked.report else sorted(asked.part or PARTS, key=lambda name: name != "growth"):
        about = {
            "command": f"python benchmarks/run.py '{name}'",
            "date": date.today().isoformat(),
            "machine": machine(),
        }
        found[name] = about | {"records": PARTS[name].records()}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    text = report(found)
    REPORT.write_text(text)
    print(text)


def report(found: dict[str, Any]) -> str:
    """Lay out all results as one page."""
    page = ["# Speed and memory\n\nCPU time on one thread, what is compared interleaved, the best of the repeats.\n"]
    for name, part in PARTS.items():
        if name not in found:
            continue
        about, m = found[name], found[name]["machine"]
        versions = ", ".join(f"{package} {number}" for package, number in m["versions"].items())
        page.append(f"## {name[0].upper() + name[1:]}\n\n{part.report(about['records'])}\n")
        page.append(
            f"`{about['command']}`, {about['date']}: {m['processor']}, {m['cores']} cores, {m['system']}; {versions}.\n"
        )
    return "\n".join(page)


if __name__ == "__main__":
    main()
