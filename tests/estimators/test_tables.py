"""Tables: frames, categories, missing values, odd columns, and what is refused."""

import warnings

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model
from dtsemnet.export import to_text

QUICK = {"max_depth": 2, "max_iter": 30, "n_init": 2, "random_state": 0}


def mixed(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows).astype(float),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_rows)),
            "smoker": rng.random(n_rows) < 0.3,
        }
    )
    y = np.where((frame["colour"] == "red") ^ (frame["age"] > 50), "yes", "no")
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return frame, y


def test_categories_and_missing_values_are_learned():
    frame, y = mixed(600)
    fitted = DTSemNetClassifier(**{**QUICK, "max_iter": 100}).fit(frame, y)
    assert fitted.score(frame, y) > 0.85
    assert list(fitted.feature_names_in_) == ["age", "colour", "size", "smoker"]
    assert "colour=red" in fitted.tree_.feature_names
    assert "age missing" in fitted.tree_.feature_names
    assert fitted.feature_importances_.shape == (4,)
    assert "colour" in to_text(fitted.model_)


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda frame: frame.to_numpy(dtype=object)])
def test_polars_and_object_arrays_say_the_same(convert):
    frame, y = mixed()
    fitted = DTSemNetClassifier(**QUICK).fit(frame, y)
    frame = frame.assign(size=frame["size"].astype(str))
    assert_array_equal(fitted.predict(convert(frame)), fitted.predict(frame))


def test_a_polars_frame_fits_as_its_pandas_twin():
    frame, y = mixed()
    frame = frame.drop(columns="size")
    twin = DTSemNetClassifier(**QUICK).fit(frame, y)
    assert DTSemNetClassifier(**QUICK).fit(pl.from_pandas(frame), y).tree_ == twin.tree_


def _duckdb(frame):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_df(frame)


FRAMES = {
    "pyarrow": pyarrow.Table.from_pandas,
    "record batch": pyarrow.RecordBatch.from_pandas,
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": _duckdb,
    "narwhals": lambda frame: narwhals.from_native(pl.from_pandas(frame)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_data_frame_fits_and_predicts_as_its_pandas_twin(kind):
    frame, y = mixed()
    frame = frame.drop(columns="size")
    twin, given = DTSemNetClassifier(**QUICK).fit(frame, y), FRAMES[kind](frame)
    fitted = DTSemNetClassifier(**QUICK).fit(given, y)
    assert fitted.tree_ == twin.tree_
    assert fitted.feature_names_in_.tolist() == ["age", "colour", "smoker"]
    assert_array_equal(fitted.predict(given), twin.predict(frame))
    assert_array_equal(fitted.model_.predict(given), twin.predict(frame))


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, scipy.sparse.csc_array])
def test_a_sparse_matrix_fits_and_predicts_as_its_dense_twin(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) * (rng.random((100, 5)) < 0.3)
    y = X[:, 0] > 0.1
    twin = DTSemNetClassifier(**QUICK).fit(X, y)
    fitted = DTSemNetClassifier(**QUICK).fit(form(X), y)
    assert fitted.tree_ == twin.tree_
    assert_array_equal(fitted.predict_proba(form(X)), twin.predict_proba(X))


@pytest.mark.parametrize("form", [scipy.sparse.csc_matrix, pd.DataFrame.sparse.from_spmatrix])
@pytest.mark.parametrize("kind", [DTSemNetClassifier, DTSemNetRegressor])
def test_sparse_rows_are_dense_a_block_at_a_time_in_predictions(kind, form, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) * (rng.random((100, 5)) < 0.3)
    y = X[:, 0] > 0.1 if kind is DTSemNetClassifier else X[:, 0]
    given = form(scipy.sparse.csr_matrix(X))
    fitted, twin = kind(**QUICK).fit(given, y), kind(**QUICK).fit(X, y)
    assert_array_equal(fitted.tree_.weight, twin.tree_.weight)
    seen = []
    check = kind._checked
    monkeypatch.setattr(kind, "_checked", lambda self, X: seen.append(X.shape[0]) or check(self, X))
    monkeypatch.setattr("dtsemnet.estimators.encode._SPARSE_BLOCK", 150)
    assert_array_equal(fitted.predict(given), twin.predict(X))
    assert seen == [30, 30, 30, 10, 100]
    assert_array_equal(fitted.apply(given), twin.apply(X))
    if kind is DTSemNetClassifier:
        assert_array_equal(fitted.predict_proba(given), twin.predict_proba(X))


def test_a_large_sparse_table_with_a_wrong_value_is_named_by_its_row(monkeypatch):
    fitted = DTSemNetClassifier(**QUICK).fit(NUMBERS, TARGET)
    monkeypatch.setattr("dtsemnet.estimators.encode._SPARSE_BLOCK", 4 * NUMBERS.shape[1])
    wrong = NUMBERS.copy()
    wrong[17, 1] = np.inf
    with pytest.raises(ValueError, match="row 17 of column 'x1'"):
        fitted.predict(scipy.sparse.csr_matrix(wrong))


