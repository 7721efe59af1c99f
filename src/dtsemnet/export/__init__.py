"""Trees in other forms. Each export is a function of a Tree or a Model that gives one artefact."""

from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.c import to_c
from dtsemnet.export.check import ExportError, Report, check_export
from dtsemnet.export.milp import Milp, to_milp
from dtsemnet.export.model_json import to_json
from dtsemnet.export.onnx import to_onnx
from dtsemnet.export.python import to_numpy_function, to_python
from dtsemnet.export.readable import Explanation, explain, to_dot, to_frame, to_text
from dtsemnet.export.smt import to_smt2
from dtsemnet.export.sql import to_sql

__all__ = [
    "to_text",
    "to_frame",
    "explain",
    "Explanation",
    "to_python",
    "to_numpy_function",
    "to_c",
    "to_sql",
    "to_onnx",
    "to_json",
    "to_dot",
    "to_smt2",
    "to_milp",
    "Milp",
    "Artefact",
    "Answer",
    "Report",
    "ExportError",
    "check_export",
]
