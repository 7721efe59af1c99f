"""What `make demo` shows: trees fitted to data that scikit-learn ships, beside CART of the same depth.

Each data set is split five times into training and test rows. The first fit shows its progress; the table shows
the mean test score of the five and how far they spread. Two of the trees are then printed in the units of the
data, and one is shipped: a model file, a page for the browser and a C file, in the folder ``demo``. Nothing is
downloaded, and neither torch nor pandas is needed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model
from dtsemnet.explorer import to_html
from dtsemnet.export import to_c, to_text
from dtsemnet.tree import Encoder

FOLDER = Path("demo")
WIDTH = 100
SPLITS = 5
CLASSIFIERS = (DTSemNetClassifier, DecisionTreeClassifier)
REGRESSORS = (DTSemNetRegressor, DecisionTreeRegressor)


class Task(NamedTuple):
    """One data set, the depth of the trees, our estimator and scikit-learn's, and what their score is."""

    name: str
    X: Any
    y: Any
    columns: list[str]
    depth: int
    estimators: tuple[type, type]
    measure: str


class Result(NamedTuple):
    """Test scores of both over all splits, seconds of each of our fits, the first tree and its training rows."""

    ours: list[float]
    cart: list[float]
    seconds: list[float]
    model: Model
    X: Any
    y: Any


def main() -> None:
    """Fit, compare, print."""
    console = Console(width=min(WIDTH, Console().width), highlight=False)
    tasks = load_tasks()
    console.print("[bold]dtsemnet[/]: hard oblique decision trees, trained by gradient descent\n")
    results = [run(task, console) for task in tasks]
    console.print()
    console.print(table_of(tasks, results))
    for task, result in zip(tasks, results):
        if task.X.shape[1] > 20:  # a split over that many columns is no reading matter
            continue
        console.print()
        console.rule(f"{task.name}: the tree of the first split, depth {task.depth}", align="left", style="dim")
        console.print(to_text(result.model, result.X, width=console.width), markup=False, no_wrap=True)
    first = results[0]
    ship(first.model, first.X, first.y, tasks[0].name, console)


def load_tasks() -> list[Task]:
    """Read the data; wine's classes get names, diabetes comes in its raw units."""
    wine, digits, diabetes = load_wine(), load_digits(), load_diabetes(scaled=False)
    cultivar = np.array([f"cultivar {code + 1}" for code in range(3)])[wine.target]
    return [
        Task("wine", wine.data, cultivar, wine.feature_names, 2, CLASSIFIERS, "accuracy"),
        Task("digits", digits.data, digits.target, digits.feature_names, 4, CLASSIFIERS, "accuracy"),
        Task("diabetes", diabetes.data, diabetes.target, diabetes.feature_names, 2, REGRESSORS, "R²"),
    ]


def run(task: Task, console: Console) -> Result:
    """Fit both kinds of tree on five splits; the first fit of ours shows its progress."""
    console.print(f"[bold]{task.name}[/], {len(task.X)} rows, {task.X.shape[1]} columns, depth {task.depth}")
    mine, theirs = task.estimators
    classes = task.y if mine is DTSemNetClassifier else None
    ours, cart, seconds, first = [], [], [], None
    for seed in range(SPLITS):
        X, X_test, y, y_test = train_test_split(task.X, task.y, test_size=0.3, random_state=seed, stratify=classes)
        tree = mine(max_depth=task.depth, random_state=seed, verbose=int(seed == 0))
        start = time.perf_counter()
        tree.fit(X, y)
        seconds.append(time.perf_counter() - start)
        ours.append(tree.score(X_test, y_test))
        cart.append(theirs(max_depth=task.depth, random_state=seed).fit(X, y).score(X_test, y_test))
        # A data frame would bring its names along; arrays have none, so the model is given them here.
        first = first or (Model(Encoder.identity(task.columns), tree.tree_), X, y)
    assert first is not None
    return Result(ours, cart, seconds, *first)


def table_of(tasks: list[Task], results: list[Result]) -> Table:
    """Lay the scores out."""
    table = Table(
        title=f"Test scores, mean ± standard deviation over {SPLITS} splits",
        caption="The leaves of a dtsemnet regressor are linear models, those of CART constants.",
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("data", "depth", "score"):
        table.add_column(heading)
    for heading in ("CART", "dtsemnet", "time of a fit"):
        table.add_column(heading, justify="right")
    for task, result in zip(tasks, results):
        cart, ours = (f"{np.mean(found):.3f} ± {np.std(found):.3f}" for found in (result.cart, result.ours))
        # The median: a first fit on a new machine also compiles the kernels.
        seconds = f"{np.median(result.seconds):.2f} s"
        table.add_row(task.name, str(task.depth), task.measure, cart, f"[bold]{ours}[/]", seconds)
    return table


def ship(model: Model, X: Any, y: Any, name: str, console: Console) -> None:
    """Write the model file, the page for the browser and the C file, and tell where they are."""
    FOLDER.mkdir(exist_ok=True)
    model.save(FOLDER / f"{name}.json")
    to_html(model, FOLDER / f"{name}.html", X, y, title=f"{name}, depth {model.tree.depth}")
    code = to_c(model, X, name=name)
    code.save(FOLDER / f"{name}.c")
    checked = "no C compiler here to check it with" if code.report is None else str(code.report)
    console.print(f"\n[bold]{FOLDER}/{name}.html[/]  the tree to walk through; open it in a browser, no network needed")
    console.print(f"[bold]{FOLDER}/{name}.c[/]     the same tree in C99, no malloc; {checked}")
    console.print(f"[bold]{FOLDER}/{name}.json[/]  the model file: dtsemnet show {FOLDER}/{name}.json")


if __name__ == "__main__":
    main()
