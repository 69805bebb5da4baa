"""Shares of the variation of a response, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perhop.plot import style

_MOST = 14


class VariationPart(NamedTuple):
    """A source of variation: its name, its share in percent, and whether it is found.

    `found` is `None` for what is no effect (errors, blocks).
    """

    source: str
    percent: float
    found: bool | None


def draw_pareto(parts: Sequence[VariationPart], title: str, *, add_up: bool = True) -> str:
    """Draw shares of variation as bars; effects not found are hollow, the smallest of many one bar.

    Where they `add_up`, their sum is written too.
    """
    ordered = sorted(parts, key=lambda part: -part.percent)
    if len(ordered) > _MOST:
        rest = ordered[_MOST - 1 :]
        others = VariationPart(f"{len(rest)} others", sum(part.percent for part in rest), None)
        ordered = [*ordered[: _MOST - 1], others]
    with style.figure(8.0, 0.9 + 0.27 * len(ordered)) as (made, axes):
        total = 0.0
        most = max((part.percent for part in ordered), default=1.0) or 1.0
        for row, part in enumerate(ordered):
            total += part.percent
            color = style.COLORS[7] if part.found is None else style.COLORS[0]
            fill = "none" if part.found is False else color
            axes.barh(row, part.percent, 0.66, facecolor=fill, edgecolor=color, linewidth=1.2)
            label = f"{part.percent:.1f} %" + (f", together {total:.1f} %" if row and add_up else "")
            axes.text(part.percent + 0.012 * most, row, label, va="center", fontsize=style.points(10))
        axes.set_yticks(range(len(ordered)), [part.source.replace(":", " × ") for part in ordered])
        axes.invert_yaxis()
        axes.set_xlim(0, most * 1.32)
        axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 100])
        axes.set_xlabel("share of the variation in %")
        axes.grid(False, axis="y")
        description = ", ".join(f"{part.source} {part.percent:.3g} %" for part in ordered)
        return style.svg(made, title, f"Shares of the variation: {description}")
