"""``dtsemnet rl train``: train an agent, or resume its training."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import interruptible, print_json, remark, require, say
from dtsemnet.cli.rl import RUNS, look_here, open_store

if TYPE_CHECKING:
    from dtsemnet.rl.runs import ResultsStore, Run
    from dtsemnet.rl.training import Progress

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl train CartPole-v1 --agent dtsemnet --depth 4 --seed 1
dtsemnet rl train LunarLander-v3 --agent mlp --seed 2 --steps 400000
dtsemnet rl train LunarLander-v3 --set learning_rate=0.01 --set critic='[64, 64]' --runs runs/trial
dtsemnet rl train Pendulum-v1 --steps 50000
dtsemnet rl train my_module:MyEnvironment
dtsemnet rl train my-environment.toml --agent dtsemnet
"""

EVERY = 30.0
"""Seconds between lines of progress without a terminal."""


def run(
    env: Annotated[
        str,
        typer.Argument(
            help="Environment that gymnasium knows, a class as module:Class, or a TOML file (rl init).", metavar="ENV"
        ),
    ],
    agent: Annotated[str, typer.Option(help="Agent, such as dtsemnet or mlp.", metavar="NAME")] = "dtsemnet",
    depth: Annotated[int | None, typer.Option(help="Depth of the tree.", min=1, metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Seed.", metavar="N")] = 1,
    steps: Annotated[int | None, typer.Option(help="Steps to train for.", min=1, metavar="N")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting; may be repeated.", metavar="NAME=VALUE")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.", metavar="FOLDER")] = RUNS,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Folder of records and trees (with dtsemnet-paper); by default paper/results, or if there is no "
            "folder paper, that of the runs.",
            metavar="FOLDER",
        ),
    ] = None,
    checkpoint: Annotated[float, typer.Option(help="Minutes between checkpoints.", min=0, metavar="MINUTES")] = 5.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete what was done, and start again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Train an agent; judge it on the way, keep the best policy, test it at the end.

    Settings come from the file of the environment; without one they follow from its spaces. The same command again
    resumes a training that was killed, and does not repeat one that is finished.
    """
    require("stable_baselines3", extra="rl", verb="dtsemnet rl train")
    from dtsemnet.rl.environments import parse_setting, read_environment
    from dtsemnet.rl.recipes import read_settings
    from dtsemnet.rl.runs import Run

    look_here()
    changes = {name: value for name, value in (("depth", depth), ("steps", steps)) if value is not None}
    configuration = read_environment(env).configuration(agent, changes | dict(map(parse_setting, settings or ())))
    read_settings(configuration)
    planned, store = Run(configuration, seed, runs), open_store(record, runs)
    done = _train(planned, store, fresh, checkpoint, quiet=quiet)
    if as_json:
        print_json(done)
    else:
        _show(planned, store, done)


def _train(run: Run, store: ResultsStore | None, fresh: bool, checkpoint: float, *, quiet: bool) -> dict[str, Any]:
    """Train with progress; after Ctrl-C, say how to continue."""
    from dtsemnet.rl.runs import execute, has_tensorboard

    finished = run.finished() if store is None else store.find(run)
    if not fresh and finished is not None:
        place = run.folder if store is None else store.folder
        remark(f"this run is finished and recorded in {place}; add --fresh to repeat it.")
    else:
        remark(f"{'resuming' if run.begun() and not fresh else 'training in'} {run.folder}.")
        if run.imitates:
            remark("it imitates the agent mlp of this seed, which is trained first if necessary.")
        if not has_tensorboard():
            remark("TensorBoard is not installed (pip install tensorboard); the curves are in log-*.csv alone.")
    try:
        with interruptible(), _progress(hidden=quiet) as watch:
            return execute(run, fresh=fresh, checkpoint_minutes=checkpoint, watch=watch, store=store)
    except KeyboardInterrupt:
        after = "resumes from the last checkpoint" if run.begun() else "starts again"
        remark(f"interrupted; the same command {after}.")
        raise typer.Exit(130) from None


@contextmanager
def _progress(*, hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """Show a bar on a terminal, and elsewhere a line every half minute."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = Console(stderr=True, emoji=False)
    if hidden or not console.is_terminal:
        yield (lambda now: None) if hidden else _Lines()
        return
    with Progress(TaskProgressColumn(), BarColumn(), TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("", total=None)
        yield lambda now: bar.update(task, completed=now.step, total=now.n_steps, description=_words(now))


class _Lines:
    """Print a line every half minute, and one when the training is over."""

    last = -EVERY

    def __call__(self, now: Progress) -> None:
        if time.monotonic() - self.last >= EVERY or now.step >= now.n_steps:
            self.last = time.monotonic()
            print(f"{100 * now.step / now.n_steps:3.0f} %  {_words(now)}", file=sys.stderr, flush=True)


def _words(now: Progress) -> str:
    words = [f"step {now.step:,} of {now.n_steps:,}"]
    words += [f"reward {now.reward:.1f}"] if now.reward is not None else []
    words += [f"judged {now.judged:.1f}, best {now.best:.1f}"] if now.judged is not None else []
    words += [f"{_time(now.left)} left"] if now.left is not None else []
    return ", ".join(words)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _show(run: Run, store: ResultsStore | None, done: dict[str, Any]) -> None:
    test, last = done["test"], done.get("test_last")
    n = len(test["rewards"])
    say(f"test: {test['mean']:.2f} ± {test['sem']:.2f} (mean and its standard error, {n} episodes of the best policy)")
    if last is not None:
        say(f"      {last['mean']:.2f} ± {last['sem']:.2f} of the last policy")
    published = run.configuration.environment.published.get(run.configuration.agent)
    if published:
        say(f"published: {published['mean']:g} ± {published['sem']:g} (mean over 5 seeds and its standard error)")
    record = "" if store is None else f", record in {store.folder}"
    say(f"{done['steps']:,} steps in {_time(done['seconds'])}; files in {run.folder}{record}")
