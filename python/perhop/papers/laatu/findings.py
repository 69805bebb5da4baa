"""What the comparison says beyond the claims: a title and a text each."""

from __future__ import annotations

from collections.abc import Sequence

from perhop.papers.document import guard_finding
from perhop.papers.laatu.calibration import load_calibration
from perhop.papers.laatu.measure import REPETITIONS, excess_denominator, least_fairness
from perhop.papers.laatu.plan import Plan
from perhop.papers.laatu.predicates import Measurements
from perhop.papers.laatu.printed import ceiling_finding, common_mode_finding, significance_finding
from perhop.papers.laatu.setup import FLOWS, MARKINGS
from perhop.papers.readings import Reading
from perhop.stats.intervals import mean_interval

Readings = Sequence[tuple[Reading, Measurements]]
"""What was measured under each reading."""


def findings(plan: Plan, m: Measurements, readings: Readings) -> tuple[tuple[str, str], ...]:
    """Give all that the runs have the numbers for."""
    return (
        record_finding(plan),
        *guard_findings(m, readings),
        *comparison_findings(m),
        *averaging_findings(m),
        tables_finding(plan),
        significance_finding(plan.published),
        *ceiling_finding(plan.published, m),
        *common_mode_finding(plan.published, m),
    )


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
    """Say what the record of the calibration shows about L2 and L3, and no more than was tried."""
    record, fit = plan.pack.record("calibration.json", ("points", "chosen")), load_calibration(plan.pack)
    points = [one["simulated"] for one in record["points"]]
    used = [one["per-flow"]["cir_utilization"] - one["aggregate"]["cir_utilization"] for one in points]
    more = [
        one["per-flow"]["aggregate_throughput"] > one["aggregate"]["aggregate_throughput"] for one in points
    ]
    less = sum(one < 0 for one in used)
    chosen = record["chosen"]
    error = chosen["prediction_error"]
    free = len(fit.parameters) - len(fit.stated)
    text = (
        f"The set-up was fitted to {len(fit.fitted)} means of Table 2 alone and meets them with an error of "
        f"{chosen['fit_error']:.1%}. Utilization of the CIR, goodput and throughput are one quantity, and "
        f"the excess has a denominator of ours, so that {fit.independent} degrees of freedom met {free} free "
        f"parameters: a small error proves little. It predicts the rest about per-flow marking with "
        f"{error['per-flow']:.1%}, and misses what is printed about aggregate marking by "
        f"{error['aggregate']:.0%}. Over the {len(points)} combinations of "
        f"{', '.join(name.replace('_', ' ') for name in fit.parameters)} that were tried, everything else as "
        f"it is, per-flow marking uses at most {max(used):.3f} more of the committed rate (the paper: 0.16), "
        f"and less in {less} of them; its throughput is higher in {sum(more)}. What was not among them is "
        f"among the readings of the claims. A meter that all flows share gives to one what another leaves; a "
        f"meter of its own lets a flow's tokens overflow."
    )
    return f"What {len(points)} combinations of {len(fit.parameters)} parameters show", text


def guard_findings(m: Measurements, readings: Readings) -> list[tuple[str, str]]:
    """Say what the guard of Reno does to the number of time-outs."""
    under = {reading.id: own for reading, own in readings}
    if "guard off" not in under:
        return []
    with_it, without = (
        ", ".join(
            f"{FLOWS * one.values[case]['timeouts'].mean():.1f} ({case}, "
            f"{one.values[case]['aggregate_throughput'].mean():.0f} kbit/s)"
            for case in MARKINGS
        )
        for one in (m, under["guard off"])
    )
    paper = "The paper does not say which its hosts had; claims are judged under both."
    return [guard_finding("Time-outs of the four flows in a run", with_it, without, paper)]


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
