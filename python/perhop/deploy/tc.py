"""Commands of `tc` that give a Linux router the queues of a scenario's ports, and what they cannot say.

Each is what comes nearest: `tc-codel(8)`, `tc-fq_codel(8)`, `tc-pie(8)`, `tc-red(8)`, `tc-cake(8)`,
`tc-prio(8)`, `tc-htb(8)`, `tc-drr(8)`, `tc-u32(8)`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perhop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from perhop.scenario.scenario import LinkView, Scenario

Table = dict[str, Any]

PACKET = 1500
"""Bytes of a packet where one side counts packets and the other bytes."""

_DSCP = {"BE": 0, "EF": 46, "VA": 44, "LE": 1}
_PURE_ACK = (
    "match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33"
)
"""TCP without IP options, shorter than 64 bytes, with ACK as its only flag."""


@dataclass
class Commands:
    """The commands for a port, and what they leave out.

    Parameters
    ----------
    to
        The node at the other end of its link.
    lines
        Commands in order.
    cannot
        What no qdisc says, each with the nearest that there is.
    """

    to: str
    lines: list[str] = field(default_factory=list)
    cannot: list[str] = field(default_factory=list)


def commands(
    scenario: Scenario, node: str, devices: Mapping[str, str], shape: float | None = None
) -> list[Commands]:
    """Return the commands for the ports of a node that are more than a FIFO with the limit by default.

    Parameters
    ----------
    devices
        The device of each link, by the node at its other end; of one that is not there it is ``$DEV``.
    shape
        The part of its link's rate that a port without a shaper is held to; None for devices as slow as that.
    """
    tables: list[Table] = tomllib.loads(scenario.resolve())["port"]
    found = []
    for link in scenario.describe().links:
        if link.source != node:
            continue
        table = next(one for one in tables if is_of(one, link))
        if not _is_plain(table):
            if shape is not None:
                table = {"shaper": {"rate": f"{link.rate_bit_s * shape:.0f}bit/s"}} | table
            found.append(_port(table, link, devices.get(link.target, "$DEV")))
    return found


def is_of(table: Table, link: LinkView) -> bool:
    """Return whether a port in the resolved file is that of a link."""
    if "between" in table:
        return {link.source, link.target} == set(table["between"])
    return bool((table["at"], table["to"]) == (link.source, link.target))


def _is_plain(table: Table) -> bool:
    (first, *others) = table["class"]
    return not others and "shaper" not in table and first["queue"] == {"kind": "fifo", "limit": "1000p"}


def _port(table: Table, link: LinkView, device: str) -> Commands:
    made = Commands(link.target)
    qdisc, klass = f"tc qdisc replace dev {device}", f"tc class replace dev {device}"
    shaper, parent = table.get("shaper"), "root"
    first = table["class"][0]["queue"]
    if shaper and len(table["class"]) == 1 and first["kind"] == "cake" and "rate" not in first:
        # CAKE shapes by itself
        first, shaper = _with_rate(first, shaper), None
    if shaper:
        made.lines += [
            f"{qdisc} root handle 1: htb default 1",
            f"{klass} parent 1: classid 1:1 htb {_shaped(shaper)}",
        ]
        parent = "parent 1:1"
    rate = quantity(shaper["rate"])[0] if shaper else link.rate_bit_s
    if len(table["class"]) == 1:
        made.lines.append(f"{qdisc} {parent} {_queue(first, rate, made)}")
        return made
    handle = "2:" if shaper else "1:"
    kind = table["scheduler"]["kind"]
    classes = _SCHEDULERS.get(kind)
    if classes is None:
        made.cannot.append(f"scheduler {kind}: no qdisc; htb with a rate for each class comes nearest")
        classes = _SCHEDULERS["cbq"]
    made.lines += classes(table, rate, (qdisc, klass, parent, handle), made)
    for place, one in enumerate(table["class"], 1):
        leaf = f"parent {handle}{place:x} handle {10 * int(handle[0]) + place}:"
        made.lines.append(f"{qdisc} {leaf} {_queue(one['queue'], rate, made)}")
    made.lines += _filters(table["class"], f"tc filter add dev {device} parent {handle}", handle, made)
    return made


def _with_rate(cake: Table, shaper: Table) -> Table:
    return cake | {key: shaper[key] for key in ("rate", "overhead", "mpu") if key in shaper}


def _shaped(shaper: Table) -> str:
    parts = [f"rate {_rate(shaper['rate'])} ceil {_rate(shaper['rate'])}"]
    parts += [f"burst {_bytes(shaper['burst'])}"] if "burst" in shaper else []
    parts += [
        f"{key} {_bytes(shaper[key])}" for key in ("overhead", "mpu") if quantity(shaper.get(key, "0B"))[0]
    ]
    return " ".join(parts)


Where = tuple[str, str, str, str]
"""Both commands, the parent and the handle of the qdisc that has the classes."""


def _prio(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del rate, made
    qdisc, _, parent, handle = where
    bands = len(table["class"])
    last = " ".join([str(bands - 1)] * 16)
    yield f"{qdisc} {parent} handle {handle} prio bands {max(2, bands)} priomap {last}"


def _htb(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del made

    def rates(one: Table) -> tuple[str, str]:
        return str(one["rate"]), str(one.get("ceil", one["rate"]))

    yield from _htb_classes(table, where, rate, rates)


def _cbq(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    if table["scheduler"]["kind"] == "cbq":
        made.cannot.append(
            "scheduler cbq: Linux has none since 6.3; htb gives each class its share and lends the rest"
        )
    shares = {one["name"]: float(one.get("share", 1 / len(table["class"]))) for one in table["class"]}
    bounded = {one["name"] for one in table["class"] if one.get("bounded")}

    def rates(one: Table) -> tuple[str, str]:
        own = f"{shares[one['name']] * rate:.0f}bit/s"
        return own, own if one["name"] in bounded else f"{rate:.0f}bit/s"

    yield from _htb_classes(table, where, rate, rates)


def _htb_classes(
    table: Table, where: Where, rate: float, rates: Callable[[Table], tuple[str, str]]
) -> Iterator[str]:
    qdisc, klass, parent, handle = where
    last = len(table["class"])
    yield f"{qdisc} {parent} handle {handle} htb default {last:x}"
    yield f"{klass} parent {handle} classid {handle}ff htb rate {rate:.0f}bit"
    for place, one in enumerate(table["class"], 1):
        own, most = map(_rate, rates(one))
        more = [f"prio {one['priority']}"] if "priority" in one else []
        more += [f"{key} {_bytes(one[key])}" for key in ("burst", "cburst") if key in one]
        line = f"{klass} parent {handle}ff classid {handle}{place:x} htb rate {own} ceil {most}"
        yield " ".join([line, *more])


def _drr(table: Table, rate: float, where: Where, made: Commands) -> Iterator[str]:
    del rate
    qdisc, klass, parent, handle = where
    kind = table["scheduler"]["kind"]
    if kind != "drr":
        made.cannot.append(f"scheduler {kind}: no qdisc; drr shares bytes in the same proportion")
    yield f"{qdisc} {parent} handle {handle} drr"
    for place, one in enumerate(table["class"], 1):
        quantum = _bytes(one["quantum"]) if "quantum" in one else PACKET * one["weight"]
        yield f"{klass} parent {handle} classid {handle}{place:x} drr quantum {quantum}"


_SCHEDULERS: dict[str, Callable[[Table, float, Where, Commands], Iterator[str]]] = {
    "strict-priority": _prio,
    "htb": _htb,
    "cbq": _cbq,
    "drr": _drr,
    "wrr": _drr,
    "wfq": _drr,
}


def _filters(classes: list[Table], command: str, handle: str, made: Commands) -> Iterator[str]:
    """Go through the filters, a priority for each selector and protocol in the order of the classes."""
    priority = 0
    for place, one in enumerate(classes, 1):
        flow = f"flowid {handle}{place:x}"
        for word in one["match"]:
            priority += 2
            if word == "any":
                yield f"{command} prio {priority} protocol all matchall {flow}"
            elif word == "pure-ack":
                yield f"{command} prio {priority} protocol ip u32 {_PURE_ACK} {flow}"
                made.cannot.append(
                    f"{one['name']}: ACKs with three SACK blocks or more, and those of IPv6, are not matched"
                )
            elif word == "data":
                made.cannot.append(
                    f"{one['name']}: `data` is what no filter before it takes: put the class last"
                )
                yield f"{command} prio {priority} protocol all matchall {flow}"
            else:
                field = f"0x{dscp(word) << 2:02x} 0xfc"
                yield f"{command} prio {priority - 1} protocol ip u32 match ip dsfield {field} {flow}"
                yield f"{command} prio {priority} protocol ipv6 u32 match ip6 priority {field} {flow}"


def dscp(mark: str) -> int:
    """Return the code point of a mark's name (RFC 2474, 2597, 3246, 5865, 8622)."""
    if mark in _DSCP:
        return _DSCP[mark]
    if mark.startswith("CS"):
        return 8 * int(mark[2:])
    if mark.startswith("AF"):
        return 8 * int(mark[2]) + 2 * int(mark[3])
    return int(mark)


