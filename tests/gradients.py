"""The loss and the gradients of an engine on some rows, without penalties, and their check, for tests."""

import numpy as np
from numpy.testing import assert_allclose

from dtsemnet.kernels.classification import classification_gradients
from dtsemnet.kernels.regression import regression_gradients
from dtsemnet.kernels.rows import gather, new_batch
from dtsemnet.training import cpu_engine
from dtsemnet.training.cpu import CompiledEngine
from dtsemnet.tree import Topology

SHAPES = [Topology([]), Topology.complete(2), Topology([[-1, 1], [2, -4], [-2, -3]])]


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


def central_differences(loss, array, epsilon=1e-6):
    found = np.zeros_like(array)
    for i in np.ndindex(array.shape):
        kept = array[i]
        array[i] = kept + epsilon
        above = loss()
        array[i] = kept - epsilon
        found[i] = (above - loss()) / (2 * epsilon)
        array[i] = kept
    return found


def assert_gradients_are_slopes(problem, topology, rows, parameters, step):
    """Compare the gradients of the CPU engine with finite differences of its loss."""

    def mean_loss():
        engine = cpu_engine(problem, topology, rows, parameters)
        return engine.loss(rows, step) * rows.weight.sum() / len(rows.X)

    loss, gradients = gradients_of(cpu_engine(problem, topology, rows, parameters), rows, step)
    assert_allclose(loss, mean_loss(), rtol=1e-12)
    for name, gradient in gradients.items():
        assert_allclose(gradient, central_differences(mean_loss, getattr(parameters, name)), atol=1e-7)
