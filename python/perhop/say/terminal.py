"""Documents as text: cells fold between words, wide tables go on below; nothing is cut."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from perhop.say.document import Cell, Heading, Part, Table

_WIDTH_WITHOUT_TERMINAL = 140
_BETWEEN = "   "


def show(*parts: Part) -> None:
    """Print a document to stdout, as wide as the terminal is."""
    at_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if at_terminal else _WIDTH_WITHOUT_TERMINAL
    for part in parts:
        if isinstance(part, Table):
            title, *rest = lines(part, width, at_terminal)
            print(_strong(title, at_terminal) if part.title else title, *rest, "", sep="\n")
        elif isinstance(part, Heading):
            print(_strong(part, at_terminal))
        else:  # whoever reads a file or a pipe looks for whole lines
            print(*(_folded(part, width) if at_terminal else [part]), sep="\n")


def _strong(text: str, at_terminal: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if at_terminal and os.environ.get("TERM") != "dumb" else text


def lines(table: Table, width: int, folds: bool = False) -> Iterator[str]:
    """Go through the lines of a table; `folds` is of one without columns."""
    yield from _folded(table.title, width) if table.title else ()
    rows = [[_text(cell) for cell in row] for row in table.rows[: table.most]]
    lefts = Table("", table.columns, rows).lefts()
    columns = [
        _Column(heading, [row[index] for row in rows], lefts[index])
        for index, heading in enumerate(table.columns)
    ]
    if not columns:
        yield from (part for (line,) in rows for part in (_folded(line, width) if folds else [line]))
    for block in _blocks(columns, width):
        widths = _widths(block, width)
        yield from _row([one.heading for one in block], block, widths)
        yield "─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
        for cells in zip(*(one.cells for one in block), strict=True):
            yield from _row(cells, block, widths)
    if table.total > len(rows):
        where = f"; all are {table.whole}" if table.whole else ""
        what = "rows" if columns else "lines"
        yield f"{len(rows)} of {table.total} {what}, {table.picked}{where}"


def _text(cell: Cell) -> str:
    return "-" if cell is None else str(cell)


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
        words = [word for text in (self.heading, *self.cells) for word in text.split()]
        return max(map(len, words if self.left else (*self.heading.split(), *self.cells)), default=0)


def _blocks(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Split columns that do not fit beside each other; each part begins with the first column."""
    block: list[_Column] = []
    for column in columns:
        if len(block) > 1 and sum(one.least + len(_BETWEEN) for one in block) + column.least > width:
            yield block
            block = [columns[0]]
        block.append(column)
    if block:
        yield block


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
    """Return the lines of a text; only spaces break them."""
    if len(text) <= width:
        return [text]
    found = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        fold = textwrap.TextWrapper(
            width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        found += fold.wrap(line) or [""]
    return found
