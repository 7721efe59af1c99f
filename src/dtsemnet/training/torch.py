"""The torch engine: the same epochs through autograd, on any device.

It holds a :class:`~dtsemnet.nn.DTSemNet` with plain splits and lets torch
differentiate it. Losses, order of batches, clipping, penalties and Adam are
those of the CPU engine, so the two differ by rounding alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.classification import UNSERVED
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
from dtsemnet.nn.selectors import Selector
from dtsemnet.training.engine import (
    Classification,
    Gradients,
    Parameters,
    Penalties,
    Problem,
    Regression,
    Rows,
    Step,
    digest,
    not_finite,
)
from dtsemnet.tree import Topology

__all__ = ["TorchClassification", "TorchRegression", "torch_engine"]


class _TorchEngine(ABC):
    """What both problems share: the network, the optimiser, batches."""

    def __init__(
        self,
        problem: Problem,
        topology: Topology,
        rows: Rows,
        parameters: Parameters,
        *,
        batch_size: int,
        penalties: Penalties,
        device: str | torch.device,
    ) -> None:
        self.problem, self.topology = problem, topology
        self.batch_size, self.penalties, self.device = batch_size, penalties, torch.device(device)
        self.dtype = torch.from_numpy(rows.X[:0]).dtype
        self.rows = self._tensors(rows)
        splits = self._tensor(parameters.splits)
        layer = LinearSplits.from_arrays(splits[:, :-1].contiguous(), splits[:, -1].contiguous())
        self.network = DTSemNet(topology, layer, Hardmax(), self._head(parameters)).to(self.device).train()
        self.optimiser = torch.optim.AdamW(self._groups(), lr=0.0, betas=(0.9, 0.999), eps=1e-8)

    @abstractmethod
    def _head(self, parameters: Parameters) -> Head:
        """Make the head of the network."""

    @abstractmethod
    def _losses(self, rows: tuple[Tensor, Tensor, Tensor], step: Step) -> Tensor:
        """Loss of each row, not weighted."""

    def _groups(self) -> list[dict[str, Any]]:
        """Parameters by what is asked of them: splits whole, slopes of leaves, values of leaves."""
        p, layer, head = self.penalties, self.network.splits, self.network.head
        slopes = [head.coef] if isinstance(head, LinearLeaves) else []
        values = [] if isinstance(head, ClassMaxPool) else [head.value]
        groups: list[tuple[str, list[Any], float, float, float]] = [
            ("splits", list(layer.parameters()), p.split_decay, p.split_l1, p.split_l2),
            ("leaves", slopes, p.leaf_decay, p.leaf_l1, p.leaf_l2),
            ("leaves", values, 0.0, 0.0, 0.0),
        ]
        names = ("name", "params", "weight_decay", "l1", "l2")
        return [dict(zip(names, group)) for group in groups if group[1]]

    def _tensor(self, array: Floats | Tensor) -> Tensor:
        return torch.as_tensor(array).to(device=self.device, dtype=self.dtype, copy=True)

    def _tensors(self, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        y = torch.as_tensor(rows.y).to(self.device)
        return self._tensor(rows.X), y if y.dtype == torch.int64 else y.to(self.dtype), self._tensor(rows.weight)

    def run_epoch(self, order: Ints, step: Step) -> float:
        index = torch.as_tensor(np.asarray(order), device=self.device)
        total, leaf_rate = 0.0, step.learning_rate if step.leaf_learning_rate is None else step.leaf_learning_rate
        for group in self.optimiser.param_groups:
            group["lr"] = step.learning_rate if group["name"] == "splits" else leaf_rate
        for number, batch in enumerate(torch.split(index, self.batch_size)):
            part = tuple(tensor[batch] for tensor in self.rows)
            loss = self._backward(part, step)  # type: ignore[arg-type]
            if not np.isfinite(loss):
                raise not_finite(loss, number, batch.tolist())
            total += loss
            self._update()
        return total / float(self.rows[2][index].double().sum())

    def _backward(self, rows: tuple[Tensor, Tensor, Tensor], step: Step) -> float:
        """Leave the gradient of the mean loss in the parameters; return the sum of the losses."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = (self._losses(rows, step) * rows[2]).sum()
        if loss.requires_grad:
            (loss / len(rows[0])).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach().double())

    def _update(self) -> None:
        if self.penalties.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.penalties.clip)
        for group in self.optimiser.param_groups:
            for p in group["params"]:
                if group["lr"] == 0:
                    p.grad = None  # the optimiser then leaves the parameter and its moments alone
                else:
                    p.grad = torch.zeros_like(p) if p.grad is None else p.grad
                    p.grad += group["l1"] * p.detach().sign() + group["l2"] * p.detach()
        self.optimiser.step()

    def loss(self, rows: Rows, step: Step) -> float:
        tensors = self._tensors(rows)
        with torch.no_grad():
            total: float = sum(
                float((self._losses(part, step) * part[2]).double().sum())
                for part in zip(*(torch.split(tensor, 4096) for tensor in tensors))
            )
        return total / float(tensors[2].double().sum())

    def gradients(self, rows: Rows, step: Step) -> tuple[float, Gradients]:
        total = self._backward(self._tensors(rows), step)
        found = _matrices(self.network, lambda p: torch.zeros_like(p) if p.grad is None else p.grad)
        self.optimiser.zero_grad(set_to_none=True)
        return total / len(rows.X), Gradients(found["splits"], found.get("leaves"))

    def reached(self, X: Floats) -> Ints:
        with torch.no_grad():
            leaf = [self.network.apply(part).cpu().numpy() for part in torch.split(self._tensor(X), 4096)]
        return np.concatenate(leaf) if leaf else np.empty(0, np.int64)

    def parameters(self) -> Parameters:
        found = _matrices(self.network, lambda p: p.detach())
        return Parameters(found["splits"], found.get("leaves"), found.get("leaf_class"))

    def assign(self, leaf_class: Ints) -> None:
        raise TypeError("the leaves of a regression tree hold no classes.")

    def digest(self) -> bytes:
        rows = Rows(*(tensor.cpu().numpy() for tensor in self.rows))
        return digest(rows, self.batch_size, self.penalties)

    def state(self) -> dict[str, Array]:
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._tensors_of_state()}

    def restore(self, state: dict[str, Array]) -> None:
        for group in self.optimiser.param_groups:
            for p in group["params"]:  # the moments exist only after a first step
                self.optimiser.state[p].setdefault("step", torch.tensor(0.0))
                for moment in ("exp_avg", "exp_avg_sq"):
                    self.optimiser.state[p].setdefault(moment, torch.zeros_like(p))
        with torch.no_grad():
            for name, tensor in self._tensors_of_state():
                tensor.copy_(torch.as_tensor(state[name]) if name in state else torch.zeros_like(tensor))

    def _tensors_of_state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.network.state_dict().items()
        for g, group in enumerate(self.optimiser.param_groups):
            for i, p in enumerate(group["params"]):
                for key, value in self.optimiser.state[p].items():
                    yield f"optimiser.{g}.{i}.{key}", value


