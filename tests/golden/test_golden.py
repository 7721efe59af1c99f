"""Model files of released versions load for ever, and predict what they predicted, bit for bit.

``v0.1/NAME.json`` is a small model file of one kind: classes, numbers, linear leaves, categories, missing values,
margin probabilities, the output map of a policy, trees of folds for intervals. ``answers/v0.1/NAME.json`` holds rows
and what the file answered when it was recorded; doubles are written in hexadecimal, so that every bit counts. Two
functions are no IEEE operations, ``exp`` (margin probabilities) and ``tanh`` (output maps): what follows from them may
differ in its last digits on another machine, and all else may not.

A file is never changed or removed. A new version of the format gets a folder of its own; this writes the answers of
files that have none:

    python tests/golden/test_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model
from dtsemnet.tree import Identity, load_document
from dtsemnet.tree.file import dumps

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("v*/*.json"))
ESTIMATORS = {kind.__name__: kind for kind in (DTSemNetClassifier, DTSemNetRegressor)}
pytestmark = pytest.mark.filterwarnings("ignore:X (has missing values|does not have valid feature names):UserWarning")
NEARLY = 1e-13
"""Relative difference that the last digits of exp and tanh may make."""


def answers_of(path: Path) -> Path:
    return FOLDER / "answers" / path.parent.name / path.name


def table(rows: list[list[Any]]) -> Any:
    """Rows as a model reads them; null is a missing value."""
    array = np.array(rows, dtype=object)
    array[np.equal(array, None)] = np.nan
    return array if any(isinstance(cell, (str, bool)) for cell in array.ravel().tolist()) else array.astype(float)


def to_hex(numbers: Any) -> Any:
    return [to_hex(part) for part in numbers] if isinstance(numbers, list) else float(numbers).hex()


def answer(path: Path, rows: list[list[Any]]) -> dict[str, Any]:
    """What a file says of rows, in plain JSON."""
    document = load_document(path)
    model, X = Model.of(document.content), table(rows)
    given: dict[str, Any] = {"fingerprint": model.fingerprint(), "leaf": model.apply(X).tolist()}
    given["scores"] = to_hex(model.scores(X).tolist())
    if model.is_classifier:
        given["prediction"] = model.predict(X).tolist()
        given["share"] = to_hex(model.tree.predict_proba(model.transform(X)).tolist())
        if model.probability is not None:
            given["probability"] = to_hex(model.predict_proba(X).tolist())
    else:
        mapped = isinstance(model.output, Identity)
        given["output" if mapped else "mapped output"] = to_hex(np.asarray(model.predict(X)).tolist())
    kind = ESTIMATORS.get(str(document.about.get("estimator")))
    if kind is not None:
        estimator: Any = kind.load(path)
        assert np.array_equal(estimator.predict(X), model.predict(X))
        if estimator._cross_fit is not None and model.is_classifier:
            given["set"] = estimator.predict_set(X, 0.8).tolist()
        elif estimator._cross_fit is not None:
            given["interval"] = to_hex(estimator.predict_interval(X, 0.8).tolist())
    return given


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_before_predicts_the_same_bits(path: Path) -> None:
    recorded = json.loads(answers_of(path).read_text(encoding="utf-8"))
    given = answer(path, recorded.pop("rows"))
    for name in ("probability", "mapped output"):
        if name in recorded:
            expected, got = (np.vectorize(float.fromhex)(part.pop(name)) for part in (recorded, given))
            np.testing.assert_allclose(got, expected, rtol=NEARLY, atol=0)
    assert given == recorded


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_before_is_written_as_it_was(path: Path) -> None:
    document = load_document(path)
    assert dumps(document.content, about=document.about) == path.read_text(encoding="utf-8")


def test_every_file_has_answers_and_every_answer_a_file() -> None:
    assert sorted(map(answers_of, FILES)) == sorted(FOLDER.glob("answers/v*/*.json"))


def example_rows(model: Model, n_rows: int = 8) -> list[list[Any]]:
    """Rows of ordinary sizes, with every category, an unknown one, and missing values where the model reads them."""
    rng = np.random.default_rng(0)
    rows: list[list[Any]] = []
    for i in range(n_rows):
        row: list[Any] = []
        for j, column in enumerate(model.encoder.columns):
            if column.missing and (i + j) % 4 == 3:
                row.append(None)
            elif column.categories is None:
                size = 1 / abs(column.scale) if column.scale else 1.0
                row.append(round(column.center + float(rng.normal()) * size, 3))
            else:
                choices = [*column.categories, "unknown"]
                row.append(choices[(i + j) % len(choices)])
        rows.append(row)
    return rows


if __name__ == "__main__":
    for file in FILES:
        target = answers_of(file)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            some = example_rows(Model.load(file))
            text = json.dumps({"rows": some} | answer(file, some), ensure_ascii=False, indent=None)
            target.write_text(text.replace('], "', '],\n "') + "\n", encoding="utf-8")
