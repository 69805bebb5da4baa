"""The runs of the reproduction: the campaign at the fitted point, and again under each reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perhop.experiment.definition import Campaign
from perhop.papers.document import check_claims
from perhop.papers.pack import Pack, load_pack
from perhop.papers.papagiannaki.cells import Cells, printed_cells
from perhop.papers.papagiannaki.predicates import PREDICATES
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.run import AnyJob

KEY = "papagiannaki"
TABLES = 3
"""Replications of the paper, and of the tables here; claims are judged over all."""

READ_S = 240
QUICK_S, QUICK = 100, 2
"""Simulated time of a run under a reading, and of a quick one; replications of a quick reproduction."""


@dataclass(frozen=True)
class Plan:
    """A campaign at the fitted point, and one for each reading.

    Attributes
    ----------
    pack
        The pack they come from.
    published
        Tables 2 and 4.
    campaigns
        First at the fitted point.
    readings
        Of the campaigns after the first.
    unjudged
        Ids of claims that a quick plan does not judge.
    jobs
        None beside the campaigns'.
    left_out
        What a quick plan does not do, in words; empty otherwise.
    """

    pack: Pack
    published: Cells
    campaigns: tuple[Campaign, ...]
    readings: tuple[Reading, ...]
    unjudged: frozenset[str]
    left_out: tuple[str, ...]
    jobs: Sequence[AnyJob] = ()


def make_plan(quick: bool = False) -> Plan:
    """List the campaigns.

    Parameters
    ----------
    quick
        Fewer and shorter runs, no readings.
    """
    pack = load_pack(KEY)
    check_claims(PREDICATES, pack.claims)
    fitted, unjudged, listed = campaign_of(pack), unjudged_claims(pack, quick), load_readings(pack)
    if quick:
        design = replace(fitted.design, replications=QUICK)
        short = replace(fitted, scenario=fitted.scenario.override(f"run.duration={QUICK_S}s"), design=design)
        left_out = (
            f"each run simulates {QUICK_S} s where the study has 600 s; Premium's bucket starts full, which "
            "is worth 0.05 Mbit/s here and 0.01 there",
            f"{QUICK} replications of each treatment instead of {fitted.design.replications}",
            f"the readings of what the paper leaves open, and verdicts on {', '.join(sorted(unjudged))}",
        )
        return Plan(pack, printed_cells(pack), (short,), (), unjudged, left_out)
    under = tuple(
        replace(
            fitted,
            scenario=fitted.scenario.override(
                f"run.duration={READ_S}s", *reading.settings_of(fitted.scenario.source)
            ),
        )
        for reading in listed
    )
    return Plan(pack, printed_cells(pack), (fitted, *under), listed, unjudged, ())


def campaign_of(pack: Pack) -> Campaign:
    """Give the campaign at the fitted point."""
    return Campaign.load(pack.folder / "campaign.toml")
