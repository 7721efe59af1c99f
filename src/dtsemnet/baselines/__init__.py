"""Other ways to find a tree, under the same face, to compare with: one method, one file."""

from dtsemnet.baselines.ant import ANTClassifier, ANTRegressor
from dtsemnet.baselines.cart import CARTClassifier, CARTRegressor
from dtsemnet.baselines.crodt import CRODTClassifier
from dtsemnet.baselines.dgt import DGTClassifier, DGTRegressor
from dtsemnet.baselines.soft import SoftTreeClassifier, SoftTreeRegressor
from dtsemnet.baselines.tao import TAOClassifier, TAORegressor
from dtsemnet.baselines.variants import TopKReg1Regressor, straight_through_regressor, top_k_regressor

__all__ = [
    "ANTClassifier",
    "ANTRegressor",
    "CARTClassifier",
    "CARTRegressor",
    "CRODTClassifier",
    "DGTClassifier",
    "DGTRegressor",
    "SoftTreeClassifier",
    "SoftTreeRegressor",
    "TAOClassifier",
    "TAORegressor",
    "TopKReg1Regressor",
    "straight_through_regressor",
    "top_k_regressor",
]
