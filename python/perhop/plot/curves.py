"""Lines over a parameter, a panel for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.ticker import FixedLocator, NullLocator

from perhop.plot import style

_SPOKEN = 60
"""Of a line with more points only the range is written."""


@dataclass(frozen=True)
class Line:
    """A named line with the interval of each point, where it is known, and its place in the palette.

    The marks of a `published` one are hollow; marker and dash are of matplotlib. In `steps` each value holds
    from the point before to its own.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    ci95: Sequence[tuple[float, float] | None]
    color: int
    published: bool = False
    marker: str = ""
    dash: Any = "-"
    steps: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    lines: Sequence[Line]


def draw(
    panels: Sequence[Panel],
    across: str,
    title: str,
    height: float,
    width: float,
    logarithmic: Sequence[Literal["x", "y"]] = (),
) -> str:
    """Return a row of panels with one legend as SVG; a `logarithmic` x axis has its ticks at the points."""
    with style.figure(width, height, ncols=len(panels), squeeze=False) as (made, grid):
        for axes, panel in zip(grid[0], panels, strict=True):
            for line in panel.lines:
                color = style.color(line.color)
                fill = "none" if line.published else color
                points = {"marker": line.marker, "markerfacecolor": fill, "markersize": 4.5}
                look = {"linestyle": line.dash, "color": color, "label": line.name}
                style.plot(axes, line.x, line.y, line.steps, **look, **points)
                for x, ends in zip(line.x, line.ci95, strict=False):
                    if ends is not None:
                        axes.plot((x, x), ends, color=color, linewidth=1.2)
            axes.set_title(panel.title)
            axes.set_xlabel(across)
            if "y" not in logarithmic:
                axes.set_ylim(bottom=min(0.0, *axes.get_ylim()))
            for which in logarithmic:
                style.logarithmic(axes, which)
            if "x" in logarithmic:
                ticks = sorted({x for line in panel.lines for x in line.x})
                axes.xaxis.set_major_locator(FixedLocator(ticks))
                axes.xaxis.set_minor_locator(NullLocator())
                axes.xaxis.set_major_formatter("{x:g}")
        names = dict(zip(*reversed(grid[0, 0].get_legend_handles_labels()), strict=True))
        look = {"ncols": min(3, len(names)), "handlelength": 2.6}
        made.legend(names.values(), names.keys(), loc="outside lower center", **look)
        description = "; ".join(
            f"{panel.title}, {line.name}: {_spoken(line.y)}" for panel in panels for line in panel.lines
        )
        return style.svg(made, title, f"over {across}: {description}")


def _spoken(values: Sequence[float]) -> str:
    if len(values) > _SPOKEN:
        return f"{min(values):.4g} to {max(values):.4g}, ends at {values[-1]:.4g}"
    return ", ".join(f"{value:.4g}" for value in values)
