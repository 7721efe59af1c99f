"""A tree as an ONNX file, in the form that runtimes run or in the form that verifiers read.

The form for runtimes holds the whole model. All scores come out of one Gemm. TreeEnsemble
walks over them as if they were features, left if a score is <= 0, and gives the number of the
leaf; what a leaf holds is gathered by that number: probabilities and label, or the linear
model, its guard and the output map. Margin probabilities add the network below: its class logits
are minus the margins, and a softmax of them and of the leaf's logarithms gives the probabilities.

The form for verifiers and optimisers is the paper's network: Gemm, Relu, Gemm. The first layer
computes ``relu(s)`` and ``relu(-s)`` for all splits, the second minus the sum of the margins
violated on the path of each leaf: 0 for the leaf reached, negative for the others. The lowest
index among the largest is the leaf. Class logits are the largest leaf logit of each class, by
ReduceMax. A maximum of two made of Relu alone, ``a + relu(b - a)``, would not do: if ``a`` is
large, ``b`` is lost in it, and a class far away ties with the one reached. A class that no leaf
holds gets ``-1 - sum |s|``, below all others.

ONNX computes scores by a matrix product whose order of summation it does not fix, so rows
within the rounding bound of a split may take its other side, and the report counts them.

A model with only numeric columns has one input ``X``, a matrix. With categories, every column is an
input of its own, shape (N, 1): numbers, categories that are numbers (always doubles, so that
they compare exactly), and strings. A missing number is NaN. ONNX has no missing string, so a
word that is no category of any column replaces it: ``<missing>`` if possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.export.onnx.graph import ML, Graph, load_runtime, require_onnx
from dtsemnet.tree import Column, Encoder, Identity, MarginProbability, Model, TanhScale, Tree, raw_view
from dtsemnet.tree.probability import LARGEST_EXPONENT

__all__ = ["feed", "input_names", "to_onnx"]

UNITS = {"float32": 2.0**-24, "float64": 2.0**-53}
OUTPUTS = ("leaf", "label", "probabilities", "variable")
BLOCK = 4096  # rows that run at once: the linear model of a leaf is gathered for each of them


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
        first of the largest is the leaf, and the file's metadata says what leaves hold. "class network" pools
        them to ``class_logits`` by ReduceMax, which fewer readers know. Networks fold scaling, but refuse an encoder
        that clips, has categories or marks missing values: pass ``model.tree`` for a network of the encoded features.
        Missing values that are only filled in are the caller's part; ``fill`` in the metadata says with what.
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
    model = Model.of(tree)
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
    if dtype not in UNITS:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
    require_onnx()
    if form == "tree":
        content = _write_tree(model, dtype)
    else:
        content = _write_network(model, dtype, pool=form == "class network")
    answer = _runner(model, content, dtype, form)
    artefact = Artefact(f"ONNX ({form}, {dtype})", content, exact=False, answer=answer, unit=UNITS[dtype])
    return checked(model, artefact, X)


def _runner(model: Model, content: bytes, dtype: str, form: str) -> Callable[[Array], Predictions]:
    run, read = load_runtime(content), FORMS[form]

    def answer(rows: Array) -> Predictions:
        if form != "tree":  # a network has no operator to fill in what is missing: its caller does
            rows = model.encoder.fill_missing(rows)
        blocks = (rows[start : start + BLOCK] for start in range(0, max(1, len(rows)), BLOCK))
        parts = [run(feed(model.encoder, block, dtype)) for block in blocks]
        return read(model, [np.concatenate(part) for part in zip(*parts)])

    return answer


def _read_tree(model: Model, outputs: Sequence[Array]) -> Predictions:
    tree = model.tree
    if tree.class_names is None:
        variable, leaf = outputs
        return Predictions(leaf, variable.astype(np.float64))
    labels, probabilities, leaf = outputs
    is_number = _label_type(tree) == "class number"
    names = [tree.class_names[k] for k in labels] if is_number else labels.tolist()
    return Predictions(leaf, probabilities.astype(np.float64), np.array(names, dtype=object))


def _read_leaf_logits(model: Model, outputs: Sequence[Array]) -> Predictions:
    return Predictions(leaf=outputs[0].argmax(axis=1))


def _read_class_logits(model: Model, outputs: Sequence[Array]) -> Predictions:
    names = model.class_names or ()
    return Predictions(label=np.array([names[k] for k in outputs[0].argmax(axis=1)], dtype=object))


FORMS = {"tree": _read_tree, "network": _read_leaf_logits, "class network": _read_class_logits}
"""For each form, how its outputs are read."""


def _write_tree(model: Model, dtype: str) -> bytes:
    """Write the whole model: encoder, tree and output map."""
    graph, tree = Graph(dtype), model.tree
    features, order = _encode(graph, model.encoder)
    scores = _scores(graph, tree, features, order) if tree.n_splits else None
    leaf = _one_leaf(graph, features) if scores is None else _find_leaf(graph, tree, scores)
    if tree.class_names is not None:
        if model.probability is None:
            probabilities = graph.node("Gather", graph.constant("value", tree.value), leaf)
        else:
            probabilities = _margin_probabilities(graph, tree, model.probability, scores, leaf)
        label, kind = graph.node("Gather", graph.constant("leaf_class", tree.leaf_class), leaf), _label_type(tree)
        if kind != "class number":
            names = np.array(tree.class_names, dtype=object if kind == "str" else kind)
            label = graph.node("Gather", graph.constant("classes", names, exact=True), label)
        graph.output("label", label, "int64" if kind == "class number" else kind)
        graph.output("probabilities", probabilities, dtype, tree.n_outputs)
    else:
        graph.output("variable", _regressor_outputs(graph, model, features, order, leaf), dtype, tree.n_outputs)
    graph.output("leaf", leaf, "int64")
    columns = model.encoder.columns
    metadata: dict[str, Any] = {"columns": [column.name for column in columns], "inputs": input_names(model.encoder)}
    if not model.encoder.is_numeric:
        metadata["missing"] = _missing_word(model.encoder)
    if tree.class_names is not None:
        metadata["classes"] = list(tree.class_names)
    return graph.finish(repr(model), metadata, opset=19, ml=5)


def _label_type(tree: Tree) -> str:
    """Type of the label: that of the class names; the number of the class if they have several types."""
    kinds = {type(name) for name in tree.class_names or ()}
    known: dict[type, str] = {str: "str", int: "int64", float: "float64", bool: "bool"}
    return known[kinds.pop()] if len(kinds) == 1 else "class number"


def _scores(graph: Graph, tree: Tree, features: str, order: Ints) -> str:
    """Add the node that computes all scores, shape (N, n_splits)."""
    weight, bias = graph.constant("weight", tree.weight[:, order]), graph.constant("bias", tree.bias)
    return graph.node("Gemm", features, weight, bias, transB=1)


def _one_leaf(graph: Graph, features: str) -> str:
    """Add the nodes that give leaf 0 for every row of the input, shape (N,)."""
    rows = graph.node("Gather", graph.node("Shape", features), graph.constant("first", np.array([0])))
    return graph.node("Expand", graph.constant("leaf", np.array([0])), rows)


def _find_leaf(graph: Graph, tree: Tree, scores: str) -> str:
    """Add the nodes that find the leaf, shape (N,)."""
    left, right = tree.topology.children.T
    tensor = graph.onnx.numpy_helper.from_array
    zero = np.zeros(tree.n_splits, dtype=graph.dtype)
    # A leaf's number is also its index in the leaf table. onnxruntime takes a root for a leaf if a leaf and a split
    # below it have the same index (its issue 24679): splits are numbered breadth-first and leaves from left to right,
    # so below a root that never happens.
    reached = graph.node(
        "TreeEnsemble", scores, domain=ML, n_targets=1, aggregate_function=1, post_transform=0, tree_roots=[0],
        nodes_featureids=list(range(tree.n_splits)), nodes_splits=tensor(zero, "nodes_splits"),
        nodes_modes=tensor(np.zeros(tree.n_splits, dtype=np.uint8), "nodes_modes"),  # 0: true if score <= 0
        nodes_truenodeids=np.where(left < 0, ~left, left).tolist(), nodes_trueleafs=(left < 0).astype(int).tolist(),
        nodes_falsenodeids=np.where(right < 0, ~right, right).tolist(),
        nodes_falseleafs=(right < 0).astype(int).tolist(),
        leaf_targetids=[0] * tree.n_leaves,
        leaf_weights=tensor(np.arange(tree.n_leaves).astype(graph.dtype), "leaf_weights"),
    )  # fmt: skip
    return graph.cast(graph.node("Reshape", reached, graph.constant("flat", np.array([-1]))), "int64")


def _margin_probabilities(
    graph: Graph, tree: Tree, probability: MarginProbability, scores: str | None, leaf: str
) -> str:
    """Add the nodes that compute margin probabilities, shape (N, n_classes)."""
    unit = UNITS[graph.dtype]
    exponent = graph.node("Gather", graph.constant("leaf_log", probability.leaf_logs(tree, unit)), leaf)
    if scores is not None:
        violated = graph.node("Concat", *(graph.node("Relu", s) for s in (scores, graph.node("Neg", scores))), axis=1)
        logit = _class_logits(graph, tree, graph.node("MatMul", violated, graph.constant("paths", _leaf_rows(tree).T)))
        penalty = graph.node("Mul", logit, graph.constant("rate", np.array([[probability.rate]])))
        exponent = graph.node("Add", exponent, penalty)
    largest = 87.0 if graph.dtype == "float32" else LARGEST_EXPONENT
    exponent = graph.node("Max", exponent, graph.constant("least", np.array([[-largest]])))
    return graph.node("Softmax", exponent, axis=1)


def _class_logits(graph: Graph, tree: Tree, logit: str) -> str:
    """Add the nodes that pool leaf logits; a class that no leaf predicts has the smallest of the others."""
    axis, leaf_class, pooled = graph.constant("axis", np.array([1])), tree.leaf_class.tolist(), {}
    for c in sorted(set(leaf_class)):
        leaves = graph.constant("leaves", np.flatnonzero(tree.leaf_class == c))
        pooled[c] = graph.node("ReduceMax", graph.node("Gather", logit, leaves, axis=1), axis, keepdims=1)
    held = _join(graph, list(pooled.values()))
    if len(pooled) == tree.n_outputs:
        return held
    least = graph.node("ReduceMin", held, axis, keepdims=1)
    return _join(graph, [pooled.get(c, least) for c in range(tree.n_outputs)])


def _regressor_outputs(graph: Graph, model: Model, features: str, order: Ints, leaf: str) -> str:
    """Add the nodes that compute the outputs of a regressor, shape (N, n_outputs)."""
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


def _write_network(model: Model, dtype: str, *, pool: bool) -> bytes:
    """Write the network of leaf logits, or of class logits if ``pool`` is set."""
    _check_network(model, pool)
    tree = raw_view(model).tree
    graph = Graph(dtype)
    value = graph.input("X", dtype, tree.n_features, ", ".join(column.name for column in model.encoder.columns))
    first = np.concatenate([tree.weight, -tree.weight]), np.concatenate([tree.bias, -tree.bias])
    value = graph.node("Relu", _layer(graph, value, *first))
    value = _layer(graph, value, *_second_layer(model, pool))
    if pool:
        value = _pool(graph, value, model)
    graph.output("class_logits" if pool else "leaf_logits", value, dtype, tree.n_outputs if pool else tree.n_leaves)
    return graph.finish(repr(model), _network_metadata(model), opset=13)


def _check_network(model: Model, pool: bool) -> None:
    """Refuse what a network of this kind cannot hold."""
    if pool and not model.is_classifier:
        raise ValueError("form='class network' is for classifiers, this is a regressor; use form='network'.")
    nonlinear = [column.name for column in model.encoder.columns if not column.is_affine]
    if nonlinear:
        raise ValueError(
            f"form={'class network' if pool else 'network'!r} folds scaling into its first layer, but column "
            f"{nonlinear[0]!r} is clipped, categorical or marked if missing; pass the tree alone (model.tree) for a "
            f"network of the encoded features, or use form='tree'."
        )
    if not model.tree.n_splits:
        raise ValueError("tree has a single leaf, so its network has no layer; use form='tree'.")


def _layer(graph: Graph, value: str, weight: Floats, bias: Floats | None = None) -> str:
    bias = np.zeros(len(weight)) if bias is None else bias
    return graph.node("Gemm", value, graph.constant("weight", weight), graph.constant("bias", bias), transB=1)


def _second_layer(model: Model, pool: bool) -> tuple[Floats, Floats]:
    """One row per leaf; for class logits, then one per class without leaves."""
    tree = model.tree
    extra = len(_classes_without_leaves(model)) if pool else 0
    weight = np.concatenate([_leaf_rows(tree), np.full((extra, 2 * tree.n_splits), -1.0)])
    return weight, np.array([0.0] * tree.n_leaves + [-1.0] * extra)


def _leaf_rows(tree: Tree) -> Floats:
    """Weights from relu(s) and relu(-s) of all splits to the leaf logits, shape (n_leaves, 2 * n_splits)."""
    n_splits, paths = tree.n_splits, tree.topology.paths
    weight = np.zeros((tree.n_leaves, 2 * n_splits))
    leaf, step = np.nonzero(paths.split >= 0)
    split, side = paths.split[leaf, step], paths.side[leaf, step]
    weight[leaf, split + n_splits * side] = -1.0  # left of a split: relu(s) is the margin violated; right: relu(-s)
    return weight


def _classes_without_leaves(model: Model) -> list[int]:
    """Classes that no leaf predicts."""
    return [c for c in range(model.tree.n_outputs) if c not in set(model.tree.leaf_class.tolist())]


def _pool(graph: Graph, value: str, model: Model) -> str:
    holder = np.array([*model.tree.leaf_class, *_classes_without_leaves(model)])
    pooled = []
    for c in range(model.tree.n_outputs):
        leaves = graph.node("Gather", value, graph.constant("leaves", np.flatnonzero(holder == c)), axis=1)
        pooled.append(graph.node("ReduceMax", leaves, axes=[1], keepdims=1))
    return graph.node("Concat", *pooled, axis=1)


def _network_metadata(model: Model) -> dict[str, Any]:
    """What a reader of leaf logits needs beside them: what each leaf predicts."""
    tree = raw_view(model).tree
    columns = model.encoder.columns
    metadata: dict[str, Any] = {"columns": [column.name for column in columns]}
    if any(column.fills_missing for column in columns):
        metadata["fill"] = [column.fill if column.fills_missing else None for column in columns]
    if tree.class_names is not None:
        return metadata | {"classes": list(tree.class_names), "leaf_class": tree.leaf_class.tolist()}
    parts = {"value": tree.value, "coef": tree.coef, "lower": tree.lower, "upper": tree.upper}
    metadata |= {f"leaf_{name}": part.tolist() for name, part in parts.items() if part is not None}
    if not isinstance(model.output, Identity):
        metadata["output"] = {"kind": "tanh-scale", "low": model.output.low, "high": model.output.high}
    return metadata


def _encode(graph: Graph, encoder: Encoder) -> tuple[str, Ints]:
    """Write the encoder; return the name of its result, and which feature of the tree each column of that is.

    Operators work on all numbers at once, so numbers come first, then the indicators of missing numbers, then the
    categories.
    """
    columns, names = encoder.columns, input_names(encoder)
    numeric = [j for j, column in enumerate(columns) if column.categories is None]
    if names == ["X"]:
        numbers = graph.input("X", graph.dtype, len(columns), ", ".join(column.name for column in columns))
    else:
        for column, name in zip(columns, names):
            graph.input(name, _input_type(column, graph.dtype), 1, column.name)
        numbers = _join(graph, [names[j] for j in numeric])
    parts = _encode_numbers(graph, [columns[j] for j in numeric], numbers) if numeric else []
    first = [features.start for features in encoder.features_of_column]
    order = [first[j] for j in numeric] + [first[j] + 1 for j in numeric if columns[j].has_indicator]
    word = _missing_word(encoder)
    for j, column in enumerate(columns):
        if column.categories is not None:
            parts += _encode_categories(graph, column, names[j], word)
            order += range(encoder.n_features)[encoder.features_of_column[j]]
    return _join(graph, parts), np.array(order, dtype=np.int64)


def input_names(encoder: Encoder) -> list[str]:
    """Name the inputs: X, or an identifier made of each column's name."""
    if encoder.is_numeric:
        return ["X"]
    names: list[str] = []
    for column in encoder.columns:
        plain = re.sub(r"\W", "_", column.name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        name, count = plain, 1
        while name in names or name in OUTPUTS:
            count += 1
            name = f"{plain}_{count}"
        names.append(name)
    return names


def _missing_word(encoder: Encoder) -> str:
    """Choose the string that replaces a missing one."""
    taken = {category for column in encoder.columns for category in column.categories or ()}
    word = "<missing>"
    while word in taken:
        word = f"<{word}>"
    return word


def feed(encoder: Encoder, rows: Array, dtype: str) -> dict[str, Array]:
    """Turn rows of a table into the inputs."""
    names = input_names(encoder)
    with np.errstate(over="ignore", under="ignore"):
        if names == ["X"]:
            return {"X": rows.astype(dtype)}
        word, inputs = _missing_word(encoder), {}
        for name, column, values in zip(names, encoder.columns, rows.T):
            kind = _input_type(column, dtype)
            if kind == "str":
                values = np.array([word if value is None else value for value in values], dtype=object)
            inputs[name] = values.astype(object if kind == "str" else kind)[:, None]
        return inputs


def _input_type(column: Column, dtype: str) -> str:
    if column.categories is None:
        return dtype
    strings = [isinstance(category, str) for category in column.categories]
    if any(strings) and not all(strings):
        raise ValueError(
            f"column {column.name!r} has categories that are strings and others that are numbers, which no ONNX "
            f"tensor holds; fit on a column of strings."
        )
    return "str" if all(strings) else "float64"


def _encode_numbers(graph: Graph, columns: list[Column], numbers: str) -> list[str]:
    marked = [j for j, column in enumerate(columns) if column.has_indicator]
    parts = []
    if any(column.missing is not None for column in columns):
        mask = graph.node("IsNaN", numbers)
        # A number that may not be missing stays NaN, so that the error shows instead of being filled silently.
        fill = [np.nan if column.missing is None else column.fill for column in columns]
        numbers = graph.node("Where", mask, graph.constant("fill", np.array([fill])), numbers)
        if marked:
            indicators = graph.node("Gather", mask, graph.constant("columns", np.array(marked)), axis=1)
            parts.append(graph.cast(indicators, graph.dtype))
    steps = [("Sub", "center", 0.0), ("Mul", "scale", 1.0), ("Max", "lower", -np.inf), ("Min", "upper", np.inf)]
    for operator, field, neutral in steps:
        values = [neutral if getattr(column, field) is None else getattr(column, field) for column in columns]
        if any(value != neutral for value in values):
            numbers = graph.node(operator, numbers, graph.constant(operator.lower(), np.array([values])))
    return [numbers, *parts]


def _encode_categories(graph: Graph, column: Column, name: str, word: str) -> list[str]:
    parts, absent = [], ""
    strings = _input_type(column, graph.dtype) == "str"
    if column.missing is not None and strings:
        absent = graph.node("Equal", name, graph.constant("missing", np.array([[word]], dtype=object)))
    elif column.missing is not None:
        absent = graph.node("IsNaN", name)
    if column.categories:
        known = np.array([column.categories], dtype=object if strings else np.float64)
        equal = graph.node("Equal", name, graph.constant("categories", known, exact=True))
        if column.fills_missing:
            is_fill = np.arange(len(column.categories))[None] == column.fill_code
            equal = graph.node("Or", equal, graph.node("And", absent, graph.constant("is_fill", is_fill)))
        parts.append(graph.cast(equal, graph.dtype))
    if column.has_indicator:
        parts.append(graph.cast(absent, graph.dtype))
    return parts


def _join(graph: Graph, parts: list[str]) -> str:
    if len(parts) < 2:
        return parts[0] if parts else ""
    return graph.node("Concat", *parts, axis=1)
