"""Other ways to find a tree, under the same face, to compare with: one method, one file."""

from dtsemnet.baselines.cart import CARTClassifier, CARTRegressor
from dtsemnet.baselines.crodt import CRODTClassifier
from dtsemnet.baselines.tao import TAOClassifier, TAORegressor

__all__ = ["CARTClassifier", "CARTRegressor", "CRODTClassifier", "TAOClassifier", "TAORegressor"]
