"""The reproduction as a document: published, computed and simulated numbers side by side, claims judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.models import two_way
from perhop.papers.claims import Under, claim_entry
from perhop.papers.document import judge, row
from perhop.papers.kalampoukas.measure import Curve, Measurements, curves, measure
from perhop.papers.kalampoukas.plan import Figure, Plan
from perhop.papers.kalampoukas.predicates import PREDICATES
from perhop.papers.pack import Claim
from perhop.papers.readings import Reading
from perhop.run import Result

PER_ROW = ("within_closed_form", "within_published")
"""Predicates that give a verdict for each row of the published table."""

_UNITS = {"slow_efficiency": "1", "fast_efficiency": "1", "fast_throughput": "kbit/s"}


@dataclass(frozen=True)
class Reproduction:
    """What comes out of a reproduction.

    Attributes
    ----------
    document
        Rows and claims, plain JSON values; equal runs give equal bytes.
    measurements
        Every quantity, per replication.
    curves
        Per figure id, the lines of its first replication.
    findings
        What the comparison says beyond the claims: a title and a text each.
    queue_bounds
        Per figure id, the bound of Theorem 2 on the slow node's queue, data packets, also where the theorem
        does not apply; None without a slow connection.
    warnings
        Runs that do not meet what the study assumes, in words.
    left_out
        What a quick reproduction does not do.
    """

    document: dict[str, Any]
    measurements: Measurements
    curves: dict[str, list[Curve]]
    findings: list[tuple[str, str]]
    queue_bounds: dict[str, float | None]
    warnings: list[str]
    left_out: tuple[str, ...]


def reduce(plan: Plan, results: Sequence[Result], command: str, results_version: int) -> Reproduction:
    """Turn the results of a plan into rows and verdicts.

    Parameters
    ----------
    plan
        What was run.
    results
        What the engine returned, in the order of `plan.jobs`.
    command
        The command that makes the document again.
    results_version
        Version of the engine's results.

    Raises
    ------
    BrokenRun
        If a run reports a broken invariant.
    """
    m, under = measure(plan, results)
    finding = allocation_finding(m)
    notes = {"K1": [finding[1]], "K7": [threshold_note(m)], "K8": [threshold_note(m)]}
    claims = [entry for claim in plan.pack.claims for entry in judge_claim(plan, m, under, claim, notes)]
    document = {
        "paper": plan.pack.key,
        "results_version": results_version,
        "command": command,
        "rows": [one for figure in plan.figures for one in figure_rows(m, figure)],
        "claims": claims,
    }
    lines = {
        figure.id: curves(figure, results[index * plan.replications])
        for index, figure in enumerate(plan.figures)
    }
    bounds = {figure.id: _theorem_2(figure) for figure in plan.figures}
    return Reproduction(document, m, lines, [finding], bounds, run_warnings(m), plan.left_out)


def figure_rows(m: Measurements, figure: Figure) -> list[dict[str, Any]]:
    """Give the rows of one figure: its quantities, the slow link's utilization, the longest queues."""
    rows = []
    for quantity, published in figure.published.items():
        closed = {
            "printed": _closed(figure, quantity, "printed"),
            "bounded": _closed(figure, quantity, "bounded"),
        }
        rows.append(_row(m, figure, quantity, _UNITS[quantity], published, closed))
    nothing: dict[str, float | None] = {"printed": None, "bounded": None}
    rows.append(_row(m, figure, "slow_link_utilization", "1", None, nothing))
    bound: dict[str, float | None] = {"printed": None, "bounded": None}
    if _in_theorem_2(figure):
        bound["printed"] = _theorem_2(figure)
    rows.append(_row(m, figure, "slow_queue_data", "packets", None, bound))
    rows.append(_row(m, figure, "slow_queue_packets", "packets", None, nothing))
    return rows


def run_warnings(m: Measurements) -> list[str]:
    """List what the study assumes or bounds and a run does not keep: no losses, Theorem 2."""
    found = []
    for id_, values in m.values.items():
        if values["dropped"].any():
            found.append(f"figure {id_}: packets were lost; the closed forms assume none")
        figure = m.figures[id_]
        bound, longest = _theorem_2(figure), float(values["slow_queue_data"].max())
        if bound is not None and longest > bound:
            allows = "allows" if _in_theorem_2(figure) else "is not about this scheme, but would allow"
            found.append(f"figure {id_}: {longest:.0f} data packets waited; Theorem 2 {allows} {bound:.1f}")
    return found


