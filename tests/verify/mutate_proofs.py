"""Change proofs so that they mean something else, and see whether the checker accepts any that is wrong.

``PYTHONPATH=tests:checker python -m verify.mutate_proofs 10000`` makes this many changes of proofs about models whose
domains can be listed row by row (:mod:`verify.finite`). After each change the list says whether every claim of the file
is true. There are four outcomes:

- *refused*: the checker says no, or that the file is no proof file;
- *same*: the certificate lost or gained nothing that a proof needs. All multipliers of a case may be
  scaled, a multiplier may be as good as the one before, a case may be stronger than needed. Such a change is told by an
  argument, not by the checker's word: the statement, the model and the domain are those of the original file, which
  is true by the list;
- *another true claim*: the statement, the model or the domain changed, and by the list what it says now is true (by a
  sample of 1000 rows, if the domain now holds too many). A certificate may well prove that, too: a smaller domain, a
  weaker bound;
- *wrong*: the checker accepts a file with a claim that the list shows to be false. There must be none of these.

So a change that alters the meaning is accepted only if the list says that it is true. Certificates are also *forged*: a
claim that is known to be false is given all certificates of its file.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import itertools
import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dtsemnet_check
from dtsemnet.tree.file import loads
from dtsemnet.verify import (
    equivalent,
    find_flips,
    independent,
    monotone,
    output_bounds,
    possible_classes,
    reachable_leaves,
    robustness,
)
from verify.finite import finite_case, finite_tree
from verify.questions.test_independent import question
from verify.test_finite_domains import listing

MAX_ROWS = 1000


def proofs(seed: int, folder: Path) -> list[dict[str, Any]]:
    """Proof files about one small model, by linear programs or by listing."""
    kind = ["class", "constant", "linear"][seed % 3]
    case, rng = finite_case(seed, kind, max_rows=60), np.random.default_rng(seed)
    made = []
    with listing(seed % 2 == 0):
        answers: list[Any] = [reachable_leaves(case.model, case.domain), output_bounds(case.model, case.domain)]
        if kind == "class":
            answers.append(possible_classes(case.model, case.domain))
            answers.append(robustness(case.model, case.rows[rng.integers(len(case.rows))], domain=case.domain))
        old = case.model.tree
        other = (
            old.replace(weight=2 * old.weight, bias=2 * old.bias)
            if seed % 4
            else finite_tree(rng, old.n_features, kind)
        )
        answers.append(equivalent(case.model, type(case.model)(case.model.encoder, other), case.domain))
        for j, column in enumerate(case.model.encoder.columns):
            if column.categories is None:
                output = case.model.class_names[0] if kind == "class" else 0
                answers.append(monotone(case.model, j, case.domain, output=output))
        moved, by = question(case, rng)
        options = {"by": by, "tolerance": float(rng.choice([0.0, 0.5]))}
        answers.append(independent(case.model, moved, case.domain, **options))
        row = case.rows[rng.integers(len(case.rows))]
        answers.append(find_flips(case.model, row[None], moved, case.domain, **options))
        for answer in answers:
            path = answer.save_proof(folder / "proof.json")
            made.append(json.loads(path.read_text("utf-8")))
    return [document for document in made if document["claims"]]


# ------------------------------------------------------------------------------------------------ what is true


def rows_of(document: dict[str, Any], model: Any) -> list[list[Any]] | None:
    """All rows of a domain, one of each kind that is unknown; a sample if they are many or cannot be listed."""
    values, rng = [], np.random.default_rng(0)
    for column, allowed in zip(model.encoder.columns, document["domain"]["columns"]):
        found: list[Any] = [None] if allowed.get("missing") else []
        if column.categories is not None:
            found += list(allowed["categories"]) + ["never seen"] * allowed.get("unknown", False)
        elif "low" in allowed:
            low, high = allowed["low"], allowed["high"]
            if allowed.get("integer"):
                found += [float(x) for x in range(int(np.ceil(low)), int(np.floor(high)) + 1)]
            elif low <= high:
                found += sorted({low, high, *(low + (high - low) * rng.random(20)), *np.clip(range(-9, 10), low, high)})
        values.append(found)
    if np.prod([float(len(found)) for found in values]) <= MAX_ROWS:
        rows = [list(row) for row in itertools.product(*values)]
    elif all(values):
        rows = [[found[rng.integers(len(found))] for found in values] for _ in range(MAX_ROWS)]
    else:
        return None
    return [row for row in rows if _obeys(document, model, row)]


def _obeys(document: dict[str, Any], model: Any, row: list[Any]) -> bool:
    constraints = document["domain"].get("constraints", {"A": [], "b": []})
    numbers = [c.fill if x is None else x for c, x in zip(model.encoder.columns, row)]
    return all(
        sum(Fraction(a) * Fraction(float(x)) for a, x in zip(A, numbers) if a) <= Fraction(b)
        for A, b in zip(constraints["A"], constraints["b"])
    )


def _is_in(document: dict[str, Any], model: Any, row: list[Any]) -> bool:
    for column, allowed, value in zip(model.encoder.columns, document["domain"]["columns"], row):
        if column.missing == "fill" and value in (None, column.fill) and allowed.get("missing"):
            continue
        value = column.fill if value is None and column.missing == "fill" else value
        if value is None:
            inside = allowed.get("missing", False)
        elif column.categories is not None:
            inside = value in allowed["categories"] or (
                value not in column.categories and allowed.get("unknown", False)
            )
        else:
            inside = "low" in allowed and allowed["low"] <= value <= allowed["high"]
            inside = inside and not (allowed.get("integer") and value % 1)
        if not inside:
            return False
    return _obeys(document, model, row)


def is_true(document: dict[str, Any], claim: dict[str, Any]) -> bool | None:
    """Whether a claim is true, by looking at all rows; None if that cannot be told."""
    model = loads(json.dumps(document["model"]))
    rows = rows_of(document, model)
    if not claim["holds"]:  # it may lie where a sample does not
        rows = [*(rows or []), *(row for row in claim["witness"] if _is_in(document, model, row))]
    if not rows:
        return None
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    table[:] = rows
    table = table if not model.encoder.is_numeric else np.where(table == None, np.nan, table).astype(float)  # noqa: E711
    statement = claim["statement"]
    leaf, Z = model.apply(table), model.transform(table)
    tree = model.tree
    answer = tree.predict_proba(Z) if tree.is_classifier else tree.predict(Z).reshape(len(Z), -1)
    near = np.ones(len(rows), dtype=bool)
    if "near" in statement:
        fields = statement["near"]
        if fields["norm"] != "inf" or "cost" in fields:
            return None
        near = np.array([_is_near(model, fields, row) for row in rows])
    kind = statement["kind"]
    if kind == "never":
        bad = np.isin(leaf, statement.get("leaves", []))
        if statement.get("classes"):
            labels = [tree.class_names[k] for k in tree.leaf_class.tolist()]
            bad |= np.array([labels[k] in statement["classes"] for k in leaf.tolist()])
        holds = not (bad & near).any()
    elif kind == "bound":
        y = answer[near, statement["output"]]
        holds = bool(
            (y >= statement["at_least"]).all() if "at_least" in statement else (y <= statement["at_most"]).all()
        )
    elif kind == "agree":
        other, order = loads(json.dumps(document["second"]["model"])), document["second"]["columns"]
        ours, theirs = model.predict(table), other.predict(table[:, order])
        if tree.is_classifier:
            holds = all(a == b for a, b in zip(ours.tolist(), theirs.tolist()))
        else:
            holds = bool((np.abs(ours - theirs) <= statement.get("tolerance", 0.0)).all())
    elif kind in ("independent", "keeps"):
        same = [statement["row"]] if kind == "keeps" else rows
        if kind == "keeps":
            if not _is_in(document, model, same[0]):
                return None
            first = np.empty((1, len(same[0])), dtype=object)
            first[0] = same[0]
            first = first if not model.encoder.is_numeric else np.where(first == None, np.nan, first).astype(float)  # noqa: E711
            Z = model.transform(first)
        y = tree.predict_proba(Z) if tree.is_classifier else tree.predict(Z).reshape(len(Z), -1)
        if tree.is_classifier:
            y, answer = (np.eye(tree.n_outputs)[found.argmax(axis=1)] for found in (y, answer))
        far = (
            np.abs(y[:, None] - answer[None]) > (0.5 if tree.is_classifier else statement.get("tolerance", 0.0))
        ).any(axis=-1)
        holds = not any(_may_change(model, statement, same[a], rows[b]) for a, b in np.argwhere(far))
    else:
        j, sign = statement["column"], 1 if statement.get("increasing", True) else -1
        y, holds = sign * answer[:, statement["output"]], True
        points = [
            [c.name if k == j else _key(c, x) for k, (c, x) in enumerate(zip(model.encoder.columns, row))]
            for row in rows
        ]
        for a in range(len(rows)):
            for b in range(len(rows)):
                if points[a] == points[b] and None not in (rows[a][j], rows[b][j]) and rows[a][j] <= rows[b][j]:
                    holds &= not y[a] - y[b] > statement.get("tolerance", 0.0)
    return holds == claim["holds"]


def _may_change(model: Any, statement: dict[str, Any], row: list[Any], other: list[Any]) -> bool:
    limits = dict(zip(statement["columns"], statement["by"], strict=True))
    for j, (column, a, b) in enumerate(zip(model.encoder.columns, row, other)):
        if j not in limits:
            if _key(column, a) != _key(column, b):
                return False
        elif limits[j] is not None:
            a, b = (column.fill if x is None and column.missing == "fill" else x for x in (a, b))
            if (a is None) != (b is None) or (a is not None and abs(Fraction(a) - Fraction(b)) > Fraction(limits[j])):
                return False
    return True


def _key(column: Any, value: Any) -> Any:
    value = column.fill if value is None and column.missing == "fill" else value
    if column.categories is None:
        return value
    return value if value in column.categories or (value is None and column.missing) else "nothing known"


def _is_near(model: Any, fields: dict[str, Any], row: list[Any]) -> bool:
    for j, (column, a, b) in enumerate(zip(model.encoder.columns, fields["row"], row)):
        if j in fields["held"] or column.categories is not None or a is None or b is None:
            if _key(column, a) != _key(column, b):
                return False
        elif abs(Fraction(a) - Fraction(b)) > Fraction(fields["distance"]):
            return False
    return True


# ------------------------------------------------------------------------------------------------ changes


def places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a document."""
    found = [path]
    pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in pairs:
        found += places(value, (*path, key))
    return found


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def change(document: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """Change one place; the area it lies in."""
    mutant = copy.deepcopy(document)
    area = ["statement", "certificate", "certificate", "certificate", "domain", "model", "witness", "second"][
        rng.integers(8)
    ]
    roots: list[tuple[Any, ...]] = []
    for k, claim in enumerate(mutant["claims"]):
        roots += [("claims", k, area)] if area in claim else []
    if area in ("domain", "model", "second"):
        roots = [(area, "tree")] if area == "model" else [(area,)] if area in mutant else []
    if not roots:
        roots, area = [("claims", int(rng.integers(len(mutant["claims"]))))], "claim"
    if area == "claim":
        claim = at(mutant, roots[0])
        claim["holds"] = not claim["holds"]
        claim["certificate"] = claim.get("certificate", {})
        claim["witness"] = claim.get("witness", [])
        return mutant, area
    root = roots[rng.integers(len(roots))]
    every = [path for path in places(at(mutant, root)) if path]
    if not every:
        return mutant, area
    path = (*root, *every[rng.integers(len(every))])
    holder, key = at(mutant, path[:-1]), path[-1]
    holder[key] = altered(holder[key], rng)
    if rng.random() < 0.15 and isinstance(holder, (dict, list)):
        del holder[key]
    return mutant, area


def altered(value: Any, rng: np.random.Generator) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        ways = [-value, 0, value * 2, value / 2, value + 1, value - 1, float(np.nextafter(value, np.inf)), value * 1000]
        new = ways[rng.integers(len(ways))]
        return int(new) if isinstance(value, int) and rng.random() < 0.8 else new
    if isinstance(value, str):
        names = ["s0", "s1", "s2", "t0", "t1", "g0", "A0", "order", "most0", "~0", "a", "b", "c", "inf", "never"]
        return names[rng.integers(len(names))]
    if isinstance(value, list) and value:
        return [value[::-1], value[1:], value[:-1], [*value, value[0]]][rng.integers(4)]
    if isinstance(value, dict) and value:
        keys = list(value)
        one, other = keys[rng.integers(len(keys))], keys[rng.integers(len(keys))]
        new = dict(value)
        new[one], new[other] = value[other], value[one]
        if rng.random() < 0.5:
            del new[one]
        return new
    return [None, 0, "", [], {}][rng.integers(5)]


def verdict(document: dict[str, Any]) -> int:
    """What the checker says."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return dtsemnet_check.main([file.name, "--quiet"])


def judge(original: dict[str, Any], mutant: dict[str, Any]) -> str:
    """The outcome of one change."""
    if mutant == original:
        return "no change"
    code = verdict(mutant)
    if code:
        return f"refused {code}"
    try:
        truths = [is_true(mutant, claim) for claim in mutant["claims"]]
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        return f"wrong: no model or domain: {str(error)[:60]}"
    if False in truths:
        return "wrong"
    if all(mutant[key] == original[key] for key in mutant if key != "claims") and all(
        claim["statement"] in [c["statement"] for c in original["claims"]] for claim in mutant["claims"]
    ):
        return "same"
    return "another true claim"


def campaign(n: int, first: int = 0) -> dict[str, collections.Counter[str]]:
    """Make n changes, and forge false claims."""
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    rng, done, seed = np.random.default_rng(first), 0, first
    with tempfile.TemporaryDirectory() as folder:
        while done < n:
            for document in proofs(seed, Path(folder)):
                assert verdict(document) == 0, seed
                assert False not in [is_true(document, claim) for claim in document["claims"]], seed
                for _ in range(6):
                    mutant, area = change(document, rng)
                    outcome = judge(document, mutant)
                    outcomes[area][outcome] += 1
                    done += outcome != "no change"
                    if outcome.startswith("wrong"):
                        Path(f"wrong-{seed}-{done}.json").write_text(json.dumps([document, mutant]))
                every = [claim["certificate"] for claim in document["claims"] if claim["holds"]]
                for claim in document["claims"]:
                    if not claim["holds"]:  # forged: a false claim with every certificate of the file
                        merged = {key: case for one in every for key, case in one.items()}
                        forged = dict(
                            document, claims=[{"statement": claim["statement"], "holds": True, "certificate": merged}]
                        )
                        outcomes["forged"]["refused" if verdict(forged) else "wrong"] += 1
                        done += 1
            seed += 1
    return outcomes


if __name__ == "__main__":
    total: collections.Counter[str] = collections.Counter()
    for area, counted in campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000).items():
        print(f"{area}: {', '.join(f'{name} {number}' for name, number in sorted(counted.items()))}")
        total += counted
    print(f"all: {', '.join(f'{name} {number}' for name, number in sorted(total.items()))}")
