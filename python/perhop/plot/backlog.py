"""Backlog of a queue of two colours over time, with its drops; a panel for each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.plot import style

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Backlog:
    """The backlog of a queue by colour: times of changes, and times of drops."""

    time_s: Floats
    green: Floats
    red: Floats
    dropped_green_s: Floats
    dropped_red_s: Floats


def backlog(trace: pl.DataFrame, path: str) -> Backlog:
    """Count by colour, from a trace of packets, the backlog of the queues whose paths begin so.

    What is not green counts as red.
    """
    trace = trace.filter(pl.col("path").str.starts_with(path))
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


def draw(backlogs: Mapping[str, Backlog], title: str) -> str:
    """Return the backlog by colour over time as SVG, with a mark for each drop; green is IN, red OUT."""
    many = len(backlogs)
    with style.figure(8.6, 1.0 + 1.9 * many, nrows=many, sharex=True, squeeze=False) as (made, grid):
        for axes, (name, one) in zip(grid[:, 0], backlogs.items(), strict=True):
            top = max(float(values.max(initial=1)) for values in (one.green, one.red))
            green = (one.green, one.dropped_green_s, "IN", "v")
            red = (one.red, one.dropped_red_s, "OUT", "x")
            for place, (values, dropped, called, mark) in enumerate((green, red)):
                color = style.color(place)
                line = {"color": color, "linestyle": style.dash(place), "linewidth": 1.1}
                axes.plot(one.time_s, values, label=f"{called} waiting", drawstyle="steps-post", **line)
                label, height = f"{called} dropped ({len(dropped)})", np.full(len(dropped), top * 1.08)
                axes.plot(dropped, height, mark, color=color, markersize=4, label=label)
            axes.set_ylim(0, top * 1.16)
            axes.set_title(name)
            axes.set_ylabel("packets")
            style.legend_beside(axes)
        grid[-1, 0].set_xlabel("time in s")
        description = "; ".join(
            f"{name}: at most {one.green.max(initial=0):.0f} IN and {one.red.max(initial=0):.0f} OUT "
            f"packets wait, {len(one.dropped_green_s)} IN and {len(one.dropped_red_s)} OUT are dropped"
            for name, one in backlogs.items()
        )
        return style.svg(made, title, description)
