"""Means by level with their intervals: of one factor, of two together, and of a swept setting."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_LINE = 24
"""Letters beside a pair of axes on one line."""


class Mean(NamedTuple):
    """A mean with its interval; ends that are not finite are not drawn."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Line:
    """Means of a group, one for each level, None where it has no value; a single line needs no name."""

    name: str
    means: Sequence[Mean | None]


@dataclass(frozen=True)
class Panel:
    """A pair of axes: a factor, its levels, and a line or one for each level of another factor.

    Levels that are `apart`, of which none lies between two others, are not joined.
    """

    factor: str
    levels: Sequence[str]
    lines: Sequence[Line]
    other: str = ""
    apart: bool = False


def draw_means(panels: Sequence[Panel], label: str, title: str, grand: float | None = None) -> str:
    """Return means by level as SVG, a panel for each factor or pair, at most four side by side.

    All have the same vertical axis, of the response with its unit; `grand`, the mean of all, is a line.
    """
    across = min(len(panels), 4 if all(len(panel.lines) == 1 for panel in panels) else 3)
    rows = math.ceil(len(panels) / across)
    turned = any(_crowd(panel.levels) for panel in panels)
    height = 0.4 + (3.4 if turned else 2.7) * rows
    with style.figure(8.6, height, nrows=rows, ncols=across, squeeze=False, sharey=True) as (made, grid):
        for axes, panel in zip(grid.flat, panels, strict=False):
            if grand is not None:
                axes.axhline(grand, color=style.INK, linewidth=0.8, linestyle=style.DASHES[2])
            _lines(axes, panel, range(len(panel.levels)))
            axes.set_xticks(range(len(panel.levels)), panel.levels)
            _crowded(axes, panel.levels)
            axes.set_xlim(-0.5, len(panel.levels) - 0.5)
            axes.set_xlabel(panel.factor)
            if len(panel.lines) > 1 and len(panels) == 1:
                style.legend_beside(axes)
                axes.get_legend().set_title(panel.other)
            elif len(panel.lines) > 1:
                look = {"title_fontsize": style.points(10), "loc": "best", "handlelength": 2.4}
                axes.legend(title=panel.other, fontsize=style.points(10), **look)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel(textwrap.fill(label, _LONGEST_LINE, break_long_words=False))
        return style.svg(made, title, f"{label}. " + "; ".join(_described(panel) for panel in panels))


def draw_curve(
    x: Sequence[float], panel: Panel, label: str, title: str, runs: Sequence[tuple[float, float]] = ()
) -> str:
    """Draw a response over a swept setting: means, interval bands, single runs as dots.

    `x` is where each level lies, in the unit that the panel's `factor` names.
    """
    with style.figure(5.6, 3.7) as (made, axes):
        if runs:
            axes.plot(*zip(*runs, strict=True), ".", color=style.COLORS[7], markersize=3.5, alpha=0.7)
        _lines(axes, panel, x, bands=True)
        axes.set_xlabel(panel.factor)
        axes.set_ylabel(label)
        if len(x) <= 12:
            axes.set_xticks(x, panel.levels)
            _crowded(axes, panel.levels)
        if min(x) > 0 and max(x) / min(x) > 20:
            style.logarithmic(axes, "x")
            axes.set_xticks(x, panel.levels, minor=False)
            axes.minorticks_off()
        if len(panel.lines) > 1:
            axes.legend(title=panel.other, loc="best", handlelength=2.6)
        return style.svg(made, title, f"{label}. {_described(panel)}")


@dataclass(frozen=True)
class Change:
    """By how much a step from one level to another changes a response; hollow unless it `is_found`."""

    label: str
    mean: Mean
    is_found: bool


def draw_changes(rows: Sequence[Change], label: str, title: str) -> str:
    """Return changes as SVG: a dot and its interval a row, all on the axis of the response."""
    with style.figure(4.4, 0.8 + 0.34 * len(rows)) as (made, axes):
        axes.axvline(0.0, color=style.INK, linewidth=0.8)
        for place, row in enumerate(rows):
            if math.isfinite(row.mean.low + row.mean.high):
                axes.plot((row.mean.low, row.mean.high), (place, place), color=style.COLORS[0])
            fill = style.COLORS[0] if row.is_found else style.PAPER
            axes.plot(row.mean.value, place, "o", color=style.COLORS[0], markerfacecolor=fill)
        style.name_rows(axes, [row.label for row in rows])
        axes.set_xlabel(label)
        told = "; ".join(f"{row.label} {row.mean.value:.4g}" for row in rows)
        return style.svg(made, title, f"{label}. {told}")


def _lines(axes: Axes, panel: Panel, x: Sequence[float], bands: bool = False) -> None:
    many = len(panel.lines)
    spread = 0.0 if bands or many == 1 else 0.08
    for place, line in enumerate(panel.lines):
        known = [(at, mean) for at, mean in zip(x, line.means, strict=True) if mean is not None]
        if not known:
            continue
        color = style.color(place)
        shift = spread * (place - (many - 1) / 2)
        axes.plot(
            [at + shift for at, _ in known],
            [mean.value for _, mean in known],
            marker=style.marker(place),
            markersize=5,
            color=color,
            linestyle="none" if panel.apart else style.dash(place),
            label=line.name,
        )
        sure = [(at + shift, mean) for at, mean in known if math.isfinite(mean.low + mean.high)]
        if bands and sure and not panel.apart:
            low, high = [mean.low for _, mean in sure], [mean.high for _, mean in sure]
            axes.fill_between([at for at, _ in sure], low, high, color=color, alpha=0.18, linewidth=0)
        for at, mean in sure:
            axes.plot((at, at), (mean.low, mean.high), color=color, linewidth=1.3, marker="_", markersize=7)


def _crowded(axes: Axes, levels: Sequence[str]) -> None:
    """Turn the names of levels where they would run into each other."""
    if _crowd(levels):
        axes.tick_params(axis="x", labelrotation=35)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")


def _crowd(levels: Sequence[str]) -> bool:
    return sum(len(level) + 2 for level in levels) > 34 and max(map(len, levels)) > 4


def _described(panel: Panel) -> str:
    lines = []
    for line in panel.lines:
        values = ", ".join(
            f"{level} {'none' if mean is None else format(mean.value, '.4g')}"
            for level, mean in zip(panel.levels, line.means, strict=True)
        )
        lines.append(f"{panel.other} {line.name}: {values}".strip(" :") if line.name else values)
    return f"{panel.factor}: " + " / ".join(lines)
