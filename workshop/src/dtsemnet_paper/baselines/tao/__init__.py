"""TAO, tree alternating optimisation: the estimators, one pass over a tree, its leaves, and the race of starts."""

from dtsemnet_paper.baselines.tao.estimators import TAOClassifier, TAORegressor

__all__ = ["TAOClassifier", "TAORegressor"]
