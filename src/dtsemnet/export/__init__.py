"""Trees in other forms. Each export is a function of a Tree or a Model that gives one artefact."""

from dtsemnet.export.text import to_text

__all__ = ["to_text"]
