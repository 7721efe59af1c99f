"""Trees of every shape, and points that lie on their hyperplanes.

Numbers are small multiples of 1/8, so that every score is exact in float32 and float64 alike and ties occur
often; :func:`wild_trees` draws magnitudes from 1e-300 to 1e300 instead, where every rounding shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from dtsemnet.tree import Column, Encoder, Identity, MarginProbability, Model, TanhScale, Topology, Tree

__all__ = [
    "KINDS", "MODELS", "eighths", "make_model", "points", "probabilities", "topologies", "trees", "wild_points",
    "wild_trees", "with_classes",
]  # fmt: skip

MODELS = (
    "class",
    "constant",
    "linear",
    "guard",
    "multi-output",
    "mixed class",
    "mixed linear",
    "tanh",
    "one leaf",
    "wide",
    "margin class",
    "mixed margin",
    "filled class",
    "mixed filled",
)
"""Models that every export is tried on."""

ODD_NAMES = ['sepal "length"', "it's; DROP TABLE x --", "größe µ/m²", "select", "a\\b\n", "1st", " ", "%s{0}"]

KINDS = ("constant", "class", "linear", "guard", "multi-output")


@st.composite
def topologies(draw: st.DrawFn, max_splits: int = 15) -> Topology:
    """Single leaf, chain, complete, or ragged (leaves opened one by one)."""
    shape = draw(st.sampled_from(["leaf", "chain", "complete", "ragged", "ragged"]))
    if shape == "leaf":
        return Topology([])
    if shape == "complete":
        return Topology.complete(draw(st.integers(1, max(1, (max_splits + 1).bit_length() - 1))))
    n_splits = draw(st.integers(1, max_splits))
    # A node is None (leaf) or a pair of nodes; each step opens one leaf, named by its place from left to right.
    nodes: list[Any] = [[None, None]]
    leaves = [(0, 0), (0, 1)]
    for _ in range(n_splits - 1):
        last = len(leaves) - 1
        place = draw(st.sampled_from([0, last]) if shape == "chain" else st.integers(0, last))
        parent, side = leaves[place]
        nodes[parent][side] = len(nodes)
        nodes.append([None, None])
        leaves[place : place + 1] = [(len(nodes) - 1, 0), (len(nodes) - 1, 1)]
    order = [0]
    for k in order:
        order += [child for child in nodes[k] if child is not None]
    number = {k: i for i, k in enumerate(order)}
    leaf = {place: i for i, place in enumerate(leaves)}
    return Topology([[~leaf[k, s] if nodes[k][s] is None else number[nodes[k][s]] for s in (0, 1)] for k in order])


def eighths(shape: int | tuple[int, ...], limit: int = 16) -> st.SearchStrategy[NDArray[np.float64]]:
    """Arrays of multiples of 1/8, -0.0 included."""
    integers = hnp.arrays(np.int64, shape, elements=st.integers(-limit, limit))
    return st.builds(lambda n, sign: n / 8.0 * sign, integers, st.sampled_from([1.0, -1.0]))


@st.composite
def trees(
    draw: st.DrawFn, kind: str | None = None, n_features: int | None = None, max_splits: int = 15, named: bool = False
) -> Tree:
    """Trees with exact numbers; ``kind`` is one of :data:`KINDS`, any of them by default."""
    topology = draw(topologies(max_splits))
    kind = kind or draw(st.sampled_from(KINDS))
    d = n_features or draw(st.sampled_from([1, 2, 3, 5, 16, 17, 33]))
    n_splits, n_leaves = topology.n_splits, topology.n_leaves
    weight, bias = draw(eighths((n_splits, d))), draw(eighths(n_splits))
    if n_splits and draw(st.booleans()):  # equal rows, for what follows from an ancestor
        weight[:] = weight[draw(hnp.arrays(np.int64, n_splits, elements=st.integers(0, n_splits - 1)))]
    names = [f"column {j}" for j in range(d)] if named or draw(st.booleans()) else None
    if kind == "class":
        n_classes = draw(st.integers(1, 4))
        counts = draw(hnp.arrays(np.int64, (n_leaves, n_classes), elements=st.integers(0, 3)))
        counts[:, 0] += counts.sum(axis=1) == 0
        value = counts / counts.sum(axis=1, keepdims=True)
        labels = draw(
            st.sampled_from([["a", "b", "c", "d"], [3, 1, 2, 0], [0.5, 1.5, 2.5, -0.5], [True, False, 2, "x"]])
        )
        return Tree(topology, weight, bias, value, feature_names=names, class_names=labels[:n_classes])
    n_outputs = draw(st.integers(2, 3)) if kind == "multi-output" else 1
    value = draw(eighths((n_leaves, n_outputs)))
    coef = lower = upper = None
    if kind in ("linear", "guard") or (kind == "multi-output" and draw(st.booleans())):
        coef = draw(eighths((n_leaves, n_outputs, d)))
    if kind == "guard" or (kind == "multi-output" and draw(st.booleans())):
        ends = draw(eighths((2, n_leaves, n_outputs)))
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        if draw(st.booleans()):
            lower = None
    return Tree(topology, weight, bias, value, coef, lower, upper, feature_names=names)


def probabilities() -> st.SearchStrategy[MarginProbability]:
    """Numbers of margin probabilities of every size, the ends of their ranges included."""
    number = st.sampled_from([0.0, 1e-320, 0.1, 1.0, 3.5, 100.0, 1e300]) | st.floats(0, 5)
    return st.builds(MarginProbability, number, number, st.sampled_from([0.0, 0.05, 1.0]) | st.floats(0, 1))


def points(n_features: int, max_rows: int = 20) -> st.SearchStrategy[NDArray[np.float64]]:
    """Rows of multiples of 1/8."""
    return st.integers(1, max_rows).flatmap(lambda n: eighths((n, n_features)))


def _wild(shape: tuple[int, ...]) -> st.SearchStrategy[NDArray[np.float64]]:
    def build(seed: int, mantissa: NDArray[np.float64]) -> NDArray[np.float64]:
        return mantissa * 10.0 ** np.random.default_rng(seed).uniform(-150, 150, shape)

    # Products of two factors up to 1e150 stay below 1e300; their sums round at every step.
    return st.builds(
        build, st.integers(0, 2**32 - 1), hnp.arrays(np.float64, shape, elements=st.floats(-1, 1, width=32))
    )


@st.composite
def wild_trees(draw: st.DrawFn, n_features: int | None = None, max_splits: int = 15) -> Tree:
    """Linear trees whose products span 1e-300 to 1e300."""
    topology = draw(topologies(max_splits))
    d = n_features or draw(st.sampled_from([1, 3, 16, 17, 40]))
    weight, bias = draw(_wild((topology.n_splits, d))), draw(_wild((topology.n_splits,)))
    value, coef = draw(_wild((topology.n_leaves, 1))), draw(_wild((topology.n_leaves, 1, d)))
    return Tree(topology, weight, bias, value, coef)


def with_classes(tree: Tree, n_classes: int, seed: int) -> Tree:
    """The splits of a tree with leaves of classes, of which no leaf predicts the last."""
    value = np.random.default_rng(seed).dirichlet(np.ones(n_classes), tree.n_leaves)
    value[:, -1] = 0.0
    value /= value.sum(axis=1, keepdims=True)
    return Tree(tree.topology, tree.weight, tree.bias, value, class_names=list(range(n_classes)))


def wild_points(n_features: int, n_rows: int = 10) -> st.SearchStrategy[NDArray[np.float64]]:
    """Rows for :func:`wild_trees`."""
    return _wild((n_rows, n_features))


def make_model(kind: str, seed: int = 0) -> Model:
    """Build one of :data:`MODELS` with numbers of full precision, odd names, and leaves at several depths."""
    rng = np.random.default_rng(seed)
    topology = Topology([]) if kind == "one leaf" else _ragged(rng, 12)
    columns = _mixed_columns() if kind.startswith("mixed") else [Column(name) for name in ODD_NAMES]
    if kind == "filled class":
        columns = [Column(name, missing="fill", fill=0.3 * j - 1.1) for j, name in enumerate(ODD_NAMES)]
    if kind == "mixed filled":
        columns = _filled_columns()
    if kind == "wide":
        columns = [Column(f"pixel {j}") for j in range(70)]
    if kind == "tanh":
        columns = [Column(name, center=0.3 * j, scale=0.7, lower=-3.0, upper=3.0) for j, name in enumerate(ODD_NAMES)]
    encoder = Encoder(columns)
    d, n_splits, n_leaves = encoder.n_features, topology.n_splits, topology.n_leaves
    weight = rng.normal(size=(n_splits, d)) * (rng.random((n_splits, d)) < 0.8)
    bias = rng.normal(size=n_splits)
    names: dict[str, Any] = {"feature_names": encoder.feature_names}
    if kind in ("class", "mixed class", "filled class", "one leaf", "wide") or "margin" in kind:
        value = rng.dirichlet(np.ones(4), n_leaves)
        probability = None
        if "margin" in kind:
            probability = MarginProbability(rate=0.7, power=0.6, floor=0.03)
            value[:, 2] = 0  # a class that no leaf predicts
            value /= value.sum(axis=1, keepdims=True)
        tree = Tree(topology, weight, bias, value, class_names=["no", "it's", 'a"b\\', "größe"], **names)
        return Model(encoder, tree, probability=probability)
    n_outputs = 3 if kind in ("multi-output", "tanh") else 1
    value, coef = rng.normal(size=(n_leaves, n_outputs)), rng.normal(size=(n_leaves, n_outputs, d))
    ends = np.sort(rng.normal(size=(2, n_leaves, n_outputs)) * 3, axis=0)
    guarded = kind not in ("linear", "constant")
    tree = Tree(
        topology,
        weight,
        bias,
        value,
        None if kind == "constant" else coef,
        *(ends if guarded else (None, None)),
        **names,
    )
    return Model(encoder, tree, TanhScale([-1.0, 0.0, -2.0], [1.0, 5.0, 2.0]) if kind == "tanh" else Identity())


def _mixed_columns() -> list[Column]:
    return [
        Column("age", missing="indicator", fill=41.5),
        Column("it's a colour", categories=["red", "it's", 'a"b', "größe", ""], missing="indicator"),
        Column("rooms", categories=[1, 2, 3]),
        Column("income", center=1000.0, scale=0.001, lower=-5.0, upper=5.0),
        Column("weight", missing="indicator", fill=-1.0, center=70.0, scale=0.1),
        Column("plain"),
    ]


def _filled_columns() -> list[Column]:
    return [
        Column("age", missing="fill", fill=0.7),
        Column("colour", categories=["red", "it's", ""], missing="fill", fill="it's"),
        Column("rooms", categories=[1, 2, 3], missing="fill", fill=3),
        Column("income", missing="fill", fill=-1.3, center=0.1, scale=0.3, lower=-0.4),
        Column("weight", missing="fill", fill=1.2, center=0.4, scale=1.7),
        Column("plan", categories=["a", "b"]),
        Column("visits", missing="indicator", fill=1.1),
        Column("plain"),
    ]


def _ragged(rng: np.random.Generator, n_splits: int) -> Topology:
    """Open leaves at random, one by one; splits come out breadth first, leaves from left to right."""
    paths = [()]
    for _ in range(n_splits):
        path = paths.pop(int(rng.integers(len(paths))))
        paths += [(*path, 0), (*path, 1)]
    leaf = {path: i for i, path in enumerate(sorted(paths))}
    inner = sorted({path[:k] for path in paths for k in range(len(path))}, key=lambda path: (len(path), path))
    number = {path: i for i, path in enumerate(inner)}
    sides = [[(*path, side) for side in (0, 1)] for path in inner]
    return Topology([[number[child] if child in number else ~leaf[child] for child in pair] for pair in sides])
