"""The reproduction as a document: printed, computed, simulated numbers; judged claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from perhop.judge.grammar import Claim
from perhop.models import two_way
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.document import NO_FORM, Judge, row
from perhop.papers.kalampoukas.beyond import Grid
from perhop.papers.kalampoukas.figures import Figure, FigureValues
from perhop.papers.kalampoukas.notes import Read, notes
from perhop.papers.kalampoukas.votes import Unfit, voting
from perhop.papers.plan import Plan
from perhop.papers.readings import Reading
from perhop.papers.study import Outcome
from perhop.run.run import Result

PER_ROW = ("K1", "K9")
"""Claims that have a verdict for each row of the published table."""

_UNITS = {"slow_throughput": "kbit/s", "fast_throughput": "kbit/s"}
_QUEUES = ("slow_queue_data", "slow_queue_packets")


@dataclass(frozen=True, kw_only=True)
class Reproduction(Outcome):
    """Outcome of the study; `drawn` is the first replication of each figure, by its id."""

    measured: FigureValues
    drawn: Mapping[str, Result]
    beyond: Sequence[Grid]


def rows_of(m: FigureValues) -> list[dict[str, Any]]:
    """Return the rows of each figure: quantities, the slow link's utilization, queues."""
    rows = []
    for figure in m.figures.values():
        for quantity in dict.fromkeys((*figure.published, "slow_link_utilization", *_QUEUES)):
            unit = "packets" if quantity in _QUEUES else _UNITS.get(quantity, "1")
            printed, found = m.published(figure.id, quantity), m.interval(figure.id, quantity)
            closed = _closed(figure, quantity)
            rows.append(row(figure.table, figure.id, quantity, unit, printed, found, closed))
    return rows


def run_warnings(m: FigureValues) -> list[str]:
    """Return warnings of runs that lose packets or exceed the queue of Theorem 2."""
    found = []
    for id_, figure in m.figures.items():
        if m.values(id_, "dropped").any():
            found.append(f"figure {id_}: packets were lost; the closed forms assume none")
        bound, longest = theorem_2(figure), float(m.values(id_, "slow_queue_data").max())
        if bound is not None and longest > bound:
            about = figure.setup.scheme == "fifo"
            allows = "allows" if about else "is not about this scheme, but would allow"
            found.append(f"figure {id_}: {longest:.0f} data packets waited; Theorem 2 {allows} {bound:.1f}")
    return found


def judge_claim(
    judge: Judge,
    plan: Plan,
    m: FigureValues,
    under: Read,
    claim: Claim,
    listed: Sequence[Reading],
    without: Sequence[Unfit],
) -> list[dict[str, Any]]:
    """Judge a claim as fitted and under each reading; those of `PER_ROW` by row as well.

    One about a figure that is not run has no parts. `without` has of each reading where it does not vote.
    """
    if claim.levels("figure") - set(m.figures):
        return [claim_entry(claim, ())]
    parts = judge(m, claim)
    others = [
        UnderReading(one, [voting(part, unfit) for part in judge(own, claim)])
        for (one, own), unfit in zip(under, without, strict=True)
        if claim.id in one.claims
    ]
    unjudged = "a quick reproduction leaves it out" if claim.id in plan.unjudged else ""
    remarks = notes(plan.pack, claim.id, m, under)
    entries = [claim_entry(claim, parts, others, unjudged, remarks, listed)]
    if claim.id in PER_ROW:
        for figure in dict.fromkeys(p.quantity.split(",")[0] for p in parts):
            at = [k for k, p in enumerate(parts) if p.quantity.split(",")[0] == figure]
            own = replace(claim, id=f"{claim.id}/{figure}", statement=f"{claim.statement} (row {figure})")
            read = [UnderReading(one.reading, [one.parts[k] for k in at]) for one in others]
            entries.append(claim_entry(own, [parts[k] for k in at], read, unjudged, listed=listed))
    return entries


def theorem_2(figure: Figure) -> float | None:
    """Return Theorem 2's bound on the slow queue, packets; None without a slow connection.

    It is evaluated for any scheme.
    """
    return None if figure.setup.alone else float(two_way.max_queue(figure.setup.model()).slow)


def _closed(figure: Figure, quantity: str) -> Mapping[str, float | None]:
    """Return the closed forms in the unit of the quantity's row."""
    side, _, measure = quantity.partition("_")
    if quantity == "slow_queue_data" and figure.setup.scheme == "fifo":
        # Theorem 2 is about data and ACKs in one shared FIFO, traffic both ways
        return {**NO_FORM, "printed": theorem_2(figure)}
    if measure not in ("efficiency", "throughput"):
        return NO_FORM
    rate = figure.setup.slow_rate if side == "slow" else figure.setup.fast_rate
    scale = rate / 1e3 if measure == "throughput" else 1.0
    found = {form: figure.setup.closed_form(form) for form in get_args(two_way.Form)}
    return {form: None if one is None else float(getattr(one, side)) * scale for form, one in found.items()}
