"""Code points of packets on their way: those that edges give, and those that queues know."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from perhop.import_ns2.plan import Pair, Plan
from perhop.import_ns2.queues import DsRed, Policy
from perhop.import_ns2.remarks import LineRefused, Refused


@dataclass
class Edge:
    """A policy of an edge, and the packets that it is for."""

    queue: DsRed
    at: int
    to: int
    policy: Policy
    codes: tuple[int, int, int]
    pairs: set[Pair] = field(default_factory=set)
    neighbours: set[int] = field(default_factory=set)
    """Where they come from."""


def edges(plan: Plan) -> list[Edge]:
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
                    plan.refused.append(LineRefused(agent.line, str(error)))
    found: dict[tuple[Pair, int], Edge] = {}
    for pair, given in codes.items():
        way = plan.ways[pair]
        for place, hop in enumerate(pairwise(way)):
            queue = plan.script.network.directions[hop].queue
            if isinstance(queue, DsRed):
                try:
                    given = _pass(plan, found, queue, hop, pair, given, way[place - 1] if place else None)
                except LineRefused as error:
                    if str(error) not in {str(one) for one in plan.refused}:
                        plan.refused.append(error)
                    break
    return list(found.values())


def _pass(
    plan: Plan,
    found: dict[tuple[Pair, int], Edge],
    queue: DsRed,
    hop: Pair,
    pair: Pair,
    given: set[int],
    before: int | None,
) -> set[int]:
    """Let packets through a DiffServ queue and return the code points that they then have."""
    names = f"{plan.names[pair[0]]} to {plan.names[pair[1]]}"
    if queue.edge:
        if before is None:
            why = f"an edge at {plan.names[pair[0]]}, which sends itself: conditioners stand at routers"
            raise LineRefused(queue.line, why)
        edge = _edge(found, queue, hop, pair, names)
        edge.pairs.add(pair)
        edge.neighbours.add(before)
        given = set(edge.codes)
    missing = sorted(given - set(queue.marks))
    if missing:
        why = f"packets from {names} come with code point {missing[0]}, for which there is no addPHBEntry"
        raise LineRefused(queue.line, why)
    return given


def _edge(found: dict[tuple[Pair, int], Edge], queue: DsRed, hop: Pair, pair: Pair, names: str) -> Edge:
    for number, policy in enumerate(queue.policies):
        if policy.source in (None, pair[0]) and policy.destination in (None, pair[1]):
            codes = queue.policers.get((policy.policer, policy.code))
            if codes is None:
                why = f"there is no `addPolicerEntry {policy.policer} {policy.code}`"
                raise LineRefused(policy.line, why)
            return found.setdefault((hop, number), Edge(queue, *hop, policy, codes))
    raise LineRefused(
        queue.line, f"no addPolicyEntry is for packets from {names}, where ns-2 ends with an error"
    )
