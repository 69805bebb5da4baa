"""Commands of `tc` that give a Linux router the ports of a scenario, and what they cannot say.

`tc-prio(8)`, `tc-htb(8)`, `tc-drr(8)`, `tc-u32(8)`; queues are in `qdiscs`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perhop.deploy.marks import number
from perhop.deploy.qdiscs import PACKET, Table, bits, octets, qdisc
from perhop.models.network import is_member
from perhop.units import quantity

if TYPE_CHECKING:
    from perhop.scenario.scenario import LinkView, Scenario

_MOST_BANDS = 16


@dataclass
class Commands:
    """The commands for a port, and what they leave out.

    Parameters
    ----------
    to
        The node at the other end of its link.
    device
        The name of its device.
    lines
        Commands in order.
    cannot
        What is not said, each with what comes nearest.
    """

    to: str
    device: str = "$DEV"
    lines: list[str] = field(default_factory=list)
    cannot: list[str] = field(default_factory=list)

    def on(self, device: str) -> Commands:
        """Return the same commands for a device of another name."""
        lines = [line.replace(f" dev {self.device} ", f" dev {device} ", 1) for line in self.lines]
        return replace(self, device=device, lines=lines)


def commands(scenario: Scenario, node: str, shape: float | None = None) -> list[Commands]:
    """Return the commands for the ports of a node that are more than a FIFO with the limit by default.

    Parameters
    ----------
    shape
        The part of its link's rate that a port without a rate of its own is held to; None for devices as slow
        as their links.
    """
    resolved = tomllib.loads(scenario.resolve())
    links = [link for link in scenario.describe().links if link.source == node]
    own = [(link, table) for link in links if (table := port_of(resolved["port"], link)) is not None]
    chosen = [(link, table) for link, table in own if not _is_plain(table)]
    if shape is not None and own and not chosen:
        # a FIFO before the slowest link can be held as well
        chosen = [min(own, key=lambda one: one[0].rate_bit_s)]
    conditioners = [one["name"] for one in resolved.get("conditioner", []) if is_member(node, one["at"])]
    found = []
    for link, table in chosen:
        held = {} if shape is None else {"shaper": {"rate": f"{link.rate_bit_s * shape:.0f}bit/s"}}
        made = _port(held | table, link)
        made.cannot += [
            f"conditioner {name}: no qdisc meters; filters with `police`, or nft, come nearest"
            for name in conditioners
        ]
        found.append(made)
    return found


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
    plain = not others and "shaper" not in table and not _has_a_rate(table)
    return plain and first["queue"] == {"kind": "fifo", "limit": "1000p"}


def _has_a_rate(table: Table) -> bool:
    """Return whether the only class of a port is held to less than its link."""
    (first, *others) = table["class"]
    return not others and ("rate" in first or bool(first.get("bounded")))


def _port(table: Table, link: LinkView) -> Commands:
    made = Commands(link.target)
    command, klass = f"tc qdisc replace dev {made.device}", f"tc class replace dev {made.device}"
    shaper, parent = table.get("shaper"), "root"
    classes: list[Table] = table["class"]
    first = classes[0]["queue"]
    if shaper and len(classes) == 1 and first["kind"] == "cake":
        # CAKE shapes by itself
        first, shaper = _with_rate(first, shaper), None
    if shaper:
        made.lines += [
            f"{command} root handle 1: htb default 1",
            f"{klass} parent 1: classid 1:1 htb {_shaped(shaper)}",
        ]
        parent = "parent 1:1"
    rate = min(link.rate_bit_s, quantity(shaper["rate"])[0] if shaper else link.rate_bit_s)
    if len(classes) == 1 and not _has_a_rate(table):
        made.lines.append(f"{command} {parent} {_queue(first, rate, made)}")
        return made
    handle = "2:" if shaper else "1:"
    if shaper and table["scheduler"]["kind"] in {"htb", "cbq"}:
        made.cannot.append(
            "rates of classes are those of the whole link: scale them to the rate that it is held to"
        )
    kind = table["scheduler"]["kind"]
    scheduler = _SCHEDULERS.get(kind)
    if scheduler is None:
        made.cannot.append(f"scheduler {kind}: no qdisc; htb with a rate for each class comes nearest")
        scheduler = _cbq
    made.lines += scheduler(table, rate, (command, klass, parent, handle), made)
    for place, one in enumerate(classes, 1):
        leaf = f"parent {handle}{place:x} handle {handle[0]}{place:x}:"
        made.lines.append(f"{command} {leaf} {_queue(one['queue'], rate, made)}")
    made.lines += _filters(classes, f"tc filter add dev {made.device} parent {handle}", handle)
    return made


def _queue(queue: Table, rate: float, made: Commands) -> str:
    text, cannot = qdisc(queue, rate)
    made.cannot += cannot
    return text


def _with_rate(cake: Table, shaper: Table) -> Table:
    given = {key: shaper[key] for key in ("rate", "overhead", "mpu") if key in shaper}
    if "rate" in cake and quantity(cake["rate"])[0] < quantity(shaper["rate"])[0]:
        del given["rate"]
    return cake | given


def _shaped(shaper: Table) -> str:
    parts = [f"rate {bits(shaper['rate'])} ceil {bits(shaper['rate'])}"]
    parts += [f"burst {octets(shaper['burst'])}"] if "burst" in shaper else []
    parts += [f"{key} {octets(shaper[key])}" for key in ("overhead", "mpu") if octets(shaper.get(key, "0B"))]
    return " ".join(parts)


Where = tuple[str, str, str, str]
"""Both commands, the parent and the handle of the qdisc that has the classes."""


def _prio(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del rate
    command, _, parent, handle = where
    bands = len(table["class"])
    if bands > _MOST_BANDS:
        made.cannot.append(f"{bands} classes in an order: prio has {_MOST_BANDS} bands at most")
    last = " ".join([str(bands - 1)] * 16)
    yield f"{command} {parent} handle {handle} prio bands {max(2, bands)} priomap {last}"


def _htb(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del made

    def rates(one: Table) -> tuple[str, str]:
        return str(one["rate"]), str(one.get("ceil", one["rate"]))

    scheduler = table["scheduler"]
    if "rate" in scheduler:
        rate = min(rate, quantity(scheduler["rate"])[0])
    yield from _htb_classes(table, where, rate, rates)


def _cbq(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    scheduler = table["scheduler"]
    if scheduler["kind"] == "cbq":
        own = [
            key
            for key in ("isolated", "maxidle", "minidle", "offtime", "gain")
            if any(key in one for one in table["class"])
        ]
        more = f"; {', '.join(own)}: no setting of htb" if own else ""
        made.cannot.append(
            f"scheduler cbq: Linux has none since 6.3; htb gives each class its share, lends the rest{more}"
        )
    shares = {one["name"]: float(one.get("share", 1 / len(table["class"]))) for one in table["class"]}
    if "data" in scheduler:
        shares = {
            name: scheduler["share"] if name == scheduler["data"] else 1 - scheduler["share"]
            for name in shares
        }
    bounded = {one["name"] for one in table["class"] if one.get("bounded")}

    def rates(one: Table) -> tuple[str, str]:
        own = f"{shares[one['name']] * rate:.0f}bit/s"
        return own, own if one["name"] in bounded else f"{rate:.0f}bit/s"

    yield from _htb_classes(table, where, rate, rates)


def _htb_classes(
    table: Table, where: Where, rate: float, rates: Callable[[Table], tuple[str, str]]
) -> Iterator[str]:
    command, klass, parent, handle = where
    last = len(table["class"])
    burst = f" burst {octets(table['scheduler']['burst'])}" if "burst" in table["scheduler"] else ""
    yield f"{command} {parent} handle {handle} htb default {last:x}"
    yield f"{klass} parent {handle} classid {handle}ff htb rate {rate:.0f}bit{burst}"
    for place, one in enumerate(table["class"], 1):
        own, most = map(bits, rates(one))
        more = [f"prio {one['priority']}"] if "priority" in one else []
        more += [f"{key} {octets(one[key])}" for key in ("burst", "cburst", "quantum") if key in one]
        line = f"{klass} parent {handle}ff classid {handle}{place:x} htb rate {own} ceil {most}"
        yield " ".join([line, *more])


def _drr(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del rate
    command, klass, parent, handle = where
    kind = table["scheduler"]["kind"]
    if kind != "drr":
        made.cannot.append(f"scheduler {kind}: no qdisc; drr shares bytes in the same proportion")
    yield f"{command} {parent} handle {handle} drr"
    for place, one in enumerate(table["class"], 1):
        quantum = octets(one["quantum"]) if "quantum" in one else PACKET * one["weight"]
        yield f"{klass} parent {handle} classid {handle}{place:x} drr quantum {quantum}"


_SCHEDULERS: dict[str, Callable[[Table, float, Where, Commands], Iterator[str]]] = {
    "strict-priority": _prio,
    "htb": _htb,
    "cbq": _cbq,
    "drr": _drr,
    "wrr": _drr,
    "wfq": _drr,
}


def _filters(classes: list[Table], command: str, handle: str) -> Iterator[str]:
    """Go through the filters in the order of the classes, a priority for each selector and protocol."""
    priority = 0
    for place, one in enumerate(classes, 1):
        flow = f"flowid {handle}{place:x}"
        for word in one["match"]:
            priority += 2
            both = (
                f"{command} prio {priority - 1} protocol ip u32",
                f"{command} prio {priority} protocol ipv6 u32",
            )
            if word == "any":
                yield f"{command} prio {priority} protocol all matchall {flow}"
            elif word == "pure-ack":
                yield from _pure_acks(both, flow)
            elif word == "data":
                # all else, once the ACKs are where a later class takes them
                later = next(
                    (
                        k
                        for k, other in enumerate(classes, 1)
                        if k > place and {"any", "pure-ack"} & set(other["match"])
                    ),
                    None,
                )
                if later is not None:
                    yield from _pure_acks(both, f"flowid {handle}{later:x}")
                priority += 1
                yield f"{command} prio {priority} protocol all matchall {flow}"
                priority += 1
            else:
                of = f"0x{number(word) << 2:02x} 0xfc"
                yield f"{both[0]} match ip dsfield {of} {flow}"
                yield f"{both[1]} match ip6 priority {of} {flow}"


def _pure_acks(both: tuple[str, str], flow: str) -> Iterator[str]:
    """Go through the filters of ACKs without data: those whose TCP header is all that the packet has.

    IPv4 without options, IPv6 without extension headers; of the flags ACK alone, ECE and CWR left out.
    """
    for words in range(5, 16):
        size = 4 * words
        yield (
            f"{both[0]} match u8 0x05 0x0f at 0 match u16 {20 + size} 0xffff at 2 match ip protocol 6 0xff "
            f"match u8 0x{words:x}0 0xf0 at 32 match u8 0x10 0x3f at 33 {flow}"
        )
        yield (
            f"{both[1]} match u16 {size} 0xffff at 4 match u8 0x06 0xff at 6 "
            f"match u8 0x{words:x}0 0xf0 at 52 match u8 0x10 0x3f at 53 {flow}"
        )
