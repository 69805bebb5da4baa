"""Numbers as marks on lines of their own above one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.ticker import LogLocator

from perhop.plot import style

_SPREAD = 30.0
"""From the least to the most beyond which the axis is logarithmic."""


def draw(lines: Mapping[str, Sequence[float]], title: str, label: str) -> str:
    """Return the lines as SVG; `label` is of their axis, with the unit."""
    with style.figure(4.2, 0.8 + 0.4 * len(lines)) as (made, axes):
        for place, values in enumerate(lines.values()):
            color, height = style.COLORS[place % len(style.COLORS)], [place] * len(values)
            axes.plot(values, height, "|", color=color, markersize=16, markeredgewidth=1.6)
        values = [value for own in lines.values() for value in own]
        if values and 0 < _SPREAD * min(values) < max(values):
            style.logarithmic(axes, "x")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter("{x:g}")
        else:
            # from zero on, with room for a mark there
            axes.update_datalim([(0.0, 0.0)])
            axes.margins(x=0.02)
        axes.set_xlabel(label)
        axes.set_yticks(range(len(lines)), list(lines))
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        ends = (f"{name} {min(own):.4g} to {max(own):.4g}" for name, own in lines.items() if own)
        return style.svg(made, title, f"{label}: {'; '.join(ends)}")
