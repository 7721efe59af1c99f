"""A table, or a part of it: find what can be run, run it, and fill the table.

Sets whose rows are missing and methods that cannot be imported are reported, with the way to
get them, and left out; everything else is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dtsemnet_paper.bench.data import DataSpec, MissingData, check_data
from dtsemnet_paper.bench.methods import MissingMethod, find_method
from dtsemnet_paper.bench.runs import MethodRun, run_all
from dtsemnet_paper.bench.summary import Summary, summarise
from dtsemnet_paper.bench.tables import Table
from dtsemnet_paper.records import Record

__all__ = ["Selection", "missing_data", "missing_methods"]


@dataclass(frozen=True)
class Selection:
    """Sets, methods, protocols and seeds of a table.

    Parameters
    ----------
    table : Table
    sets, methods, protocols : sequence of str, optional
        By default those of the table.
    seeds : int, optional
        Seeds ``0 .. seeds - 1``; by default as many as were published.
    download : bool, default=True
        Ask OpenML for sets that are not here.
    """

    table: Table
    sets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    protocols: Sequence[str] | None = None
    seeds: int | None = None
    download: bool = True

    def __post_init__(self) -> None:
        for name in self.sets or ():
            if name not in self.table.sets:
                raise ValueError(f"sets: {name!r} is none of the sets of this table, {', '.join(self.table.sets)}.")
        for name in self.methods or ():
            find_method(name)
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {self.seeds}.")

    def missing_data(self) -> dict[str, str]:
        """Sets that are not available, and how to get each."""
        known = self.table.catalogue()
        return missing_data([known[name] for name in self.sets or self.table.sets], download=self.download)

    def missing_methods(self) -> dict[str, str]:
        """Methods that are not available, and how to get each."""
        return missing_methods(self.methods or self.table.methods, self.task)

    @property
    def task(self) -> str:
        """Task of the methods: classification or regression."""
        return "classification" if self.table.score == "accuracy" else "regression"

    def runs(self, without: Sequence[str] = ()) -> list[MethodRun]:
        """List the runs of the selection, but for those of sets or methods that are missing."""
        sets = [name for name in self.sets or self.table.sets if name not in without]
        methods = [name for name in self.methods or self.table.methods if name not in without]
        return self.table.runs(sets=sets, methods=methods, seeds=self.seeds, protocols=self.protocols)

    def waiting(self, runs: Sequence[MethodRun], *, retry: bool = False) -> list[MethodRun]:
        """List the runs that have no record yet."""
        done = {record["key"] for record in self.table.records() if not (retry and record["error"])}
        return [run for run in runs if run.key not in done]

    def run_missing(
        self,
        runs: Sequence[MethodRun],
        *,
        n_jobs: int | None = None,
        retry: bool = False,
        watch: Callable[[Record], None] = lambda record: None,
    ) -> list[Record]:
        """Run what has no record yet; see :func:`~dtsemnet_paper.bench.runs.run_all`."""
        table = self.table
        return run_all(
            runs, table.catalogue(), table.results, files=table.method_files, n_jobs=n_jobs, recorded=table.records(),
            retry=retry, watch=watch,
        )  # fmt: skip

    def summary(self, missing: dict[str, str] | None = None) -> Summary:
        """Fill the table from its records."""
        return summarise(
            self.table, self.table.records(), sets=self.sets, methods=self.methods, protocols=self.protocols,
            seeds=self.seeds, missing=missing,
        )  # fmt: skip


def missing_data(specs: Sequence[DataSpec], *, download: bool = True) -> dict[str, str]:
    """Find the sets that are not available; returns the reason and source of each."""
    missing = {}
    for spec in specs:
        try:
            check_data(spec, download=download)
        except MissingData as error:
            missing[spec.name] = error.reason + (f"; source: {spec.source}" if spec.source else "")
    return missing


def missing_methods(names: Sequence[str], task: str) -> dict[str, str]:
    """Find the methods that cannot be imported or do not do the task; returns the reason for each.

    Examples
    --------
    >>> missing_methods(["dtsemnet", "dtsemnet-ste"], "classification")
    {'dtsemnet-ste': 'dtsemnet-ste does no classification.'}
    """
    missing = {}
    for name in names:
        try:
            find_method(name).load(task)
        except MissingMethod as error:
            missing[name] = str(error)
    return missing
