"""The mark of the ACKs of a scenario, host by host, and fields that separate its flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from perhop.deploy.marks import Marking, marking
from perhop.deploy.ports import several
from perhop.models.network import Flow, Network, is_member
from perhop.scenario.scenario import ConditionerView, Scenario

Addresses = dict[str, "IPv4Address | IPv6Address"]


@dataclass(frozen=True, order=True)
class Selector:
    """Connections by the receiver's port and, where it is known, the sender's address."""

    port: int
    address: IPv4Address | IPv6Address | None = None

    def nft(self) -> str:
        """Return how nftables selects their ACKs."""
        family = "ip" if isinstance(self.address, IPv4Address) else "ip6"
        return f"tcp sport {self.port}" + (f" {family} daddr {self.address}" if self.address else "")

    def __str__(self) -> str:
        return f"port {self.port}" + (f", sender {self.address}" if self.address else "")


@dataclass
class Host:
    """A receiving host, or a router that ACKs pass: its flows and the marks of their ACKs."""

    name: str
    is_router: bool = False
    flows: dict[str, Marking] = field(default_factory=dict)
    selectors: dict[str, Selector] = field(default_factory=dict)
    cannot: list[str] = field(default_factory=list)

    def add(self, flow: Flow, addresses: Addresses, chosen: Mapping[str, Any]) -> None:
        """Note a flow with the mark of its ACKs and what tells it apart."""
        view = flow.view
        self.flows[view.name] = marking(chosen, view.class_)
        self.selectors[view.name] = Selector(flow.settings["ports"][1], addresses.get(view.source))

    def rules(self) -> dict[Marking, list[Selector]]:
        """Return each marking with its connections; a single one is for all of a receiver's."""
        several = self.is_router or len(set(self.flows.values())) > 1
        found: dict[Marking, list[Selector]] = {}
        for flow, asked in self.flows.items():
            mine = found.setdefault(asked, [])
            if several and self.selectors[flow] not in mine:
                mine.append(self.selectors[flow])
        return found

    def alike(self) -> list[str]:
        """Describe flows with different marks that cannot be separated; without an address it is any."""
        by_port: dict[int, list[str]] = {}
        for flow in self.flows:
            by_port.setdefault(self.selectors[flow].port, []).append(flow)
        told: dict[str, None] = {}
        for flows in by_port.values():
            known: dict[Any, str] = {}
            for flow in sorted(flows, key=lambda one: self.selectors[one].address is not None):
                one = self.selectors[flow]
                other = known.get(one.address, known.get(None))
                known.setdefault(one.address, flow)
                if other is not None and self.flows[other] != self.flows[flow]:
                    pair = [f"{group(each)} ({self.flows[each]})" for each in (other, flow)]
                    why = f"{self.name} cannot tell them apart, both may be {one}"
                    told[f"{' and '.join(pair)}: {why}"] = None
        return list(told)


def group(name: str) -> str:
    """Return the name that the members of a group share: `web` of `web[3]`."""
    return name.partition("[")[0]


def marking_hosts(scenario: Scenario, addresses: Addresses, only: Sequence[str] = ()) -> dict[str, Host]:
    """Return the receiving hosts with the marks of their ACKs, or why none can be given.

    An edge that marks ACKs overrules the host, and of several the last on the way. Addresses are of senders,
    as far as known; `only` names flows, `web` every member of `web`, none are all.
    """
    network, hosts = Network(scenario), dict[str, Host]()
    edges = network.described.conditioners
    for flow in _among(network, only):
        host = hosts.setdefault(flow.view.target, Host(flow.view.target))
        try:
            host.add(flow, addresses, _marked(network, flow, edges) or flow.settings["ack"]["marking"])
        except LookupError as error:
            host.cannot.append(f"{flow.view.name}: {error.args[0]}")
    return hosts


def passing(scenario: Scenario, node: str, addresses: Addresses, only: Sequence[str] = ()) -> Host:
    """Return a router as the place that marks the ACKs passing it, by its own conditioners."""
    network, router = Network(scenario), Host(node, is_router=True)
    edges = [one for one in network.described.conditioners if one.at == node]
    for flow in _among(network, only):
        try:
            chosen = _marked(network, flow, edges)
        except LookupError as error:
            router.cannot.append(f"{flow.view.name}: {error.args[0]}")
            continue
        if chosen is not None:
            router.add(flow, addresses, chosen)
    return router


def _among(network: Network, only: Sequence[str]) -> Iterator[Flow]:
    """Go through the flows that are meant."""
    for flow in network.flows:
        if not only or flow.view.name in only or group(flow.view.name) in only:
            yield flow


def _marked(network: Network, flow: Flow, edges: Sequence[ConditionerView]) -> Mapping[str, Any] | None:
    """Return how the last of some conditioners that its ACKs pass marks them; None where none does.

    LookupError says why that cannot be told.
    """
    views = [one for one in edges if one.ack_marking]
    if views and not flow.back:
        raise LookupError("there are two ways as short for its ACKs, which may pass different edges")
    written = {one["name"]: one for one in network.described.settings.conditioner}
    chosen = None
    for link in flow.back:
        for view in views:
            edge = written[group(view.path.removeprefix("conditioner."))]
            if link.name in view.source and _matches(edge, flow):
                chosen = edge["ack_marking"]
    return chosen


def _matches(edge: Mapping[str, Any], flow: Flow) -> bool:
    """Return whether a conditioner takes the ACKs of a flow."""
    view, ports = flow.view, flow.settings["ports"]
    known: dict[str, Callable[[Any], bool]] = {
        "src": lambda wanted: _named(wanted, view.target),
        "dst": lambda wanted: _named(wanted, view.source),
        "src_port": lambda wanted: several(wanted)[0] <= ports[1] <= several(wanted)[-1],
        "protocol": lambda wanted: wanted == "tcp",
        "flow": lambda wanted: _named(wanted, view.name),
        "class": lambda wanted: view.class_ in several(wanted),
        "direction": lambda wanted: wanted == "reverse",
        "kind": lambda wanted: wanted == "pure-ack",
    }
    for key, wanted in edge["match"].items():
        if key not in known:
            raise LookupError(
                f"conditioner.{edge['name']} takes ACKs by `{key}`, which their host does not know"
            )
        if not known[key](wanted):
            return False
    return True


def _named(wanted: Any, name: str) -> bool:
    """Return whether a name like `s[1]` is meant by one of `s`, `s[*]`, `s[1]`, `s[0..2]`."""
    return any(one == group(name) or is_member(name, one) for one in several(wanted))
