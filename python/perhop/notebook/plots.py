"""Runs in a notebook: figures by name, as attributes, and what a run shows of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

if TYPE_CHECKING:
    import pandas as pandas_
    import polars as pl

    from perhop.report.figure import Figure
    from perhop.run.record import StoredRun


@dataclass(frozen=True)
class Shown:
    """A figure, which a notebook draws where it is the value of a cell.

    Parameters
    ----------
    figure
        Not drawn yet.
    """

    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as SVG; empty where every value is zero."""
        from perhop.plot import style

        picture = self.figure.svg()
        return "" if picture is None else style.alone(picture)

    def _repr_svg_(self) -> str | None:
        return self.svg or None

    def _repr_html_(self) -> str:
        return self.svg or f"<p>{self.figure.title}: every value is zero.</p>"

    def save(self, path: str | Path) -> Path:
        """Write the figure as SVG, PDF or PNG, or its numbers as CSV, by the path's suffix; return the path.

        Raises
        ------
        ValueError
            The name ends otherwise, or every value is zero.
        """
        from perhop.report.figure import Format
        from perhop.run.folder import always, write_file

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
    """The figures of a run: ``result.plot.cwnd()``, ``result.plot("class-delay")``; ``dir`` lists them."""

    def __init__(self, run: Callable[[], StoredRun]) -> None:
        self._run = run

    def __call__(self, name: str) -> Shown:
        """Return a figure by its name or a short one (docs/figures.md).

        Raises
        ------
        ValueError
            The run has no such figure; with those that it has.
        """
        from perhop.report import figures

        try:
            return Shown(figures.find(self._run(), name))
        except KeyError as error:
            raise ValueError(f"no figure {name!r}: there is {', '.join(error.args[1])}") from None

    def __getattr__(self, name: str) -> Callable[[], Shown]:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._words()
        if name not in known:
            raise AttributeError(f"no figure {name}: there is {', '.join(sorted(known))}")
        return lambda: self(known[name])

    def __dir__(self) -> list[str]:
        return sorted(self._words())

    def _words(self) -> dict[str, str]:
        """Return the names that Python can say, and the figures that they stand for."""
        from perhop.report import figures

        own = figures.names(self._run())
        short = {word: name for word, name in figures.ALIASES.items() if name in own}
        return {name.replace("-", "_"): name for name in own if name.replace("-", "_").isidentifier()} | short


def pandas(tables: Mapping[str, pl.DataFrame], name: str) -> pandas_.DataFrame:
    """Return one of the tables as pandas has it.

    Raises
    ------
    ValueError
        There is no such table.
    ImportError
        pandas is not installed.
    """
    if name not in tables:
        raise ValueError(f"no table {name!r}: there is {', '.join(tables)}")
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "pandas is not installed: pip install pandas; without it, take the polars frame"
        ) from None

    # without pyarrow, which polars' own conversion needs
    def column(one: pl.Series) -> object:
        if one.dtype.is_integer() and one.null_count():
            return pd.array(one.to_list(), dtype="Int64")
        return one.to_numpy()

    return pd.DataFrame({one.name: column(one) for one in tables[name].iter_columns()})


def html(run: StoredRun) -> str:
    """Return what a notebook shows of a run: what each class got, and the figure that tells most."""
    from perhop.notebook.screen import render

    return render(run)
