"""
SHAP beside the exact attribution
=================================

SHAP's generic explainers see a model through its predictions alone: they mix the row with background rows, ask for
many predictions and share the difference among the columns. They work on an estimator as it is. A tree needs none of
this: the leaf that a row reaches is a sum, so what each column adds can be read off. Where the row and all its mixtures
stay in one leaf the two agree; where they cross splits, SHAP's figures also tell of the other leaves.
"""

import matplotlib.pyplot as plt
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


def compare(background: pd.DataFrame) -> pd.DataFrame:
    """Give both attributions of the row against a background."""
    theirs = shap.KernelExplainer(predict, background.to_numpy()).shap_values(row.to_numpy(), silent=True)[0]
    exact = {
        term.column: term.amount for term in explain(regressor, row, background=background).outputs[0].contributions
    }
    table = pd.DataFrame({"value": row.iloc[0], "exact": pd.Series(exact), "SHAP": pd.Series(theirs, X.columns)})
    return table.loc[X.columns]


print(explain(regressor, row, background=X))

# %%
# Rows that differ from this one in small steps: every mixture of them with it reaches the same leaf. Another background
# is 50 rows of the table, from all leaves.
steps = np.random.default_rng(0).normal(0, 0.05, (20, X.shape[1])) * X.std().to_numpy()
nearby = compare(row.to_numpy() + pd.DataFrame(steps, columns=X.columns))
everywhere = compare(X.sample(50, random_state=0))
difference = (nearby["exact"] - nearby["SHAP"]).abs().max()
print(f"Inside leaf {regressor.apply(row)[0]} the two differ by {difference:.0e} at most.")

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, table, where in ((axes[0], nearby, "rows of the same leaf"), (axes[1], everywhere, "rows of all leaves")):
    place = np.arange(len(table))
    ax.barh(place - 0.2, table["exact"], 0.4, color="#0072b2", label="exact")
    ax.barh(place + 0.2, table["SHAP"], 0.4, color="#d55e00", label="SHAP")
    ax.set(yticks=place, yticklabels=table.index, xlabel="what the column adds", title=f"against {where}")
axes[0].legend(frameon=False)
plt.show()
