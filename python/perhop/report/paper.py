"""The page about a reproduced study: every number beside the published one, every claim with its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.plot import buffers, efficiency
from perhop.report import page
from perhop.report.study import main_claims, per_row

_NAMES = {
    "slow_efficiency": "slow",
    "fast_efficiency": "fast",
    "fast_throughput": "fast",
}
_TABLES = {
    "efficiencies": "Efficiencies",
    "figure3_2": "Figure 3.2: throughput of the fast connection, kbit/s",
    "extra": "Runs of ours that the claims need",
}


@dataclass(frozen=True)
class FigurePart:
    """A figure of the study: its lines, the command that runs it alone, the fast connection's buffer.

    `buffer_bytes` and `one_way` say where its throughput goes in a figure over buffers.
    """

    id: str
    table: str
    title: str
    command: str
    lines: Sequence[efficiency.Line]
    buffer_bytes: int
    one_way: bool


@dataclass(frozen=True)
class Page:
    """What the page about a study is made of.

    Parameters
    ----------
    title
        Of the page.
    document
        Rows and claims, as ``perhop reproduce --json`` prints them.
    figures
        In the order of the paper.
    findings
        Title and text each.
    queue_bounds
        Per figure id, Theorem 2's bound on the slow node's queue, also where the theorem does not apply.
    warnings
        Runs that do not meet what the study assumes.
    left_out
        What a quick reproduction does not do.
    maps, curves
        Figures that go beyond the paper.
    """

    title: str
    document: Mapping[str, Any]
    figures: Sequence[FigurePart]
    queue_bounds: Mapping[str, float | None]
    findings: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()
    maps: Sequence[page.Drawing] = ()
    curves: Sequence[page.Drawing] = ()


def render(study: Page) -> str:
    """Return the page about a study as HTML. The same study gives the same page."""
    rows = study.document["rows"]
    titles = {figure.id: figure.title for figure in study.figures}
    claims = main_claims(study.document)
    return page.render(
        "paper.html.j2",
        {
            "title": study.title,
            "document": study.document,
            "titles": titles,
            "commands": {figure.id: figure.command for figure in study.figures},
            "tables": _tables(rows),
            "queues": _queues(rows, study.queue_bounds),
            "overview": _overview(rows),
            "buffers": _buffers(study, rows),
            "figures": [_figure(figure, rows) for figure in study.figures],
            "claims": claims,
            "per_row": per_row(study.document["claims"]),
            "verdicts": Counter(claim["verdict"] for claim in claims),
            "findings": study.findings,
            "warnings": study.warnings,
            "left_out": study.left_out,
            "maps": study.maps,
            "curves": study.curves,
            "replications": max((row["simulated"]["n"] for row in rows), default=0),
        },
    )


def _tables(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the rows with a published counterpart by table, in the order of the paper."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["quantity"] in _NAMES:
            bounded, mean = row["closed_form"]["bounded"], row["simulated"]["mean"]
            relative = row["unit"] == "1" and bounded is not None
            distance = abs(mean - bounded) if relative else None
            groups.setdefault(row["table"], []).append(
                {
                    **row,
                    "name": _NAMES[row["quantity"]],
                    "distance": distance,
                    "near": relative and abs(mean - bounded) <= min(0.03, 0.1 * bounded),
                }
            )
    return [
        {
            "name": _TABLES.get(name, name),
            "digits": 1 if name == "figure3_2" else 3,
            "rows": inside,
            "distances": any(row["distance"] is not None for row in inside),
        }
        for name, inside in groups.items()
    ]


def _queues(rows: Sequence[Mapping[str, Any]], bounds: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """Return per figure the longest queue of data and of all packets, and Theorem 2's bound.

    The document gives a bound only to the runs that the theorem is about.
    """
    queues: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["quantity"] == "slow_queue_data":
            queues.setdefault(row["id"], {"id": row["id"]}).update(
                data=row["simulated"],
                bound=bounds[row["id"]],
                inside=row["closed_form"]["printed"] is not None,
            )
        elif row["quantity"] == "slow_queue_packets":
            queues.setdefault(row["id"], {"id": row["id"]}).update(packets=row["simulated"])
        elif row["quantity"] == "slow_link_utilization":
            queues.setdefault(row["id"], {"id": row["id"]}).update(busy=row["simulated"])
    return list(queues.values())


def _overview(rows: Sequence[Mapping[str, Any]]) -> page.Drawing:
    shown = [
        efficiency.Comparison(
            f"{row['id']} {_NAMES[row['quantity']]}",
            row["published"],
            row["closed_form"]["printed"],
            row["closed_form"]["bounded"],
            row["simulated"]["mean"],
            _interval(row),
        )
        for row in rows
        if row["table"] == "efficiencies" and row["quantity"] in _NAMES
    ]
    return page.drawing(
        "overview",
        "Every efficiency of the paper",
        efficiency.compare(shown, "Published, computed and simulated efficiencies", "efficiency"),
        "One line per figure of the paper and connection (slow or fast).",
    )


def _interval(row: Mapping[str, Any]) -> tuple[float, float] | None:
    ends = row["simulated"]["ci95"]
    return None if ends is None else (ends[0], ends[1])


def _buffers(study: Page, rows: Sequence[Mapping[str, Any]]) -> list[page.Drawing]:
    """Return Figure 3.2 as the paper draws it, where it was run."""
    figures = {figure.id: figure for figure in study.figures if figure.table == "figure3_2"}
    points = [
        buffers.Point(
            figures[row["id"]].buffer_bytes,
            figures[row["id"]].one_way,
            row["published"],
            row["closed_form"]["printed"],
            row["closed_form"]["bounded"],
            row["simulated"]["mean"],
            _interval(row),
        )
        for row in rows
        if row["id"] in figures and row["quantity"] == "fast_throughput"
    ]
    if not points:
        return []
    title = "Throughput of the fast connection against its socket buffer"
    return [
        page.drawing(
            "figure-3.2",
            f"3.2 {title}",
            buffers.draw(points, title),
            "Two-way traffic is joined by lines, one-way traffic stands apart. For two-way traffic and 16 KB "
            "the paper prints no number. The interval is often narrower than its mark.",
            str(study.document["command"]),
        )
    ]


def _figure(figure: FigurePart, rows: Sequence[Mapping[str, Any]]) -> page.Drawing:
    throughput = figure.table == "figure3_2"
    label = "throughput in kbit/s" if throughput else "efficiency"
    means = [
        f"{_NAMES[row['quantity']]} {row['simulated']['mean']:.4g}"
        + (f" (paper {row['published']:.4g})" if row["published"] is not None else "")
        for row in rows
        if row["id"] == figure.id and row["quantity"] in _NAMES
    ]
    return page.drawing(
        f"figure-{figure.id}",
        f"{figure.id} {figure.title}",
        efficiency.draw(figure.lines, figure.title, label, None if throughput else 1.05),
        f"Mean after the warm-up: {', '.join(means)}{' kbit/s' if throughput else ''}.",
        figure.command,
    )
