"""In PostgreSQL the expression answers as the tree does, and no row ends the query with an error."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from databases import OUTPUTS, find_postgres, in_duckdb, run_in_postgres, running_postgres
from dtsemnet.export import check_export
from dtsemnet.export.probes import EXTREME, probe_rows
from dtsemnet.export.sql import query, to_sql
from dtsemnet.export.sql.postgres import Limits
from dtsemnet.tree import Column, Encoder, MarginProbability, Model, Topology, Tree
from strategies import MODELS, make_model

TREE = Tree(Topology.complete(1), [[1e10, -1e-10]], [0.0], [[1.0], [2.0]], feature_names=["a", "b"])


@pytest.fixture(scope="module")
def server():
    if find_postgres() is None:  # a server is no Python package; .ci/run installs one and forbids skips
        pytest.skip("needs a PostgreSQL server (Debian: postgresql)")
    with running_postgres() as running:
        yield running


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("kind", MODELS)
def test_every_model_agrees(kind, output, server):
    model = make_model(kind)
    if output == "proba" and not model.is_classifier:
        return
    artefact = to_sql(model, output=output, dialect="postgresql")
    report = check_export(model, run_in_postgres(server, model, artefact, output), n_rows=400)
    assert report.n_rows > 150
    assert report.n_near == 0


@pytest.mark.parametrize("kind", MODELS)
def test_extreme_rows_are_null_and_do_not_abort_the_query(kind, server):
    """Overflow and underflow are errors in PostgreSQL, which end the query for all rows."""
    model = make_model(kind)
    artefact = to_sql(model, output="leaf", dialect="postgresql")
    rng = np.random.default_rng(3)
    rows = probe_rows(model, None, 300, rng)
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            rows[:, j] = rng.choice([*EXTREME, math.inf, math.nan, 2.3e-308, 1e200], len(rows))
    contained = Limits.of(model).contain(rows)
    expected = np.full(len(rows), -1)
    expected[contained] = model.apply(rows[contained])
    assert_array_equal(run_in_postgres(server, model, artefact, "leaf").answer(rows).leaf, expected)


@pytest.mark.parametrize(
    ("a", "b"), [(1e300, 1.0), (1.0, 5e-324), (1e300, 1e300), (5e-324, 1e-315), (-1e299, 1e-308), (1.7e308, -1.7e308)]
)
def test_a_row_that_overflows_or_underflows_is_null(a, b, server):
    text = to_sql(TREE, dialect="postgresql").text
    rows = [[a, b], [3.0, 2.0]]
    assert server.select(text, ["a", "b"], ["double precision"] * 2, rows, "t") == [[None], ["2"]]
    assert query(["a", "b"], np.array(rows), text, "t") == [(None,), (2.0,)]
    assert in_duckdb(pd.DataFrame(rows, columns=["a", "b"]), text) == [(None,), (2.0,)]
    with pytest.raises(RuntimeError, match="out of range"):  # what the dialect is there for
        server.select(to_sql(TREE).text, ["a", "b"], ["double precision"] * 2, rows, "t")


def test_a_column_named_like_a_stage_is_read_as_a_column(server):
    names = ["c0", "p0", "P_1", "c"]
    columns = [Column(name, missing="fill", fill=0.5) for name in names]
    weight, value = [[1.0, -2.0, 0.3, 0.1]], [[0.9, 0.1], [0.2, 0.8]]
    tree = Tree(Topology.complete(1), weight, [0.1], value, class_names=["x", "y"])
    model = Model(Encoder(columns), tree, probability=MarginProbability(rate=0.7, power=0.6, floor=0.03))
    for output in ("predict", "proba"):
        artefact = to_sql(model, output=output, dialect="postgresql", table="given")
        assert check_export(model, run_in_postgres(server, model, artefact, output), n_rows=100).n_near == 0


def test_numbers_of_other_types_are_read_as_doubles(server):
    text = to_sql(TREE, dialect="postgresql").text
    for kind in ("numeric", "real", "integer", "smallint", "bigint"):
        rows = [[0, 7], [5, 3]]
        assert server.select(text, ["a", "b"], [kind] * 2, rows, "t") == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Tree(Topology.complete(1), [[1e-230, 1.0]], [0.0], [[1.0], [2.0]]), "weights of column 'x0' span too many"),
        (Tree(Topology.complete(1), [[1.0, 1e230]], [0.0], [[1.0], [2.0]]), "weights of column 'x1' span too many"),
        (Tree(Topology.complete(1), [[1.0, 1.0]], [1e260], [[1.0], [2.0]]), "a number of the tree is too large"),
        (
            Model(Encoder([Column("a", missing="fill", fill=1e-300)]),
                  Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0], [2.0]])),
            "the fill 1e-300 of column 'a' is too extreme",
        ),
        (
            Model(Encoder([Column("a", center=1e-260)]), Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0], [2.0]])),
            "the centre of column 'a' is too small",
        ),
        (
            Model(Encoder([Column("a", lower=-1e-280, upper=1.0)]),
                  Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0], [2.0]])),
            "a bound of column 'a' is too small",
        ),
    ],
)  # fmt: skip
def test_models_whose_ordinary_rows_could_overflow_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        to_sql(model, dialect="postgresql")
    assert to_sql(model).report.n_near == 0


def test_unknown_dialects_are_refused():
    with pytest.raises(ValueError, match="dialect must be"):
        to_sql(TREE, dialect="mysql")