def _queue(queue: Table, rate: float, made: Commands) -> str:
    """Return the qdisc that comes nearest to a queue."""
    kind = queue["kind"]
    make = _QUEUES.get(kind)
    if make is None:
        made.cannot.append(f"queue {kind}: no qdisc; fq_codel by its defaults comes nearest")
        return "fq_codel"
    return make(queue, rate, made)


def _fifo(queue: Table, rate: float, made: Commands) -> str:
    del rate
    _no_filter(queue, "fifo", made)
    amount, unit = quantity(queue["limit"])
    return f"{'pfifo' if unit == 'p' else 'bfifo'} limit {amount:.0f}"


def _codel(queue: Table, rate: float, made: Commands) -> str:
    del rate
    _no_filter(queue, "codel", made)
    return f"codel {_packets(queue)} {_times(queue, 'target', 'interval')} {_ecn(queue)}"


def _pie(queue: Table, rate: float, made: Commands) -> str:
    del rate, made
    return f"pie {_packets(queue)} {_times(queue, 'target', 'tupdate')} {_ecn(queue)}"


def _red(queue: Table, rate: float, made: Commands) -> str:
    low, high, limit = (_bytes(queue[key]) for key in ("min_th", "max_th", "limit"))
    burst = max(1, round((2 * low + high) / (3 * PACKET)))
    made.cannot.append("queue red: `w_q` follows from avpkt and burst, and max_th is a limit (no `gentle`)")
    ecn = " ecn" if queue.get("ecn") else ""
    return (
        f"red limit {limit} min {low} max {high} avpkt {PACKET} burst {burst} "
        f"probability {queue['max_p']:g} bandwidth {rate:.0f}bit{ecn}"
    )


