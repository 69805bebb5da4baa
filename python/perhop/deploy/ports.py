"""The ports of a node as a scenario asks for them: tables, rates of classes, packets of classes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from perhop.deploy.marks import number
from perhop.models.network import is_member
from perhop.scenario.scenario import LinkView, Scenario
from perhop.units import bit_rate, quantity

Table = dict[str, Any]

PACKET = 1500
"""Bytes of a packet where one side counts packets and the other bytes."""


@dataclass
class Node:
    """The settings of a node."""

    neighbours: list[str]
    """The nodes that its links lead to."""
    ports: list[tuple[LinkView, Table]]
    """The ports that are more than a FIFO with the limit by default, each with its link."""
    conditioners: list[Table]
    """As the resolved file has them."""
    packet: int
    """`run.packet_size` in bytes, or else `PACKET`."""
    wandering: dict[str, str]
    """By the other end of a link: why a share of its rate is nothing to hold its port to."""


def node_of(scenario: Scenario, node: str, shape: float | None = None) -> Node:
    """Return what there is to set at a node.

    A port without a rate of its own is held to the part `shape` of its link's; None is for devices as slow as
    their links.
    """
    resolved = tomllib.loads(scenario.resolve())
    links = [link for link in scenario.describe().links if link.source == node]
    own = _ports(resolved, links)
    chosen = [(link, table) for link, table in own if not _is_plain(table)]
    if shape is not None and own and not chosen:
        # a FIFO before the slowest link can be held as well
        chosen = [min(own, key=lambda one: one[0].rate_bit_s)]
    wandering = {}
    if shape is not None:
        wandering = {
            link.target: why
            for link, table in chosen
            if "shaper" not in table and "rate" not in table["class"][0]["queue"]
            for why in wanders(link)
        }
        chosen = [
            (link, {"shaper": {"rate": f"{link.rate_bit_s * shape:.0f}bit/s"}} | table)
            for link, table in chosen
        ]
    return Node(
        [link.target for link in links],
        chosen,
        [one for one in resolved.get("conditioner", []) if is_member(node, one["at"])],
        octets(resolved["run"].get("packet_size", f"{PACKET}B")),
        wandering,
    )


def nodes_to_set(scenario: Scenario, shape: float | None = None) -> list[str]:
    """Return the nodes of which `node_of` has ports."""
    own = _ports(tomllib.loads(scenario.resolve()), scenario.describe().links)
    return [link.source for link, table in own if shape is not None or not _is_plain(table)]


def _ports(resolved: Table, links: Iterable[LinkView]) -> list[tuple[LinkView, Table]]:
    """Return the links that have a port of their own, each with it."""
    found = [(link, port_of(resolved["port"], link)) for link in links]
    return [(link, table) for link, table in found if table is not None]


def wanders(link: LinkView) -> list[str]:
    """Return why a share of its rate is nothing to hold a port to, of a link whose rate follows a trace."""
    if link.trace is None:
        return []
    mean = bit_rate(link.rate_bit_s)
    return [
        f"the rate follows {link.trace}, and a share is of its mean, {mean}: while the link is slower, "
        "the queue is in front of it and not here. Give the port a `shaper` with a rate that the link nearly "
        "always has; on OpenWrt cake-autorate follows such a link"
    ]


def port_of(tables: list[Table], link: LinkView) -> Table | None:
    """Return the port of a link in a resolved file; None where it has none of its own."""
    for one in tables:
        ends = one.get("between") or (one["at"], one["to"])
        orders = (ends, ends[::-1]) if "between" in one else (ends,)
        if any(is_member(link.source, at) and is_member(link.target, to) for at, to in orders):
            return one
    return None


def _is_plain(table: Table) -> bool:
    (first, *others) = table["class"]
    plain = not others and "shaper" not in table and not has_a_rate(table)
    return plain and first["queue"] == {"kind": "fifo", "limit": "1000p"}


def has_a_rate(table: Table) -> bool:
    """Return whether the only class of a port is held to less than its link."""
    (first, *others) = table["class"]
    return not others and ("rate" in first or bool(first.get("bounded")))


def rates(table: Table, rate_bit_s: float) -> dict[str, tuple[float, float]]:
    """Return the rate that each class of a port has for itself, and the most that it gets, in bit/s.

    Of a scheduler without rates and shares, each has the same.
    """
    scheduler, classes = table["scheduler"], table["class"]
    found = {}
    for one in classes:
        if "rate" in one:
            found[one["name"]] = (quantity(one["rate"])[0], quantity(one.get("ceil", one["rate"]))[0])
            continue
        share = float(one.get("share", 1 / len(classes)))
        if "data" in scheduler:
            share = scheduler["share"] if one["name"] == scheduler["data"] else 1 - scheduler["share"]
        own = share * rate_bit_s
        found[one["name"]] = (own, own if one.get("bounded") else rate_bit_s)
    return found


def selectors(classes: list[Table]) -> Iterator[tuple[int | str, int]]:
    """Go through what selects packets, in order, with the place of the class from 1: the first that fits.

    A selector is a code point, ``pure-ack`` or ``any``.
    """
    for place, one in enumerate(classes, 1):
        for word in one["match"]:
            if word == "data":
                # all else, once the ACKs are where a later class takes them
                for later, other in enumerate(classes[place:], place + 1):
                    if {"any", "pure-ack"} & set(other["match"]):
                        yield "pure-ack", later
                        break
                yield "any", place
            else:
                yield word if word in {"any", "pure-ack"} else number(word), place


def octets(size: str, packet: int = PACKET) -> int:
    """Return a size in bytes, of packets that have so many."""
    amount, unit = quantity(size)
    return round(amount * (packet if unit == "p" else 1))


def several(wanted: Any) -> list[Any]:
    """Return what a setting lists, or the one that it names."""
    return wanted if isinstance(wanted, list) else [wanted]
