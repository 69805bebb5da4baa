"""The reproduction as a document: the paper's tables beside ours, claims judged, findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.papers.claims import Under, claim_entry
from perhop.papers.document import judge, row
from perhop.papers.laatu.calibration import load_calibration
from perhop.papers.laatu.findings import findings
from perhop.papers.laatu.measure import COMPONENTS, Run, run_quantities
from perhop.papers.laatu.plan import DURATION_S, READ, Case, Plan
from perhop.papers.laatu.predicates import PREDICATES, Measurements, measurements
from perhop.papers.laatu.published import METRICS
from perhop.papers.laatu.setup import AF_KBPS
from perhop.papers.laatu.sweeps import SweepResult, reduce_sweep
from perhop.papers.pack import Claim
from perhop.papers.readings import Reading
from perhop.papers.study import check_count

GREEN_DROPS = 15.0
"""Green packets that may be dropped in a run before that is said: about one in a thousand."""

EXTRA = (
    ("sdev_in_run", "kbit/s"),
    ("background_throughput", "kbit/s"),
    ("timeouts", "1"),
    ("dropped_green", "packets"),
    ("dropped_yellow", "packets"),
    ("dropped_red", "packets"),
)


@dataclass(frozen=True)
class Reproduction:
    """What comes out of a reproduction.

    Attributes
    ----------
    document
        Rows and claims, plain JSON values; equal runs give equal bytes.
    measurements
        Every quantity, per replication.
    sweeps
        Those of the plan, reduced.
    findings
        What the comparison says beyond the claims: a title and a text each.
    warnings
        Runs that do not meet what the study assumes, in words.
    left_out
        What a quick reproduction does not do.
    """

    document: dict[str, Any]
    measurements: Measurements
    sweeps: tuple[SweepResult, ...]
    findings: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]


def reduce(plan: Plan, kept: Sequence[Run], command: str, results_version: int) -> Reproduction:
    """Turn the runs of a plan into rows and verdicts.

    Parameters
    ----------
    plan
        What was run.
    kept
        One per job, in the order of `plan.jobs`.
    command
        The command that makes the document again.
    results_version
        Version of the engine's results.
    """
    check_count(plan.jobs, kept)
    runs, place = {}, 0
    for case, n in plan.cases:
        runs[case.id] = tuple(kept[place : place + n])
        place += n
    published, fitted = plan.published, fitted_quantities(plan)
    m = measurements({case.id: case for case, _ in plan.cases}, runs, published, fitted)
    swept = []
    for sweep in plan.sweeps:
        n = 2 * sweep.replications * len(sweep.points)
        swept.append(reduce_sweep(sweep, [run_quantities(run) for run in kept[place : place + n]]))
        place += n
    printed = {case.id: case for case, _ in plan.cases if case.table == "published"}
    readings = []
    for reading in plan.readings:
        own = {}
        for id_ in printed:
            own[id_] = tuple(kept[place : place + READ])
            place += READ
        readings.append((reading, measurements(printed, own, published, fitted)))
    document = {
        "paper": plan.pack.key,
        "results_version": results_version,
        "command": command,
        "rows": [line for case in m.cases.values() for line in case_rows(plan, m, case)],
        "claims": [judge_claim(plan, m, readings, claim) for claim in plan.pack.claims],
    }
    found = findings(plan, m, readings)
    return Reproduction(document, m, tuple(swept), found, run_warnings(m), plan.left_out)


def fitted_quantities(plan: Plan) -> frozenset[tuple[str, str]]:
    """Give case and quantity of what the calibration fitted."""
    fit = load_calibration(plan.pack)
    return frozenset((fit.marking, quantity) for quantity in fit.fitted)


def judge_claim(
    plan: Plan, m: Measurements, readings: Sequence[tuple[Reading, Measurements]], claim: Claim
) -> dict[str, Any]:
    """Judge a claim as fitted and under each reading; shorter runs than the study's judge nothing."""
    unjudged = ""
    if claim.id in plan.unjudged:
        unjudged = f"runs simulate {plan.duration_s:g} s here, the study's {DURATION_S:g} s"
    others = [
        Under(reading, judge(PREDICATES, own, claim))
        for reading, own in readings
        if claim.id in reading.claims
    ]
    return claim_entry(claim, judge(PREDICATES, m, claim), others, unjudged)


def case_rows(plan: Plan, m: Measurements, case: Case) -> list[dict[str, Any]]:
    """Give the rows of a case: those of the paper's tables, then ours; of our own cases the means alone."""
    ours = case.table == "extra"
    published = {} if ours else plan.published[case.id]
    statistics = () if ours else ("sdev", "min", "max")
    rows = []
    for quantity, (_, unit) in METRICS.items():
        for name in (quantity, *(f"{quantity}_{statistic}" for statistic in statistics)):
            rows += _row(m, case, "extra" if ours else "throughput", name, unit, published)
    for component in COMPONENTS:
        for name in (f"{component}_fairness", *(() if ours else (f"{component}_fairness_sdev",))):
            rows += _row(m, case, "extra" if ours else "fairness", name, "1", published)
    for name, unit in () if ours else EXTRA:
        rows += _row(m, case, "extra", name, unit, published)
    return rows


def run_warnings(m: Measurements) -> tuple[str, ...]:
    """List what the study assumes and a case does not keep: an AF class that is full, no green losses."""
    found = []
    for id_, values in m.values.items():
        case = f"{m.cases[id_].title} ({id_})"
        busy = float((values["aggregate_throughput"] + values["background_throughput"]).mean()) / AF_KBPS
        if busy < 0.95:
            found.append(f"{case}: the AF class used {busy:.0%} of its rate, so it was not the bottleneck")
        green = float(values["dropped_green"].mean())
        if green >= GREEN_DROPS:
            found.append(
                f"{case}: {green:.0f} green packets a run were dropped, which the provisioning rules out"
            )
    return tuple(found)


def _row(
    m: Measurements, case: Case, table: str, quantity: str, unit: str, published: dict[str, float]
) -> list[dict[str, Any]]:
    """Give a row, or none where there are too few runs for a statistic of a whole test."""
    if quantity not in m.values[case.id] and quantity not in m.tests[case.id]:
        return []
    measured = m.interval(case.id, quantity)
    return [row(table, case.id, quantity, unit, published.get(quantity), measured)]
