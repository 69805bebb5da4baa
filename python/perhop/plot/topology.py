"""The topology of a scenario as a drawing: members of a counted node share one symbol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from perhop.plot import style
from perhop.scenario.scenario import Description, LinkView
from perhop.units import bit_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class _Place:
    x: float
    y: float


def draw(meaning: Description) -> str:
    """Draw the topology: hosts as boxes, routers as circles, links with rates and delays."""
    members: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for node in meaning.nodes:
        members[group(node.name)] = members.get(group(node.name), 0) + 1
        kinds[group(node.name)] = node.kind
    edges: dict[tuple[str, str], LinkView] = {}
    delays: dict[tuple[str, str], list[float]] = {}
    for link in meaning.links:
        ends = (group(link.source), group(link.target))
        edges.setdefault(ends, link)
        delays.setdefault(ends, []).append(link.delay_s)
    places = _places(meaning, list(members), list(edges))
    rows = 1 + max(place.y for place in places.values()) - min(place.y for place in places.values())
    columns = 1 + max(place.x for place in places.values())
    with style.figure(7.6, min(0.3 + 0.9 * rows, 7.0)) as (made, axes):
        axes.axis("off")
        axes.grid(False)
        for (source, target), link in edges.items():
            back = edges.get((target, source))
            if back is not None and (places[source].x, source) > (places[target].x, target):
                continue
            _link(axes, places[source], places[target], link, back, delays[source, target])
        for name, place in places.items():
            _node(axes, place, name, kinds[name], members[name])
        axes.set_xlim(-0.45, columns - 0.55)
        low = min(place.y for place in places.values())
        axes.set_ylim(low - 0.6, low + rows - 0.4)
        described = ", ".join(f"{a} to {b} at {bit_rate(link.rate_bit_s)}" for (a, b), link in edges.items())
        return style.svg(made, "Topology", f"{len(meaning.nodes)} nodes; links {described}")


def places(meaning: Description) -> dict[str, tuple[float, float, bool]]:
    """Return the place of each node, or group of a counted one: x, y, whether a router."""
    kinds = {group(node.name): node.kind for node in meaning.nodes}
    edges = dict.fromkeys((group(link.source), group(link.target)) for link in meaning.links)
    found = _places(meaning, list(kinds), list(edges))
    return {name: (one.x, one.y, kinds[name] == "router") for name, one in found.items()}


@lru_cache(maxsize=1 << 16)
def group(name: str) -> str:
    """Return the common name of a counted node's members: ``host`` of ``host[3]``."""
    return re.sub(r"\[\d+\]$", "", name)


def _places(meaning: Description, names: list[str], edges: list[tuple[str, str]]) -> dict[str, _Place]:
    """Return columns by distance from the senders, rows in order of appearance, centred."""
    ends = [(flow.source, flow.target) for flow in meaning.flows]
    ends += [(flow.source, flow.target) for flow in meaning.udp]
    senders = dict.fromkeys(group(source) for source, _ in ends)
    receivers = {group(target) for _, target in ends}
    first = [name for name in senders if name not in receivers] or list(senders)[:1] or names[:1]
    distance = dict.fromkeys(first, 0)
    reached = list(distance)
    for name in reached:
        for source, target in edges:
            if source == name and target not in distance:
                distance[target] = distance[name] + 1
                reached.append(target)
    for name in names:
        distance.setdefault(name, 0)
    columns: dict[int, list[str]] = {}
    for name in names:
        columns.setdefault(distance[name], []).append(name)
    return {
        name: _Place(column, (len(inside) - 1) / 2 - row)
        for column, inside in columns.items()
        for row, name in enumerate(inside)
    }


def _node(axes: Axes, place: _Place, name: str, kind: str, count: int) -> None:
    corners = 0.9 if kind == "router" else 0.15
    axes.text(
        place.x,
        place.y,
        name if count == 1 else f"{name} ×{count}",
        ha="center",
        va="center",
        zorder=3,
        bbox={
            "boxstyle": f"round,pad=0.4,rounding_size={corners}",
            "facecolor": style.PAPER,
            "edgecolor": style.INK,
            "linewidth": 1.2,
        },
    )


def _link(
    axes: Axes, a: _Place, b: _Place, there: LinkView, back: LinkView | None, delays: list[float]
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
    axes.annotate(
        text,
        where,
        xytext=(0, above),
        textcoords="offset points",
        ha="center",
        va=va,
        fontsize=style.points(10),
        bbox={"boxstyle": "square,pad=0.1", "facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.7},
        zorder=2,
    )


def _milliseconds(delay_s: float) -> str:
    return f"{delay_s * 1000:.4g} ms"
