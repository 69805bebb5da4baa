"""Claims at one glance: the simulated interval, the claimed range, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: dict[str, dict[str, Any]] = {
    "supported": {"color": style.COLORS[2], "marker": "o"},
    "contradicted": {"color": style.COLORS[1], "marker": "X"},
    "inconclusive": {"color": style.COLORS[4], "marker": "D", "fillstyle": "none"},
    "not judged": {"color": style.COLORS[7], "marker": "s", "fillstyle": "none"},
}
# what of a row's width is kept free at either side, for a range without an end to go on
_MARGIN = 0.12


@dataclass(frozen=True)
class ForestRow:
    """A claim by one of its parts.

    Parameters
    ----------
    label, printed
        To the left: which claim; to the right: its numbers in words.
    verdict
        ``supported``, ``contradicted``, ``inconclusive`` or ``not judged``.
    claimed
        Least and most that is claimed, None where there is no end.
    mean, interval
        What was simulated; None where nothing was.
    """

    label: str
    printed: str
    verdict: str
    claimed: tuple[float | None, float | None]
    mean: float | None
    interval: tuple[float, float] | None


def draw(rows: Sequence[ForestRow], title: str) -> str:
    """Draw the rows, one at least, each on a scale of its own, from the least to the most of its numbers."""
    with style.figure(7.6, 0.7 + 0.36 * len(rows)) as (made, axes):
        for place, row in enumerate(rows):
            _row(axes, place, row)
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xticks([])
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), [row.printed for row in rows])
        right.tick_params(axis="y", length=0, labelsize=style.points(9))
        right.spines["right"].set_visible(False)
        _legend(axes, rows)
        description = "; ".join(f"{row.label} {row.verdict}: {row.printed}" for row in rows)
        return style.svg(made, title, description)


def place_of(row: ForestRow, value: float) -> float:
    """Return where a value of a row is drawn, 0 to 1 from left to right."""
    known = [one for one in (*row.claimed, row.mean, *(row.interval or ())) if one is not None]
    low, high = float(min(known)), float(max(known))
    if high == low:
        return 0.5
    return _MARGIN + (1.0 - 2.0 * _MARGIN) * (value - low) / (high - low)


def _row(axes: Axes, place: int, row: ForestRow) -> None:
    low, high = row.claimed
    if low is not None or high is not None:
        ends = (
            0.0 if low is None else place_of(row, low),
            1.0 if high is None else place_of(row, high),
        )
        axes.barh(place, ends[1] - ends[0], 0.62, left=ends[0], color=style.FAINT, zorder=1)
        for value in (low, high):
            if value is not None:
                at = place_of(row, value)
                axes.plot((at, at), (place - 0.31, place + 0.31), color=style.INK, linewidth=0.8, zorder=2)
    look = _LOOKS[row.verdict]
    if row.interval is not None:
        axes.plot(
            [place_of(row, end) for end in row.interval],
            (place, place),
            color=look["color"],
            linewidth=2.4,
            zorder=3,
        )
    if row.mean is not None:
        axes.plot(place_of(row, row.mean), place, linestyle="none", markersize=7, zorder=4, **look)


def _legend(axes: Axes, rows: Sequence[ForestRow]) -> None:
    seen = {row.verdict for row in rows}
    for verdict, look in _LOOKS.items():
        if verdict in seen:
            axes.plot([], [], linestyle="none", markersize=7, label=verdict, **look)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, handletextpad=0.2)
