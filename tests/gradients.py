"""The loss and the gradients of an engine on some rows, without penalties, for tests."""

import numpy as np

from dtsemnet.kernels.classification import classification_gradients
from dtsemnet.kernels.regression import regression_gradients
from dtsemnet.kernels.rows import gather, new_batch
from dtsemnet.training.cpu import CompiledEngine


def gradients_of(engine, rows, step):
    """Return the mean loss, and its gradients by the parameters as a dictionary; nothing is trained."""
    if not isinstance(engine, CompiledEngine):
        return _torch_gradients(engine, rows, step)
    values = {name: moments.value for name, moments in engine.trained.items()}
    gradients = {name: np.empty_like(value) for name, value in values.items()}
    batch = gather(rows, np.arange(len(rows.X)), new_batch(rows, len(rows.X)))
    if "leaves" in values:
        kernel, first = regression_gradients, (batch, engine.topology.children, *values.values())
    else:
        kernel, first = classification_gradients, (batch, engine.topology.children, engine.leaf_class, *values.values())
    return kernel(*first, engine.settings(step), *gradients.values()) / len(rows.X), gradients


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
