"""Trees in other forms. Each export is a function of a Tree, a Model or a fitted estimator.

One folder per target holds the exports that can be run (``c``, ``sql``, ``onnx``, ``python``) or
given to a solver (``smt``, ``milp``); ``readable`` holds what people read. What runs is an
:class:`Artefact`, compared with the tree on the rows of ``probes`` before it is returned.
"""

from dtsemnet.export.artefact import Artefact, CheckReport, Drawing, ExportError, Predictions, check_export
from dtsemnet.export.c import to_c
from dtsemnet.export.milp import Milp, to_milp
from dtsemnet.export.model_json import to_json
from dtsemnet.export.onnx import to_onnx
from dtsemnet.export.python import to_numpy_function, to_python
from dtsemnet.export.readable import Explanation, explain, to_card, to_dot, to_frame, to_scorecard, to_text
from dtsemnet.export.smt import to_smt2
from dtsemnet.export.sql import to_sql

__all__ = [
    "to_text",
    "to_frame",
    "to_card",
    "to_scorecard",
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
    "Drawing",
    "Predictions",
    "CheckReport",
    "ExportError",
    "check_export",
    "Answer",
    "Report",
]

Answer = Predictions
"""Earlier name of :class:`Predictions`."""
Report = CheckReport
"""Earlier name of :class:`CheckReport`."""
