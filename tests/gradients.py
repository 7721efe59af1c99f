"""The loss and the gradients of an engine on some rows, without penalties, for tests."""

import numpy as np

from dtsemnet.kernels import epoch, evaluate
from dtsemnet.training.cpu import CpuClassification, CpuRegression


def gradients_of(engine, rows, step):
    """Return the mean loss, and its gradients by the parameters as a dictionary; nothing is trained."""
    if isinstance(engine, CpuClassification):
        gradient = np.empty_like(engine.arrays["splits"])
        total = epoch.class_gradients(
            evaluate.with_ones(rows.X), rows.y, rows.weight, engine.children, engine.arrays["leaf_class"],
            engine.problem.n_classes, engine.arrays["splits"], float(step.temperature), float(step.q), gradient,
        )  # fmt: skip
        return total / len(rows.X), {"splits": gradient}
    if isinstance(engine, CpuRegression):
        splits, leaves = np.empty_like(engine.arrays["splits"]), np.empty_like(engine.arrays["leaves"])
        total = epoch.leaf_gradients(
            evaluate.with_ones(rows.X), rows.y, rows.weight, engine.children, engine.arrays["splits"],
            engine.arrays["leaves"], *engine._selection(step), splits, leaves,
        )  # fmt: skip
        return total / len(rows.X), {"splits": splits, "leaves": leaves}
    return _torch_gradients(engine, rows, step)


def _torch_gradients(engine, rows, step):
    engine._prepare(step)
    total = engine._backward(engine._tensors(rows))

    def gradient(parameter):
        return np.zeros(parameter.shape) if parameter.grad is None else parameter.grad.numpy().copy()

    found = {"splits": np.column_stack([gradient(engine.splits.weight), gradient(engine.splits.bias)])}
    if hasattr(engine.head, "coef"):
        value = gradient(engine.head.value).reshape(-1, 1)
        found["leaves"] = np.column_stack([gradient(engine.head.coef).reshape(len(value), -1), value])
    elif hasattr(engine.head, "n_outputs"):
        found["leaves"] = gradient(engine.head.value).reshape(-1, 1)
    engine.optimizer.zero_grad(set_to_none=True)
    return total / len(rows.X), found
