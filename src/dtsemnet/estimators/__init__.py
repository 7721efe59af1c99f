"""The estimators: scikit-learn's API around a tree.

``base`` holds what every estimator shares, also with rival methods; ``encode`` turns columns into numbers;
``persistence`` knows the legal values of parameters, and writes and reads model files.
"""

from dtsemnet.estimators.classifier import DTSemNetClassifier
from dtsemnet.estimators.regressor import DTSemNetRegressor

__all__ = ["DTSemNetClassifier", "DTSemNetRegressor"]
