"""The reproduction as a document: published and simulated numbers side by side, claims judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from perhop.papers.claims import Under, claim_entry
from perhop.papers.document import guard_finding, judge, row
from perhop.papers.feroz.measure import UNITS, Measurements, Numbers, Reduced, SweepResult, measure
from perhop.papers.feroz.plan import Case, Plan, claim_figures
from perhop.papers.feroz.predicates import FRIENDLY, PREDICATES
from perhop.papers.feroz.readings import MARKERS
from perhop.papers.pack import Claim

MAIN = {
    "1": ("timeouts", "losses_per_s", "goodput", "cov"),
    "6": ("obtained", "obtained_share"),
    "short": (
        "completion_mean",
        "completion_p95",
        "completed",
        "unfinished",
        "timeouts",
        "losses_per_s",
    ),
    "rtt": ("timeouts", "losses_per_s", "goodput", "cov", "short_over_long"),
    "spacing": ("gaps_kept", "gap_excess"),
    "marks": (),
}
"""Quantities of a figure's rows; a figure that is not named is like Table 1."""


@dataclass(frozen=True)
class Reproduction:
    """What comes out of the study.

    Attributes
    ----------
    document
        Rows and claims, plain JSON values; equal runs give equal bytes.
    measurements
        Every quantity, per replication.
    swept
        How each reading moves Table 1; nothing in a quick reproduction.
    traces
        Per case id, the packet trace of its first replication.
    findings
        What the comparison says beyond the claims: a title and a text each.
    warnings
        Runs that do not meet what the study assumes, in words.
    left_out
        What a quick reproduction does not do.
    """

    document: dict[str, Any]
    measurements: Measurements
    swept: tuple[SweepResult, ...]
    traces: dict[str, pl.DataFrame]
    findings: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]


def reduce(plan: Plan, kept: Sequence[Numbers], command: str, results_version: int) -> Reproduction:
    """Turn what was kept of a plan's runs into rows and verdicts.

    Parameters
    ----------
    plan
        What was run.
    kept
        One for each of `plan.jobs`, in their order.
    command
        The command that makes the document again.
    results_version
        Version of the engine's results.
    """
    reduced = measure(plan, kept)
    m, swept = reduced.fitted, reduced.swept
    document = {
        "paper": plan.pack.key,
        "results_version": results_version,
        "command": command,
        "rows": [one for case in plan.cases for one in case_rows(m, case)],
        "claims": [judge_claim(plan, reduced, claim) for claim in plan.pack.claims],
    }
    traces: dict[str, pl.DataFrame] = {}
    first = 0
    for case in plan.cases:
        if (trace := kept[first].trace) is not None:
            traces[case.id] = trace
        first += case.replications
    found = (*guard_findings(reduced), *findings(m, swept))
    return Reproduction(document, m, swept, traces, found, run_warnings(m), plan.left_out)


def judge_claim(plan: Plan, reduced: Reduced, claim: Claim) -> dict[str, Any]:
    """Judge a claim as fitted and under each reading; shorter runs than the study's judge nothing."""
    cases = [case for case in reduced.fitted.cases.values() if case.figure in claim_figures(claim)]
    short = {case.figure: case.duration_s for case in cases if case.shortened}
    unjudged = ", ".join(f"Table {figure} simulates {time:g} s here" for figure, time in short.items())
    if not unjudged and claim.id in plan.unjudged:
        unjudged = "a quick reproduction leaves its readings out"
    others = [
        Under(reading, judge(PREDICATES, m, claim))
        for reading, m in reduced.readings
        if claim.id in reading.claims and claim.id not in plan.unjudged
    ]
    return claim_entry(claim, judge(PREDICATES, reduced.fitted, claim), others, unjudged)


def case_rows(m: Measurements, case: Case) -> list[dict[str, Any]]:
    """Give the rows of one case: what the paper prints about it, or what a run of ours is for."""
    like = "6" if case.assured_bit_s is not None and case.table != "extra" else case.figure
    return [
        row(
            case.table,
            case.id,
            quantity,
            UNITS[quantity],
            case.published.get(quantity),
            m.interval(case.id, quantity),
        )
        for quantity in MAIN.get(like, MAIN["1"])
    ]


def _place(id_: str) -> str:
    """Give the table of a case, and the tokens where it has several: `6, 15 tokens`."""
    table, _, tokens = id_.split()[0].partition("-")
    return f"{table}, {tokens} tokens" if tokens else table


