"""``dtsemnet rl shrink``: the smallest tree that acts as well as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import (
    check_output,
    check_picture,
    interruptible,
    print_json,
    remark,
    require,
    say,
    size_of,
    write_picture,
)
from dtsemnet.cli.rl import load

if TYPE_CHECKING:
    from dtsemnet.rl import Shrunk

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl shrink runs/rl/CartPole-v1/dtsemnet/1 --out small.json
dtsemnet rl shrink runs/rl/LunarLander-v3/dtsemnet/1 --leaves 16 --leaves 8 --plot curve.png
dtsemnet rl shrink policy.json --env BipedalWalker-v3 --rounds 10 --json
"""


def run(
    policy: Annotated[Path, typer.Argument(help="Folder of a run, or model file.", metavar="POLICY")],
    env: Annotated[
        str | None, typer.Option(help="Environment; by default that of the training.", metavar="ENV")
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file of the small policy.", metavar="FILE")] = Path("small.json"),
    leaves: Annotated[
        list[int] | None,
        typer.Option(help="Number of leaves to try; may be repeated. By default 32, 16, 8, 4, 2.", min=2, metavar="N"),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of imitation for each size.", min=1, metavar="N")] = 5,
    steps: Annotated[int, typer.Option(help="Steps in each round.", min=1, metavar="N")] = 2000,
    episodes: Annotated[int, typer.Option(help="Episodes that compare the sizes.", min=1, max=100, metavar="N")] = 100,
    seed: Annotated[int, typer.Option(help="Seed.", metavar="N")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw reward against leaves: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The last policy of the run, not the best.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace existing files.")] = False,
) -> None:
    """Try smaller and smaller trees that imitate a policy, and keep the smallest that acts as well.

    The sizes are compared on episodes that nothing else uses; the smallest within one standard error of the best is
    written.
    """
    check_output(out, force=force)
    check_picture(plot, force=force, what="--plot")
    require("stable_baselines3", extra="rl", verb="dtsemnet rl shrink")
    from dtsemnet.rl import shrink

    saved, name = load(policy, env, last=last)
    with interruptible():
        shrunk = shrink(
            saved.policy,
            name,
            leaves=leaves,
            n_rounds=rounds,
            n_steps=steps,
            n_episodes=episodes,
            seed=seed,
            watch=lambda done, n, words: remark(f"{done} of {n}: {words}"),
        )
    shrunk.model.save(out, about={"environment": name, "shrunk_from": str(policy)})
    if plot is not None:
        require("matplotlib", extra="plot", verb="dtsemnet rl shrink --plot").use("Agg")
        write_picture(shrunk.plot().figure, plot)
    if as_json:
        print_json(_figures(shrunk, name, out))
        return
    print(shrunk)
    say(f"Policy with {shrunk.chosen.n_leaves} leaves written to {out} ({size_of(out)}).")


def _figures(shrunk: Shrunk, name: str, out: Path) -> dict[str, Any]:
    rows = [
        {"leaves": one.n_leaves, "columns": one.n_columns, "mean": one.mean, "sem": one.sem, "source": one.source}
        for one in shrunk.candidates
    ]
    return {"environment": name, "out": out, "chosen": shrunk.chosen.n_leaves, "candidates": rows}
