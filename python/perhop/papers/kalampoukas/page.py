"""The page: claims, numbers, queues, the paper's figures, what lies beyond the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from perhop.papers.kalampoukas.beyond import TOLERANCE, Grid
from perhop.papers.kalampoukas.document import Reproduction, theorem_2
from perhop.papers.kalampoukas.figures import Figure
from perhop.papers.plan import Plan
from perhop.plot import comparison, curves, maps
from perhop.plot.style import DASHES
from perhop.report import page
from perhop.report.study import judged
from perhop.run.run import Result

TITLE = "Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan, again"

_NAMES = {
    "slow_efficiency": "slow",
    "fast_efficiency": "fast",
    "slow_throughput": "slow, kbit/s",
    "fast_throughput": "fast, kbit/s",
}
_TABLES = (
    ("efficiencies", "Efficiencies", 3),
    ("figure3_2", "Figure 3.2: throughput", 1),
    ("extra", "Runs of ours that the claims need", 3),
)

Rows = Mapping[str, Mapping[str, Any]]
"""The document's rows, by figure and quantity."""


def page_of(_: Plan, done: Reproduction) -> str:
    """Return the page as HTML."""
    document, figures = done.document, list(done.measured.figures.values())
    rows: dict[str, dict[str, Any]] = {figure.id: {} for figure in figures}
    for row in document["rows"]:
        rows[row["id"]][row["quantity"]] = row
    again = str(document["command"])
    context = {
        "title": TITLE,
        "figures": figures,
        "rows": rows,
        "names": _NAMES,
        "tables": _TABLES,
        "bounds": {figure.id: theorem_2(figure) for figure in figures},
        "overview": _overview(document["rows"]),
        "buffers": _buffers(figures, rows, again),
        "drawings": [_over_time(figure, rows, done.drawn[figure.id]) for figure in figures],
        "done": done,
        "maps": [_map(grid, again) for grid in done.beyond if len(grid.axes) == 2],
        "curves": [_curve(grid, again) for grid in done.beyond if len(grid.axes) == 1],
        **judged(document),
    }
    return page.render("page.html.j2", context, __package__)


def _overview(rows: Sequence[Mapping[str, Any]]) -> page.Drawing:
    shown = [
        comparison.Comparison(
            f"{row['id']} {_NAMES[row['quantity']]}",
            *(row["published"], row["closed_form"]["printed"], row["closed_form"]["bounded"]),
            *(row["simulated"]["mean"], row["simulated"]["ci95"]),
        )
        for row in rows
        if row["table"] == "efficiencies" and row["quantity"] in _NAMES
    ]
    drawn = comparison.draw(shown, "Published, computed and simulated efficiencies", "efficiency")
    caption = "One line per figure of the paper and connection (slow or fast)."
    return page.drawing("overview", "Every efficiency of the paper", drawn, caption)


def lines_of(figure: Figure, result: Result) -> list[curves.Line]:
    """Return a line for each connection of a run, and for sums of several; the first 300 s.

    Efficiencies; over the cable modem throughputs, kbit/s.
    """
    goodput = result.series.filter(pl.col("quantity") == "goodput_bit_s", pl.col("time_s") <= 300.0)
    found = []
    for place, side in enumerate(("slow", "fast")):
        rate = 1e3 if _in_kbit_s(figure) else (figure.setup.slow_rate, figure.setup.fast_rate)[place]
        flows = result.flows.filter(pl.col("from") == side)["name"].to_list()
        shown = [([name], f"{side} ({name})", DASHES[0]) for name in flows]
        if len(flows) > 1:
            shown = [([name], f"{side}, each", DASHES[1]) for name in flows]
            shown.append((flows, f"{side}, together", DASHES[0]))
        for names, label, dash in shown:
            own = goodput.filter(pl.col("path").is_in([f"flow.{name}" for name in names]))
            own = own.group_by("time_s").agg(pl.sum("value")).sort("time_s")
            x, y = own["time_s"].to_list(), (own["value"] / rate).to_list()
            found.append(curves.Line(label, x, y, (), place, marker="", dash=dash, steps=True))
    return found


def _in_kbit_s(figure: Figure) -> bool:
    return "fast_throughput" in figure.published


