"""A model as standard ONNX operators: Gemm for the scores, TreeEnsemble for the walk, Gather for the leaves.

All scores come out of one Gemm. TreeEnsemble walks over them as if they were features,
left where a score is <= 0, and gives the number of the leaf; what a leaf holds is gathered
by that number: probabilities and label, or the linear model, its guard and the output map.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.export.onnx.encoder import encode, input_names, missing_word
from dtsemnet.export.onnx.graph import ML, Graph
from dtsemnet.tree import Model, TanhScale, Tree

__all__ = ["label_type", "write_tree"]


def write_tree(model: Model, dtype: str) -> bytes:
    """Write the model with encoder and output map."""
    graph, tree = Graph(dtype), model.tree
    features, order = encode(graph, model.encoder)
    leaf = _walk(graph, tree, features, order)
    if tree.class_names is not None:
        probabilities = graph.node("Gather", graph.constant("value", tree.value), leaf)
        number = graph.node("Gather", graph.constant("leaf_class", tree.leaf_class), leaf)
        kind = label_type(tree)
        names = _labels(graph, tree, kind)
        label = graph.node("Gather", names, number) if names else number
        graph.output("label", label, kind if names else "int64")
        graph.output("probabilities", probabilities, dtype, tree.n_outputs)
    else:
        graph.output("variable", _numbers(graph, model, features, order, leaf), dtype, tree.n_outputs)
    graph.output("leaf", leaf, "int64")
    columns = model.encoder.columns
    notes: dict[str, Any] = {"columns": [column.name for column in columns], "inputs": input_names(model.encoder)}
    if any(column.categories for column in columns):
        notes["missing"] = missing_word(model.encoder)
    if tree.class_names is not None:
        notes["classes"] = list(tree.class_names)
    return graph.finish(repr(model), notes, opset=19, ml=5)


def label_type(tree: Tree) -> str:
    """Type of the label: that of the class names; where they are mixed, the number of the class."""
    kinds = {type(name) for name in tree.class_names or ()}
    known: dict[type, str] = {str: "str", int: "int64", float: "float64", bool: "bool"}
    return known[kinds.pop()] if len(kinds) == 1 else "class number"


def _labels(graph: Graph, tree: Tree, kind: str) -> str | None:
    names = list(tree.class_names or ())
    if kind == "str":
        return graph.constant("classes", np.array(names, dtype=object))
    if kind == "float64":
        return graph.exact_constant("classes", np.array(names))
    return None if kind == "class number" else graph.constant("classes", np.array(names, dtype=kind))


def _walk(graph: Graph, tree: Tree, features: str, order: Any) -> str:
    """Find the leaf, shape (N,)."""
    if not tree.n_splits:
        # One leaf: 0 for every row, made of the inputs so that there are as many as rows.
        rows = graph.node("Gather", graph.node("Shape", features), graph.constant("first", np.array([0])))
        return graph.node("Expand", graph.constant("leaf", np.array([0])), rows)
    weight, bias = graph.constant("weight", tree.weight[:, order]), graph.constant("bias", tree.bias)
    scores = graph.node("Gemm", features, weight, bias, transB=1)
    left, right = tree.topology.children.T
    tensor = graph.onnx.numpy_helper.from_array
    zero = np.zeros(tree.n_splits, dtype=graph.dtype)
    # A leaf's number is also its place in the leaf table. onnxruntime takes a root for a leaf when a leaf and a split
    # below it have the same place (its issue 24679): splits are numbered breadth-first and leaves from left to right,
    # so below a root they never have.
    reached = graph.node(
        "TreeEnsemble", scores, domain=ML, n_targets=1, aggregate_function=1, post_transform=0, tree_roots=[0],
        nodes_featureids=list(range(tree.n_splits)), nodes_splits=tensor(zero, "nodes_splits"),
        nodes_modes=tensor(np.zeros(tree.n_splits, dtype=np.uint8), "nodes_modes"),  # 0: true where score <= 0
        nodes_truenodeids=np.where(left < 0, ~left, left).tolist(), nodes_trueleafs=(left < 0).astype(int).tolist(),
        nodes_falsenodeids=np.where(right < 0, ~right, right).tolist(),
        nodes_falseleafs=(right < 0).astype(int).tolist(),
        leaf_targetids=[0] * tree.n_leaves,
        leaf_weights=tensor(np.arange(tree.n_leaves).astype(graph.dtype), "leaf_weights"),
    )  # fmt: skip
    return graph.cast(graph.node("Reshape", reached, graph.constant("flat", np.array([-1]))), "int64")


def _numbers(graph: Graph, model: Model, features: str, order: Any, leaf: str) -> str:
    """Outputs of a regressor, shape (N, n_outputs)."""
    tree = model.tree

    def gathered(what: str, table: Any) -> str:
        return graph.node("Gather", graph.constant(what, table), leaf)

    output = gathered("value", tree.value)
    if tree.coef is not None:
        last = graph.constant("last", np.array([2]))
        column = graph.node("Unsqueeze", features, last)
        product = graph.node("MatMul", gathered("coef", tree.coef[:, :, order]), column)
        output = graph.node("Add", graph.node("Squeeze", product, last), output)
    if tree.lower is not None:
        output = graph.node("Max", output, gathered("lower", tree.lower))
    if tree.upper is not None:
        output = graph.node("Min", output, gathered("upper", tree.upper))
    if isinstance(model.output, TanhScale):
        low, high = np.array([model.output.low]), np.array([model.output.high])
        share = graph.node("Add", graph.node("Tanh", output), graph.constant("one", np.array(1.0)))
        grown = graph.node("Mul", share, graph.constant("half_width", (high - low) / 2.0))
        output = graph.node("Add", grown, graph.constant("low", low))
    return output
