"""What a campaign measured, by treatment and replication."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.stats.intervals import Interval, mean_interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measurements:
    """What a campaign measured.

    Attributes
    ----------
    scalars
        As `perhop.experiment.store.Store.scalars` gives it: a row for each run, response and group; columns
        `treatment`, one for each factor, `replication`, `response`, one for each column that a response is
        grouped by, `value`.
    """

    scalars: pl.DataFrame

    def rows(self, response: str | None = None, **where: str) -> pl.DataFrame:
        """Give the rows of a response at these levels and groups, by replication; of all without one.

        Raises
        ------
        KeyError
            There is none.
        """
        frame = self.scalars if response is None else self._responses.get((response,), self.scalars.clear())
        frame = frame.filter(**where) if where else frame
        if frame.is_empty():
            raise KeyError(" ".join([response or "", *(f"{name}={one}" for name, one in where.items())]))
        return frame.sort("replication", maintain_order=True)

    def values(self, response: str, **where: str) -> Floats:
        """Give a response at these levels and groups: a value for each replication, NaN where a run has none.

        Raises
        ------
        KeyError
            It was not measured there.
        ValueError
            There are several values of a replication: a factor or a group is missing in `where`.
        """
        frame = self.rows(response, **where)
        if frame["replication"].n_unique() != frame.height:
            raise ValueError(f"{response} at {where}: several values of a replication")
        return frame["value"].fill_null(np.nan).to_numpy().astype(np.float64)

    def mean(self, response: str, **where: str) -> float:
        """Give the mean over the replications; NaN where one has no value."""
        return float(self.values(response, **where).mean())

    def interval(self, response: str, **where: str) -> Interval | None:
        """Give mean and 95 % interval over the replications; None where one has no value."""
        found = self.values(response, **where)
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    @cached_property
    def _responses(self) -> dict[tuple[object, ...], pl.DataFrame]:
        return self.scalars.partition_by("response", as_dict=True)
