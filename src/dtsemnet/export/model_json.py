"""The model file as an artefact, so that it is checked and saved like every other export."""

from __future__ import annotations

from functools import partial
from typing import Any

from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.tree import Model, Tree
from dtsemnet.tree.file import dumps, loads

__all__ = ["to_json"]


def to_json(tree: Any, X: Any = None) -> Artefact:
    """Write a tree as the text of a model file (:mod:`dtsemnet.tree.file`), which ``dtsemnet.tree.read`` reads.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A bare tree stays one; a model and an estimator are written with their encoder.
    X : array_like or data frame, optional
        Rows on which what is read back is compared with the tree, beside the probes of :func:`check_export`.

    Returns
    -------
    Artefact
        Exact.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.1], [0.2]])
    >>> loads(to_json(tree).text) == tree
    True
    """
    model = Model.of(tree)
    text = dumps(tree if isinstance(tree, Tree) else model)

    answer = partial(Predictions.of, Model.of(loads(text)))
    return checked(model, Artefact("JSON", text, exact=True, answer=answer), X)
