"""Scenarios that run themselves, and runs that draw themselves."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from perhop import notebook
from perhop.run import record
from perhop.run import run as running
from perhop.run.folder import never, new_folder
from perhop.scenario import scenario as read

if TYPE_CHECKING:
    import pandas as pandas_
    import polars as pl

    from perhop.notebook.drawing import Plots


class Scenario(read.Scenario):
    """A scenario that can be run; see `perhop.scenario.scenario.Scenario` for its fields."""

    @classmethod
    def of(cls, plain: read.Scenario) -> Self:
        """Give a scenario that was read by other means as one that can be run."""
        return cls(plain.source, plain.name, plain.overrides, plain.files)

    def run(
        self,
        *,
        trace: Sequence[str] = (),
        keep: running.Keep | None = None,
        progress: running.Progress | None = None,
        pcap: Mapping[str, Path] | None = None,
    ) -> Result:
        """Run the scenario to its end; see `perhop.run.run.run`."""
        done = running.run(self, trace=trace, keep=keep, progress=progress, pcap=pcap)
        return Result(**vars(done))


class Result(running.Result):
    """The result of a run, to be saved and drawn; see `perhop.run.run.Result` for its tables."""

    scenario: Scenario

    @property
    def plot(self) -> Plots:
        """The figures of the run: ``plot.cwnd()``, ``plot("class-delay")``."""
        return notebook.drawing.Plots(self._stored)

    def _repr_html_(self) -> str:
        return notebook.drawing.first_screen(self._stored())

    def _stored(self) -> StoredRun:
        """Return the run as read back from a folder of its own, which goes with it."""
        return StoredRun.load(self._folder)

    @cached_property
    def _folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="perhop-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.save(folder / "run")
        return folder / "run"

    def pandas(self, table: str = "flows") -> pandas_.DataFrame:
        """Return a table as a pandas frame; missing values are NaN, and NA among whole numbers.

        Parameters
        ----------
        table
            ``flows``, ``links``, ``queues``, ``udp``, ``marks``, ``conditioners``, ``classes`` or
            ``series``; ``applications``, ``loads``, ``videos`` or ``calls`` where the run has any.

        Raises
        ------
        ValueError
            There is no such table.
        ImportError
            pandas is not installed.
        """
        return pandas(self.tables(), table)

    def save(self, folder: str | Path, *, replace: bool = False) -> StoredRun:
        """Write the run into a folder, as ``perhop run`` does, and return it as read back.

        Parameters
        ----------
        replace
            Put it in the place of an earlier run, if one is there.

        Raises
        ------
        OSError
            The folder cannot be made, or what is there must stay.
        """
        with new_folder(folder, record.is_run if replace else never) as partial:
            record.write(self, self.scenario, partial, trace=tuple(self.trace))
        return StoredRun.load(folder)

    def report(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Save the run unless this very run is there, and write its page; return its path.

        Parameters
        ----------
        folder, replace
            As for `save`.

        Raises
        ------
        OSError
            As for `save`.
        """
        if record.is_run(Path(folder)):
            stored = StoredRun.load(folder)
            if stored.is_of(self):
                return stored.report()
        return self.save(folder, replace=replace).report()


class StoredRun(record.StoredRun):
    """A run read from its folder, to be drawn; see `perhop.run.record.StoredRun` for its tables."""

    def report(self) -> Path:
        """Write the page about the run into its folder, as ``perhop report`` does; return its path."""
        return notebook.drawing.write_page(self)

    @property
    def plot(self) -> Plots:
        """The figures of the run: ``plot.cwnd()``, ``plot("class-delay")``."""
        return notebook.drawing.Plots(lambda: self)

    def _repr_html_(self) -> str:
        return notebook.drawing.first_screen(self)

    def pandas(self, table: str = "flows") -> pandas_.DataFrame:
        """Return a table as pandas has it; as `perhop.Result.pandas`."""
        return pandas(self.tables, table)

    def scenario(self) -> Scenario:
        """Return the scenario as it was run, overrides included."""
        return self._runnable

    @cached_property
    def _runnable(self) -> Scenario:
        return Scenario.of(super().scenario())


def pandas(tables: Mapping[str, pl.DataFrame], name: str) -> pandas_.DataFrame:
    """Return one of the tables as a pandas frame, like `Result.pandas`."""
    if name not in tables:
        raise ValueError(f"no table {name!r}: known here: {', '.join(tables)}")
    try:
        import pandas as pd  # noqa: PLC0415, optional
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
