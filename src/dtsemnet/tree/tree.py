"""A hard oblique decision tree, as a value.

A tree is its shape and a few arrays. Split ``i`` scores an input by
``s_i = weight[i] . x + bias[i]`` and sends it right if ``s_i > 0``, left if not. The leaf
``l`` that is reached answers with class probabilities ``value[l]``, or with
``clip(coef[l] . x + value[l], lower[l], upper[l])``; ``coef`` and the guard
``lower``, ``upper`` may be absent. All sums are taken in the order that
:mod:`dtsemnet.kernels.routing` documents, so an answer depends on the row alone.

Trees are immutable: arrays are read-only float64 copies, two trees are equal when
their contents are equal bit for bit, and an edit (:mod:`dtsemnet.tree.edits`) is a new tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels import routing
from dtsemnet.kernels.kernel import came_compiled
from dtsemnet.names import printable, shown
from dtsemnet.tree import _validate
from dtsemnet.tree._validate import Scalar
from dtsemnet.tree.topology import Topology

__all__ = ["Tree"]

Kind = TypeVar("Kind", bound=Array)

_READ_IN_PLACE = (np.dtype(np.float64), np.dtype(np.float32))
_BLOCK = 1 << 20  # numbers converted at a time: 8 MB
ROWS_OF_A_THREAD = 1 << 14  # fewer rows take no longer than to start a thread


@dataclass(frozen=True, eq=False, repr=False)
class Tree(_validate.Value):
    """Hard oblique decision tree with constant, class or linear leaves.

    Parameters
    ----------
    topology : Topology
        Shape of the tree.
    weight : array_like of shape (n_splits, n_features)
        Weights of the splits.
    bias : array_like of shape (n_splits,)
        Biases of the splits; the input goes right if ``weight @ x + bias > 0``.
    value : array_like of shape (n_leaves, n_outputs)
        Class probabilities of the leaves if ``class_names`` is given, else constants or intercepts.
    coef : array_like of shape (n_leaves, n_outputs, n_features), optional
        Linear models of the leaves. Without it leaves are constant.
    lower, upper : array_like of shape (n_leaves, n_outputs), optional
        Guard against extrapolation: outputs are clipped to it. Either may be given alone.
    feature_names : sequence of str, optional
        Names of the columns. Without them columns are called ``x0``, ``x1``, ...
    class_names : sequence of str, int, float or bool, optional
        Labels of the classes, in the order of the columns of ``value``. Their presence makes the tree a classifier.

    Examples
    --------
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> tree
    Tree(depth 1, 1 split, 2 leaves, 2 features, class leaves: 'below', 'above')
    >>> tree.predict([[3.0, 2.0], [2.0, 2.0]])
    array(['above', 'below'], dtype='<U5')
    """

    topology: Topology
    weight: Floats
    bias: Floats
    value: Floats
    coef: Floats | None
    lower: Floats | None
    upper: Floats | None
    feature_names: tuple[str, ...] | None
    class_names: tuple[Scalar, ...] | None

    def __init__(
        self,
        topology: Topology,
        weight: ArrayLike,
        bias: ArrayLike,
        value: ArrayLike,
        coef: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Scalar] | None = None,
    ) -> None:
        if not isinstance(topology, Topology):
            raise TypeError(f"topology must be a Topology, got {type(topology).__name__}; write Topology(children).")
        n_splits, n_leaves = topology.n_splits, topology.n_leaves
        put: dict[str, Any] = {"topology": topology}
        put["weight"] = _validate.floats("weight", weight, (n_splits, "n_features"))
        put["bias"] = _validate.floats("bias", bias, (n_splits,))
        put["value"] = _validate.floats("value", value, (n_leaves, "n_outputs"))
        n_features, outputs = put["weight"].shape[1], put["value"].shape
        shapes = {"coef": (*outputs, n_features), "lower": outputs, "upper": outputs}
        for (name, shape), array in zip(shapes.items(), (coef, lower, upper)):
            put[name] = None if array is None else _validate.floats(name, array, shape)
        put["feature_names"] = columns = _validate.names("feature_names", feature_names, n_features, "weight")
        if wrong := [name for name in columns or () if not isinstance(name, str)]:
            raise ValueError(f"feature_names must be strings, got {shown(wrong[0])}; convert them by str.")
        put["class_names"] = _validate.names("class_names", class_names, outputs[1], "value")
        _validate.check_leaves(
            put["value"], put["coef"], put["lower"], put["upper"], classes=put["class_names"] is not None
        )
        for name, content in put.items():
            object.__setattr__(self, name, content)

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return self.topology.n_splits

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.topology.n_leaves

    @property
    def n_features(self) -> int:
        """Number of columns that the tree reads."""
        return int(self.weight.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of outputs; for a classifier, the number of classes."""
        return int(self.value.shape[1])

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return self.topology.depth

    @property
    def is_classifier(self) -> bool:
        """Whether the leaves hold class probabilities."""
        return self.class_names is not None

    @cached_property
    def leaf_class(self) -> Ints:
        """Number of the most probable class of each leaf, the lowest of equals."""
        self._need_classes("leaf_class")
        return _validate.frozen(np.argmax(self.value, axis=1).astype(np.int64))

    @cached_property
    def feature_labels(self) -> tuple[str, ...]:
        """Names to show for the columns: ``feature_names``, or ``x0``, ``x1``, ... without them."""
        return self.feature_names or tuple(f"x{j}" for j in range(self.n_features))

    def apply(self, X: ArrayLike, *, n_threads: int = 1) -> Ints:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers. C-ordered float32 and float64 are read in place, all else is converted block by block.
        n_threads : int, default=1
            Threads that share many rows; leaves do not depend on it.

        Returns
        -------
        ndarray of int64, shape (n_samples,)
            Leaf numbers, from left to right.

        Examples
        --------
        >>> Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]).apply([[1.0], [2.0], [3.0]])
        array([0, 0, 1])
        """
        return self._leaves(self._read(X), n_threads)

    def scores(self, X: ArrayLike) -> Floats:
        """Compute ``weight @ x + bias`` of all splits, in the documented order of summation.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_splits)

        Examples
        --------
        >>> Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]).scores([[1.0], [3.5]])
        array([[-1. ],
               [ 1.5]])
        """
        rows = self._read(X)
        return self._walk(routing.scores, rows, np.empty((len(rows), self.n_splits)), *self._prepared[:2])

    def decision_path(self, X: ArrayLike) -> Ints:
        """List the splits that each row reaches, from the root down.

        Returns
        -------
        ndarray of int64, shape (n_samples, depth)
            Numbers of splits, padded with -1 behind the last.

        Examples
        --------
        >>> chain = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0], [1.0]], [0.0, -1.0], [[0.0], [1.0], [2.0]])
        >>> chain.decision_path([[-1.0], [3.0]])
        array([[ 0, -1],
               [ 0,  1]])
        """
        rows = self._read(X)
        path = np.full((len(rows), self.depth), -1, dtype=np.int64)
        return self._walk(routing.decision_path, rows, path, *self._prepared)

    def predict(self, X: ArrayLike, *, n_threads: int = 1) -> Array:
        """Predict labels (classifier) or numbers (regressor); ``n_threads`` as in :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several outputs of a regressor

        Examples
        --------
        >>> line = Tree(Topology([]), np.empty((0, 1)), [], [[1.0]], coef=[[[2.0]]], upper=[[4.0]])
        >>> line.predict([[1.0], [2.0]])
        array([3., 4.])
        """
        rows = self._read(X)  # once: what is no array may be another table when it is read again
        leaf = self._leaves(rows, n_threads)
        if self.coef is None:
            return self._answer[leaf]
        output = np.empty((len(rows), self.n_outputs))
        coef, lower, upper = self._linear
        for start, stop, block in _blocks(rows):
            at, written = (leaf, output) if len(block) == len(rows) else (leaf[start:stop], output[start:stop])
            if n_threads == 1:
                refused = routing.linear(block, at, coef, self.value, lower, upper, written)
            else:

                def answer(part: slice, block: Array = block, at: Ints = at, written: Floats = written) -> int:
                    return routing.linear(block[part], at[part], coef, self.value, lower, upper, written[part])

                refused = _shared(answer, len(block), n_threads)
            if refused >= 0:
                _refuse(block[refused], start + refused, self.feature_labels)
        return output[:, 0] if self.n_outputs == 1 else output

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the class probabilities of each row's leaf, shape (n_samples, n_outputs).

        Examples
        --------
        >>> Tree(Topology([]), np.empty((0, 1)), [], [[0.25, 0.75]], class_names=[0, 1]).predict_proba([[5.0]])
        array([[0.25, 0.75]])
        """
        self._need_classes("predict_proba")
        return self.value[self.apply(X)]

    def replace(self, **changes: Any) -> Tree:
        """Make a tree with other contents; what is not named stays as it is.

        Parameters
        ----------
        **changes
            Arguments of the constructor, by name.

        Examples
        --------
        >>> step = Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]], upper=[[15.0], [15.0]])
        >>> step.replace(bias=[-3.0]).predict([[2.5], [3.5]])
        array([10., 15.])
        """
        return dataclasses.replace(self, **changes)

    def fingerprint(self) -> str:
        """Hash the content: SHA-256 of the shapes, names and numbers, the same on every machine.

        Examples
        --------
        >>> Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]).fingerprint()[:12]
        '27097fa9e423'
        """
        return self._fingerprint

    def save(self, path: str | PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        """Write the model file (JSON); ``about`` is free metadata. See :mod:`dtsemnet.tree.file`."""
        from dtsemnet.tree import file  # the file module knows trees, so it cannot be imported above

        file.save(self, path, about=about)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Tree:
        """Read a tree from a model file; loading runs no code. See :mod:`dtsemnet.tree.file`."""
        from dtsemnet.tree import file

        content = file.read(path)
        if not isinstance(content, Tree):
            raise ValueError(f"{path} holds a model (a tree with an encoder or an output map); read it by Model.load.")
        return content

    @classmethod
    def from_sklearn(cls, fitted: Any) -> Tree:
        """Convert a fitted scikit-learn decision tree, exactly. See :mod:`dtsemnet.tree.from_sklearn`.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> Tree.from_sklearn(DecisionTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])).predict([[0.7]])
        array(['high'], dtype='<U4')
        """
        from dtsemnet.tree.from_sklearn import from_sklearn

        return from_sklearn(fitted)

    def __repr__(self) -> str:
        if self.class_names is not None:
            names = [shown(name) for name in self.class_names[:4]] + ["..."] * (len(self.class_names) > 4)
            kind = f"class leaves: {', '.join(names)}"
        else:
            kind = f"{'constant' if self.coef is None else 'linear'} leaves"
            kind += f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
            kind += ", guarded" if self.lower is not None or self.upper is not None else ""
        counts = [(self.n_splits, "split"), (self.n_leaves, "leaf"), (self.n_features, "feature")]
        plural = {"split": "splits", "leaf": "leaves", "feature": "features"}
        parts = ", ".join(f"{n} {word if n == 1 else plural[word]}" for n, word in counts)
        return f"Tree(depth {self.depth}, {parts}, {kind})"

    def _repr_html_(self) -> str | None:
        """Draw the tree, for notebooks; None if it cannot be written in the units of the columns."""
        from dtsemnet.tree.in_notebook import tree_html  # knows trees, so it cannot be imported above

        try:
            return tree_html(self, "Tree")
        except ValueError:
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.weight, self.bias, self.value, self.coef, self.lower, self.upper)
        # Through __init__, so that what comes out of a pickle is checked and read-only like any other tree.
        return partial(Tree, feature_names=self.feature_names, class_names=self.class_names), (self.topology, *arrays)

    @cached_property
    def _prepared(self) -> tuple[Floats, Floats, Ints]:
        return routing.pad_rows(self.weight), self.bias, self.topology.children.ravel()

    @cached_property
    def _linear(self) -> tuple[Floats, Floats, Floats]:
        assert self.coef is not None
        lower, upper = self.guard
        return routing.pad_rows(self.coef.reshape(-1, self.n_features)), lower, upper

    @cached_property
    def guard(self) -> tuple[Floats, Floats]:
        """Ends that outputs are clipped to, infinite if there is no guard."""
        open_ = np.full(self.value.shape, np.inf)
        return (
            _validate.frozen(-open_) if self.lower is None else self.lower,
            _validate.frozen(open_) if self.upper is None else self.upper,
        )

    @cached_property
    def _answer(self) -> Array:
        """What each leaf predicts, if that is a constant."""
        if self.class_names is not None:
            return _validate.labels(self.class_names)[self.leaf_class]
        lower, upper = self.guard
        output = np.where(self.value < lower, lower, np.where(self.value > upper, upper, self.value))
        return output[:, 0] if self.n_outputs == 1 else output

    @cached_property
    def _fingerprint(self) -> str:
        arrays = {"children": self.topology.children, "weight": self.weight, "bias": self.bias, "value": self.value}
        arrays |= {name: getattr(self, name) for name in ("coef", "lower", "upper") if getattr(self, name) is not None}
        return _validate.digest({"feature_names": self.feature_names, "class_names": self.class_names}, arrays)

    def _read(self, X: Any) -> Array:
        """Check the shape and the type of ``X``, without looking at its numbers."""
        rows = X if type(X) is np.ndarray else np.asarray(X)
        if rows.ndim != 2 and hasattr(X, "toarray"):
            raise ValueError("X must be a dense array, got a sparse matrix; pass X.toarray().")
        if rows.ndim != 2:
            raise ValueError(
                f"X must have shape (n_samples, {self.n_features}), got {rows.ndim} dimension(s) {rows.shape}; "
                "reshape one row by X.reshape(1, -1), one column by X.reshape(-1, 1)."
            )
        if rows.shape[1] != self.weight.shape[1]:
            columns = ", ".join([*map(printable, self.feature_labels[:3]), *["..."] * (self.n_features > 3)])
            raise ValueError(
                f"X has {rows.shape[1]} columns, but this tree reads {self.n_features}; "
                f"pass the columns {columns} in that order."
            )
        if rows is not X and self.feature_names is not None:
            names = [str(name) for name in getattr(X, "columns", self.feature_names)]
            if names != list(self.feature_names) and sorted(names) == sorted(self.feature_names):
                raise ValueError(
                    "X has the columns of this tree in another order, and a Tree reads them by position; "
                    "pass X[list(tree.feature_names)]."
                )
        if rows.dtype.kind not in "fiub":
            raise ValueError(
                f"X must hold numbers, got dtype {rows.dtype}; convert it, or use a Model with an encoder."
            )
        return rows

    def _leaves(self, rows: Array, n_threads: int) -> Ints:
        leaf: Ints = np.zeros(len(rows), dtype=np.int64)
        return self._walk(routing.apply, rows, leaf, *self._prepared, n_threads=n_threads)

    def _walk(self, route: Callable[..., int], rows: Array, output: Kind, *arrays: Array, n_threads: int = 1) -> Kind:
        """Run a kernel over the blocks; a tree without splits has no scores, so its rows are only checked."""
        for start, stop, block in _blocks(rows):
            if len(self.bias):
                written = output if len(block) == len(rows) else output[start:stop]
                if n_threads == 1:
                    refused = route(block, *arrays, written)
                else:
                    refused = _shared(partial(_route, route, block, arrays, written), len(block), n_threads)
            else:
                refused = routing.first_non_finite(block)
            if refused >= 0:
                _refuse(block[refused], start + refused, self.feature_labels)
        return output

    def _need_classes(self, caller: str) -> None:
        if self.class_names is None:
            raise TypeError(f"{caller} needs a classifier, but this tree has no class_names; use predict or value.")


