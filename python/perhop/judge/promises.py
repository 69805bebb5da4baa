"""Promises to classes of flows, judged in each treatment of a campaign by the rule for claims."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop.judge.verdict import ClaimPart, Hypothesis, Verdict
from perhop.run.promises import Promise, promises_of

if TYPE_CHECKING:
    from perhop.experiment.store import Store


class Kept(NamedTuple):
    """The promises in one treatment, judged: a part for each, of which supported is kept."""

    levels: dict[str, str]
    parts: list[ClaimPart]

    @property
    def name(self) -> str:
        """Its name in the design."""
        return " ".join(f"{factor}={level}" for factor, level in self.levels.items())

    def count(self, verdict: Verdict) -> int:
        """Return how many of them have a verdict."""
        return sum(part.verdict is verdict for part in self.parts)

    @property
    def all_kept(self) -> bool:
        """Whether each is known to be kept."""
        return self.count(Verdict.SUPPORTED) == len(self.parts)


class Judged(NamedTuple):
    """The promises of a scenario, judged in each treatment.

    `at_every_look`: whether the intervals hold however often the replications were looked at.
    """

    promises: list[Promise]
    treatments: list[Kept]
    at_every_look: bool = False

    def nearest(self) -> int:
        """Return the place of the treatment that keeps most, and of those is least beyond a bound."""
        return min(range(len(self.treatments)), key=lambda place: self._lacks(self.treatments[place]))

    def _lacks(self, one: Kept) -> tuple[int, int, float]:
        beyond = [
            promise.beyond(part.measured.mean) if part.measured else math.inf
            for promise, part in zip(self.promises, one.parts, strict=True)
            if part.verdict is not Verdict.SUPPORTED
        ]
        return len(beyond), one.count(Verdict.CONTRADICTED), max(beyond, default=0.0)


def judge_promises(store: Store, scalars: pl.DataFrame | None = None) -> Judged:
    """Judge what the scenario of a store promises and its campaign measures, in each treatment.

    Where promises are the goal of a race, they are judged as in it. `scalars` are the store's, if known.
    """
    measured, select = {one.name for one in store.campaign.responses}, store.campaign.select
    promised = [one for one in promises_of(store.campaign.scenario.describe()) if one.name in measured]
    if not promised:
        return Judged([], [])
    scalars = store.scalars() if scalars is None else scalars
    design, wanted = store.campaign.design, pl.col("response").cast(pl.String)
    own = scalars.filter(wanted.is_in([one.name for one in promised]))
    at_every_look = bool(select and select.bounds)
    found = []
    for treatment in design.treatments:
        levels = dict(zip((factor.name for factor in design.factors), treatment.levels, strict=True))
        rows = own.filter(*(pl.col(name).cast(pl.String) == level for name, level in levels.items()))
        parts = []
        for one in promised:
            hypothesis = Hypothesis(one.called, "size", one.low, one.high)
            values = rows.filter(wanted == one.name)["value"].fill_null(float("nan")).to_numpy()
            judged = hypothesis.mean(values, at_every_look=at_every_look) if len(values) else None
            parts.append(judged or hypothesis.undefined("no run finished"))
        found.append(Kept(levels, parts))
    return Judged(promised, found, at_every_look)