def _over_time(figure: Figure, rows: Rows, result: Result) -> page.Drawing:
    throughput = _in_kbit_s(figure)
    means = [
        f"{quantity.partition('_')[0]} {row['simulated']['mean']:.4g}"
        + (f" (paper {row['published']:.4g})" if row["published"] is not None else "")
        for quantity, row in rows[figure.id].items()
        if quantity in _NAMES
    ]
    panel = curves.Panel("throughput in kbit/s" if throughput else "efficiency", lines_of(figure, result))
    return page.drawing(
        f"figure-{figure.id}",
        f"{figure.id} {figure.title}",
        curves.draw([panel], "time in s", figure.title, 2.9, 5.6),
        f"Mean after the warm-up: {', '.join(means)}{' kbit/s' if throughput else ''}.",
        figure.command(),
    )


def _buffers(figures: list[Figure], rows: Rows, again: str) -> page.Drawing:
    """Draw throughput against the buffer: two-way points joined, one-way points apart."""
    lines = []
    for alone, way, dash in ((False, "two-way", ":"), (True, "one-way", "none")):
        own = {
            figure.setup.fast_window / 1024: rows[figure.id]["fast_throughput"]
            for figure in sorted(figures, key=lambda figure: figure.setup.fast_window)
            if figure.table == "figure3_2" and figure.setup.alone == alone
        }
        for key, name, marker, color in (
            ("published", "published", "D", 1),
            ("printed", "printed form", "s", 3),
            ("bounded", "bounded form", "o", 2),
        ):
            known = [{**row, **row["closed_form"]}[key] for row in own.values()]
            y = [math.nan if value is None else value for value in known]
            lines.append(curves.Line(f"{name}, {way}", list(own), y, (), color, True, marker, dash))
        mean = [row["simulated"]["mean"] for row in own.values()]
        ends = [row["simulated"]["ci95"] for row in own.values()]
        lines.append(curves.Line(f"simulated, {way}", list(own), mean, ends, 0, marker="_", dash=dash))
    title = "Throughput of the fast connection against its socket buffer"
    across, panel = (
        "socket buffer of the fast connection in KB (1024 bytes)",
        curves.Panel("throughput in kbit/s", lines),
    )
    return page.drawing(
        "figure-3.2",
        f"3.2 {title}",
        curves.draw([panel], across, title, 4.6, 7.6, ("x", "y")),
        "Two-way traffic is joined by lines, one-way traffic stands apart. For two-way traffic and 16 KB "
        "the paper prints no number. The interval is often narrower than its mark.",
        again,
    )


def _curve(grid: Grid, again: str) -> page.Drawing:
    """Draw both efficiencies over one parameter: simulated points, closed forms as lines."""
    (axis,) = grid.axes
    x, lines = axis.values, []
    for side, name in enumerate(("slow", "fast")):
        for place, (form, found) in enumerate(grid.closed_form.items()):
            if np.isfinite(found[side]).sum() > 1:
                y, dash = found[side].tolist(), DASHES[1 - place]
                lines.append(curves.Line(f"{name}, {form}", x, y, (), side, marker="", dash=dash))
        y = grid.simulated[side].tolist()
        lines.append(curves.Line(f"{name}, simulated", x, y, (), side, marker="os"[side], dash="none"))
    wide = min(x) > 0 and max(x) / min(x) > 20
    panel = curves.Panel("efficiency", lines)
    drawn = curves.draw([panel], axis.label, grid.title, 3.2, 5.6, ("x",) if wide else ())
    return _beyond(grid, drawn, "", again)


def _map(grid: Grid, again: str) -> page.Drawing:
    """Draw both simulated efficiencies over two parameters, and how far the bounded form is."""
    error = grid.error("bounded")
    off = np.nan_to_num(error) > TOLERANCE
    sides = zip(("slow, simulated", "fast, simulated"), grid.simulated, strict=True)
    shown = [maps.Map(heading, values, np.linspace(0.0, 1.0, 11)) for heading, values in sides]
    levels = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0])
    shown.append(maps.Map("distance to closed form", error, levels, "magma_r", off))
    description = (
        "simulated efficiency of the slow connection {:.2f} to {:.2f}, of the fast one {:.2f} to {:.2f}; the "
        f"closed form is off by more than {TOLERANCE} at {int(off.sum())} of {off.size} points"
    ).format(*chain.from_iterable((side.min(), side.max()) for side in grid.simulated))
    across, up = (maps.Axis(axis.label, axis.values) for axis in grid.axes)
    drawn = maps.draw((across, up), shown, grid.title, description)
    return _beyond(grid, drawn, "The third map shows the bounded form. ", again)


def _beyond(grid: Grid, drawn: str, first: str, again: str) -> page.Drawing:
    verdicts = "; ".join(grid.verdict(form) for form in grid.closed_form)
    return page.drawing(f"sweep-{grid.id}", grid.title, drawn, f"{first}{verdicts}.", again)