def _blocks(rows: Array) -> Iterable[tuple[int, int, Array]]:
    """Cut rows into blocks that the kernels read, each with its first row and one past its last.

    C-ordered float32 and float64 pass without a copy; all else (integers, booleans, Fortran order, strides) is
    converted block by block, so that a large array needs no second copy of itself.
    """
    if rows.dtype in _READ_IN_PLACE and (flags := rows.flags).c_contiguous and flags.aligned:
        if flags.writeable and not came_compiled():
            rows = rows.view()  # read-only always: numba would compile every kernel a second time for read-only arrays
            rows.flags.writeable = False
        return ((0, len(rows), rows),)
    return _converted(rows)


def _converted(rows: Array) -> Iterator[tuple[int, int, Array]]:
    n_rows = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(rows), n_rows):
        block = np.array(rows[start : start + n_rows], dtype=np.float64, order="C")
        block.flags.writeable = False
        yield start, start + len(block), block


def _route(route: Callable[..., int], block: Array, arrays: tuple[Array, ...], written: Array, part: slice) -> int:
    return route(block[part], *arrays, written[part])


def _shared(run: Callable[[slice], int], n_rows: int, n_threads: int) -> int:
    """Run a kernel over parts of the rows in threads; return the first row that it refuses, or -1."""
    n_parts = min(n_threads, n_rows // ROWS_OF_A_THREAD)
    if n_parts < 2:
        return run(slice(0, n_rows))
    ends = [n_rows * k // n_parts for k in range(n_parts + 1)]
    with ThreadPoolExecutor(n_parts) as pool:
        found = list(pool.map(run, map(slice, ends[:-1], ends[1:])))
    return next((start + row for start, row in zip(ends, found) if row >= 0), -1)


def _refuse(row: Array, number: int, labels: tuple[str, ...]) -> NoReturn:
    """Say what is wrong with a row that a kernel refused."""
    bad = np.flatnonzero(~np.isfinite(row))
    if len(bad):
        column = int(bad[0])
        raise ValueError(
            f"X must be finite, got {row[column]} in row {number}, column {column} ({printable(labels[column])}); "
            f"fill or drop such values, or use a Model whose encoder handles missing ones."
        )
    raise ValueError(
        f"X row {number} is too large for this tree: a sum overflows to inf - inf; rescale the columns or the tree."
    )
