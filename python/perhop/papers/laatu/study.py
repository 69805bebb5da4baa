"""The study as `perhop reproduce` runs it: its campaigns, and their values as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.document import check_claims, document_of, judge_of, row
from perhop.papers.laatu.calibrate import record
from perhop.papers.laatu.document import Reproduction
from perhop.papers.laatu.findings import findings
from perhop.papers.laatu.page import TITLE, page_of
from perhop.papers.laatu.predicates import PREDICATES, SchemeValues, subject_of
from perhop.papers.laatu.responses import AF_KBPS, COMPONENTS, METRICS, cases_of, published_values
from perhop.papers.pack import TEXT, TEXTS, Keys, Pack, load_pack
from perhop.papers.plan import Plan, Results, Sweep, short, under
from perhop.papers.readings import load_readings, unjudged_claims
from perhop.papers.study import CampaignRunner, Study

KEY = "laatu"

CASES = ("campaign", "beyond/cases", "beyond/constant")
"""Files whose treatments are cases: the paper's, then ours."""

FIGURE: Keys = {
    **dict.fromkeys(("case", "colour_figure", "sweep", "table", "throughput_figure", "title"), TEXT),
    "varies": TEXT,
    "tables": TEXTS,
}
"""Keys of the tables of `figures.toml`."""

READ, DURATION_S, QUICK_S = 20, 120, 60
"""Replications under each reading; simulated time of a run, and of a quick one."""

GREEN_DROPS = 15.0
"""Green packets that a run may drop without a warning: about one in a thousand."""

EXTRA = {"sdev_in_run": "kbit/s", "background_throughput": "kbit/s", "timeouts": "1"}
EXTRA |= dict.fromkeys(("dropped_green", "dropped_yellow", "dropped_red"), "packets")
"""Quantities of the paper's cases that it does not print, with their units."""


def make_plan(quick: bool) -> Plan:
    """Return the plan: both markings and our cases, readings of the markings, the sweeps."""
    pack = load_pack(KEY, FIGURE)
    printed_values = published_values(pack)
    unjudged, readings = unjudged_claims(pack, quick), load_readings(pack)
    printed = {one["case"] for one in pack.figures if one.get("table") == "published"}
    pack.check_coverage(printed, printed_values)
    check_claims(pack.written, subject_of(pack, printed_values), PREDICATES)
    cases = tuple(Campaign.load(pack.folder / f"{name}.toml") for name in CASES)
    if quick:
        left_out = (
            f"each run simulates {QUICK_S} s where the study has {DURATION_S} s",
            f"{MIN_REPLICATIONS} replications of each case instead of {cases[0].design.replications} and "
            f"{cases[1].design.replications}",
            "the sweeps over what the paper leaves open, and its readings",
            f"verdicts on {', '.join(sorted(unjudged))}",
        )
        changes = (f"run.duration={QUICK_S}s",)
        less = tuple(short(one, changes, MIN_REPLICATIONS) for one in cases)
        return Plan(pack, less, unjudged=unjudged, left_out=left_out)
    read = tuple((one, (short(under(cases[0], one), (), READ),)) for one in readings)
    beyond = tuple(_sweep(pack, one) for one in pack.figures if "sweep" in one)
    return Plan(pack, cases, read, beyond, unjudged)


def reduce(plan: Plan, results: Results, command: str, results_version: int) -> Reproduction:
    """Turn what the campaigns measured into rows and verdicts."""
    pack, printed = plan.pack, published_values(plan.pack)
    judge = judge_of(pack.written, subject_of(pack, printed), PREDICATES)

    def together(measured: Measurements) -> SchemeValues:
        found = {id_: case for (id_,), case in cases_of(plan.fitted[0], measured).items()}
        ids = [one["case"] for one in pack.figures if one.get("case") in found]
        return SchemeValues({id_: found[id_] for id_ in ids}, printed)

    m = together(results.fitted)
    read = [(reading, together(measured)) for reading, measured in results.read]
    listed = load_readings(pack)
    claims, less = [], f"runs simulate {QUICK_S} s here, the study's {DURATION_S} s"
    for claim in pack.claims:
        others = [UnderReading(one, judge(own, claim)) for one, own in read if claim.id in one.claims]
        reason = less if claim.id in plan.unjudged else ""
        claims.append(claim_entry(claim, judge(m, claim), others, reason, listed=listed))
    rows = [line for id_ in m.cases for line in case_rows(m, id_)]
    document = document_of(KEY, command, results_version, rows, claims)
    sweeps = [(sweep, cases_of(sweep.campaign, measured)) for sweep, measured in results.beyond]
    found = findings(pack, m, read) if len(plan.fitted) == len(CASES) else ()
    return Reproduction(
        document=document,
        measured=m,
        sweeps=sweeps,
        findings=found,
        warnings=tuple(run_warnings(m)),
        left_out=plan.left_out,
    )


def calibrate(run: CampaignRunner) -> dict[str, Any]:
    """Run every combination of what the paper leaves open."""
    pack = load_pack(KEY, FIGURE)
    tried = Campaign.load(pack.folder / "combinations.toml")
    (measured,) = run([tried], "calibration")
    return record(pack, tried, cases_of(tried, measured))


def case_rows(m: SchemeValues, id_: str) -> list[dict[str, Any]]:
    """Return the rows of a case: those of the paper's tables, then ours.

    Of our own cases the means alone.
    """
    printed = m.published.get(id_, {})
    wanted = [("throughput", name, unit) for name, (_, unit) in METRICS.items()]
    wanted += [("fairness", f"{component}_fairness", "1") for component in COMPONENTS]
    ends = {"throughput": ("", "_sdev", "_min", "_max"), "fairness": ("", "_sdev")} if printed else {}
    found = [
        (table if printed else "extra", name + end, unit)
        for table, name, unit in wanted
        for end in ends.get(table, ("",))
    ]
    found += [("extra", name, unit) for name, unit in EXTRA.items() if printed]
    return [
        row(table, id_, name, unit, printed.get(name), measured)
        for table, name, unit in found
        # too few runs for a statistic of a whole test
        if (measured := m.cases[id_].interval(name)) is not None
    ]


def run_warnings(m: SchemeValues) -> Iterator[str]:
    """Yield warnings of cases whose AF class is not full or that lose green packets."""
    for id_, case in m.cases.items():
        busy = (case.mean("aggregate_throughput") + case.mean("background_throughput")) / AF_KBPS
        if busy < 0.95:
            yield f"{id_}: the AF class used {busy:.0%} of its rate, so it was not the bottleneck"
        green = case.mean("dropped_green")
        if green >= GREEN_DROPS:
            yield f"{id_}: {green:.0f} green packets a run were dropped, which the provisioning rules out"


def _sweep(pack: Pack, table: Mapping[str, str]) -> Sweep:
    campaign = Campaign.load(pack.folder / "beyond" / f"{table['sweep']}.toml")
    return Sweep(table["sweep"], table["title"], campaign, (table["varies"],))


STUDY = Study(KEY, TITLE, make_plan, reduce, page_of, calibrate=calibrate)
