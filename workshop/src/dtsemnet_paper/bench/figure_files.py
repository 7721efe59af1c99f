"""The gallery: ``figures.toml`` says what each figure shows, results are kept as records.

A figure is drawn from records. Those that are missing are made first: runs of methods as
tables have them, or one of the experiments. ``kind`` says which: ``height``, ``time`` and
``leaves`` are runs; ``ranks`` reads the records of tables; ``teacher``, ``evolution`` and
``landscape`` are experiments. Pictures go to ``figures/`` beside the file, as PNG and SVG.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet_paper.bench import figures
from dtsemnet_paper.bench.data import DataSet, MissingData, load_data, read_catalogue
from dtsemnet_paper.bench.figure_experiments import leaf_evolution, loss_landscape, teacher_student
from dtsemnet_paper.bench.methods import MissingMethod, find_method, fit_method
from dtsemnet_paper.bench.runs import Run, run_all
from dtsemnet_paper.bench.selection import missing_data, missing_methods
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.bench.summary import summarise
from dtsemnet_paper.bench.tables import FOLDER, read_table
from dtsemnet_paper.records import Record, append_record, key_of, latest, mend, read_records

__all__ = ["draw", "read_gallery"]


def read_gallery(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Read what the figures of a folder are."""
    path = folder / "figures.toml"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; run in a folder that holds {FOLDER}/, or name it with --folder.")
    with path.open("rb") as file:
        found: dict[str, dict[str, Any]] = tomllib.load(file)
    for name, wish in found.items():
        if wish.get("kind") not in KINDS:
            raise ValueError(f"kind of figure {name} in {path} must be one of {', '.join(KINDS)}.")
    return found


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
    known = read_gallery(folder)
    if name is not None and name not in known:
        raise ValueError(f"there is no figure {name!r}; there are {', '.join(known)}.")
    written = []
    for title in known if name is None else [name]:
        picture = KINDS[known[title]["kind"]](title, known[title], folder, make, n_jobs)
        if picture is not None:
            written += figures.save_figure(picture, folder / "figures" / title)
    return written


def _of_runs(plot: Callable[[Any], Any]) -> Callable[..., Any]:
    """A figure of runs, made by the same machinery as those of tables."""

    def figure(name: str, wish: Mapping[str, Any], folder: Path, make: bool, n_jobs: int | None) -> Any:
        path, known = folder / "results" / f"figure-{name}.jsonl", read_catalogue(folder / "datasets.toml")
        runs = [
            Run(method, title, seed, "paper", {"max_depth": height})
            for seed in range(wish["seeds"])
            for title in wish["sets"]
            for method in wish["methods"]
            for height in _heights(wish, title)
        ]
        specs = {title: known[title] for title in wish["sets"]}
        if make:
            absent = missing_data(list(specs.values()))
            for task in {spec.task for spec in specs.values()}:
                absent |= missing_methods(wish["methods"], task)
            there = [run for run in runs if run.set not in absent and run.method not in absent]
            run_all(there, specs, path, n_jobs=n_jobs)
        keys = {run.key for run in runs}
        records = [r for r in latest(read_records(path)) if r["key"] in keys and not r["error"]]
        return plot(sorted(records, key=lambda r: _place(wish, r))) if records else None

    return figure


def _heights(wish: Mapping[str, Any], title: str) -> list[int]:
    heights = wish["heights"]
    return list(heights) if isinstance(heights, list) else [heights[title]]


def _place(wish: Mapping[str, Any], record: Record) -> tuple[int, int]:
    return wish["sets"].index(record["set"]), wish["methods"].index(record["method"])


def _ranks(name: str, wish: Mapping[str, Any], folder: Path, make: bool, n_jobs: int | None) -> Any:
    """Average ranks over the sets of one or several tables, of the methods that all of them have."""
    from dtsemnet_paper.bench.statistics import compare

    filled = [
        summarise(t, t.records(), protocols=["paper"]) for t in (read_table(n, folder=folder) for n in wish["tables"])
    ]
    scores = []
    for summary in filled:
        columns = {column.method: column for column in summary.columns}
        for title in summary.sets:
            cells = [summary.cells.get((title, columns[m])) if m in columns else None for m in wish["methods"]]
            if all(cell is not None and cell.ours for cell in cells):
                scores.append([cell.ours["test"].mean for cell in cells if cell is not None])
    if len(scores) < 2:
        return None
    found = compare(list(wish["methods"]), scores, larger_is_better=filled[0].table.larger_is_better)
    return figures.plot_critical_difference(found, f"{len(scores)} data sets")


def _of_experiments(ask: Callable[..., Any], plot: Callable[[Any], Any]) -> Callable[..., Any]:
    """A figure of experiments: ``ask`` lists what is wanted and how each record is made."""

    def figure(name: str, wish: Mapping[str, Any], folder: Path, make: bool, n_jobs: int | None) -> Any:
        path = folder / "results" / f"figure-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        mend(path)
        records = []
        for asked, work in ask(wish, folder):
            key = key_of({"method": name, "configuration": {**asked, **wish}})
            known = {record["key"]: record for record in read_records(path)}
            if key not in known and make:
                try:
                    known[key] = {"key": key, **asked, **work()}
                except (MissingData, MissingMethod):
                    continue
                append_record(path, known[key])
            if key in known:
                records.append(known[key])
        return plot(records) if records else None

    return figure


def _teachers(wish: Mapping[str, Any], folder: Path) -> Any:
    for selector in ("straight_through", "top_2"):
        yield {"selector": selector, "seed": wish["seed"]}, lambda s=selector: teacher_student(s, seed=wish["seed"])


def _evolutions(wish: Mapping[str, Any], folder: Path) -> Any:
    for title, options in wish["sets"].items():
        for selector in ("straight_through", "top_k_reg_1", "top_k"):

            def work(title: str = title, selector: str = selector, options: Any = options) -> Record:
                data = _rows(folder, title)
                rows = split_rows(data, 0).train
                return leaf_evolution(selector, data.X[rows], data.y[rows], **options)

            yield {"selector": selector, "set": title}, work


def _landscapes(wish: Mapping[str, Any], folder: Path) -> Any:
    for title, height in wish["sets"].items():
        for method in wish["methods"]:

            def work(title: str = title, method: str = method, height: int = height) -> Record:
                data = _rows(folder, title)
                split = split_rows(data, 0)
                made = find_method(method).make("classification", {"max_depth": height}, 0)
                tree = fit_method(made, split.hand(data)).tree_
                rows = np.random.default_rng(0).permutation(split.train)[: wish["rows"]]
                codes = np.searchsorted(np.unique(data.y[split.train]), data.y[rows])
                return loss_landscape(tree, data.X[rows], codes, network=method.startswith("dtsemnet"))

            yield {"method": method, "set": title}, work


def _rows(folder: Path, title: str) -> DataSet:
    return load_data(read_catalogue(folder / "datasets.toml")[title])


KINDS: dict[str, Callable[..., Any]] = {
    "height": _of_runs(lambda records: figures.plot_heights(records)),
    "time": _of_runs(lambda records: figures.plot_times(records)),
    "leaves": _of_runs(lambda records: figures.plot_leaf_use(records)),
    "ranks": _ranks,
    "teacher": _of_experiments(_teachers, lambda records: figures.plot_teacher(records)),
    "evolution": _of_experiments(_evolutions, lambda records: figures.plot_evolution(records)),
    "landscape": _of_experiments(_landscapes, lambda records: figures.plot_landscapes(records)),
}
"""How each kind of figure is made."""
