"""Claims at one glance: by how much each is met, and the verdict."""

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
_NOTHING = 1e-3
_LEAST, _MOST = -30.0, 3.0
_TICKS = (_LEAST, -10.0, -3.0, -1.0, 0.0, 1.0, _MOST)


@dataclass(frozen=True)
class ForestRow:
    """A claim by one of its parts: to the left `label`, to the right `printed`, its numbers in words.

    The least or the most that is claimed is None where there is no end.
    """

    label: str
    printed: str
    verdict: str
    claimed: tuple[float | None, float | None]
    mean: float
    interval: tuple[float, float] | None


def draw(rows: Sequence[ForestRow], title: str) -> str | None:
    """Draw each row's margin on one axis, and that of its interval's ends; None where no row has one."""
    if all(row.claimed == (None, None) for row in rows):
        return None
    with style.figure(7.6, 1.2 + 0.36 * len(rows)) as (made, axes):
        axes.axvspan(0.0, _MOST, color=style.FAINT, alpha=0.5, linewidth=0)
        axes.axvline(0.0, color=style.INK, linewidth=0.8)
        for place, row in enumerate(rows):
            _row(axes, place, row)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(_LEAST, _MOST)
        ends = {_LEAST: f"≤ −{-_LEAST:g}", _MOST: f"≥ {_MOST:g}"}
        axes.set_xticks(_TICKS, [ends.get(one, f"{one:g}".replace("-", "−")) for one in _TICKS])
        axes.minorticks_off()
        axes.set_xlabel("margin over tolerance")
        style.name_rows(axes, [row.label for row in rows])
        axes.tick_params(axis="y", pad=8)
        axes.spines["left"].set_visible(False)
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), [row.printed for row in rows])
        right.tick_params(axis="y", length=0, pad=8, labelsize=style.points(10))
        right.spines["right"].set_visible(False)
        seen = {row.verdict for row in rows}
        for verdict, look in _LOOKS.items():
            if verdict in seen:
                axes.plot([], [], linestyle="none", markersize=7, label=verdict, **look)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, handletextpad=0.2)
        description = "; ".join(f"{row.label} {row.verdict}: {row.printed}" for row in rows)
        return style.svg(made, title, description)


def margin(row: ForestRow, value: float) -> float:
    """Return how far a value is inside the claimed range, over the tolerance; negative outside.

    The tolerance is half the range; of a range with one end the size of that end. Where that is next to
    nothing, as of a claim that something is above 0, it is the largest number of the row.
    """
    least, most = row.claimed
    known = [one for one in (least, most) if one is not None]
    tolerance = (max(known) - min(known)) / 2 if len(known) == 2 else abs(known[0])
    largest = max(map(abs, (*known, row.mean, *(row.interval or ()))))
    if tolerance <= _NOTHING * largest:
        tolerance = largest or 1.0
    inside = [value - least] if least is not None else []
    inside += [most - value] if most is not None else []
    return min(inside) / tolerance


def _row(axes: Axes, place: int, row: ForestRow) -> None:
    if row.claimed == (None, None):
        return
    look = _LOOKS[row.verdict]
    at, *ends = (min(max(margin(row, one), _LEAST), _MOST) for one in (row.mean, *(row.interval or ())))
    axes.plot((min(at, *ends, at), max(at, *ends, at)), (place, place), color=look["color"], linewidth=2.4)
    axes.plot(at, place, linestyle="none", markersize=7, clip_on=False, **look)
