"""Numbers that are written as text: ``3,75``, ``1.234,5``, ``$3,750``, ``18.7%``, ``EUR 12``, ``40 kg``, ``(250)``.

A :class:`NumberText` says how numbers are written. :func:`recognise` finds it for the texts of a column. Most texts
say it themselves: of ``1.234,5`` the last mark is the decimal one, a mark that comes twice groups digits, and one that
is not followed by exactly three digits is decimal. ``3,750`` alone says nothing. Then other numbers decide: of the
same column (``950`` beside ``3,750``, never ``12500``), or of the same file. If nothing does, the user has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dtsemnet.names import shown

__all__ = ["MISSING_MARKS", "AmbiguousNumbers", "NumberText", "recognise"]

MISSING_MARKS = frozenset(
    ["?", "-", "--", "---", ".", "..", "...", "*", "na", "n.a.", "n. a.", "n/a", "n.d.", "nd", "k.a.", "none", "null",
     "nil", "nan", "missing", "unknown", "not available", "#n/a", "#null!", "#value!", "#div/0!", "#ref!",
     "\N{EN DASH}", "\N{EM DASH}", "\N{HORIZONTAL ELLIPSIS}"]
)  # fmt: skip
"""What people write, in small letters, where a number is not known."""

CURRENCIES = "$€£¥₹"
CODES = "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|TRY|USD|ZAR"
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
FEWEST_WITH_UNIT = 5
"""Different numbers that must share a unit: 2WD and 4WD are two kinds."""
LONGEST_UNIT = 12

_SIGN = "[-+\N{MINUS SIGN}]"
_BODY = rf"\d(?:[\d.,'_{SPACES}]*\d)?[.,]?(?:[eE][-+]?\d+)?|[.,]\d+(?:[eE][-+]?\d+)?"
_WRAPPED = re.compile(
    rf"(?P<sign>{_SIGN}?)(?:[{CURRENCIES}]|{CODES})?[{SPACES}]?(?P<body>{_SIGN}?(?:{_BODY}))[{SPACES}]?"
    rf"(?:[{CURRENCIES}%]|[^\W\d_][^\d{SPACES}]*|°[^\W\d_]?)?"
)
_UNIT = re.compile(rf"^{_SIGN}?({CODES})(?=[{SPACES}\d])|(?<=[\d{SPACES}])([^\W\d_][^\d{SPACES}]*|°[^\W\d_]?)$")


class AmbiguousNumbers(ValueError):
    """Texts that may mean either of two numbers."""


@dataclass(frozen=True)
class NumberText:
    """How the numbers of a column are written.

    Examples
    --------
    >>> NumberText(decimal=",", thousands=".").read("1.234,5")
    1234.5
    >>> NumberText(sign="%").read("18.7 %"), NumberText(sign="$", thousands=",").read("-$3,750")
    (18.7, -3750.0)
    >>> NumberText(sign="kg").read("40 kg"), NumberText().read("(40)")
    (40.0, -40.0)
    >>> NumberText().read("many") is None
    True
    """

    decimal: str = "."
    thousands: str = ""
    """What groups digits; empty if nothing does."""
    sign: str = ""
    """A sign of percent, a currency or a unit that stands beside the number, and does not change it."""

    @cached_property
    def _form(self) -> re.Pattern[str]:
        decimal, group = re.escape(self.decimal), re.escape(self.thousands)
        if self.thousands == " ":
            group = f"[{SPACES}]"
        grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+|" if self.thousands else ""
        number = rf"(?:(?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][-+]?\d+)?"
        signs = f"(?:{re.escape(self.sign)}s?)?" if self.sign else ""
        if self.sign and self.sign in CURRENCIES:
            signs = f"[{CURRENCIES}]?"
        return re.compile(rf"({_SIGN}?){signs}[{SPACES}]?({_SIGN}?{number})[{SPACES}]?{signs}")

    def read(self, text: str) -> float | None:
        """Read a number; None if it is not written like this. One in brackets is negative, as accountants write."""
        text = text.strip()
        if _is_in_brackets(text):
            number = self.read(text[1:-1])
            return None if number is None or text[1] in "(-+\N{MINUS SIGN}" else -number
        match = self._form.fullmatch(text)
        if match is None:
            return None
        digits = match[2]
        for mark in SPACES if self.thousands == " " else self.thousands:
            digits = digits.replace(mark, "")
        digits = digits.replace(self.decimal, ".").replace("\N{MINUS SIGN}", "-")
        if match[1] and digits[0] in "-+":
            return None
        return float(digits) * (-1.0 if match[1] in ("-", "\N{MINUS SIGN}") else 1.0)

    def is_whole(self, text: str) -> bool:
        """Whether the text of a number has no decimals and no exponent."""
        return self.decimal not in text and not re.search("[eE]", text)

    def to_dict(self) -> dict[str, str]:
        """The fields as plain JSON."""
        return {"decimal": self.decimal, "thousands": self.thousands, "sign": self.sign}

    @classmethod
    def from_dict(cls, given: Any) -> NumberText:
        """Undo :meth:`to_dict`; what is not of the right form is refused."""
        parts = {name: given.get(name) for name in ("decimal", "thousands", "sign")}
        longest = {"decimal": 1, "thousands": 1, "sign": LONGEST_UNIT}
        fits = all(isinstance(part, str) and len(part) <= longest[name] for name, part in parts.items())
        if not fits or parts["decimal"] not in (".", ","):
            raise ValueError(f"numbers as text must have decimal, thousands and sign, got {shown(parts)}.")
        return cls(**parts)


def recognise(texts: Iterable[str], *, known: NumberText | None = None) -> tuple[NumberText, tuple[str, ...]] | None:
    """Find how the numbers of a column are written.

    Parameters
    ----------
    texts : iterable of str
        The different texts of the column.
    known : NumberText, optional
        What the user says, or other columns of the file: its marks decide where these texts do not.

    Returns
    -------
    (NumberText, strangers) or None
        ``strangers`` are the texts that are no numbers; None if there are no numbers, or more than one text in ten is
        a stranger that does not look like a mark for a missing value.

    Raises
    ------
    AmbiguousNumbers
        If it cannot be said whether a mark is a decimal one or groups digits.

    Examples
    --------
    >>> recognise(["1,5", "0,25", "?"])
    (NumberText(decimal=',', thousands='', sign=''), ('?',))
    >>> recognise(["950", "3,750", "12,000"])
    (NumberText(decimal='.', thousands=',', sign=''), ())
    >>> recognise(["red", "blue"]) is None
    True
    """
    texts = list(texts)
    bodies = {text: body for text in texts if (body := _body(text)) is not None}
    others = [text for text in texts if text not in bodies]
    words = [text for text in others if text.strip().lower() not in MISSING_MARKS]
    if not bodies or len(words) > 0.1 * len(texts):
        return None
    if all(map(_is_in_brackets, bodies)):
        return None
    signs = {mark for text in bodies for mark in text if mark in CURRENCIES + "%"}
    units = {_unit(text) for text in bodies} - {""}
    if len(signs | units) > 1 or (units and len(bodies) < FEWEST_WITH_UNIT):
        return None
    signs |= units
    way = replace(_marks(list(bodies.values()), known), sign=next(iter(signs), ""))
    strangers = [text for text in texts if way.read(text) is None]
    if sum(text.strip().lower() not in MISSING_MARKS for text in strangers) > 0.1 * len(texts):
        return None
    return way, tuple(strangers)


def _body(text: str) -> str | None:
    """The number in a text, without brackets, a currency or a unit; None if there is none."""
    text = text.strip()
    wrapped = _WRAPPED.fullmatch(text[1:-1] if _is_in_brackets(text) else text)
    return None if wrapped is None or len(_unit(text)) > LONGEST_UNIT else wrapped["body"]


def _unit(text: str) -> str:
    """What is written beside a number in letters, in the singular; empty if nothing is."""
    text = text.strip()
    found = _UNIT.search(text[1:-1] if _is_in_brackets(text) else text)
    unit = (found[1] or found[2]) if found else ""
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


def _is_in_brackets(text: str) -> bool:
    return text[:1] == "(" and text[-1:] == ")" and len(text) > 2


def _marks(bodies: Sequence[str], known: NumberText | None) -> NumberText:
    """Decide which mark is decimal and which one groups digits."""
    decimals: set[str] = set()
    groups: set[str] = set()
    open_marks: set[str] = set()  # those that may be either
    for body in bodies:
        body = re.split("[eE]", body)[0].lstrip("-+\N{MINUS SIGN}")
        marks = [mark for mark in body if not mark.isdigit()]
        kinds = {" " if mark in SPACES else mark for mark in marks}
        groups |= kinds & {" ", "'", "_"}
        points = [mark for mark in marks if mark in ".,"]
        if len(set(points)) == 2:
            decimals.add(points[-1])
            groups.add(points[0])
        elif len(points) > 1 or (points and kinds & {" ", "'", "_"}):
            (decimals if len(points) == 1 else groups).add(points[0])
        elif points:
            before, _, after = body.partition(points[0])
            is_group = len(after) == 3 and 1 <= len(before) <= 3 and before[0] != "0"
            (open_marks if is_group else decimals).add(points[0])
    open_marks -= decimals | groups
    if known is not None:
        decimals |= {known.decimal} & open_marks
        groups |= set(known.thousands) & open_marks
        if known.decimal not in decimals | groups and open_marks:
            groups |= open_marks  # the decimal mark is known, and it is another one
    open_marks -= decimals | groups
    for mark in open_marks:
        plain = [body for body in bodies if mark not in body]
        if decimals:
            groups.add(mark)
        elif mark == ".":
            decimals.add(mark)  # as programs write numbers
        elif plain and all(len(re.split(r"\.", body.lstrip("-+"))[0]) <= 3 for body in plain):
            groups.add(mark)  # 950 beside 3,750, and never 12500
        else:
            example = next(body for body in bodies if mark in body)
            raise AmbiguousNumbers(f"{example!r} may be {example.replace(',', '')} or {example.replace(',', '.')}")
    decimal = next(iter(decimals - groups), "," if "." in groups else "." if known is None else known.decimal)
    thousands = next((mark for mark in " '_.," if mark in groups and mark != decimal), "")
    return NumberText("." if decimal == thousands else decimal, thousands)
