"""Throughput against the socket buffer: published, computed and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.ticker import FixedLocator, NullLocator

from perhop.plot import style

_MARKS = (
    ("published", "published", "D", style.COLORS[1], 8.0),
    ("printed", "closed form as printed", "s", style.COLORS[3], 10.5),
    ("bounded", "closed form, bounded", "o", style.COLORS[2], 13.0),
)
_THROUGHPUTS = (20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Point:
    """Throughput with one buffer, kbit/s; None where there is nothing.

    Attributes
    ----------
    buffer_bytes
        Socket buffer.
    one_way
        Whether there is no traffic the other way.
    published, printed, bounded
        What the paper prints, and the closed form as printed and bounded.
    mean, ci95
        Simulated, with its 95 % interval.
    """

    buffer_bytes: int
    one_way: bool
    published: float | None
    printed: float | None
    bounded: float | None
    mean: float
    ci95: tuple[float, float] | None


def draw(points: Sequence[Point], title: str) -> str:
    """Return throughput over the buffer as SVG: two-way points joined, one-way points apart and labelled.

    Parameters
    ----------
    points
        In any order.
    title
        Told to those who cannot see the figure.
    """
    two_way = sorted((one for one in points if not one.one_way), key=lambda one: one.buffer_bytes)
    one_way = [one for one in points if one.one_way]
    with style.figure(7.6, 4.2) as (made, axes):
        for group, line in ((two_way, ":"), (one_way, "none")):
            named = group is two_way
            for field, name, marker, color, size in _MARKS:
                found = [(_kilobytes(one), getattr(one, field)) for one in group]
                found = [pair for pair in found if pair[1] is not None]
                axes.plot(
                    [x for x, _ in found],
                    [y for _, y in found],
                    marker,
                    label=name if named else None,
                    color=color,
                    markerfacecolor="none",
                    markersize=size,
                    markeredgewidth=1.5,
                    linestyle=line,
                    linewidth=1.0,
                )
            axes.errorbar(
                [_kilobytes(one) for one in group],
                [one.mean for one in group],
                yerr=[
                    [one.mean - (one.ci95 or (one.mean,))[0] for one in group],
                    [(one.ci95 or (one.mean,))[-1] - one.mean for one in group],
                ],
                fmt="_",
                label="simulated, 95 % interval" if named else None,
                color=style.COLORS[0],
                markersize=16.0,
                markeredgewidth=2.6,
                capsize=5.0,
                linestyle=line,
            )
        for group, name in ((two_way[-1:], "two-way"), (one_way, "one-way")):
            for one in group:
                axes.annotate(
                    name, (_kilobytes(one), one.mean), (14, 0), textcoords="offset points", va="center"
                )
        axes.set(
            xlabel="socket buffer of the fast connection in KB (1024 bytes)",
            ylabel="throughput in kbit/s",
        )
        style.logarithmic(axes, "y")
        axes.xaxis.set_major_locator(FixedLocator(sorted({_kilobytes(one) for one in points})))
        axes.yaxis.set_major_locator(FixedLocator(_THROUGHPUTS))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.margins(x=0.14, y=0.08)
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0), handlelength=2.4, labelspacing=0.8)
        told = "; ".join(
            f"{_kilobytes(one):g} KB {'one-way' if one.one_way else 'two-way'} simulated {one.mean:.0f}"
            for one in (*two_way, *one_way)
        )
        return style.svg(made, title, f"throughput in kbit/s: {told}")


def _kilobytes(one: Point) -> float:
    return one.buffer_bytes / 1024
