"""What notebooks show: small pieces of HTML that load nothing, run nothing and fit any theme.

An object that is the last line of a cell shows itself by ``_repr_html_``. The pieces here are made of plain elements
with styles of their own; colours are those of the text around them, thinned, so that light and dark pages look alike
right. Every text passes through :func:`escape`: names of columns and classes come from data, and may hold anything.

:class:`Shown` is for answers: a frozen dataclass that inherits from it has a short ``repr`` and shows its fields as a
table.
"""

from __future__ import annotations

import dataclasses
import html
import importlib
import io
import math
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dtsemnet.names import printable

__all__ = [
    "Rewritten", "Shown", "block", "brief", "curves", "escape", "facts", "folded", "in_notebook", "markdown",
]  # fmt: skip

FAINT = "rgba(128,128,128,0.35)"
_GRID = "border-collapse:collapse;margin:0.3em 0"
_CELL = f"text-align:left;vertical-align:top;padding:2px 12px 2px 0;border-bottom:1px solid {FAINT}"
_PRE = f"max-height:22em;overflow:auto;margin:0.3em 0;padding:0.5em;border:1px solid {FAINT};border-radius:4px"
_LONGEST, _FEW = 120, 8
_COLORS = ("#0072b2", "#d55e00")


def escape(text: object) -> str:
    """Write any text for HTML: markup in it is shown and not obeyed, control characters are escapes.

    Examples
    --------
    >>> escape("a<b>\\x1b")
    'a&lt;b&gt;\\\\x1b'
    """
    return html.escape(printable(text))


def block(title: object, *parts: str) -> str:
    """Put parts below a heading."""
    head = f'<div style="font-weight:600">{escape(title)}</div>' if title else ""
    return f'<div style="max-width:60em;line-height:1.4">{head}{"".join(parts)}</div>'