def run_warnings(m: Measurements) -> tuple[str, ...]:
    """List what the comparison assumes and a run does not keep: IN packets are hardly lost."""
    found = []
    for id_, values in m.values.items():
        lost_in, lost = values["losses_in"].mean(), values["losses_per_s"].mean()
        if m.cases[id_].table != "extra" and m.cases[id_].marker != "none" and lost_in > 0.2 * lost > 0:
            found.append(f"{lost_in / lost:.0%} with {m.cases[id_].marker} in Table {_place(id_)}")
    if not found:
        return ()
    text = "RIO is to drop OUT packets first, yet of the lost packets more than a fifth were IN: "
    return (text + ", ".join(found),)


def guard_findings(reduced: Reduced) -> list[tuple[str, str]]:
    """Say what the guard of Reno does to the number of time-outs in Table 1."""
    under = {reading.id: m for reading, m in reduced.readings}
    if "guard off" not in under or f"1 {FRIENDLY}" not in under["guard off"].cases:
        return []
    with_it, without = (
        ", ".join(f"{m.mean(f'1 {marker}', 'timeouts'):.1f} ({marker})" for marker in MARKERS)
        for m in (reduced.fitted, under["guard off"])
    )
    paper = (
        "The paper prints 11, 18 and 18, and does not say which Reno it ran. Claims on time-outs are judged "
        "under both."
    )
    return [guard_finding("Time-outs a run in Table 1", with_it, without, paper)]


def findings(m: Measurements, swept: Sequence[SweepResult]) -> list[tuple[str, str]]:
    """Say what the runs show beyond the claims; nothing about what a quick reproduction leaves out."""
    by_name = {(each.sweep.table, each.sweep.parameter.name): each for each in swept}
    found = []
    if ("1", "averaging") in by_name and ("1", "unmarked") in by_name:
        found.append(_what_rio_averages(by_name["1", "averaging"], by_name["1", "unmarked"]))
    if ("1", "beyond_tokens") in by_name and ("1", "carry") in by_name:
        found.append(_unused_tokens(by_name["1", "beyond_tokens"], by_name["1", "carry"]))
    if ("1", "depth") in by_name and ("6", "depth") in by_name:
        found.append(_bucket_depth(by_name["1", "depth"], by_name["6", "depth"]))
    if "2-scaled tcp-friendly" in m.cases:
        found.append(_scaled_thresholds(m))
    if not m.cases["3 tcp-friendly"].shortened:
        found += [_fast_links(m), _other_kinds(m)]
    return found


def _at(swept: SweepResult, value: object) -> dict[str, dict[str, float]]:
    return swept.means[swept.sweep.parameter.values.index(value)]


def _what_rio_averages(averaging: SweepResult, unmarked: SweepResult) -> tuple[str, str]:
    def timeouts(swept: SweepResult, value: str, case: str) -> float:
        return _at(swept, value)[case]["timeouts"]

    friendly, none = "1 tcp-friendly", "1 none"
    text = (
        "The paper does not say what RIO averages for OUT packets. If the average counts all packets, as "
        f"in RIO's own paper, the TCP-friendly marker has {timeouts(averaging, 'coupled', friendly):.0f} "
        "time-outs in Table 1; if it counts OUT packets alone, "
        f"{timeouts(averaging, 'decoupled', friendly):.0f} (paper: 11). Nor does it say whose profile "
        f"unmarked packets meet: with OUT's there are {timeouts(unmarked, 'out', none):.0f} time-outs, with "
        f"IN's {timeouts(unmarked, 'in', none):.0f} (paper: 18)."
    )
    return "What RIO averages, and whose profile unmarked packets meet", text


def _unused_tokens(beyond: SweepResult, carry: SweepResult) -> tuple[str, str]:
    def pair(swept: SweepResult, value: object) -> str:
        found = _at(swept, value)["1 tcp-friendly"]
        return f"{found['timeouts']:.0f} time-outs and {found['losses_per_s']:.2f} losses per second"

    bucket = _at(carry, carry.sweep.parameter.chosen)["1 token-bucket"]
    text = (
        "Algorithm 1 gives a flow at most the packets it expects from it, and Algorithm 2 marks the rest "
        f"OUT, even while tokens of the interval are left. Read so, Table 1 has {pair(beyond, 'out')}. "
        "Where a packet may have a token that no flow was allocated, and unused tokens go over, "
        f"{pair(beyond, 'surplus')}; if they do not go over, {pair(carry, 0)}. The token bucket, which "
        f"keeps unused tokens, has {bucket['timeouts']:.0f} and {bucket['losses_per_s']:.2f}: the marker "
        "comes up to it only where it may use as many tokens."
    )
    return "What becomes of unused tokens", text


