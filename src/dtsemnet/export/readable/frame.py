"""A tree as a pandas table: one row per node, numbers in full and in raw units.

Rows are in the order of the lines of :func:`dtsemnet.export.to_text`: each node before those
below it, the branch ``yes`` before ``no``. So the table can be read beside the text, filtered,
joined and written to a spreadsheet. Names that come from the data have a prefix (``coef age``,
``share setosa``), so that no column of the data can hide one of the table.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.names import printable
from dtsemnet.tree import LeafSurvey, ReadableView

__all__ = ["to_frame"]


def to_frame(tree: Any, X: Any = None, y: Any = None) -> Any:
    """Lay out splits, coefficients, leaves and counts as a data frame.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A model is shown in the units of its columns: affine maps are folded into the splits.
    X : array_like or data frame, optional
        Rows to count at each node.
    y : array_like of shape (n_samples,) or (n_samples, n_outputs), optional
        Their targets, to measure how good the tree is at each node.

    Returns
    -------
    pandas.DataFrame
        Its index ``node`` is ``"split 0"`` or ``"leaf 3"``, numbered as in the tree. A leaf has one row; if a
        regressor has several outputs, one per output, numbered by the column ``output``. Columns:

        - ``parent``, ``branch``, ``depth``: the split above, the branch taken there, ``"yes"`` or ``"no"`` (both
          missing at the root), and the number of splits above.
        - ``intercept``: bias of a split, intercept or constant of a regression leaf.
        - ``coef <feature>``: weight at a split, slope in a linear leaf. A row takes ``yes`` at a split if
          ``intercept + sum of coef * feature > 0``. Features are columns in raw units, ``column = category`` (0 or 1)
          and ``column missing`` (0 or 1; the missing number itself counts as 0).
        - ``lower``, ``upper``: the guard of regression leaves, if there is one.
        - ``class``, ``share <class>``: the answer of a class leaf and the probabilities that it gives.
        - with ``X``: ``rows`` that come to the node, and ``row_share``, their share of all.
        - with ``y``: for those rows, with classes ``rows <class>`` and ``accuracy``, else ``rmse``, both of the
          predictions that the tree makes. At a split they cover all leaves below (and all outputs), at the root the
          whole tree.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[2.0]], [-3.0], [[0.0], [1.0]], feature_names=["age"])
    >>> frame = to_frame(tree, [[1.0], [1.5], [2.0], [3.0], [9.0]])
    >>> frame[["depth", "intercept", "coef age", "rows"]]  # doctest: +NORMALIZE_WHITESPACE
             depth  intercept  coef age  rows
    node
    split 0      0       -3.0       2.0     5
    leaf 1       1        1.0       0.0     3
    leaf 0       1        0.0       0.0     2
    """
    try:
        pandas = importlib.import_module("pandas")  # optional, and without type stubs
    except ImportError as error:
        raise ImportError("to_frame needs pandas; install it by pip install 'dtsemnet[data]'.") from error
    if y is not None and X is None:
        raise ValueError("y was given without X; pass the rows that it belongs to.")
    view = ReadableView.of(tree)
    nodes = _nodes(view)
    columns: dict[str, Any] = {
        "node": [f"leaf {~node}" if node < 0 else f"split {node}" for node, *_ in nodes],
        "parent": [None if parent is None else f"split {parent}" for _, parent, _, _ in nodes],
        "branch": [branch for _, _, branch, _ in nodes],
        "depth": [depth for *_, depth in nodes],
    }
    n_each = [1 if node >= 0 or view.tree.is_classifier else view.tree.n_outputs for node, *_ in nodes]
    source = np.repeat(np.arange(len(nodes)), n_each)
    output = np.concatenate([np.arange(n) for n in n_each])
    columns = {name: [content[k] for k in source] for name, content in columns.items()}
    columns |= _content(view, np.array([nodes[k][0] for k in source]), output)
    if X is not None:
        measured = _measured(view, [node for node, *_ in nodes], X, y)
        columns |= {name: part[source] if part.ndim == 1 else part[source, output] for name, part in measured.items()}
    return pandas.DataFrame(columns).set_index("node")


def _nodes(view: ReadableView) -> list[tuple[int, int | None, str | None, int]]:
    """List node, parent, branch and depth in the order of the text."""
    children = view.tree.topology.children.tolist()
    nodes: list[tuple[int, int | None, str | None, int]] = []
    todo: list[tuple[int, int | None, str | None, int]] = [(0 if children else -1, None, None, 0)]
    while todo:
        node, parent, branch, depth = todo.pop()
        nodes.append((node, parent, branch, depth))
        if node >= 0:
            left, right = children[node]
            todo += [(left, node, "no", depth + 1), (right, node, "yes", depth + 1)]
    return nodes


def _content(view: ReadableView, node: Ints, output: Ints) -> dict[str, Any]:
    """List the numbers of splits and leaves; NaN (or None) if a node has none."""
    tree, columns = view.tree, dict[str, Any]()
    split, leaf = node >= 0, ~node
    if not tree.is_classifier and tree.n_outputs > 1:
        columns["output"] = [None if is_split else int(o) for is_split, o in zip(split, output)]
    intercept, coef = np.full(len(node), np.nan), np.full((len(node), tree.n_features), np.nan)
    intercept[split], coef[split] = tree.bias[node[split]], tree.weight[node[split]]
    if not tree.is_classifier:
        intercept[~split] = tree.value[leaf[~split], output[~split]]
        coef[~split] = 0.0 if tree.coef is None else tree.coef[leaf[~split], output[~split]]
    columns["intercept"] = intercept
    columns |= {f"coef {label}": coef[:, j] for j, label in enumerate(_distinct(view.labels))}
    for name, end in (("lower", tree.lower), ("upper", tree.upper)):
        if end is not None:
            columns[name] = _at_leaves(end, leaf, output, ~split)
    if tree.class_names is not None:
        names, best = tree.class_names, tree.leaf_class
        columns["class"] = [None if is_split else names[best[i]] for is_split, i in zip(split, leaf)]
        for k, name in enumerate(_distinct(names)):
            columns[f"share {name}"] = _at_leaves(tree.value, leaf, np.full(len(node), k), ~split)
    return columns


def _at_leaves(array: Floats, leaf: Ints, output: Ints, where: Bools) -> Floats:
    column = np.full(len(leaf), np.nan)
    column[where] = array[leaf[where], output[where]]
    return column


def _measured(view: ReadableView, nodes: list[int], X: Any, y: Any) -> dict[str, Array]:
    """Count the rows at each node and judge the tree on them; one column per output if they differ."""
    survey = LeafSurvey.of(view.model, X, y, allow_unknown=True)

    def at_nodes(per_leaf: Array) -> Array:
        below = survey.model.tree.topology.sums_below(per_leaf)
        return np.array([per_leaf[~node] if node < 0 else below[node] for node in nodes])

    rows = at_nodes(survey.count)
    columns: dict[str, Array] = {"rows": rows, "row_share": _ratio(rows, np.full(len(rows), survey.n_rows))}
    if view.model.class_names is not None and survey.class_count is not None and survey.n_correct is not None:
        names = _distinct(view.model.class_names)
        columns |= {f"rows {name}": count for name, count in zip(names, at_nodes(survey.class_count).T)}
        columns["accuracy"] = _ratio(at_nodes(survey.n_correct), rows)
    elif survey.squared_error is not None:
        total = np.where(survey.count[:, None] > 0, survey.squared_error, 0.0) * survey.count[:, None]
        error = _ratio(at_nodes(total), np.repeat(rows[:, None], total.shape[1], axis=1))
        # A leaf has a row for each output; a split has one row for all of them.
        is_split = np.array(nodes)[:, None] >= 0
        columns["rmse"] = np.sqrt(np.where(is_split, error.mean(axis=1, keepdims=True), error))
    return columns


def _ratio(part: Array, whole: Array) -> Floats:
    """Divide; NaN if there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


def _distinct(names: tuple[Any, ...]) -> list[str]:
    """Write names as text; one that would occur twice, such as 1 and "1", gets its position appended."""
    texts: dict[str, None] = {}
    for k, text in enumerate(map(printable, names)):
        while text in texts:
            text = f"{text} ({k})"
        texts[text] = None
    return list(texts)
