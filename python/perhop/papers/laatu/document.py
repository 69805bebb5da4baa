"""The reproduction as a document: the paper's tables beside ours, claims judged, findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.papers.document import claim_entry, judge, row
from perhop.papers.laatu.measure import (
    COMPONENTS,
    REPETITIONS,
    Run,
    excess_denominator,
    least_fairness,
    run_quantities,
)
from perhop.papers.laatu.plan import Case, Plan
from perhop.papers.laatu.predicates import PREDICATES, Measurements, measurements
from perhop.papers.laatu.published import METRICS
from perhop.papers.laatu.setup import AF_KBPS, FLOWS
from perhop.papers.laatu.sweeps import SweepResult, reduce_sweep
from perhop.papers.study import check_count
from perhop.stats.intervals import mean_interval

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
    m = measurements({case.id: case for case, _ in plan.cases}, runs)
    swept = []
    for sweep in plan.sweeps:
        n = 2 * sweep.replications * len(sweep.points)
        swept.append(reduce_sweep(sweep, [run_quantities(run) for run in kept[place : place + n]]))
        place += n
    document = {
        "paper": plan.pack.key,
        "results_version": results_version,
        "command": command,
        "rows": [line for case in m.cases.values() for line in case_rows(plan, m, case)],
        "claims": [
            claim_entry(claim.id, claim.statement, claim.where, judge(PREDICATES, m, claim))
            for claim in plan.pack.claims
        ],
    }
    findings = (
        record_finding(plan),
        *comparison_findings(m),
        *averaging_findings(m),
        tables_finding(plan),
    )
    return Reproduction(document, m, tuple(swept), findings, run_warnings(m), plan.left_out)


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


def comparison_findings(m: Measurements) -> list[tuple[str, str]]:
    """Say what the cases beside the paper's two show; each paired by replication."""
    found = []
    pairs = (
        ("State or depth", "aggregate-deep", "aggregate", "One meter with buckets as deep as all four"),
        ("State or depth, the other way", "per-flow-shallow", "per-flow", "Four meters with a quarter each"),
        ("The TCP-friendly marker", "tcp-friendly", "aggregate", "The TCP-friendly marker"),
        (
            "The TCP-friendly marker against four meters",
            "tcp-friendly",
            "per-flow",
            "The TCP-friendly marker",
        ),
    )
    for title, case, against, words in pairs:
        if case in m.runs and against in m.runs:
            found.append((title, f"{words}, less {against}: {_differences(m, case, against)}."))
    return found


def record_finding(plan: Plan) -> tuple[str, str]:
    """Say what the record of the calibration shows about L2 and L3, whatever the choice."""
    record = plan.pack.record("calibration.json", ("points", "chosen"))
    points = [one["simulated"] for one in record["points"]]
    used = [one["per-flow"]["cir_utilization"] - one["aggregate"]["cir_utilization"] for one in points]
    more = [
        one["per-flow"]["aggregate_throughput"] > one["aggregate"]["aggregate_throughput"] for one in points
    ]
    less = sum(one < 0 for one in used)
    chosen = record["chosen"]
    error = chosen["prediction_error"]
    text = (
        f"The set-up was fitted to the means of Table 2 alone and meets them with an error of "
        f"{chosen['fit_error']:.1%}; it predicts the rest about per-flow marking with "
        f"{error['per-flow']:.1%}, and misses what is printed about aggregate marking by "
        f"{error['aggregate']:.0%}. Over all {len(points)} combinations that were tried, per-flow "
        f"marking uses at most {max(used):.3f} more of the committed rate (the paper: 0.16), and less "
        f"in {less} of them; its throughput is higher in {sum(more)}. A meter that all flows share "
        f"gives to one what another leaves; a meter of its own lets a flow's tokens overflow."
    )
    return "What no choice of the open parameters changes", text


def averaging_findings(m: Measurements) -> list[tuple[str, str]]:
    """Say what becomes of drop precedence where each virtual queue looks at its own backlog alone."""
    found = [m.values[case] for case in ("per-flow-decoupled", "aggregate-decoupled") if case in m.values]
    if len(found) < 2:
        return []
    each, together = ({name: float(values.mean()) for name, values in one.items()} for one in found)
    text = (
        f"Where each virtual queue averages its own backlog, {each['dropped_green']:.0f} green, "
        f"{each['dropped_yellow']:.0f} yellow and {each['dropped_red']:.0f} red packets are dropped in "
        f"a run with per-flow marking: four packets in five are green, so their backlog meets its "
        f"thresholds first, and a mark that should protect does the reverse. Throughput is then "
        f"{each['aggregate_throughput']:.0f} kbit/s with per-flow and "
        f"{together['aggregate_throughput']:.0f} with aggregate marking, CIR utilization "
        f"{each['cir_utilization']:.2f} and {together['cir_utilization']:.2f}."
    )
    return [("Drop precedence upside down", text)]


def tables_finding(plan: Plan) -> tuple[str, str]:
    """Hold the paper's tables against each other: what the spread permits, what the excess rate must be."""
    printed = plan.published["per-flow"]
    least = least_fairness(
        printed["aggregate_throughput_min"] / FLOWS, printed["per_flow_throughput_sdev"], FLOWS, REPETITIONS
    )
    ranges = [
        excess_denominator(one["cir_utilization"], one["excess_utilization"], one["aggregate_throughput"])
        for one in (printed, plan.published["aggregate"])
    ]
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    text = (
        f"A standard deviation of {printed['per_flow_throughput_sdev']:g} kbit/s over all flows and runs "
        f"(Table 2) permits no mean fairness of the total below {least:.4f}; Table 3 prints "
        f"{printed['total_fairness']:g}. Section 5.2 quotes that number for the committed bandwidth: with "
        f"the columns of Table 3 exchanged, the total is {printed['committed_fairness']:g} and the tables "
        f"agree. What excess utilization is relative to is not said; the rounded values of Tables 2 and 4 "
        f"together leave {low:.0f} to {high:.0f} kbit/s."
    )
    return "The paper's tables against each other", text


def _differences(m: Measurements, case: str, against: str) -> str:
    words = []
    for quantity, name, unit in (
        ("total_fairness", "fairness of the total", ""),
        ("cir_utilization", "CIR utilization", ""),
        ("aggregate_throughput", "throughput", " kbit/s"),
    ):
        first, second = m.values[case][quantity], m.values[against][quantity]
        n = min(len(first), len(second))
        one = mean_interval(first[:n] - second[:n])
        words.append(f"{name} {one.mean:+.3g}{unit} ({one.low:+.3g} to {one.high:+.3g})")
    return ", ".join(words)


def _row(
    m: Measurements, case: Case, table: str, quantity: str, unit: str, published: dict[str, float]
) -> list[dict[str, Any]]:
    """Give a row, or none where there are too few runs for a statistic of a whole test."""
    if quantity not in m.values[case.id] and quantity not in m.tests[case.id]:
        return []
    measured = m.interval(case.id, quantity)
    return [row(table, case.id, quantity, unit, published.get(quantity), measured)]
