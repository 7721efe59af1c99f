"""Models go through MLflow's folders, runs and registry as JSON, and come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

mlflow = pytest.importorskip("mlflow", reason="mlflow is an extra")
pytest.importorskip("mlflow.pyfunc", reason="mlflow is an extra")

from dtsemnet import mlflow as flavor  # noqa: E402 - it needs MLflow

IRIS = load_iris(as_frame=True)
QUICK = {"max_depth": 2, "n_init": 1, "max_iter": 5, "random_state": 0}


@pytest.fixture(scope="module")
def classifier() -> DTSemNetClassifier:
    return DTSemNetClassifier(**QUICK).fit(IRIS.data, IRIS.target_names[IRIS.target])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in a folder, without a server."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_registry_uri((tmp_path / "runs").as_uri())
    yield tmp_path
    mlflow.set_tracking_uri(before)


def test_a_saved_model_is_the_model_file_and_holds_no_pickle(classifier: DTSemNetClassifier, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    flavor.save_model(classifier, folder, input_example=IRIS.data.head(3))
    assert {path.name for path in folder.iterdir()} == {"MLmodel", "model.json", "python_env.yaml", "requirements.txt"}
    assert DTSemNetClassifier.load(folder / "model.json").tree_ == classifier.tree_
    assert any(line.startswith("dtsemnet==") for line in (folder / "requirements.txt").read_text().splitlines())
    again = flavor.load_model(str(folder))
    assert isinstance(again, DTSemNetClassifier)
    assert_array_equal(again.predict_proba(IRIS.data), classifier.predict_proba(IRIS.data))


def test_a_logged_and_registered_model_answers_by_pyfunc(classifier: DTSemNetClassifier, store: Path) -> None:
    with mlflow.start_run():
        info = flavor.log_model(classifier, "tree", registered_model_name="irises", input_example=IRIS.data.head(3))
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert_array_equal(loaded.predict(IRIS.data), classifier.predict(IRIS.data))
    assert [column.name for column in loaded.metadata.signature.inputs] == list(IRIS.data.columns)
    assert flavor.load_model("models:/irises/1").tree_ == classifier.tree_
    with pytest.raises(mlflow.exceptions.MlflowException, match="sepal length"):
        loaded.predict(IRIS.data.drop(columns="sepal length (cm)"))


def test_tables_with_categories_and_missing_values_are_read_as_in_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    table.loc[::7, "size"] = np.nan
    regressor = DTSemNetRegressor(**QUICK).fit(table, np.arange(60.0))
    flavor.save_model(regressor, tmp_path / "estimator", input_example=table)
    flavor.save_model(regressor.model_, tmp_path / "model")
    for name in ("estimator", "model"):
        answers = mlflow.pyfunc.load_model(str(tmp_path / name))
        assert_array_equal(answers.predict(table), regressor.predict(table))
        assert_array_equal(answers.predict(table[["colour", "size"]]), regressor.predict(table))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply"])
def test_pyfunc_answers_by_the_method_that_was_chosen(
    classifier: DTSemNetClassifier, tmp_path: Path, method: str
) -> None:
    flavor.save_model(classifier, tmp_path / "model", pyfunc_predict_fn=method)
    answers = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert_array_equal(answers.predict(IRIS.data), getattr(classifier, method)(IRIS.data))


def test_bad_calls_are_refused(classifier: DTSemNetClassifier, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pyfunc_predict_fn must be one of predict, .*'transform'"):
        flavor.save_model(classifier, tmp_path / "a", pyfunc_predict_fn="transform")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        flavor.save_model(classifier, tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["mine.txt"]
    mlflow.models.Model(flavors={"other": {}}).save(str(tmp_path / "b" / "MLmodel"))
    with pytest.raises(ValueError, match="holds no model of dtsemnet, but other"):
        flavor.load_model(str(tmp_path / "b"))


def test_a_folder_cannot_name_another_method_to_call(classifier: DTSemNetClassifier, tmp_path: Path) -> None:
    flavor.save_model(classifier, tmp_path / "model")
    written = tmp_path / "model" / "MLmodel"
    assert "pyfunc_predict_fn: predict\n" in written.read_text()
    written.write_text(written.read_text().replace("pyfunc_predict_fn: predict\n", "pyfunc_predict_fn: save\n"))
    with pytest.raises(ValueError, match=r"pyfunc_predict_fn in MLmodel must be one of predict, .* got 'save'"):
        mlflow.pyfunc.load_model(str(tmp_path / "model"))
