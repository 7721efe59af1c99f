"""The torch engine: the same epochs through autograd, on any device.

It holds a :class:`~dtsemnet.nn.DTSemNet` with plain splits, and torch computes
the gradients. Losses, order of batches, clipping, penalties and Adam are those
of the CPU engine, so the two differ by rounding alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.classification import UNSERVED
from dtsemnet.kernels.regression import LossName
from dtsemnet.nn import (
    ClassMaxPool,
    ConstantLeaves,
    DTSemNet,
    Hardmax,
    LinearLeaves,
    LinearSplits,
    StraightThrough,
    TopK,
)
from dtsemnet.nn.heads import Head
from dtsemnet.training.columns import Rules, sides_of_classes
from dtsemnet.training.engine import (
    Classification,
    ClassParameters,
    Parameters,
    Penalties,
    Problem,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    digest,
    not_finite,
)
from dtsemnet.tree import Topology

__all__ = ["TorchClassification", "TorchRegression", "check_device", "torch_engine"]

BLOCK = 4096
"""Rows that are evaluated at a time."""
LOSSES: dict[LossName, Callable[[Tensor, Tensor, float], Tensor]] = {
    "squared_error": lambda f, y, _: (f - y).square(),
    "absolute_error": lambda f, y, _: (f - y).abs(),
    "huber": lambda f, y, delta: torch.where(
        (f - y).abs() <= delta, (f - y).square() / 2, delta * ((f - y).abs() - delta / 2)
    ),
    "quantile": lambda f, y, q: torch.maximum((1 - q) * (f - y), -q * (f - y)),
    "poisson": lambda f, y, _: f.exp() - y * f,
    "gamma": lambda f, y, _: y * (-f).exp() + f,
    "tweedie": lambda f, y, p: y * ((1 - p) * f).exp() / (p - 1) + ((2 - p) * f).exp() / (2 - p),
}
"""Loss of predictions, given the targets and the parameter of the loss."""


class _Tensors(NamedTuple):
    """Rows on the device."""

    X: Tensor
    y: Tensor
    weight: Tensor


class _TorchEngine(ABC):
    """What both problems share: the network, the optimizer, batches.

    A subclass makes the head, sets the network up for an epoch, and computes the loss of each row.
    """

    def __init__(
        self,
        topology: Topology,
        rows: Rows,
        splits: Floats,
        head: Head,
        *,
        batch_size: int,
        penalties: Penalties,
        rules: Rules | None,
        device: str | torch.device,
    ) -> None:
        self.topology, self.batch_size, self.penalties = topology, batch_size, penalties
        self.rules = Rules(np.arange(rows.X.shape[1])) if rules is None else rules
        self.device, self.dtype = torch.device(device), torch.from_numpy(rows.X[:0]).dtype
        self.rows = self._tensors(rows)
        planes = self._tensor(splits)
        self.splits = LinearSplits.from_arrays(planes[:, :-1].contiguous(), planes[:, -1].contiguous())
        self.network = DTSemNet(topology, self.splits, Hardmax(), head).to(self.device, self.dtype).train()
        groups: list[dict[str, Any]] = [
            {"params": list(self.splits.parameters()), "weight_decay": penalties.weight_decay, "l1": penalties.l1}
        ]
        if leaves := list(head.parameters()):
            groups.append({"params": leaves, "weight_decay": 0.0, "l1": 0.0})
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.999), eps=1e-8)

    @abstractmethod
    def _prepare(self, step: Step) -> None:
        """Give the network the settings of an epoch."""

    @abstractmethod
    def _losses(self, rows: _Tensors) -> Tensor:
        """Compute the loss of each row, without its weight."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        self._prepare(step)
        for group, rate in zip(self.optimizer.param_groups, (step.learning_rate, step.rate_of_leaves)):
            group["lr"] = rate
        held = self._held(step)
        self._hold(held)
        index = torch.as_tensor(np.asarray(order), device=self.device)
        total = 0.0
        for taken, batch in enumerate(torch.split(index, self.batch_size)):
            loss = self._backward(_Tensors(*(tensor[batch] for tensor in self.rows)))
            if not np.isfinite(loss):
                raise not_finite(loss, taken, batch.tolist())
            total += loss
            self._update()
            self._hold(held)
        return total / float(self.rows.weight[index].double().sum())

    def _held(self, step: Step) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Parameters that keep rules in an epoch, with the masks of those that must not be positive, or negative."""
        allowed = self.rules.of_splits(self._split_matrix(), step.n_columns, self._sides())
        return [self._masks(self.splits.weight, allowed[:, :-1])] if len(allowed) else []

    def _sides(self) -> Ints | None:
        """The side of each split to which features with a direction may push; None: where they push already."""
        return None

    def _masks(self, parameter: Tensor, allowed: Ints) -> tuple[Tensor, Tensor, Tensor]:
        signs = torch.as_tensor(allowed, device=self.device).reshape(parameter.shape)
        return parameter, (signs & 1) == 0, (signs & 2) == 0

    def _hold(self, held: list[tuple[Tensor, Tensor, Tensor]]) -> None:
        with torch.no_grad():
            for parameter, not_positive, not_negative in held:
                wrong = (not_positive & (parameter > 0)) | (not_negative & (parameter < 0))
                parameter.masked_fill_(wrong | (not_positive & not_negative), 0.0)

    def _backward(self, rows: _Tensors) -> float:
        """Leave the gradient of the mean loss in the parameters; return the sum of the losses."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = (self._losses(rows) * rows.weight).sum()
        if loss.requires_grad:
            (loss / len(rows.X)).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach().double())

    def _update(self) -> None:
        if self.penalties.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.penalties.clip)
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if group["lr"] == 0:
                    p.grad = None  # the optimizer then changes neither the parameter nor its moments
                else:
                    p.grad = torch.zeros_like(p) if p.grad is None else p.grad
                    p.grad += group["l1"] * p.detach().sign()
        self.optimizer.step()

    def loss(self, rows: Rows, step: Step) -> float:
        self._prepare(step)
        tensors, total = self._tensors(rows), 0.0
        with torch.no_grad():
            for part in zip(*(torch.split(tensor, BLOCK) for tensor in tensors)):
                block = _Tensors(*part)
                total += float((self._losses(block) * block.weight).double().sum())
        return total / float(tensors.weight.double().sum())

    def reached(self, X: Floats) -> Ints:
        with torch.no_grad():
            leaf = [_array(self.network.leaf(part)) for part in torch.split(self._tensor(X), BLOCK)]
        return np.concatenate(leaf) if leaf else np.empty(0, np.int64)

    def digest(self) -> bytes:
        return digest(Rows(*map(_array, self.rows)), self.batch_size, self.penalties)

    def state(self) -> dict[str, Array]:
        return {name: _array(tensor) for name, tensor in self._tensors_of_state()}

    def restore(self, state: dict[str, Array]) -> None:
        for group in self.optimizer.param_groups:
            for p in group["params"]:  # the moments exist only after a first step
                self.optimizer.state[p].setdefault("step", torch.tensor(0.0))
                for moment in ("exp_avg", "exp_avg_sq"):
                    self.optimizer.state[p].setdefault(moment, torch.zeros_like(p))
        with torch.no_grad():
            for name, tensor in self._tensors_of_state():
                tensor.copy_(torch.as_tensor(state[name]) if name in state else torch.zeros_like(tensor))

    def _tensors_of_state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.network.state_dict().items()
        for g, group in enumerate(self.optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                for key, value in self.optimizer.state[p].items():
                    yield f"optimizer.{g}.{i}.{key}", value

    def _split_matrix(self) -> Floats:
        return np.column_stack([_array(self.splits.weight), _array(self.splits.bias)])

    def _tensor(self, array: Floats) -> Tensor:
        return torch.as_tensor(array).to(device=self.device, dtype=self.dtype, copy=True)

    def _tensors(self, rows: Rows) -> _Tensors:
        y = torch.as_tensor(rows.y).to(self.device)
        y = y if y.dtype == torch.int64 else y.to(self.dtype)
        return _Tensors(self._tensor(rows.X), y, self._tensor(rows.weight))


class TorchClassification(_TorchEngine):
    """Splits trained by cross-entropy over pooled classes."""

    def __init__(
        self, problem: Classification, topology: Topology, rows: Rows, parameters: ClassParameters, **options: Any
    ) -> None:
        self.problem, self.q = problem, 0.0
        self.head = ClassMaxPool(np.array(parameters.leaf_class), problem.n_classes)
        super().__init__(topology, rows, parameters.splits, self.head, **options)

    def _prepare(self, step: Step) -> None:
        self.head.temperature, self.q = float(step.temperature), step.q

    def _losses(self, rows: _Tensors) -> Tensor:
        own = rows.y[:, None]
        pooled = self.network(rows.X)
        served = ~torch.isneginf(pooled.detach().gather(1, own))[:, 0]
        # Rows of a class without leaves: a constant loss, and 0 in the graph so that no gradient is nan.
        safe = torch.where(served[:, None], pooled, torch.zeros_like(pooled))
        log_p = functional.log_softmax(safe, dim=1).gather(1, own)[:, 0]
        log_p = torch.where(served, log_p, np.log(UNSERVED))
        return -log_p if self.q == 0 else (1 - (self.q * log_p).exp()) / self.q

    def parameters(self) -> ClassParameters:
        return ClassParameters(self._split_matrix(), _array(self.head.leaf_class))

    def _sides(self) -> Ints | None:
        direction = self.rules.direction
        if direction is None:
            return None
        return sides_of_classes(self.topology, _array(self.head.leaf_class), self._split_matrix(), direction)

    def assign(self, leaf_class: Ints) -> None:
        temperature = self.head.temperature
        self.head = ClassMaxPool(np.array(leaf_class), self.problem.n_classes, temperature=temperature)
        self.network.head = self.head.to(self.device, self.dtype).train()


class TorchRegression(_TorchEngine):
    """Splits and leaves trained on a regression loss."""

    def __init__(
        self, problem: Regression, topology: Topology, rows: Rows, parameters: RegressionParameters, **options: Any
    ) -> None:
        self.problem, self.augmented = problem, False
        leaves = torch.tensor(parameters.leaves).to(torch.from_numpy(rows.X[:0]).dtype)
        leaves = leaves.reshape(topology.n_leaves, -1, leaves.shape[1])
        value = leaves[:, :, -1].contiguous()
        self.head = LinearLeaves(leaves[:, :, :-1].contiguous(), value) if problem.linear else ConstantLeaves(value)
        super().__init__(topology, rows, parameters.splits, self.head, **options)

    def _prepare(self, step: Step) -> None:
        # If k is 1 the temperature has no effect, but it must be positive.
        temperature = step.temperature if step.temperature > 0 else 1.0
        through = step.selector == "straight_through"
        self.network.selector = StraightThrough(temperature) if through else TopK(step.k, temperature)
        self.augmented = step.selector == "augmented"

    def _held(self, step: Step) -> list[tuple[Tensor, Tensor, Tensor]]:
        held = super()._held(step)
        allowed = self.rules.of_leaves(self.parameters().leaves, step.n_leaf_columns)
        if len(allowed) and isinstance(self.head, LinearLeaves):
            held.append(self._masks(self.head.coef, allowed[:, :-1]))
        return held

    def _losses(self, rows: _Tensors) -> Tensor:
        if self.augmented:
            choices = _first_and_second(self.network.leaf_logits(rows.X).detach())
            losses = [self._loss(self.head(choice, rows.X), rows.y) for choice in choices]
            return torch.stack(losses).mean(dim=0)
        return self._loss(self.network(rows.X), rows.y)

    def _loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        return LOSSES[self.problem.loss](prediction, y, self.problem.parameter).mean(dim=1)

    def parameters(self) -> RegressionParameters:
        leaves = _array(self.head.value).reshape(-1, 1)
        if isinstance(self.head, LinearLeaves):
            leaves = np.column_stack([_array(self.head.coef).reshape(len(leaves), -1), leaves])
        return RegressionParameters(self._split_matrix(), leaves)


def torch_engine(
    problem: Problem,
    topology: Topology,
    rows: Rows,
    parameters: Parameters,
    *,
    batch_size: int = 128,
    penalties: Penalties | None = None,
    rules: Rules | None = None,
    device: str | torch.device = "cpu",
) -> TorchClassification | TorchRegression:
    """Make the torch engine for a problem.

    Parameters are those of :func:`~dtsemnet.training.cpu_engine`, and the device that rows and parameters are kept on.
    """
    make: Any = TorchClassification if isinstance(problem, Classification) else TorchRegression
    penalties = penalties or Penalties()
    return make(
        problem, topology, rows, parameters, batch_size=batch_size, penalties=penalties, rules=rules, device=device
    )


def _first_and_second(logits: Tensor) -> list[Tensor]:
    """One-hot rows of the best leaf, and of the second best if there is one."""
    first = Hardmax()(logits)
    if logits.shape[1] == 1:
        return [first]
    return [first, Hardmax()(logits.masked_fill(first > 0, -torch.inf))]


def _array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().numpy().copy()


def check_device(device: str | None) -> None:
    """Refuse a device that torch cannot use here, before any work is done."""
    try:
        torch.zeros(1, device=device or "cpu").cpu()
    except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(
            f"device must be one that torch can use here, such as 'cpu', got {device!r} ({reason})."
        ) from None