class TorchClassification(_TorchEngine):
    """Splits trained by cross-entropy over pooled classes."""

    problem: Classification

    def _head(self, parameters: Parameters) -> Head:
        assert isinstance(self.problem, Classification)
        assert parameters.leaf_class is not None
        return ClassMaxPool(np.array(parameters.leaf_class), self.problem.n_classes)

    def _losses(self, rows: tuple[Tensor, Tensor, Tensor], step: Step) -> Tensor:
        x, y, _ = rows
        self.network.head.temperature = float(step.temperature)  # type: ignore[assignment]
        pooled = self.network(x)
        served = ~torch.isneginf(pooled.detach().gather(1, y[:, None]))[:, 0]
        # Rows of a class without leaves: a constant loss, and 0 in the graph so that no gradient is nan.
        safe = torch.where(served[:, None], pooled, torch.zeros_like(pooled))
        log_p = functional.log_softmax(safe, dim=1).gather(1, y[:, None])[:, 0]
        log_p = torch.where(served, log_p, np.log(UNSERVED))
        return -log_p if step.q == 0 else (1 - (step.q * log_p).exp()) / step.q

    def assign(self, leaf_class: Ints) -> None:
        head = ClassMaxPool(np.array(leaf_class), self.problem.n_classes).to(self.device)
        self.network.head = head.to(self.dtype).train()


