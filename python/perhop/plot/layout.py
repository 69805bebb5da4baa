"""Where a drawing of a topology has each node: members of a counted node share one place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from perhop.scenario.scenario import Description


class Place(NamedTuple):
    """A column, a row upwards, both in distances of neighbours, and whether it is a router's."""

    x: float
    y: float
    router: bool


@lru_cache(maxsize=1 << 16)
def group(name: str) -> str:
    """Return the common name of a counted node's members: ``host`` of ``host[3]``."""
    return re.sub(r"\[\d+\]$", "", name)


def places(meaning: Description) -> dict[str, Place]:
    """Return columns by distance from the senders, rows in order of appearance, centred."""
    kinds = {group(node.name): node.kind for node in meaning.nodes}
    edges = dict.fromkeys((group(link.source), group(link.target)) for link in meaning.links)
    ends = [(flow.source, flow.target) for flow in meaning.flows]
    ends += [(flow.source, flow.target) for flow in meaning.udp]
    senders = dict.fromkeys(group(source) for source, _ in ends)
    receivers = {group(target) for _, target in ends}
    first = [name for name in senders if name not in receivers] or list(senders)[:1] or list(kinds)[:1]
    distance = dict.fromkeys(first, 0)
    reached = list(distance)
    for name in reached:
        for source, target in edges:
            if source == name and target not in distance:
                distance[target] = distance[name] + 1
                reached.append(target)
    columns: dict[int, list[str]] = {}
    for name in kinds:
        columns.setdefault(distance.get(name, 0), []).append(name)
    return {
        name: Place(column, (len(inside) - 1) / 2 - row, kinds[name] == "router")
        for column, inside in columns.items()
        for row, name in enumerate(inside)
    }
