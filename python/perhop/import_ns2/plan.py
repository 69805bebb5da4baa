"""The network in perhop's terms: names, hosts and routers, flows and their ways."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from perhop.import_ns2.remarks import Refused
from perhop.import_ns2.script import Script
from perhop.import_ns2.things import Agent, Start, Thing

Pair = tuple[int, int]


@dataclass
class Flow:
    """A sender that is started, with its receiver."""

    name: str
    sender: Agent
    receiver: Agent
    start: Start
    ends: Pair

    @property
    def tcp(self) -> bool:
        """Whether it is TCP."""
        return self.sender.kind.startswith("Agent/TCP")


@dataclass
class Plan:
    """The scenario, before it is text."""

    script: Script
    names: list[str]
    """Of nodes, by number."""
    flows: list[Flow] = field(default_factory=list)
    ways: dict[Pair, tuple[int, ...]] = field(default_factory=dict)
    """Nodes that packets from one node to another pass, both included."""
    routers: frozenset[int] = frozenset()
    refused: list[tuple[int, str]] = field(default_factory=list)
    """Lines and why; 0 where no line is meant."""
    idle: list[tuple[Agent, str]] = field(default_factory=list)
    """Agents that never send, and why they are left out."""

    def refuse(self, line: int, why: str | Refused) -> None:
        """Refuse a line, or the one that is known already."""
        known = why.line if isinstance(why, Refused) else 0
        self.refused.append((known or line, str(why)))

    def follow(self, line: int, why: str) -> None:
        """Refuse a line that only follows from refused lines, unless there are some."""
        if not self.script.refused:
            self.refuse(line, why)


def plan(script: Script) -> Plan:
    """Give names, roles and ways; parts that perhop cannot take are noted in `refused`."""
    nodes = script.network.nodes
    made = Plan(script, _unique(nodes, "n"))
    _links(made)
    _flows(made)
    neighbours: dict[int, list[int]] = {node.number: [] for node in nodes}
    for one, other in script.network.directions:
        neighbours[one].append(other)
    for flow in made.flows:
        for pair in (flow.ends, flow.ends[::-1]) if flow.tcp else (flow.ends,):
            if pair not in made.ways:
                try:
                    made.ways[pair] = _way(neighbours, pair, made.names)
                except ValueError as error:
                    made.follow(flow.sender.link_line, str(error))
    _roles(made, neighbours)
    return made


def _unique(things: Sequence[Thing], otherwise: str) -> list[str]:
    """Give each thing a name of its own; of several of a loop the second has `_2` behind it."""
    seen: dict[str, int] = {}
    names: list[str] = []
    taken = {thing.name for thing in things}
    for place, thing in enumerate(things):
        name = thing.name if thing.name[:1].isalpha() else f"{otherwise}{thing.name or place}"
        while name in seen:
            seen[name] += 1
            following = f"{name}_{seen[name]}"
            name = following if following not in taken or following in seen else f"{following}_"
        seen[name] = 1
        names.append(name)
    return names


def _links(made: Plan) -> None:
    for (one, other), direction in made.script.network.directions.items():
        if (other, one) not in made.script.network.directions:
            back = f"{made.names[other]} to {made.names[one]}"
            why = f"there is no link back from {back}: perhop's links go both ways"
            made.refuse(direction.line, why)


def _flows(made: Plan) -> None:
    script = made.script
    senders = script.network.senders
    for agent in script.started:
        if agent.start and not agent.peer:
            made.follow(agent.start.line, "what it starts is connected to no receiver that is taken")
    for agent, name in zip(senders, _unique(senders, "f"), strict=True):
        found, receiver = agent.start, agent.peer
        if receiver is None or agent.node is None or receiver.node is None:
            continue
        if found is None:
            made.idle.append((agent, "it is never started"))
        elif found.at_ns >= script.end_ns:
            made.idle.append((agent, "it starts when the run has ended"))
        elif agent.node is receiver.node:
            made.refuse(agent.link_line, "both ends are at one node")
        else:
            ends = agent.node.number, receiver.node.number
            made.flows.append(Flow(name, agent, receiver, found, ends))
    if not made.flows:
        made.follow(0, "nothing sends: no flow is left")


def _way(neighbours: dict[int, list[int]], pair: Pair, names: list[str]) -> tuple[int, ...]:
    """Return the shortest way; there must be one, and only one."""
    begin, end = pair
    hops, ways, before = {begin: 0}, {begin: 1}, {begin: begin}
    waiting = deque([begin])
    while waiting:
        node = waiting.popleft()
        for following in neighbours[node]:
            if following not in hops:
                hops[following], ways[following], before[following] = hops[node] + 1, 0, node
                waiting.append(following)
            if hops[following] == hops[node] + 1:
                ways[following] += ways[node]
    if end not in hops:
        raise ValueError(f"there is no way from {names[begin]} to {names[end]}")
    if ways[end] > 1:
        raise ValueError(
            f"there are {ways[end]} shortest ways from {names[begin]} to {names[end]}, "
            "and nothing says that perhop chooses the one that ns-2 does"
        )
    way = [end]
    while way[-1] != begin:
        way.append(before[way[-1]])
    return tuple(reversed(way))


def _roles(made: Plan, neighbours: dict[int, list[int]]) -> None:
    """Separate routers from hosts; a host of perhop passes nothing on."""
    between = {node for way in made.ways.values() for node in way[1:-1]}
    hosts = {node for flow in made.flows for node in flow.ends}
    for node in sorted(between & hosts):
        why = "it has agents and forwards packets, which hosts do not: give its agents a node of their own"
        made.refuse(made.script.network.nodes[node].line, why)
    several = {node for node, others in neighbours.items() if len(others) > 1}
    made.routers = frozenset((between | several) - hosts)
