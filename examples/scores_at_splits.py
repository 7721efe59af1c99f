"""
How rows fall at every split: histograms of scores
==================================================

Libraries such as dtreeviz draw, at each split, a histogram of the column that is tested. An oblique split tests a sum
of columns, whose value is its *score*: rows with a score above 0 go right. The histogram of scores shows how well a
split separates the classes, and how many rows lie close to it, where a small change would turn the answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import class_colors

wine = load_wine(as_frame=True)
X, X_test, y, y_test = train_test_split(wine.data, wine.target_names[wine.target], random_state=0)
classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)
tree = classifier.tree_
print(f"{tree.n_splits} splits, accuracy on new rows {classifier.score(X_test, y_test):.3f}")

# %%
# ``scores`` gives the scores of all splits, ``decision_path`` the splits that each row reaches. Scores are divided by
# their spread, so that the splits compare.
rows = classifier.model_.transform(X)
scores, reached = tree.scores(rows), tree.decision_path(rows)
colors = class_colors(len(classifier.classes_))

fig, axes = plt.subplots(1, tree.n_splits, figsize=(3.2 * tree.n_splits, 3), layout="constrained", squeeze=False)
for split, ax in enumerate(axes[0]):
    here = (reached == split).any(axis=1)
    score = scores[here, split] / scores[here, split].std()
    bins = np.histogram_bin_edges(score, 25)
    by_class = [score[y[here] == name] for name in classifier.classes_]
    ax.hist(by_class, bins, stacked=True, color=colors, label=classifier.classes_)
    ax.axvline(0, color="black", linewidth=1)
    close = np.mean(np.abs(score) < 0.1)
    ax.set_title(f"split {split}: {here.sum()} rows, {close:.0%} close to it", fontsize=9)
    ax.set_xlabel("left        score        right")
axes[0, 0].set_ylabel("rows")
axes[0, -1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
