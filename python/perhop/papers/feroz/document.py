"""The reproduction as a document: published and simulated numbers side by side, claims judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.papers.document import claim_entry, judge, row
from perhop.papers.feroz.measure import UNITS, Measurements, Numbers, SweepResult, measure
from perhop.papers.feroz.plan import Case, Plan
from perhop.papers.feroz.predicates import PREDICATES

MAIN = {
    "1": ("timeouts", "losses_per_s", "goodput", "cov"),
    "6": ("obtained", "obtained_share"),
    "short": ("completion_mean", "completion_p95", "completed", "timeouts", "losses_per_s"),
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
    traces: dict[str, Any]
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
    m, swept = measure(plan, kept)
    claims = [
        claim_entry(claim.id, claim.statement, claim.where, judge(PREDICATES, m, claim))
        for claim in plan.pack.claims
    ]
    document = {
        "paper": plan.pack.key,
        "results_version": results_version,
        "command": command,
        "rows": [one for case in plan.cases for one in case_rows(m, case)],
        "claims": claims,
    }
    traces, first = {}, 0
    for case in plan.cases:
        if case.trace:
            traces[case.id] = kept[first].trace
        first += case.replications
    return Reproduction(document, m, tuple(swept), traces, (), run_warnings(m), plan.left_out)


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


def run_warnings(m: Measurements) -> tuple[str, ...]:
    """List what the comparison assumes and a run does not keep: IN packets are hardly lost."""
    found = []
    for id_, values in m.values.items():
        lost_in, lost = values["losses_in"].mean(), values["losses_per_s"].mean()
        if m.cases[id_].marker != "none" and lost_in > 0.2 * lost > 0:
            found.append(f"{id_}: {lost_in / lost:.0%} of the lost packets were IN")
    return tuple(found)
