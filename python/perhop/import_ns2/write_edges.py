"""Policies of edges as conditioners."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from perhop.import_ns2 import toml
from perhop.import_ns2.marking import Edge
from perhop.import_ns2.plan import Pair, Plan
from perhop.import_ns2.queues import TWO_COLORS
from perhop.import_ns2.remarks import LineRefused
from perhop.units import written_rate, written_time

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
    rows: list[toml.Row] = [
        ("name", name, ""),
        ("at", plan.names[edge.at], ""),
        ("from", _nodes(plan, edge.neighbours), ""),
    ]
    if match := _match(plan, edge):
        rows.append(("match", match, "source and destination of the policy"))
    green, yellow, red = edge.codes
    marker = {"green": str(green)}
    if policy.policer != "Dumb":
        kind, keys = _METERS[policy.policer]
        # the window of TSW2CM may be left out
        given = zip(keys, policy.numbers, strict=policy.policer != "TSW2CM")
        rows.append(("meter", {"kind": kind} | {key: _quantity(key, value) for key, value in given}, ""))
        marker |= {} if policy.policer in TWO_COLORS else {"yellow": str(yellow)}
        marker |= {"red": str(red)}
    rows.append(("marker", marker, "addPolicerEntry"))
    comment = f"# line {policy.line}: addPolicyEntry ... {policy.policer} {policy.code}"
    return [comment, "[[conditioner]]", *toml.table(rows)]


def _quantity(key: str, value: float) -> str:
    if key == "window":
        return written_time(round(value * 1e9))
    return f"{value:.0f}B" if key in _BURSTS else written_rate(round(value))


def _match(plan: Plan, edge: Edge) -> dict[str, str | list[str]]:
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
        return {}
    for match in ({"src": sources}, {"dst": destinations}, {"src": sources, "dst": destinations}):
        if edge.pairs == {pair for pair in coming if _fits(pair, match)}:
            return {key: _nodes(plan, nodes) for key, nodes in match.items()}
    why = "its packets are told from others neither by their sources nor by their destinations"
    raise LineRefused(edge.policy.line, why)


def _fits(pair: Pair, match: dict[str, set[int]]) -> bool:
    return pair[0] in match.get("src", {pair[0]}) and pair[1] in match.get("dst", {pair[1]})


def _nodes(plan: Plan, nodes: Iterable[int]) -> str | list[str]:
    return toml.one_or_list(plan.names[node] for node in sorted(nodes))
