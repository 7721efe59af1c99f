"""CSV files: categories and missing values stay, and what is no such table is refused with the way out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.conftest import flora, rivers
from dtsemnet_paper.bench.data import DataSpec, MissingData, check_data, load_data, read_catalogue

ROOT = Path(__file__).parents[3]


@pytest.fixture
def catalogue(csv_paper: Path) -> dict[str, DataSpec]:
    return read_catalogue(csv_paper / "csv-tables.toml")


def test_categories_and_missing_values_stay(catalogue: dict[str, DataSpec]) -> None:
    data, made = load_data(catalogue["flora"]), flora()
    assert list(data.X.columns) == ["colour", "soil", "height", "width"]
    np.testing.assert_array_equal(data.X.isna(), made.iloc[:, :-1].isna())
    assert data.X["colour"].tolist() == made["colour"].tolist()
    np.testing.assert_allclose(data.X["height"], made["height"])
    assert np.array(["iris", "lily", "rose"])[data.y].tolist() == made["target"].tolist()


def test_target_of_numbers_is_scaled(catalogue: dict[str, DataSpec]) -> None:
    np.testing.assert_allclose(load_data(catalogue["rivers"]).y, 10 * rivers()["target"])


def test_fingerprint_tells_a_category_and_a_gap_apart(catalogue: dict[str, DataSpec]) -> None:
    prints = {load_data(catalogue["flora"]).fingerprint}
    for column, value in (("colour", "pink"), ("soil", None), ("width", np.nan), ("height", 7.0)):
        changed = flora()
        changed.loc[1, column] = value
        changed.to_csv(Path(os.environ["DTSEMNET_TABLES"], "flora.csv"), index=False)
        prints.add(load_data(catalogue["flora"]).fingerprint)
    assert len(prints) == 5


def test_without_the_variable_the_error_names_it_and_the_way_out(
    catalogue: dict[str, DataSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DTSEMNET_TABLES")
    for look in (load_data, check_data):
        with pytest.raises(MissingData) as told:
            look(catalogue["flora"])
        for part in ("DTSEMNET_TABLES is not set", "flora.csv", "the column target last", "a meadow"):
            assert part in str(told.value)


def test_file_that_is_not_there_is_named(catalogue: dict[str, DataSpec]) -> None:
    with pytest.raises(MissingData, match=r"moss\.csv does not exist"):
        load_data(replace(catalogue["flora"], name="moss"))


def without_target(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"target": "kind"})


def with_gap(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(target=[None, *frame["target"][1:]])


def with_number_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(width=["wide", *frame["width"][1:]])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (without_target, "'kind', not 'target'"),
        (with_gap, "lacks the target of 1 rows"),
        (with_number_as_text, "the catalogue says 2 columns"),
        (lambda frame: frame[:-1], "another set"),
        (lambda frame: frame.drop(columns="width"), "another set"),
        (lambda frame: frame.assign(target="rose"), "3 classes"),
        (lambda frame: frame[:0], "no rows"),
    ],
)
def test_another_table_under_the_name_is_refused(
    catalogue: dict[str, DataSpec], change: Callable[[pd.DataFrame], pd.DataFrame], word: str
) -> None:
    change(flora()).to_csv(Path(os.environ["DTSEMNET_TABLES"], "flora.csv"), index=False)
    with pytest.raises(MissingData, match=word):
        load_data(catalogue["flora"])


def test_text_as_a_target_of_numbers_is_refused(catalogue: dict[str, DataSpec]) -> None:
    rivers().assign(target="much").to_csv(Path(os.environ["DTSEMNET_TABLES"], "rivers.csv"), index=False)
    with pytest.raises(MissingData, match="holds text"):
        load_data(catalogue["rivers"])


def test_unknown_kind_of_file_is_refused() -> None:
    with pytest.raises(ValueError, match="file of moss must be one of"):
        DataSpec("moss", "regression", 10, 1, file="xlsx")


def test_catalogue_holds_25_tables_of_classes_and_14_of_numbers() -> None:
    tasks = [spec.task for spec in read_catalogue(ROOT / "paper" / "csv-tables.toml").values()]
    assert (tasks.count("classification"), tasks.count("regression")) == (25, 14)
