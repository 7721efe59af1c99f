"""Data sets are found in one order, checked, and never replaced."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from dtsemnet_paper.bench.data import DataSpec, MissingData, cache_folder, check_data, load_data, read_catalogue

ROOT = Path(__file__).parents[3]
REPLY = pd.DataFrame(
    {
        "sex": pd.Categorical(["M", "F", "I", "F"]),
        "size": pd.Categorical(["10", "2", "10", "7"], categories=["10", "2", "7"]),
        "weight": [0.5, 1.5, np.nan, 2.5],
        "kind": pd.Categorical(["b", "a", "a", "b"]),
    }
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids that were asked for; the reply is made by hand."""
    ids: list[int] = []

    def fetch_openml(*, data_id: int, **_: object) -> Bunch:
        ids.append(data_id)
        return Bunch(frame=REPLY.copy(), target_names=["kind"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return ids


def spec(**fields: object) -> DataSpec:
    given = {"task": "classification", "rows": 4, "features": 3, "classes": 2, "openml": {"id": 7}, **fields}
    return DataSpec("kinds", **given)  # type: ignore[arg-type]


def test_target_is_scaled_and_rows_are_those_of_the_archive(paper: Path, data_folder: Path) -> None:
    data = load_data(read_catalogue(paper / "datasets.toml")["diabetes"])
    with np.load(data_folder / "diabetes.npz") as archive:
        np.testing.assert_allclose(data.y, archive["y"].astype(float) * 0.1)
        np.testing.assert_array_equal(data.X, archive["X"])


def test_fingerprint_tells_rows_apart_but_not_number_types(paper: Path, data_folder: Path) -> None:
    iris = read_catalogue(paper / "datasets.toml")["iris"]
    first = load_data(iris).fingerprint
    with np.load(data_folder / "iris.npz") as archive:
        X, y = archive["X"], archive["y"]
    np.savez(data_folder / "iris.npz", X=X.astype(np.float64), y=y.astype(np.int32))
    assert load_data(iris).fingerprint == first
    X[0, 0] += 1
    np.savez(data_folder / "iris.npz", X=X, y=y)
    assert load_data(iris).fingerprint != first


def test_missing_set_says_where_it_was_looked_for_and_how_to_get_it(paper: Path, data_folder: Path) -> None:
    with pytest.raises(MissingData) as told:
        load_data(read_catalogue(paper / "datasets.toml")["nowhere"])
    for part in ("nowhere.npz", str(data_folder), str(cache_folder()), "DTSEMNET_DATA", "a shelf"):
        assert part in str(told.value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rows": 151}, "151, 4"),
        ({"features": 5}, "150, 5"),
        ({"classes": 4}, "4 classes"),
        ({"class_rows": [49, 51, 50]}, "51, 50"),
    ],
)
def test_another_set_under_the_name_is_refused(data_folder: Path, change: dict[str, object], word: str) -> None:
    wrong = DataSpec("iris", "classification", **{"rows": 150, "features": 4, "classes": 3, **change})  # type: ignore[arg-type]
    with pytest.raises(MissingData, match=word):
        load_data(wrong)
    if not {"classes", "class_rows"} & set(change):  # what the shape tells is told without reading the rows
        with pytest.raises(MissingData, match=word):
            check_data(wrong)


def test_openml_is_asked_once_and_then_the_cache(data_folder: Path, asked: list[int]) -> None:
    wanted = spec(rows=3, features=5, openml={"id": 7, "one_hot": ["sex"], "drop_missing": True, "test_last": 1})
    data = load_data(wanted)
    # one-hot columns F and M (no row with I is left), size by its value, weight
    np.testing.assert_array_equal(data.X[:, [0, 2, 3, 4]], [[0, 1, 10, 0.5], [1, 0, 2, 1.5], [1, 0, 7, 2.5]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])
    np.testing.assert_array_equal(data.masks["test"], [False, False, True])
    again = load_data(wanted)
    assert asked == [7]
    assert again.fingerprint == data.fingerprint
    assert again.origin == str(cache_folder() / "kinds.npz")


def test_folder_comes_before_openml(data_folder: Path, asked: list[int]) -> None:
    np.savez(data_folder / "kinds.npz", X=np.zeros((4, 3)), y=np.array([0, 1, 1, 0]))
    assert load_data(spec()).X.sum() == 0
    assert asked == []


def test_openml_reply_of_another_shape_is_refused_and_not_kept(data_folder: Path, asked: list[int]) -> None:
    with pytest.raises(MissingData, match="another set"):
        load_data(spec(rows=5, openml={"id": 7}))
    assert not cache_folder().exists()


def test_without_a_network_the_set_is_missing(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch_openml(**_: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(MissingData, match="no route to host"):
        load_data(spec())


def test_catalogue_of_the_paper_holds_its_37_sets() -> None:
    catalogue = read_catalogue(ROOT / "paper" / "datasets.toml")
    assert len(catalogue) == 37
    for entry in catalogue.values():
        assert entry.source, entry.name
        assert not entry.openml or {"id", "checked"} <= set(entry.openml)


def test_no_data_set_is_named_in_library_code() -> None:
    names = "|".join(re.escape(name) for name in read_catalogue(ROOT / "paper" / "datasets.toml"))
    for path in (ROOT / "src" / "dtsemnet" / "bench").glob("*.py"):
        found = re.search(rf"[\"']({names})[\"']", path.read_text())
        assert found is None, f"{path.name} names {found}"
