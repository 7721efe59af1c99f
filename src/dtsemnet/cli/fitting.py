"""The work behind ``dtsemnet fit``: rows parted, a tree fitted, CART beside it, both scored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model, Tree
from dtsemnet.arrays import Array
from dtsemnet.cli.output import quoted
from dtsemnet.cli.scores import codes_of, regression_scores
from dtsemnet.cli.tables import Data, embedded, pick, prepare, read_table, take_target, task_of
from dtsemnet.estimators.persistence import describe
from dtsemnet.interrupts import interruptible
from dtsemnet.tree import Encoder

__all__ = ["Fitted", "Parts", "fit", "read", "save"]


@dataclass(frozen=True)
class Parts:
    """Rows to train on, to test on and to judge by, and what they are rows of."""

    name: str
    target: str
    task: str
    reason: str
    how: str
    """How the test rows were chosen, for the summary."""
    train: Data
    test: Data | None
    validation: Data | None
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator, what it was fitted to, and all figures of the summary."""

    estimator: Any
    parts: Parts
    figures: dict[str, Any]


def read(
    data: Path | None,
    target: str | None,
    *,
    task: str,
    test: Path | None,
    test_fraction: float,
    validation: Path | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    seed: int,
) -> Parts:
    """Read the tables and part the rows."""
    if data is None:
        table, name = embedded(), "iris, a table embedded in scikit-learn"
        if target not in (None, "species") or test or validation or drop or categorical:
            raise ValueError(
                "--target, --test, --validation, --drop and --categorical need a data file; name one first."
            )
        target = "species"
    else:
        whole = read_table(data, text=categorical)
        strange = [column for column in categorical if column not in whole.columns]
        if strange:
            raise ValueError(f"--categorical {quoted(strange[0])} is no column of {data}.")
        frame, y, dropped = take_target(whole, target)
        X, remarks = prepare(frame, drop=drop)
        table, name = Data(X, y, tuple(X.columns), (*dropped, *remarks)), str(data)
    assert target is not None
    task, reason = task_of(table.y, task)
    table = replace(table, y=_typed(table.y, task))
    others = [None if path is None else _like(table, path, target, task) for path in (test, validation)]
    train, held, how = table, others[0], ", the rows of " + str(test)
    if test is None:
        train, held = _hold_out(table, test_fraction, seed, by_class=task == "classification")
        how = f" ({100 * test_fraction:g} %, drawn with seed {seed})" if held is not None else ""
    return Parts(name, target, task, reason, how, train, held, others[1], table.remarks)


def fit(parts: Parts, options: dict[str, Any]) -> Fitted:
    """Fit our tree and CART, and score both."""
    classes = parts.task == "classification"
    estimator: Any = (DTSemNetClassifier if classes else DTSemNetRegressor)(**options)
    judged = {} if parts.validation is None else {"X_val": parts.validation.X, "y_val": parts.validation.y}
    start = time.process_time()
    with interruptible():
        estimator.fit(parts.train.X, parts.train.y, **judged)
    seconds = time.process_time() - start
    if isinstance(parts.train.X, np.ndarray):
        _name(estimator, parts.train.names)
    model = estimator.model_
    # A depth of 0 is one leaf; CART asks for one split at least, so it is told by its leaves.
    limit = {"max_depth": model.tree.depth} if model.tree.depth else {"max_depth": 1, "min_samples_split": 2**30}
    cart = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(**limit, random_state=options["random_state"])
    start = time.process_time()
    cart.fit(model.transform(parts.train.X), parts.train.y)
    cart_seconds = time.process_time() - start
    ours: dict[str, Any] = {"depth": model.tree.depth, "leaves": model.tree.n_leaves, "cpu_seconds": seconds}
    theirs: dict[str, Any] = {"depth": int(cart.get_depth()), "leaves": int(cart.get_n_leaves())}
    theirs["cpu_seconds"] = cart_seconds
    for part, rows in (("train", parts.train), ("test", parts.test)):
        ours[part], theirs[part] = (None, None) if rows is None else _scores(model, cart, rows)
    figures = {
        "data": parts.name, "target": parts.target, "task": parts.task, "because": parts.reason,
        "classes": list(model.class_names) if classes else None,
        "rows": {"train": len(parts.train), "test": 0 if parts.test is None else len(parts.test)},
        "columns": len(parts.train.names), "seed": options["random_state"], "dtsemnet": ours, "cart": theirs,
        "remarks": list(parts.remarks),
    }  # fmt: skip
    return Fitted(estimator, parts, figures)


