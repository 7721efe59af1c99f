"""Other ways to find a tree, under the same face, to compare with: one method, one file."""

from dtsemnet_paper.baselines.ant import ANTClassifier, ANTRegressor
from dtsemnet_paper.baselines.cart import CARTClassifier, CARTRegressor
from dtsemnet_paper.baselines.crodt import CRODTClassifier
from dtsemnet_paper.baselines.dgt import DGTClassifier, DGTRegressor
from dtsemnet_paper.baselines.soft import SoftTreeClassifier, SoftTreeRegressor
from dtsemnet_paper.baselines.tao import TAOClassifier, TAORegressor
from dtsemnet_paper.baselines.variants import TopKReg1Regressor, straight_through_regressor, top_k_regressor

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
