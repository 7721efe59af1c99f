"""The tree itself, as a value: its shape, its arrays, edits, the model file, and what views of it share.

``Topology`` is the shape, ``Tree`` the shape with its numbers, ``Model`` a tree with the encoder of its
columns and an output map. ``Model.of`` reads any of them, or a fitted estimator. For people,
``ReadableView`` gives a model in the units of the data, ``LeafSurvey`` counts and judges rows at the
leaves that they reach, ``ReadingCost`` says what it costs to read them, and ``class_colors`` gives each class its
colour.
"""

from dtsemnet.tree.columns import Column, Feature
from dtsemnet.tree.edits import canonical, drop_leaves, drop_unreachable, fold_affine, keep_splits, merge_equal, prune
from dtsemnet.tree.encoder import Encoder
from dtsemnet.tree.file import Document, load_document, read
from dtsemnet.tree.model import Identity, Model, Output, TanhScale
from dtsemnet.tree.probability import MarginProbability
from dtsemnet.tree.reading_cost import ReadingCost
from dtsemnet.tree.survey import LeafSurvey
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree
from dtsemnet.tree.view import RawView, ReadableView, class_colors, raw_view, tint

__all__ = [
    "Topology",
    "Tree",
    "Model",
    "Encoder",
    "Column",
    "Feature",
    "LeafSurvey",
    "ReadingCost",
    "Output",
    "Identity",
    "TanhScale",
    "MarginProbability",
    "ReadableView",
    "class_colors",
    "tint",
    "RawView",
    "raw_view",
    "Document",
    "read",
    "load_document",
    "fold_affine",
    "merge_equal",
    "drop_leaves",
    "drop_unreachable",
    "canonical",
    "keep_splits",
    "prune",
]