def save(fitted: Fitted, path: Path) -> None:
    """Write the model file; it also tells the target and the scores, for the verbs that come after."""
    figures = fitted.figures
    # No times and no folders: the same table and seed give the same bytes, on anybody's disk.
    told = {name: figures[name] for name in ("task", "rows", "seed")} | {"data": Path(fitted.parts.name).name}
    told |= {name: {part: figures[name][part] for part in ("train", "test")} for name in ("dtsemnet", "cart")}
    about = describe(fitted.estimator) | {"target": fitted.parts.target, "fit": told}
    fitted.estimator.model_.save(path, about=about)


def _scores(model: Model, cart: Any, rows: Data) -> tuple[dict[str, float], dict[str, float]]:
    """Scores of our tree and of CART on the same encoded rows."""
    features = model.transform(rows.X)
    if model.class_names is None:
        answers = model.output(model.tree.predict(features)), cart.predict(features)
        scores = [regression_scores(rows.y, np.asarray(found)) for found in answers]
        ours, theirs = ({name: found[name] for name in ("RMSE", "R2")} for found in scores)
        return ours, theirs
    codes, reached = codes_of(rows.y, model.class_names), model.tree.leaf_class[model.tree.apply(features)]
    guessed = codes_of(cart.predict(features), model.class_names)
    return {"accuracy": float((codes == reached).mean())}, {"accuracy": float((codes == guessed).mean())}


def _hold_out(table: Data, share: float, seed: int, *, by_class: bool) -> tuple[Data, Data | None]:
    """Part the test rows off, of each class its share where every class has two rows at least."""
    n_test = round(share * len(table))
    if n_test == 0:
        return table, None
    if len(table) - n_test < 2:
        raise ValueError(f"{len(table)} rows are too few to hold some out; add --test-fraction 0.")
    labels = None
    if by_class:
        _, counts = np.unique(table.y, return_counts=True)
        labels = table.y if counts.min() >= 2 and n_test >= len(counts) and len(table) - n_test >= len(counts) else None
    train, test = train_test_split(np.arange(len(table)), test_size=n_test, random_state=seed, stratify=labels)
    lent = _rows_to_lend(table, train, test)
    train, test = np.concatenate([train, lent]), np.setdiff1d(test, lent)
    return table.take(np.sort(train)), table.take(test)


def _rows_to_lend(table: Data, train: Array, test: Array) -> Array:
    """Test rows to train on after all: of each column with empty cells one, or training would not know of them."""
    if isinstance(table.X, np.ndarray):
        return np.empty(0, dtype=train.dtype)
    empty = table.X.isna().to_numpy()
    unknown = empty.any(axis=0) & ~empty[train].any(axis=0)
    return np.unique([test[empty[test, column]].min() for column in np.flatnonzero(unknown)]).astype(train.dtype)


def _like(table: Data, path: Path, target: str, task: str) -> Data:
    """Another table with the columns of the first."""
    text = [name for name in table.names if str(table.X[name].dtype) == "category"]
    text += [target] if table.y.dtype.kind == "O" else []
    frame, y, _ = take_target(read_table(path, text=text), target)
    X = pick(frame, table.names, path)
    for name in table.names:  # now, and not after a long fit
        if name not in text and X[name].isna().any() and not table.X[name].isna().any():
            raise ValueError(
                f"column {quoted(name)} has empty cells in {path}, but none in training, so the tree cannot know what "
                "they mean; fill them, or leave those rows out."
            )
    return replace(table, X=X, y=_typed(y, task), remarks=())


def _typed(y: Array, task: str) -> Array:
    return y if task == "classification" else y.astype(np.float64)


def _name(estimator: Any, names: Sequence[str]) -> None:
    """Give an estimator that was fitted to an array the names that a data frame would have brought."""
    tree = estimator.model_.tree
    named = Tree(
        tree.topology, tree.weight, tree.bias, tree.value, tree.coef, tree.lower, tree.upper,
        feature_names=names, class_names=tree.class_names,
    )  # fmt: skip
    estimator.model_ = Model(Encoder.identity(names), named)
    estimator.feature_names_in_ = np.array(names, dtype=object)
