"""The runs of a study: campaigns as fitted, under readings, beyond the paper; runs to draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from perhop.experiment.definition import Campaign
from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.judge.measured import Measurements
from perhop.papers import form, refit
from perhop.papers.campaigns import by_level, differing, short
from perhop.papers.readings import Reading
from perhop.papers.study import About, Study
from perhop.run.run import AnyJob, Result, TracedJob
from perhop.units import counted

NO_READINGS = "the readings of what the paper leaves open: a verdict is that of the fitted point alone"


@dataclass(frozen=True)
class Results:
    """Outcome of the runs of a plan: what each campaign measured, in order, and runs to draw, by name."""

    campaigns: Sequence[Measurements]
    drawn: Mapping[str, Result]


@dataclass(frozen=True)
class Plan:
    """All runs of a study. Campaigns share a store: what two of them ask for is run once.

    Attributes
    ----------
    fitted
        At the fitted point; several campaigns where one design does not hold all, such as other numbers of
        replications. Their factors have the same names.
    unjudged, left_out
        Claims that are not judged by these runs, and why; what is not done, in words.
    drawn
        Single runs whose series or traces are needed, each with a name of its own.
    without
        Levels of factors whose treatments are not run here.
    replications
        How many replications tables are of; as many as the paper's where it is None.
    """

    study: Study
    fitted: tuple[Campaign, ...]
    read: tuple[tuple[Reading, tuple[Campaign, ...]], ...] = ()
    beyond: tuple[About, ...] = ()
    unjudged: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    drawn: tuple[AnyJob, ...] = ()
    without: tuple[str, ...] = ()
    replications: int | None = None

    @property
    def campaigns(self) -> tuple[Campaign, ...]:
        """All campaigns, in the order in which they are run."""
        under = (one for _, campaigns in self.read for one in campaigns)
        return (*self.fitted, *under, *(one.campaign for one in self.beyond))

    def at_fit(self) -> Plan:
        """Return the plan without its readings."""
        return replace(self, read=(), left_out=(*self.left_out, NO_READINGS)) if self.read else self

    def results(self, measured: Iterable[pl.DataFrame], drawn: Iterable[Result]) -> Results:
        """Sort the outcome of the runs: `Store.scalars` of each campaign, then what was drawn."""
        named = {job[1]: result for job, result in zip(self.drawn, drawn, strict=True)}
        return Results([Measurements(one) for one in measured], named)


def plan_of(study: Study, *, quick: bool = False) -> Plan:
    """Return the runs of a study, or of its quick form."""
    voting, unfit = refit.voting(study)
    own, every = study.file.quick, study.fitted
    campaigns = [by_level(differing(one, own), own.change) for one in every] if quick else every
    campaigns = [one for one in campaigns if one.design.treatments]
    known = [claim.id for claim in study.claims]
    unjudged = [one for one in known if quick and own.claims is not None and one not in own.claims]

    def under(campaign: Campaign, reading: Reading) -> Campaign:
        most = min(campaign.design.replications, MIN_REPLICATIONS) if quick else None
        return short(study.under(campaign, reading), (), most)

    readings = (*study.shorter, *voting) if own.readings or not quick else ()
    asked = [(one, study.reads(one, campaigns, unjudged)) for one in readings]
    read = [(one, tuple(under(each, one) for each in some)) for one, some in asked if some]
    left_out = [] if quick and not own.readings else [*unfit]
    if quick:
        times = sorted({one.design.replications for one in every} - {own.replications})
        left_out += [f"runs with {', '.join(own.set)}"] if own.set else []
        left_out += [f"{name}: runs with {', '.join(settings)}" for name, settings in own.change.items()]
        left_out += [f"runs of {', '.join(own.without)}"] if own.without else []
        if own.replications is not None and times:
            whole = " or ".join(map(str, times))
            left_out.append(f"{counted(own.replications, 'replication')} where the study has {whole}")
        left_out += [NO_READINGS] if study.readings and not own.readings else []
        left_out += [f"verdicts on {', '.join(unjudged)}"] if unjudged else []
        left_out += ["the figures beyond the paper"] if study.beyond else []
    return Plan(
        study,
        tuple(campaigns),
        tuple(read),
        () if quick else study.beyond,
        dict.fromkeys(unjudged, "a quick reproduction leaves it out"),
        tuple(left_out),
        tuple(_to_draw(study, campaigns[0])),
    )


def _to_draw(study: Study, campaign: Campaign) -> Iterator[AnyJob]:
    """Yield the runs that `study.py` is given whole, each named by its levels."""
    about, each = study.about[0], study.file.draw
    if not each:
        return
    first = next(iter(about.subject.responses))
    asked = about.quantities(form.CampaignPart(response=first, each=each))
    for place in dict.fromkeys(tuple(one.quantity.at[name] for name in each) for one in asked):
        where = dict(zip(each, place, strict=True))
        for treatment in campaign.design.treatments:
            if where.items() <= dict(zip(campaign.design.names, treatment.levels, strict=True)).items():
                overrides = campaign.scenario.override(*treatment.overrides).overrides
                job = campaign.scenario.source, ", ".join(place), list(overrides)
                yield TracedJob(*job, tuple(study.file.trace)) if study.file.trace else job
