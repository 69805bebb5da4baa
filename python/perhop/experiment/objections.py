"""Treatments in which MSER-5 objects to the warm-up of more runs than chance explains."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl
import scipy

from perhop.stats.warmup import objection_rate

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign

SURE = 0.05
"""How often a campaign without a transient is to have any such treatment."""

_SETTLES = re.compile(r"settles at ([\d.e+]+) s")


@dataclass(frozen=True)
class Objection:
    """The objections in a treatment, or in all of them together (None)."""

    treatment: str | None
    objecting: int
    """Runs that MSER-5 objects to."""
    runs: int
    by_chance: float
    """Share that it objects to where a run has no transient."""
    settles_s: float | None = None
    """The latest time at which one settles; None where none does."""


def objections(campaign: Campaign, runs: pl.DataFrame) -> list[Objection]:
    """Return treatments with more objections than chance explains; else all together, if they have.

    Each number of objections is held against a binomial distribution (one-sided), with Holm's correction for
    the number of treatments and one test of all together. Runs of different treatments are taken to be
    objected to independently, also where they share random numbers.
    """
    done = runs.filter(state="done")
    if not done["unsettled"].is_not_null().any():
        return []
    each = done.group_by("treatment", maintain_order=True).agg(pl.col("unsettled").count(), pl.len())
    # of a run's length and warm-up nothing else decides
    times = {
        one.name: tuple(text for text in one.overrides if text.startswith("run"))
        for one in campaign.design.treatments
    }
    by_chance = {overrides: _by_chance(campaign, overrides) for overrides in set(times.values())}
    found = [Objection(name, objecting, n, by_chance[times[name]]) for name, objecting, n in each.iter_rows()]
    total = sum(one.runs for one in found)
    expected = sum(one.runs * one.by_chance for one in found) / total
    together = Objection(None, sum(one.objecting for one in found), total, expected)
    beyond = _beyond_chance([together, *found] if len(found) > 1 else found)
    beyond = [one for one in beyond if one.treatment is not None] or beyond
    return [replace(one, settles_s=_settles_s(done, one.treatment)) for one in beyond]


def _beyond_chance(family: list[Objection]) -> list[Objection]:
    """Return those of a family of tests that are rejected, in the family's order (Holm 1979)."""
    p = [float(scipy.special.bdtrc(one.objecting - 1, one.runs, one.by_chance)) for one in family]
    rejected = set()
    for left, place in zip(range(len(p), 0, -1), sorted(range(len(p)), key=p.__getitem__), strict=True):
        if p[place] * left > SURE:
            break
        rejected.add(place)
    return [one for place, one in enumerate(family) if place in rejected]


def _by_chance(campaign: Campaign, overrides: tuple[str, ...]) -> float:
    run = campaign.scenario.override(*overrides).describe().run
    # as many values as the series of a run has, and those of its warm-up
    values, warmup = (round(time / run.interval_s) for time in (run.duration_s, run.warmup_s))
    return objection_rate(values, warmup)


def _settles_s(runs: pl.DataFrame, treatment: str | None) -> float | None:
    """Return the latest time at which a run settles that is objected to."""
    own = runs if treatment is None else runs.filter(treatment=treatment)
    times = (_SETTLES.search(text) for text in own["unsettled"].drop_nulls())
    return max((float(one[1]) for one in times if one), default=None)
