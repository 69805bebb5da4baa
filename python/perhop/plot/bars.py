"""Published and simulated values as pairs of bars, a panel for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perhop.plot import style


@dataclass(frozen=True)
class Bar:
    """One pair: its label, the printed value, the simulated one with its interval."""

    label: str
    published: float | None
    mean: float
    ci95: tuple[float, float] | None


def draw(panels: Sequence[tuple[str, Sequence[Bar]]], title: str) -> str:
    """Return a row of panels as SVG: quantity with its unit, and its bars, the same labels in each."""
    with style.figure(8.6, 2.9, ncols=len(panels), squeeze=False) as (made, grid):
        for axes, (quantity, bars) in zip(grid[0], panels, strict=True):
            for place, bar in enumerate(bars):
                color = style.color(place)
                if bar.published is not None:
                    axes.bar(place - 0.2, bar.published, 0.36, fill=False, edgecolor=color, linewidth=1.6)
                axes.bar(place + 0.2, bar.mean, 0.36, color=color)
                if bar.ci95 is not None:
                    axes.plot((place + 0.2, place + 0.2), bar.ci95, color=style.INK, linewidth=1.4)
            axes.set_xticks(range(len(bars)), [bar.label.replace("-", "-\n", 1) for bar in bars])
            axes.tick_params(axis="x", length=0, labelsize=style.points(9))
            axes.set_title(quantity)
            axes.grid(False, axis="x")
            axes.set_ylim(bottom=0)
        parts = (f"{quantity}: {', '.join(map(_described, bars))}" for quantity, bars in panels)
        return style.svg(made, title, "; ".join(parts))


def _described(bar: Bar) -> str:
    published = "" if bar.published is None else f" (published {bar.published:.4g})"
    return f"{bar.label} {bar.mean:.4g}{published}"
