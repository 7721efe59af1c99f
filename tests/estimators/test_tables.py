"""Tables: frames, categories, missing values, odd columns, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

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


def test_missing_values_that_training_had_not_are_an_error():
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    fitted = DTSemNetClassifier(**QUICK).fit(X, y)
    X[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        DTSemNetClassifier(**QUICK, missing="error").fit(X, y)
    assert DTSemNetClassifier(**QUICK).fit(X, y).tree_.n_features == 4


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
        (scipy.sparse.csr_matrix(NUMBERS), TARGET, {}, "toarray"),
        (FRAME.assign(when=pd.Timestamp("2026-01-01")), TARGET, {}, "column 'when' holds dates"),
        (FRAME.assign(name=[f"n{i}" for i in range(60)] * 1), TARGET, {"categorical_features": ["nme"]}, "no column"),
        (np.where(NUMBERS > 2, np.inf, NUMBERS), TARGET, {}, "infinity"),
        (NUMBERS[:1], TARGET[:1], {}, "1 sample"),
        (NUMBERS.astype(str)[:, :1].repeat(2, 1) + "x", TARGET, {}, "could not convert"),
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
