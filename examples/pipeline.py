"""
Pipeline and grid search
========================

The estimators follow scikit-learn's conventions: cloning, parameters by name, cross-validation. Scaling is not needed
for the tree itself (it standardises inside and folds that away); the selection of columns is.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_text

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.3, random_state=0)

pipeline = Pipeline([("select", SelectKBest()), ("tree", DTSemNetClassifier(effort=0, random_state=0))])
pipeline.set_output(transform="pandas")  # the tree then knows the names of the columns selected
search = GridSearchCV(pipeline, {"select__k": [3, 6], "tree__max_depth": [1, 2, 3]}, cv=3)
search.fit(X_train, y_train)
print(f"chosen: {search.best_params_}, test accuracy {search.score(X_test, y_test):.3f}\n")
print(to_text(search.best_estimator_["tree"], digits=3))

# %%
# What cross-validation said of each setting.
fig, ax = plt.subplots(figsize=(6, 3))
for k, color in ((3, "#0072b2"), (6, "#d55e00")):
    tried = [i for i, setting in enumerate(search.cv_results_["params"]) if setting["select__k"] == k]
    depth = [search.cv_results_["params"][i]["tree__max_depth"] for i in tried]
    mean, spread = (search.cv_results_[f"{what}_test_score"][tried] for what in ("mean", "std"))
    ax.errorbar(depth, mean, spread, marker="o", capsize=3, color=color, label=f"{k} columns")
ax.set(xlabel="depth", ylabel="accuracy", xticks=[1, 2, 3])
ax.legend(frameon=False)
plt.show()
