"""Classify breast tumours with a tree of depth 2, read it, and keep it in a file.

Shows fitting, test accuracy, class probabilities, the tree as text in the units of the data, which columns decide,
and saving to and loading from a JSON model file.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_text

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture", "mean smoothness", "mean concavity", "worst symmetry"]]
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X_train, y_train)
print(f"test accuracy {classifier.score(X_test, y_test):.3f}, {classifier.get_n_leaves()} leaves\n")

print(to_text(classifier, X_train, digits=3))

some = slice(None, None, 60)
print("\nsome test rows:")
leaves, shares = classifier.apply(X_test[some]), classifier.predict_proba(X_test[some])
for label, leaf, share in zip(y_test[some], leaves, shares):
    shown = ", ".join(f"{name} {part:.2f}" for name, part in zip(classifier.classes_, share))
    print(f"  leaf {leaf}: {shown} (in truth {label})")

print("\nshare of each column in the decisions:")
for share, name in sorted(zip(classifier.feature_importances_, X.columns), reverse=True):
    print(f"  {share:.2f}  {name}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tumours.json"
    classifier.save(path)
    again = DTSemNetClassifier.load(path)
    print(f"\n{path.name}: {path.stat().st_size} bytes, same tree when loaded: {again.tree_ == classifier.tree_}")
