"""Published, computed and simulated values side by side, a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perhop.plot import style

_MARKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("published", "published", {"marker": "D", "color": style.COLORS[1], "markersize": 7.0}),
    ("printed", "closed form as printed", {"marker": "s", "color": style.COLORS[3], "markersize": 9.5}),
    ("bounded", "closed form, bounded", {"marker": "o", "color": style.COLORS[2], "markersize": 12.0}),
    ("mean", "simulated, 95 % interval", {"marker": "|", "color": style.COLORS[0], "markersize": 14.0}),
)
"""Fields of a row, their words, and their looks."""


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
        for field, name, look in _MARKS:
            found = [(getattr(row, field), y) for row, y in zip(rows, places, strict=True)]
            x = [value for value, _ in found if value is not None]
            y = [place for value, place in found if value is not None]
            # a stroke has no face
            width = 2.6 if look["marker"] == "|" else 1.5
            hollow = {"markerfacecolor": "none", "markeredgewidth": width, "linestyle": "none"}
            axes.plot(x, y, label=name, **look, **hollow)
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
