"""Headings, sentences, tables and verdicts of commands and pages; figures are in `report`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.units import UNITS, bit_rate, duration, percent, size

MOST_ROWS = 20
"""Rows of a table that are shown at once unless it is told otherwise."""

_FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_UNIT = "|".join(map(re.escape, (*UNITS, "of", "to")))
_NUMBER = re.compile(rf"[-+−±]?\d[\d.,]*(?:e[-+]?\d+)?(?:$| (?:(?:{_UNIT})(?![\w-])|\W))|[-–]$")
"""A number, alone or with a unit; `1 tcp-friendly` is a name."""


class Heading(str):
    """The heading of all parts up to the next one."""


class Verdict(str):
    """The outcome of a claim or of a check; a page draws it as a badge.

    The look is a verdict, ``good``, ``bad`` or ``open``; without it the text.
    """

    look: str

    def __new__(cls, text: str, look: str = "") -> Verdict:
        """Make text with a look."""
        made = super().__new__(cls, text)
        made.look = look or text
        return made


Cell = str | int | None
"""Text (also of numbers with a unit or decimals), a count, or None for what does not exist."""


@dataclass(frozen=True)
class Table:
    """A table of text and counts; without columns, lines under a title.

    A page's first columns, `left` of them, are set to the left; without it numbers are to the right, as in a
    terminal. A page has a sentence below the title, the command that makes the numbers again, and a box that
    hides the columns of `detail`. At once `most` rows are shown, else all, and `picked` calls them, such as
    `the busiest`; all are `whole`, such as `in FILE`. Where `rows` are already a choice there are `of`.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: int | None = None
    text: str = ""
    command: str = ""
    whole: str = ""
    picked: str = "the first"
    most: int | None = None
    of: int | None = None
    detail: Sequence[str] = ()

    @property
    def total(self) -> int:
        """The number of rows that there are."""
        return len(self.rows) if self.of is None else self.of

    def lefts(self) -> list[bool]:
        """Return for each column whether it is set to the left: the first, and those of words."""
        places = range(len(self.columns))
        if self.left is not None:
            return [index < self.left for index in places]
        cells = (["-" if row[index] is None else str(row[index]) for row in self.rows] for index in places)
        return [not index or not all(map(_NUMBER.match, own)) for index, own in enumerate(cells)]


Part = str | Table
"""A part of a document; text that is no heading is a paragraph."""


def filled(title: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], **more: Any) -> Table:
    """Return a table filled from rows by key, the first `MOST_ROWS` shown; `more` is as of a `Table`.

    Columns are texts with ``|`` between them, empty ones left out: a heading, and after ``: `` the key of its
    values, or a text with keys in braces, each with a form where the key's end does not tell the unit (``%``
    of a share, ``B`` of bytes). A heading that begins with ``+`` is detail.
    >>> row = {"name": "up", "goodput_bit_s": 1e6, "took_s": None, "busy": 0.5, "lost": 0}
    >>> columns = ["flow: name | goodput: goodput_bit_s | took: took_s", "busy: {busy:%} | +lost: {lost} p"]
    >>> filled("", columns, [row]).rows
    [['up', '1 Mbit/s', None, '50 %', '0 p']]
    """
    split = [part.rpartition(": ") for part in " | ".join(filter(None, columns)).split(" | ")]
    names = [heading or of for heading, _, of in split]
    headings = [name.removeprefix("+") for name in names]
    detail = [name[1:] for name in names if name.startswith("+")]
    cells = [[_cell(of.removeprefix("+"), row) for _, _, of in split] for row in rows]
    return Table(title, headings, cells, detail=detail, **{"most": MOST_ROWS, **more})


def _cell(of: str, row: Mapping[str, Any]) -> Cell:
    only = _FIELD.fullmatch(of)
    if only or "{" not in of:
        return _written(only[1], row[only[1]], only[2]) if only else _written(of, row[of])

    def text(found: re.Match[str]) -> str:
        value = _written(found[1], row[found[1]], found[2])
        return "-" if value is None else str(value)

    return _FIELD.sub(text, of)


def _written(key: str, value: Any, form: str | None = None) -> Cell:
    """Return a value with its unit, which its key or a form tells."""
    if value is None or isinstance(value, str):
        return value
    if form in ("%", "B"):
        return percent(value) if form == "%" else size(value)
    if key.endswith("_s"):
        return bit_rate(value) if key.endswith("_bit_s") else duration(value)
    return format(value, form) if form else f"{value:.3f}" if isinstance(value, float) else value
