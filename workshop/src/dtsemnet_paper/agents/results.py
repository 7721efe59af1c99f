"""The folder of results: the records of all runs in one file, and the trees that they ended with.

Records are lines of ``rl.jsonl``, rounded and with the curve of judgements; trees are model files in ``rl/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dtsemnet.json_lines import read_lines
from dtsemnet.rl.runs import RUNS, Run
from dtsemnet.rl.training import Record
from dtsemnet.tree import Model
from dtsemnet_paper.records import append_record, find_record, latest

__all__ = ["RECORDS", "ResultsFolder", "open_results", "read_results"]

RECORDS = "rl.jsonl"
"""File of the records."""
PAPER = Path("paper")


@dataclass(frozen=True)
class ResultsFolder:
    """A store of results; see :class:`dtsemnet.rl.runs.ResultsStore`.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.rl.environments import read_environment
    >>> from dtsemnet.rl.runs import execute
    >>> short = {"steps": 832, "judge_every": 832, "n_epochs": 1}
    >>> configuration = read_environment("CartPole-v1").configuration("dtsemnet", short)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, results = Run(configuration, 1, Path(folder)), ResultsFolder(Path(folder, "results"))
    ...     record = execute(run, store=results)
    ...     record == results.find(run), Model.load(results.tree_file(run)).tree.depth
    (True, 4)
    """

    folder: Path

    def find(self, run: Run) -> Record | None:
        """Find the newest record of a run."""
        return find_record(self.folder / RECORDS, run.key)

    def tree_file(self, run: Run) -> Path:
        """Name the model file of a run; a run with changed settings does not replace the usual one."""
        environment, agent = run.configuration.environment, run.configuration.agent
        usual = run.configuration.settings == environment.configuration(agent).settings
        suffix = "" if usual else f"-{run.key[:6]}"
        return self.folder / "rl" / f"{environment.name}-{agent}-{run.seed}{suffix}.json"

    def add(self, run: Run, record: Record, *, replace: bool) -> Record:
        """Add a record, rounded and with the curve of judgements, and the tree of the run."""
        record = {"key": run.key, **{name: value for name, value in record.items() if name != "key"}}
        record["test"] = record["test"] | {"rewards": [round(reward, 2) for reward in record["test"]["rewards"]]}
        if "test_last" in record:
            record["test_last"] = {name: value for name, value in record["test_last"].items() if name != "rewards"}
        judged = read_lines(run.folder / "judgements.jsonl")
        record["curve"] = {"step": [row["step"] for row in judged], "mean": [round(row["mean"], 2) for row in judged]}
        if (run.folder / "best.json").is_file():
            model = Model.load(run.folder / "best.json")
            record["tree"] = {"depth": model.tree.depth, "leaves": model.tree.n_leaves}
            tree_file = self.tree_file(run)
            tree_file.parent.mkdir(parents=True, exist_ok=True)
            model.save(tree_file, about=run.description)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RECORDS
        if replace or self.find(run) is None:
            append_record(path, record)
        return record


def open_results(named: Path | None = None, runs: Path = RUNS) -> ResultsFolder:
    """Open the folder that is named, else ``paper/results`` if there is a folder ``paper``, else the folder of runs."""
    return ResultsFolder(named or (PAPER / "results" if PAPER.is_dir() else runs))


def read_results(folder: Path) -> list[Record]:
    """Read the newest record of each run."""
    return latest(read_lines(folder / RECORDS))
