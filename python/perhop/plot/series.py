"""One quantity against time, for a few paths line by line and for many as a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 8
_MOST_PANELS = 3
# a line whose maximum is this many times smaller than its neighbour's goes into a panel of its own
_FLATTENED = 8.0


@dataclass(frozen=True)
class Quantity:
    """How a quantity of the `series` table is drawn.

    Parameters
    ----------
    name
        As in the table.
    prefix
        Whose paths it has: ``flow.``, ``link.`` or ``port.``.
    title
        Of the figure.
    label
        Of the vertical axis, with the unit.
    caption
        What a value is, with what is averaged over what.
    scale
        What a value of the table is multiplied by to be in that unit.
    per_interval
        Whether a value covers the interval that ends at its time, and is drawn as a step.
    """

    name: str
    prefix: str
    title: str
    label: str
    caption: str
    scale: float
    per_interval: bool


QUANTITIES = (
    Quantity(
        "throughput_bit_s",
        "udp.",
        "Throughput of UDP flows",
        "throughput in Mbit/s",
        "What arrived, headers included, averaged over the interval that ends at each point.",
        1e-6,
        True,
    ),
    Quantity(
        "goodput_bit_s",
        "flow.",
        "Goodput",
        "goodput in Mbit/s",
        "Payload delivered in order, averaged over the interval that ends at each point. "
        "A repaired loss delivers at once what waited behind it, which can exceed the link's rate.",
        1e-6,
        True,
    ),
    Quantity(
        "cwnd_bytes",
        "flow.",
        "Congestion window",
        "window in kB",
        "The sender's congestion window at each instant.",
        1e-3,
        False,
    ),
    Quantity(
        "srtt_s",
        "flow.",
        "Smoothed round-trip time",
        "smoothed round-trip time in ms",
        "The sender's running average over its round-trip samples, at each instant.",
        1e3,
        False,
    ),
    Quantity(
        "utilization",
        "link.",
        "Link utilization",
        "share of the time",
        "Part of the interval that ends at each point in which the link was transmitting.",
        1.0,
        True,
    ),
    Quantity(
        "utilization_data",
        "link.",
        "Link utilization by data",
        "share of the time",
        "Part of the interval that ends at each point in which the link was transmitting data.",
        1.0,
        True,
    ),
    Quantity(
        "backlog_packets",
        "port.",
        "Queues",
        "packets waiting",
        "Packets in the queue at each instant; the packet being transmitted is not counted.",
        1.0,
        False,
    ),
    Quantity(
        "dropped_packets",
        "port.",
        "Drops",
        "packets per interval",
        "Packets the queue dropped in the interval that ends at each point.",
        1.0,
        True,
    ),
    Quantity(
        "retransmissions",
        "flow.",
        "Retransmissions",
        "segments per interval",
        "Segments sent again in the interval that ends at each point.",
        1.0,
        True,
    ),
)
"""What a report draws, in this order."""


def draw(series: pl.DataFrame, quantity: Quantity, warmup_s: float = 0.0) -> str | None:
    """Return the figure of one quantity as SVG, or None where no path has a value other than zero.

    Parameters
    ----------
    series
        Long table with ``time_s``, ``path``, ``quantity``, ``value``.
    quantity
        What to draw.
    warmup_s
        End of the warm-up in s, marked by a dashed line; none at 0.
    """
    rows = series.filter(pl.col("quantity") == quantity.name)
    if rows.filter(pl.col("value").fill_null(0.0) != 0.0).is_empty():
        return None
    paths = rows["path"].unique(maintain_order=True).to_list()
    count = len(paths)
    population = count > _MOST_LINES and quantity.prefix == "flow."
    if count > _MOST_LINES:
        # flows are a population; of links and queues the few that carry the load are of interest
        paths = paths[:1] if population else _largest(rows)
    panels = _panels(rows, paths)
    size = (7.6, 1.4 + 1.6 * len(panels))
    with style.figure(*size, nrows=len(panels), sharex=True, squeeze=False) as (made, grid):
        for axes, inside in zip(grid[:, 0], panels, strict=True):
            if population:
                _band(axes, rows, quantity, count)
            else:
                _lines(axes, rows, quantity, inside, paths)
            if warmup_s > 0:
                axes.axvline(warmup_s, color=style.INK, linewidth=0.8, linestyle="--", label="end of warm-up")
            axes.set_ylim(0, axes.dataLim.ymax * 1.08 or 1.0)
            axes.margins(x=0.01)
            style.legend_beside(axes)
        if len(paths) < count and not population:
            grid[0, 0].get_legend().set_title(f"largest of {count}")
        grid[-1, 0].set_xlabel("time in s")
        made.supylabel(quantity.label, fontsize=11, color=style.INK)
        return style.svg(made, quantity.title, f"{quantity.label} against time for {count} paths")


def _largest(rows: pl.DataFrame) -> list[str]:
    """Return the paths with the largest means, as many as can be told apart."""
    means = rows.group_by("path", maintain_order=True).agg(pl.col("value").mean())
    found: list[str] = means.sort("value", descending=True, maintain_order=True)["path"].to_list()
    return found[:_MOST_LINES]


def _panels(rows: pl.DataFrame, paths: list[str]) -> list[list[str]]:
    """Group paths so that none is flattened by another that is far larger; at most three groups."""
    values = rows.group_by("path").agg(pl.col("value").fill_nan(None).abs().max().fill_null(0.0))
    largest: dict[str, float] = dict(values.iter_rows())
    groups: list[list[str]] = []
    for path in sorted(paths, key=lambda one: -largest[one]):
        near = groups and (largest[path] == 0.0 or largest[path] * _FLATTENED >= largest[groups[-1][0]])
        if near or len(groups) == _MOST_PANELS:
            groups[-1].append(path)
        else:
            groups.append([path])
    return [sorted(group, key=paths.index) for group in groups]


def _lines(axes: Axes, rows: pl.DataFrame, quantity: Quantity, inside: list[str], paths: list[str]) -> None:
    for place, path in enumerate(inside):
        one = rows.filter(pl.col("path") == path)
        axes.plot(
            one["time_s"].to_numpy(),
            one["value"].to_numpy() * quantity.scale,
            label=path.removeprefix(quantity.prefix),
            color=style.COLORS[paths.index(path) % len(style.COLORS)],
            linestyle=style.DASHES[place % len(style.DASHES)],
            drawstyle="steps-pre" if quantity.per_interval else "default",
        )


def _band(axes: Axes, rows: pl.DataFrame, quantity: Quantity, count: int) -> None:
    table = (
        rows.group_by("time_s")
        .agg(
            low=pl.col("value").quantile(0.05),
            middle=pl.col("value").median(),
            high=pl.col("value").quantile(0.95),
        )
        .sort("time_s")
    )
    time, low, middle, high = (
        np.asarray(table[name].to_numpy(), dtype=float) for name in ("time_s", "low", "middle", "high")
    )
    axes.fill_between(
        time,
        low * quantity.scale,
        high * quantity.scale,
        color=style.COLORS[0],
        alpha=0.25,
        linewidth=0,
        label=f"5 to 95 % of {count}",
    )
    axes.plot(time, middle * quantity.scale, color=style.COLORS[0], label="median")