def _bucket_depth(first: SweepResult, sixth: SweepResult) -> tuple[str, str]:
    values = first.sweep.parameter.values

    def ratio(value: object) -> float:
        found = _at(sixth, value)
        return found["6-15 tcp-friendly"]["obtained"] / found["6-15 token-bucket"]["obtained"]

    shallow = _at(sixth, values[0])
    obtained = ", ".join(f"{shallow[f'6-{tokens} token-bucket']['obtained']:.2f}" for tokens in (15, 30, 45))
    table_1 = ", ".join(
        f"{_at(first, value)['1 token-bucket']['losses_per_s']:.2f} at {value:g}" for value in values
    )
    text = (
        f"A bucket of one packet gives the assured flow of Table 6 {obtained} Mbit/s at 15, 30 and 45 "
        f"tokens (paper: 0.26, 0.42, 0.59), and the TCP-friendly marker is {ratio(values[0]):.1f} times as "
        "good at 15; with the depth that fits Tables 1, 4 and 5 it is "
        f"{ratio(first.sweep.parameter.chosen):.2f} times. But in Table 1 the bucket's losses per second "
        f"are {table_1} intervals of tokens (paper: 2.28): no one depth gives both tables. How deep the "
        "paper's bucket was, and whether it was the same in all tables, decides claims F8 and F9."
    )
    return "How deep the token bucket is", text


def _pair(m: Measurements, figure: str, marker: str) -> str:
    found = [m.mean(f"{figure} {marker}", quantity) for quantity in ("timeouts", "losses_per_s")]
    return f"{found[0]:.0f} and {found[1]:.1f}"


def _three(m: Measurements, figure: str) -> str:
    return ", ".join(_pair(m, figure, marker) for marker in ("tcp-friendly", "token-bucket", "none"))


def _fast_links(m: Measurements) -> tuple[str, str]:
    """Say why Table 3 comes out against the marker: it forecasts for a time of many round trips."""

    def out_and_in(marker: str) -> str:
        values = m.values[f"3 {marker}"]
        lost, lost_in = float(values["losses_per_s"].mean()), float(values["losses_in"].mean())
        return f"{lost - lost_in:.0f} OUT and {lost_in:.0f} IN"

    text = (
        "Time-outs and losses per second, TCP-friendly, token bucket and no marker: "
        f"{_three(m, '3')}. Packets lost per second with the TCP-friendly marker: "
        f"{out_and_in('tcp-friendly')}; with the bucket: {out_and_in('token-bucket')}. The marker leaves "
        "many more packets OUT: it gives each flow tokens for 250 ms by what it sent before, which is six "
        "round trips here, and a flow's unused tokens serve no other flow meanwhile; the bucket's serve "
        "whoever sends. With an interval of one round trip, 40 ms, and its part of the tokens, it has "
        f"{_pair(m, '3-interval', 'tcp-friendly')}. Claims F3, F7 and F9 are judged by the paper's interval."
    )
    return "At 150 Mbit/s the marking interval is six round trips", text


def _other_kinds(m: Measurements) -> tuple[str, str]:
    """Compare the runs of section 5.7, which the paper calls consistent with its tables, with ours."""
    kinds = ("short", "rtt", "fast")
    lines = "; ".join(f"{m.cases[f'{kind} none'].title}: {_three(m, kind)}" for kind in kinds)
    text = (
        "The paper says of these kinds only that they agree with its tables. Ours, time-outs and losses per "
        f"second with TCP-friendly, token bucket and no marker: {lines}. Where the marker has more of both, "
        "ours do not agree with what the paper says."
    )
    return "Section 5.7: other kinds of traffic", text


def _scaled_thresholds(m: Measurements) -> tuple[str, str]:
    text = (
        "Time-outs and losses per second, TCP-friendly and token bucket. The paper: 348 and 23.3, 399 and "
        f"32.0. With the thresholds that it names: {_pair(m, '2', 'tcp-friendly')}, "
        f"{_pair(m, '2', 'token-bucket')}. With thresholds and buffer ten times as large, like the link: "
        f"{_pair(m, '2-scaled', 'tcp-friendly')}, {_pair(m, '2-scaled', 'token-bucket')}; without a marker "
        f"{_pair(m, '2-scaled', 'none')}, where the paper has 2145 and 100.3. At 15 Mbit/s 200 packets "
        "wait for 0.11 s, so that a hundred flows have windows of two or three packets and lose one in "
        "ten; the printed rate of one in eighty needs windows of about ten, which is a queue of a thousand "
        "packets. The paper names its thresholds; F2 is judged by them, and by the larger ones as a reading."
    )
    return "Table 2 and RIO's thresholds", text
