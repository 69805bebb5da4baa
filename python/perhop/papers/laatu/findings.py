"""Findings beyond the claims: numbers for the words of `words.toml`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perhop.papers.document import guard_finding
from perhop.papers.fit import BASE, read_record
from perhop.papers.laatu.predicates import SchemeValues
from perhop.papers.laatu.responses import (
    CIR_KBPS,
    COMPONENTS,
    FLOWS,
    LABELS,
    MARKINGS,
    REPETITIONS,
    by_test,
    sdev,
)
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.papers.study import Finding, finding
from perhop.stats.fairness import least_jain
from perhop.stats.intervals import mean_interval
from perhop.stats.summaries import variance_ratio, welch

Numbers = dict[str, Any]
_RATE = "aggregate_throughput"


def findings(
    pack: Pack, m: SchemeValues, under: Sequence[tuple[Reading, SchemeValues]]
) -> tuple[Finding, ...]:
    """Return a title and a text for all that the runs have the numbers for."""
    each, together = (m.published[marking] for marking in MARKINGS)
    known = {"each": each, "together": together, "runs": REPETITIONS, "flows": REPETITIONS * FLOWS}
    words = pack.toml("words.toml")

    def filled(id_: str, numbers: Numbers | None) -> list[Finding]:
        return [finding(words["finding"][id_], **known, **numbers)] if numbers else []

    return (
        *filled("record", _record(pack)),
        *_guard(m, under),
        *_compared(m, words["compared"]),
        *filled("decoupled", _decoupled(m)),
        *filled("tables", _tables(m)),
        *filled("significance", {"compared": _significance(m)}),
        *filled("ceiling", _ceiling(m)),
        *filled("common_mode", _common_mode(m)),
    )


def _record(pack: Pack) -> Numbers:
    """Return what the record of the calibration shows about L2 and L3."""
    record = read_record(pack)
    found, tried = record["fits"][BASE], record["points"]
    names = ", ".join(name.replace("_", " ") for name in found["chosen"])
    points = [[one["simulated"][marking] for marking in MARKINGS] for one in tried]
    used = [a["cir_utilization"] - b["cir_utilization"] for a, b in points]
    less, higher = sum(one < 0 for one in used), sum(a[_RATE] > b[_RATE] for a, b in points)
    numbers = {"most": max(used), "less": less, "higher": higher, "tried": len(tried), "names": names}
    counts = {"fitted": len(record["fitted"]), "free": len(found["chosen"])}
    return {"record": record, "found": found, **numbers, **counts}


def _guard(m: SchemeValues, under: Sequence[tuple[Reading, SchemeValues]]) -> Iterator[Finding]:
    """Yield the finding on how Reno's guard changes the number of time-outs."""
    for off in (own for reading, own in under if reading.id == "guard off"):
        with_it, without = (
            ", ".join(
                f"{FLOWS * one.cases[case].mean('timeouts'):.1f} ({case}, "
                f"{one.cases[case].mean(_RATE):.0f} kbit/s)"
                for case in MARKINGS
            )
            for one in (m, off)
        )
        paper = "The paper does not say which its hosts had; claims are judged under both."
        yield guard_finding("Time-outs of the four flows in a run", with_it, without, paper)


def _compared(m: SchemeValues, pairs: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Yield a finding for each pair of cases beside the paper's, paired by replication."""
    for pair in pairs:
        (case, against), words = pair["cases"], []
        for quantity, name in LABELS.items():
            first, second = m.cases[case][quantity], m.cases[against][quantity]
            n = min(len(first), len(second))
            one = mean_interval(first[:n] - second[:n])
            words.append(f"{name} {one.mean:+.3g} ({one.low:+.3g} to {one.high:+.3g})")
        yield pair["title"], f"{pair['text']}, less {against}: {', '.join(words)}."


def _decoupled(m: SchemeValues) -> Numbers:
    """Return numbers on drop precedence where each virtual queue sees its own backlog alone."""
    both = [m.cases[f"{marking}-decoupled"] for marking in MARKINGS]
    dropped = {color: both[0].mean(f"dropped_{color}") for color in ("green", "yellow", "red")}
    rates, used = ([case.mean(name) for case in both] for name in (_RATE, "cir_utilization"))
    return {**dropped, "rates": rates, "used": used}


def _tables(m: SchemeValues) -> Numbers:
    """Return what the paper's tables imply: the least fairness, the range of the excess rate."""
    printed = m.published["per-flow"]
    spread, smallest = printed["per_flow_throughput_sdev"], printed["aggregate_throughput_min"] / FLOWS
    lows, highs = zip(*map(excess_denominator, m.published.values()), strict=True)
    least = least_jain(smallest, spread, FLOWS, REPETITIONS)
    return {"least": least, "low": max(lows), "high": min(highs)}


def excess_denominator(printed: Mapping[str, float]) -> tuple[float, float]:
    """Return the range of the excess rate, kbit/s, that a printed table implies.

    Its utilizations have two decimals.

    The rounding of the throughput is neglected.
    """
    used, excess = printed["cir_utilization"], printed["excess_utilization"]
    low, high = (
        (printed["aggregate_throughput"] - (used + off) * CIR_KBPS) / (excess + off)
        for off in (0.005, -0.005)
    )
    return low, high


def _significance(m: SchemeValues) -> str:
    """Return the significance of each printed difference in fairness, over five runs."""
    words = []
    for component in COMPONENTS:
        name = f"{component}_fairness"
        (a, b), (sdev_a, sdev_b) = (
            [m.published[marking][key] for marking in MARKINGS] for key in (name, f"{name}_sdev")
        )
        t, p = welch((a, b), (sdev_a, sdev_b), REPETITIONS)
        words.append(f"{component} {a:g} against {b:g} (Welch's t = {t:.1f}, p = {p:.2f})")
    return "; ".join(words)


def _ceiling(m: SchemeValues) -> Numbers | None:
    """Return how far the largest flow exceeds the mean, printed and simulated."""
    mean, spread, largest = (
        m.published["aggregate"][f"per_flow_throughput{end}"] for end in ("", "_sdev", "_max")
    )
    tests = by_test(m.cases["aggregate"].rates["throughput"])
    above = [float((one.max() - one.mean()) / sdev(one)) for one in tests if sdev(one) > 0]
    if not above:
        return None
    ours = {"tests": len(above), "low": min(above), "high": max(above), "ours": tests.max()}
    return {"off": (largest - mean) / spread, "share": CIR_KBPS / FLOWS, **ours}


def _common_mode(m: SchemeValues) -> Numbers | None:
    """Return how much the sums vary from run to run, printed against simulated."""
    printed, ours = m.published["per-flow"], m.cases["per-flow"][_RATE]
    against, alone = float(sdev(ours)), math.sqrt(FLOWS) * printed["per_flow_throughput_sdev"]
    if against == 0.0:
        return None
    ratio, probability = variance_ratio(printed[f"{_RATE}_sdev"], REPETITIONS, against, len(ours))
    found = {"against": against, "ours": len(ours), "ratio": ratio, "probability": probability}
    return {**found, "alone": alone}
