"""A data frame as numbers: what the training rows fix, and what later rows may bring."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dtsemnet_paper.bench.one_hot import OneHot
from dtsemnet_paper.bench.splits import VisibleRows

TRAIN = pd.DataFrame(
    {
        "colour": ["red", "blue", None, "red"],
        "size": [1.0, np.nan, 3.0, 8.0],
        "legs": [4, 4, 2, 6],
        "tail": ["long", "short", "long", "long"],
    }
)


def test_columns_by_hand() -> None:
    one_hot = OneHot(TRAIN)
    # Numbers first, size with its median 3; then blue, red and missing; then long and short.
    expected = [
        [1, 4, 0, 1, 0, 1, 0],
        [3, 4, 1, 0, 0, 0, 1],
        [3, 2, 0, 0, 1, 1, 0],
        [8, 6, 0, 1, 0, 1, 0],
    ]
    np.testing.assert_array_equal(one_hot(TRAIN), expected)
    np.testing.assert_array_equal(one_hot.columns, [1, 2, 0, 0, 0, 3, 3])


def test_categories_and_gaps_that_training_never_had() -> None:
    later = pd.DataFrame({"colour": ["green"], "size": [2.0], "legs": [np.nan], "tail": [None]})
    # No colour, no tail: zeros. The median of legs is 4, though training had no gap there.
    np.testing.assert_array_equal(OneHot(TRAIN)(later), [[2, 4, 0, 0, 0, 0, 0]])


def test_column_without_any_number_is_zero() -> None:
    frame = TRAIN.assign(size=np.nan)
    np.testing.assert_array_equal(OneHot(frame)(frame)[:, 0], 0.0)


def test_later_rows_do_not_change_the_conversion() -> None:
    rows = VisibleRows(TRAIN, np.arange(4), TRAIN.assign(size=100.0, colour="blue"), np.arange(4))
    converted = OneHot(rows.X).convert(rows)
    np.testing.assert_array_equal(converted.X, OneHot(TRAIN)(TRAIN))
    np.testing.assert_array_equal(converted.X_val[:, [0, 2]], [[100, 1]] * 4)
    assert OneHot(TRAIN)(TRAIN[:0]).shape == (0, 7)


def test_frame_of_one_kind_only() -> None:
    np.testing.assert_array_equal(OneHot(TRAIN[["legs"]])(TRAIN[["legs"]]), TRAIN[["legs"]])
    assert OneHot(TRAIN[["tail"]]).columns.tolist() == [0, 0]
