"""An analysis as data: causes of variation, their certainty, and remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy.typing as npt
import polars as pl

from perhop.experiment.stopping import LEVEL
from perhop.stats.anova import COLUMNS
from perhop.stats.effects import Effects
from perhop.stats.intervals import Interval, mean_interval
from perhop.stats.residuals import Check
from perhop.stats.sequential import sequential_interval
from perhop.stats.strata import Strata
from perhop.units import UNLIMITED

if TYPE_CHECKING:
    from perhop.experiment.fractions import Fraction

Method = Literal["factorial", "fraction", "unbalanced", "ranks", "means"]

FIXED = ("key", "treatment", "replication", "response", "value")
"""Columns of values that are neither factors nor groups."""

FALSE_DISCOVERIES = 0.05
"""Share of false ones to be expected among the effects that are called found."""


@dataclass(frozen=True)
class AnalysisRequest:
    """The facts that an analysis needs beside the numbers."""

    factors: Mapping[str, Sequence[str]]
    """Of the design, with their levels in order."""
    units: Mapping[str, str | None]
    """Unit of each response; `None` where it has none."""
    common_seeds: bool
    """Whether replication i of every treatment has the same random numbers: it is a block then."""
    fraction: Fraction | None = None
    level: float = LEVEL
    keep: tuple[str, ...] | None = None
    """Effects of a trimmed model, for all responses; without them every effect."""
    looked_at: str | None = None
    """The response whose intervals decided how many replications there are."""
    treatments: int | None = None
    """How many the design has; without it every combination of the levels."""
    order: int | None = None
    """Effects of up to so many factors are given one by one; without it two, and all tests of designs with
    few effects.
    """
    each: bool = False
    """Whether treatments have ended by themselves, with unequal numbers of replications."""
    apart: bool = False
    """Whether each group of a response is analysed for itself where there are few: groups are no setting."""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The least and the greatest value of responses that have them, by name."""

    @property
    def planned(self) -> int:
        """Treatments of the design."""
        return self.treatments or math.prod(map(len, self.factors.values()))

    def groups(self, rows: pl.DataFrame) -> list[str]:
        """Return the columns that a response is grouped by in its rows."""
        names = (name for name in rows.columns if name not in FIXED and name not in self.factors)
        return [name for name in names if rows[name].is_not_null().any()]

    def interval(self, response: str, values: npt.ArrayLike) -> Interval:
        """Compute the mean of a response over replications, with the interval that it has to have."""
        interval = sequential_interval if response == self.looked_at else mean_interval
        return interval(values, self.level)


@dataclass(frozen=True)
class Analysis:
    """The analysis of one response, or of one group of it."""

    response: str
    unit: str | None
    of: Mapping[str, str]
    """The group that it is of, and what is the same in all rows: value by column."""
    factors: tuple[str, ...]
    """What varies, those measured within a run included."""
    within: tuple[str, ...]
    """Those of the factors whose levels are measured in each run."""
    method: Method
    """``factorial`` (balanced analysis of variance), ``fraction`` (the same, each effect with its aliases),
    ``unbalanced`` (type II), ``ranks`` (rank correlations of treatment means), ``means`` (only means).
    """
    remarks: tuple[str, ...]
    """Why this method, and what it cannot say, in words."""
    mean: Interval
    """Of all values, over replications."""
    tests: pl.DataFrame
    """A row a source, see `perhop.stats.anova.Anova`; `q` is p adjusted for all tests of the store."""
    means: pl.DataFrame
    """A row for each combination of levels: a column a factor, `mean`, `low`, `high`, `n`."""
    checks: tuple[Check, ...]
    frame: pl.DataFrame
    """The rows, with predictions and residuals where there is a model."""
    strata: Strata | None = None
    effects: Effects | None = None
    found: frozenset[str] = frozenset()
    """Sources of `tests` that are effects at a rate of false discoveries of `FALSE_DISCOVERIES`."""
    level: float = LEVEL
    limits: tuple[float, float] = UNLIMITED

    @property
    def name(self) -> str:
        """Response and group."""
        response = self.response.removesuffix(f" by {', '.join(self.of)}")
        return ", ".join([response, *(f"{column} {value}" for column, value in self.of.items())])


def remarked(start: Analysis, remark: str) -> Analysis:
    """Add a remark."""
    return replace(start, remarks=(*start.remarks, remark))


def grand_mean(rows: pl.DataFrame, asked: AnalysisRequest) -> Interval:
    """Compute the mean of all values of a response, with the interval of the means of replications.

    Where a replication lacks a treatment, or a group of one, their means are of different things: the
    interval is infinite.
    """
    mean = float(rows["value"].to_numpy().mean())
    each = rows.group_by("replication").agg(pl.col("value").mean(), pl.len()).sort("replication")
    places = rows.drop("key", "replication", "response", "value").n_unique()
    if (each["len"] < places).any():
        return Interval(mean, -math.inf, math.inf, len(each))
    return replace(asked.interval(rows["response"][0], each["value"].to_numpy()), mean=mean)


def means_of(rows: pl.DataFrame, factors: Sequence[str], asked: AnalysisRequest) -> pl.DataFrame:
    """Return the mean of each combination of levels, with its interval over the replications."""
    found = []
    parts = rows.group_by(factors, maintain_order=True) if factors else [((), rows)]
    for key, part in parts:
        one = asked.interval(part["response"][0], part["value"].to_numpy())
        found.append((*map(str, key), one.mean, one.low, one.high, one.n))
    numbers: dict[str, Any] = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    schema: dict[str, Any] = dict.fromkeys(factors, pl.String)
    return pl.DataFrame(found, schema=schema | numbers, orient="row")


NO_TESTS = pl.DataFrame(schema={**COLUMNS, "q": pl.Float64})
"""A table of no tests, with the columns that all have."""
