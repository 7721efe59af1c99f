"""A tree as the paper's network: Gemm, Relu, Gemm, which verifiers of networks and optimisers read.

The first layer computes ``relu(s)`` and ``relu(-s)`` for all splits, the second minus the sum
of the margins violated on the path of each leaf: 0 for the leaf reached, negative for the
others. The lowest index among the largest is the leaf.

Class logits are the largest leaf logit of each class, by ReduceMax. A maximum of two made of
Relu alone, ``a + relu(b - a)``, would not do: when ``a`` is large, ``b`` is lost in it, and a
class far away ties with the one reached. A class that no leaf holds gets ``-1 - sum |s|``,
below all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.export.onnx.graph import Graph
from dtsemnet.tree import Identity, Model, raw_view

__all__ = ["write_network"]


def write_network(model: Model, dtype: str, *, pool: bool) -> bytes:
    """Write the network of leaf logits, or of class logits where ``pool`` is set."""
    _refuse(model, pool)
    tree = raw_view(model).tree
    graph = Graph(dtype)
    value = graph.input("X", dtype, tree.n_features, ", ".join(column.name for column in model.encoder.columns))
    first = np.concatenate([tree.weight, -tree.weight]), np.concatenate([tree.bias, -tree.bias])
    value = graph.node("Relu", _layer(graph, value, *first))
    value = _layer(graph, value, *_second(model, pool))
    if pool:
        value = _pool(graph, value, model)
    graph.output("class_logits" if pool else "leaf_logits", value, dtype, tree.n_outputs if pool else tree.n_leaves)
    return graph.finish(repr(model), _notes(model), opset=13)


def _refuse(model: Model, pool: bool) -> None:
    """Say what a network of this kind cannot hold."""
    if pool and not model.is_classifier:
        raise ValueError("form='class network' is for classifiers, this is a regressor; use form='network'.")
    bent = [column.name for column in model.encoder.columns if not column.is_affine]
    if bent:
        raise ValueError(
            f"form={'class network' if pool else 'network'!r} folds scaling into its first layer, but column "
            f"{bent[0]!r} is clipped, categorical or may be missing; pass the tree alone (model.tree) for a network "
            f"of the encoded features, or use form='tree'."
        )
    if not model.tree.n_splits:
        raise ValueError("tree has a single leaf, so its network has no layer; use form='tree'.")


def _layer(graph: Graph, value: str, weight: Floats, bias: Floats | None = None) -> str:
    bias = np.zeros(len(weight)) if bias is None else bias
    return graph.node("Gemm", value, graph.constant("weight", weight), graph.constant("bias", bias), transB=1)


def _second(model: Model, pool: bool) -> tuple[Floats, Floats]:
    """One row a leaf; behind them, for class logits, one a class without leaves."""
    tree = model.tree
    n_splits, paths = tree.n_splits, tree.topology.paths
    weight = np.zeros((tree.n_leaves, 2 * n_splits))
    leaf, step = np.nonzero(paths.split >= 0)
    split, side = paths.split[leaf, step], paths.side[leaf, step]
    weight[leaf, split + n_splits * side] = -1.0  # left of a split: relu(s) is the margin violated; right: relu(-s)
    extra = len(_empty(model)) if pool else 0
    weight = np.concatenate([weight, np.full((extra, 2 * n_splits), -1.0)])
    return weight, np.array([0.0] * tree.n_leaves + [-1.0] * extra)


def _empty(model: Model) -> list[int]:
    """Classes that no leaf predicts."""
    return [c for c in range(model.tree.n_outputs) if c not in set(model.tree.leaf_class.tolist())]


def _pool(graph: Graph, value: str, model: Model) -> str:
    holder = np.array([*model.tree.leaf_class, *_empty(model)])
    pooled = []
    for c in range(model.tree.n_outputs):
        leaves = graph.node("Gather", value, graph.constant("leaves", np.flatnonzero(holder == c)), axis=1)
        pooled.append(graph.node("ReduceMax", leaves, axes=[1], keepdims=1))
    return graph.node("Concat", *pooled, axis=1)


def _notes(model: Model) -> dict[str, Any]:
    """What a reader of logits needs beside them: a regression tree jumps, so its leaves are told apart."""
    tree = raw_view(model).tree
    notes: dict[str, Any] = {"columns": [column.name for column in model.encoder.columns]}
    if tree.class_names is not None:
        return notes | {"classes": list(tree.class_names), "leaf_class": tree.leaf_class.tolist()}
    parts = {"value": tree.value, "coef": tree.coef, "lower": tree.lower, "upper": tree.upper}
    notes |= {f"leaf_{name}": part.tolist() for name, part in parts.items() if part is not None}
    if not isinstance(model.output, Identity):
        notes["output"] = {"kind": "tanh-scale", "low": model.output.low, "high": model.output.high}
    return notes
