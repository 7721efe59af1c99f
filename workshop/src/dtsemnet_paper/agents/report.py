"""From records to tables: the results of our agents beside the published ones.

A row is one agent in one environment with one configuration: the mean over seeds of the test means (100 episodes of the
best policy each), their standard deviation over seeds (with n - 1), and the standard error of their mean. Published
results state the standard error alone, so that is the number to compare. A run with other settings than those of the
environment's file has a row of its own, which states the differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dtsemnet.rl.environments import Environment, environment_names, read_environment
from dtsemnet.rl.training import Record
from dtsemnet_paper.agents.results import read_results

__all__ = ["Row", "in_order", "summarise", "to_markdown"]

CAPTION = (
    "test: mean over seeds of the mean reward of 100 episodes of the best policy, ± standard deviation over seeds; "
    "s.e.: standard error of that mean; last: the same of the last policy; published: mean ± standard error; minutes: "
    "by the clock, on average. viper and dtsemnet-viper imitate mlp, whose training is not in their minutes."
)
ORDER = ("dtsemnet", "dtsemnet-ste", "mlp", "dgt", "icct", "soft", "viper", "dtsemnet-viper")
"""Agents from top to bottom of a table."""
HEADINGS = ("agent", "depth", "seeds", "test", "s.e.", "last", "published", "minutes")


@dataclass(frozen=True)
class Row:
    """An agent in an environment; results are None if there are no runs."""

    agent: str
    changes: Mapping[str, Any]
    """Settings that differ from those of the environment's file."""
    depth: int | None
    records: Sequence[Record]
    published: Mapping[str, float]

    @property
    def label(self) -> str:
        """The agent, and the settings that differ."""
        changes = ", ".join(f"{name} {value}" for name, value in self.changes.items())
        return f"{self.agent} ({changes})" if changes else self.agent

    @property
    def seeds(self) -> list[int]:
        """Seeds of the records."""
        return sorted(record["seed"] for record in self.records)

    def figures(self, which: str = "test") -> dict[str, float] | None:
        """Compute mean, standard deviation and standard error over seeds, of ``test`` or ``test_last``."""
        means = [record[which]["mean"] for record in self.records if which in record]
        if not means:
            return None
        std = float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")
        return {"mean": float(np.mean(means)), "std": std, "sem": std / len(means) ** 0.5}

    def cells(self) -> list[str]:
        """The row as text."""
        ours, last = self.figures(), self.figures("test_last")
        seconds = [record["seconds"] for record in self.records]
        return [
            self.label,
            str(self.depth) if self.depth and self.agent != "mlp" else "",
            str(len(self.records)) if self.records else "",
            "" if ours is None else _with(ours["mean"], ours["std"]),
            "" if ours is None or np.isnan(ours["sem"]) else f"{ours['sem']:.2f}",
            "" if last is None else _with(last["mean"], last["std"]),
            _with(self.published["mean"], self.published["sem"]) if self.published else "",
            f"{np.mean(seconds) / 60:.0f}" if seconds else "",
        ]


def in_order(environment: Environment) -> list[str]:
    """Sort the agents of an environment as the tables show them."""
    return sorted(environment.agents, key=lambda agent: ORDER.index(agent) if agent in ORDER else len(ORDER))


def summarise(environment: Environment, records: Iterable[Record]) -> list[Row]:
    """Make the rows of an environment: its agents in order, each followed by its runs with changed settings.

    Examples
    --------
    >>> cartpole = read_environment("CartPole-v1")
    >>> settings = dict(cartpole.configuration("icct").settings)
    >>> run = {"environment": "CartPole-v1", "agent": "icct", "configuration": settings, "seconds": 60.0}
    >>> runs = [{**run, "seed": seed, "test": {"mean": mean}} for seed, mean in ((1, 499.0), (2, 500.0))]
    >>> [row.cells()[2:5] for row in summarise(cartpole, runs) if row.agent == "icct"]
    [['2', '499.50 ± 0.71', '0.50']]
    """
    own = [record for record in records if record["environment"] == environment.environment]
    rows = []
    for agent in in_order(environment):
        asked = environment.configuration(agent).settings
        groups: dict[str, list[Record]] = {"{}": []}
        changes: dict[str, dict[str, Any]] = {"{}": {}}
        for record in own:
            if record["agent"] == agent:
                changed = _changes(asked, record["configuration"])
                changes[repr(changed)] = changed
                groups.setdefault(repr(changed), []).append(record)
        for name, group in groups.items():
            depth = changes[name].get("depth", asked.get("depth"))
            published = environment.published.get(agent, {}) if name == "{}" else {}
            rows.append(Row(agent, changes[name], depth, group, published))
    return rows


def to_markdown(folder: Path, figures: Mapping[str, str] | None = None) -> str:
    """Write all tables as Markdown, with the figures of the learning curves by environment."""
    records, parts = read_results(folder), [INTRODUCTION]
    for name in environment_names():
        environment = read_environment(name)
        rows = [row.cells() for row in summarise(environment, records)]
        lines = ["| " + " | ".join(cells) + " |" for cells in [HEADINGS, ["---", *["---:"] * 7], *rows]]
        parts.append(f"## {environment.title or name}\n\n" + "\n".join(lines) + "\n")
        parts.append(f"Published: {environment.source}.\n" if environment.source else "")
        parts += [f"- {note}\n" for note in environment.notes]
        if figures and name in figures:
            parts.append(f"![Learning curves of {name}]({figures[name]})\n")
    return "\n".join(part for part in parts if part)


INTRODUCTION = f"""# Reinforcement learning beside the published results

Written by `dtsemnet rl report --out` from the records in `results/rl.jsonl`; no number is typed by hand. The trees are
in `results/rl/`. `dtsemnet rl train ENV --agent NAME --seed N` repeats a run.

In the tables, {CAPTION}

Learning curves show the mean of the episodes that judge a policy on the way (30, and more where it may be the best), as
mean and range over seeds; dotted lines are published test scores. What lies far below all else is cut off.
"""


def _changes(asked: Mapping[str, Any], done: Mapping[str, Any]) -> dict[str, Any]:
    return {name: done.get(name) for name in {**asked, **done} if asked.get(name) != done.get(name)}


def _with(mean: float, spread: float) -> str:
    return f"{mean:.2f}" if np.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"
