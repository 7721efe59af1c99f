"""A data frame as numbers, for methods that read no categories and no missing values.

A column of text becomes one 0/1 column for each category of the training rows, a missing
value being a category too; a category that they do not have gives zeros. A missing number
takes the median of the training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from dtsemnet.arrays import Floats, Ints
from dtsemnet_paper.bench.csv_files import is_number
from dtsemnet_paper.bench.splits import VisibleRows

__all__ = ["OneHot"]


class OneHot:
    """The conversion that fits some training rows.

    Parameters
    ----------
    X : data frame
        Training rows; medians and categories are theirs.

    Examples
    --------
    >>> import pandas
    >>> one_hot = OneHot(pandas.DataFrame({"size": [1.0, 2.0, 4.0], "colour": ["red", "blue", "red"]}))
    >>> one_hot(pandas.DataFrame({"size": [None, 3.0], "colour": ["blue", "green"]}))  # blue, red
    array([[2., 1., 0.],
           [3., 0., 0.]])
    >>> one_hot.columns
    array([0, 1, 1])
    """

    columns: Ints
    """For each feature the position of the column that it comes from."""

    def __init__(self, X: Any) -> None:
        numbers = [j for j, dtype in enumerate(X.dtypes) if is_number(dtype)]
        texts = [j for j in range(X.shape[1]) if j not in numbers]
        medians = SimpleImputer(strategy="median", keep_empty_features=True)
        categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self._pipeline = ColumnTransformer([("numbers", medians, numbers), ("texts", categories, texts)]).fit(X)
        known = self._pipeline.named_transformers_["texts"].categories_ if texts else []
        self.columns = np.array([*numbers, *np.repeat(texts, [len(found) for found in known])], dtype=np.int64)

    def __call__(self, X: Any) -> Floats:
        """Convert rows."""
        if not len(X):  # which scikit-learn refuses
            return np.zeros((0, len(self.columns)))
        converted: Floats = np.asarray(self._pipeline.transform(X), dtype=np.float64)
        return converted

    def convert(self, rows: VisibleRows) -> VisibleRows:
        """Convert training and validation rows."""
        return VisibleRows(self(rows.X), rows.y, self(rows.X_val), rows.y_val)
