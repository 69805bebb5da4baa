"""Differences between treatments: all pairs of them, or two, with a test of equivalence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.experiment.analysis import AnalysisRequest
from perhop.stats.contrasts import tukey
from perhop.stats.layout import cube
from perhop.stats.paired import Equivalence, Paired, paired_difference, tost, tost_share
from perhop.stats.strata import Stratum, strata
from perhop.units import counted

MOST = 40
"""Treatments of which all pairs are compared: 780 pairs, about ten seconds a response and group."""


@dataclass(frozen=True)
class Margin:
    """A margin of equivalence to either side, in the response's unit or as a part of the first."""

    value: float
    relative: bool

    def __str__(self) -> str:
        return f"{100 * self.value:g} %" if self.relative else f"{self.value:g}"


@dataclass(frozen=True)
class Own:
    """The values of one response, or of one group of it."""

    response: str
    unit: str | None
    of: Mapping[str, str]
    """The group: value by column."""
    rows: pl.DataFrame
    """With `treatment`, `replication` and `value`."""

    @property
    def name(self) -> str:
        """Response and group."""
        return " ".join([self.response, *(f"{column} {value}" for column, value in self.of.items())])

    def arm(self, treatment: str, replications: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the values of a treatment in these replications, in their order."""
        rows = self.rows.filter(pl.col("treatment") == treatment, pl.col("replication").is_in(replications))
        return rows.sort("replication")["value"].to_numpy()

    def shared(self, treatments: Sequence[str]) -> list[int]:
        """Return the replications in which each of some treatments has a value."""
        rows = self.rows.filter(pl.col("treatment").is_in(treatments))
        found = rows.group_by("replication").agg(pl.col("treatment").n_unique())
        return sorted(found.filter(pl.col("treatment") == len(treatments))["replication"].to_list())


@dataclass(frozen=True)
class Pairs:
    """All pairs of treatments; `table` as of `tukey`, empty without an error."""

    own: Own
    table: pl.DataFrame
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Two treatments by their replications; `margin` and `same` for equivalence."""

    own: Own
    first: str
    second: str
    found: Paired
    margin: Margin | None = None
    same: Equivalence | None = None
    remarks: tuple[str, ...] = ()


def values(scalars: pl.DataFrame, asked: AnalysisRequest, responses: Sequence[str] = ()) -> Iterator[Own]:
    """Yield the finite values of each response and group, in their order."""
    for response, unit in asked.units.items():
        rows = scalars.filter(pl.col("response") == response, pl.col("value").is_finite())
        if rows.is_empty() or (responses and response not in responses):
            continue
        groups = asked.groups(rows)
        parts = rows.group_by(groups, maintain_order=True) if groups else [((), rows)]
        for key, part in parts:
            of = dict(zip(groups, map(str, key), strict=True))
            yield Own(response, unit, of, part.select("treatment", "replication", "value"))


def all_pairs(own: Own, asked: AnalysisRequest) -> Pairs:
    """Compare all pairs of treatments, so that all intervals hold together (Tukey).

    With common seeds the replications are blocks: those count in which every treatment has a value.
    """
    names = own.rows["treatment"].unique(maintain_order=True).to_list()
    rows, remarks = own.rows, []
    if asked.common_seeds:
        whole = own.shared(names)
        left_out = rows["replication"].n_unique() - len(whole)
        if left_out:
            lack = counted(left_out, "replication")
            remarks.append(f"Left out: {lack} in which not every treatment has a value.")
        rows = rows.filter(pl.col("replication").is_in(whole))
    table = pl.DataFrame(schema=["first", "second", "difference", "low", "high", "p"])
    if len(names) < 2:
        remarks.append("There is one treatment, so that there are no pairs.")
    elif (error := _error(rows, asked.common_seeds)) is None or not error.df:
        remarks.append("There is no error to compare with; add replications.")
    else:
        grouped = rows.group_by("treatment", maintain_order=True).agg(pl.col("value").mean(), pl.len())
        found = {name: (mean, count) for name, mean, count in grouped.iter_rows()}
        means = {name: found[name][0] for name in names}
        table = tukey(means, [found[name][1] for name in names], error, asked.level)
    return Pairs(own, table, tuple(remarks))


def _error(rows: pl.DataFrame, block: bool) -> Stratum | None:
    """Return the error of replications of a treatment, less the part that blocks have in common."""
    if rows.is_empty():
        return None
    if block:
        data = cube(rows, ["treatment"], "value", "replication")
        return strata(data, block=rows["replication"].n_unique() > 1).between
    left = rows.select(pl.col("value") - pl.col("value").mean().over("treatment"))["value"].to_numpy()
    return Stratum(len(rows) - rows["treatment"].n_unique(), float(np.sum(left**2)))


def compare(
    own: Own, asked: AnalysisRequest, first: str, second: str, margin: Margin | None = None
) -> Comparison | None:
    """Compare two treatments by the replications that both have; None if there are none.

    Parameters
    ----------
    first, second
        Names of treatments; the difference is that of the second less the first.
    margin
        Test also whether they are the same within it, at the confidence of the intervals.
    """
    both = own.shared([first, second])
    if not both:
        return None
    x, y = (own.arm(name, both) for name in (first, second))
    remarks = []
    rows = own.rows.filter(pl.col("treatment").is_in([first, second]))
    alone = rows["replication"].n_unique() - len(both)
    if alone:
        remarks.append(f"Left out: {counted(alone, 'replication')} that only one of them has.")
    if not asked.common_seeds:
        remarks.append("The seeds are independent, so that pairs save nothing.")
    same = None
    if margin is not None and len(both) > 1:
        significance = 1.0 - asked.level
        if margin.relative:
            same = tost_share(x, y, margin.value, significance)
        else:
            same = tost(y - x, -margin.value, margin.value, significance)
    found = paired_difference(x, y, asked.level)
    return Comparison(own, first, second, found, margin, same, tuple(remarks))
