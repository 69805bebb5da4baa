"""Packets as squares by their mark: a panel for each marker, a line for each marking interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perhop.plot import style


def draw(patterns: Mapping[str, Sequence[Sequence[bool]]], title: str) -> str:
    """Return packets in their order as SVG, IN filled and OUT hollow.

    By name of a panel `patterns` has for each interval whether each packet was IN.
    """
    most = max(len(line) for lines in patterns.values() for line in lines)
    rows = max(len(lines) for lines in patterns.values())
    with style.figure(8.6, 0.9 + 0.22 * rows, ncols=len(patterns), squeeze=False) as (made, grid):
        for axes, (name, lines) in zip(grid[0], patterns.items(), strict=True):
            for row, line in enumerate(lines, 1):
                for place, is_in in enumerate(line, 1):
                    color = style.COLORS[0 if is_in else 1]
                    fill = color if is_in else "none"
                    axes.plot(place, row, "s", color=color, markerfacecolor=fill, markersize=6)
            axes.set(title=name, xlabel="packet of the interval")
            axes.set_xlim(0.3, most + 0.7)
            axes.set_ylim(rows + 0.6, 0.4)
            axes.grid(False)
        grid[0, 0].set_ylabel("interval")
        description = "; ".join(
            f"{name}: " + " ".join("".join("I" if is_in else "O" for is_in in line) for line in lines)
            for name, lines in patterns.items()
        )
        return style.svg(made, title, f"I is IN, O is OUT. {description}")