class TorchRegression(_TorchEngine):
    """Splits and leaves trained on a regression loss."""

    problem: Regression

    def _head(self, parameters: Parameters) -> Head:
        assert parameters.leaves is not None
        leaves = self._tensor(parameters.leaves)
        leaves = leaves.reshape(self.topology.n_leaves, -1, leaves.shape[1])
        value = leaves[:, :, -1].contiguous()
        return LinearLeaves(leaves[:, :, :-1].contiguous(), value) if self.problem.linear else ConstantLeaves(value)

    def _losses(self, rows: tuple[Tensor, Tensor, Tensor], step: Step) -> Tensor:
        x, y, _ = rows
        if step.selector == "augmented":
            choices = _first_and_second(self.network.leaf_logits(x).detach())
            return torch.stack([self._loss(self.network.head(choice, x) - y) for choice in choices]).mean(dim=0)
        self.network.selector = _selector(step)
        return self._loss(self.network(x) - y)

    def _loss(self, residual: Tensor) -> Tensor:
        loss, parameter, size = self.problem.loss, self.problem.parameter, residual.abs()
        if loss == "squared":
            value = residual.square()
        elif loss == "absolute":
            value = size
        elif loss == "huber":
            value = torch.where(size <= parameter, residual.square() / 2, parameter * (size - parameter / 2))
        else:
            value = torch.maximum((1 - parameter) * residual, -parameter * residual)
        return value.mean(dim=1)


def _selector(step: Step) -> Selector:
    temperature = step.temperature if step.temperature > 0 else 1.0
    return StraightThrough(temperature) if step.selector == "straight_through" else TopK(step.k, temperature)


def _first_and_second(logits: Tensor) -> list[Tensor]:
    """One-hot rows of the best leaf, and of the second best where there is one."""
    first = Hardmax()(logits)
    if logits.shape[1] == 1:
        return [first]
    return [first, Hardmax()(logits.masked_fill(first > 0, -torch.inf))]


def _matrices(network: DTSemNet, read: Any) -> dict[str, Any]:
    """Lay out what ``read`` gives for each parameter as matrices with the bias last."""

    def array(tensor: Tensor) -> Array:
        return tensor.cpu().numpy().copy()

    layer, head = network.splits, network.head
    assert isinstance(layer, LinearSplits)
    found = {"splits": np.column_stack([array(read(layer.weight)), array(read(layer.bias))])}
    if isinstance(head, ClassMaxPool):
        found["leaf_class"] = array(head.leaf_class)
    elif isinstance(head, LinearLeaves):
        value = array(read(head.value)).reshape(-1, 1)
        found["leaves"] = np.column_stack([array(read(head.coef)).reshape(len(value), -1), value])
    elif isinstance(head, ConstantLeaves):
        found["leaves"] = array(read(head.value)).reshape(-1, 1)
    return found


def torch_engine(
    problem: Problem,
    topology: Topology,
    rows: Rows,
    parameters: Parameters,
    *,
    batch_size: int = 128,
    penalties: Penalties | None = None,
    device: str | torch.device = "cpu",
) -> TorchClassification | TorchRegression:
    """Make the engine for a problem."""
    make = TorchClassification if isinstance(problem, Classification) else TorchRegression
    penalties = penalties or Penalties()
    return make(problem, topology, rows, parameters, batch_size=batch_size, penalties=penalties, device=device)
