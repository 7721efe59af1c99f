"""A tree as an ONNX file, in the form that runtimes run or in the form that verifiers read.

ONNX computes scores by a matrix product whose order of summation it does not fix, so an
ONNX file is of the rounding class: rows within the rounding bound of a split may take its
other side, and the report counts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.check import checked
from dtsemnet.export.onnx.encoder import feed
from dtsemnet.export.onnx.graph import Run, load_runtime, require_onnx
from dtsemnet.export.onnx.network import write_network
from dtsemnet.export.onnx.tree import label_type, write_tree
from dtsemnet.tree import Model, as_model

__all__ = ["to_onnx"]

UNITS = {"float32": 2.0**-24, "float64": 2.0**-53}
BLOCK = 4096  # rows run at once: a linear leaf's model is gathered for each of them


def to_onnx(tree: Any, X: Any = None, *, form: str = "tree", dtype: str = "float32") -> Artefact:
    """Write a tree as an ONNX file.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which the file is compared with the tree, beside the probes of :func:`check_export`.
    form : {"tree", "network", "class network"}, default="tree"
        "tree" holds the whole model in standard operators (Gemm, TreeEnsemble of ai.onnx.ml 5, Gather), encoder and
        output map included; its outputs are ``label`` and ``probabilities``, or ``variable``, and ``leaf``. "network"
        is Gemm-Relu-Gemm from raw columns to ``leaf_logits``, as verifiers of networks, Gurobi ML and OMLT read it; the
        first of the largest is the leaf, and what leaves hold stands in the file's metadata. "class network" pools
        them to ``class_logits`` by ReduceMax, which fewer readers know. Networks fold scaling, but refuse an encoder
        that clips or has categories or missing values: pass ``model.tree`` for a network of the encoded features.
    dtype : {"float32", "float64"}, default="float32"
        Type of all numbers. Runtimes and verifiers expect float32.

    Returns
    -------
    Artefact
        Bytes. Rows within the rounding bound of a split are counted in its report.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> to_onnx(tree).answer(np.array([[3.0, 2.0]])).label
    array(['above'], dtype=object)
    """
    model = as_model(tree)
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
    if dtype not in UNITS:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
    require_onnx()
    if form == "tree":
        content = write_tree(model, dtype)
    else:
        content = write_network(model, dtype, pool=form == "class network")
    answer = _runner(model, content, dtype, FORMS[form])
    artefact = Artefact(f"ONNX ({form}, {dtype})", content, exact=False, answer=answer, unit=UNITS[dtype])
    return checked(model, artefact, X)


def _runner(
    model: Model, content: bytes, dtype: str, read: Callable[[Model, list[Any]], Answer]
) -> Callable[[Array], Answer]:
    loaded: list[Run] = []

    def answer(rows: Array) -> Answer:
        if not loaded:
            loaded.append(load_runtime(content))
        parts = []
        for start in range(0, max(1, len(rows)), BLOCK):
            parts.append(loaded[0](feed(model.encoder, rows[start : start + BLOCK], dtype)))
        return read(model, [np.concatenate(part) for part in zip(*parts)])

    return answer


def _read_tree(model: Model, given: list[Any]) -> Answer:
    tree = model.tree
    if tree.class_names is None:
        variable, leaf = given
        return Answer(leaf, variable.astype(np.float64))
    told, probabilities, leaf = given
    label = np.empty(len(leaf), dtype=object)
    label[:] = [tree.class_names[k] for k in told] if label_type(tree) == "class number" else told.tolist()
    return Answer(leaf, probabilities.astype(np.float64), label)


def _read_leaves(model: Model, given: list[Any]) -> Answer:
    return Answer(leaf=given[0].argmax(axis=1))


def _read_classes(model: Model, given: list[Any]) -> Answer:
    names = model.class_names or ()
    label = np.empty(len(given[0]), dtype=object)
    label[:] = [names[k] for k in given[0].argmax(axis=1)]
    return Answer(label=label)


FORMS: dict[str, Callable[[Model, list[Any]], Answer]] = {
    "tree": _read_tree,
    "network": _read_leaves,
    "class network": _read_classes,
}
