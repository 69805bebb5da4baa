"""Delays of each class of flows, and waits of each class of a port, as ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perhop.plot import style


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
            color = style.color(place)
            low, bar, high = (1e3 * value for value in (row.low, row.bar, row.high))
            axes.plot((low, high), (place, place), color=color, linewidth=1.6)
            axes.plot((low, bar), (place, place), color=color, linewidth=9, solid_capstyle="butt")
            marks = [1e3 * mark for mark in row.marks]
            axes.plot(marks, [place] * len(marks), "|", color=color, markersize=13)
        axes.set_xlabel(label)
        if not style.spread_out(axes, min(row.low for row in rows), max(row.high for row in rows)):
            axes.set_xlim(left=0)
        style.name_rows(axes, [row.label for row in rows])
        description = "; ".join(f"{row.label} {1e3 * row.low:.4g} to {1e3 * row.high:.4g} ms" for row in rows)
        return style.svg(made, title, description)
