"""What the leaves of a drawing say. A drawn leaf may stand for the leaves below a split that is not drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from dtsemnet.arrays import Floats
from dtsemnet.plot.glyphs import LEAF_FONT, SHARE_FONT
from dtsemnet.plot.layout import Cut
from dtsemnet.plot.reading import Reading
from dtsemnet.plot.style import AMOUNTS, GRID, class_colors, number, text_width, tint
from dtsemnet.plot.wording import leaf_terms, percent

__all__ = ["Content", "nodes_on_path"]


@dataclass(frozen=True)
class Content:
    """A reading of the whole tree, told for the leaves of its upper part."""

    reading: Reading
    upper: Cut

    @property
    def n_lines(self) -> int:
        """Most lines that a leaf says, its share of the rows included."""
        tree, folded = self.reading.view.tree, self.upper.topology.n_leaves < self.reading.view.tree.n_leaves
        if self.reading.mix is not None:
            lines = 1
        elif tree.coef is None:
            lines = max(1 + folded, min(3, tree.n_outputs))
        else:
            lines = 4 if tree.n_outputs == 1 else 2
        return lines + (self.reading.count is not None)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Smallest and largest answer."""
        answer = np.zeros(0) if self.reading.answer is None else self.reading.answer
        known = answer[np.isfinite(answer)]
        return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)

    def name(self, leaf: int) -> str:
        """Id of a drawn leaf, by the numbers of the leaves it stands for."""
        below = self.leaves_below(leaf)
        return f"leaf-{below.start}" if below.stop - below.start == 1 else f"leaves-{below.start}-{below.stop - 1}"

    @cached_property
    def largest_share(self) -> float:
        return max(self.share(~leaf) or 0.0 for leaf in range(self.upper.topology.n_leaves))

    def share(self, node: int) -> float | None:
        """Share of the rows that reach a node: a split, or the complement of a leaf."""
        if self.reading.share is None:
            return None
        first, last = self.upper.topology.spans if node >= 0 else (None, None)
        start, stop = (first[node], last[node] - 1) if first is not None and last is not None else (~node, ~node)
        return float(self.reading.share[self.upper.first[start] : self.upper.last[stop]].sum())

    def leaves_below(self, leaf: int) -> slice:
        return slice(int(self.upper.first[leaf]), int(self.upper.last[leaf]))

    def average(self, table: Floats, leaf: int) -> Floats | None:
        """Average over the leaves that a drawn leaf stands for, by their rows; None where nothing is known."""
        below = self.leaves_below(leaf)
        if below.stop - below.start == 1:
            return table[below.start]
        count = self.reading.count
        if count is None or not count[below].sum():
            return None
        used = np.flatnonzero(count[below])
        return np.asarray(np.average(table[below][used], axis=0, weights=count[below][used]))

    def parts(self, leaf: int) -> list[tuple[float, Any]]:
        """Stacked parts of a leaf's bar, with colours; pale where no row comes."""
        pale = 0.22 if self.share(~leaf) == 0 else 1.0
        if self.reading.mix is not None:
            mix = self.average(self.reading.mix, leaf)
            if mix is None:
                return [(1.0, GRID)]
            colors = class_colors(len(mix))
            order = np.argsort(-mix, kind="stable")
            return [(float(mix[k]), tint(colors[k], pale)) for k in order if mix[k] > 0]
        answer = None if self.reading.answer is None else self.average(self.reading.answer, leaf)
        if answer is None or len(answer) > 1 or not np.isfinite(answer[0]):
            return [(1.0, GRID)]
        low, high = self.range
        place = 0.5 if high == low else float(answer[0] / 2 - low / 2) / (high / 2 - low / 2)
        return [(1.0, tint(to_hex(colormaps[AMOUNTS](place)), pale))]

    def lines(self, leaf: int, width: float) -> list[str]:
        """What a leaf says."""
        below, reading = self.leaves_below(leaf), self.reading
        if reading.mix is not None:
            mix = self.average(reading.mix, leaf)
            names = reading.model.class_names
            assert names is not None
            if mix is None:
                return [f"{below.stop - below.start} leaves"]
            name = str(names[int(np.argmax(mix))])
            whole = f"{name} {percent(float(mix.max()))}"
            return [whole if text_width(whole, LEAF_FONT) <= width else name]
        if below.stop - below.start > 1:
            answer = None if reading.answer is None else self.average(reading.answer, leaf)
            return [f"{below.stop - below.start} leaves"] + ([] if answer is None else [f"mean {_tuple(answer)}"])
        tree = reading.view.tree
        if tree.coef is None:
            assert reading.answer is not None
            return [number(value) for value in reading.answer[below.start][:3]]
        return self.linear_lines(below.start, width)

    def linear_lines(self, leaf: int, width: float) -> list[str]:
        reading, tree = self.reading, self.reading.view.tree
        assert tree.coef is not None
        known = reading.answer is not None and not np.isnan(reading.answer[leaf]).any()
        head = [f"mean {_tuple(reading.answer[leaf])}"] if known and reading.answer is not None else []
        if tree.n_outputs > 1:
            return [*head, f"{tree.n_outputs} linear models"]
        coef, intercept = tree.coef[leaf, 0], float(tree.value[leaf, 0])
        model = leaf_terms(coef, intercept, reading.sizes(coef), reading.view.labels, width, SHARE_FONT, 3)
        return [*head, *model]


def nodes_on_path(reading: Reading, upper: Cut, x: Any) -> set[int]:
    """Splits, and the complement of the leaf, that a sample meets in the drawn part of the tree."""
    if x is None:
        return set()
    row = x
    if not hasattr(x, "columns"):
        row = np.array([list(x)], dtype=object) if np.ndim(x) == 1 else x
        numeric = all(column.categories is None and column.missing is None for column in reading.model.encoder.columns)
        row = np.asarray(row, dtype=np.float64) if numeric else row
    if len(row) != 1:
        raise ValueError(f"x must be one sample, got {len(row)}; pass one row.")
    path = reading.model.decision_path(row)[0]
    leaf = int(reading.model.apply(row)[0])
    drawn = {int(split) for split in path if 0 <= split < upper.topology.n_splits}
    return drawn | {~int(np.searchsorted(upper.last, leaf, side="right"))}


def _tuple(numbers: Floats) -> str:
    shown = ", ".join(number(float(value)) for value in numbers[:3])
    return shown if len(numbers) == 1 else f"({shown}{', …' if len(numbers) > 3 else ''})"
