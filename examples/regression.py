"""
A regressor with linear leaves
==============================

Predict the course of diabetes with linear and with constant leaves, with the guard that keeps a linear model inside the
targets that its leaf has seen, and with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetRegressor
from dtsemnet.export import to_text
from dtsemnet.plot import plot_regions

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[["age", "bmi", "bp", "s5"]], data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

for leaf in ("linear", "constant"):
    regressor = DTSemNetRegressor(max_depth=1, leaf=leaf, random_state=0).fit(X_train, y_train)
    print(f"{leaf} leaves, test R² {regressor.score(X_test, y_test):.3f}")
    print(to_text(regressor, X_train, digits=3) + "\n")

# %%
# What the tree does in the plane of two columns, the others held at their medians. Inside a region a linear leaf is a
# plane; the line is the split.
linear = DTSemNetRegressor(max_depth=2, random_state=0).fit(X_train, y_train)
plot_regions(linear, X_train, y_train, features=("bmi", "s5"))
plt.show()

# %%
# Far outside the training rows a linear model runs away; the guard holds it.
far = X_train.max().to_frame().T * 10
free = DTSemNetRegressor(max_depth=1, guard=False, random_state=0).fit(X_train, y_train)
kept = DTSemNetRegressor(max_depth=1, random_state=0).fit(X_train, y_train)
print(f"ten times the largest row: {free.predict(far)[0]:.0f} without the guard, {kept.predict(far)[0]:.0f} with it")

# %%
# ``predict_interval`` gives intervals from the errors of the trees that cross-fitting trained without the row (CV+).
low, high = kept.predict_interval(X_test, coverage=0.8).T
print(f"within the intervals for 80 %: {np.mean((low <= y_test) & (y_test <= high)):.0%} of the test rows")

order = np.argsort(kept.predict(X_test))
fig, ax = plt.subplots(figsize=(7, 3.5))
ax.fill_between(range(len(order)), low[order], high[order], color="#0072b2", alpha=0.2, label="interval for 80 %")
ax.plot(kept.predict(X_test)[order], color="#0072b2", label="prediction")
ax.plot(y_test.to_numpy()[order], ".", color="#d55e00", markersize=4, label="true value")
ax.set(xlabel="test rows, in the order of their predictions", ylabel="progression")
ax.legend(frameon=False)
plt.show()