def texts(way):
    rng = np.random.default_rng(0)
    return {
        "decimal comma": [f"{number:.2f}".replace(".", ",") for number in rng.normal(size=200)],
        "percent": [f"{number:.1f}%" for number in rng.uniform(0, 90, 200)],
        "thousands": [f"{number:,}" for number in rng.integers(100, 10**7, 200)],
        "missing": ["?", *(f"{number:.3f}" for number in rng.normal(size=199))],
        "dates": pd.date_range("2020-01-01", periods=200).strftime("%Y-%m-%d").tolist(),
        "identifier": [f"id{row}" for row in range(200)],
    }[way]


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "decimal comma",
            r"numbers written as text, such as '.*', and .* X\['a'\].str.replace\(',', '.'\).astype\(float",
        ),
        ("percent", r"convert it by X\['a'\].str.replace\('%', ''\).astype\(float\)"),
        ("thousands", r"convert it by X\['a'\].str.replace\(',', ''\).astype\(float\)"),
        ("missing", r"pandas.to_numeric\(X\['a'\], errors='coerce'\)"),
        ("dates", r"dates written as text, such as '2020-01-01', and is read as 200 categories; .*to_datetime"),
        ("identifier", "has 200 categories in 200 rows, like an identifier; leave it out if it is one"),
    ],
)
def test_145_silent_categories(way, message):
    frame = pd.DataFrame({"a": texts(way), "x": np.linspace(0, 1, 200)})
    y = np.arange(200) % 2
    with pytest.warns(UserWarning, match=f"column 'a' .*{message}.*Name columns in categorical_features") as said:
        DTSemNetClassifier(max_depth=1, effort=0, n_init=1, max_iter=2).fit(frame, y)
    assert len(said) == 1
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DTSemNetClassifier(max_depth=1, effort=0, n_init=1, max_iter=2, categorical_features=["a"]).fit(frame, y)
    if "convert it by" in message and "X" in message:
        step = str(said[0].message).partition("convert it by ")[2].partition(". Name columns")[0]
        assert eval(step, {"X": frame, "pandas": pd}).dtype.kind in "iuf"


def test_few_categories_are_silent_even_if_they_are_digits():
    frame = pd.DataFrame({"a": ["1", "2", "3"] * 40, "x": np.linspace(0, 1, 120)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = DTSemNetClassifier(max_depth=1, effort=0, n_init=1, max_iter=2).fit(frame, np.arange(120) % 2)
    summary = fitted.columns_summary()
    assert [(line.name, line.read_as, line.missing) for line in summary] == [
        ("a", "3 categories (1, 2, 3)", "read as 1"), ("x", "number", "read as 0.5"),
    ]  # fmt: skip
    assert summary[0].features == ("a = 1", "a = 2", "a = 3")
    assert str(summary) == str(fitted.model_.columns_summary())


def test_the_saved_model_reads_raw_columns(tmp_path):
    frame, y = mixed()
    fitted = DTSemNetClassifier(**QUICK).fit(frame, y)
    fitted.save(tmp_path / "model.json")
    assert_array_equal(Model.load(tmp_path / "model.json").predict(frame), fitted.predict(frame))
    assert_array_equal(DTSemNetClassifier.load(tmp_path / "model.json").predict(frame), fitted.predict(frame))


def test_nullable_columns_are_read_with_their_nulls():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3] * 40, dtype="Int64"),
            "b": pd.array([True, None] * 60, dtype="boolean"),
            "s": pd.array(["u", "v", None, "u"] * 30, dtype="string"),
            "o": [1.5, None] * 60,
        }
    )
    fitted = DTSemNetClassifier(**QUICK).fit(frame, rng.integers(0, 2, 120))
    names = ("n", "n missing", "b", "b missing", "s=u", "s=v", "s missing", "o", "o missing")
    assert fitted.tree_.feature_names == names
    encoded = fitted.model_.transform(frame)
    assert encoded[1].tolist() == [2.0, 1, 1.0, 1, 0, 1, 0, 1.5, 1]  # nulls get the mean and say so


def test_an_unknown_category_is_none_of_the_known():
    frame, y = mixed()
    fitted = DTSemNetClassifier(**QUICK).fit(frame, y)
    strange = frame.head(1).assign(colour="mauve")
    encoded = fitted.model_.transform(strange)[0]
    names = fitted.tree_.feature_names
    assert [encoded[names.index(f"colour={c}")] for c in ("red", "green", "blue")] == [0, 0, 0]
    fitted.predict(strange)


