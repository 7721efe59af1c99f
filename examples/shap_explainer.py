"""
SHAP beside the exact attribution
=================================

SHAP's generic explainers see a model through its predictions alone: they mix the row with background rows, ask for
many predictions and share the difference among the columns. They work on an estimator as it is. A tree needs none of
this: the leaf that a row reaches is a sum, so what each column adds can be read off. Where the row and all its mixtures
stay in one leaf the two agree; where they cross splits, SHAP's figures also tell of the other leaves.
"""

import numpy as np
import pandas as pd
import shap
from sklearn.datasets import load_diabetes

from dtsemnet import DTSemNetRegressor
from dtsemnet.export import explain

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
regressor = DTSemNetRegressor(max_depth=2, random_state=0).fit(X, y)
row = X.iloc[[0]]


def predict(rows: np.ndarray) -> np.ndarray:
    """SHAP hands arrays over; the regressor was fitted on named columns."""
    return regressor.predict(pd.DataFrame(rows, columns=X.columns))


def compare(background: pd.DataFrame) -> float:
    """Print both attributions of the row against a background; return their largest difference."""
    theirs = shap.KernelExplainer(predict, background.to_numpy()).shap_values(row.to_numpy(), silent=True)[0]
    exact = {
        term.column: term.amount for term in explain(regressor, row, background=background).outputs[0].contributions
    }
    table = pd.DataFrame({"value": row.iloc[0], "exact": pd.Series(exact), "SHAP": pd.Series(theirs, X.columns)})
    print(table.loc[X.columns].to_string(float_format="{:8.2f}".format), "\n")
    return float((table["exact"] - table["SHAP"]).abs().max())


print(explain(regressor, row, background=X), "\n")

# Rows that differ from this one in small steps: every mixture of them with it reaches the same leaf.
steps = np.random.default_rng(0).normal(0, 0.05, (20, X.shape[1])) * X.std().to_numpy()
print(f"against rows nearby, all in leaf {regressor.apply(row)[0]}:")
difference = compare(row.to_numpy() + pd.DataFrame(steps, columns=X.columns))

print("against 50 rows of the table, from all leaves:")
compare(X.sample(50, random_state=0))

print(f"Inside one leaf the two differ by {difference:.0e} at most.")
