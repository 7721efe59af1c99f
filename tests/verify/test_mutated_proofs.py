"""Proofs that were changed: the checker accepts none that says something false."""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import dtsemnet_check
import dtsemnet_check_loop
import dtsemnet_check_smt
from dtsemnet import Topology, Tree
from dtsemnet.verify import Domain, never
from verify.mutate_proofs import campaign


@pytest.mark.parametrize("n", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_no_change_that_makes_a_proof_wrong_is_accepted(n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for area, counted in campaign(n, first=n).items():
        assert not [outcome for outcome in counted if outcome.startswith("wrong")], (area, counted)


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """A proof by multipliers, as a file."""
    tree = Tree(
        Topology.complete(2), [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]], [0.5, -9.0, 0.25],
        np.eye(4), class_names=["a", "b", "c", "d"], feature_names=["x", "y"],
    )  # fmt: skip
    domain = Domain([-1, -1], [1, 1], A=[[1.0, -1.0]], b=[0.5])
    path = never(tree, domain, "b").save_proof(tmp_path_factory.mktemp("proof") / "b.json")
    assert json.loads(path.read_text("utf-8"))["claims"][0]["holds"]
    return path


def run(data: bytes, path) -> tuple[int, str]:
    path.write_bytes(data)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = dtsemnet_check.main([str(path), "--quiet"])
    return code, said.getvalue()


@pytest.mark.parametrize("n", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_in_one_line(proof, n, tmp_path):
    rng, data = np.random.default_rng(0), proof.read_bytes()
    for _ in range(n):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            k = int(rng.integers(len(damaged)))
            way = rng.integers(4)
            if way == 0:
                damaged[k] = int(rng.integers(256))
            elif way == 1:
                del damaged[k : k + int(rng.integers(1, 40))]
            elif way == 2:
                damaged[k:k] = bytes(damaged[: int(rng.integers(1, 40))])
            else:
                damaged = damaged[: max(k, 1)]
        code, said = run(bytes(damaged), tmp_path / "damaged.json")
        assert code in (0, 1, 2)
        if code == 2:
            assert said.startswith("refused: "), said
            assert said.count("\n") == 1, said


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"a": 1, "a": 2}', b"1e999", b"NaN", b"9" * 10_000,
        b'{"format": "dtsemnet-proof", "version": 2}', b'{"format": "dtsemnet-proof", "version": 1, "model": 3}',
    ],
)  # fmt: skip
def test_what_is_no_proof_file_is_refused(data, tmp_path):
    code, said = run(data, tmp_path / "other.json")
    assert code == 2
    assert said.startswith("refused: ")
    assert said.count("\n") == 1


def test_a_file_that_is_missing_is_refused(tmp_path, capsys):
    assert dtsemnet_check.main([str(tmp_path / "absent.json")]) == 2
    assert capsys.readouterr().err.startswith("refused: ")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("claims", 0, "certificate"), {}),
        (("claims", 0, "statement", "classes"), ["a"]),
        (("domain", "columns", 0, "high"), 1000.0),
        (("domain", "columns", 1, "high"), 1000.0),
        (("model", "tree", "bias"), [0.5, 9.0, 0.25]),
        (("model", "tree", "weight"), [[1.0, 1.0], [-1.0, -20.0], [2.0, 1.0]]),
    ],
)
def test_a_proof_of_something_else_is_no_proof(proof, place, value, tmp_path):
    document = json.loads(proof.read_text("utf-8"))
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    code, said = run(json.dumps(document).encode(), tmp_path / "changed.json")
    assert code == 1
    assert "NOT PROVED" in said


def test_multipliers_below_zero_and_of_half_spaces_elsewhere_prove_nothing(proof, tmp_path):
    document = json.loads(proof.read_text("utf-8"))
    (key,) = document["claims"][0]["certificate"]
    for farkas in ([["s1", -1.0]], [["s2", 1.0]], [["s0", 1.0]], []):
        document["claims"][0]["certificate"] = {key: {"farkas": farkas}}
        assert run(json.dumps(document).encode(), tmp_path / "changed.json")[0] == 1