def test_columns_named_categorical_in_an_array():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.standard_normal(300)])
    y = np.isin(X[:, 0], [0, 2]).astype(int)
    fitted = DTSemNetClassifier(**QUICK, categorical_features=[0]).fit(X, y)
    assert fitted.score(X, y) == 1
    assert fitted.tree_.n_features == 5


def complete(n_rows=120):
    frame, y = mixed(n_rows)
    return frame.assign(age=frame["age"].fillna(30.0), colour=["red", "red", "blue"] * (n_rows // 3)), y


def with_holes(frame):
    """The first rows without ages, and one without a colour."""
    holes = frame.head(4).copy()
    holes.loc[:2, "age"] = np.nan
    holes.loc[1, "colour"] = None
    return holes


HOLES = (
    "X has missing values in columns that had none in training: age (3 rows), colour (1 row); they are filled with the "
    "training mean or the most frequent category. Set missing='error' to refuse them."
)


def test_missing_values_that_training_had_not_are_filled_with_one_warning(tmp_path):
    frame, y = complete()
    fitted, holes = DTSemNetClassifier(**QUICK).fit(frame, y), with_holes(frame)
    filled = holes.assign(age=holes["age"].fillna(frame["age"].mean()), colour=holes["colour"].fillna("red"))
    assert "missing" not in to_text(fitted)
    assert "missing" not in " ".join(fitted.tree_.feature_names)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "decision_path"):
        with pytest.warns(UserWarning, match="had none in training") as caught:
            answer = getattr(fitted, name)(holes)
        assert [str(warning.message) for warning in caught] == [HOLES]
        expected = getattr(fitted, name)(filled)
        if name == "decision_path":
            answer, expected = answer.toarray(), expected.toarray()
        assert_array_equal(answer, expected)
    fitted.save(tmp_path / "model.json")
    assert_array_equal(Model.load(tmp_path / "model.json").predict(holes), fitted.predict(filled))
    again = DTSemNetClassifier.load(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="age \\(3 rows\\)"):
        assert_array_equal(again.predict(holes), fitted.predict(filled))


def test_missing_values_are_refused_by_column_if_they_are_an_error(tmp_path):
    frame, y = complete()
    fitted, holes = DTSemNetClassifier(**QUICK, missing="error").fit(frame, y), with_holes(frame)
    fitted.save(tmp_path / "model.json")
    for estimator in (fitted, DTSemNetClassifier.load(tmp_path / "model.json")):
        for name, rows in (("age", holes), ("colour", holes.assign(age=1.0))):
            with pytest.raises(ValueError, match=f"missing values in column '{name}', which had none in training"):
                estimator.predict(rows)
    with pytest.raises(ValueError, match="missing values in column 'age'; fill them in"):
        DTSemNetClassifier(**QUICK, missing="error").fit(holes, y[:4])
    lenient = DTSemNetClassifier(**QUICK).fit(frame, y).set_params(missing="error")  # as the warning says
    with pytest.raises(ValueError, match="column 'age'"):
        lenient.predict(holes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_numbers_of_an_array_are_filled_with_the_mean(dtype):
    X, y = np.random.default_rng(0).standard_normal((60, 3)).astype(dtype), np.arange(60) % 2
    fitted, holes = DTSemNetRegressor(**QUICK).fit(X, y), X.copy()
    holes[:2, 1] = np.nan
    filled = holes.astype(float)
    filled[:2, 1] = X[:, 1].astype(float).mean()
    with pytest.warns(UserWarning, match="training: x1 \\(2 rows\\); they") as caught:
        answer = fitted.predict(holes)
    assert len(caught) == 1
    assert_allclose(answer, fitted.predict(filled), rtol=1e-9)
    with pytest.raises(ValueError, match="NaN or other missing values in column 'x1'"):
        DTSemNetRegressor(**QUICK, missing="error").fit(X, y).predict(holes)
    with pytest.raises(ValueError, match="NaN or other missing values in column 'x1'"):
        DTSemNetRegressor(**QUICK, missing="error").fit(holes, y)
    assert DTSemNetRegressor(**QUICK).fit(holes, y).tree_.n_features == 4


def test_a_fill_does_not_depend_on_the_order_of_rows_and_counts_weights():
    frame, y = complete()
    weight = np.where(frame["colour"] == "blue", 3.0, 1.0)
    weight[0] = 0.0
    order = np.random.default_rng(1).permutation(len(frame))
    again = np.repeat(order, weight[order].astype(int))
    one = DTSemNetClassifier(**QUICK).fit(frame, y, sample_weight=weight)
    other = DTSemNetClassifier(**QUICK).fit(frame.iloc[again], y[again])
    assert one.model_.encoder == other.model_.encoder
    assert one.model_.encoder.columns[1].fill == "blue"
    assert_allclose(one.model_.encoder.columns[0].fill, np.average(frame["age"], weights=weight))


def test_cross_validation_survives_folds_without_missing_values():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    y = (X[:, 0] > 0).astype(int)
    X[0, 0] = np.nan  # in one fold alone
    with pytest.warns(UserWarning, match="x0 \\(1 row\\)"):
        scores = cross_val_score(DTSemNetClassifier(**QUICK), X, y, cv=3, error_score="raise")
    assert (scores > 0.8).all()


def test_validation_rows_may_have_holes():
    frame, y = complete()
    with pytest.warns(UserWarning, match="age"):
        DTSemNetClassifier(**QUICK).fit(frame, y, X_val=with_holes(frame), y_val=y[:4])


def test_constant_columns_and_wild_scales():
    rng = np.random.default_rng(0)
    signal = rng.standard_normal(300)
    X = np.column_stack([signal * 1e200, np.full(300, 7.0), rng.standard_normal(300) * 1e-200, signal + 1e9])
    fitted = DTSemNetClassifier(**QUICK).fit(X, signal > 0.3)
    assert fitted.score(X, signal > 0.3) > 0.95
    assert (fitted.tree_.weight[:, 1] == 0).all()  # a column that never varied decides nothing
    regressor = DTSemNetRegressor(**QUICK).fit(X, signal * 1e50)
    assert regressor.score(X, signal * 1e50) > 0.95


def test_float32_input_is_read_as_it_is():
    X = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    y = X[:, 0] > 0
    assert DTSemNetClassifier(**QUICK).fit(X, y).tree_ == DTSemNetClassifier(**QUICK).fit(X.astype(float), y).tree_


FRAME, TARGET = mixed(60)
NUMBERS = np.random.default_rng(0).standard_normal((60, 3))


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        (FRAME.assign(when=pd.Timestamp("2026-01-01")), TARGET, {}, "column 'when' holds dates"),
        (FRAME.assign(name=[f"n{i}" for i in range(60)] * 1), TARGET, {"categorical_features": ["nme"]}, "no column"),
        (np.where(NUMBERS > 2, np.inf, NUMBERS), TARGET, {}, "infinity"),
        (NUMBERS[:1], TARGET[:1], {}, "1 sample"),
        (np.char.add(NUMBERS.astype(str)[:, :1].repeat(2, 1), "x"), TARGET, {}, "could not convert"),
        (NUMBERS, NUMBERS[:, 0], {}, "continuous|label"),
        (NUMBERS, TARGET[:50], {}, "inconsistent numbers of samples"),
        (NUMBERS, None, {}, "requires y"),
        (NUMBERS, TARGET, {"max_depth": 60}, "max_depth must be a whole number from 0 to 20"),
        (NUMBERS, TARGET, {"max_depth": 2.5}, "max_depth must be"),
        (np.ones((60, 2000)), TARGET, {"max_depth": 20}, "34 GB while training; lower max_depth"),
        (NUMBERS, TARGET, {"learning_rate": -1}, "learning_rate must be a positive number"),
        (NUMBERS, TARGET, {"training": "magic"}, "training must be 'annealed' or 'paper'"),
        (NUMBERS, TARGET, {"engine": "gpu"}, "engine must be 'cpu' or 'torch'"),
        (NUMBERS, TARGET, {"device": "cuda"}, "needs engine='torch'"),
        (NUMBERS, TARGET, {"n_init": 0}, "n_init must be"),
        (NUMBERS, TARGET, {"class_weight": {"maybe": 2}}, "class_weight names 'maybe'"),
    ],
)
def test_bad_input_gets_one_clear_error(X, y, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DTSemNetClassifier(**{**QUICK, **parameters}).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.ones(5), "shape"), (-np.ones(60), "not negative"), (np.zeros(60), "zero for every row")],
)
def test_bad_weights_get_one_clear_error(weight, message):
    with pytest.raises(ValueError, match=message):
        DTSemNetClassifier(**QUICK).fit(NUMBERS, TARGET, sample_weight=weight)


def test_prediction_names_what_is_wrong_with_the_columns():
    fitted = DTSemNetClassifier(**QUICK).fit(FRAME, TARGET)
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(FRAME[["colour", "age", "size", "smoker"]])
    with pytest.raises(ValueError, match="missing"):
        fitted.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match="3 features"):
        DTSemNetClassifier(**QUICK).fit(NUMBERS, TARGET).predict(NUMBERS[:, :2])


def test_validation_rows_come_in_pairs_and_with_known_classes():
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        DTSemNetClassifier(**QUICK).fit(NUMBERS, TARGET, X_val=NUMBERS)
    with pytest.raises(ValueError, match="none of the classes"):
        DTSemNetClassifier(**QUICK).fit(NUMBERS, TARGET, X_val=NUMBERS, y_val=["maybe"] * 60)
