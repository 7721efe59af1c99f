"""
Validation rows of your own
===========================

Judge the starts, and stop early, on a validation set of your own: rows that belong together in a way that a random
split does not know, here later measurements. They choose between the starts and end the training; the tree is never
trained on them.
"""

import matplotlib.pyplot as plt
import numpy as np

from dtsemnet import DTSemNetRegressor
from dtsemnet.plot import plot_history

rng = np.random.default_rng(0)
n = 3000
X = rng.uniform(-1, 1, (n, 5))
drift = np.linspace(0, 0.3, n)  # the process changes slowly
y = np.where(X[:, 0] + X[:, 1] > drift, 3 * X[:, 2], -2 * X[:, 3] + 1) + rng.normal(0, 0.1, n)
(X_train, X_val, X_test), (y_train, y_val, y_test) = np.split(X, [2000, 2500]), np.split(y, [2000, 2500])

regressor = DTSemNetRegressor(max_depth=3, early_stopping=True, n_iter_no_change=15, random_state=0)
regressor.fit(X_train, y_train, X_val=X_val, y_val=y_val)

watched = regressor.validation_scores_
print(f"{regressor.n_iter_} epochs, best validation loss {-max(watched):.4f} in epoch {int(np.argmax(watched)) + 1}")
print(f"R² on validation rows {regressor.score(X_val, y_val):.3f}, on later rows {regressor.score(X_test, y_test):.3f}")

# %%
# The losses of the epochs, and the temperature at the foot: while it falls, the function that is trained turns into the
# tree.
plot_history(regressor)
plt.show()
