"""Delays of each class of flows, and waits of each class of a port, as ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.ticker import LogLocator, NullFormatter

from perhop.plot import style

# beyond this, what varies least could not be read on a linear axis
_SPREAD = 30.0


@dataclass(frozen=True)
class ClassRow:
    """A row of the figure, s: a line from `low` to `high`, a bar from `low` to `bar`, and `marks`."""

    label: str
    low: float
    bar: float
    high: float
    marks: Sequence[float] = ()


def draw(rows: Sequence[ClassRow], title: str, label: str) -> str:
    """Return the rows as SVG, in ms, which the `label` of the axis has to name."""
    with style.figure(7.6, 0.9 + 0.42 * len(rows)) as (made, axes):
        for place, row in enumerate(rows):
            color = style.COLORS[place % len(style.COLORS)]
            low, bar, high = (1e3 * value for value in (row.low, row.bar, row.high))
            axes.plot((low, high), (place, place), color=color, linewidth=1.6)
            axes.plot((low, bar), (place, place), color=color, linewidth=9, solid_capstyle="butt")
            axes.plot(
                [1e3 * mark for mark in row.marks], [place] * len(row.marks), "|", color=color, markersize=13
            )
        axes.set_xlabel(label)
        lows = [row.low for row in rows if row.low > 0]
        if len(lows) == len(rows) and max(row.high for row in rows) > _SPREAD * min(lows):
            style.logarithmic(axes, "x")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_xlim(left=0)
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        description = "; ".join(f"{row.label} {1e3 * row.low:.4g} to {1e3 * row.high:.4g} ms" for row in rows)
        return style.svg(made, title, description)
