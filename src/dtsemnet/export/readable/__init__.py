"""Trees that people read: as text, as a table, as a Graphviz file, as a card, and one prediction explained."""

from dtsemnet.export.readable.card import to_card
from dtsemnet.export.readable.dot import to_dot
from dtsemnet.export.readable.explain import Explanation, explain
from dtsemnet.export.readable.frame import to_frame
from dtsemnet.export.readable.text import to_text

__all__ = ["Explanation", "explain", "to_card", "to_dot", "to_frame", "to_text"]
