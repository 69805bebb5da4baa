"""The runs of a study: campaigns as fitted, under readings, beyond the paper; runs to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import polars as pl

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.run.run import AnyJob, Result

NO_READINGS = "the readings of what the paper leaves open: a verdict is that of the fitted point alone"


@dataclass(frozen=True)
class Sweep:
    """A campaign of ours, beyond the paper; `axes` are labels of what varies, for drawings."""

    id: str
    title: str
    campaign: Campaign
    axes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All runs of a study. Campaigns share a store: what two of them ask for is run once.

    Attributes
    ----------
    fitted
        At the fitted point; several campaigns where one design does not hold all, such as other numbers of
        replications. Their factors have the same names.
    read
        The readings of what the paper leaves open, each with the campaigns under it.
    unjudged
        Ids of claims that a quick plan does not judge.
    left_out
        What is not done, in words; empty for the whole study.
    drawn
        Single runs whose series or traces are needed, each with a name of its own.
    without
        Levels of factors whose treatments are not run here.
    replications
        How many replications tables are of; as many as the paper's where it is None.
    """

    pack: Pack
    fitted: tuple[Campaign, ...]
    read: tuple[tuple[Reading, tuple[Campaign, ...]], ...] = ()
    beyond: tuple[Sweep, ...] = ()
    unjudged: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    drawn: tuple[AnyJob, ...] = ()
    without: tuple[str, ...] = field(default=(), kw_only=True)
    replications: int | None = field(default=None, kw_only=True)

    @property
    def campaigns(self) -> tuple[Campaign, ...]:
        """All campaigns, in the order in which they are run."""
        under = (one for _, campaigns in self.read for one in campaigns)
        return (*self.fitted, *under, *(sweep.campaign for sweep in self.beyond))

    def at_fit(self) -> Plan:
        """Return the plan without its readings."""
        return replace(self, read=(), left_out=(*self.left_out, NO_READINGS)) if self.read else self

    def results(self, measured: Iterable[pl.DataFrame], drawn: Iterable[Result]) -> Results:
        """Sort the outcome of the runs: `Store.scalars` of each campaign, then what was drawn."""
        found = iter(measured)

        def of(campaigns: Sequence[Campaign]) -> Measurements:
            return Measurements(pl.concat(islice(found, len(campaigns)), how="diagonal"))

        return Results(
            of(self.fitted),
            tuple((reading, of(campaigns)) for reading, campaigns in self.read),
            tuple((sweep, of((sweep.campaign,))) for sweep in self.beyond),
            {job[1]: result for job, result in zip(self.drawn, drawn, strict=True)},
        )


@dataclass(frozen=True)
class Results:
    """Outcome of the runs of a plan.

    `drawn` are by name of the run. `whole` is of results on record, which have no runs: what those measured
    that claims need whole, by name.
    """

    fitted: Measurements
    read: tuple[tuple[Reading, Measurements], ...]
    beyond: tuple[tuple[Sweep, Measurements], ...]
    drawn: Mapping[str, Result]
    whole: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def short(campaign: Campaign, overrides: Sequence[str] = (), replications: int | None = None) -> Campaign:
    """Return a campaign with more settings for all its runs, or another number of replications."""
    design = replace(campaign.design, replications=replications or campaign.design.replications)
    return replace(campaign, scenario=campaign.scenario.override(*overrides), design=design)


def without(campaign: Campaign, levels: Sequence[str]) -> Campaign:
    """Return a campaign without the treatments that have one of these levels.

    Raises
    ------
    ValueError
        No treatment has such a level, or none is left.
    """
    kept = tuple(one for one in campaign.design.treatments if not set(levels) & set(one.levels))
    unknown = set(levels) - {level for one in campaign.design.treatments for level in one.levels}
    if unknown or not kept:
        raise ValueError(
            f"no treatment has {', '.join(sorted(unknown))}" if unknown else "no treatment is left"
        )
    return replace(campaign, design=replace(campaign.design, treatments=kept))


def under(campaign: Campaign, reading: Reading) -> Campaign:
    """Return a campaign under a reading, whose settings come before those of the treatments.

    Raises
    ------
    ValueError
        The reading changes parameters of the study, which no campaign has.
    """
    if reading.change:
        raise ValueError(f"reading {reading.id}: 'change' is for a study with parameters of its own")
    return short(campaign, reading.settings_of(campaign.scenario.source))
