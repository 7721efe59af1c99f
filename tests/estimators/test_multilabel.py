"""Several labels for each row: scikit-learn's conventions, every way to fit, files, exports and proofs."""

import functools
import json

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.multilabel import read_labels
from dtsemnet.export import to_python
from dtsemnet.tree.order import keeps_order
from dtsemnet.verify import Domain, output_bounds, reachable_leaves


@functools.cache
def table(n_rows=300):
    """Three labels that depend on sums of columns; all, some or none of them hold."""
    X = np.random.default_rng(0).standard_normal((n_rows, 3))
    return X, np.column_stack([X[:, 0] + X[:, 1] > 0, X[:, 0] + X[:, 1] > 1, X[:, 2] > 0]).astype(int)


@functools.cache
def fitted(**options):
    options = {"max_depth": 3, "effort": 0, "max_iter": 30, "random_state": 0} | options
    return DTSemNetClassifier(**options).fit(*table())


def test_answers_have_the_form_of_those_of_a_tree_of_scikit_learn():
    (X, y), classifier = table(), fitted()
    rival = DecisionTreeClassifier(max_depth=3).fit(X, y)
    assert [classes.tolist() for classes in classifier.classes_] == [classes.tolist() for classes in rival.classes_]
    chance, expected = classifier.predict_proba(X), rival.predict_proba(X)
    assert [each.shape for each in chance] == [each.shape for each in expected]
    assert all((each.sum(axis=1) == 1).all() for each in chance)
    answer = classifier.predict(X)
    assert answer.dtype.kind == "i"
    assert_array_equal(answer, np.column_stack([each[:, 1] > 0.5 for each in chance]))
    assert_array_equal(answer, classifier.decision_function(X) > 0)
    assert_allclose(np.exp(classifier.predict_log_proba(X)[0]), chance[0])
    assert classifier.score(X, y) == accuracy_score(y, answer)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"effort": 1, "max_iter": 10},
        {"effort": 1, "max_iter": 10, "sparsity": "auto"},
        {"training": "paper", "max_iter": 60},
        {"n_init": 1, "early_stopping": True},
        {"max_split_features": 2},
        {"integer_weights": True},
        {"monotonic_cst": (1, 1, 0)},
        {"interaction_cst": "pairwise"},
    ],
    ids=str,
)
def test_every_way_to_fit_finds_the_labels(options):
    X, y = table()
    most_frequent = np.mean((y == np.round(y.mean(axis=0))).all(axis=1))
    assert fitted(**options).score(X, y) > most_frequent + 0.2


def test_both_engines_train_alike():
    pytest.importorskip("torch", reason="torch is an optional extra")
    X, y = table()
    one, other = (
        DTSemNetClassifier(2, engine=engine, n_init=1, refit=False, max_iter=2, random_state=0).fit(X, y)
        for engine in ("cpu", "torch")
    )
    assert_allclose(one.tree_.weight, other.tree_.weight, rtol=1e-3, atol=1e-4)
    assert_allclose(one.tree_.value, other.tree_.value, atol=0.02)


def test_leaves_hold_the_shares_of_their_rows():
    (X, y), classifier = table(), fitted()
    leaf = classifier.apply(X)
    for k in np.unique(leaf):
        share, n_rows = y[leaf == k].mean(axis=0), np.count_nonzero(leaf == k)
        assert_allclose(classifier.tree_.value[k], share, atol=3 / (3 + n_rows), err_msg="pulled to all rows a little")


@pytest.mark.parametrize("dtype", [bool, np.int8, float])
def test_a_classifier_comes_back_from_its_file(dtype, tmp_path):
    X, y = table()
    classifier = DTSemNetClassifier(2, effort=0, max_iter=3, random_state=0).fit(X, y.astype(dtype))
    classifier.save(tmp_path / "labels.json")
    loaded = DTSemNetClassifier.load(tmp_path / "labels.json")
    assert loaded.predict(X).dtype == np.dtype(dtype)
    assert_array_equal(loaded.predict(X), classifier.predict(X))
    assert [classes.tolist() for classes in loaded.classes_] == [[0, 1]] * 3
    loaded.partial_fit(X, y)
    with pytest.raises(ValueError, match="holds DTSemNetClassifier, not DTSemNetRegressor"):
        DTSemNetRegressor.load(tmp_path / "labels.json")


