"""A tree in a notebook: a small drawing without any library, with the questions in full where the pointer rests.

Small trees show what they ask and answer; larger ones their shape and the classes of their leaves; the largest only
their size. The way to the right is "yes", as a row goes right if its score is positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.names import printable
from dtsemnet.notebook import FAINT, block, brief, escape, facts
from dtsemnet.tree.model import Identity, Model
from dtsemnet.tree.reading_cost import ReadingCost
from dtsemnet.tree.view import ReadableView, class_colors
from dtsemnet.tree.wording import Digits, largest_terms, shorten, write_question

__all__ = ["model_html", "tree_html"]

IN_WORDS, IN_SHAPE = 8, 128
"""Most leaves of a tree that is drawn with words, and of one that is drawn at all."""
_PER_LEAF, _LEVEL = 132, 74
_TERMS = 3  # as many are written in a split


def tree_html(tree: Any, title: str = "") -> str:
    """Draw a tree or a model and say how large it is."""
    view = ReadableView.of(tree)
    parts = [_drawing(view)] if view.tree.n_leaves <= IN_SHAPE else []
    return block(title or repr(tree).partition("(")[0], f"<div>{escape(_size(view))}</div>", *parts)


def model_html(model: Model) -> str:
    """Draw the tree of a model, and list its columns."""
    columns = [
        (column.name, f"{len(column.categories)} categories" if column.categories is not None else "numbers")
        for column in model.encoder.columns
    ]
    more = [] if isinstance(model.output, Identity) else [("output", repr(model.output))]
    more += [] if model.probability is None else [("probabilities", repr(model.probability))]
    shown = f"{len(columns)} columns: {', '.join(printable(name) for name, _ in columns[:12])}"
    listed = f"<div>{escape(shown)}{', ...' if len(columns) > 12 else ''}</div>"
    return tree_html(model, "Model") + block("", listed, facts(more) if more else "")


def _size(view: ReadableView) -> str:
    tree = view.tree
    kind = "class" if tree.is_classifier else ("constant" if tree.coef is None else "linear")
    leaves = f"{tree.n_leaves} {kind} {'leaf' if tree.n_leaves == 1 else 'leaves'}"
    return f"depth {tree.depth}, {leaves}; to read: {ReadingCost.of(view.model)} of {len(view.columns)}"


def _drawing(view: ReadableView) -> str:
    tree = view.tree
    words = tree.n_leaves <= IN_WORDS
    step, level = (_PER_LEAF, _LEVEL) if words else (max(6, 700 // tree.n_leaves), 26)
    children = tree.topology.children.tolist()
    x, y = {~leaf: (leaf + 0.5) * step for leaf in range(tree.n_leaves)}, {0 if tree.n_splits else -1: 0}
    for split, pair in enumerate(children):
        y.update(dict.fromkeys(pair, y[split] + 1))
    for split in reversed(range(tree.n_splits)):
        x[split] = sum(x[child] for child in children[split]) / 2
    width, top = max(tree.n_leaves * step, 150), 22 if words else 8
    height = tree.depth * level + 2 * top
    colors = class_colors(tree.n_outputs) if tree.is_classifier else []
    lines, marks = [], []
    for split, pair in enumerate(children):
        for side, child in zip(("no", "yes"), pair):
            ends = [(x[node], top + y[node] * level) for node in (split, child)]
            (x0, y0), (x1, y1) = (ends[0][0], ends[0][1] + 12 * words), (ends[1][0], ends[1][1] - 13 * words)
            lines.append(f'<path d="M{x0:.1f} {y0}L{x1:.1f} {y1}" stroke="{FAINT}" stroke-width="1.5" fill="none"/>')
            if words:
                at = f'x="{x0 + 0.5 * (x1 - x0):.1f}" y="{y0 + 0.5 * (y1 - y0) + 4:.1f}"'
                how = 'font-size="10" text-anchor="middle" fill="currentColor" opacity="0.75"'
                lines.append(f"<text {at} {how}>{side}</text>")
    for node in x:
        place = (x[node], top + y[node] * level)
        marks.append(_split(view, node, place, words) if node >= 0 else _leaf(view, ~node, place, words, colors))
    style = "max-width:100%;height:auto;font-family:sans-serif"
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" style="{style}" '
        f'aria-label="the tree">{"".join(lines)}{"".join(marks)}</svg>'
    )


def _split(view: ReadableView, split: int, place: tuple[float, float], words: bool) -> str:
    weight, bias = view.tree.weight[split], float(view.tree.bias[split])
    shown = largest_terms(weight)[:_TERMS] if np.count_nonzero(weight) > _TERMS else None
    full = " ".join(write_question(view, weight, bias, Digits.same(len(weight), 4)).parts) + " ?"
    title = f"<title>split {split}: {escape(full)}</title>"
    if not words:
        at = f'cx="{place[0]:.1f}" cy="{place[1]}"'
        return f'<circle {at} r="4" fill="{FAINT}" stroke="currentColor">{title}</circle>'
    if np.count_nonzero(weight) <= 1:
        label = full
    else:
        names = [view.labels[j] for j in (shown or np.flatnonzero(weight).tolist())]
        label = ", ".join(printable(name) for name in names) + (", ..." if shown else "")
    label = shorten(label, lambda text: len(text) <= 38)
    return f"<g>{title}{_box(place, 6.2 * len(label) + 16, 24, FAINT)}{_label(place, label)}</g>"


def _leaf(view: ReadableView, leaf: int, place: tuple[float, float], words: bool, colors: list[str]) -> str:
    tree = view.tree
    if tree.class_names is not None:
        best = int(tree.value[leaf].argmax())
        label, color = f"{printable(tree.class_names[best])} {tree.value[leaf, best]:.0%}", colors[best]
    else:
        sums = tree.coef is not None and tree.coef[leaf].any()
        label = "linear" if sums else ", ".join(brief(v) for v in tree.value[leaf].tolist()[:2])
        color = "#0072b2"
    title = f"<title>leaf {leaf}: {escape(label)}</title>"
    if not words:
        return f'<rect x="{place[0] - 3:.1f}" y="{place[1] - 3}" width="6" height="8" fill="{color}">{title}</rect>'
    text = shorten(f"{leaf}: {label}", lambda text: len(text) <= 20)
    return f"<g>{title}{_box(place, _PER_LEAF - 10, 26, color)}{_label(place, text)}</g>"


def _box(place: tuple[float, float], width: float, height: float, color: str) -> str:
    x, y = place[0] - width / 2, place[1] - height / 2
    # Without a ground of its own, it fits light and dark pages.
    colors = f'fill="{color}" fill-opacity="0.12" stroke="{color}" stroke-width="1.5"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="5" {colors}/>'


def _label(place: tuple[float, float], text: str) -> str:
    return (
        f'<text x="{place[0]:.1f}" y="{place[1] + 4}" font-size="11" text-anchor="middle" fill="currentColor">'
        f"{escape(text)}</text>"
    )
