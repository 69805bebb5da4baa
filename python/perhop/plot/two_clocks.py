"""A run on real packets and the simulation of the same scenario, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_CLASSES = 4


def draw(
    kernel: pl.DataFrame, simulator: pl.DataFrame, class_of: Mapping[str, str], warmup_s: float = 0.0
) -> str:
    """Return goodput by class and the mean congestion window of its flows, both arms, as SVG.

    Series, classes and warm-up are as of `perhop.plot.series.draw`.
    """
    classes = list(dict.fromkeys(class_of.values()))[:_MOST_CLASSES]
    panels = (
        ("goodput_bit_s", 1e6, "goodput in Mbit/s", pl.col("value").sum()),
        ("cwnd_bytes", 1e3, "mean cwnd in kB", pl.col("value").mean()),
    )
    with style.figure(7.6, 5.2, nrows=2, sharex=True) as (made, all_axes):
        for axes, (quantity, unit, label, over_flows) in zip(all_axes, panels, strict=True):
            for arm, series, dash in (
                ("kernel", kernel, style.DASHES[0]),
                ("simulator", simulator, style.DASHES[1]),
            ):
                rows = series.filter(pl.col("quantity") == quantity).with_columns(
                    of=pl.col("path").replace_strict(class_of, default=None, return_dtype=pl.String)
                )
                for number, name in enumerate(classes):
                    own = rows.filter(pl.col("of") == name).group_by("time_s").agg(over_flows).sort("time_s")
                    if own.is_empty():
                        continue
                    axes.plot(
                        own["time_s"].to_numpy(),
                        own["value"].to_numpy() / unit,
                        color=style.COLORS[number],
                        linestyle=dash,
                        label=f"{name}, {arm}",
                    )
            style.over_time(axes, warmup_s)
            axes.set_ylabel(label)
        all_axes[1].set_xlabel("time in s")
        return style.svg(
            made,
            "Kernel and simulator",
            "goodput and mean congestion window by class against time, both arms",
        )
