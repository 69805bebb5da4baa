"""The reproduction as a document: printed beside simulated numbers, judged claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.judge.grammar import Claim
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.document import Judge, document_of, guard_finding, judge_of, row
from perhop.papers.feroz.cases import BUCKET, EXTRA, FITTED, FRIENDLY, MARKERS, Case
from perhop.papers.feroz.measure import CaseValues, everything
from perhop.papers.feroz.plan import Runs, subject_of
from perhop.papers.plan import Results
from perhop.papers.readings import Reading, load_readings
from perhop.papers.study import Finding, Outcome, finding
from perhop.run.run import Result


@dataclass(frozen=True, kw_only=True)
class Reproduction(Outcome):
    """Outcome of the study; `measured` is by `as fitted`, reading id or `parameter=value`."""

    measured: Mapping[str, CaseValues]
    drawn: Mapping[str, Result]


def reduce(plan: Runs, results: Results, command: str, results_version: int) -> Reproduction:
    """Turn what was measured into rows and verdicts."""
    measured = everything(plan.cases, results)
    layout, listed = plan.pack.toml("page.toml"), load_readings(plan.pack)
    judge = judge_of(plan.pack.written, subject_of(plan.pack, plan.cases), {})
    rows = [one for case in plan.cases for one in case_rows(measured[FITTED], case, layout)]
    claims = [judge_claim(judge, plan, measured, claim, listed) for claim in plan.pack.claims]
    document = document_of(plan.pack.key, command, results_version, rows, claims)
    found, warned = findings(plan, measured, layout), run_warnings(measured[FITTED])
    return Reproduction(
        document=document,
        measured=measured,
        drawn=results.drawn,
        findings=found,
        warnings=warned,
        left_out=plan.left_out,
    )


def judge_claim(
    judge: Judge, plan: Runs, measured: Mapping[str, CaseValues], claim: Claim, listed: Sequence[Reading]
) -> dict[str, Any]:
    """Judge a claim as fitted and under each reading; runs cut short judge nothing."""
    cases = [case for case in plan.cases if case.figure in claim.levels("figure")]
    short = {case.figure: case.duration_s for case in cases if case.shortened}
    unjudged = ", ".join(f"Table {figure} simulates {time:g} s here" for figure, time in short.items())
    if not unjudged and claim.id in plan.unjudged:
        unjudged = "a quick reproduction leaves its readings out"
    others = [
        UnderReading(reading, judge(measured[reading.id], claim))
        for reading, _ in plan.read
        if claim.id in reading.claims and claim.id not in plan.unjudged
    ]
    fitted = judge(measured[FITTED], claim)
    return claim_entry(claim, fitted, others, unjudged, listed=listed)


def case_rows(m: CaseValues, case: Case, layout: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one case: what is printed of it, or what a run of ours is for."""
    rows, like = layout["rows"], "6" if case.tokens is not None and case.table != EXTRA else case.figure
    units, printed = layout["units"], case.published
    return [
        row(case.table, case.id, name, units.get(name, "1"), printed.get(name), m.interval(case.id, name))
        for name in rows[like if like in rows else "1"]
    ]


def run_warnings(m: CaseValues) -> tuple[str, ...]:
    """Return warnings of cases that lose many IN packets, which the comparison rules out."""
    found = []
    for case in m.cases.values():
        if case.table == EXTRA or case.marker == "none":
            continue
        lost_in, lost = m.mean(case.id, "losses_in"), m.mean(case.id, "losses_per_s")
        if lost_in > 0.2 * lost > 0:
            tokens = "" if case.tokens is None else f", {case.tokens} tokens"
            found.append(f"{lost_in / lost:.0%} with {case.marker} in Table {case.table}{tokens}")
    text = "RIO is to drop OUT packets first, yet of the lost packets more than a fifth were IN: "
    return (text + ", ".join(found),) if found else ()


def findings(plan: Runs, measured: Mapping[str, CaseValues], words: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what the runs show beyond the claims; a quick reproduction only on the guard."""

    def mean(under: str, case: str, quantity: str) -> float:
        return measured[under].mean(case, quantity)

    def ratio(under: str, row: str, quantity: str) -> float:
        return mean(under, f"{row} {FRIENDLY}", quantity) / mean(under, f"{row} {BUCKET}", quantity)

    def pair(case: str) -> str:
        return f"{mean(FITTED, case, 'timeouts'):.0f} and {mean(FITTED, case, 'losses_per_s'):.1f}"

    def three(figure: str) -> str:
        return ", ".join(pair(f"{figure} {marker}") for marker in MARKERS)

    def guard(under: str) -> str:
        return ", ".join(f"{mean(under, f'1 {marker}', 'timeouts'):.1f} ({marker})" for marker in MARKERS)

    found = []
    if "guard off" in measured:
        counted, off = "Time-outs a run in Table 1", guard("guard off")
        found.append(guard_finding(counted, guard(FITTED), off, words["guard"]))
    named = {one.__name__: _Lookup(one) for one in (mean, ratio, pair, three)}
    return (*found, *(finding(one, **named) for one in words["finding"] if plan.beyond))


class _Lookup:
    """A function whose arguments a text names in brackets, with slashes between them."""

    def __init__(self, of: Callable[..., object]) -> None:
        self._of = of

    def __getitem__(self, key: str | int) -> object:
        # a name of digits alone comes as a number
        return self._of(*str(key).split("/"))
