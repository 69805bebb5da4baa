"""Numbers as marks on lines of their own above one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perhop.plot import style


def draw(lines: Mapping[str, Sequence[float]], title: str, label: str) -> str:
    """Return the lines as SVG; `label` is of their axis, with the unit."""
    with style.figure(4.2, 0.8 + 0.4 * len(lines)) as (made, axes):
        for place, values in enumerate(lines.values()):
            height = [place] * len(values)
            axes.plot(values, height, "|", color=style.color(place), markersize=16, markeredgewidth=1.6)
        values = [value for own in lines.values() for value in own] or [0.0]
        if not style.spread_out(axes, min(values), max(values)):
            # from zero on, with room for a mark there
            axes.update_datalim([(0.0, 0.0)])
            axes.margins(x=0.02)
        axes.set_xlabel(label)
        style.name_rows(axes, list(lines))
        axes.set_ylim(len(lines) - 0.5, -0.5)
        ends = (f"{name} {min(own):.4g} to {max(own):.4g}" for name, own in lines.items() if own)
        return style.svg(made, title, f"{label}: {'; '.join(ends)}")