def judge_claim(
    plan: Plan,
    m: Measurements,
    under: Sequence[tuple[Reading, Measurements]],
    claim: Claim,
    notes: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Judge a claim as given and under each reading; one about all rows has a verdict for each as well."""
    parts = judge(PREDICATES, m, claim)
    others = [
        Under(reading, judge(PREDICATES, own, claim)) for reading, own in under if claim.id in reading.claims
    ]
    unjudged = "a quick reproduction leaves it out" if claim.id in plan.unjudged else ""
    entries = [claim_entry(claim, parts, others, unjudged, notes.get(claim.id, ()))]
    if claim.predicate not in PER_ROW:
        return entries
    for figure in dict.fromkeys(p.quantity.split(",")[0] for p in parts):
        at = [k for k, p in enumerate(parts) if p.quantity.split(",")[0] == figure]
        own_claim = replace(claim, id=f"{claim.id}/{figure}", statement=f"{claim.statement} (row {figure})")
        own_others = [Under(one.reading, [one.parts[k] for k in at]) for one in others]
        entries.append(claim_entry(own_claim, [parts[k] for k in at], own_others, unjudged))
    return entries


def allocation_finding(m: Measurements, figure: str = "6.2") -> tuple[str, str]:
    """Say which form of (6.2) the two-counter scheduler follows."""
    setup = m.figures[figure].setup
    printed, bounded = setup.closed_form("printed"), setup.closed_form("bounded")
    slow, fast = m.interval(figure, "slow_efficiency").mean, m.interval(figure, "fast_efficiency").mean
    assert printed is not None
    assert bounded is not None

    def distance(form: two_way.Efficiencies) -> float:
        return max(abs(slow - float(form.slow)), abs(fast - float(form.fast)))

    nearer = "bounded" if distance(bounded) < distance(printed) else "printed"
    text = (
        f"Figure {figure}: simulated {slow:.3f} slow and {fast:.3f} fast; equation (6.2) as printed gives "
        f"{float(printed.slow):.3f} and {float(printed.fast):.3f}, bounded {float(bounded.slow):.3f} and "
        f"{float(bounded.fast):.3f}. The two-counter scheduler does what the {nearer} form says: the largest "
        f"distance is {distance(bounded):.3f} to the bounded and {distance(printed):.3f} to the printed form."
    )
    return "How many ACKs the two counters let through per data packet", text


def threshold_note(m: Measurements, figures: tuple[str, ...] = ("5.3", "5.3-b2", "5.3-b4", "5.3-b8")) -> str:
    """Say why a higher backpressure threshold does what the claims deny, and how near theory comes to it."""
    distances = []
    for id_ in figures:
        form = m.figures[id_].setup.closed_form("bounded")
        assert form is not None
        for side, value in zip(("slow", "fast"), map(float, form), strict=True):
            distances.append(abs(m.interval(id_, f"{side}_efficiency").mean - value))
    return (
        "With a threshold b above one, the ACKs of one window are spread over b data packets, so the slow "
        "connection gains and the fast one loses; that is what the bounded form says, and the simulated "
        f"efficiencies are within {max(distances):.4f} of it."
    )


def _closed(figure: Figure, quantity: str, form: two_way.Form) -> float | None:
    """Evaluate a closed form in the unit of the quantity's row."""
    found = figure.setup.closed_form(form)
    if found is None:
        return None
    scale = figure.setup.fast_rate / 1e3 if quantity == "fast_throughput" else 1.0
    return float(found.slow if quantity == "slow_efficiency" else found.fast) * scale


def _in_theorem_2(figure: Figure) -> bool:
    """Whether Theorem 2 is about this run: data and ACKs in one shared FIFO, traffic both ways."""
    return figure.setup.scheme == "fifo" and not figure.setup.alone


def _theorem_2(figure: Figure) -> float | None:
    """Evaluate Theorem 2 for the slow node's queue, data packets; None without a slow connection."""
    return None if figure.setup.alone else float(two_way.max_queue(figure.setup.model()).slow)


def _row(
    m: Measurements,
    figure: Figure,
    quantity: str,
    unit: str,
    published: float | None,
    closed: dict[str, float | None],
) -> dict[str, Any]:
    return row(figure.table, figure.id, quantity, unit, published, m.interval(figure.id, quantity), closed)
