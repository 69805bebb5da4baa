"""Several runs over time: a colour for each run, a line style for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import style
from perhop.plot.series import thinned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_CLASSES = 4


@dataclass(frozen=True)
class Panel:
    """A quantity of the `series` table, summed up over the paths of a class.

    Parameters
    ----------
    quantity, prefix
        Its name, and whose paths it has: ``flow.`` or ``port.``.
    scale
        What a value is multiplied by to be in the unit of the label.
    mean
        Whether it is averaged over paths, not added up.
    thinned
        Whether of many samples means are drawn.
    """

    quantity: str
    prefix: str
    scale: float
    label: str
    mean: bool = False
    thinned: bool = False


PANELS = (
    Panel("goodput_bit_s", "flow.", 1e-6, "goodput in Mbit/s", thinned=True),
    Panel("cwnd_bytes", "flow.", 1e-3, "mean cwnd in kB", mean=True),
    Panel("backlog_packets", "port.", 1.0, "packets in all queues"),
)


@dataclass(frozen=True)
class Curves:
    """The curves of a run: name, series, class of each flow by path, end of its warm-up in s."""

    name: str
    series: pl.DataFrame
    class_of: Mapping[str, str]
    warmup_s: float


def draw(runs: Sequence[Curves]) -> str:
    """Return goodput and mean congestion window by class, and backlogs, as SVG."""
    with style.figure(7.6, 6.6, nrows=len(PANELS), sharex=True) as (made, all_axes):
        for axes, panel in zip(all_axes, PANELS, strict=True):
            for number, one in enumerate(runs):
                for place, (label, time, value) in enumerate(_lines(one, panel)):
                    points = pl.DataFrame({"path": "", "time_s": time, "value": value})
                    if panel.thinned:
                        points = thinned(points)
                    axes.plot(
                        points["time_s"].to_numpy(),
                        points["value"].to_numpy(),
                        color=style.COLORS[number % len(style.COLORS)],
                        linestyle=style.DASHES[place % len(style.DASHES)],
                        label=f"{one.name}{label}",
                    )
                if one.warmup_s > 0:
                    axes.axvline(one.warmup_s, color=style.INK, linewidth=0.8, linestyle="--")
            axes.set_ylim(bottom=0)
            axes.margins(x=0.01)
            axes.set_ylabel(panel.label)
            style.legend_beside(axes)
        all_axes[-1].set_xlabel("time in s")
        return style.svg(
            made,
            "Over time",
            f"goodput, mean congestion window and packets waiting of {', '.join(one.name for one in runs)}",
        )


def table(runs: Sequence[Curves]) -> pl.DataFrame:
    """Return the numbers of the drawing: ``run``, ``class``, ``quantity``, ``time_s``, ``value``."""
    rows = [
        pl.DataFrame({"time_s": time, "value": value}).select(
            pl.lit(one.name).alias("run"),
            pl.lit(label.removeprefix(", ")).alias("class"),
            pl.lit(panel.label).alias("quantity"),
            "time_s",
            "value",
        )
        for one in runs
        for panel in PANELS
        for label, time, value in _lines(one, panel)
    ]
    return pl.concat(rows)


def _lines(one: Curves, panel: Panel) -> list[tuple[str, list[float], list[float]]]:
    """Return a line for each class: an addition to its label unless there is but one, times, values."""
    rows = one.series.filter(
        pl.col("quantity") == panel.quantity, pl.col("path").str.starts_with(panel.prefix)
    )
    if panel.prefix == "flow.":
        rows = rows.with_columns(
            of=pl.col("path").replace_strict(one.class_of, default=None, return_dtype=pl.String)
        )
    else:
        rows = rows.with_columns(of=pl.lit(""))
    names = list(dict.fromkeys(one.class_of.values()))[:_MOST_CLASSES] if panel.prefix == "flow." else [""]
    over = pl.col("value").mean() if panel.mean else pl.col("value").sum()
    lines = []
    for name in names:
        own = rows.filter(pl.col("of") == name).group_by("time_s").agg(over).sort("time_s")
        if own.height:
            label = f", {name}" if len(names) > 1 else ""
            lines.append((label, own["time_s"].to_list(), (own["value"] * panel.scale).to_list()))
    return lines
