"""Policies of edges as conditioners: which packets they are for, and which code points these then have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from perhop.import_ns2 import toml
from perhop.import_ns2.plan import Pair, Plan
from perhop.import_ns2.queues import TWO_COLORS, DsRed, Policy
from perhop.import_ns2.remarks import Refused
from perhop.units import written_rate, written_time

_METERS = {
    "TSW2CM": ("tsw2cm", ("cir", "window")),
    "TSW3CM": ("tsw3cm", ("cir", "pir")),
    "TokenBucket": ("token-bucket", ("cir", "cbs")),
    "srTCM": ("sr-tcm", ("cir", "cbs", "ebs")),
    "trTCM": ("tr-tcm", ("cir", "cbs", "pir", "pbs")),
}
_BURSTS = ("cbs", "ebs", "pbs")


@dataclass
class Edge:
    """A policy of an edge, and the packets that it is for."""

    at: int
    to: int
    policy: Policy
    codes: tuple[int, int, int]
    pairs: set[Pair] = field(default_factory=set)
    neighbours: set[int] = field(default_factory=set)
    """Where they come from."""


def conditioners(plan: Plan) -> list[str]:
    """Return the lines of all conditioners; inseparable ones are noted in `plan.refused`."""
    lines: list[str] = []
    numbers: dict[tuple[int, int], int] = {}
    for edge in _edges(plan):
        hop = edge.at, edge.to
        numbers[hop] = numbers.get(hop, 0) + 1
        name = f"{plan.names[edge.at][:24]}-{plan.names[edge.to][:24]}-{numbers[hop]}"
        try:
            lines += ["", *_conditioner(plan, edge, name)]
        except Refused as error:
            plan.refuse(edge.policy.line, error)
    return lines


def _edges(plan: Plan) -> list[Edge]:
    """Follow all packets; unknown code points are noted in `plan.refused`.

    ns-2 ends with an error where a packet has no policy, and crashes where a code point has no precedence.
    """
    codes: dict[Pair, set[int]] = {}
    for flow in plan.flows:
        for pair, agent in ((flow.ends, flow.sender), (flow.ends[::-1], flow.receiver)):
            if pair in plan.ways:
                try:
                    prio = agent.whole("prio_")
                    if prio > 63 or (prio and agent is flow.receiver):
                        raise Refused("`prio_` is taken of senders, up to 63")
                    codes.setdefault(pair, set()).add(prio)
                except Refused as error:
                    plan.refuse(agent.line, error)
    found: dict[tuple[Pair, int], Edge] = {}
    for pair, given in codes.items():
        way = plan.ways[pair]
        for place, hop in enumerate(pairwise(way)):
            queue = plan.script.network.directions[hop].queue
            if isinstance(queue, DsRed):
                try:
                    given = _pass(plan, found, queue, way[: place + 2], pair, given)
                except Refused as error:
                    if str(error) not in {why for _, why in plan.refused}:
                        plan.refuse(queue.line, error)
                    break
    return list(found.values())


def _pass(
    plan: Plan,
    found: dict[tuple[Pair, int], Edge],
    queue: DsRed,
    way: tuple[int, ...],
    pair: Pair,
    given: set[int],
) -> set[int]:
    """Let packets that came this way through its last queue; return the code points that they then have."""
    names = f"{plan.names[pair[0]]} to {plan.names[pair[1]]}"
    if queue.edge:
        *before, at, to = way
        if not before:
            raise Refused(f"an edge at {plan.names[at]}, which sends itself: conditioners stand at routers")
        number = next((number for number, one in enumerate(queue.policies) if one.is_for(pair)), None)
        if number is None:
            raise Refused(f"no addPolicyEntry is for packets from {names}, where ns-2 ends with an error")
        policy = queue.policies[number]
        codes = queue.policers.get((policy.policer, policy.code))
        if codes is None:
            raise Refused(f"there is no `addPolicerEntry {policy.policer} {policy.code}`", policy.line)
        edge = found.setdefault(((at, to), number), Edge(at, to, policy, codes))
        edge.pairs.add(pair)
        edge.neighbours.add(before[-1])
        given = set(codes)
    if missing := sorted(given - set(queue.marks)):
        come = f"packets from {names} come with code point {missing[0]}"
        raise Refused(f"{come}, for which there is no addPHBEntry")
    return given


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
    raise Refused("its packets are told from others neither by their sources nor by their destinations")


def _fits(pair: Pair, match: dict[str, set[int]]) -> bool:
    return pair[0] in match.get("src", {pair[0]}) and pair[1] in match.get("dst", {pair[1]})


def _nodes(plan: Plan, nodes: Iterable[int]) -> str | list[str]:
    names = [plan.names[node] for node in sorted(nodes)]
    return names[0] if len(names) == 1 else names
