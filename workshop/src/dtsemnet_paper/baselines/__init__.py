"""Rival methods to compare with, as estimators with the same API: one file or folder per method."""

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
