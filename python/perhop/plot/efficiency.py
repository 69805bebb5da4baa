"""Figures of a reproduction: efficiencies over time as a paper draws them, and all rows side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from perhop.plot import style

_TOGETHER = "together"
_SHOWN_S = 300.0


class Line(Protocol):
    """A named line over time."""

    @property
    def name(self) -> str:
        """What the legend calls it."""

    @property
    def time_s(self) -> npt.NDArray[np.float64]:
        """End of each interval, s."""

    @property
    def value(self) -> npt.NDArray[np.float64]:
        """Value over each interval."""


@dataclass(frozen=True)
class Comparison:
    """One row of a published table: what is printed, computed and simulated; None where there is nothing."""

    label: str
    published: float | None
    printed: float | None
    bounded: float | None
    mean: float
    ci95: tuple[float, float] | None


def draw(lines: Sequence[Line], title: str, label: str, top: float | None = 1.05) -> str:
    """Return the first 300 s of lines over time as SVG; sums, named "... together", stand out from parts.

    Parameters
    ----------
    lines
        What is drawn.
    title
        Told to those who cannot see the figure.
    label
        Of the vertical axis, with the unit.
    top
        Upper end of the vertical axis; None lets the data decide.
    """
    summed = any(line.name.endswith(_TOGETHER) for line in lines)
    named: set[str] = set()
    with style.figure(5.6, 2.9) as (made, axes):
        for line in lines:
            fast = line.name.startswith(("down", "fast"))
            side, together = "fast" if fast else "slow", line.name.endswith(_TOGETHER)
            part = summed and not together
            if together:
                name = line.name
            elif part:
                name = f"{side} connections, each"
            else:
                name = f"{side} ({line.name})"
            shown = line.time_s <= _SHOWN_S
            axes.plot(
                line.time_s[shown],
                line.value[shown],
                label=None if name in named else name,
                color=style.COLORS[1 if fast else 0],
                linestyle=style.DASHES[1 if part else 0],
                linewidth=0.9 if part else 1.8,
                drawstyle="steps-pre",
            )
            named.add(name)
        axes.set(xlabel="time in s", ylabel=label)
        axes.set_ylim(0, top)
        axes.margins(x=0.01)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, handlelength=2.4)
        names = ", ".join(f"{line.name} ends at {line.value[-1]:.3g}" for line in lines if len(line.value))
        return style.svg(made, title, f"{label} against time: {names}")


def compare(rows: Sequence[Comparison], title: str, label: str) -> str:
    """Return published, computed and simulated values side by side, a line per row, as SVG.

    Parameters
    ----------
    rows
        From top to bottom.
    title
        Told to those who cannot see the figure.
    label
        Of the horizontal axis, with the unit.
    """
    places = np.arange(len(rows))[::-1]
    marks = (
        ("published", "published", "D", style.COLORS[1], 7.0, False),
        ("printed", "closed form as printed", "s", style.COLORS[3], 9.5, False),
        ("bounded", "closed form, bounded", "o", style.COLORS[2], 12.0, False),
        ("mean", "simulated, 95 % interval", "|", style.COLORS[0], 14.0, True),
    )
    with style.figure(7.6, 0.9 + 0.3 * len(rows)) as (made, axes):
        for field, name, marker, color, size, filled in marks:
            found = [(getattr(row, field), y) for row, y in zip(rows, places, strict=True)]
            x = [value for value, _ in found if value is not None]
            y = [place for value, place in found if value is not None]
            face = color if filled else "none"
            axes.plot(
                x,
                y,
                marker,
                label=name,
                color=color,
                markerfacecolor=face,
                markersize=size,
                markeredgewidth=2.6 if filled else 1.5,
                linestyle="none",
            )
        for row, y in zip(rows, places, strict=True):
            if row.ci95 is not None:
                axes.plot(row.ci95, (y, y), color=style.COLORS[0], linewidth=2.6)
        axes.set_yticks(places, [row.label for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel=label, ylim=(-0.7, len(rows) - 0.3))
        axes.set_xlim(left=min(0.0, *axes.get_xlim()) if rows else 0.0)
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, columnspacing=1.4, handletextpad=0.5
        )
        told = "; ".join(f"{row.label} simulated {row.mean:.3f}" for row in rows)
        return style.svg(made, title, f"{label}: {told}")
