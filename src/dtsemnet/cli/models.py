"""Model files, and tables read as a model needs them.

A model file holds an estimator's model, a bare model or a bare tree; all three predict,
print and export alike. A table is matched by column names, and its texts are turned into
numbers as those of training were (:class:`~dtsemnet.tables.Recipe`). Columns whose categories
are texts are read as text, so that "7" in training is not the number 7 here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dtsemnet.arrays import Array, Floats
from dtsemnet.cli.output import counted, quoted, remark, working
from dtsemnet.cli.tables import pick, read_weight, take_target
from dtsemnet.tables.files import TableOptions, read_table
from dtsemnet.tables.recipe import Recipe
from dtsemnet.tree import Column, Document, Model, load_document

__all__ = ["Loaded", "ModelRows", "load"]


@dataclass(frozen=True)
class ModelRows:
    """Rows for a model: its columns in its order, and the target if one was named."""

    frame: Any
    """The whole table as it was read, rows without a target dropped."""
    X: Any
    y: Array | None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class Loaded:
    """A model file that has been read."""

    path: Path
    document: Document

    @property
    def model(self) -> Model:
        """Encoder, tree and output map."""
        return Model.of(self.document.content)

    @property
    def target(self) -> str | None:
        """Name of the column that the model was fitted to, if its file states it."""
        target = self.document.about.get("target")
        return target if isinstance(target, str) else None

    @property
    def output_names(self) -> list[str] | None:
        """The target as the name of the output of a regressor; None for classes, several outputs, or no known name."""
        named = self.target is not None and not self.model.is_classifier and self.model.tree.n_outputs == 1
        return [str(self.target)] if named else None

    def trained_on(self, path: Path, rows: ModelRows) -> str:
        """Say how many rows of a table the tree was trained on, if the table is that of the fit, by name and length."""
        fit = self.document.about.get("fit")
        if not isinstance(fit, dict) or fit.get("data") != path.name or not isinstance(fit.get("rows"), dict):
            return ""
        train, test = (fit["rows"].get(part) for part in ("train", "test"))
        if not isinstance(train, int) or not isinstance(test, int) or len(rows) not in (train, train + test):
            return ""
        return "training rows" if len(rows) == train else f"{train:,} of them trained on"

    def estimator(self) -> Any:
        """Load the estimator that wrote the file; None if none did."""
        import dtsemnet.estimators

        name = self.document.about.get("estimator")
        known = isinstance(name, str) and name in dtsemnet.estimators.__all__  # never whatever else has that name
        return getattr(dtsemnet.estimators, str(name)).load(self.path) if known else None

    @property
    def recipe(self) -> Recipe:
        """How the texts of a table become numbers, as in training."""
        return Recipe.from_dict(self.document.about.get("table"))

    def read(
        self, path: Path, reading: TableOptions | None = None, *, target: str | None = None, guess: bool = False,
        weight: str | None = None,
    ) -> ModelRows:  # fmt: skip
        """Read a table, with remarks on values that the model has not met in training.

        ``guess`` takes the target of the fit if none is named and the table has it.
        """
        model, wanted, reading = self.model, target or (self.target if guess else None), reading or TableOptions()
        recipe = self.recipe.with_options(reading)
        text = [c.name for c in model.encoder.columns if c.categories and all(isinstance(v, str) for v in c.categories)]
        if wanted is not None and model.class_names and all(isinstance(name, str) for name in model.class_names):
            text.append(wanted)
        with working(f"reading {path.name}"):
            others = recipe.columns - set(recipe.numbers)
            whole = read_table(path, reading, text=[*text, *others], written=recipe.numbers, remark=remark)
        # A column of numbers that training read from numbers may be written as text here.
        numbers = {c.name for c in model.encoder.columns if not c.categories} - recipe.columns
        if wanted is not None and not model.is_classifier:
            numbers |= {wanted} - recipe.columns
        with working(f"reading the columns of {path.name}") as tell:
            found = Recipe.find(whole, reading, only=numbers, remark=remark, progress=tell)
            frame = recipe.apply(found.apply(whole, tell), tell)
        y = weights = None
        if wanted is not None and (target is not None or wanted in frame.columns):
            weights_of = frame
            frame, y, _ = take_target(frame, wanted, remark=remark)
            weights = read_weight(weights_of.loc[frame.index], weight)
            whole = whole.loc[frame.index]
        X = self._columns(frame, path, recipe)
        for column in model.encoder.columns:
            _remark_values(column, X[column.name])
        return ModelRows(whole, X, y, weights)

    def _columns(self, frame: Any, path: Path, recipe: Recipe) -> Any:
        """Find columns by name, or by position if the model never knew any names."""
        names = [column.name for column in self.model.encoder.columns]
        nameless = names == [f"x{i}" for i in range(len(names))]
        if nameless and not set(names) <= set(frame.columns) and len(frame.columns) == len(names):
            remark("the model has no column names; the columns of the table are read in their order.")
            return frame.set_axis(names, axis=1)
        return pick(frame, names, path, recipe)


def _remark_values(column: Column, values: Any) -> None:
    """Say which values of a column the model has not met in training: other categories, or missing ones."""
    absent = values.isna()
    known = absent | values.isin(list(column.categories or []))
    if column.categories and not known.all():
        unknown = values[~known]
        some = ", ".join(quoted(value) for value in unknown.unique()[:3])
        rows = counted(len(unknown), "row")
        remark(f"column {quoted(column.name)}: {rows} with values unknown to the model ({some}).")
    if absent.any() and column.fills_missing:
        rows = counted(int(absent.sum()), "row")
        fill = quoted(column.fill) if column.categories else f"{column.fill:.4g}"
        remark(f"column {quoted(column.name)}: {rows} with missing values, of which training had none; read as {fill}.")


def load(path: Path) -> Loaded:
    """Read a model file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is a FIFO or a device" if path.exists() else "does not exist"
        raise FileNotFoundError(f"model file {quoted(path)} {what}; dtsemnet fit writes one.")
    try:
        return Loaded(path, load_document(path))
    except ValueError as error:
        raise ValueError(f"model file {quoted(path)} cannot be read: {error}") from error
