"""The estimators: scikit-learn's habits around a tree."""

from dtsemnet.estimators.classifier import DTSemNetClassifier
from dtsemnet.estimators.regressor import DTSemNetRegressor

__all__ = ["DTSemNetClassifier", "DTSemNetRegressor"]
