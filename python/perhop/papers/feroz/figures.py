"""What is drawn of traces: packets of one flow by their mark, and the bottleneck's queue by colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from perhop.papers.feroz.case import load_calibration
from perhop.papers.feroz.measure import BOTTLENECK, flow_marks
from perhop.papers.feroz.plan import Runs
from perhop.papers.measured import Floats
from perhop.plot import style
from perhop.report import page
from perhop.run import Result

SHORT = {"tcp-friendly": "friendly", "token-bucket": "bucket", "none": "none"}
"""Names of the markers where there is little room."""

FLOW, INTERVALS = "bulk[0]", range(40, 56)
"""Whose marks are drawn, and of which intervals."""


def traced(plan: Runs, drawn: Mapping[str, Result]) -> list[page.Drawing]:
    """Return the marks of one flow and the queue by colour, from the traced runs."""
    cases = [case for case in plan.cases if case.figure == "marks"]
    traces = {case.marker: drawn[f"{case.id} 0"].trace["packets"] for case in cases}
    command = " && ".join(case.command(plan.pack, load_calibration(plan.pack)) for case in cases)
    patterns = dict[str, list[list[bool]]]()
    for marker, trace in traces.items():
        own = flow_marks(trace, FLOW)
        patterns[marker] = [own.is_in[own.interval == k].tolist() for k in INTERVALS]
    return [
        page.drawing(
            "pattern",
            "Packets of one flow",
            draw_patterns(patterns, f"Marks of {FLOW} by interval"),
            "From 10 s on; filled is IN, hollow is OUT.",
            command,
        ),
        page.drawing(
            "backlog",
            "The bottleneck's queue by colour",
            draw_backlogs(
                {marker: backlog(trace) for marker, trace in traces.items()},
                "Packets that wait at the bottleneck, by colour",
            ),
            "A cross is a dropped OUT packet, a triangle a dropped IN packet.",
            command,
        ),
    ]


def draw_patterns(patterns: Mapping[str, Sequence[Sequence[bool]]], title: str) -> str:
    """Return packets as squares, by marker a line for each interval, IN filled and OUT hollow, as SVG."""
    most = max(len(line) for lines in patterns.values() for line in lines)
    rows = len(INTERVALS)
    with style.figure(8.6, 0.9 + 0.22 * rows, ncols=len(patterns), squeeze=False) as (made, grid):
        for axes, (name, lines) in zip(grid[0], patterns.items(), strict=True):
            for row, line in enumerate(lines, 1):
                for place, is_in in enumerate(line, 1):
                    color = style.COLORS[0 if is_in else 1]
                    fill = color if is_in else "none"
                    axes.plot(place, row, "s", color=color, markerfacecolor=fill, markersize=6)
            axes.set(title=name, xlabel="packet of the interval")
            axes.set_xlim(0.3, most + 0.7)
            axes.set_ylim(rows + 0.6, 0.4)
            axes.grid(False)
        grid[0, 0].set_ylabel("interval")
        told = "; ".join(
            f"{name}: " + " ".join("".join("I" if is_in else "O" for is_in in line) for line in lines)
            for name, lines in patterns.items()
        )
        return style.svg(made, title, f"I is IN, O is OUT. {told}")


@dataclass(frozen=True)
class Backlog:
    """Packets of either colour that wait in a queue, when that changed, and when packets were dropped."""

    time_s: Floats
    green: Floats
    red: Floats
    dropped_green_s: Floats
    dropped_red_s: Floats


def backlog(trace: pl.DataFrame) -> Backlog:
    """Count what waits at the bottleneck by colour, from a packet trace."""
    trace = trace.filter(pl.col("path").str.starts_with(BOTTLENECK))
    time, event = trace["time_s"].to_numpy(), trace["event"]
    change = (event == "enqueued").to_numpy().astype(float) - (event == "sent").to_numpy()
    green, dropped = (trace["color"] == "green").to_numpy(), (event == "dropped").to_numpy()
    return Backlog(
        time,
        np.cumsum(change * green),
        np.cumsum(change * ~green),
        time[dropped & green],
        time[dropped & ~green],
    )


def draw_backlogs(backlogs: Mapping[str, Backlog], title: str) -> str:
    """Return what waits by colour over time, and each drop as a tick, as SVG; a panel for each marker."""
    with style.figure(8.6, 1.0 + 1.9 * len(backlogs), nrows=len(backlogs), sharex=True, squeeze=False) as (
        made,
        grid,
    ):
        for axes, (name, one) in zip(grid[:, 0], backlogs.items(), strict=True):
            top = max(float(values.max(initial=1)) for values in (one.green, one.red))
            for color, (values, dropped, called, mark) in enumerate(
                ((one.green, one.dropped_green_s, "IN", "v"), (one.red, one.dropped_red_s, "OUT", "x"))
            ):
                look = {"color": style.COLORS[color], "linestyle": style.DASHES[color], "linewidth": 1.1}
                axes.plot(one.time_s, values, label=f"{called} waiting", drawstyle="steps-post", **look)
                axes.plot(
                    dropped,
                    np.full(len(dropped), top * 1.08),
                    mark,
                    color=style.COLORS[color],
                    markersize=4,
                    label=f"{called} dropped ({len(dropped)})",
                )
            axes.set_ylim(0, top * 1.16)
            axes.set_title(name)
            axes.set_ylabel("packets")
            style.legend_beside(axes)
        grid[-1, 0].set_xlabel("time in s")
        told = "; ".join(
            f"{name}: at most {one.green.max(initial=0):.0f} IN and {one.red.max(initial=0):.0f} OUT "
            f"packets wait, {len(one.dropped_green_s)} IN and {len(one.dropped_red_s)} OUT are dropped"
            for name, one in backlogs.items()
        )
        return style.svg(made, title, told)
