"""Recipes: what training found is done to the next table alike, and survives the model file."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from dtsemnet.tables.files import TableOptions
from dtsemnet.tables.recipe import Recipe

TABLE = pd.DataFrame(
    {
        "price": ["1.234,5", "?", "12,5", "3,750"],
        "share": ["18,7%", "3%", "4%", "5,5%"],
        "count": ["12", "1.500", "7", "n/a"],
        "day": ["24.12.2023", "1.1.2024", None, "2.1.2024"],
        "kind": ["a", "?", "b", "a"],
        "plain": [1, 2, 3, 4],
    }
)
PARTS = {"day": ("year", "days")}


def test_texts_become_numbers_and_every_decision_is_said() -> None:
    remarks: list[str] = []
    recipe = Recipe.find(TABLE, TableOptions(decimal=","), dates=PARTS, remark=remarks.append)
    read = recipe.apply(TABLE)
    expected = {
        "price": [1234.5, np.nan, 12.5, 3.75],
        "share": [18.7, 3, 4, 5.5],
        "count": [12, 1500, 7, np.nan],
        "day year": [2023, 2024, np.nan, 2024],
        "day days since 2023-01-01": [357, 365, np.nan, 366],
        "kind": ["a", np.nan, "b", "a"],
        "plain": [1, 2, 3, 4],
    }
    pd.testing.assert_frame_equal(read, pd.DataFrame(expected), check_dtype=False)
    assert remarks == [
        "2 columns ('price', 'count') hold numbers written as text: '1.234,5' is read as 1234.5.",
        "column 'share' holds numbers written as text: '18,7%' is read as 18.7.",
        "'?' is read as missing in 2 columns ('price', 'kind') (2 rows).",
        "'n/a' is read as missing in column 'count' (1 row).",
        "column 'day' is read as 'day year', 'day days since 2023-01-01'.",
    ]


def test_a_recipe_comes_back_from_the_model_file_and_reads_the_next_table_alike() -> None:
    recipe = Recipe.find(TABLE, TableOptions(decimal=",", na=("unknown",)), dates=PARTS)
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe
    for row in range(len(TABLE)):  # of one row alone nobody could tell
        alone = again.apply(TABLE.iloc[[row]])
        pd.testing.assert_frame_equal(alone, recipe.apply(TABLE).iloc[[row]], check_dtype=False)


@pytest.mark.parametrize(
    "given",
    [
        [], {"numbers": []}, {"numbers": {"a": 1}}, {"numbers": {"a": {}}}, {"dates": {"a": {}}}, {"na": "?"},
        {"missing": {"a": [1]}}, {"dates": {"a": {"format": "", "parts": ["era"], "origin": "2020-01-01"}}},
        {"numbers": {"a": {"decimal": ";", "thousands": "", "sign": ""}}}, {"na": [1]},
    ],
)  # fmt: skip
def test_a_damaged_recipe_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"must (hold|have|list|be)"):
        Recipe.from_dict(given)


def test_whole_numbers_stay_whole() -> None:
    frame = pd.DataFrame({"n": ["1,500", "12", "950"]})
    assert Recipe.find(frame).apply(frame)["n"].tolist() == [1500, 12, 950]
    assert Recipe.find(frame).apply(frame)["n"].dtype == np.int64


def test_a_column_that_stays_text_is_not_looked_at() -> None:
    frame = pd.DataFrame({"code": ["1,5", "2,5"]})
    assert Recipe.find(frame, text=["code"]) == Recipe()


def test_unclear_numbers_follow_the_other_columns_or_are_asked_about() -> None:
    unclear = pd.DataFrame({"a": ["3,750", "4,125"]})
    with pytest.raises(ValueError, match=r"column 'a': '3,750' may be 3750 or 3.750; say which by --decimal , or by"):
        Recipe.find(unclear)
    assert Recipe.find(unclear.assign(b=["1,5", "2"])).apply(unclear)["a"].tolist() == [3.75, 4.125]
    assert Recipe.find(unclear.assign(b=["1,234.5", "2"])).apply(unclear)["a"].tolist() == [3750, 4125]
    unclear.attrs["separator"] = ","  # whoever writes decimal commas does not divide columns by commas
    assert Recipe.find(unclear).apply(unclear)["a"].tolist() == [3750, 4125]


def test_other_marks_than_in_training_are_named() -> None:
    recipe = Recipe.find(pd.DataFrame({"a": ["3,75", "4,5"]}))
    with pytest.raises(
        ValueError, match=r"'3.75' in row 0, .*\(decimal mark ','\).* --na 3.75, .*--decimal or --thous"
    ):
        recipe.apply(pd.DataFrame({"a": ["3.75"]}))
    other = recipe.with_options(TableOptions(decimal="."))
    assert other.apply(pd.DataFrame({"a": ["3.75"]}))["a"].tolist() == [3.75]
    assert recipe.apply(pd.DataFrame({"a": [3.75]}))["a"].tolist() == [3.75]  # a file of another kind holds numbers


@pytest.mark.parametrize(
    ("values", "message"),
    [(["3/4/2024"], "add --day-first or --month-first"), (["1.1.2024", "2024-01-02"], "not all written alike"),
     ([None], "holds no dates|not all written")],
)  # fmt: skip
def test_dates_that_cannot_be_read_say_why(values: list[object], message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        Recipe.find(pd.DataFrame({"d": pd.Series(values, dtype="string")}), dates={"d": ()})


def test_a_wide_table_is_put_together_at_once() -> None:
    frame = pd.DataFrame({f"c{j}": ["1,5", "2,75"] for j in range(300)})
    recipe = Recipe.find(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pandas warns of tables that grow column by column
        read = recipe.apply(frame)
    assert list(read.columns) == list(frame.columns)
    assert (read == [1.5] * 300).iloc[0].all()
