"""Heads: what the leaves hold, and the output of the network.

A head has three methods. ``forward`` computes the output that training
differentiates, ``at`` the output of the tree at a leaf, and ``fold`` the arrays of
the leaves for the tree. Classes are pooled: the logit of a class is the largest of
its leaves. Regression sums the outputs of the leaves by the weights of a selector.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dtsemnet.arrays import Floats

__all__ = ["Head", "LeafArrays", "ClassMaxPool", "ConstantLeaves", "LinearLeaves"]

Label = str | int | float | bool
Numbers = ArrayLike | Tensor


class LeafArrays(NamedTuple):
    """The leaves of a tree, as ``Tree`` takes them."""

    value: Floats
    coef: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    class_names: tuple[Label, ...] | None = None


class Head(nn.Module, ABC):
    """Base of the heads.

    Attributes
    ----------
    n_leaves : int
        Number of leaves that the head has outputs for.
    uses_selector : bool
        Whether ``forward`` takes the weights that a selector gives the leaves; if not, it takes their logits.
    """

    n_leaves: int
    uses_selector: bool

    @abstractmethod
    def forward(self, weights: Tensor, x: Tensor, /) -> Tensor:
        """Compute the output of the network from inputs ``x`` and the ``weights`` of the leaves, (n_samples, n_leaves).

        They are the logits of the leaves if the head does not use a selector.
        """

    @abstractmethod
    def at(self, leaf: Tensor, x: Tensor) -> Tensor:
        """Compute the output of the tree for rows ``x`` that reach ``leaf``, shape (n_samples,)."""

    @abstractmethod
    def fold(self) -> LeafArrays:
        """Return the arrays of the leaves, in float64."""


class ClassMaxPool(Head):
    """The logit of a class is the largest among its leaves.

    If leaves tie, the lowest gets the gradient. A class that no leaf holds has logit -inf. With a
    temperature ``t > 0`` training pools by ``t * logsumexp(z / t)``, whose limit is the maximum;
    ``eval()`` always takes the maximum. The predicted class is that of the leaf reached, which on a
    hyperplane can differ from the class of the largest pooled logit.

    Parameters
    ----------
    leaf_class : array_like of int, shape (n_leaves,)
        Class of each leaf.
    n_classes : int
        Number of classes.
    value : array_like, shape (n_leaves, n_classes), optional
        Class probabilities of the leaves, for the tree; the largest of a row, the first among
        equals, must be at ``leaf_class``. One-hot rows by default.
    class_names : sequence of str, int, float or bool, optional
        Names of the classes, for the tree; their numbers by default.
    temperature : float, default=0.0
        Temperature of the pool in training; may be set between epochs.

    Examples
    --------
    >>> head = ClassMaxPool([0, 1, 0, 1], n_classes=3)
    >>> head(torch.tensor([[-3.0, -1.0, 0.0, -2.0]])).tolist()
    [[0.0, -1.0, -inf]]
    """

    uses_selector = False
    leaf_class: Tensor
    value: Tensor
    _leaf: Tensor

    def __init__(
        self,
        leaf_class: Numbers,
        n_classes: int,
        value: Numbers | None = None,
        class_names: Sequence[Label] | None = None,
        temperature: float = 0.0,
    ) -> None:
        super().__init__()
        classes = _copy(leaf_class).to(torch.int64)
        if classes.ndim != 1 or not len(classes) or classes.min() < 0 or classes.max() >= n_classes:
            raise ValueError(
                f"leaf_class must hold one class below n_classes={n_classes} per leaf, got {classes.tolist()}."
            )
        if value is None:
            value = nn.functional.one_hot(classes, n_classes).double()
        table = _real(value)
        if table.shape != (len(classes), n_classes) or not torch.equal(table.argmax(dim=1), classes):
            raise ValueError(
                f"value must have shape ({len(classes)}, {n_classes}), got {tuple(table.shape)}, and the first maximum "
                "of each row at leaf_class; leave it out for one-hot rows."
            )
        if class_names is None:
            class_names = range(n_classes)
        if len(class_names) != n_classes:
            raise ValueError(f"class_names must hold {n_classes} names, got {len(class_names)}.")
        if not temperature >= 0:
            raise ValueError(f"temperature must be at least 0, got {temperature}; 0 pools by the maximum.")
        self.n_leaves, self.n_classes = len(classes), n_classes
        self.class_names = tuple(class_names)
        self.temperature = temperature
        self.register_buffer("leaf_class", classes)
        self.register_buffer("value", table)
        self.register_buffer("_leaf", torch.arange(len(classes)), persistent=False)

    def forward(self, logits: Tensor, x: Tensor | None = None) -> Tensor:
        """Pool the logits of the leaves, (n_samples, n_leaves), into those of the classes; ``x`` is not read."""
        leaf = self._best_leaf(logits.detach())
        empty = leaf == self.n_leaves
        # -inf, not 0: the reached leaf has logit 0, so a class that no leaf holds would tie with it.
        top = logits.gather(1, leaf.masked_fill(empty, 0)).masked_fill(empty, -math.inf)
        return self._smooth(logits, top.detach()) if self.training and self.temperature > 0 else top

    def at(self, leaf: Tensor, x: Tensor) -> Tensor:
        return self.leaf_class[leaf]

    def fold(self) -> LeafArrays:
        return LeafArrays(_float64(self.value), class_names=self.class_names)

    def extra_repr(self) -> str:
        return f"{self.n_leaves} leaves, {self.n_classes} classes, temperature={self.temperature}"

    def _best_leaf(self, logits: Tensor) -> Tensor:
        """Find the lowest leaf with the largest logit of each class, ``n_leaves`` if a class has none."""
        owner = self.leaf_class.expand_as(logits)
        top = logits.new_full((len(logits), self.n_classes), -math.inf).scatter_reduce(1, owner, logits, "amax")
        # A nan equals nothing, not even itself, and must not be lost.
        best = torch.where((logits == top.gather(1, owner)) | logits.isnan(), self._leaf, self.n_leaves)
        none = best.new_full(top.shape, self.n_leaves)
        return none.scatter_reduce(1, owner, best, "amin")

    def _smooth(self, logits: Tensor, top: Tensor) -> Tensor:
        """Compute ``t * logsumexp(z / t)`` over the leaves of each class, shifted by the maximum."""
        void = torch.isneginf(top)
        shift = top.masked_fill(void, 0.0)
        owner = self.leaf_class.expand_as(logits)
        share = ((logits - shift.gather(1, owner)) / self.temperature).exp()
        total = torch.zeros_like(top).scatter_add(1, owner, share)
        # The 1 keeps log(0) and its infinite derivative out of the graph.
        return shift + self.temperature * total.masked_fill(void, 1.0).log() + top.where(void, 0.0)


class _Leaves(Head):
    """Regression: every leaf has an output, a selector weighs them, and in ``eval()`` the guard clips the result."""

    uses_selector = True
    value: nn.Parameter
    lower: Tensor | None
    upper: Tensor | None

    def __init__(self, value: Numbers, lower: Numbers | None = None, upper: Numbers | None = None) -> None:
        super().__init__()
        start = _real(value)
        if start.ndim != 2:
            raise ValueError(f"value must have shape (n_leaves, n_outputs), got {tuple(start.shape)}.")
        self.n_leaves, self.n_outputs = start.shape
        self.value = nn.Parameter(start)
        self.register_buffer("lower", self._bound("lower", lower))
        self.register_buffer("upper", self._bound("upper", upper))

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        """Sum the outputs of the leaves by their weights; in ``eval()`` take the leaf of largest weight."""
        # One leaf is not only less work: 0 * inf of another leaf would be nan.
        return self.mix(weights, x) if self.training else self.at(weights.argmax(dim=1), x)

    def at(self, leaf: Tensor, x: Tensor) -> Tensor:
        """Compute the output of a leaf, clipped to its guard."""
        output = self.single(leaf, x)
        lower = None if self.lower is None else self.lower[leaf]
        upper = None if self.upper is None else self.upper[leaf]
        return output if lower is None and upper is None else output.clamp(lower, upper)

    @abstractmethod
    def mix(self, weights: Tensor, x: Tensor) -> Tensor:
        """Sum the unclipped outputs of all leaves by their weights."""

    @abstractmethod
    def single(self, leaf: Tensor, x: Tensor) -> Tensor:
        """Compute the unclipped output of one leaf per row."""

    def fold(self) -> LeafArrays:
        lower, upper = (None if bound is None else _float64(bound) for bound in (self.lower, self.upper))
        return LeafArrays(_float64(self.value), None, lower, upper)

    def extra_repr(self) -> str:
        return f"{self.n_leaves} leaves, {self.n_outputs} outputs"

    def _bound(self, name: str, bound: Numbers | None) -> Tensor | None:
        if bound is None:
            return None
        tensor = _real(bound)
        if tensor.shape != self.value.shape:
            raise ValueError(
                f"{name} must have the shape of value, {tuple(self.value.shape)}, got {tuple(tensor.shape)}."
            )
        return tensor.to(self.value.dtype)


class ConstantLeaves(_Leaves):
    """One constant per leaf and output.

    Parameters
    ----------
    value : array_like, shape (n_leaves, n_outputs)
        Constants to start from; they are trained, in the dtype given.
    lower, upper : array_like, shape (n_leaves, n_outputs), optional
        Guard that clips the output in ``eval()``.

    Examples
    --------
    >>> head = ConstantLeaves(torch.tensor([[1.0], [3.0]]))
    >>> head(torch.tensor([[0.25, 0.75]]), torch.zeros(1, 4)).tolist()
    [[2.5]]
    >>> head.eval()(torch.tensor([[0.0, 1.0]]), torch.zeros(1, 4)).tolist()
    [[3.0]]
    """

    def mix(self, weights: Tensor, x: Tensor) -> Tensor:
        return weights @ self.value

    def single(self, leaf: Tensor, x: Tensor) -> Tensor:
        return self.value[leaf]


class LinearLeaves(_Leaves):
    """One linear model per leaf and output, all of them as one matrix.

    Parameters
    ----------
    coef : array_like, shape (n_leaves, n_outputs, n_features)
        Slopes to start from; they are trained, in the dtype given.
    value : array_like, shape (n_leaves, n_outputs)
        Intercepts to start from; they are trained.
    lower, upper : array_like, shape (n_leaves, n_outputs), optional
        Guard that clips the output in ``eval()``, if a linear model extrapolates too far.

    Examples
    --------
    >>> head = LinearLeaves(torch.tensor([[[1.0]], [[-1.0]]]), torch.tensor([[0.0], [2.0]]))
    >>> head(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), torch.tensor([[4.0], [4.0]])).tolist()
    [[1.0], [-2.0]]
    """

    def __init__(
        self,
        coef: Numbers,
        value: Numbers,
        lower: Numbers | None = None,
        upper: Numbers | None = None,
    ) -> None:
        super().__init__(value, lower, upper)
        slopes = _real(coef)
        if slopes.ndim != 3 or slopes.shape[:2] != self.value.shape:
            raise ValueError(
                f"coef must have shape ({self.n_leaves}, {self.n_outputs}, n_features), got {tuple(slopes.shape)}."
            )
        self.coef = nn.Parameter(slopes)

    def mix(self, weights: Tensor, x: Tensor) -> Tensor:
        output = nn.functional.linear(x, self.coef.flatten(0, 1), self.value.flatten())
        return torch.bmm(weights.unsqueeze(1), output.view(len(x), self.n_leaves, self.n_outputs)).squeeze(1)

    def single(self, leaf: Tensor, x: Tensor) -> Tensor:
        return torch.bmm(self.coef[leaf], x.unsqueeze(2)).squeeze(2) + self.value[leaf]

    def fold(self) -> LeafArrays:
        return super().fold()._replace(coef=_float64(self.coef))


def _copy(array: Numbers) -> Tensor:
    return array.detach().clone() if isinstance(array, Tensor) else torch.tensor(array)


def _real(array: Numbers) -> Tensor:
    """Copy into a tensor of floats, in the dtype given if that is a float type."""
    tensor = _copy(array)
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())


def _float64(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().cpu().numpy().astype(np.float64)
    return array
