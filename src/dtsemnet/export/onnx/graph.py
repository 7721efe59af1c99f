"""Builds and runs an ONNX graph.

Numbers are rounded to the type of the graph once, here, and a number that the type cannot
hold is refused by name. Values inside a graph have names with a leading slash, which no input
has, so that columns may have any name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.export.artefact import ExportError

__all__ = ["Graph", "Run", "load_runtime", "require_onnx"]

Run = Callable[[Mapping[str, Array]], Sequence[Any]]
ML = "ai.onnx.ml"


class Graph:
    """Collects the nodes, constants, inputs and outputs of an ONNX model, all numbers "float32" or "float64".

    Examples
    --------
    >>> graph = Graph("float32")
    >>> graph.input("X", "float32", 2)
    'X'
    >>> graph.output("Y", graph.node("Neg", "X"), "float32", 2)
    >>> run = load_runtime(graph.finish("negate", {}, opset=13))
    >>> run({"X": np.ones((1, 2), dtype=np.float32)})[0]
    array([[-1., -1.]], dtype=float32)
    """

    def __init__(self, dtype: str) -> None:
        self.onnx = require_onnx()
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, dtype: str, width: int, about: str = "") -> str:
        """Declare an input of shape (N, width)."""
        kind = self._type(dtype)
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["N", width], doc_string=about))
        return name

    def output(self, name: str, source: str, dtype: str, width: int | None = None) -> None:
        """Make a value an output of shape (N, width), or (N,), by renaming it."""
        for node in self.nodes:
            for ends in (node.input, node.output):
                ends[:] = [name if end == source else end for end in ends]
        shape = ["N"] if width is None else ["N", width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, self._type(dtype), shape))

    def node(self, operator: str, *sources: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one result; returns the name of the result."""
        name = f"/{operator}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(sources), [name], name=name, domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def cast(self, source: str, dtype: str) -> str:
        """Convert a value."""
        return self.node("Cast", source, to=self._type(dtype))

    def constant(self, what: str, array: Any, *, exact: bool = False) -> str:
        """Add a constant: floats in the type of the graph unless ``exact`` is set, other arrays unchanged."""
        name = f"/{what}_{len(self.constants)}"
        array = np.asarray(array)
        if array.dtype.kind in "UO":
            words = [str(value) for value in array.ravel().tolist()]
            if cut := [word for word in words if word.endswith("\0")]:
                raise ValueError(
                    f"onnxruntime drops a NUL character at the end of a text such as {cut[0]!r}; rename it."
                )
            text = [word.encode() for word in words]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, text)
        else:
            array = self.rounded(what, array) if array.dtype.kind == "f" and not exact else array
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def rounded(self, what: str, array: Array) -> Array:
        """Round numbers to the type of the graph."""
        with np.errstate(over="ignore", under="ignore"):
            rounded = array.astype(self.dtype)
        overflow = np.isfinite(array) & ~np.isfinite(rounded)
        if overflow.any():
            raise ExportError(
                f"{what} of the tree is {array[overflow][0]}, beyond the range of {self.dtype}; use dtype='float64'."
            )
        return rounded

    def finish(self, about: str, metadata: Mapping[str, Any], *, opset: int, ml: int | None = None) -> bytes:
        """Check the graph and return the content of the file."""
        from dtsemnet import __version__

        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tree", self.inputs, self.outputs, self.constants)
        versions = [helper.make_opsetid("", opset)] + ([] if ml is None else [helper.make_opsetid(ML, ml)])
        # The oldest file format that knows the operators, so that old readers accept it.
        model = helper.make_model(
            graph, opset_imports=versions, ir_version=helper.find_min_ir_version_for(versions),
            producer_name="dtsemnet", producer_version=__version__, doc_string=about,
        )  # fmt: skip
        helper.set_model_props(model, {key: json.dumps(value, ensure_ascii=False) for key, value in metadata.items()})
        self.onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString()
        return content

    def _type(self, dtype: str) -> int:
        proto = self.onnx.TensorProto
        types = {"float32": proto.FLOAT, "float64": proto.DOUBLE, "int64": proto.INT64, "bool": proto.BOOL}
        return int(types.get(dtype, proto.STRING))


def load_runtime(content: bytes) -> Run:
    """Make the function that runs a model: through onnxruntime, or without it through onnx's own evaluator."""
    try:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        evaluator = __import__("onnx.reference", fromlist=["ReferenceEvaluator"]).ReferenceEvaluator(content)
        return lambda feed: evaluator.run(None, dict(feed))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, dict(feed))


def require_onnx() -> Any:
    """Import onnx, or say how to get it."""
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError:
        raise ImportError("to_onnx needs the package onnx; install it by: pip install 'dtsemnet[onnx]'.") from None
    return onnx
