"""Hard oblique decision trees trained by plain gradient descent, with no approximation."""

__version__ = "0.1.0.dev0"

from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.tree import Model, Topology, Tree

__all__ = ["DTSemNetClassifier", "DTSemNetRegressor", "Model", "Topology", "Tree", "__version__"]
