"""Calls of a careless user: each gives one clear error that names the argument and the way out, most before any fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
T = X[:, 0]
Y = (T > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd"))
QUICK = {"max_iter": 2, "n_init": 1, "max_depth": 1, "random_state": 0}
DATES = np.full((40, 4), "2020-01-01", dtype="M8[D]")
HUGE = 10**400
HUGES = pd.Series([HUGE] * 40, dtype=object)


def classify(X=X, y=Y, weight=None, *, fit=None, **parameters):
    return DTSemNetClassifier(**QUICK | parameters).fit(X, y, weight, **fit or {})


def regress(X=X, y=T, weight=None, *, fit=None, **parameters):
    return DTSemNetRegressor(**QUICK | parameters).fit(X, y, weight, **fit or {})


def more(first, second, make=DTSemNetClassifier):
    """Two calls of ``partial_fit``."""
    return make(**QUICK).partial_fit(**first).partial_fit(**second)


def put(value, rows=X):
    changed = rows.astype(object)
    changed[1, 1] = value
    return changed if isinstance(value, (str, list, dict, int)) else changed.astype(float)


def val(X_val=X, y_val=Y, **rest):
    return {"fit": {"X_val": X_val, "y_val": y_val, **rest}}


ROWS = {
    "text": (lambda: classify(put("a")), "X must hold numbers, but row 1 of column 'x1' holds 'a'"),
    "dict in X": (lambda: classify(put({"a": 1})), "X must hold numbers.*string or a real number"),
    "list in X": (lambda: classify(put([1])), "X must hold numbers.*row 1 of column 'x1'"),
    "texts": (lambda: classify(np.full((40, 4), "a")), "X must hold numbers.*categorical_features"),
    "bytes": (lambda: classify(np.full((40, 4), b"a")), "X must hold numbers"),
    "400 digits": (lambda: classify(put(HUGE)), r"X must hold numbers, but row 1 of column 'x1' holds 1000.*\.\.\."),
    "400 digits in a frame": (lambda: classify(FRAME.assign(a=HUGES)), "X must hold numbers.*column 'a'"),
    "400 digits beside text": (
        lambda: classify(FRAME.assign(a=HUGES, b="x")),
        "X cannot be read: column 'a' must hold numbers",
    ),
    "dates": (lambda: classify(DATES), r"X holds dates or times \(datetime64\[d\]\); turn it into numbers"),
    "durations": (lambda: classify(np.ones((40, 4), "m8[D]")), "X holds dates or times"),
    "dates in a frame": (lambda: classify(FRAME.assign(a=DATES[:, 0])), "column 'a' holds dates or times"),
    "dates as categories": (
        lambda: classify(FRAME.assign(a=DATES[:, 0]), categorical_features=["a"]), "column 'a' holds dates or times",
    ),
    "periods": (
        lambda: classify(FRAME.assign(a=pd.period_range("2020", periods=40, freq="D"))), "column 'a' holds dates",
    ),
    "intervals": (lambda: classify(FRAME.assign(a=pd.cut(T, 3))), "column 'a' holds categories of type Interval"),
    "complex": (lambda: classify(X + 1j), "X cannot be read: Complex data not supported"),
    "inf": (lambda: classify(put(np.inf)), "X contains infinity.*inf in row 1 of column 'x1'"),
    "inf by label": (
        lambda: classify(pd.DataFrame(put(-np.inf), index=range(100, 140), columns=list("abcd"))),
        "-inf in the row with index 101 of column 'b'",
    ),
    "NaN": (lambda: classify(put(np.nan), missing="error"), "X contains NaN.*column 'x1'; .*missing='indicator'"),
    "one dimension": (lambda: classify(T), "Expected 2D array for X, got 1D"),
    "three dimensions": (lambda: classify(X[None]), "Expected 2D array for X, got 3D"),
    "no rows": (lambda: classify(X[:0], Y[:0]), r"X cannot be read: Found array with 0 sample\(s\)"),
    "no columns": (lambda: classify(X[:, :0]), r"X cannot be read: Found array with 0 feature\(s\)"),
    "None": (lambda: classify(None), "2D array for X, got 0D array instead, from NoneType"),
    "path": (lambda: classify("train.csv"), "2D array for X, got 0D array instead, from str"),
    "dictionary": (lambda: classify({"a": [1, 2]}), "2D array for X, got 0D array instead, from dict"),
    "ragged": (lambda: classify([[1, 2], [3]], [0, 1]), "X must be a table of numbers, rows of equal length"),
    "same name twice": (lambda: classify(FRAME.set_axis(list("aabc"), axis=1)), "X has two columns named 'a'; rename"),
    "sparse": (lambda: classify(scipy.sparse.csr_matrix((10**6, 10**7))), r"X is a .* 80,000.0 GB .* SelectKBest"),
    "masked": (lambda: classify(np.ma.masked_greater(X, 1)), r"X is a masked array.*X.filled\(np.nan\)"),
    "1,500 categories": (
        lambda: classify(pd.DataFrame({"a": [f"k{i}" for i in range(1500)]}), np.arange(1500) % 2),
        "column 'a' has 1500 categories, more than 1000; drop it",
    ),
}  # fmt: skip

TARGETS = {
    "None": (lambda: classify(y=None), "requires y"),
    "short": (lambda: classify(y=Y[:10]), "X and y have inconsistent numbers of samples: 40 and 10"),
    "text for numbers": (lambda: regress(y=["a"] * 40), "y cannot be read as numbers.*'a'"),
    "NaN": (lambda: regress(y=T * np.nan), "y contains NaN"),
    "inf": (lambda: regress(y=T * np.inf), "y contains infinity"),
    "NaN class": (lambda: classify(y=Y * np.nan), "y contains NaN"),
    "None inside": (lambda: classify(y=[None, *["a"] * 39]), "y is missing in row 0; leave such rows out"),
    "continuous": (lambda: classify(y=T), "y must hold one class.*Unknown label type: continuous"),
    "two columns of classes": (lambda: classify(y=np.c_[Y, Y + 1]), "y has 2 columns, which must hold 0 or 1"),
    "three dimensions": (lambda: regress(y=np.ones((40, 1, 1))), "y cannot be read as numbers: .*dim 3"),
    "complex": (lambda: regress(y=T + 1j), "y cannot be read as numbers: Complex data"),
    "dates": (lambda: regress(y=DATES[:, 0]), "y holds dates or times"),
    "400 digits": (lambda: regress(y=[HUGE] * 40), "y holds a number that is too large"),
    "scalar": (lambda: classify(y=1), "y must be an array of 40 targets, one for each row, got 1"),
    "name of a column": (lambda: classify(y="species"), "y must be an array of 40 targets.*'species'"),
    "dictionary": (lambda: classify(y={"a": 1}), "y must be an array of 40 targets"),
    "no columns": (lambda: regress(y=np.ones((40, 0))), "y cannot be read as numbers: .*0 feature"),
    "sparse": (lambda: regress(y=scipy.sparse.csr_matrix(T[:, None])), "Sparse data was passed for y"),
    "ragged": (lambda: classify(y=[[1], [2, 3]] * 20), "y must be an array of targets"),
}

WEIGHTS = {
    "short": (lambda: classify(weight=np.ones(3)), r"sample_weight must have shape \(40,\)"),
    "NaN": (lambda: classify(weight=np.r_[1, np.nan, np.ones(38)]), "sample_weight must be finite.*nan in row 1"),
    "negative": (lambda: classify(weight=-np.ones(40)), "sample_weight must be .*not negative; found -1.0 in row 0"),
    "inf": (lambda: regress(weight=np.full(40, np.inf)), "sample_weight must be finite"),
    "zeros": (lambda: classify(weight=np.zeros(40)), "sample_weight is zero for every row"),
    "word": (lambda: classify(weight="balanced"), "sample_weight must hold numbers, got 'balanced'"),
    "texts": (lambda: classify(weight=["a"] * 40), "sample_weight must hold numbers"),
    "dates": (lambda: classify(weight=DATES[:, 0]), "sample_weight must hold numbers.*datetime64"),
    "complex": (lambda: classify(weight=np.ones(40) * 1j), "sample_weight must hold numbers.*complex"),
    "dictionary": (lambda: classify(weight={0: 1}), "sample_weight must hold one number for each row"),
    "400 digits": (lambda: classify(weight=[HUGE] * 40), "sample_weight holds a number that is too large"),
    "matrix": (lambda: classify(weight=np.ones((40, 1))), "sample_weight must have shape"),
    "class: word": (lambda: classify(class_weight="heavy"), "class_weight must be a dict.*'balanced' or None"),
    "class: negative": (lambda: classify(class_weight={0: -1}), "class_weight of 0 must be .*not negative, got -1"),
    "class: NaN": (lambda: classify(class_weight={0: np.nan}), "class_weight of 0 must be a finite number"),
    "class: inf": (lambda: classify(class_weight={0: np.inf}), "class_weight of 0 must be a finite number"),
    "class: text": (lambda: classify(class_weight={0: "a"}), "class_weight of 0 must be a finite number"),
    "class: list": (lambda: classify(class_weight=[1, 2]), "class_weight must be a dict"),
    "class: number": (lambda: classify(class_weight=3), "class_weight must be a dict"),
    "class: unknown": (lambda: classify(class_weight={7: 1}), "class_weight names 7"),
    "class: zeros": (lambda: classify(class_weight={0: 0, 1: 0}), "class_weight is zero for every class in y"),
    "class: overflow": (
        lambda: classify(weight=np.full(40, 1e300), class_weight={0: 1e300}), "class_weight times sample_weight",
    ),
}  # fmt: skip

VALIDATION = {
    "X alone": (lambda: classify(fit={"X_val": X}), "X_val and y_val go together"),
    "weights alone": (lambda: classify(fit={"sample_weight_val": Y}), "sample_weight_val needs both"),
    "columns": (lambda: classify(**val(X[:, :2])), "X_val must have the columns of the fit.*2 features"),
    "names": (lambda: classify(FRAME, **val(FRAME.set_axis(list("wxyz"), axis=1))), "X_val must have the columns"),
    "NaN": (lambda: classify(missing="error", **val(put(np.nan))), "X_val contains NaN.*column 'x1'"),
    "inf": (lambda: classify(**val(put(np.inf))), "X_val contains infinity.*row 1"),
    "text": (lambda: classify(**val(put("a"))), "X_val must hold numbers, but row 1"),
    "one dimension": (lambda: classify(**val(T)), "Expected 2D array for X_val"),
    "sparse": (lambda: classify(**val(scipy.sparse.csr_matrix((10**6, 10**7)))), "X_val is a sparse matrix of"),
    "short": (lambda: classify(**val(y_val=Y[:5])), "X_val and y_val have inconsistent"),
    "unknown class": (lambda: classify(**val(y_val=Y + 5)), r"y_val holds 6, which is none of the classes \[0, 1\]"),
    "NaN target": (lambda: regress(**val(y_val=T * np.nan)), "y_val contains NaN"),
    "text target": (lambda: regress(**val(y_val=["a"] * 40)), "y_val cannot be read as numbers"),
    "outputs": (lambda: regress(**val(y_val=np.c_[T, T])), "y_val has 2 outputs"),
    "weights": (lambda: classify(**val(sample_weight_val=np.ones(3))), "sample_weight_val must have shape"),
    "no weight": (lambda: classify(**val(sample_weight_val=np.zeros(40))), "sample_weight_val is zero"),
}

PARAMETERS = {
    "categorical_features": ["q", [True], [True, False] * 3, ["z"], [9], [-1], 1, True, {"a": 1}, [[0], [1]], [None]],
    "verbose": ["loud", -1, None],
    "batch_size": [10**12, 0, 1.5, "auto"],
    "max_depth": [99, "3", -1, 2.0, np.nan, True],
    "max_iter": [0, 1e3, 10**30],
    "learning_rate": [0, np.nan, np.inf, "auto"],
    "n_init": [0, "3", np.array([1, 2])],
    "random_state": ["a", -1, 1.5, 2**70, np.random.default_rng(0)],
    "init": ["k-means", 3, X, DecisionTreeClassifier(), DecisionTreeClassifier().fit(X[:, :2], Y)],
    "checkpoint": [3, __file__],
    "device": ["cuda", 3.5],
    "warm_start": [1],
    "early_stopping": ["yes"],
    "training": ["sgd"],
    "missing": ["drop"],
    "probability": ["platt"],
    "effort": [7],
    "min_samples_leaf": [0, 1.5],
    "max_leaf_nodes": [0],
    "ccp_alpha": [-1],
    "validation_fraction": [1.0],
    "n_jobs": [0, 1.5],
    "weight_decay": [-1],
    "l1": ["a"],
    "max_grad_norm": [0],
}

LATER = {
    "no classes": (lambda: more({"X": X, "y": Y}, {}), "classes must be passed"),
    "y beside classes": (lambda: more({"X": X, "y": Y + 7, "classes": [0, 1]}, {}), "y holds 8, which is none of the"),
    "classes of two types": (lambda: more({"X": X, "y": Y, "classes": [0, "a"]}, {}), "none of the classes"),
    "other classes": (
        lambda: more({"X": X, "y": Y, "classes": [0, 1]}, {"X": X, "y": Y, "classes": [0, 1, 2]}), "classes differ",
    ),
    "other columns": (lambda: more({"X": X, "y": T}, {"X": X[:, :2], "y": T}, DTSemNetRegressor), "X has 2 features"),
    "other outputs": (lambda: more({"X": X, "y": T}, {"X": X, "y": X}, DTSemNetRegressor), "y has 4 outputs"),
    "weights of another world": (
        lambda: more(
            {"X": X, "y": T, "sample_weight": 1e-300}, {"X": X, "y": T, "sample_weight": 1e300}, DTSemNetRegressor
        ),
        "sample_weight must be of the size of the weights of the first fit",
    ),
    "outputs of init": (lambda: regress(init=DecisionTreeRegressor().fit(X, X)), "init has 4 outputs, but y has 1"),
    "predict text": (lambda: classify().predict(put("a")), "X must hold numbers, but row 1"),
    "predict text in a frame": (lambda: classify(FRAME).predict(FRAME.assign(a="x")), "X must hold numbers.*'a'"),
    "predict text beside categories": (
        lambda: classify(FRAME.assign(a="x")).predict(FRAME.assign(a="x", b="q")), "X must hold numbers.*column 'b'",
    ),
    "predict dates": (lambda: classify().predict(DATES), "X holds dates or times"),
    "predict dates in a frame": (lambda: classify(FRAME).predict(FRAME.assign(a=DATES[:, 0])), "column .a. holds"),
    "predict 400 digits": (lambda: classify().predict(put(HUGE)), "X must hold numbers"),
    "predict inf": (lambda: classify().predict(put(np.inf)), "X contains infinity.*row 1"),
    "predict one row": (lambda: classify().predict(X[0]), "Expected 2D array for X"),
    "predict fewer columns": (lambda: classify().predict(X[:, :2]), "X has 2 features"),
    "predict other order": (lambda: classify(FRAME).predict(FRAME[list("dcba")]), "X must have the columns.*order"),
    "predict nothing": (lambda: classify().predict(X[:0]), r"X cannot be read: .*0 sample\(s\)"),
    "coverage in per cent": (lambda: regress().predict_interval(X, coverage=90), "coverage must lie between 0 and 1"),
    "coverage as text": (lambda: regress().predict_interval(X, coverage="90%"), "coverage must lie between 0 and 1"),
    "no coverage": (lambda: classify().predict_set(X, coverage=None), "coverage must lie between 0 and 1"),
    "intervals of one start": (lambda: regress().predict_interval(X), "predict_interval needs trees"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(*case, id=f"{group}: {name}")
        for group, cases in (
            ("X", ROWS), ("y", TARGETS), ("weight", WEIGHTS), ("validation", VALIDATION), ("later", LATER),
        )
        for name, case in cases.items()
    ],
)  # fmt: skip
def test_a_bad_call_gets_one_clear_error(call, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, MemoryError), match=message):
            call()


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in PARAMETERS.items() for value in values], ids=str
)
def test_a_bad_parameter_is_named_with_its_value(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        classify(**{name: value})


@pytest.mark.parametrize("device", ["cuda:9", "nonsense"])
def test_a_device_that_is_not_there_is_a_value_error(device):
    pytest.importorskip("torch")  # an extra; without it there is no device to name, and .ci/run forbids skips
    with pytest.raises(ValueError, match=f"device must be one that torch can use here.*{device}"):
        classify(engine="torch", device=device)
