"""Reading tables, and what is decided about their columns and target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.cli.tables import TableRequest, prepare, read_split_table, take_target, task_of
from dtsemnet.tables.files import read_table


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_numbers_come_from_csv_to_the_bit(numbers: list[float]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_text("x,y\n" + "".join(f"{number!r},1.5\n" for number in numbers))
        assert read_table(path)["x"].tolist() == numbers


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1] * 10, "classification"),
        ([0.0, 1.0, np.nan] * 10, "classification"),
        (list(range(10)) * 20, "classification"),
        (list(range(30)) * 20, "regression"),
        (list(range(10)), "regression"),
        ([0.5, 1.5] * 50, "regression"),
        ([True, None, False] * 5, "classification"),
    ],
)
def test_target_decides_the_task(y: list[object], task: str) -> None:
    remarks: list[str] = []
    _, target, _ = take_target(pd.DataFrame({"x": 1.0, "y": y}), "y", remark=remarks.append)
    assert task_of(target)[0] == task
    assert bool(remarks) == pd.isna(pd.Series(y)).any()


def test_whole_numbers_beside_empty_cells_stay_whole() -> None:
    _, y, _ = take_target(pd.DataFrame({"x": [1, 2, 3], "y": [1.0, np.nan, 2.0]}), "y")
    assert y.tolist() == [1, 2]
    assert y.dtype == np.int64


def test_the_option_overrules() -> None:
    assert task_of(np.array([0, 1] * 20), "regression") == ("regression", "as --task says")
    assert task_of(np.arange(12), "classification") == ("classification", "as --task says")


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no column is left.*every row has '1'"):
        prepare(pd.DataFrame({"x": [1, 1, 1]}))


def test_row_numbers_without_a_name_are_left_out() -> None:
    remarks: list[str] = []
    frame, fates = prepare(pd.DataFrame({"Unnamed: 0": range(30), "x": np.linspace(0, 1, 30)}), remark=remarks.append)
    assert list(frame.columns) == ["x"]
    assert remarks == ["column 'Unnamed: 0' left out: it numbers the rows."]
    assert fates == {"Unnamed: 0": "left out: it numbers the rows", "x": "number"}


def test_dates_of_parquet_are_left_out_with_the_option_that_reads_them() -> None:
    with pytest.raises(ValueError, match=r"'day' left out: it holds dates or times .2024-01-01.; --date 'day' reads"):
        prepare(pd.DataFrame({"day": pd.date_range("2024-01-01", periods=3)}))


def test_a_text_with_nearly_as_many_values_as_rows_is_flagged() -> None:
    remarks: list[str] = []
    frame, _ = prepare(pd.DataFrame({"code": [f"c{i % 60}" for i in range(100)]}), remark=remarks.append)
    assert list(frame.columns) == ["code"]
    assert remarks == [
        "column 'code' has 60 categories in 100 rows, like an identifier; leave it out by --drop 'code' if it is one."
    ]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "at least 0, got -1 in row 1"),
        ([1.0, np.nan], "at least 0, got nan"),
        (["a", "b"], "hold numbers"),
    ],
)
def test_weights_are_checked(weight: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=f"--weight 'w' must hold .*{message}|--weight 'w' must {message}"):
        take_target(pd.DataFrame({"x": [1, 2], "y": [1, 2], "w": weight}), "y", "w")


def test_whole_numbers_in_a_file_with_decimal_commas_are_not_said_to_be_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("size;units;price\n" + "".join(f"{k},5;{k % 7};{3 * k},25\n" for k in range(40)))
    table = read_split_table(TableRequest(tmp_path / "t.csv", "price"), lambda _: None)
    assert table.fates == {"size": "number, written as text", "units": "number"}
