"""Which encoder a table gets, and what is checked at prediction."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.estimators.encode import add_fills, as_table, check_rows, fit_encoder


def fit(X, names=None, categorical_features="from_dtype", missing="indicator"):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    return fit_encoder(X, names, categorical_features=categorical_features, missing=missing, estimator=None)


def test_numbers_stay_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    encoder, rows = fit(X)
    assert encoder.is_identity
    assert rows is X


def test_missing_numbers_are_filled_with_the_mean_and_say_so():
    encoder, rows = fit(np.array([[1.0, 5.0], [np.nan, 6.0], [4.0, 7.0]]))
    assert encoder.feature_names == ("x0", "x0 missing", "x1")
    assert_array_equal(rows, [[1, 0, 5], [2.5, 1, 6], [4, 0, 7]])


def test_a_column_of_nothing_is_filled_with_0():
    _, rows = fit(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    assert_array_equal(rows, [[0, 1, 1], [0, 1, 2]])


def test_strings_categories_and_objects_become_one_feature_per_category():
    frame = pd.DataFrame(
        {"s": ["b", "a", "b"], "c": pd.Categorical(["z", "z", "y"]), "n": [1, 2, 3], "o": [1.5, None, 2]}
    )
    encoder, rows = fit(frame, list(frame.columns))
    assert encoder.feature_names == ("s=a", "s=b", "c=y", "c=z", "n", "o", "o missing")
    assert_array_equal(rows[1], [1, 0, 0, 1, 2, 1.75, 1])


@pytest.mark.parametrize("chosen", [[0], ["x0"], [True, False]])
def test_columns_may_be_chosen_by_position_name_or_mask(chosen):
    encoder, _ = fit(np.array([[3.0, 1.0], [5.0, 2.0]]), categorical_features=chosen)
    assert encoder.feature_names == ("x0=3.0", "x0=5.0", "x1")


def test_none_means_that_all_columns_are_numbers():
    with pytest.raises(ValueError, match="could not convert"):
        fit(pd.DataFrame({"s": ["a", "b"]}), ["s"], categorical_features=None)


def test_too_many_categories_look_like_an_identifier():
    with pytest.raises(ValueError, match="'x0' has 1001 categories"):
        fit(np.arange(1001.0)[:, None], categorical_features=[0])


@pytest.mark.parametrize("frame", [pd.DataFrame({"n": [1.0, None], "s": ["a", "b"]}), pd.DataFrame({"s": ["a", None]})])
def test_missing_values_are_refused_if_they_are_an_error(frame):
    with pytest.raises(ValueError, match="in column"):
        fit(frame, list(frame.columns), missing="error")


def test_rows_are_checked_at_prediction():
    encoder, rows = fit(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="NaN"):
        check_rows(encoder, np.array([[np.nan]]), None)
    with pytest.warns(UserWarning, match="x0 \\(1 row\\)"):
        assert np.isnan(check_rows(add_fills(encoder, rows.mean(axis=0)), np.array([[np.nan]]), None)).all()
    assert check_rows(encoder, rows, None) is rows
    filled, _ = fit(np.array([[1.0], [np.nan]]))
    assert np.isnan(check_rows(filled, np.array([[np.nan]]), None)).all()


def test_a_mean_beyond_the_doubles_stays_finite():
    encoder, _ = fit(np.full((3, 1), 1.7976931348623157e308))
    assert add_fills(encoder, np.array([np.inf])).columns[0].fill == 1.7976931348623157e308


def test_a_warning_names_a_few_of_many_columns():
    encoder, rows = fit(np.ones((2, 30)))
    with pytest.warns(UserWarning, match=r"x0 \(2 rows\), .* x19 \(2 rows\) and 10 more columns; they"):
        check_rows(add_fills(encoder, rows.mean(axis=0)), np.full((2, 30), np.nan), None)


def test_lists_of_mixed_values_do_not_become_strings():
    assert as_table([[1, "a"], [2, "b"]])[0, 0] == 1
