"""Panels over one axis of time, each line named at its end: as SVG, and as data for a page that answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# the least distance between two names beside a panel, in points
_APART = 12.5
_MOST_TOGETHER = 6
"""Lines of several runs in one panel."""


@dataclass(frozen=True)
class Line:
    """A line of a panel: a value or None for each time, its places in `style.COLORS` and `style.DASHES`.

    Without a place among the colours it has that of text.
    """

    name: str
    values: Sequence[float | None]
    color: int | None = None
    dash: int = 0

    @property
    def is_level(self) -> bool:
        """Whether others are held to it: it is dashed and has no colour."""
        return self.color is None and self.dash > 0

    @property
    def last(self) -> float:
        """The last value that there is, beside which the name stands; 0 without any."""
        return next((value for value in reversed(self.values) if value is not None), 0.0)


@dataclass(frozen=True)
class Panel:
    """A panel: what it shows with its unit, and its lines.

    A value `is_of_intervals` where it covers what ends at its time, and is drawn as a step.
    """

    label: str
    lines: Sequence[Line]
    is_of_intervals: bool = False


@dataclass(frozen=True)
class Panels:
    """Panels over the same times in s; the warm-up, until `warmup_s`, is shaded."""

    time_s: Sequence[float]
    panels: Sequence[Panel]
    warmup_s: float = 0.0

    @property
    def begin_s(self) -> float:
        """The beginning of the first interval; there are two times at least."""
        return max(0.0, 2 * self.time_s[0] - self.time_s[1])


def beside(named: Mapping[str, Panels]) -> Panels:
    """Put panels of the same label over each other, a colour for each name and a dash for each line.

    A panel that would have too many lines becomes one for each line. Levels are drawn once. Where times
    differ, a line has its next value. The warm-up is shaded if all have the same.
    """
    times = sorted({time_s for one in named.values() for time_s in one.time_s})
    labels = dict.fromkeys(panel.label for one in named.values() for panel in one.panels)
    warmups = {one.warmup_s for one in named.values()}
    panels = [panel for label in labels for panel in _over(named, label, times)]
    return Panels(times, panels, warmups.pop() if len(warmups) == 1 else 0.0)


def _over(named: Mapping[str, Panels], label: str, times: Sequence[float]) -> list[Panel]:
    own: dict[str, list[Line]] = {}
    levels: dict[str, Line] = {}
    is_of_intervals = False
    for color, (name, one) in enumerate(named.items()):
        places = np.searchsorted(one.time_s, times)
        for panel in (each for each in one.panels if each.label == label):
            is_of_intervals = panel.is_of_intervals
            levels |= {
                line.name: Line(line.name, [line.last] * len(times), None, line.dash)
                for line in panel.lines
                if line.is_level
            }
            for line in panel.lines:
                if not line.is_level:
                    next_ones = [line.values[at] if at < len(line.values) else None for at in places]
                    own.setdefault(line.name, []).append(Line(name, next_ones, color, color))
    if len(own) > 1 and sum(map(len, own.values())) > _MOST_TOGETHER:
        return [
            Panel(f"{label}: {name}", [*lines, *([] if place else levels.values())], is_of_intervals)
            for place, (name, lines) in enumerate(own.items())
        ]
    lines = [
        line if len(own) == 1 else replace(line, name=f"{line.name}, {name}", dash=dash)
        for dash, (name, each) in enumerate(own.items())
        for line in each
    ]
    return [Panel(label, [*lines, *levels.values()], is_of_intervals)]


def draw(drawn: Panels, title: str) -> str:
    """Return the panels as SVG, the first higher than the others, all as high as their names need."""
    heights = [
        max(1.0 if place else 1.5, len(one.lines) * _APART / (72 * 1.2))
        for place, one in enumerate(drawn.panels)
    ]
    split = {"nrows": len(heights), "height_ratios": heights, "squeeze": False}
    with style.figure(7.6, 0.5 + 1.45 * sum(heights), sharex=True, **split) as (made, all_axes):
        for axes, panel, height in zip(all_axes[:, 0], drawn.panels, heights, strict=True):
            for line in panel.lines:
                values = np.array(line.values, dtype=float)
                style.plot(axes, drawn.time_s, values, panel.is_of_intervals, **_look(line))
            if drawn.warmup_s > 0:
                axes.axvspan(drawn.begin_s, drawn.warmup_s, color=style.FAINT, alpha=0.5, linewidth=0)
            axes.set_ylim(0, max(1.05 * axes.dataLim.ymax, 1e-9))
            axes.set_xlim(drawn.begin_s, drawn.time_s[-1])
            axes.set_title(panel.label)
            # about what is left of a panel beside its title
            _name(axes, panel.lines, _APART / (72 * 1.2 * height))
        all_axes[-1, 0].set_xlabel("time in s")
        names = "; ".join(
            f"{one.label}: {', '.join(line.name for line in one.lines)}" for one in drawn.panels
        )
        return style.svg(made, title, f"against time. {names}")


def data(drawn: Panels) -> str:
    """Return the panels as JSON for `panels.js`: four digits, and the beginning of the first interval."""
    panels = [
        {
            "label": panel.label,
            "steps": panel.is_of_intervals,
            "lines": [_data(line, panel.is_of_intervals) for line in panel.lines],
        }
        for panel in drawn.panels
    ]
    time = [float(f"{one:.9g}") for one in (drawn.begin_s, *drawn.time_s)]
    return json.dumps({"time": time, "warmup": drawn.warmup_s, "panels": panels}, separators=(",", ":"))


def _data(line: Line, is_of_intervals: bool) -> dict[str, Any]:
    values = (line.values[0] if is_of_intervals else None, *line.values)
    short = [None if value is None else float(f"{value:.4g}") for value in values]
    return {"name": line.name, "color": line.color, "dash": line.dash, "values": short}


def table(drawn: Panels) -> pl.DataFrame:
    """Return the numbers of the panels: ``panel``, ``line``, ``time_s``, ``value``."""
    rows = [
        (panel.label, line.name, time_s, value)
        for panel in drawn.panels
        for line in panel.lines
        for time_s, value in zip(drawn.time_s, line.values, strict=True)
    ]
    types = {"panel": pl.String, "line": pl.String, "time_s": pl.Float64, "value": pl.Float64}
    return pl.DataFrame(rows, types, orient="row")


def _look(line: Line) -> dict[str, Any]:
    color = style.INK if line.color is None else style.color(line.color)
    return {"color": color, "linestyle": style.dash(line.dash), "linewidth": 1.0 if line.is_level else 1.6}


def _name(axes: Axes, lines: Sequence[Line], apart: float) -> None:
    """Write each line's name at its end, so much of the axes' height apart."""
    top = axes.get_ylim()[1]
    ends = sorted(lines, key=lambda line: line.last)
    places: list[float] = []
    for line in ends:
        places.append(max(line.last / top, places[-1] + apart if places else 0.0))
    # pushed up by each other, the names may be above the panel
    above = 1.0
    for number in reversed(range(len(places))):
        places[number] = min(places[number], above)
        above = places[number] - apart
    for line, place in zip(ends, places, strict=True):
        beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        axes.plot((1.01, 1.05), (place, place), **beside, **_look(line))
        axes.text(1.06, place, line.name, va="center", fontsize=style.points(10), **beside)
