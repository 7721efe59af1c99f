"""Tables: a TOML file says what is run and what was published; records fill it.

=============== ======================================================================
``title``       what the table shows, ``source`` where it was published
``score``       ``accuracy`` (percent, larger is better) or ``rmse``
``shows``       quantities of each method on each set: ``test``, ``train``, ``gap``, ``seconds``, or a further
                score or size of the tree, see :mod:`dtsemnet_paper.bench.measures`
``means``       quantities whose means over all sets are shown below, method by method
``tie``         how many points apart two methods may be on a set to count as equal there: percent of
                accuracy, or for numbers percent of R2
``digits``      decimals that are shown, ``published_digits`` those of published figures
``sets``        names from the catalogue, ``datasets.toml`` beside the table
``methods``     what is run by default
``seeds``       how many seeds are run by default, ``published_seeds`` those published
``protocols``   what is run by default, of ``paper``, ``honest`` and ``whole``
``heights``     what the honest protocol chooses from; ``[height]`` the paper's by set
``unbounded``   methods that have no fixed height
``lead``        whether the report compares the first method with published figures to reach
``reads``       other tables whose records count here too
``files``       by method: file of its records, if they are not in the table's own, to keep each small
``published``   by method and set: ``mean``, ``sd``, and if known ``height``, ``train``,
                ``train_sd``, ``seconds``; ``[distance]`` the published average distances
``stands_for``  method whose published values another one is shown with
``[[notes]]``   what is known about differences, by set or method
=============== ======================================================================
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dtsemnet_paper.bench.data import DataSpec, read_catalogue
from dtsemnet_paper.bench.methods import METHODS, find_method
from dtsemnet_paper.bench.runs import PROTOCOLS, MethodRun
from dtsemnet_paper.records import Record, latest, read_records

__all__ = ["FOLDER", "QUANTITIES", "Table", "find_tables", "output_folder", "read_table", "tables_folder"]

FOLDER = Path("paper")
"""Where tables are looked for, in the current folder."""
PACKAGE = Path(__file__).parents[1]
SHIPPED = next((folder for folder in (PACKAGE / "paper", PACKAGE.parents[2] / "paper") if folder.is_dir()), FOLDER)
"""The tables that came with this package; an editable installation has them in its checkout."""
QUANTITIES = (
    "test", "train", "gap", "seconds", "log_loss", "brier", "auc", "r2", "leaves", "depth", "columns",
)  # fmt: skip
SCORES = ("accuracy", "rmse")


@dataclass(frozen=True)
class Table:
    """What a TOML file of a table says; its fields are those of the file."""

    name: str
    path: Path
    title: str
    score: str
    sets: Sequence[str]
    methods: Sequence[str]
    source: str = ""
    shows: Sequence[str] = ("test",)
    means: Sequence[str] = ()
    tie: float = 0.0
    digits: int = 1
    published_digits: int | None = None
    seeds: int = 10
    published_seeds: int | None = None
    protocols: Sequence[str] = ("paper",)
    heights: Sequence[int] = ()
    height: Mapping[str, int] = field(default_factory=dict)
    unbounded: Sequence[str] = ()
    reads: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    lead: bool = False
    datasets: str = "datasets.toml"
    published: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    distance: Mapping[str, float] = field(default_factory=dict)
    stands_for: Mapping[str, str] = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    notes: Sequence[Mapping[str, Any]] = ()

    @property
    def larger_is_better(self) -> bool:
        """Whether the largest score is the best."""
        return self.score == "accuracy"

    @property
    def results(self) -> Path:
        """File of the table's own records."""
        return self._file(self.name)

    @property
    def method_files(self) -> dict[str, Path]:
        """Files of methods whose records are in others."""
        return {method: self._file(name) for method, name in self.files.items()}

    def catalogue(self) -> dict[str, DataSpec]:
        """The data sets of the table, in its order."""
        known = read_catalogue(self.path.parent / self.datasets)
        unknown = [name for name in self.sets if name not in known]
        if unknown:
            raise ValueError(f"{self.path} names {unknown[0]!r}, which {self.datasets} does not know.")
        return {name: known[name] for name in self.sets}

    def records(self) -> list[Record]:
        """The newest record of each run, from the table's own files and those it reads."""
        own = dict.fromkeys([*self.method_files.values(), self.results])
        return latest([*self.elsewhere(), *(record for path in own for record in read_records(path))])

    def elsewhere(self) -> list[Record]:
        """Records of other tables that count here too."""
        return [record for name in self.reads for record in read_records(self._file(name))]

    def _file(self, name: str) -> Path:
        return output_folder(self.path.parent) / "results" / f"{name}.jsonl"

    def value(self, method: str, name: str) -> Mapping[str, float]:
        """Look up what was published for a method and a set; empty if nothing was."""
        return self.published.get(self.stands_for.get(method, method), {}).get(name, {})

    def runs(
        self,
        *,
        sets: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
        seeds: int | None = None,
        protocols: Iterable[str] | None = None,
    ) -> list[MethodRun]:
        """List the runs of the table, or of a part of it; seed by seed, so that early results cover the whole table."""
        return [
            self._run(method, name, seed, protocol)
            for seed in range(self.seeds if seeds is None else seeds)
            for name in (self.sets if sets is None else sets)
            for method in (self.methods if methods is None else methods)
            for protocol in (self.protocols if protocols is None else protocols)
        ]

    def _run(self, method: str, name: str, seed: int, protocol: str) -> MethodRun:
        own = self.configurations.get(method, {})
        configuration = {**own.get("all", {}), **own.get(name, {})}
        fixed = self._height(method, name)
        if protocol != "honest":
            return MethodRun(method, name, seed, protocol, configuration | ({"max_depth": fixed} if fixed else {}))
        heights = list(self.heights) if self.heights and method not in self.unbounded else [fixed]
        candidates = {"max_depth": heights} if heights != [None] else {}
        grid = {key: list(values) for key, values in find_method(method).grid.items()}
        return MethodRun(method, name, seed, protocol, configuration, {**candidates, **grid})

    def _height(self, method: str, name: str) -> int | None:
        """Look up the paper's height; None if the method has no fixed height and takes its own default."""
        if method in self.unbounded:
            return None
        return int(self.value(method, name).get("height", self.height.get(name, 0))) or None


