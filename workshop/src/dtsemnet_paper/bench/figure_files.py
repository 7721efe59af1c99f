"""Figures as files: ``figures.toml`` says what each figure shows, records hold its results.

A figure is drawn from records; those that are missing are made first. ``kind`` says which
records: ``height``, ``time`` and ``leaves`` are runs of methods, as tables have them;
``teacher``, ``evolution`` and ``landscape`` are experiments of their own; ``ranks`` reads the
records of tables. Pictures go to ``figures/`` beside the file, as PNG and SVG.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dtsemnet_paper.bench import figures
from dtsemnet_paper.bench.data import DataSet, MissingData, load_data, read_catalogue
from dtsemnet_paper.bench.figure_experiments import leaf_evolution, loss_landscape, teacher_student
from dtsemnet_paper.bench.methods import MissingMethod, find_method, fit_method
from dtsemnet_paper.bench.runs import MethodRun, execute, run_key
from dtsemnet_paper.bench.selection import missing_data, missing_methods
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.bench.statistics import compare
from dtsemnet_paper.bench.summary import summarise
from dtsemnet_paper.bench.tables import FOLDER, output_folder, read_table
from dtsemnet_paper.records import Job, Record, latest, read_records, run_missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureFile", "draw", "read_figures"]


class FigureFile(NamedTuple):
    """A figure as ``figures.toml`` describes it."""

    name: str
    options: Mapping[str, Any]
    """Everything that the file says about the figure."""
    folder: Path
    """Folder of the file, with the catalogue of data sets beside it."""

    @property
    def results(self) -> Path:
        """File of the records."""
        return output_folder(self.folder) / "results" / f"figure-{self.name}.jsonl"


def read_figures(folder: Path = FOLDER) -> dict[str, FigureFile]:
    """Read what the figures of a folder are."""
    path = folder / "figures.toml"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; run in a folder that holds {FOLDER}/, or name it with --folder.")
    with path.open("rb") as file:
        content: dict[str, dict[str, Any]] = tomllib.load(file)
    for name, options in content.items():
        if options.get("kind") not in KINDS:
            raise ValueError(f"kind of figure {name} in {path} must be one of {', '.join(KINDS)}.")
    return {name: FigureFile(name, options, folder) for name, options in content.items()}


def draw(name: str | None = None, folder: Path = FOLDER, *, make: bool = True, n_jobs: int | None = None) -> list[Path]:
    """Draw one figure, or all of them.

    Parameters
    ----------
    make : bool, default=True
        Make the records that are missing; otherwise figures without records are left out.

    Returns
    -------
    list of Path
        The files written.
    """
    known = read_figures(folder)
    if name is not None and name not in known:
        raise ValueError(f"there is no figure {name!r}; there are {', '.join(known)}.")
    written = []
    for figure in known.values() if name is None else [known[name]]:
        jobs, plot = KINDS[figure.options["kind"]]
        if make:
            run_missing(jobs(figure), n_jobs=n_jobs)
        picture = plot(figure)
        if picture is not None:
            written += figures.save_figure(picture, output_folder(folder) / "figures" / figure.name)
    return written


# Figures of runs.


def _runs(figure: FigureFile) -> list[MethodRun]:
    options = figure.options
    return [
        MethodRun(method, name, seed, "paper", {"max_depth": height})
        for seed in range(options["seeds"])
        for name in options["sets"]
        for method in options["methods"]
        for height in (options["heights"] if isinstance(options["heights"], list) else [options["heights"][name]])
    ]


def _run_jobs(figure: FigureFile) -> list[Job]:
    """The runs of a figure whose data and methods are available."""
    catalogue = read_catalogue(figure.folder / "datasets.toml")
    specs = {name: catalogue[name] for name in figure.options["sets"]}
    absent = missing_data(list(specs.values()))
    for task in {spec.task for spec in specs.values()}:
        absent |= missing_methods(figure.options["methods"], task)
    return [
        Job(run.key, figure.results, functools.partial(execute, run, specs[run.set]))
        for run in _runs(figure)
        if run.set not in absent and run.method not in absent
    ]


def _plot_runs(plot: Callable[[Sequence[Record]], Figure], figure: FigureFile) -> Figure | None:
    keys, sets, methods = {run.key for run in _runs(figure)}, figure.options["sets"], figure.options["methods"]
    records = [r for r in latest(read_records(figure.results)) if r["key"] in keys and not r["error"]]
    records.sort(key=lambda record: (sets.index(record["set"]), methods.index(record["method"])))
    return plot(records) if records else None


# Figures of experiments. The name of an experiment is what tells it from the others of its figure.


def _experiment(
    work: Callable[[FigureFile, Mapping[str, Any]], Record], figure: FigureFile, name: Mapping[str, Any]
) -> Record | None:
    """Run an experiment; nothing is recorded if its data or method is not available."""
    try:
        return {**name, **work(figure, name)}
    except (MissingData, MissingMethod):
        return None


def _key(figure: FigureFile, name: Mapping[str, Any]) -> str:
    return run_key({"method": figure.name, "configuration": {**name, **figure.options}})


def _experiment_jobs(
    names: Callable[[FigureFile], list[dict[str, Any]]],
    work: Callable[[FigureFile, Mapping[str, Any]], Record],
    figure: FigureFile,
) -> list[Job]:
    return [
        Job(_key(figure, name), figure.results, functools.partial(_experiment, work, figure, name))
        for name in names(figure)
    ]


def _plot_experiments(
    names: Callable[[FigureFile], list[dict[str, Any]]],
    plot: Callable[[Sequence[Record]], Figure],
    figure: FigureFile,
) -> Figure | None:
    known = {record["key"]: record for record in read_records(figure.results)}
    keys = [_key(figure, name) for name in names(figure)]
    records = [known[key] for key in keys if key in known]
    return plot(records) if records else None


def _students(figure: FigureFile) -> list[dict[str, Any]]:
    return [{"selector": selector, "seed": figure.options["seed"]} for selector in ("straight_through", "top_2")]


def _student(figure: FigureFile, name: Mapping[str, Any]) -> Record:
    return teacher_student(name["selector"], seed=name["seed"])


def _evolutions(figure: FigureFile) -> list[dict[str, Any]]:
    selectors = ("straight_through", "top_k_reg_1", "top_k")
    return [{"selector": selector, "set": title} for title in figure.options["sets"] for selector in selectors]


def _evolution(figure: FigureFile, name: Mapping[str, Any]) -> Record:
    data = _data(figure, name["set"])
    rows = split_rows(data, 0).train
    return leaf_evolution(name["selector"], data.X[rows], data.y[rows], **figure.options["sets"][name["set"]])


def _landscapes(figure: FigureFile) -> list[dict[str, Any]]:
    options = figure.options
    return [{"method": method, "set": title} for title in options["sets"] for method in options["methods"]]


def _landscape(figure: FigureFile, name: Mapping[str, Any]) -> Record:
    data = _data(figure, name["set"])
    split = split_rows(data, 0)
    estimator = find_method(name["method"]).make(
        "classification", {"max_depth": figure.options["sets"][name["set"]]}, 0
    )
    tree = fit_method(estimator, split.visible_rows(data)).tree_
    rows = np.random.default_rng(0).permutation(split.train)[: figure.options["rows"]]
    codes = np.searchsorted(np.unique(data.y[split.train]), data.y[rows])
    return loss_landscape(tree, data.X[rows], codes, network=name["method"].startswith("dtsemnet"))


def _data(figure: FigureFile, name: str) -> DataSet:
    return load_data(read_catalogue(figure.folder / "datasets.toml")[name])


# Figures of tables.


def _no_jobs(figure: FigureFile) -> list[Job]:
    return []


def _plot_ranks(figure: FigureFile) -> Figure | None:
    """Draw average ranks over the sets of one or several tables, of the methods that all of them have."""
    methods, tables = figure.options["methods"], [read_table(n, folder=figure.folder) for n in figure.options["tables"]]
    scores = []
    for summary in (summarise(table, table.records(), protocols=table.protocols[:1]) for table in tables):
        columns = {column.method: column for column in summary.columns}
        for name in summary.sets:
            cells = [summary.cells.get((name, columns[m])) if m in columns else None for m in methods]
            if all(cell is not None and cell.ours for cell in cells):
                scores.append([cell.ours["test"].mean for cell in cells if cell is not None])
    if len(scores) < 2:
        return None
    comparison = compare(list(methods), scores, larger_is_better=tables[0].larger_is_better)
    return figures.plot_critical_difference(comparison, f"{len(scores)} data sets")


class Kind(NamedTuple):
    """A kind of figure."""

    jobs: Callable[[FigureFile], list[Job]]
    """What makes the records."""
    plot: Callable[[FigureFile], Figure | None]
    """Draws from the records; None if there are none."""


def _kind_of_runs(plot: Callable[[Sequence[Record]], Figure]) -> Kind:
    return Kind(_run_jobs, functools.partial(_plot_runs, plot))


def _kind_of_experiments(
    names: Callable[[FigureFile], list[dict[str, Any]]],
    work: Callable[[FigureFile, Mapping[str, Any]], Record],
    plot: Callable[[Sequence[Record]], Figure],
) -> Kind:
    return Kind(
        functools.partial(_experiment_jobs, names, work),
        functools.partial(_plot_experiments, names, plot),
    )


KINDS = {
    "height": _kind_of_runs(figures.plot_heights),
    "time": _kind_of_runs(figures.plot_times),
    "leaves": _kind_of_runs(figures.plot_leaf_use),
    "ranks": Kind(_no_jobs, _plot_ranks),
    "teacher": _kind_of_experiments(_students, _student, figures.plot_teacher),
    "evolution": _kind_of_experiments(_evolutions, _evolution, figures.plot_evolution),
    "landscape": _kind_of_experiments(_landscapes, _landscape, figures.plot_landscapes),
}
"""The kinds of figures by name."""
