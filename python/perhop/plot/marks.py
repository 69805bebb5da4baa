"""Packets of one flow by their mark, and a queue by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perhop.plot import style

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pattern:
    """The packets of a flow, interval by interval, in the order in which they were marked.

    Parameters
    ----------
    name
        Of the marker.
    intervals
        For each interval, whether each packet is IN.
    """

    name: str
    intervals: Sequence[Sequence[bool]]


def draw_patterns(patterns: Sequence[Pattern], title: str) -> str:
    """Return the packets as squares, a line for each interval, IN filled and OUT hollow, as SVG."""
    most = max((len(line) for pattern in patterns for line in pattern.intervals), default=1)
    rows = max((len(pattern.intervals) for pattern in patterns), default=1)
    with style.figure(8.6, 0.9 + 0.22 * rows, ncols=len(patterns), squeeze=False) as (made, grid):
        for axes, pattern in zip(grid[0], patterns, strict=True):
            for row, line in enumerate(pattern.intervals):
                for place, is_in in enumerate(line):
                    axes.plot(
                        place + 1,
                        row + 1,
                        "s",
                        color=style.COLORS[0 if is_in else 1],
                        markerfacecolor=style.COLORS[0] if is_in else "none",
                        markersize=6,
                    )
            axes.set(title=pattern.name, xlabel="packet of the interval")
            axes.set_xlim(0.3, most + 0.7)
            axes.set_ylim(rows + 0.6, 0.4)
            axes.grid(False)
        grid[0, 0].set_ylabel("interval")
        told = "; ".join(
            f"{pattern.name}: "
            + " ".join("".join("I" if is_in else "O" for is_in in line) for line in pattern.intervals)
            for pattern in patterns
        )
        return style.svg(made, title, f"I is IN, O is OUT. {told}")


@dataclass(frozen=True)
class Backlog:
    """What waits in a queue.

    Parameters
    ----------
    name
        Of the marker.
    time_s
        When something changed.
    green, red
        Packets of either colour that wait.
    dropped_green_s, dropped_red_s
        When packets were dropped.
    """

    name: str
    time_s: Floats
    green: Floats
    red: Floats
    dropped_green_s: Floats
    dropped_red_s: Floats


def draw_backlogs(backlogs: Sequence[Backlog], title: str) -> str:
    """Return what waits by colour over time, and each drop as a tick, as SVG; a panel for each queue."""
    with style.figure(8.6, 1.0 + 1.9 * len(backlogs), nrows=len(backlogs), sharex=True, squeeze=False) as (
        made,
        grid,
    ):
        for axes, one in zip(grid[:, 0], backlogs, strict=True):
            for values, name, color in ((one.green, "IN waiting", 0), (one.red, "OUT waiting", 1)):
                axes.plot(
                    one.time_s,
                    values,
                    label=name,
                    color=style.COLORS[color],
                    linestyle=style.DASHES[color],
                    linewidth=1.1,
                    drawstyle="steps-post",
                )
            top = max(float(one.green.max(initial=1)), float(one.red.max(initial=1)))
            for times, name, color, mark in (
                (one.dropped_green_s, "IN dropped", 0, "v"),
                (one.dropped_red_s, "OUT dropped", 1, "x"),
            ):
                axes.plot(
                    times,
                    np.full(len(times), top * 1.08),
                    mark,
                    color=style.COLORS[color],
                    markersize=4,
                    label=f"{name} ({len(times)})",
                )
            axes.set_ylim(0, top * 1.16)
            axes.set_title(one.name)
            axes.set_ylabel("packets")
            style.legend_beside(axes)
        grid[-1, 0].set_xlabel("time in s")
        told = "; ".join(
            f"{one.name}: at most {one.green.max(initial=0):.0f} IN and {one.red.max(initial=0):.0f} OUT "
            f"packets wait, {len(one.dropped_green_s)} IN and {len(one.dropped_red_s)} OUT are dropped"
            for one in backlogs
        )
        return style.svg(made, title, told)
