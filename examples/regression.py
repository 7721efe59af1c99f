"""Predict the course of diabetes with linear and with constant leaves, and an interval by quantiles.

Shows the regressor's two kinds of leaves, the guard that keeps a linear model within the targets that its leaf has
seen, and the quantile loss.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetRegressor
from dtsemnet.export import to_text

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[["age", "bmi", "bp", "s5"]], data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

for leaf in ("linear", "constant"):
    regressor = DTSemNetRegressor(max_depth=1, leaf=leaf, random_state=0).fit(X_train, y_train)
    print(f"{leaf} leaves, test R² {regressor.score(X_test, y_test):.3f}")
    print(to_text(regressor, X_train, digits=3) + "\n")

# Far outside the training rows a linear model would run away; the guard holds it.
far = X_train.max().to_frame().T * 10
free = DTSemNetRegressor(max_depth=1, guard=False, random_state=0).fit(X_train, y_train)
kept = DTSemNetRegressor(max_depth=1, random_state=0).fit(X_train, y_train)
print(f"ten times the largest row: {free.predict(far)[0]:.0f} without the guard, {kept.predict(far)[0]:.0f} with it\n")

low, high = (
    DTSemNetRegressor(max_depth=1, loss="quantile", quantile=q, random_state=0).fit(X_train, y_train).predict(X_test)
    for q in (0.1, 0.9)
)
print(f"between the quantiles 0.1 and 0.9: {np.mean((low <= y_test) & (y_test <= high)):.0%} of the test rows")
