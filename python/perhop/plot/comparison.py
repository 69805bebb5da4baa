"""Published, computed and simulated values side by side, a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perhop.plot import style

_MARKS = (
    ("published", "published", "D", style.COLORS[1], 7.0),
    ("printed", "closed form as printed", "s", style.COLORS[3], 9.5),
    ("bounded", "closed form, bounded", "o", style.COLORS[2], 12.0),
    ("mean", "simulated, 95 % interval", "|", style.COLORS[0], 14.0),
)
_STROKE = {"markeredgewidth": 2.6}
_HOLLOW = {"markeredgewidth": 1.5, "markerfacecolor": "none"}


@dataclass(frozen=True)
class Comparison:
    """A row of a published table: printed, computed and simulated values, or None."""

    label: str
    published: float | None
    printed: float | None
    bounded: float | None
    mean: float
    ci95: tuple[float, float] | None


def draw(rows: Sequence[Comparison], title: str, label: str) -> str:
    """Return the values side by side as SVG, a line per row; `label` is of their axis, with the unit."""
    places = np.arange(len(rows))[::-1]
    with style.figure(7.6, 0.9 + 0.3 * len(rows)) as (made, axes):
        for field, name, marker, color, size in _MARKS:
            found = [(getattr(row, field), y) for row, y in zip(rows, places, strict=True)]
            x = [value for value, _ in found if value is not None]
            y = [place for value, place in found if value is not None]
            look = _STROKE if marker == "|" else _HOLLOW
            axes.plot(x, y, marker, label=name, color=color, markersize=size, **look)
        for row, y in zip(rows, places, strict=True):
            if row.ci95 is not None:
                axes.plot(row.ci95, (y, y), color=style.COLORS[0], linewidth=2.6)
        axes.set_yticks(places, [row.label for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel=label, ylim=(-0.7, len(rows) - 0.3))
        axes.set_xlim(left=min(0.0, *axes.get_xlim()) if rows else 0.0)
        made.legend(loc="outside upper center", ncols=4, columnspacing=1.4, handletextpad=0.5)
        description = "; ".join(f"{row.label} simulated {row.mean:.3f}" for row in rows)
        return style.svg(made, title, f"{label}: {description}")
