"""Printed tables, whose rows name the cell where a number is missing or none."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from perhop.papers.error import PackError
from perhop.units import counted


class PublishedRow:
    """A row of a printed table: text by column, empty where the paper prints nothing.

    `where` is its file and line.
    """

    def __init__(self, where: str, cells: Mapping[str, str]) -> None:
        self._where = where
        self._cells = cells

    def __getitem__(self, column: str) -> str:
        """Return the text of a cell; a column that the table does not have is a `PackError`."""
        if column not in self._cells:
            raise PackError(f"{self._where}: no column {column!r}; there is {', '.join(self._cells)}")
        return self._cells[column]

    def number(self, column: str) -> float:
        """Return the number in a cell.

        Raises
        ------
        PackError
            The cell is empty or holds something else.
        """
        try:
            value = float(self[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(column, "a number")
        return value

    def error(self, column: str, wanted: str) -> PackError:
        """Return the error of a cell that does not hold what is wanted."""
        return PackError(f"{self._where}: column {column!r} is {self[column]!r}, not {wanted}")


def read_table(path: Path, text: str) -> tuple[PublishedRow, ...]:
    """Read a table with its columns in the first line.

    Parameters
    ----------
    path
        Where `text` was found, for errors.
    text
        Comma-separated values.

    Raises
    ------
    PackError
        There is no row, or a row has more or fewer cells than there are columns.
    """
    lines = csv.reader(text.splitlines())
    columns = next(lines, [])
    rows = []
    for cells in lines:
        where = f"{path}:{lines.line_num}"
        if len(cells) != len(columns):
            raise PackError(f"{where}: {counted(len(cells), 'cell')} for {counted(len(columns), 'column')}")
        rows.append(PublishedRow(where, dict(zip(columns, cells, strict=True))))
    if not rows:
        raise PackError(f"{path}: has no rows")
    return tuple(rows)