def test_a_file_with_shares_above_one_is_refused(tmp_path):
    path = tmp_path / "labels.json"
    fitted().save(path)
    document = json.loads(path.read_text())
    document["about"]["class_dtype"] = "<U3"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="class_dtype: must be a type of numbers"):
        DTSemNetClassifier.load(path)
    DTSemNetRegressor(1, effort=0, max_iter=2, leaf="constant").fit(table()[0], 5.0 + table()[1]).save(path)
    document = json.loads(path.read_text())
    document["about"] |= {"estimator": "DTSemNetClassifier", "class_dtype": "int64", "parameters": {}}
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="a share between 0 and 1"):
        DTSemNetClassifier.load(path)


def test_exports_and_proofs_read_the_shares():
    (X, _), classifier = table(), fitted(monotonic_cst=(1, 1, 0))
    domain = Domain.from_data(X)
    assert to_python(classifier, X).report.n_near == 0
    assert set(reachable_leaves(classifier, domain).reachable) >= set(classifier.apply(X))
    for label, bounds in enumerate(output_bounds(classifier, domain)):
        assert 0 <= bounds.minimum.certified <= bounds.maximum.certified <= 1
        assert keeps_order(classifier.tree_, 0, label, increasing=True)


def test_scorers_folds_and_sparse_labels_do():
    X, y = table()
    quick = DTSemNetClassifier(2, effort=0, max_iter=3, random_state=0)
    assert cross_val_score(quick, X, y, scoring="roc_auc", cv=2).min() > 0.5
    assert_array_equal(quick.fit(X, scipy.sparse.csr_matrix(y)).predict(X), quick.fit(X, y).predict(X))
    assert quick.fit(X, np.zeros((len(X), 2), int)).predict(X).sum() == 0, "labels that no row has"


def test_a_tree_of_labels_goes_on_and_may_change_to_classes():
    X, y = table()
    classifier = DTSemNetClassifier(2, effort=0, max_iter=5, random_state=0, warm_start=True)
    before = classifier.partial_fit(X, y).score(X, y)
    assert classifier.partial_fit(X, y).score(X, y) >= before - 0.05
    assert classifier.fit(X, y).predict(X).shape == y.shape
    assert classifier.fit(X, y[:, 0]).predict(X).shape == (len(X),)
    assert classifier.fit(X, y).predict(X).shape == y.shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: fitted().predict_set(X), "answers for one class a row"),
        (lambda X, y: fitted(class_weight="balanced"), "class_weight weighs the classes of one target"),
        (lambda X, y: DTSemNetClassifier().fit(X, y + 1), "must hold 0 or 1, whether a row has each label"),
        (lambda X, y: DTSemNetClassifier().fit(X, y.astype(str)), "but row 0 holds"),
        (lambda X, y: DTSemNetClassifier().partial_fit(X, y, classes=[0, 1]), "classes must be None"),
        (lambda X, y: DTSemNetClassifier().fit(X, y, X_val=X, y_val=y[:, :2]), "y_val is a matrix of 2 labels"),
        (lambda X, y: DTSemNetClassifier().fit(X, y[:, 0], X_val=X, y_val=y), "fitted on one class for each row"),
        (lambda X, y: DTSemNetClassifier(init=DecisionTreeClassifier().fit(X, y)).fit(X, y), "one tree per output"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(call, message):
    with pytest.raises(ValueError, match=message):
        call(*table())


def test_one_column_is_no_matrix_of_labels():
    assert read_labels([[0], [1]]) is None
