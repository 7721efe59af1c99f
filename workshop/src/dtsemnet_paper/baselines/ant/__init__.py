"""ANT, adaptive neural trees: the estimators, and the torch network that they train."""

from dtsemnet_paper.baselines.ant.estimators import ANTClassifier, ANTRegressor

__all__ = ["ANTClassifier", "ANTRegressor"]
