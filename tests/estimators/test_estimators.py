"""What a scikit-learn user expects of both estimators."""

import json
import pickle
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Tree
from watching import Watch, watched

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
QUICK = {"max_iter": 20, "n_init": 2, "random_state": 0}


def classifier(**parameters):
    return DTSemNetClassifier(**{"max_depth": 2, **QUICK, **parameters})


def regressor(**parameters):
    return DTSemNetRegressor(**{"max_depth": 2, **QUICK, **parameters})


BOTH = pytest.mark.parametrize(("make", "data"), [(classifier, IRIS), (regressor, DIABETES)], ids=["class", "linear"])


@BOTH
def test_the_same_seed_gives_the_same_bytes(make, data):
    first, again = make().fit(*data), make().fit(*data)
    assert first.tree_.fingerprint() == again.tree_.fingerprint()
    assert make(random_state=1).fit(*data).tree_.fingerprint() != first.tree_.fingerprint()


@BOTH
def test_the_number_of_jobs_changes_nothing(make, data):
    prints = {make(n_init=3, n_jobs=n_jobs).fit(*data).tree_.fingerprint() for n_jobs in (None, 2, 3)}
    assert len(prints) == 1


def test_another_process_gives_the_same_bytes():
    program = "from sklearn.datasets import load_iris, load_diabetes; from dtsemnet import *\n"
    for make, load in ((classifier, "load_iris"), (regressor, "load_diabetes")):
        fit = f"{type(make()).__name__}(**{make().get_params()!r}).fit(*{load}(return_X_y=True))"
        program += f"print({fit}.tree_.fingerprint())\n"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert found == [classifier().fit(*IRIS).tree_.fingerprint(), regressor().fit(*DIABETES).tree_.fingerprint()]


@BOTH
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
def test_a_fit_killed_anywhere_resumes_to_the_same_bytes(make, data, share, tmp_path):
    whole = Watch()
    fingerprint = watched(make(n_init=4), whole).fit(*data).tree_.fingerprint()
    killed = watched(make(n_init=4, checkpoint=tmp_path), Watch(int(share * len(whole.n_rows_by_epoch))))
    with pytest.raises(SystemExit):
        killed.fit(*data)
    assert (tmp_path / "start-0.npz").exists()
    assert make(n_init=4, checkpoint=tmp_path).fit(*data).tree_.fingerprint() == fingerprint


@BOTH
def test_order_and_repetition_of_rows_do_not_matter(make, data):
    X, y = data[0][:120], data[1][:120]
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    repeated = rng.permutation(np.repeat(np.arange(len(X)), weight))
    weighted = make().fit(X, y, sample_weight=weight)
    assert make().fit(X[repeated], y[repeated]).tree_ == weighted.tree_


def test_prediction_never_imports_torch(tmp_path):
    program = "import sys, numpy as np, dtsemnet\n"
    for make, data in ((classifier, IRIS), (regressor, DIABETES)):
        name = type(make()).__name__
        make().fit(*data).save(path := tmp_path / f"{name}.json")
        program += f"dtsemnet.{name}.load({str(path)!r}).predict(np.zeros((3, {data[0].shape[1]})))\n"
    subprocess.run([sys.executable, "-c", program + "assert 'torch' not in sys.modules"], check=True)


@BOTH
def test_saving_pickling_and_joblib_keep_the_estimator(make, data, tmp_path):
    fitted = make().fit(*data)
    fitted.save(tmp_path / "model.json")
    joblib.dump(fitted, tmp_path / "model.joblib")
    for other in (
        type(fitted).load(tmp_path / "model.json"),
        pickle.loads(pickle.dumps(fitted)),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert other.tree_ == fitted.tree_
        assert_array_equal(other.predict(data[0]), fitted.predict(data[0]))
        assert_array_equal(other.feature_importances_, fitted.feature_importances_)
        assert other.get_params() == fitted.get_params()
        assert other.predict(data[0]).dtype == fitted.predict(data[0]).dtype


def test_a_file_of_the_other_estimator_is_refused(tmp_path):
    classifier().fit(*IRIS).save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="holds DTSemNetClassifier, not DTSemNetRegressor"):
        DTSemNetRegressor.load(tmp_path / "model.json")


