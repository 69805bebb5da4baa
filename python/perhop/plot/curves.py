"""Lines over a parameter, a panel for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perhop.plot import style


@dataclass(frozen=True)
class Line:
    """A named line.

    Parameters
    ----------
    name
        What the legend calls it.
    x, y
        Its points.
    ci95
        Interval of each point, where it is known.
    color
        Place in the palette.
    published
        Whether it is a printed one: dashed and hollow.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    ci95: Sequence[tuple[float, float] | None] = ()
    color: int = 0
    published: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes; with `ticks`, the horizontal places are named."""

    title: str
    lines: Sequence[Line]
    ticks: Sequence[str] = ()


def draw(panels: Sequence[Panel], across: str, title: str, height: float = 3.0) -> str:
    """Return a row of panels as SVG.

    Parameters
    ----------
    panels
        From left to right; they share one legend.
    across
        Of the horizontal axes, with the unit.
    title
        Told to those who cannot see the figure.
    height
        In inches.
    """
    with style.figure(8.6, height, ncols=len(panels), squeeze=False) as (made, grid):
        for axes, panel in zip(grid[0], panels, strict=True):
            for line in panel.lines:
                color = style.COLORS[line.color % len(style.COLORS)]
                axes.plot(
                    line.x,
                    line.y,
                    "o" if not line.published else "D",
                    linestyle=style.DASHES[1 if line.published else 0],
                    color=color,
                    markerfacecolor="none" if line.published else color,
                    markersize=4.5,
                    label=line.name,
                )
                for x, ends in zip(line.x, line.ci95, strict=False):
                    if ends is not None:
                        axes.plot((x, x), ends, color=color, linewidth=1.2)
            axes.set_title(panel.title)
            axes.set_xlabel(across)
            if panel.ticks:
                axes.set_xticks(range(len(panel.ticks)), panel.ticks, fontsize=9)
            axes.set_ylim(bottom=min(0.0, *axes.get_ylim()))
        names = dict(zip(*reversed(grid[0, 0].get_legend_handles_labels()), strict=True))
        made.legend(
            names.values(),
            names.keys(),
            loc="outside lower center",
            ncols=min(3, len(names)),
            handlelength=2.6,
        )
        told = "; ".join(
            f"{panel.title}, {line.name}: " + ", ".join(f"{y:.4g}" for y in line.y)
            for panel in panels
            for line in panel.lines
        )
        return style.svg(made, title, f"over {across}: {told}")
