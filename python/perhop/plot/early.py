"""Early detection at a queue: backlog, average, thresholds, and the probability of a drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perhop.scenario.scenario import ThresholdsView

_OF_COLOR = {"green": style.COLORS[2], "yellow": style.COLORS[4], "red": style.COLORS[1]}


def draw(
    series: pl.DataFrame, path: str, thresholds: list[ThresholdsView], warmup_s: float = 0.0
) -> str | None:
    """Return the figure of one queue as SVG, or None where its averages are not in the series.

    The thresholds are of each colour of the queue, best first; all else as of `perhop.plot.series.draw`.
    """
    own = series.filter(pl.col("path").is_in([path, *(f"{path}.{one.color}" for one in thresholds)]))
    averages = own.filter(pl.col("quantity").is_in(["average_packets", "average_bytes"]))
    if averages.is_empty():
        return None
    unit = averages["quantity"].item(0).removeprefix("average_")
    with style.figure(7.6, 4.8, nrows=2, sharex=True, height_ratios=(2, 1)) as (made, (length, chance)):
        _line(length, own, path, f"backlog_{unit}", color=style.COLORS[7], label="waiting", linewidth=0.8)
        for one in thresholds:
            name = f"{path}.{one.color}" if one.color else path
            color = _OF_COLOR[one.color] if one.color else style.COLORS[0]
            of = f" ({one.color})" if one.color else ""
            _line(length, own, name, f"average_{unit}", color=color, label=f"average{of}")
            _line(chance, own, name, "drop_probability", color=color, label=one.color or "drops")
            for end, value, dash in (("min", one.min_th, 2), ("max", one.max_th, 1)):
                look = {"color": color, "linewidth": 0.9, "linestyle": style.DASHES[dash]}
                length.axhline(value, label=f"{end}_th{of}", **look)
        for axes in (length, chance):
            style.over_time(axes, warmup_s)
        length.set_ylabel(unit)
        chance.set_ylabel("drop probability")
        chance.set_xlabel("time in s")
        description = f"{unit} waiting, average and thresholds against time"
        return style.svg(made, f"Early detection at {path}", description)


def _line(axes: Axes, rows: pl.DataFrame, path: str, quantity: str, **look: Any) -> None:
    found = rows.filter(pl.col("path") == path, pl.col("quantity") == quantity)
    axes.plot(found["time_s"].to_numpy(), found["value"].to_numpy(), **look)
