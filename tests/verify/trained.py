"""Ask every question about trained trees: ``PYTHONPATH=tests python -m verify.trained --trees 50 --seed 0``.

Tables of scikit-learn and made-up ones with categories, missing values and integers; classifiers and regressors, leaves
that are constant or linear, different depths and seeds. For each question a line of a table: how many answers, how many
undecided, how many *wrong*. An answer is wrong if a row of the table, or one of a thousand random rows of the domain,
contradicts it, or if the row that it shows is not what it says. Certificates are all checked.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.tree import Model
from dtsemnet.verify import (
    Domain,
    certify,
    counterfactual,
    equivalent,
    find_flips,
    independent,
    largest_jump,
    lipschitz,
    monotone,
    never,
    output_bounds,
    possible_classes,
    reachable_leaves,
    robustness,
    simplify,
)

N_SAMPLES, N_ROWS = 1000, 4
Outcome = tuple[str, bool, bool]
"""A question, whether it was decided, and whether the answer is contradicted."""


def made_up(rng: np.random.Generator, is_class: bool) -> tuple[pd.DataFrame, Any]:
    """Numbers, some missing, categories, integers, and a target that depends on all of them."""
    n = 300
    frame = pd.DataFrame({
        "size": rng.normal(size=n), "age": rng.integers(18, 90, n), "income": rng.lognormal(3, 0.5, n).round(2),
        "colour": rng.choice(["red", "green", "blue"], n), "title": rng.choice(["Mr", "Ms"], n),
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    y = frame["size"] + 0.02 * frame["age"] + (frame["colour"] == "red") + 0.05 * frame["income"].fillna(30.0)
    y = y + 0.2 * rng.normal(size=n)
    return frame, np.where(y > y.median(), "yes", "no") if is_class else y.to_numpy()


def table(k: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any, bool]:
    """Table k of a cycle: columns, target, and whether that is a class."""
    names = "iris", "wine", "breast_cancer", "digits", "diabetes"
    loaders: list[Callable[..., Any]] = [getattr(datasets, f"load_{name}") for name in names]
    if k % 7 >= len(loaders):
        is_class = k % 7 == 5
        return (*made_up(rng, is_class), is_class)
    found = loaders[k % 7](as_frame=True)
    X = found.data.loc[:, found.data.nunique() > 1]
    chosen = sorted(rng.choice(X.columns, min(8, X.shape[1]), replace=False))
    return X[chosen], found.target.to_numpy(), k % 7 != 4


def trained(n: int, seed: int) -> Iterator[tuple[Model, pd.DataFrame]]:
    """Fitted models with their tables."""
    for k in range(n):
        rng = np.random.default_rng(seed + k)
        X, y, is_class = table(k, rng)
        options = {"max_depth": int(rng.integers(2, 5)), "random_state": seed + k}
        if k % 3:
            options |= {"effort": 0, "max_iter": 40, "n_init": 1}
        if is_class:
            yield DTSemNetClassifier(**options).fit(X, y).model_, X
        else:
            yield DTSemNetRegressor(**options, leaf=["constant", "linear"][k % 2]).fit(X, y).model_, X


def samples(model: Model, X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of the domain of a table, each value drawn by itself; the table itself comes first."""
    drawn = {}
    for column in model.encoder.columns:
        values = X[column.name]
        picked = values.iloc[rng.integers(len(X), size=N_SAMPLES)].reset_index(drop=True)
        if column.categories is None and rng.random() < 0.7 and values.dtype.kind == "f":
            low, high = values.min(), values.max()
            picked = picked.where(picked.isna(), low + rng.random(N_SAMPLES) * (high - low))
        drawn[column.name] = picked
    return pd.concat([X, pd.DataFrame(drawn)], ignore_index=True)


def answers_of(model: Model, rows: Any) -> np.ndarray:
    """Shares of classes in the leaves, or outputs."""
    found = model.tree.predict_proba(model.transform(rows)) if model.is_classifier else model.predict(rows)
    return np.asarray(found).reshape(len(rows), -1)


