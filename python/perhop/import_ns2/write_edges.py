"""Policies of edges as conditioners."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from perhop.import_ns2 import toml
from perhop.import_ns2.queues import TWO_COLORS
from perhop.import_ns2.remarks import LineRefused

if TYPE_CHECKING:
    from perhop.import_ns2.marking import Edge
    from perhop.import_ns2.plan import Pair, Plan

_METERS = {
    "TSW2CM": ("tsw2cm", ("cir", "window")),
    "TSW3CM": ("tsw3cm", ("cir", "pir")),
    "TokenBucket": ("token-bucket", ("cir", "cbs")),
    "srTCM": ("sr-tcm", ("cir", "cbs", "ebs")),
    "trTCM": ("tr-tcm", ("cir", "cbs", "pir", "pbs")),
}
_BURSTS = ("cbs", "ebs", "pbs")


def conditioners(plan: Plan, edges: list[Edge]) -> list[str]:
    """Return the lines of all conditioners; inseparable ones are noted in `plan.refused`."""
    lines: list[str] = []
    numbers: dict[tuple[int, int], int] = {}
    for edge in edges:
        hop = edge.at, edge.to
        numbers[hop] = numbers.get(hop, 0) + 1
        name = f"{plan.names[edge.at][:24]}-{plan.names[edge.to][:24]}-{numbers[hop]}"
        try:
            lines += ["", *_conditioner(plan, edge, name)]
        except LineRefused as error:
            plan.refused.append(error)
    return lines


def _conditioner(plan: Plan, edge: Edge, name: str) -> list[str]:
    policy = edge.policy
    rows = [
        ("name", toml.text(name), ""),
        ("at", toml.text(plan.names[edge.at]), ""),
        ("from", toml.strings(plan.names[node] for node in sorted(edge.neighbours)), ""),
    ]
    match = _match(plan, edge)
    if match:
        rows.append(("match", match, "source and destination of the policy"))
    green, yellow, red = edge.codes
    if policy.policer == "Dumb":
        marker = f'{{ green = "{green}" }}'
    else:
        kind, keys = _METERS[policy.policer]
        # the window of TSW2CM may be left out
        given = zip(keys, policy.numbers, strict=policy.policer != "TSW2CM")
        values = {key: _quantity(key, value) for key, value in given}
        settings = ", ".join(f"{key} = {value}" for key, value in values.items())
        rows.append(("meter", f'{{ kind = "{kind}", {settings} }}', ""))
        middle = "" if policy.policer in TWO_COLORS else f'yellow = "{yellow}", '
        marker = f'{{ green = "{green}", {middle}red = "{red}" }}'
    rows.append(("marker", marker, "addPolicerEntry"))
    comment = f"# line {policy.line}: addPolicyEntry ... {policy.policer} {policy.code}"
    return [comment, "[[conditioner]]", *toml.table(rows)]


def _quantity(key: str, value: float) -> str:
    if key == "window":
        return toml.time(round(value * 1e9))
    return f'"{value:.0f}B"' if key in _BURSTS else toml.rate(round(value))


def _match(plan: Plan, edge: Edge) -> str:
    """Return a match for the packets of a policy; empty if all that come this way are its."""
    coming = {
        pair
        for pair, way in plan.ways.items()
        for before, at in pairwise(way)
        if at == edge.at and before in edge.neighbours
    }
    sources = {source for source, _ in edge.pairs}
    destinations = {destination for _, destination in edge.pairs}
    if edge.pairs == coming:
        return ""
    for match in ({"src": sources}, {"dst": destinations}, {"src": sources, "dst": destinations}):
        if edge.pairs == {pair for pair in coming if _fits(pair, match)}:
            keys = (f"{key} = {_nodes(plan, nodes)}" for key, nodes in match.items())
            return f"{{ {', '.join(keys)} }}"
    why = "its packets are told from others neither by their sources nor by their destinations"
    raise LineRefused(edge.policy.line, why)


def _fits(pair: Pair, match: dict[str, set[int]]) -> bool:
    return pair[0] in match.get("src", {pair[0]}) and pair[1] in match.get("dst", {pair[1]})


def _nodes(plan: Plan, nodes: Iterable[int]) -> str:
    return toml.strings(plan.names[node] for node in sorted(nodes))
