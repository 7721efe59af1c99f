"""Trees that people read: as text, tables, Graphviz files, cards and scorecards, and predictions explained."""

from dtsemnet.export.readable.card import to_card
from dtsemnet.export.readable.dot import to_dot
from dtsemnet.export.readable.explain import Explanation, explain
from dtsemnet.export.readable.frame import to_frame
from dtsemnet.export.readable.scorecard import Card, Scorecard, to_scorecard
from dtsemnet.export.readable.text import to_text

__all__ = ["Card", "Explanation", "Scorecard", "explain", "to_card", "to_dot", "to_frame", "to_scorecard", "to_text"]
