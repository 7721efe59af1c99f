"""Parts of a split do not meet, cover all rows, and come out the same again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from dtsemnet_paper.bench.data import DataSet, DataSpec
from dtsemnet_paper.bench.splits import RULES, Split, split_rows


@st.composite
def data_sets(draw: st.DrawFn) -> DataSet:
    n_rows, seed = draw(st.integers(40, 200)), draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    task = draw(st.sampled_from(["classification", "regression"]))
    rule = draw(st.sampled_from(sorted(RULES)))
    y = rng.integers(draw(st.integers(2, 5)), size=n_rows) if task == "classification" else rng.normal(size=n_rows)
    masks = {}
    if rule == "official":
        part = rng.permutation(n_rows) % 4
        if draw(st.booleans()):
            masks = {"test": part == 0} | ({"val": part == 1} if draw(st.booleans()) else {})
        else:
            masks = {"test_splits": np.stack([part == k for k in range(4)])}
    spec = DataSpec("drawn", task, n_rows, 1, classes=5, split={"rule": rule})
    return DataSet(spec, np.arange(n_rows)[:, None], y, masks)


def rule_of(data: DataSet) -> str:
    return str(data.spec.split["rule"])


@given(data=data_sets(), seed=st.integers(0, 1000))
def test_parts_are_disjoint_cover_all_rows_and_are_reproducible(data: DataSet, seed: int) -> None:
    split, again = split_rows(data, seed), split_rows(data, seed)
    parts = [split.train, split.validation, split.test]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(data.y)))
    assert all(len(part) or (part is split.validation and rule_of(data) == "holdout") for part in parts)
    for part, twin in zip(parts, [again.train, again.validation, again.test]):
        np.testing.assert_array_equal(part, twin)


@given(data=data_sets(), seed=st.integers(0, 1000))
def test_what_is_handed_over_holds_no_test_row(data: DataSet, seed: int) -> None:
    split = split_rows(data, seed)
    handed = split.visible_rows(data)
    shown = np.concatenate([handed.X[:, 0], handed.X_val[:, 0]])  # the only feature is the number of the row
    assert not np.isin(shown, split.test).any()
    assert handed.X.base is None
    assert handed.X_val.base is None
    if data.spec.task == "classification":
        assert np.isin(handed.y_val, handed.y).all()


@given(data=data_sets(), seed=st.integers(0, 1000))
def test_handed_as_a_whole_are_all_rows_but_the_test_rows(data: DataSet, seed: int) -> None:
    split = split_rows(data, seed)
    handed = split.visible_rows(data, whole=True)
    seen = handed.X[:, 0]  # the number of the row
    np.testing.assert_array_equal(seen, np.sort(np.concatenate([split.train, split.validation])))
    np.testing.assert_array_equal(handed.y, data.y[seen])
    assert not np.isin(seen, split.test).any()
    assert len(handed.X_val) == len(handed.y_val) == 0
    assert handed.X.base is None


@given(data=data_sets())
def test_seed_changes_random_splits_and_no_fixed_one(data: DataSet) -> None:
    tests = {split_rows(data, seed).test.tobytes() for seed in range(4)}
    varies = rule_of(data) in ("random", "holdout") or "test_splits" in data.masks
    assert (len(tests) > 1) == varies


def of(rule: dict[str, object], n_rows: int, **masks: np.ndarray) -> Split:
    spec = DataSpec("sized", "regression", n_rows, 1, split=rule)
    return split_rows(DataSet(spec, np.zeros((n_rows, 1)), np.zeros(n_rows), masks), 0)


@pytest.mark.parametrize(
    ("rule", "n_rows", "n_test", "expected"),
    [
        ({"rule": "fixed"}, 2310, 0, (1478, 370, 462)),
        ({"rule": "fixed"}, 67557, 0, (43236, 10809, 13512)),
        ({"rule": "official", "validation": 0.3}, 6435, 2000, (3104, 1331, 2000)),
        ({"rule": "official", "validation": 0.2}, 10992, 3498, (5995, 1499, 3498)),
        ({"rule": "official", "validation": 0.2}, 13750, 6596, (5723, 1431, 6596)),
        ({"rule": "rest"}, 10081, 0, (7056, 907, 2118)),
        ({"rule": "rest"}, 20640, 0, (14448, 1857, 4335)),
    ],
)
def test_sizes_are_the_published_ones(rule: dict[str, object], n_rows: int, n_test: int, expected: object) -> None:
    split = of(rule, n_rows, **({"test": np.arange(n_rows) >= n_rows - n_test} if n_test else {}))
    assert (len(split.train), len(split.validation), len(split.test)) == expected


def test_holdout_is_the_stratified_split_of_scikit_learn() -> None:
    y = np.repeat([0, 1], [70, 30])
    spec = DataSpec("classes", "classification", 100, 1, classes=2, split={"rule": "holdout", "test": 0.3})
    split = split_rows(DataSet(spec, np.zeros((100, 1)), y), 4)
    train, test = train_test_split(np.arange(100), test_size=0.3, stratify=y, random_state=4)
    np.testing.assert_array_equal(split.train, train)
    np.testing.assert_array_equal(split.test, test)
    assert np.bincount(y[split.test]).tolist() == [21, 9]
    assert len(split.validation) == 0


def test_official_rule_draws_its_masks_where_the_catalogue_says_so() -> None:
    wish = {"rule": "official", "test": 0.4, "splits": 5}
    spec = DataSpec("drawn", "regression", 8192, 1, split=wish)
    data = DataSet(spec, np.zeros((8192, 1)), np.zeros(8192))
    splits = [split_rows(data, seed) for seed in range(6)]
    assert {(len(s.train), len(s.validation), len(s.test)) for s in splits} == {(3932, 983, 3277)}
    assert len({s.test.tobytes() for s in splits}) == 5
    np.testing.assert_array_equal(splits[0].test, splits[5].test)
    with pytest.raises(ValueError, match="no official split"):
        of({"rule": "official"}, 10)


def test_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="rule of sized must be one of"):
        of({"rule": "guess"}, 10)
