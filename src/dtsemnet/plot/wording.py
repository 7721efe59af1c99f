"""Splits and leaves in few words: the largest terms first, the rest as an ellipsis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.plot.style import MINUS, fit_text, number, text_width

__all__ = ["leaf_terms", "percent", "split_title"]


def split_title(weight: Floats, bias: float, size: Floats, labels: Sequence[str], width: float, font: float) -> str:
    """Write ``w . x > -b``, divided by the weight of its largest term: whole if it fits, else with its largest terms.

    Examples
    --------
    >>> split_title(np.array([2.0]), -3.0, np.array([1.0]), ["age"], 2.0, 7)
    'age > 1.5'
    >>> split_title(np.array([-2.0]), 3.0, np.array([1.0]), ["age"], 2.0, 7)
    'age < 1.5'
    >>> weight = np.array([2.0, -1.0, 0.1])
    >>> split_title(weight, -3.0, weight, ["age", "height", "a very long name"], 1.5, 7)
    'age − 0.5 height … > 1.5'
    """
    used = np.argsort(-np.abs(size), kind="stable")
    used = used[weight[used] != 0]
    if not len(used):
        return f"0 > {number(-bias)}"
    lead = float(weight[used[0]])
    with np.errstate(over="ignore"):
        weight, threshold = weight / lead, float(np.float64(-bias) / lead)
    ending = f" {'>' if lead > 0 else '<'} {number(threshold)}"
    if len(used) == 1:
        return fit_text(labels[used[0]], width - text_width(ending, font) - 0.03, font) + ending
    first = fit_text(labels[used[0]], width - text_width(f"…{ending}", font) - 0.05, font)
    best = f"{first.removesuffix('…')} …{ending}" if first else "score > 0"
    for n_terms in range(1, len(used) + 1):
        text = _sum([(float(weight[j]), labels[j]) for j in used[:n_terms]])
        text += (" …" if n_terms < len(used) else "") + ending
        if text_width(text, font) > width:
            break
        best = text
    return best


def leaf_terms(
    coef: Floats, intercept: float, size: Floats, labels: Sequence[str], width: float, font: float, n_lines: int
) -> list[str]:
    """Write a linear model, the largest terms first, as many as fit into the lines.

    Examples
    --------
    >>> coef = np.array([0.5, -2.0, 0.1])
    >>> leaf_terms(coef, 3.0, coef, ["age", "height", "weight"], 1.0, 7, 2)
    ['3 − 2 height', '+ 0.5 age …']
    """
    order = np.argsort(-np.abs(size), kind="stable")
    order = order[coef[order] != 0]
    lines = [number(intercept)]
    for place, j in enumerate(order):
        term = f"{'+' if coef[j] > 0 else MINUS} {_term(abs(float(coef[j])), labels[j])}"
        rest = " …" if place < len(order) - 1 else ""
        if text_width(f"{lines[-1]} {term}{rest}", font) <= width:
            lines[-1] += f" {term}"
        elif len(lines) < n_lines:
            lines.append(term)
        else:
            return [*lines[:-1], lines[-1] + " …"]
    return lines


def percent(share: float) -> str:
    """Write a share, small ones not as 0.

    Examples
    --------
    >>> percent(0.5), percent(0.004), percent(0.0), percent(0.9996)
    ('50 %', '<1 %', '0 %', '>99 %')
    """
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _sum(terms: list[tuple[float, str]]) -> str:
    text = (MINUS if terms[0][0] < 0 else "") + _term(abs(terms[0][0]), terms[0][1])
    for weight, label in terms[1:]:
        text += (f" {MINUS} " if weight < 0 else " + ") + _term(abs(weight), label)
    return text


def _term(size: float, label: str) -> str:
    shown = number(size, 2)
    return label if shown == "1" else f"{shown} {label}"
