"""The tree itself: its shape, its arrays, edits that keep the function, and the model file."""

from dtsemnet.tree.edits import canonical, drop_leaves, drop_unreachable, fold_affine, merge_equal, prune
from dtsemnet.tree.encoder import Column, Encoder, Feature
from dtsemnet.tree.file import Document, load_document, read
from dtsemnet.tree.model import Identity, Model, Output, TanhScale, as_model
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
    "Output",
    "Identity",
    "TanhScale",
    "ReadableView",
    "class_colors",
    "tint",
    "RawView",
    "as_model",
    "raw_view",
    "Document",
    "read",
    "load_document",
    "fold_affine",
    "merge_equal",
    "drop_leaves",
    "drop_unreachable",
    "canonical",
    "prune",
]
