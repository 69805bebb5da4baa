"""Documents as text: cells fold between words, wide tables go on below; nothing is cut."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest

from perhop.say.document import Heading, Part, Table
from perhop.units import UNITS

_WIDTH_WITHOUT_TERMINAL = 140
_BETWEEN = "   "
_TIE = "\0"
_TIED = re.compile(
    rf"(?<=\d) (?=(?:{'|'.join(map(re.escape, UNITS))})(?![\w/]))|(?<=\d) (?=± )|(?<=±) (?=\d)"
)
"""The spaces between a number and its unit, and to either side of ±."""
_WORD = re.compile(r"[^ \n]+")


def show(*parts: Part, whole: bool = False) -> None:
    """Print a document to stdout, as wide as the terminal is; `whole` with every row of its tables."""
    at_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if at_terminal else _WIDTH_WITHOUT_TERMINAL

    def folded(text: str) -> list[str]:  # whoever reads a file or a pipe looks for whole lines
        return _folded(text, width) if at_terminal else [text]

    for part in parts:
        if isinstance(part, Table):
            part = replace(part, most=None) if whole else part
            title, *rest = lines(part, width, at_terminal)
            print(_strong(title, at_terminal) if part.title else title, *rest, "", sep="\n")
        elif isinstance(part, Heading):
            print(*(_strong(line, at_terminal, "1;4") for line in folded(part)), sep="\n")
        else:
            print(*folded(part), sep="\n")


def _strong(text: str, at_terminal: bool, how: str = "1") -> str:
    return f"\x1b[{how}m{text}\x1b[0m" if at_terminal and os.environ.get("TERM") != "dumb" else text


def lines(table: Table, width: int, folds: bool = False) -> Iterator[str]:
    """Go through the lines of a table; `folds` is of one without columns."""
    yield from _folded(table.title, width) if table.title else ()
    rows = [["-" if cell is None else str(cell) for cell in row] for row in table.rows[: table.most]]
    lefts = Table("", table.columns, rows).lefts()
    columns = [
        _Column(heading, [row[index] for row in rows], lefts[index])
        for index, heading in enumerate(table.columns)
    ]
    if not columns:
        yield from (part for (line,) in rows for part in (_folded(line, width) if folds else [line]))
    for place, block in enumerate(_blocks(columns, width)):
        if place:
            yield ""
        widths = _widths(block, width)
        yield from _row([one.heading for one in block], block, widths)
        yield "─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
        for cells in zip(*(one.cells for one in block), strict=True):
            yield from _row(cells, block, widths)
    if table.total > len(rows):
        where = f"; all are {table.whole}" if table.whole else ""
        what = "rows" if columns else "lines"
        yield f"{len(rows)} of {table.total} {what}, {table.picked}{where}"


@dataclass(frozen=True)
class _Column:
    heading: str
    cells: Sequence[str]
    left: bool

    @property
    def most(self) -> int:
        """Its width where nothing folds."""
        return max(map(len, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        """Its width where all folds that may: a number stays with its unit."""
        folding = (self.heading, *self.cells) if self.left else (self.heading,)
        words = [word for text in folding for word in _WORD.findall(_tied(text))]
        return max(map(len, words if self.left else (*words, *self.cells)), default=0)


def _blocks(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Split columns that do not fit beside each other; each part begins with those that name a row."""
    keys = _keys(columns, width)
    block: list[_Column] = []
    for place, column in enumerate(columns):
        if place > len(keys) and _least([*block, column]) > width:
            yield block
            block = keys.copy()
        block.append(column)
    if block:
        yield block


def _keys(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Return the fewest first columns that tell all rows apart, as far as there is room for one more.

    An empty cell stands for the one above it.
    """

    def own_or_above(above: str, cell: str) -> str:
        return cell or above

    full = [list(accumulate(one.cells, own_or_above)) for one in columns]
    apart = (
        many
        for many in range(1, len(columns) + 1)
        if len(set(zip(*full[:many], strict=True))) == len(columns[0].cells)
    )
    many = next(apart, 1)
    while many > 1 and max(_least([*columns[:many], one]) for one in columns[many:] or columns[:1]) > width:
        many -= 1
    return list(columns[:many])


def _least(block: Sequence[_Column]) -> int:
    return sum(one.least for one in block) + len(_BETWEEN) * (len(block) - 1)


def _widths(block: Sequence[_Column], width: int) -> list[int]:
    """Return the widths of columns: the widest fold first."""
    widths, least = [one.most for one in block], [one.least for one in block]
    room = width - len(_BETWEEN) * (len(block) - 1)
    while sum(widths) > room:
        index = max(range(len(block)), key=lambda one: (widths[one] > least[one], widths[one]))
        if widths[index] == least[index]:
            break
        widths[index] -= 1
    return widths


def _row(cells: Sequence[str], block: Sequence[_Column], widths: Sequence[int]) -> Iterator[str]:
    lines = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*lines, fillvalue=""):
        placed = (
            part.ljust(width) if one.left else part.rjust(width)
            for part, one, width in zip(parts, block, widths, strict=True)
        )
        yield _BETWEEN.join(placed).rstrip()


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a text; only spaces break them, but none within a number with its unit."""
    if len(text) <= width:
        return [text]
    found = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        fold = textwrap.TextWrapper(
            width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        found += [part.replace(_TIE, " ") for part in fold.wrap(_tied(line))] or [""]
    return found


def _tied(text: str) -> str:
    return _TIED.sub(_TIE, text)
