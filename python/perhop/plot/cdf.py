"""Distributions: of delays, from percentiles, and of rates over the members of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MARKERS = "osD^vP*Xd"

SHARES = {
    "delay_min_s": 0.0,
    "delay_p50_s": 0.5,
    "delay_p95_s": 0.95,
    "delay_p99_s": 0.99,
    "delay_p999_s": 0.999,
    "delay_max_s": 1.0,
}
"""Columns of the table `classes`, and the share of packets that took at most so long."""


@dataclass(frozen=True)
class Curve:
    """A distribution: its label, delays in s, and the share of packets that took at most so long."""

    label: str
    delays_s: tuple[float, ...]
    shares: tuple[float, ...]


def curve(label: str, row: Mapping[str, Any]) -> Curve | None:
    """Return the distribution in a row of the table `classes`; None where no delay was measured."""
    points = [(row[name], share) for name, share in SHARES.items() if row.get(name) is not None]
    if not points:
        return None
    return Curve(label, *(tuple(column) for column in zip(*points, strict=True)))


def table(curves: Sequence[Curve]) -> pl.DataFrame:
    """Return distributions as a long table: `label`, `delay_s`, `share`."""
    columns = {"label": pl.String, "delay_s": pl.Float64, "share": pl.Float64}
    rows = [(one.label, *point) for one in curves for point in zip(one.delays_s, one.shares, strict=True)]
    return pl.DataFrame(rows, columns, orient="row")


def draw(curves: Sequence[Curve], title: str) -> str:
    """Return distributions of one-way delay as SVG: a mark for each percentile, and nothing between them."""
    with style.figure(7.6, 3.6) as (made, axes):
        for number, one in enumerate(curves):
            axes.plot(
                [1e3 * delay for delay in one.delays_s],
                one.shares,
                color=style.color(number),
                linestyle="none",
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=6.5,
                markerfacecolor="none",
                markeredgewidth=1.6,
                label=one.label,
            )
        low, high = (end(x for one in curves for x in one.delays_s) for end in (min, max))
        axes.set(xlabel="one-way delay in ms", ylabel="share of packets", ylim=(-0.04, 1.04))
        if low > 0 and high / low > 30:
            style.logarithmic(axes, "x")
        style.legend_beside(axes)
        description = "; ".join(f"{one.label}: half within {1e3 * one.delays_s[1]:.4g} ms" for one in curves)
        return style.svg(made, title, description)


def draw_rates(table: pl.DataFrame, title: str) -> str:
    """Return distributions of rates as SVG, from a table of `group`, `rate_bit_s` and `share`."""
    with style.figure(7.6, 3.6) as (made, axes):
        for number, (name, rows) in enumerate(table.group_by("group", maintain_order=True)):
            look = {"color": style.color(number), "label": str(name[0])}
            axes.step(rows["rate_bit_s"] / 1e6, rows["share"], where="post", **look)
        axes.set(xlabel="Mbit/s", ylabel="share of members", ylim=(-0.04, 1.04))
        style.legend_beside(axes)
        half = table.filter(pl.col("share") >= 0.5).group_by("group", maintain_order=True).first()
        said = (f"{name}: half below {rate / 1e6:.4g} Mbit/s" for name, rate, _ in half.iter_rows())
        return style.svg(made, title, "; ".join(said))
