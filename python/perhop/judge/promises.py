"""Promises to classes of flows, judged in each treatment of a campaign by the rule for claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop.judge.verdict import ClaimPart, Hypothesis
from perhop.run.promises import Promise, promises_of

if TYPE_CHECKING:
    from perhop.experiment.store import Store


class Kept(NamedTuple):
    """The promises in one treatment, judged.

    Attributes
    ----------
    levels
        Its level of each factor, by name.
    parts
        One for each promise, in order: supported is kept.
    """

    levels: dict[str, str]
    parts: list[ClaimPart]


class Judged(NamedTuple):
    """The promises of a scenario, judged in each treatment."""

    promises: list[Promise]
    treatments: list[Kept]


def judge_promises(store: Store, scalars: pl.DataFrame | None = None) -> Judged:
    """Judge what the scenario of a store promises, in each treatment; `scalars` are those of the store."""
    promised = promises_of(store.campaign.scenario.describe())
    if not promised:
        return Judged([], [])
    scalars = store.scalars() if scalars is None else scalars
    design, wanted = store.campaign.design, pl.col("response").cast(pl.String)
    own = scalars.filter(wanted.is_in([one.name for one in promised]))
    found = []
    for treatment in design.treatments:
        levels = dict(zip((factor.name for factor in design.factors), treatment.levels, strict=True))
        rows = own.filter(*(pl.col(name).cast(pl.String) == level for name, level in levels.items()))
        parts = []
        for one in promised:
            hypothesis = Hypothesis(one.called, "size", one.low, one.high)
            values = rows.filter(wanted == one.name)["value"]
            parts.append(
                hypothesis.mean(values.fill_null(float("nan")).to_numpy())
                if len(values)
                else hypothesis.undefined("no run finished")
            )
        found.append(Kept(levels, parts))
    return Judged(promised, found)