def test_sums_of_fractions_that_grow_count_as_steps(proof, tmp_path, monkeypatch):
    monkeypatch.setattr(dtsemnet_check, "MOST_STEPS", 10**6)
    document = json.loads(proof.read_text("utf-8"))
    (key,) = document["claims"][0]["certificate"]
    multipliers = [["A0", f"1/{10**900 + k}"] for k in range(200)]
    document["claims"][0]["certificate"] = {key: {"farkas": multipliers}}
    code, said = run(json.dumps(document).encode(), tmp_path / "slow.json")
    assert (code, "the certificate takes too many steps" in said) == (1, True)
    document["claims"][0]["certificate"] = {key: {"farkas": [["A0", 1.0]] * 200}}
    assert "too many steps" not in run(json.dumps(document).encode(), tmp_path / "quick.json")[1]


def test_a_column_of_many_categories_fills_no_memory(proof, tmp_path):
    document, names = json.loads(proof.read_text("utf-8")), [str(k) for k in range(20_000)]
    document["model"]["encoder"] = {"columns": [{"name": "x", "categories": names}]}
    document["model"]["tree"] = {
        "n_features": len(names), "n_splits": 0, "n_outputs": 1, "children": [], "weight": [], "bias": [],
        "value": [[0.0]],
    }  # fmt: skip
    document["domain"] = {"columns": [{"categories": names}]}  # 20,000 points of 20,000 features
    code, said = run(json.dumps(document).encode(), tmp_path / "wide.json")
    assert (code, said) == (2, "refused: a column has too many categories (Malformed)\n")


def test_a_negative_number_of_a_feature_does_not_get_around_the_norm(proof, tmp_path):
    document = json.loads(proof.read_text("utf-8"))
    document["model"]["tree"] |= {
        "n_splits": 1, "weight": [[1.0, 1.0]], "bias": [-0.5], "children": [[-1, -2]],
        "value": [[1.0, 0.0], [0.0, 1.0]], "n_outputs": 2, "class_names": ["a", "b"],
    }  # fmt: skip
    document["domain"].pop("constraints")
    near = {"row": [0.0, 0.0], "norm": "1", "distance": 1.0, "held": []}
    claim = {"statement": {"kind": "never", "classes": ["b"], "near": near}, "holds": False, "witness": [[1.0, 0.0]]}
    document["claims"] = [claim]
    assert run(json.dumps(document).encode(), tmp_path / "witness.json")[0] == 0
    for first in (0, -2):  # the features as they are, and as Python would count them from the end
        corner = {"feature": 0, "at": 0.125, "parts": [{"farkas": [["s0", 1.0]]}, _far(first)]}
        case = {"feature": 1, "at": 0.125, "parts": [corner, _far(first + 1)]}
        document["claims"] = [claim | {"holds": True, "certificate": {"~1": case}}]
        assert run(json.dumps(document).encode(), tmp_path / "forged.json")[0] == (1 if first == 0 else 2)


def _far(feature: int) -> dict[str, object]:
    """A case which says that a feature is too large for the norm, by a half-space that the norm does not imply."""
    return {"farkas": [["norm", 1.0]], "norm": [[feature, 1000.0]]}


def test_scaled_multipliers_and_fractions_are_the_same_proof(proof, tmp_path):
    document = json.loads(proof.read_text("utf-8"))
    ((key, case),) = document["claims"][0]["certificate"].items()
    for factor in ("7/3", 1e-300, 1e300):
        case["farkas"] = [[name, factor] for name, _ in case["farkas"]]
        assert len(case["farkas"]) == 1
        document["claims"][0]["certificate"] = {key: case}
        assert run(json.dumps(document).encode(), tmp_path / "scaled.json")[0] == 0


@pytest.mark.parametrize("module", [dtsemnet_check, dtsemnet_check_loop, dtsemnet_check_smt])
def test_the_checker_needs_the_standard_library_alone(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    of_its_own = {"dtsemnet_check", "dtsemnet_check_loop"}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names | of_its_own
