"""A figure of a run, or of a store, that is not drawn yet."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perhop.plot import style
from perhop.report import page

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

Format = Literal["svg", "pdf", "png", "csv"]
"""The format of a figure; CSV is the table that it is drawn from."""


@dataclass(frozen=True)
class Figure:
    """A figure of a run or of a store, not drawn yet, whose name is its id on the page.

    `svg` draws it from `data`, a long table with units in the names of columns, unless every value is zero.
    Its part of a run's page is ``topology``, ``classes``, ``series``, ``early`` or ``tcp``, of a store's
    ``response``. One that answers on a page has `panels` as `perhop.plot.panels.data` has them.
    """

    name: str
    title: str
    caption: str
    svg: Callable[[], str | None]
    data: Callable[[], pl.DataFrame]
    part: str
    panels: Callable[[], str] | None = None

    def draw(self, folder: Path, view: str = "") -> page.Drawing | None:
        """Return the figure for a page, with its command; None where every value is zero.

        The options of `view` choose the part of a trace, or of a campaign, that is shown.
        """
        words = shlex.join(["perhop", "figure", str(folder), self.name])
        return self.drawing(f"{words} {view}".rstrip() if self.part in ("tcp", "response") else words)

    def drawing(self, command: str) -> page.Drawing | None:
        """Return the figure for a page, above the command that makes it again, as `draw` does."""
        picture = self.svg()
        if picture is None:
            return None
        lines = self.panels() if self.panels is not None else ""
        numbers = self.data().write_csv().encode()
        return page.drawing(self.name, self.title, picture, self.caption, command, numbers, lines)

    def written(self, format: Format) -> bytes | None:
        """Return the figure as a file, or its numbers as CSV; None where every value is zero."""
        if format == "csv":
            return self.data().write_csv().encode()
        if format == "svg":
            picture = self.svg()
            return None if picture is None else style.alone(picture).encode()
        with style.also_as(format) as file:
            return None if self.svg() is None else file.getvalue()
