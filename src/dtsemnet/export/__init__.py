"""Trees in other forms. Each export is a function of a Tree or a Model that gives one artefact."""

from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.check import ExportError, Report, check_export
from dtsemnet.export.explain import Explanation, explain
from dtsemnet.export.frame import to_frame
from dtsemnet.export.python import to_python
from dtsemnet.export.text import to_text

__all__ = [
    "Answer",
    "Artefact",
    "ExportError",
    "Explanation",
    "Report",
    "check_export",
    "explain",
    "to_frame",
    "to_python",
    "to_text",
]
