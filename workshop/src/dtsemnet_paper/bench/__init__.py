"""Benchmarks: data sets, methods, runs, tables, figures and statistics.

TOML files say what is run and what was published; no data set is named in the code.
``dtsemnet bench table NAME`` runs a table; this package does the work.
"""

from dtsemnet_paper.bench.data import DataSet, DataSpec, MissingData, load_data, read_catalogue
from dtsemnet_paper.bench.methods import METHODS, Method, MissingMethod, find_method, register
from dtsemnet_paper.bench.render import to_grids, to_json, to_markdown
from dtsemnet_paper.bench.runs import MethodRun, execute, run_all
from dtsemnet_paper.bench.selection import Selection
from dtsemnet_paper.bench.splits import Split, VisibleRows, split_rows
from dtsemnet_paper.bench.statistics import compare, critical_difference, distance_to_best, signed_rank
from dtsemnet_paper.bench.summary import Summary, summarise
from dtsemnet_paper.bench.tables import Table, find_tables, read_table
from dtsemnet_paper.records import append_record, read_records

__all__ = [
    "DataSet", "DataSpec", "METHODS", "Method", "MethodRun", "MissingData", "MissingMethod", "Selection", "Split",
    "Summary", "Table", "VisibleRows", "append_record", "compare", "critical_difference", "distance_to_best",
    "execute", "find_method", "find_tables", "load_data", "read_catalogue", "read_records", "read_table", "register",
    "run_all", "signed_rank", "split_rows", "summarise", "to_grids", "to_json", "to_markdown",
]  # fmt: skip
