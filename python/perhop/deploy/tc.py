"""Commands of `tc` that give a Linux router the ports of a scenario, and what they cannot say.

`tc-prio(8)`, `tc-htb(8)`, `tc-drr(8)`, `tc-u32(8)`; queues are in `qdiscs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from perhop.deploy.ports import PACKET, Table, has_a_rate, node_of, octets, rates, selectors
from perhop.deploy.qdiscs import bits, qdisc
from perhop.scenario.scenario import LinkView, Scenario
from perhop.units import quantity

_MOST_BANDS = 16


@dataclass
class Commands:
    """The commands for a port, and what they leave out."""

    to: str
    """The node at the other end of its link."""
    device: str = "$DEV"
    lines: list[str] = field(default_factory=list)
    cannot: list[str] = field(default_factory=list)
    """What is not said, each with what comes nearest."""

    def on(self, device: str) -> Commands:
        """Return the same commands for a device of another name."""
        lines = [line.replace(f" dev {self.device} ", f" dev {device} ", 1) for line in self.lines]
        return replace(self, device=device, lines=lines)


def commands(scenario: Scenario, node: str, shape: float | None = None) -> list[Commands]:
    """Return the commands for the ports of a node that are more than a FIFO with the limit by default."""
    asked = node_of(scenario, node, shape)
    found = [_port(table, link) for link, table in asked.ports]
    for made in found:
        made.cannot += [f"--shape: {why}" for end, why in asked.wandering.items() if end == made.to]
        made.cannot += [
            f"conditioner {one['name']}: no qdisc meters; filters with `police`, or nft, come nearest"
            for one in asked.conditioners
        ]
    return found


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
    if len(classes) == 1 and not has_a_rate(table):
        made.lines.append(f"{command} {parent} {qdisc(first, rate, made.cannot)}")
        return made
    handle = "2:" if shaper else "1:"
    if shaper and table["scheduler"]["kind"] in {"htb", "cbq"}:
        made.cannot.append(
            "rates of classes are those of the whole link: scale them to the rate that it is held to"
        )
    made.lines += _scheduler(table, rate, (command, klass, parent, handle), made.cannot)
    for place, one in enumerate(classes, 1):
        leaf = f"parent {handle}{place:x} handle {handle[0]}{place:x}:"
        made.lines.append(f"{command} {leaf} {qdisc(one['queue'], rate, made.cannot)}")
    made.lines += _filters(classes, f"tc filter add dev {made.device} parent {handle}", handle)
    return made


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


def _scheduler(table: Table, rate: float, where: Where, cannot: list[str]) -> Iterator[str]:
    """Go through the commands for a scheduler and its classes, whose queues come after."""
    command, klass, parent, handle = where
    scheduler, classes = table["scheduler"], table["class"]
    kind, last = scheduler["kind"], len(classes)
    if kind == "strict-priority":
        if last > _MOST_BANDS:
            cannot.append(f"{last} classes in an order: prio has {_MOST_BANDS} bands at most")
        priomap = " ".join([str(last - 1)] * 16)
        yield f"{command} {parent} handle {handle} prio bands {max(2, last)} priomap {priomap}"
    elif kind in ("drr", "wrr", "wfq"):
        if kind != "drr":
            cannot.append(f"scheduler {kind}: no qdisc; drr shares bytes in the same proportion")
        yield f"{command} {parent} handle {handle} drr"
        for place, one in enumerate(classes, 1):
            quantum = octets(one["quantum"]) if "quantum" in one else PACKET * one["weight"]
            yield f"{klass} parent {handle} classid {handle}{place:x} drr quantum {quantum}"
    else:
        cannot += _beside_htb(kind, classes)
        if kind == "htb" and "rate" in scheduler:
            rate = min(rate, quantity(scheduler["rate"])[0])
        burst = f" burst {octets(scheduler['burst'])}" if "burst" in scheduler else ""
        yield f"{command} {parent} handle {handle} htb default {last:x}"
        yield f"{klass} parent {handle} classid {handle}ff htb rate {rate:.0f}bit{burst}"
        of_classes = rates(table, rate)
        for place, one in enumerate(classes, 1):
            own, most = of_classes[one["name"]]
            more = [f"prio {one['priority']}"] if "priority" in one else []
            more += [f"{key} {octets(one[key])}" for key in ("burst", "cburst", "quantum") if key in one]
            line = f"{klass} parent {handle}ff classid {handle}{place:x} htb"
            yield " ".join([line, f"rate {own:.0f}bit ceil {most:.0f}bit", *more])


def _beside_htb(kind: str, classes: list[Table]) -> list[str]:
    """Return what htb does not say of another scheduler."""
    if kind == "htb":
        return []
    if kind != "cbq":
        return [f"scheduler {kind}: no qdisc; htb with a rate for each class comes nearest"]
    settings = ("isolated", "maxidle", "minidle", "offtime", "gain")
    own = [key for key in settings if any(key in one for one in classes)]
    more = f"; {', '.join(own)}: no setting of htb" if own else ""
    return [f"scheduler cbq: Linux has none since 6.3; htb gives each class its share, lends the rest{more}"]


def _filters(classes: list[Table], command: str, handle: str) -> Iterator[str]:
    """Go through the filters in the order of the classes, a priority for each selector and protocol."""
    for priority, (selector, place) in zip(count(2, 2), selectors(classes), strict=False):
        flow = f"flowid {handle}{place:x}"
        both = (
            f"{command} prio {priority - 1} protocol ip u32",
            f"{command} prio {priority} protocol ipv6 u32",
        )
        if selector == "any":
            yield f"{command} prio {priority} protocol all matchall {flow}"
        elif selector == "pure-ack":
            yield from _pure_acks(both, flow)
        else:
            of = f"0x{int(selector) << 2:02x} 0xfc"
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
