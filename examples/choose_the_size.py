"""
Choose the size of a tree
=========================

The default finds a size by itself. To see what a smaller tree would cost, prune: ``cost_complexity_path`` lists the
trees that growing penalties on leaves leave over, as in scikit-learn, and cross-validation tells what each is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score, train_test_split

from dtsemnet import DTSemNetClassifier

X, y = make_classification(2000, 8, n_informative=6, n_clusters_per_class=4, class_sep=1.5, random_state=3)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

chosen = DTSemNetClassifier(random_state=0).fit(X_train, y_train)
print(f"the default chose {chosen.get_n_leaves()} leaves, test accuracy {chosen.score(X_test, y_test):.3f}")

# %%
# Trees of at most so many leaves. The limit is part of the fit: the tree that is handed back was judged as small as it
# is.
limits, scores = [2, 4, 6, 8, 12, 16], []
for limit in limits:
    tree = DTSemNetClassifier(max_depth=5, max_leaf_nodes=limit, effort=0, random_state=0)
    scores.append(cross_val_score(tree, X_train, y_train, cv=3))

fig, ax = plt.subplots(figsize=(6, 3.2))
mean, error = np.mean(scores, axis=1), np.std(scores, axis=1) / np.sqrt(3)
ax.errorbar(limits, mean, error, marker="o", capsize=3, color="#0072b2")
ax.set(xlabel="leaves at most", ylabel="accuracy in cross-validation", xticks=limits)
plt.show()

# %%
# The path of pruning of one tree: each step removes the leaves that save least.
path = DTSemNetClassifier(max_depth=5, effort=0, random_state=0).cost_complexity_path(X_train, y_train)
for alpha, leaves, impurity in zip(path.ccp_alphas, path.n_leaves, path.impurities):
    if leaves <= 16:
        print(f"ccp_alpha {alpha:8.5f}: {int(leaves):3d} leaves, impurity {impurity:.4f}")