@BOTH
@pytest.mark.parametrize("field", ["parameters", "feature_importances", "leaf_weight"])
@pytest.mark.parametrize("damage", [None, "nonsense"])
def test_a_damaged_file_gets_one_clear_error(make, data, tmp_path, field, damage):
    make().fit(*data).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["about"][field] = damage
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"about in .* is incomplete or damaged"):
        type(make()).load(tmp_path / "model.json")
    del document["about"][field]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"about in .* is incomplete or damaged"):
        type(make()).load(tmp_path / "model.json")


@BOTH
def test_paths_leaves_and_depth_are_those_of_the_tree(make, data):
    fitted = make().fit(*data)
    path = fitted.decision_path(data[0])
    n_splits = fitted.tree_.n_splits
    assert path.shape == (len(data[0]), n_splits + fitted.get_n_leaves())
    assert_array_equal(path[:, n_splits:].toarray().argmax(axis=1), fitted.apply(data[0]))
    assert_array_equal(np.asarray(path[:, :n_splits].sum(axis=1)).ravel(), fitted.get_depth())
    assert (fitted.get_depth(), fitted.get_n_leaves()) == (2, 4)
    assert fitted.n_iter_ == len(fitted.loss_curve_) == 20 + 10  # those of the best start, then half as many
    assert fitted.validation_scores_ is None
    assert_allclose(fitted.feature_importances_.sum(), 1)


@BOTH
def test_pipeline_grid_search_and_cross_validation(make, data):
    assert cross_val_score(make_pipeline(StandardScaler(), make()), *data, cv=3).mean() > 0.3
    search = GridSearchCV(make(), {"max_depth": [1, 2]}, cv=2).fit(*data)
    assert search.best_params_["max_depth"] in (1, 2)
    result = permutation_importance(search, *data, n_repeats=2, random_state=0)
    assert result.importances_mean.max() > 0


def test_calibration_and_set_output():
    X, y = load_breast_cancer(return_X_y=True)
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), classifier()).fit(X, y)
    assert pipeline[-1].feature_names_in_[0] == "x0"


def test_metadata_routing_passes_sample_weight():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        estimator = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weight = np.r_[np.ones(100), np.zeros(50)]
        scores = cross_val_score(estimator, *IRIS, cv=2, params={"sample_weight": weight})
    assert scores.min() > 0.5


@BOTH
def test_predict_is_safe_in_threads(make, data):
    fitted = make().fit(*data)
    expected, found = fitted.predict(data[0]), [None] * 8

    def work(i):
        found[i] = fitted.predict(data[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((f == expected).all() for f in found)


@BOTH
def test_clone_keeps_a_tree_to_start_from(make, data):
    tree = make().fit(*data).tree_
    assert clone(make(init=tree)).init == tree


@pytest.mark.parametrize("depth", [2, 4])
def test_a_start_from_cart_is_no_worse_on_validation_rows(depth):
    X, y = load_breast_cancer(return_X_y=True)
    train, held = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    cart = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[train], y[train])
    warm = classifier(init=cart).fit(X[train], y[train], X_val=X[held], y_val=y[held])
    assert warm.score(X[held], y[held]) >= cart.score(X[held], y[held])
    assert warm.tree_.topology == Tree.from_sklearn(cart).topology


def test_a_regressor_starts_from_cart_too():
    X, y = DIABETES
    cart = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    warm = regressor(init=cart).fit(X, y)
    assert warm.score(X, y) > cart.score(X, y)
    assert warm.tree_.topology == Tree.from_sklearn(cart).topology


def test_init_must_read_the_same_features():
    tree = classifier().fit(*IRIS).tree_
    with pytest.raises(ValueError, match="init reads 4 features, but X has 10"):
        regressor(init=tree).fit(*DIABETES)


@BOTH
def test_warm_start_goes_on_from_the_last_tree(make, data):
    estimator = make(warm_start=True, max_iter=5, n_init=1).fit(*data)
    first = estimator.score(*data)
    for _ in range(3):
        estimator.fit(*data)
    assert estimator.score(*data) >= first


def test_partial_fit_learns_from_batches():
    X, y = load_breast_cancer(return_X_y=True)
    estimator = classifier(max_iter=5)
    estimator.partial_fit(X[:100], y[:100], classes=[0, 1])
    weight = estimator._leaf_weight.sum()
    for start in range(100, 500, 100):
        estimator.partial_fit(X[start : start + 100], y[start : start + 100])
    assert estimator.score(X, y) > 0.9
    assert_allclose(estimator._leaf_weight.sum(), weight + 400)
    with pytest.raises(ValueError, match="classes must be passed"):
        classifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="none of the classes"):
        estimator.partial_fit(X[:3], [0, 1, 2])


