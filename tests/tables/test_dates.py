"""Dates as numbers: the format is found, and the parts are those of the calendar."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dtsemnet.tables.dates import PARTS, AmbiguousDates, DateParts, date_format, looks_like_dates

DAYS = pd.Series(pd.date_range("2019-11-28", periods=60, freq="37h"))
FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%b-%Y", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M",
           "%B %d, %Y", "%m/%d/%Y %I:%M %p"]  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_the_format_is_found_and_the_parts_are_those_of_the_calendar(form: str) -> None:
    texts = DAYS.dt.strftime(form)
    assert looks_like_dates(texts)
    parts = DateParts.of(texts, PARTS)
    assert parts.format == form
    known = pd.to_datetime(texts, format=form)
    read = parts.read("d", texts)
    assert list(read) == parts.names("d")
    year, month, day, weekday, hour, days = read.values()
    for part, expected in ((year, known.dt.year), (month, known.dt.month), (day, known.dt.day)):
        np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(weekday, known.dt.isocalendar().day.astype(float))
    np.testing.assert_allclose(hour, known.dt.hour + known.dt.minute / 60 + known.dt.second / 3600)
    np.testing.assert_allclose(days, (known - pd.Timestamp("2019-01-01")) / pd.Timedelta(days=1))


def test_dates_of_other_files_are_dates_too() -> None:
    for values in (DAYS, DAYS.dt.tz_localize("Europe/Oslo"), DAYS.dt.date.astype(object)):
        assert looks_like_dates(values)
        assert DateParts.of(values, ("year",)).read("d", values)["d year"].tolist() == DAYS.dt.year.tolist()


def test_the_hour_is_read_if_there_are_times() -> None:
    assert DateParts.of(DAYS, ()).parts == ("year", "month", "weekday", "hour", "days")
    assert DateParts.of(DAYS.dt.normalize(), ()).parts == ("year", "month", "weekday", "days")


def test_day_or_month_first_is_asked() -> None:
    texts = pd.Series(["3/4/2024", "5/6/2024"])
    with pytest.raises(AmbiguousDates, match="'3/4/2024' may be read with the day or with the month first"):
        date_format(texts)
    assert date_format(texts, month_first=True) == "%m/%d/%Y"
    assert date_format(texts, month_first=False) == "%d/%m/%Y"


def test_a_missing_date_is_missing_and_a_wrong_one_is_named() -> None:
    parts = DateParts("%Y-%m-%d", ("year",), "2020-01-01")
    assert np.isnan(parts.read("d", pd.Series(["2024-01-01", None]))["d year"][1])
    with pytest.raises(ValueError, match=r"column 'd' holds '1.1.2024' in row 0, which is no date written as in"):
        parts.read("d", pd.Series(["1.1.2024"]))


@pytest.mark.parametrize("texts", [["1.5", "2.25"], ["2024", "2023"], ["1-2", "3-4"], ["abc"], []])
def test_numbers_and_words_are_no_dates(texts: list[str]) -> None:
    assert looks_like_dates(pd.Series(texts, dtype="string")) == ""
