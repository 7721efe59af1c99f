"""Drawings of trees, on matplotlib axes. Each is a function of a Tree, a Model or a fitted estimator."""

try:
    import matplotlib  # noqa: F401  (imported here, so that the error names the extra once for all plots)
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "dtsemnet.plot needs matplotlib, which is not installed; install dtsemnet[plot].", name=error.name
    ) from error

from dtsemnet.plot.charts import plot_history, plot_importance, plot_leaves
from dtsemnet.plot.regions import plot_regions
from dtsemnet.plot.sparsity import plot_sparsity_path
from dtsemnet.plot.tree import plot_tree
from dtsemnet.plot.weights import plot_weights_image

__all__ = [
    "plot_tree", "plot_regions", "plot_leaves", "plot_history", "plot_importance", "plot_sparsity_path",
    "plot_weights_image",
]  # fmt: skip
