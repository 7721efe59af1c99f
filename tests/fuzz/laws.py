"""What holds for any bytes that somebody calls a model file.

They are a model, or loading raises one ``ValueError`` that opens with a field and fits on a line of a terminal. A model
that loads predicts: labels that it names, probabilities from 0 to 1, numbers that are not NaN and finite unless linear
leaves without a guard leave the range of doubles. It keeps to the schema, can be written and read again, and prints
without control characters. The ``load`` of an estimator keeps the same law.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model
from dtsemnet.export import explain, to_dot, to_text
from dtsemnet.tree import load_document
from dtsemnet.tree.file import dumps, loads, schema

__all__ = ["Broken", "check_message", "check_model_file"]

ESTIMATORS: tuple[Any, ...] = (DTSemNetClassifier, DTSemNetRegressor)
VALIDATOR = jsonschema.Draft202012Validator(schema())
SHORT = 4000
"""Bytes of a file that is compared with the schema, too; that is slow."""
NUMBERS = [0.0, 1.0, -1.0, 0.125, 37.5, -1e6, 1e15]


class Broken(AssertionError):
    """A law that a file breaks."""


def check_model_file(path: Path) -> str:
    """Check the law for the file at a path; returns "refused", "model" or "estimator"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            document = load_document(path)
        except ValueError as error:
            _check_error(error)
            return "refused"
        data = path.read_bytes()
        if len(data) < SHORT:
            _need(VALIDATOR.is_valid(json.loads(data)), "what loads keeps to the schema")
        text = dumps(document.content, about=document.about)
        _need(loads(text) == document.content, "loading undoes saving")
        _need(dumps(loads(text), about=document.about) == text, "saving twice gives the same bytes")
        model = Model.of(document.content)
        rows = example_rows(model)
        predicted = _check_predictions(model, rows)
        _check_words(model, rows)
        return _check_estimators(path, model, rows, predicted)


def example_rows(model: Model) -> Any:
    """Seven rows of objects that the model can read: numbers, categories, unknown ones, and missing values."""
    rows = np.empty((len(NUMBERS), model.encoder.n_columns), dtype=object)
    for i, number in enumerate(NUMBERS):
        for j, column in enumerate(model.encoder.columns):
            if column.missing and (i + j) % 3 == 2:
                rows[i, j] = None
            elif column.categories is None:
                rows[i, j] = number
            else:
                choices = [*column.categories, "a value that no model knows"]
                rows[i, j] = choices[(i + j) % len(choices)]
    return rows


def _check_predictions(model: Model, rows: Any) -> Any:
    """Check what a model predicts; None if its numbers are too large for some row, which is one error."""
    try:
        features = np.asarray(model.transform(rows))
        predicted = model.predict(rows)
    except ValueError as error:
        _check_error(error, field=False)
        return None
    if model.is_classifier:
        assert model.class_names is not None
        _need(set(predicted.tolist()) <= set(model.class_names), "labels are those that the model names")
        try:
            chance = model.predict_proba(rows)
        except ValueError as error:  # margins read all splits, also those off the path
            _check_error(error, field=False)
            return predicted
        _need(bool(((chance >= 0) & (chance <= 1 + 1e-6)).all()), "probabilities lie between 0 and 1")
        _need(bool((np.abs(chance.sum(axis=1) - 1) < 1e-5).all()), "probabilities sum to 1")
        likely = [model.class_names[k] for k in chance.argmax(axis=1)]
        _need(likely == predicted.tolist(), "the most probable class is the class predicted")
        return predicted
    output = np.asarray(predicted, dtype=np.float64).reshape(len(rows), -1)
    _need(not np.isnan(output).any(), "no prediction is NaN")
    if not np.isfinite(output).all():
        tree = model.tree
        _need(tree.coef is not None, "constant leaves predict finite numbers")
        assert tree.coef is not None
        with np.errstate(over="ignore"):
            size = np.einsum("rd,lod->rlo", np.abs(features), np.abs(tree.coef)).max(axis=1) + np.abs(tree.value).max()
        _need(bool((np.isfinite(output) | (size > 1e307)).all()), "outputs are finite within the range of doubles")
    return predicted


def _check_words(model: Model, rows: Any) -> None:
    """Check that people can read the model: no control characters, whatever its names."""
    for write in (repr, to_text, lambda model: to_dot(model).text, lambda model: str(explain(model, rows[:1]))):
        try:
            words = write(model)
        except ValueError as error:  # numbers too large to be folded, or for the row
            _check_error(error, field=False)
            continue
        _need(_is_harmless(words), "names are printed without control characters")


def _check_estimators(path: Path, model: Model, rows: Any, predicted: Any) -> str:
    found = "model"
    for kind in ESTIMATORS:
        try:
            estimator = kind.load(path)
        except ValueError as error:
            _check_error(error)
            continue
        found = "estimator"
        _need(estimator.checkpoint is None, "no path of a file is used")
        again = path.with_suffix(".again")
        estimator.save(again)
        other = kind.load(again)
        _need(other.model_ == estimator.model_ == model, "an estimator loads what it saved")
        _need(_same_parameters(estimator, other), "parameters come back")
        text = again.read_text(encoding="utf-8")
        other.save(again)
        _need(again.read_text(encoding="utf-8") == text, "saving again gives the same bytes")
        if predicted is not None:
            _check_estimates(estimator, rows, predicted)
    return found


def _check_estimates(estimator: Any, rows: Any, predicted: Any) -> None:
    try:
        given = estimator.predict(rows)
        if isinstance(getattr(estimator, "classes_", None), list):  # labels
            _need(given.tolist() == (predicted > 0.5).tolist(), "a label is predicted if more than half have it")
            return
        _need(given.tolist() == predicted.tolist(), "the estimator predicts what its model predicts")
        if estimator._cross_fit is None:
            return
        if hasattr(estimator, "classes_"):
            inside = estimator.predict_set(rows, 0.8)
            _need(bool(inside.any(axis=1).all()), "a set holds a class")
        else:
            ends = estimator.predict_interval(rows, 0.8)
            _need(not np.isnan(ends).any(), "no end of an interval is NaN")
    except ValueError as error:  # values that the estimator refuses in a row
        _check_error(error, field=False)


def _same_parameters(one: Any, other: Any) -> bool:
    return repr(one.get_params()) == repr(other.get_params())


def check_message(error: ValueError, *, field: bool = False) -> None:
    """Check that an error is one line that commands no terminal; with ``field``, that it names a field."""
    words = str(error)
    _need(0 < len(words) < 2000 and "\n" not in words and _is_harmless(words), f"an error is one line: {words[:200]!r}")
    _need(not field or ":" in words or "about in" in words, f"an error names the field: {words[:200]}")


def _check_error(error: ValueError, *, field: bool = True) -> None:
    _need(type(error) is ValueError, f"an error is a ValueError, not {type(error).__name__}")
    check_message(error, field=field)


def _is_harmless(words: str) -> bool:
    kept = words.replace("\n", "").replace("\u200c", "").replace("\u200d", "").replace("\xa0", " ")
    return kept.isprintable()


def _need(holds: bool, law: str) -> None:
    if not holds:
        raise Broken(law)
