"""Proof files: what is saved is what was answered, and the checker, which knows nothing of us, agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import dtsemnet_check
from dtsemnet import Topology, Tree
from dtsemnet.tree import Encoder, Model
from dtsemnet.verify import (
    Certified,
    Domain,
    certify,
    counterfactual,
    equivalent,
    find_flips,
    independent,
    monotone,
    never,
    output_bounds,
    possible_classes,
    reachable_leaves,
    robustness,
)
from dtsemnet.verify.proof.file import schema
from verify.finite import finite_case, finite_tree
from verify.questions.test_independent import question
from verify.test_finite_domains import LISTING, listing

SEEDS = [range(9), pytest.param(range(9, 300), marks=pytest.mark.slow)]
VALIDATOR = jsonschema.Draft202012Validator(schema())


def check(answer: Any, folder: Path, *words: str) -> int:
    """Save an answer and run the checker on the file: 0 if every claim is proved."""
    path = answer.save_proof(folder / "answer.proof.json")
    VALIDATOR.validate(json.loads(path.read_text("utf-8")))
    return dtsemnet_check.main([str(path), "--quiet", *words])


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_leaves_and_classes(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed)
        with listing(lists):
            answers = [reachable_leaves(case.model, case.domain), possible_classes(case.model, case.domain)]
            answers += [never(case.model, case.domain, name) for name in case.model.class_names]
        for answer in answers:
            assert check(answer, tmp_path) == 0, seed


def test_an_undecided_answer_claims_nothing(tmp_path):
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    answer = never(tree, Domain(0.0, 4.0), "large", time_limit=0.0)
    assert answer.status == "undecided"
    document = json.loads(answer.save_proof(tmp_path / "open.json").read_text("utf-8"))
    assert document["claims"] == []
    assert document["undecided"] == [{"kind": "never", "classes": ["large"]}]


def test_the_model_comes_back_to_the_bit(tmp_path):
    tree = Tree(Topology.complete(1), [[0.1, -1e-300]], [-0.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    answer = reachable_leaves(tree, Domain(-1.0, 1.0))
    document = json.loads(answer.save_proof(tmp_path / "bits.json").read_text("utf-8"))
    assert np.array(document["model"]["tree"]["weight"]).tobytes() == tree.weight.tobytes()
    model = tmp_path / "model.json"
    answer.cuts.encoded.model.save(model)
    assert check(answer, tmp_path, "--model", str(model)) == 0
    tree.replace(bias=[0.25]).save(model)
    assert check(answer, tmp_path, "--model", str(model)) == 2


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_bounds(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3])
        with listing(lists):
            answer = output_bounds(case.model, case.domain)
            assert check(answer, tmp_path) == 0, seed
        document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
        assert len(document["claims"]) == 2 * len(answer), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_radii_and_certified_rows(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed)
        rng = np.random.default_rng(seed)
        rows = case.rows[rng.integers(len(case.rows), size=3)]
        norm = ["inf", 1, 2][seed % 3] if all(c.scale == 1 for c in case.model.encoder.columns) else "inf"
        domain = case.domain if seed % 2 else None
        with listing(lists):
            answers = [robustness(case.model, row, norm, domain=domain) for row in rows]
            answers += [certify(case.model, rows, epsilon, norm, domain=domain) for epsilon in (0.0, 0.5, 2.0)]
            for answer in answers:
                assert check(answer, tmp_path) == 0, seed
                document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
                claimed = sum(claim["holds"] for claim in document["claims"])
                if isinstance(answer, Certified):
                    assert claimed == (answer.status == "certified").sum(), seed
                else:  # a radius of one rounding is known from the doubles in between, for which a file has no words
                    tiny = answer.lower < 1e-15 and document["undecided"]
                    assert claimed == (answer.lower > 0) or tiny, seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_costs_of_counterfactuals(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed)
        rng = np.random.default_rng(seed)
        row, price = case.rows[rng.integers(len(case.rows))], rng.choice([0.5, 1.0, 3.0], case.rows.shape[1])
        held = [j for j in range(len(row)) if rng.random() < 0.2]
        if any(column.scale != 1 for column in case.model.encoder.columns):
            continue  # refused: costs are distances of norm 1
        for target in case.model.class_names:
            with listing(lists):
                answer = counterfactual(case.model, row, target, domain=case.domain, cost=price, n=2, immutable=held)
                assert check(answer, tmp_path) == 0, seed
            document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
            assert sum(not claim["holds"] for claim in document["claims"]) == len(answer), seed
            assert not document["undecided"], seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_equivalence(seeds, lists, tmp_path):
    for seed in seeds:
        kind = ["class", "constant", "linear"][seed % 3]
        case, rng = finite_case(seed, kind), np.random.default_rng(seed)
        old = case.model.tree
        way = seed // 3 % 4
        if way == 0:
            new = finite_tree(rng, old.n_features, kind)
        elif way == 1:
            new = old.replace(bias=old.bias + rng.choice([0.0, 0.0, 2.0**-40, 0.125], old.n_splits))
        elif way == 2:
            new = old.replace(weight=-2 * old.weight, bias=-2 * old.bias)
        else:
            new = old if kind == "class" else old.replace(value=old.value + rng.choice([0, 1 / 8], old.value.shape))
        order = list(rng.permutation(case.model.encoder.n_columns))
        other = type(case.model)(case.model.encoder, new) if way == 2 else reordered(case.model.encoder, new, order)
        tolerance = 0.0 if kind == "class" else 0.125 * (seed % 2)
        with listing(lists):
            answer = equivalent(case.model, other, case.domain, tolerance=tolerance)
        assert check(answer, tmp_path) == 0, seed
        document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
        assert len(document["undecided"]) == (answer.status == "undecided"), seed


def reordered(encoder: Encoder, tree: Tree, order: list[int]) -> Model:
    """The same model with its columns in another order."""
    parts = encoder.features_of_column
    features = np.concatenate([np.arange(parts[j].start, parts[j].stop) for j in order])
    changes = {} if tree.coef is None else {"coef": tree.coef[:, :, features]}
    return Model(Encoder([encoder.columns[j] for j in order]), tree.replace(weight=tree.weight[:, features], **changes))


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_monotone_columns(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3])
        output = case.model.class_names[0] if case.model.is_classifier else 0
        for j, column in enumerate(case.model.encoder.columns):
            if column.categories is not None:
                continue
            options = {"increasing": bool(seed % 2), "tolerance": 0.25 * (seed % 5 == 0)}
            with listing(lists):
                answer = monotone(case.model, j, case.domain, output=output, **options)
                assert check(answer, tmp_path) == 0, (seed, j)
            document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
            assert len(document["undecided"]) == (answer.status == "undecided"), (seed, j)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_the_checker_accepts_independence_and_rows_that_keep_their_answer(seeds, lists, tmp_path):
    for seed in seeds:
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3], max_rows=100)
        rng = np.random.default_rng(seed)
        columns, by = question(case, rng)
        options = {"by": by, "tolerance": 0.25 * (seed % 4 == 0)}
        with listing(lists):
            answer = independent(case.model, columns, case.domain, **options)
            assert check(answer, tmp_path) == 0, seed
            document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
            assert len(document["undecided"]) == (answer.status == "undecided"), seed
            rows = case.rows[rng.integers(len(case.rows), size=3)]
            flips = find_flips(case.model, rows, columns, case.domain, **options)
            assert check(flips, tmp_path) == 0, seed
        document = json.loads((tmp_path / "answer.proof.json").read_text("utf-8"))
        assert len(document["undecided"]) == (flips.status == "undecided").sum(), seed