def _fq(queue: Table, rate: float, made: Commands) -> str:
    del rate
    inner = queue["queue"]
    _no_filter(inner, "fq_codel", made)
    flows = f"flows {queue['queues']} quantum {_bytes(queue['quantum'])}"
    if inner["kind"] == "pie":
        return f"fq_pie {_packets(queue)} {flows} {_times(inner, 'target', 'tupdate')} {_ecn(inner)}"
    if inner["kind"] != "codel":
        made.cannot.append(f"queue fq with {inner['kind']}: fq_codel comes nearest")
        return f"fq_codel {_packets(queue)} {flows}"
    times = _times(inner, "target", "interval")
    return f"fq_codel {_packets(queue)} {flows} {times} drop_batch {queue['drop_batch']} {_ecn(inner)}"


def _cake(queue: Table, rate: float, made: Commands) -> str:
    del rate, made
    shaped = f"bandwidth {_rate(queue['rate'])}" if "rate" in queue else "unlimited"
    filters = {"conservative": "ack-filter", "aggressive": "ack-filter-aggressive"}
    acks = filters.get(queue.get("ack_filter", "off"), "no-ack-filter")
    size = f"overhead {_bytes(queue['overhead'])} mpu {_bytes(queue['mpu'])}"
    most = f"memlimit {_bytes(queue['limit'])}"
    return (
        f"cake {shaped} {queue['tins']} {queue['isolation']} rtt {_time(queue['rtt'])} {acks} {size} {most}"
    )


def _dualpi2(queue: Table, rate: float, made: Commands) -> str:
    del rate, made
    return f"dualpi2 {_packets(queue)} target {_time(queue['target'])} coupling_factor {queue['coupling']:g}"


_QUEUES: dict[str, Callable[[Table, float, Commands], str]] = {
    "fifo": _fifo,
    "codel": _codel,
    "pie": _pie,
    "red": _red,
    "fq": _fq,
    "cake": _cake,
    "dualpi2": _dualpi2,
}


def _no_filter(queue: Table, kind: str, made: Commands) -> None:
    if queue.get("ack_filter", "off") != "off":
        made.cannot.append(f"ack_filter: {kind} has none; cake has")


def _packets(queue: Table) -> str:
    amount, unit = quantity(queue["limit"])
    return f"limit {max(1, round(amount / (1 if unit == 'p' else PACKET)))}"


def _bytes(size: str) -> int:
    amount, unit = quantity(size)
    return round(amount * (PACKET if unit == "p" else 1))


def _rate(rate: str) -> str:
    return f"{quantity(rate)[0]:.0f}bit"


def _times(queue: Table, *names: str) -> str:
    own = {"tupdate": "t_update"}
    return " ".join(f"{name} {_time(queue[own.get(name, name)])}" for name in names)


def _time(time: str) -> str:
    return f"{quantity(time)[0] * 1e6:.0f}us"


def _ecn(queue: Table) -> str:
    return "ecn" if queue.get("ecn") else "noecn"