def tables_folder(named: Path | None = None) -> Path:
    """Choose the folder of the tables: the one named, else ``paper`` if it has tables, else those of the package."""
    if named is not None:
        return named
    return FOLDER if any(FOLDER.glob("*.toml")) else SHIPPED


def output_folder(folder: Path) -> Path:
    """Choose where the records, figures and reports of a folder go: beside its tables.

    Those of tables that came with the package go to ``paper`` in the current folder.
    """
    return FOLDER if folder == SHIPPED else folder


def read_table(name: str, *, folder: Path = FOLDER, file: Path | None = None) -> Table:
    """Read a table by name, ``NAME.toml`` in the folder ``paper``, or from a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = Path(place, "small.toml")
    ...     _ = path.write_text("title = 'Flowers'\\nscore = 'accuracy'\\nsets = ['iris']\\nmethods = ['cart']\\n")
    ...     table = read_table("small", folder=Path(place))
    >>> [(run.method, run.set, run.seed) for run in table.runs(seeds=2)]
    [('cart', 'iris', 0), ('cart', 'iris', 1)]
    """
    path = folder / f"{name}.toml" if file is None else file
    if not path.is_file():
        known = ", ".join(find_tables(folder)) or "none"
        raise FileNotFoundError(
            f"there is no table {path}; tables here: {known}. Run in a folder that holds {FOLDER}/, such as a "
            "checkout of dtsemnet, or name a file with --file."
        )
    with path.open("rb") as stream:
        content = tomllib.load(stream)
    try:
        table = Table(path.stem, path, **content)
    except TypeError as error:
        raise ValueError(f"{path} is no table: {error}.") from None
    _check(table)
    return table


def find_tables(folder: Path = FOLDER) -> list[str]:
    """Names of the tables in a folder: TOML files that list methods."""
    names = []
    for path in sorted(folder.glob("*.toml")):
        with path.open("rb") as stream:
            if "methods" in tomllib.load(stream):
                names.append(path.stem)
    return names


def _check(table: Table) -> None:
    """Say what is wrong with a table before anything is run."""
    for field_, words, allowed in (
        ("score", [table.score], SCORES),
        ("shows", table.shows, QUANTITIES),
        ("means", table.means, QUANTITIES),
        ("protocols", table.protocols, PROTOCOLS),
    ):
        for word in words:
            if word not in allowed:
                raise ValueError(f"{field_} in {table.path} must be of {', '.join(allowed)}, got {word!r}.")
    for method in table.methods:
        if method not in METHODS and ":" not in method:
            raise ValueError(f"{table.path} names the method {method!r}; there are {', '.join(METHODS)}.")
    for name in table.reads:
        if name.endswith(".jsonl"):
            raise ValueError(f"reads in {table.path} names tables, not their files: {name!r} must lose its '.jsonl'.")
    if table.means and not table.larger_is_better and "r2" not in table.means:
        raise ValueError(f"means in {table.path} must hold 'r2': errors of different sets have no common mean.")
    if table.lead:
        goals = table.published.get(table.methods[0], {})
        bare = [name for name in table.sets if "mean" not in goals.get(name, {})]
        if bare or "seconds" not in table.shows:
            lacks = f"a published mean of {table.methods[0]} on {bare[0]}" if bare else "'seconds' in shows"
            raise ValueError(f"{table.path} is a lead table and lacks {lacks}.")
    for method, values in table.published.items():
        unknown = [name for name in values if name not in table.sets]
        if unknown:
            raise ValueError(f"{table.path} publishes {method} on {unknown[0]!r}, which is none of its sets.")
