"""``dtsemnet bench``: run the tables and figures of a folder ``paper`` and show them beside what was published."""

from __future__ import annotations

__all__ = ["EXAMPLES", "HELP", "VERBS"]

HELP = """
Run the tables and figures of the paper and show them beside the published values.

Archives of numbers are looked for in the folder named by DTSEMNET_DATA, in the cache, and on OpenML, CSV files in the
folder named by DTSEMNET_TABLES. Tables are read from the folder paper if it is here, else those that came with this
package.
"""

EXAMPLES = """
dtsemnet bench list
dtsemnet bench table concise --seeds 2 --methods dtsemnet,cart
dtsemnet bench figure teacher-student
dtsemnet bench report
"""

VERBS = {
    "table": "dtsemnet_paper.cli.bench.table",
    "list": "dtsemnet_paper.cli.bench.list",
    "figure": "dtsemnet_paper.cli.bench.figure",
    "report": "dtsemnet_paper.cli.bench.report",
}
"""Module of each verb of ``bench``, in the order of the help."""
