"""Measurements of a campaign by treatment and replication, and claims judged on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.judge.quantity import Place, Quantity
from perhop.judge.verdict import ClaimPart, Hypothesis
from perhop.stats.intervals import Interval, mean_interval
from perhop.stats.jackknife import UndefinedRatioError, jackknife_interval
from perhop.stats.layout import cube

Floats = npt.NDArray[np.float64]

STATISTICS: Mapping[str, Callable[[Floats], float]] = {
    "std": lambda x: float(np.std(x, ddof=1)) if x.size > 1 else 0.0,
    "min": lambda x: float(np.min(x)),
    "max": lambda x: float(np.max(x)),
}


class Together(NamedTuple):
    """A response over several runs: the statistic of the values of another, of so many runs or of all."""

    of: str
    statistic: str
    runs: int | None = None


Predicates = Mapping[str, Callable[..., list[ClaimPart]]]
"""Functions of a study that judge parts: of what was measured, and the part's parameters."""


@dataclass(frozen=True)
class Measurements:
    """The values that a campaign measured, `scalars` as `perhop.experiment.store.Store.scalars` gives them.

    `over_all` are responses over all runs of a treatment, which have one value for all replications.
    """

    scalars: pl.DataFrame
    over_all: Mapping[str, Together] = field(default_factory=dict)

    @classmethod
    def of(cls, scalars: pl.DataFrame, together: Mapping[str, Together]) -> Measurements:
        """Return what campaigns measured, with responses over several runs: a replication is so many runs."""
        alone = cls(scalars)
        rows = [row for name, one in together.items() if one.runs for row in alone._tests(name, one)]
        frames = [scalars, pl.DataFrame(rows, schema=scalars.schema)] if rows else [scalars]
        return cls(pl.concat(frames), {name: one for name, one in together.items() if not one.runs})

    def _tests(self, name: str, one: Together) -> Iterator[dict[str, object]]:
        """Yield a row for each of the tests of so many runs that are whole."""
        of, runs = self._responses.get((one.of,), self.scalars.clear()), one.runs or 1
        own = ["treatment", pl.col("replication").floordiv(runs).alias("test")]
        for (_, test), values in of.group_by(own, maintain_order=True):
            if values["replication"].n_unique() == runs and np.isfinite(values["value"].to_numpy()).all():
                found = STATISTICS[one.statistic](values["value"].to_numpy())
                common = {each: values[each][0] for each in values.columns if values[each].n_unique() == 1}
                yield {**common, "key": None, "replication": test, "response": name, "value": found}

    def rows(self, response: str | None = None, **where: str) -> pl.DataFrame:
        """Return the rows of a response, or of all, at these levels and groups, ordered by replication.

        A `KeyError` where there is none.
        """
        frame = self.scalars if response is None else self._responses.get((response,), self.scalars.clear())
        frame = frame.filter(**where) if where else frame
        if frame.is_empty():
            raise KeyError(" ".join([response or "", *(f"{name}={one}" for name, one in where.items())]))
        return frame.sort("replication", maintain_order=True)

    def values(self, response: str, **where: str) -> Floats:
        """Return a response at these levels and groups: a value for each replication, NaN without one.

        A `KeyError`: it was not measured there. A `ValueError`: a replication has several values, since a
        factor or a group is missing in `where`.
        """
        frame = self.rows(response, **where)
        if frame["replication"].n_unique() != frame.height:
            raise ValueError(f"{response} at {where}: several values of a replication")
        return frame["value"].fill_null(np.nan).to_numpy().astype(np.float64)

    def judged(self, hypothesis: Hypothesis, quantity: Quantity) -> ClaimPart:
        """Judge a quantity, paired by replication: by those that all of its treatments have."""
        if quantity.response in self.over_all:
            return self._jackknifed(hypothesis, quantity, self.over_all[quantity.response])
        shared = self._shared(quantity)
        first = shared.sample(*quantity.first) / quantity.per
        if quantity.way == "alone":
            return hypothesis.mean(first)
        second = shared.sample(*quantity.second)
        if quantity.way == "over":
            return hypothesis.ratio(first, second)
        return hypothesis.mean(first - second / quantity.per)

    def _shared(self, quantity: Quantity) -> Measurements:
        """Return the replications that all treatments of a quantity have."""
        if self._are_even or (quantity.way == "alone" and quantity.effect is None):
            return self
        places = [quantity.at] if quantity.effect is not None else [quantity.at, quantity.other or {}]
        runs = pl.concat([self.rows(quantity.response, **place) for place in places])
        of = pl.col("replication")
        each = runs.group_by("treatment").agg(of.n_unique().alias("n"), of.max().alias("last"))
        # treatments that ended by themselves have their first ones; a run that failed leaves a gap
        if each["n"].n_unique() == 1 or not (each["n"] == each["last"] + 1).all():
            return self
        return Measurements(self.scalars.filter(pl.col("replication") < each["n"].min()))

    def _jackknifed(self, hypothesis: Hypothesis, quantity: Quantity, one: Together) -> ClaimPart:
        """Judge a response over all runs, by leaving out one replication at a time."""
        if quantity.effect is not None:
            raise ValueError("a statistic over all runs has no effect")
        places = [quantity.at, *([] if quantity.other is None else [quantity.other])]
        runs = [
            [own["value"].to_numpy() for own in self.rows(one.of, **at).partition_by("replication")]
            for at in places
        ]
        samples = list(zip(*runs, strict=False))
        if len(samples) < 3:
            return hypothesis.undefined(f"{len(samples)} replications, {MIN_REPLICATIONS} are needed")

        def value(some: Sequence[tuple[Floats, ...]]) -> float:
            sides = [STATISTICS[one.statistic](np.concatenate(side)) for side in zip(*some, strict=True)]
            made = quantity.made_of(lambda *place: sides[place != quantity.first])
            if made is None or not math.isfinite(made):
                raise UndefinedRatioError("it is over 0, or a run has no value")
            return made

        try:
            return hypothesis.estimated(jackknife_interval(samples, value))
        except UndefinedRatioError as error:
            return hypothesis.undefined(f"the ratio is undefined: {error}")

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Return a response at a place, or the effect of levels on it, by replication; NaN without a value.

        A `KeyError` or `ValueError`: not measured there, or not in each combination of what `at` leaves open.
        """
        if effect is None:
            return self.values(response, **at)
        frame = self.rows(response, **at)
        fixed = {"key", "treatment", "replication", "response", "value"}
        varied = [name for name in frame.columns if name not in fixed and frame[name].n_unique() > 1]
        data = cube(frame, varied, replication="replication")
        each = (replace(data, values=data.values[..., [k]]) for k in range(data.replications))
        return np.array([one.effect_of(effect) for one in each])

    def first(self, count: int | None) -> Self:
        """Return the first so many replications of each treatment; without a number all."""
        if count is None:
            return self
        return replace(self, scalars=self.scalars.filter(pl.col("replication") < count))

    def mean(self, response: str, **where: str) -> float:
        """Return the mean over the replications; NaN where one has no value."""
        return float(self.values(response, **where).mean())

    def interval(self, response: str, **where: str) -> Interval | None:
        """Return mean and 95 % interval over the replications; None where one has no value."""
        found = self.values(response, **where)
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    @cached_property
    def _are_even(self) -> bool:
        """Whether every treatment has as many replications."""
        each = self.scalars.group_by("treatment").agg(pl.col("replication").n_unique())
        return each["replication"].n_unique() < 2

    @cached_property
    def _responses(self) -> dict[tuple[object, ...], pl.DataFrame]:
        return self.scalars.partition_by("response", as_dict=True)