def outcomes(model: Model, X: pd.DataFrame, rng: np.random.Generator) -> Iterator[Outcome]:
    """Ask every question about one model."""
    domain, rows = Domain.from_data(X), samples(model, X, rng)
    table = rows[[column.name for column in model.encoder.columns]].to_numpy(dtype=object)
    label, leaf, values = model.predict(rows), model.apply(rows), answers_of(model, rows)

    def one(row: Any) -> Any:
        return model.predict(row[None])[0]

    found = reachable_leaves(model, domain)
    for k, verdict in enumerate(found.verdicts):
        wrong = verdict.witness is not None and model.apply(verdict.witness[None])[0] != k
        yield "reachable_leaves", k not in found.undecided, wrong or (k in found.unreachable and k in leaf)
    yield "all certificates", True, not found.check()
    for bounds in output_bounds(model, domain):
        least, most = values[:, bounds.output].min(), values[:, bounds.output].max()
        ends = bounds.minimum.certified, bounds.maximum.certified
        gap = max(bounds.minimum.attained - ends[0], ends[1] - bounds.maximum.attained)
        yield "output_bounds", gap <= 1e-6 * (1 + abs(ends[0]) + abs(ends[1])), least < ends[0] or most > ends[1]
    smaller = simplify(model, 0.05, domain)
    other = smaller.tree
    moved = np.abs(other.scores(rows) - model.scores(rows))
    strays = (other.apply(rows) != leaf) & ~smaller.may_change(rows)
    yield "simplify", True, bool((moved > smaller.score_shift).any() or strays.any())
    same = equivalent(model, other, domain, tolerance=1e-9 * (not model.is_classifier))
    differ = other.predict(rows) != label if model.is_classifier else np.abs(other.predict(rows) - label) > 1e-8
    shown = (
        same.witness is not None and model.is_classifier and one(same.witness) == other.predict(same.witness[None])[0]
    )
    yield "equivalent", same.status != "undecided", bool((same.status == "yes" and differ.any()) or shown)
    encoder = model.encoder
    for j, column in enumerate(encoder.columns):
        partners = table.copy()
        partners[:, j] = table[rng.permutation(len(table)), j]
        changed = answers_of(model, partners)
        far = np.abs(changed - values).max(axis=1) > 1e-9 * (not model.is_classifier)
        if model.is_classifier:
            far = model.predict(partners) != label
        free = independent(model, j, domain, tolerance=1e-9)
        shown = free.first is not None and model.is_classifier and one(free.first) == one(free.second)
        yield "independent", free.status != "undecided", bool((free.status == "yes" and far.any()) or shown)
        yield "all certificates", True, not all(proof.check() for proof in free.proofs)
        if column.categories is None:
            output = model.class_names[0] if model.class_names is not None else 0
            order = monotone(model, j, domain, output=output, tolerance=1e-9)
            pairs = np.array([a == a and b == b and a <= b for a, b in zip(table[:, j], partners[:, j])])
            falls = pairs & (values[:, 0] - changed[:, 0] > 1e-9)
            yield "monotone", order.status != "undecided", bool(order.status == "yes" and falls.any())
    flips = find_flips(model, X.iloc[:N_ROWS], 0, domain, tolerance=1e-9)
    for status, point, k in zip(flips.status, flips.points, range(N_ROWS)):
        wrong = point is not None and model.is_classifier and one(point) == label[k]
        yield "find_flips", status != "undecided", bool(wrong)
    if not model.is_classifier:
        jump = largest_jump(model, domain)
        yield "largest_jump", jump.upper - jump.lower <= 1e-6 * (1 + jump.upper), jump.lower > jump.upper
        if all(column.categories is None and not column.has_indicator for column in encoder.columns):
            slope = lipschitz(model, norm="inf")
            a, b = (table[leaf == leaf[0]].astype(float)[k] for k in (0, -1))
            rise = np.abs(answers_of(model, a[None]) - answers_of(model, b[None])).max()
            yield "lipschitz", True, rise > np.abs(a - b).max() * slope.max() * (1 + 1e-9) + 1e-9
        return
    classes = list(possible_classes(model, domain))
    for name in classes:
        status = never(model, domain, name).status
        yield "never, possible_classes", status != "undecided", status == "yes" and name in label.tolist()
    for k in range(N_ROWS):
        ball = robustness(model, table[k], domain=domain)
        gap = 0.0 if ball.lower == ball.upper else ball.upper - ball.lower
        wrong = ball.point is not None and one(ball.point) == label[k]
        yield "robustness", gap <= 1e-6 * (1 + ball.upper), bool(wrong)
        for epsilon in (0.01, 0.5):
            held = certify(model, table[k : k + 1], epsilon, domain=domain).status[0]
            wrong = (held == "certified" and ball.upper <= epsilon) or (held == "broken" and ball.lower > epsilon)
            yield "certify", held != "undecided", bool(wrong)
        for name in classes:
            if name == label[k]:
                continue
            ways = counterfactual(model, table[k], name, domain=domain)
            is_open = not ways and ways.lower < np.inf
            is_open |= bool(ways) and not ways[0].cost - ways[0].lower <= 1e-6
            yield "counterfactual", not is_open, any(one(way.point) != name for way in ways)


def main(words: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Ask every question about trained trees.")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no tree after so many seconds")
    options = parser.parse_args(words)
    asked, undecided, wrong = (Counter[str]() for _ in range(3))
    n_trees = Counter[str]()
    end = time.monotonic() + options.seconds
    for k, (model, X) in enumerate(trained(options.trees, options.seed)):
        print(f"tree {k}", end="\r", file=sys.stderr, flush=True)
        here = list(outcomes(model, X, np.random.default_rng(options.seed + k)))
        n_trees.update({name for name, *_ in here})
        for name, is_decided, is_wrong in here:
            asked[name] += 1
            undecided[name] += not is_decided
            wrong[name] += is_wrong
            if is_wrong or not is_decided:
                print(f"tree {k}: {name} {'wrong' if is_wrong else 'undecided'}", flush=True)
        if time.monotonic() > end:
            break
    say = partial(print, flush=True)
    say("| question | trees | answers | undecided | wrong |\n|---|---:|---:|---:|---:|")
    for name in asked:
        share = undecided[name] / asked[name]
        say(f"| `{name}` | {n_trees[name]} | {asked[name]} | {undecided[name]} ({share:.1%}) | {wrong[name]} |")


if __name__ == "__main__":
    main()
