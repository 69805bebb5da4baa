"""One quantity against time, for a few paths line by line and for many as a band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import style
from perhop.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

_MOST_LINES = 8
_MOST_PANELS = 3
# a line whose maximum is this many times smaller than its neighbour's goes into a panel of its own
_FLATTENED = 8.0
# a link or a queue whose maximum is this many times smaller than the largest was idle, and is not drawn
_IDLE = 100.0


@dataclass(frozen=True)
class Quantity:
    """How a quantity of the `series` table is drawn, of paths that begin with `prefix`.

    A value of the table times `scale` is in the unit of the `label`. One `per_interval` covers the interval
    that ends at its time, and is drawn as a step.
    """

    name: str
    prefix: str
    title: str
    label: str
    caption: str
    scale: float = 1.0
    per_interval: bool = True


CLASSES = Quantity(
    "class_bit_s",
    "class.",
    "Goodput by class",
    "goodput in Mbit/s",
    "All flows of a class together: payload of TCP delivered in order and what arrived of UDP, averaged over "
    "the interval that ends at each point. Transfers are in it.",
    1e-6,
)
"""The goodput of each class, as `by_class` sums it up."""

QUANTITIES = (
    Quantity(
        "throughput_bit_s",
        "udp.",
        "Throughput of UDP flows",
        "throughput in Mbit/s",
        "What arrived, headers included, averaged over the interval that ends at each point.",
        1e-6,
    ),
    Quantity(
        "goodput_bit_s",
        "flow.",
        "Goodput",
        "goodput in Mbit/s",
        "Payload delivered in order, averaged over the interval that ends at each point. "
        "A repaired loss delivers at once what waited behind it, which can exceed the link's rate.",
        1e-6,
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
    ),
    Quantity(
        "utilization_data",
        "link.",
        "Link utilization by data",
        "share of the time",
        "Part of the interval that ends at each point in which the link was transmitting data.",
    ),
    Quantity(
        "backlog_packets",
        "port.",
        "Queues",
        "packets waiting",
        "Packets in the queue at each instant; the packet being transmitted is not counted.",
        per_interval=False,
    ),
    Quantity(
        "dropped_packets",
        "port.",
        "Drops",
        "packets per interval",
        "Packets the queue dropped in the interval that ends at each point.",
    ),
    Quantity(
        "retransmissions",
        "flow.",
        "Retransmissions",
        "segments per interval",
        "Segments sent again in the interval that ends at each point.",
    ),
)
"""What a report draws, in this order."""


MOST_POINTS = 300
"""Points of a line of what covers its interval; of more samples several are one point."""


def samples_a_point(rows: pl.DataFrame) -> int:
    """Return of how many samples a drawn point is the mean, by the instants in `time_s`."""
    return max(1, math.ceil(rows["time_s"].n_unique() / MOST_POINTS))


def thinned(rows: pl.DataFrame) -> pl.DataFrame:
    """Return means over consecutive samples, each at the time of its last: `path`, `time_s`, `value`."""
    every = samples_a_point(rows)
    if every == 1:
        return rows
    place = (pl.col("time_s").rank("dense") - 1) // every
    parts = rows.group_by("path", place.alias("place"), maintain_order=True)
    return parts.agg(pl.col("time_s").max(), pl.col("value").mean())


def thinned_in_words(rows: pl.DataFrame) -> str:
    """Return the sentence of a caption on what `thinned` did; empty where it left the rows as they are."""
    every = samples_a_point(rows)
    return f" Each point is the mean of {every} samples." if every > 1 else ""


def by_class(series: pl.DataFrame, class_of: Mapping[str, str]) -> pl.DataFrame:
    """Return the goodput of each class as a series of its own, with paths like ``class.gold``.

    The class of each flow is by its path, ``flow.web[3]`` or ``udp.voice``.
    """
    rate = pl.when(pl.col("path").str.starts_with("udp.")).then(pl.lit("throughput_bit_s"))
    rows = series.filter(pl.col("quantity") == rate.otherwise(pl.lit("goodput_bit_s")))
    classes = pl.lit("class.") + pl.col("path").replace_strict(class_of, default=None)
    rows = rows.filter(pl.col("path").is_in(list(class_of))).with_columns(path=classes)
    totals = rows.group_by("path", "time_s", maintain_order=True).agg(pl.sum("value"))
    return totals.with_columns(quantity=pl.lit(CLASSES.name)).sort("time_s", maintain_order=True)


def draw(
    series: pl.DataFrame, quantity: Quantity, warmup_s: float = 0.0, class_of: Mapping[str, str] | None = None
) -> str | None:
    """Return the figure of one quantity as SVG, or None where no path has a value other than zero.

    A dashed line marks the end of the warm-up, unless it is at 0. Many flows are drawn as a band for each
    class; a flow whose path is not in `class_of` is left out.
    """
    rows = series.filter(pl.col("quantity") == quantity.name)
    of_flows = quantity.prefix in ("flow.", "udp.")
    if of_flows and class_of is not None:
        rows = rows.filter(pl.col("path").is_in(list(class_of)))
    if rows.filter(pl.col("value").fill_null(0.0) != 0.0).is_empty():
        return None
    if quantity.per_interval:
        rows = thinned(rows)
    idle = [] if of_flows or quantity.prefix == CLASSES.prefix else _idle(rows)
    rows = rows.filter(~pl.col("path").is_in(idle))
    paths = rows["path"].unique(maintain_order=True).to_list()
    count = len(paths)
    population = count > _MOST_LINES and of_flows
    if population:
        # flows are a population; of links and queues the few that carry the load are of interest
        rows, paths = _bands(rows, class_of or {}, quantity)
    elif count > _MOST_LINES:
        paths = _largest(rows)
    panels = _panels(rows, paths)
    many = len(panels)
    with style.figure(7.6, 1.4 + 1.6 * many, nrows=many, sharex=True, squeeze=False) as (made, grid):
        for axes, inside in zip(grid[:, 0], panels, strict=True):
            if population:
                for path in inside:
                    _band(axes, rows.filter(pl.col("class") == path), quantity, paths.index(path))
            else:
                _lines(axes, rows, quantity, inside, paths)
            if warmup_s > 0:
                axes.axvline(warmup_s, color=style.INK, linewidth=0.8, linestyle="--", label="end of warm-up")
            axes.set_ylim(0, axes.dataLim.ymax * 1.08 or 1.0)
            axes.margins(x=0.01)
            style.legend_beside(axes)
        cut = [f"largest of {count}"] if len(paths) < count and not population else []
        left_out = [f"{len(idle)} idle, not drawn"] if idle else []
        if cut or left_out:
            grid[0, 0].get_legend().set_title("\n".join(cut + left_out))
        grid[-1, 0].set_xlabel("time in s")
        made.supylabel(quantity.label, fontsize=style.points(11), color=style.INK)
        return style.svg(made, quantity.title, f"{quantity.label} against time for {counted(count, 'path')}")


def _idle(rows: pl.DataFrame) -> list[str]:
    """Return the paths that had next to nothing beside the one with the most."""
    largest = _peaks(rows)
    return [path for path, most in largest.items() if most * _IDLE < max(largest.values())]


def _peaks(rows: pl.DataFrame) -> dict[str, float]:
    """Return the largest size of a value by path; 0 where there is none."""
    size = pl.col("value").fill_nan(None).abs()
    return dict(rows.group_by("path", maintain_order=True).agg(size.max().fill_null(0.0)).iter_rows())


def _largest(rows: pl.DataFrame) -> list[str]:
    """Return the paths with the largest means, as many as a figure can hold."""
    means = rows.group_by("path", maintain_order=True).agg(pl.col("value").mean())
    found: list[str] = means.sort("value", descending=True, maintain_order=True)["path"].to_list()
    return found[:_MOST_LINES]


def _panels(rows: pl.DataFrame, paths: list[str]) -> list[list[str]]:
    """Group paths so that none is flattened by another that is far larger; at most three groups."""
    largest = _peaks(rows)
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
        time, values = one["time_s"].to_numpy(), one["value"].to_numpy() * quantity.scale
        look = {"color": style.color(paths.index(path)), "linestyle": style.dash(place)}
        label = path.removeprefix(quantity.prefix)
        style.plot(axes, time, values, quantity.per_interval, label=label, **look)


def _bands(
    rows: pl.DataFrame, class_of: Mapping[str, str], quantity: Quantity
) -> tuple[pl.DataFrame, list[str]]:
    """Return the classes, and for each by time the middle, 5 and 95 % values and the number of flows.

    The middle is the mean of what covers an interval, as the median of flows that fill a link may be 0.
    """
    classes = pl.col("path").replace_strict(class_of, default="all")
    table = rows.with_columns(**{"class": classes}).group_by("class", "time_s", maintain_order=True)
    value = pl.col("value")
    middle = value.mean() if quantity.per_interval else value.median()
    bands = table.agg(low=value.quantile(0.05), value=middle, high=value.quantile(0.95), flows=pl.len())
    bands = bands.sort("time_s", maintain_order=True).with_columns(path=pl.col("class"))
    # as many as can be told apart: those with the largest middles
    found = bands["class"].unique(maintain_order=True).to_list()
    return bands, found if len(found) <= _MOST_LINES else _largest(bands)


def _band(axes: Axes, rows: pl.DataFrame, quantity: Quantity, place: int) -> None:
    color, time = style.color(place), rows["time_s"].to_numpy()
    low, middle, high = (rows[name].to_numpy() * quantity.scale for name in ("low", "value", "high"))
    middle_is = "mean" if quantity.per_interval else "median"
    label = f"{rows['class'].item(0)}: {middle_is} and\n5 to 95 % of {rows['flows'].item(0)}"
    axes.fill_between(time, low, high, color=color, alpha=0.25, linewidth=0)
    axes.plot(time, middle, color=color, linestyle=style.dash(place), label=label)
