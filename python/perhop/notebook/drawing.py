"""A run in a notebook: figures by name, as attributes, and the first screen of its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from perhop.plot import style
from perhop.report import answer, figures
from perhop.report.figure import Figure, Format
from perhop.report.run import write as write_page
from perhop.run.folder import always, write_file
from perhop.say import html

if TYPE_CHECKING:
    from perhop.run.record import StoredRun

__all__ = ["Plots", "Shown", "first_screen", "write_page"]


@dataclass(frozen=True)
class Shown:
    """A figure, which a notebook draws where it is the value of a cell."""

    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as SVG; empty where every value is zero."""
        picture = self.figure.svg()
        return "" if picture is None else style.alone(picture)

    def _repr_svg_(self) -> str | None:
        return self.svg or None

    def _repr_html_(self) -> str:
        return self.svg or f"<p>{self.figure.title}: every value is zero.</p>"

    def save(self, path: str | Path) -> Path:
        """Write the figure as SVG, PDF or PNG, or its numbers as CSV; return the path.

        Raises
        ------
        ValueError
            The name ends otherwise, or every value is zero.
        """
        path = Path(path)
        form = path.suffix.removeprefix(".")
        if form not in get_args(Format):
            raise ValueError(f"{path}: a figure is written as {', '.join(get_args(Format))}")
        content = self.figure.written(cast("Format", form))
        if content is None:
            raise ValueError(f"{self.figure.title}: every value is zero, so there is nothing to draw")
        write_file(path, content, always)
        return path


class Plots:
    """The figures of a run, as ``result.plot.cwnd()`` or ``result.plot("class-delay")``."""

    def __init__(self, run: Callable[[], StoredRun]) -> None:
        self._run = run

    def __call__(self, name: str) -> Shown:
        """Return a figure by its name or a short one (docs/figures.md).

        Raises
        ------
        ValueError
            The run has no such figure; with those that it has.
        """
        try:
            return Shown(figures.find(self._run(), name))
        except KeyError as error:
            raise ValueError(f"no figure {name!r}: known here: {', '.join(error.args[1])}") from None

    def __getattr__(self, name: str) -> Callable[[], Shown]:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._words()
        if name not in known:
            raise AttributeError(f"no figure {name}: known here: {', '.join(sorted(known))}")
        return lambda: self(known[name])

    def __dir__(self) -> list[str]:
        return sorted(self._words())

    def _words(self) -> dict[str, str]:
        """Return the names as attributes of Python, and the figures that they stand for."""
        own = figures.names(self._run())
        short = {word: name for word, name in figures.ALIASES.items() if name in own}
        return {name.replace("-", "_"): name for name in own if name.replace("-", "_").isidentifier()} | short


def first_screen(run: StoredRun) -> str:
    """Return the answer of a run, its most telling figure, and its checks, as HTML without styles."""
    first = answer.of_run(run)
    title = f"<p><b>{escape(run.record.scenario)}, seed {run.record.seed}</b></p>"
    sentences = "".join(f"<p>{escape(one)}</p>" for one in first.sentences)
    pills = " · ".join(escape(one.text) for one in first.pills if one.look != "plain")
    figure = "" if first.figure is None else style.alone(str(first.figure.svg))
    table = "" if first.table is None else html.table(first.table)
    return f"<div>{title}{sentences}<p><small>{pills}</small></p>{figure}{table}</div>"