def test_partial_fit_of_a_regressor_follows_new_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = np.abs(X[:, 0]) + X[:, 1]
    estimator = regressor().partial_fit(X[:100], y[:100])
    before, leaves = estimator.score(X[100:], y[100:]), estimator._leaf_weight.sum()
    for start in range(100, 600, 100):
        estimator.partial_fit(X[start : start + 100], y[start : start + 100])
    assert estimator.score(X[100:], y[100:]) > before
    assert estimator._leaf_weight.sum() == leaves + 500


@BOTH
def test_partial_fit_goes_on_after_loading(make, data, tmp_path):
    make().fit(*data).save(tmp_path / "model.json")
    loaded = type(make()).load(tmp_path / "model.json").partial_fit(*data)
    assert loaded.score(*data) > 0.3


@BOTH
def test_an_estimator_may_be_the_start(make, data):
    fitted = make().fit(*data)
    assert make(init=fitted.model_).fit(*data).tree_ == make(init=fitted.tree_).fit(*data).tree_


@BOTH
def test_a_checkpoint_of_other_data_is_refused(make, data, tmp_path):
    make(checkpoint=tmp_path).fit(*data)
    with pytest.raises(ValueError, match="belongs to another run"):
        make(checkpoint=tmp_path).fit(data[0] * np.linspace(1, 2, len(data[0]))[:, None], data[1])


@BOTH
def test_early_stopping_keeps_the_best_epoch(make, data):
    estimator = make(early_stopping=True, max_iter=200, n_iter_no_change=5, n_init=1, refit=False).fit(*data)
    scores = estimator.validation_scores_
    assert estimator.history_.stopped == "patience"
    assert len(scores) == estimator.n_iter_ < 200
    assert np.argmax(scores) == estimator.history_.best_epoch


@BOTH
def test_the_torch_engine_trains_too(make, data):
    pytest.importorskip("torch", reason="torch is an optional extra")
    fitted = make(engine="torch", n_init=1).fit(*data)
    assert fitted.score(*data) > 0.3
    assert fitted.tree_.fingerprint() == make(engine="torch", n_init=1).fit(*data).tree_.fingerprint()


@BOTH
def test_progress_is_shown_when_asked_for_and_nothing_else(make, data, capfd):
    make().fit(*data)
    assert capfd.readouterr() == ("", "")
    make(verbose=1).fit(*data)
    shown = capfd.readouterr()
    assert "epoch" in shown.err
    assert shown.out == ""


@BOTH
def test_each_start_is_logged(make, data, caplog):
    with caplog.at_level("INFO", logger="dtsemnet"):
        make(n_init=3).fit(*data)
    lines = [record.getMessage() for record in caplog.records if "start" in record.getMessage()]
    assert len(lines) == 3
    assert sum("kept" in line for line in lines) == 1


@BOTH
def test_the_html_repr_shows(make, data):
    assert "DTSemNet" in make().fit(*data)._repr_html_()
