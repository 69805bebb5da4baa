"""The topology of a scenario as a drawing: members of a counted node share one symbol."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from perhop.plot import style
from perhop.plot.layout import Place, group, places
from perhop.scenario.scenario import Description, LinkView
from perhop.units import bit_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(meaning: Description) -> str:
    """Draw the topology: hosts as boxes, routers as circles, links with rates and delays."""
    members = Counter(group(node.name) for node in meaning.nodes)
    edges: dict[tuple[str, str], LinkView] = {}
    delays: dict[tuple[str, str], list[float]] = {}
    for link in meaning.links:
        ends = (group(link.source), group(link.target))
        edges.setdefault(ends, link)
        delays.setdefault(ends, []).append(link.delay_s)
    placed = places(meaning)
    low, high = (end(place.y for place in placed.values()) for end in (min, max))
    rows, columns = 1 + high - low, 1 + max(place.x for place in placed.values())
    with style.figure(7.6, min(0.3 + 0.9 * rows, 7.0)) as (made, axes):
        axes.axis("off")
        axes.grid(False)
        for (source, target), link in edges.items():
            back = edges.get((target, source))
            if back is not None and (placed[source].x, source) > (placed[target].x, target):
                continue
            _link(axes, placed[source], placed[target], link, back, delays[source, target])
        for name, place in placed.items():
            _node(axes, place, name, members[name])
        axes.set_xlim(-0.45, columns - 0.55)
        axes.set_ylim(low - 0.6, low + rows - 0.4)
        described = ", ".join(f"{a} to {b} at {bit_rate(link.rate_bit_s)}" for (a, b), link in edges.items())
        return style.svg(made, "Topology", f"{len(meaning.nodes)} nodes; links {described}")


def _node(axes: Axes, place: Place, name: str, count: int) -> None:
    shape = f"round,pad=0.4,rounding_size={0.9 if place.router else 0.15}"
    box = {"boxstyle": shape, "facecolor": style.PAPER, "edgecolor": style.INK, "linewidth": 1.2}
    text = name if count == 1 else f"{name} ×{count}"
    axes.text(place.x, place.y, text, ha="center", va="center", zorder=3, bbox=box)


def _link(
    axes: Axes, a: Place, b: Place, there: LinkView, back: LinkView | None, delays: list[float]
) -> None:
    axes.plot([a.x, b.x], [a.y, b.y], color=style.FAINT, linewidth=2.5, zorder=1, solid_capstyle="butt")
    right, left = ("→", "←") if b.x >= a.x else ("←", "→")
    if back is not None and (back.rate_bit_s, back.delay_s) == (there.rate_bit_s, there.delay_s):
        low, high = _milliseconds(min(delays)), _milliseconds(max(delays))
        first, second = f"{bit_rate(there.rate_bit_s)} ↔", low if low == high else f"{low} to {high}"
    else:
        first = f"{bit_rate(there.rate_bit_s)} · {_milliseconds(there.delay_s)} {right}"
        second = f"{left} {bit_rate(back.rate_bit_s)} · {_milliseconds(back.delay_s)}" if back else ""
    middle = ((a.x + b.x) / 2, (a.y + b.y) / 2)
    if a.y == b.y:
        _label(axes, first, middle, 6, "bottom")
        _label(axes, second, middle, -6, "top")
    else:
        _label(axes, f"{first}\n{second}".strip(), middle, 0, "center")


def _label(axes: Axes, text: str, where: tuple[float, float], above: float, va: str) -> None:
    box = {"boxstyle": "square,pad=0.1", "facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.7}
    look: dict[str, Any] = {"ha": "center", "va": va, "fontsize": style.points(10), "zorder": 2, "bbox": box}
    axes.annotate(text, where, xytext=(0, above), textcoords="offset points", **look)


def _milliseconds(delay_s: float) -> str:
    return f"{delay_s * 1000:.4g} ms"
