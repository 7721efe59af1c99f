"""``dtsemnet rl report``: tables and learning curves, beside the published values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dtsemnet.cli.output import columns, print_json, require, say

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl report
dtsemnet rl report LunarLander-v3 --json
dtsemnet rl report --out paper
"""


def run(
    env: Annotated[str | None, typer.Argument(help="One environment; by default all.", metavar="[ENV]")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder of the records; by default as for train.", metavar="FOLDER")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder that gets REPORT-RL.md, and figures/ with the learning curves.", metavar="FOLDER"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show what our agents reach beside what was published, over the seeds that are recorded."""
    require("stable_baselines3", extra="rl", verb="dtsemnet rl report")
    from dtsemnet.rl.environments import environment_names, read_environment
    from dtsemnet_paper.agents.report import CAPTION, HEADINGS, summarise
    from dtsemnet_paper.agents.results import open_results, read_results

    folder = open_results(results).folder
    records = read_results(folder)
    names = environment_names() if env is None else [env]
    found = [(environment, summarise(environment, records)) for environment in map(read_environment, names)]
    if as_json:
        print_json({environment.name: [_plain(row) for row in rows] for environment, rows in found})
        return
    for environment, rows in found:
        say(environment.title or environment.name, style="bold")
        columns(HEADINGS, [row.cells() for row in rows])
        say()
    say(CAPTION)
    if out is not None:
        for path in _write(found, folder, out):
            say(f"wrote {path}")


def _plain(row: Any) -> dict[str, Any]:
    return {
        "agent": row.agent, "changes": row.changes, "depth": row.depth, "seeds": row.seeds, "test": row.figures(),
        "test_last": row.figures("test_last"), "published": row.published,
    }  # fmt: skip


def _write(found: Any, folder: Path, out: Path) -> list[Path]:
    """Write figures and report; the report shows all environments, whatever was asked for."""
    require("matplotlib", extra="plot", verb="dtsemnet rl report --out").use("Agg")
    from dtsemnet.files import write_atomically
    from dtsemnet_paper.agents.curves import plot_curves
    from dtsemnet_paper.agents.report import to_markdown
    from dtsemnet_paper.bench.figures import save_figure

    paths = []
    for environment, rows in found:
        figure = plot_curves(environment, rows)
        if figure is not None:
            paths += save_figure(figure, out / "figures" / f"rl-{environment.name}")
    pictures = {path.stem.removeprefix("rl-"): f"figures/{path.name}" for path in (out / "figures").glob("rl-*.png")}
    return [*paths, write_atomically(out / "REPORT-RL.md", to_markdown(folder, pictures))]
