"""The tree itself: its shape, its arrays, edits that keep the function, and the model file."""

from dtsemnet.tree.edits import canonical, drop_leaves, drop_unreachable, fold_affine, merge_equal, prune
from dtsemnet.tree.encoder import Column, Encoder
from dtsemnet.tree.file import Document, load_document, read
from dtsemnet.tree.model import Identity, Model, Output, TanhScale
from dtsemnet.tree.raw import RawView, as_model, raw_view
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = [
    "Topology",
    "Tree",
    "Model",
    "Encoder",
    "Column",
    "Output",
    "Identity",
    "TanhScale",
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
