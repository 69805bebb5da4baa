"""The runs of the reproduction: the campaign as fitted, and again under each reading."""

from __future__ import annotations

from dataclasses import replace

from perhop.experiment.definition import Campaign
from perhop.judge.quantity import Subject
from perhop.papers.document import check_claims
from perhop.papers.pack import TEXT, TEXTS, Keys, Pack, load_pack
from perhop.papers.papagiannaki.cells import printed_cells, subject_of
from perhop.papers.papagiannaki.fit import load_fit, refitted
from perhop.papers.papagiannaki.predicates import PREDICATES
from perhop.papers.plan import Plan, short, under
from perhop.papers.readings import load_readings, unjudged_claims

KEY = "papagiannaki"
FIGURE: Keys = {"id": TEXT, "title": TEXT, "traffic": TEXT, "table": TEXT, "tables": TEXTS}
TABLES = 3
"""Replications of the paper, and of the tables here; claims are judged over all."""

LOST = " lost"
"""End of the names of arms with lost SYNs."""

READ_S, WARM_S = 260, 20
QUICK_S, QUICK = 100, 2
"""Seconds of a run under a reading, its warm-up and a quick run; quick replications."""


def make_plan(quick: bool = False) -> Plan:
    """Return the campaigns; in a quick reproduction fewer and shorter runs, no readings."""
    pack = load_pack(KEY, FIGURE)
    check_claims(pack.written, claims_about(pack), PREDICATES)
    fitted, unjudged, listed = campaign_of(pack), unjudged_claims(pack, quick), load_readings(pack)
    if quick:
        shorter = short(fitted, [f"run.duration={QUICK_S}s"], QUICK)
        names = ", ".join(one.id for one in pack.claims if one.id in unjudged)
        omitted = (
            f"each run simulates {QUICK_S} s where the study has 600 s; Premium's bucket starts full, which "
            "is worth 0.05 Mbit/s here and 0.01 there",
            f"{QUICK} replications of each treatment instead of {fitted.design.replications}",
            f"the readings of what the paper leaves open, and verdicts on {names}",
        )
        return Plan(pack, (shorter,), unjudged=unjudged, left_out=omitted)
    shorter = short(without_losses(fitted), [f"run.duration={READ_S}s", f"run.warmup={WARM_S}s"])
    voting, left_out = refitted(pack, listed)
    read = tuple((one, (under(shorter, one),)) for one in voting)
    return Plan(pack, (fitted,), read, unjudged=unjudged, left_out=left_out)


def claims_about(pack: Pack) -> Subject:
    """Return what claims may be about."""
    responses = [one.name for one in campaign_of(pack).responses]
    return subject_of(printed_cells(pack), load_fit(pack).in_sample, responses)


def without_losses(campaign: Campaign) -> Campaign:
    """Leave out the arms with lost SYNs, which no claim is about."""
    design = campaign.design
    arm = design.names.index("arm")
    kept = tuple(one for one in design.treatments if not one.levels[arm].endswith(LOST))
    return replace(campaign, design=replace(design, treatments=kept))


def campaign_of(pack: Pack) -> Campaign:
    """Return the campaign at the fitted point."""
    return Campaign.load(pack.folder / "campaign.toml")
