"""Facts of a scenario for closed forms: ways, losses, sharers of a link, a sender's settings."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.scenario.scenario import ConditionerView, FlowView, LinkView, PortView, Scenario, UdpView
from perhop.units import quantity

HELD = ("reno", "cubic", "dctcp")
"""Congestion controls that laws of TCP were held to."""


@dataclass(frozen=True)
class Flow:
    """A TCP flow on its way.

    Attributes
    ----------
    settings
        Its table in the resolved file, with `tcp` and `ack`.
    there, back
        Links of data and of ACKs in the order they are crossed; empty where several ways are equally short.
    """

    view: FlowView
    settings: dict[str, Any]
    there: tuple[LinkView, ...]
    back: tuple[LinkView, ...]


@dataclass(frozen=True)
class Udp:
    """A UDP flow on its way; attributes as of `Flow`, `settings` with `pattern`, nothing back."""

    view: UdpView
    settings: dict[str, Any]
    there: tuple[LinkView, ...]
    back: tuple[LinkView, ...] = ()


class Network:
    """A scenario with its flows on their ways.

    Raises
    ------
    ScenarioError
        It has mistakes.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.described = scenario.describe()
        self._resolved = tomllib.loads(scenario.resolve())
        self._from: dict[str, list[LinkView]] = {}
        for link in self.described.links:
            self._from.setdefault(link.source, []).append(link)
        self._ways: dict[str, dict[str, list[LinkView]]] = {}
        self._hosts = {node.name for node in self.described.nodes if node.kind == "host"}
        self.flows = [
            Flow(
                one,
                self._table("flow", one.name),
                self.way(one.source, one.target),
                self.way(one.target, one.source),
            )
            for one in self.described.flows
        ]
        self.udp = [
            Udp(one, self._table("udp", one.name), self.way(one.source, one.target))
            for one in self.described.udp
        ]
        self._users: dict[str, list[Flow | Udp]] = {}
        every: list[Flow | Udp] = [*self.flows, *self.udp]
        for stream in every:
            for link in (*stream.there, *stream.back):
                self._users.setdefault(link.name, []).append(stream)

    def _table(self, kind: str, name: str) -> dict[str, Any]:
        base = name.partition("[")[0]
        table: dict[str, Any] = next(one for one in self._resolved[kind] if one["name"] == base)
        return table

    def way(self, source: str, target: str) -> tuple[LinkView, ...]:
        """Return the links from a host to another by the fewest hops; none where two ways have as few."""
        first = self._from.get(source, [])
        if len(first) == 1 and first[0].target not in self._hosts:
            # hosts at one router share its search
            rest = self.way(first[0].target, target)
            return (first[0], *rest) if rest else ()
        if source not in self._ways:
            self._ways[source] = self._search(source)
        links: list[LinkView] = []
        at = target
        while at != source:
            before = self._ways[source].get(at, [])
            if len(before) != 1:
                return ()
            links.append(before[0])
            at = before[0].source
        return tuple(reversed(links))

    def _search(self, source: str) -> dict[str, list[LinkView]]:
        """Return the last links of the shortest ways to every node; hosts pass nothing on."""
        hops, ahead = {source: 0}, deque([source])
        arriving: dict[str, list[LinkView]] = {}
        while ahead:
            at = ahead.popleft()
            if at != source and at in self._hosts:
                continue
            for link in self._from.get(at, []):
                if link.target not in hops:
                    hops[link.target] = hops[at] + 1
                    arriving[link.target] = [link]
                    ahead.append(link.target)
                elif hops[link.target] == hops[at] + 1:
                    arriving[link.target].append(link)
        return arriving

    @property
    def packet_bytes(self) -> float:
        """Return a bucket's packet in bytes; NaN where the file gives none, and needs none."""
        size = self._resolved["run"].get("packet_size")
        return float("nan") if size is None else quantity(size)[0]

    def users(self, link: LinkView) -> Sequence[Flow | Udp]:
        """Return the flows that send data or ACKs over a link."""
        return self._users.get(link.name, [])

    def sharing(self, flow: Flow) -> str:
        """Return the other flows on a flow's most shared link; empty if it shares none."""
        busiest = max((self.users(link) for link in (*flow.there, *flow.back)), key=len)
        if len(busiest) == 1:
            return ""
        if len(busiest) == 2:
            return next(one.view.name for one in busiest if one is not flow)
        return f"{len(busiest) - 1} other flows"

    def loss(self, link: LinkView) -> float | None:
        """Return the probability of a loss at random; None where packets are chosen or lost in bursts."""
        for entry in self._resolved["link"]:
            ends = entry["ends"]
            for one, other in (ends, ends[::-1]):
                if is_member(link.source, one) and is_member(link.target, other):
                    if entry.get("drop") or entry.get("mark") or link.burst_loss:
                        return None
                    loss = entry.get("loss", 0.0)
                    return float(loss.get(f"{one}->{other}", 0.0) if isinstance(loss, dict) else loss)
        return None

    def losses(self, links: Sequence[LinkView]) -> float | None:
        """Return the probability of a loss on one of several links; None where that is not known."""
        kept = 1.0
        for link in links:
            loss = self.loss(link)
            if loss is None:
                return None
            kept *= 1.0 - loss
        return 1.0 - kept

    def ports(self, port: PortView) -> list[dict[str, Any]]:
        """Return the tables of the resolved file that may be of a port: those with its classes and queues."""
        own = [(one.name, one.queue) for one in port.classes]
        return [
            table
            for table in self._resolved.get("port", [])
            if [(one["name"], one["queue"]["kind"]) for one in table["class"]] == own
        ]

    def conditioners(self, links: Sequence[LinkView]) -> list[tuple[ConditionerView, dict[str, Any]]]:
        """Return the conditioners on a way and their tables in the resolved file."""
        tables = {one["name"]: one for one in self._resolved.get("conditioner", [])}
        met = []
        for link in links:
            for one in self.described.conditioners:
                if one.at == link.target and {link.source, link.name} & set(one.source):
                    name = one.path.removeprefix("conditioner.").partition("[")[0]
                    met.append((one, tables[name]))
        return met


def acks_for(flow: Flow) -> int:
    """Return how many segments an ACK is for."""
    policy = flow.settings.get("ack", {}).get("policy")
    if policy is None:
        policy = "delayed" if quantity(flow.settings["tcp"]["ack_delay"])[0] > 0.0 else "every-segment"
    return 2 if policy == "delayed" else 1


def other_tcp(flow: Flow) -> str:
    """Return why no law of TCP was held to a flow's sender or receiver; empty where they are perhop's own."""
    if "control" in flow.settings or "control" in flow.settings.get("ack", {}):
        return "its congestion control, or its ACK policy, is a program"
    control = str(flow.settings["tcp"]["cc"])
    if control.startswith("kernel:"):
        return f"its congestion control is a kernel's ({control})"
    return "" if control in HELD else f"its congestion control is {control}, which no law was held to"


def is_member(node: str, selector: str) -> bool:
    """Return whether ``s[3]`` is one of ``s[*]``, ``s[0..5]`` or ``s[3]``."""
    base, _, index = selector.partition("[")
    own, _, number = node.partition("[")
    if not index or not number or own != base:
        return node == selector
    if index == "*]":
        return True
    first, _, end = index.rstrip("]").partition("..")
    at = int(number.rstrip("]"))
    return int(first) <= at < int(end) if end else at == int(first)
