"""
Prove what a tree cannot do
===========================

A hard tree is piecewise linear, so questions about it have exact answers: which leaves can be reached at all, how far
an input must move to change its class, whether a class can ever come out in a part of the world.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from dtsemnet import DTSemNetClassifier
from dtsemnet.plot import plot_regions
from dtsemnet.verify import Domain, counterfactual, never, reachable_leaves, robustness

iris = load_iris(as_frame=True)
X, y = iris.data, iris.target_names[iris.target]
classifier = DTSemNetClassifier(max_depth=3, effort=0, random_state=0).fit(X, y)
domain = Domain.from_data(X)
print(reachable_leaves(classifier, domain))

# %%
# Can a flower with petals shorter than 2 cm be called virginica? "yes" means never, and is proved; "no" would come with
# such a flower.
small = domain.narrow({"petal length (cm)": (1.0, 2.0), "petal width (cm)": (0.1, 0.6)})
print(f"never virginica: {never(classifier, small, 'virginica').status}")

# %%
# How far can all measures of one flower move before its class changes? The bound is exact, and comes with a flower just
# beyond it.
flower = X.to_numpy()[60]
print(robustness(classifier, flower, norm="inf"))

# %%
# The cheapest change that makes it another kind, if its sepals are given.
for answer in counterfactual(
    classifier, flower, "virginica", domain=domain, immutable=["sepal length (cm)", "sepal width (cm)"]
):
    print(answer)

# %%
# The radius, drawn for every flower in the plane of the petals: a larger dot can move farther.
radius = np.array([robustness(classifier, row, norm="inf").lower for row in X.to_numpy()[::3]])
ax = plot_regions(classifier, X, y, features=("petal length (cm)", "petal width (cm)"))
ax.scatter(X.iloc[::3, 2], X.iloc[::3, 3], s=900 * radius, facecolor="none", edgecolor="black", linewidth=0.8)
plt.show()
