"""
Why oblique splits: one line in place of a staircase
====================================================

A tree that tests one column at a time follows a slanted boundary by a staircase. An oblique tree follows it by a line,
so it is smaller, and its regions are those of the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, Tree
from dtsemnet.export import to_text
from dtsemnet.plot import plot_regions

rng = np.random.default_rng(0)
X, X_test = rng.uniform(-1, 1, (600, 2)), rng.uniform(-1, 1, (20000, 2))


def band(rows: np.ndarray) -> np.ndarray:
    """Inside a slanted band or outside of it."""
    return np.where(np.abs(rows @ [0.8, 0.6] - 0.1) < 0.35, "in", "out")


y = band(X)
oblique = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)
cart = DecisionTreeClassifier(random_state=0).fit(X, y)  # as deep as it likes

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, tree, name in ((axes[0], Tree.from_sklearn(cart), "CART"), (axes[1], oblique.tree_, "dtsemnet")):
    plot_regions(tree, X, y, ax=ax)
    accuracy = np.mean(tree.predict(X_test) == band(X_test))
    ax.set_title(f"{name}: {tree.n_leaves} leaves, {accuracy:.1%} on new rows")
plt.show()

# %%
# The oblique tree is two parallel lines, in three leaves or four.
print(to_text(oblique, X))
