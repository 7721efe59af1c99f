"""
A classifier, from table to file
================================

Classify breast tumours with a tree of depth 2, read it, draw it, and keep it in a file.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_text
from dtsemnet.plot import plot_importance, plot_tree

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture", "mean smoothness", "mean concavity", "worst symmetry"]]
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X_train, y_train)
print(f"test accuracy {classifier.score(X_test, y_test):.3f}, {classifier.get_n_leaves()} leaves")

# %%
# The tree as text, in the units of the data. The last line says how many rows of the table take the same way through
# the numbers as printed.
print(to_text(classifier, X_train, digits=3))

# %%
# The same tree as a drawing. A bar to the right pushes a row towards "yes"; the highlighted path is that of one tumour.
plot_tree(classifier, X_train, y_train, x=X_test.iloc[[0]])
plt.show()

# %%
# Probabilities read the margins of all splits, so that two rows of one leaf need not have the same.
some = slice(None, None, 60)
leaves, shares = classifier.apply(X_test[some]), classifier.predict_proba(X_test[some])
for label, leaf, share in zip(y_test[some], leaves, shares):
    shown = ", ".join(f"{name} {part:.2f}" for name, part in zip(classifier.classes_, share))
    print(f"leaf {leaf}: {shown} (in truth {label})")

# %%
# The share of each column in the decisions.
plot_importance(classifier)
plt.show()

# %%
# A model is one JSON file. Loading it runs no code and gives the same tree, bit for bit.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tumours.json"
    classifier.save(path)
    again = DTSemNetClassifier.load(path)
    print(f"{path.name}: {path.stat().st_size} bytes, same tree when loaded: {again.tree_ == classifier.tree_}")
