"""Use the classifier inside a Pipeline, with its depth chosen by GridSearchCV.

Shows that the estimators follow scikit-learn's conventions: cloning, parameters by name, cross-validation. Scaling
is not needed for the tree itself (it standardises inside and folds that away); the selection of columns is.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_text

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.3, random_state=0)

pipeline = Pipeline([("select", SelectKBest()), ("tree", DTSemNetClassifier(random_state=0))])
pipeline.set_output(transform="pandas")  # the tree then knows the names of the columns selected
search = GridSearchCV(pipeline, {"select__k": [3, 6], "tree__max_depth": [1, 2, 3]}, cv=3)
search.fit(X_train, y_train)

for setting, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"]):
    print(f"{setting['select__k']} columns, depth {setting['tree__max_depth']}: {score:.3f} in cross-validation")
print(f"\nchosen: {search.best_params_}, test accuracy {search.score(X_test, y_test):.3f}\n")
print(to_text(search.best_estimator_["tree"], digits=3))