def facts(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """Lay rows out as a table; the first cell of a row names it."""

    def line(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"

    heading = line("th", head) if head else ""
    return f'<table style="{_GRID}">{heading}{"".join(line("td", row) for row in rows)}</table>'


def folded(summary: object, text: str, longest: int = 20_000) -> str:
    """Fold a long text away behind a line that opens it; what is beyond ``longest`` letters is left out, and said."""
    more = f"\n... {len(text) - longest:,} more characters" if len(text) > longest else ""
    lines = "\n".join(printable(line) for line in text[:longest].split("\n"))
    content = f'<pre style="{_PRE}">{html.escape(lines + more)}</pre>'
    return f'<details><summary style="cursor:pointer">{escape(summary)}</summary>{content}</details>'


def brief(value: Any) -> str:
    """Write a value in one short line: numbers with four digits, long arrays and lists by their length.

    Examples
    --------
    >>> brief(0.123456), brief(np.arange(3.0)), brief(np.zeros(784)), brief(("no", "yes"))
    ('0.1235', '[0, 1, 2]', '784 numbers', '[no, yes]')
    """
    if isinstance(value, (bool, np.bool_)) or value is None:
        return str(value)
    if isinstance(value, (float, np.floating)):
        return f"{float(value) + 0.0:.4g}"
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or len(value) > _FEW:
            sizes = " x ".join(f"{n:,}" for n in value.shape)
            return f"{sizes} {'numbers' if value.dtype.kind in 'fiu' else 'values'}"
        value = value.tolist()
    if isinstance(value, Mapping):
        if len(value) > _FEW:
            return f"{len(value):,} values"
        return ", ".join(f"{printable(name)}: {brief(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        if value and dataclasses.is_dataclass(value[0]):
            return f"{len(value):,} x {type(value[0]).__name__}"
        return f"[{', '.join(map(brief, value))}]" if len(value) <= _FEW else f"{len(value):,} values"
    text = printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


class Shown:
    """An answer: a dataclass with a short ``repr``, which a notebook shows as its sentence and its fields."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={text}" for name, text in self._brief_fields())
        return f"{type(self).__name__}({fields})"

    def _repr_html_(self) -> str:
        own_words = type(self).__str__ is not object.__str__
        sentence = f"<div>{escape(self)}</div>" if own_words else ""
        return block(_words(type(self).__name__), sentence, facts(self._brief_fields()))

    def _brief_fields(self) -> list[tuple[str, str]]:
        """The fields that say something, in short."""
        values = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.repr]  # type: ignore[arg-type]
        empty = (None, (), float("inf"))
        said = [(name, value) for name, value in values if not any(value is e or _equal(value, e) for e in empty)]
        return [(name, brief(value)) for name, value in said if not (isinstance(value, float) and math.isnan(value))]


def curves(series: Mapping[str, Sequence[float | None]], mark: int | None = None) -> str:
    """Draw curves over a common axis, each to its own scale, with first and last value; ``mark`` marks a place."""
    width, height, pad = 360, 90, 6
    n = max((len(values) for values in series.values()), default=0)
    if n < 2:
        return ""

    def x(k: float) -> float:
        return pad + k * (width - 2 * pad) / (n - 1)

    lines, legend = [], []
    if mark is not None:
        at = f"{x(mark):.1f}"
        line = 'stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="3 3"'
        lines.append(f'<path d="M{at} {pad}V{height - pad}" {line}/>')
    for color, (name, values) in zip(_COLORS, series.items()):
        known = [(k, float(v)) for k, v in enumerate(values) if v is not None and math.isfinite(v)]
        if len(known) < 2:
            continue
        low, high = (end(v for _, v in known) for end in (min, max))
        step = max(1, len(known) // width)
        kept = [*known[::step], known[-1]]
        y = [height - pad - (v - low) / ((high - low) or 1.0) * (height - 2 * pad) for _, v in kept]
        points = " ".join(f"{x(k):.1f},{y_:.1f}" for (k, _), y_ in zip(kept, y))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"/>')
        square = f'<span style="color:{color}">&#9632;</span>'
        legend.append(f"{square} {escape(name)} {brief(known[0][1])} &rarr; {brief(known[-1][1])}")
    drawing = f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="curves">'
    frame = f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="4" fill="none" stroke="{FAINT}"/>'
    return f"<div>{drawing}{frame}{''.join(lines)}</svg></div><div>{' &nbsp; '.join(legend)}</div>"


def markdown(text: str) -> str:
    """Show a report in Markdown: headings, lists, tables, paragraphs and code; all else is text."""
    parts: list[str] = []
    rows: list[list[str]] = []

    def inline(words: str) -> str:
        return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(words))

    def flush() -> None:
        if rows:
            head, *body = rows
            parts.append(facts(body, head))
            rows.clear()

    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
            if not all(set(cell) <= set("-: ") and cell for cell in cells):
                rows.append(cells)
            continue
        flush()
        if line.startswith("#"):
            parts.append(f'<div style="font-weight:600;margin-top:0.6em">{inline(line.lstrip("# "))}</div>')
        elif line.strip():
            mark = "&bull; " if line.startswith("- ") else ""
            parts.append(f"<div>{mark}{inline(line.removeprefix('- '))}</div>")
    flush()
    return block("", *parts)


def in_notebook() -> bool:
    """Whether the program is run by a notebook. It does not import IPython to find out."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and type(running).__name__ in ("ZMQInteractiveShell", "Shell")  # Shell: Colab


class Rewritten:
    """One output of a cell that is written over, at most five times a second."""

    def __init__(self) -> None:
        self.last, self.display = 0.0, None

    def open(self) -> None:
        """Put an empty output below the cell."""
        self.display = importlib.import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, renderable: Any, *, at_once: bool = False) -> None:
        """Replace what the output shows."""
        now = time.monotonic()
        if self.display is None or (now - self.last < 0.2 and not at_once):
            return
        self.last = now
        from rich.console import Console  # here: trees import this module, and few of them write over anything

        console = Console(file=io.StringIO(), width=100, color_system=None, force_jupyter=False)
        with console.capture() as capture:
            console.print(renderable)
        self.display.update({"text/plain": capture.get().rstrip("\n")}, raw=True)


def _words(name: str) -> str:
    """The name of a class as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def _equal(value: Any, other: Any) -> bool:
    return isinstance(value, type(other)) and not isinstance(value, np.ndarray) and bool(value == other)
