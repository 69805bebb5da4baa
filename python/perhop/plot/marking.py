"""Figures about who gets what under a marker: bars per flow, quantities over cases or a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.ticker import FixedLocator, NullLocator

from perhop.plot import style
from perhop.stats.intervals import Interval

_HATCHES = ("", "////", "....")
_MARKERS = "osD^"


@dataclass(frozen=True)
class Band:
    """A part of every bar: its name and one value per flow."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One quantity: the label of its axis, and for each line one interval per position.

    `reference` draws a line across at what was published, by line.
    """

    label: str
    lines: Mapping[str, Sequence[Interval]]
    reference: Mapping[str, float] | None = None


def draw_bars(bands: Sequence[Band], title: str, ideal: float | None, top: float | None = None) -> str:
    """Return a bar for each flow as SVG, its parts stacked, with a line at the ideal share.

    Parameters
    ----------
    bands
        Parts from the bottom up, kbit/s; all of the same length.
    title
        Told to those who cannot see the figure.
    ideal
        What each flow should get; None draws no line.
    top
        Upper end of the axis, so that two figures compare; None lets the data decide.
    """
    flows = range(len(bands[0].values))
    with style.figure(4.6, 3.0) as (made, axes):
        bottom = [0.0] * len(flows)
        for place, band in enumerate(bands):
            axes.bar(
                flows,
                band.values,
                0.62,
                bottom=bottom,
                label=band.name,
                color=style.COLORS[(2, 4, 1)[place % 3] if len(bands) > 1 else 0],
                edgecolor=style.INK,
                linewidth=0.8,
                hatch=_HATCHES[place % 3],
            )
            bottom = [below + value for below, value in zip(bottom, band.values, strict=True)]
        if ideal is not None:
            axes.axhline(ideal, color=style.COLORS[1], linestyle=style.DASHES[1], label="ideal share")
        axes.set(xlabel="flow", ylabel="kbit/s", ylim=(0, top))
        axes.set_xticks(flows, [str(flow) for flow in flows])
        axes.grid(axis="x", visible=False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
        told = "; ".join(
            f"flow {flow}: " + ", ".join(f"{band.name} {band.values[flow]:.0f}" for band in bands)
            for flow in flows
        )
        share = "" if ideal is None else f"; ideal share {ideal:.0f}"
        return style.svg(made, title, f"{title}, kbit/s. {told}{share}")


def draw_cases(names: Sequence[str], panels: Sequence[Panel], title: str) -> str:
    """Return one row for each case and one panel for each quantity as SVG, with 95 % intervals.

    Parameters
    ----------
    names
        Cases from top to bottom.
    panels
        Quantities; each has one line with an interval for each case, and references by case.
    title
        Told to those who cannot see the figure.
    """
    height = 1.2 + 0.34 * len(names)
    with style.figure(8.6, height, ncols=len(panels), sharey=True, squeeze=False) as (made, grid):
        told = []
        for axes, panel in zip(grid[0], panels, strict=True):
            (intervals,) = panel.lines.values()
            rows = range(len(names))
            axes.errorbar(
                [one.mean for one in intervals],
                rows,
                xerr=[_half(one) for one in intervals],
                fmt="o",
                color=style.COLORS[0],
                capsize=3.0,
                label="simulated, 95 % interval",
            )
            for row, name in enumerate(names):
                if panel.reference and name in panel.reference:
                    axes.plot(
                        [panel.reference[name]],
                        [row],
                        "D",
                        color=style.COLORS[1],
                        markerfacecolor="none",
                        markersize=8.0,
                        label="published" if row == 0 else None,
                    )
            axes.set_xlabel(panel.label)
            axes.set_yticks(rows, names)
            told.append(
                f"{panel.label}: "
                + ", ".join(f"{name} {one.mean:.3g}" for name, one in zip(names, intervals, strict=True))
            )
        grid[0][0].invert_yaxis()
        made.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return style.svg(made, title, "; ".join(told))


def draw_sweep(
    axis: str,
    labels: Sequence[str],
    places: Sequence[float],
    panels: Sequence[Panel],
    title: str,
    words: bool,
) -> str:
    """Return quantities over a parameter as SVG, one panel each, with 95 % intervals.

    Parameters
    ----------
    axis
        Label of the horizontal axis.
    labels, places
        Of the points; the axis is logarithmic where places span more than a factor of five and are no words.
    panels
        Quantities; their lines have one interval per point.
    title
        Told to those who cannot see the figure.
    words
        Whether the points are words.
    """
    logarithmic = not words and min(places) > 0 and max(places) / min(places) > 5
    with style.figure(8.6, 3.0, ncols=len(panels), squeeze=False) as (made, grid):
        told = []
        for axes, panel in zip(grid[0], panels, strict=True):
            for place, (name, intervals) in enumerate(panel.lines.items()):
                axes.errorbar(
                    places,
                    [one.mean for one in intervals],
                    yerr=[_half(one) for one in intervals],
                    fmt=_MARKERS[place % 4],
                    color=style.COLORS[place],
                    linestyle="none" if words else style.DASHES[place % 4],
                    linewidth=1.2,
                    markersize=5,
                    capsize=2.5,
                    label=name,
                )
                told.append(
                    f"{panel.label}, {name}: "
                    + ", ".join(f"{at} {one.mean:.3g}" for at, one in zip(labels, intervals, strict=True))
                )
            if not words:
                axes.set_xlabel(axis)
            if logarithmic:
                style.logarithmic(axes, "x")
            axes.xaxis.set_major_locator(FixedLocator(list(places)))
            axes.xaxis.set_minor_locator(NullLocator())
            if words:
                axes.set_xticks(places, labels, rotation=25, ha="right")
                axes.margins(x=0.15)
            else:
                axes.set_xticks(places, [f"{place:g}" for place in places], rotation=45)
            axes.set_title(panel.label)
        made.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return style.svg(made, title, "; ".join(told))


def _half(one: Interval) -> float:
    return one.half_width if one.n > 1 else 0.0
