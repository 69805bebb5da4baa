"""The scenario as text: the port between two hosts, and a flow for each class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perhop.import_ns2 import Imported, toml
from perhop.import_ns2.remarks import Refused, Remark, listed, shown
from perhop.import_tc.filters import ALL, named, selectors
from perhop.import_tc.port import Class, Port
from perhop.import_tc.queues import Table
from perhop.import_tc.reading import ROOT, Part, Reader
from perhop.units import written_rate, written_time

_USUAL_RATE = 100_000_000
_NETWORK = """
[run]
duration = "30s"
warmup = "10s"

[[node]]
name = "near"

[[node]]
name = "router"
kind = "router"

[[node]]
name = "far"

[[link]]
ends = ["near", "router"]
rate = "{near}"

[[link]]  # tc knows neither: --rate, --round-trip
ends = ["router", "far"]
rate = "{rate}"
delay = "{delay}"
"""


def imported(
    text: str, name: str, device: str | None = None, rate_bit_s: int = 0, round_trip_ns: int = 30_000_000
) -> Imported:
    """Make a scenario of the queues of a device, or name all that is refused; nothing is executed.

    `text` has commands of `tc`, or what it shows. The link behind the device has by default (0) twice the
    rate that it is held to, or 100 Mbit/s; a round trip is with nothing waiting. LookupError names the
    devices of the input where `device` is none of them.
    """
    read = Reader(text)
    devices = sorted({one.device for one in read.parts} - {""})
    if device is not None and devices and device not in devices:
        raise LookupError(", ".join(devices))
    if read.refused:
        return Imported("", read.refused.sorted(), read.left_out.sorted())
    try:
        root = _root(read.parts, device)
    except Refused as error:
        return Imported("", (Remark(0, "", str(error)),), read.left_out.sorted())
    port = Port(root, [one for one in read.parts if one.device in ("", root.device)], read.left_out)
    for part in read.parts:
        if part not in port.parts:
            read.left_out.add(*part.remark("it is of another device"))
    try:
        port.check()
        port.take(root)
        port.leave_rest()
        body = list(_port(port))
    except Refused as error:
        return Imported("", (port.at.remark(str(error)),), read.left_out.sorted())
    left_out = read.left_out.sorted()
    rate = rate_bit_s or 2 * port.rate_bit_s or _USUAL_RATE
    network = _NETWORK.format(
        near=written_rate(10 * rate), rate=written_rate(rate), delay=written_time(round_trip_ns // 2)
    )
    flows = _flows(port, port.rate_bit_s or rate, rate * round_trip_ns // 8_000_000_000)
    return Imported("\n".join([*_head(name, left_out), network, *body, *flows]) + "\n", (), left_out)


def _root(parts: list[Part], device: str | None) -> Part:
    roots = [one for one in parts if one.what == "qdisc" and one.parent == ROOT and one.kind != "noqueue"]
    found = [one for one in roots if device is None or one.device in ("", device)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.device for one in roots)
    if found:
        raise Refused(f"queues of several devices: --device takes one of {names}")
    bare = any(one.kind == "noqueue" and device in (None, one.device) for one in parts)
    others = f": there are those of {names}" if names else ": noqueue has no queue" if bare else ""
    raise Refused(f"no qdisc stands at the root{f' of {device}' if device is not None else ''}{others}")


def _head(name: str, left_out: tuple[Remark, ...]) -> Iterator[str]:
    yield f"# Made by `perhop import tc` from {shown(name)}. A comment says which line a part is from;"
    yield "# docs/import-tc.md says what differs."
    yield from listed(left_out, "Left out")


def _port(port: Port) -> Iterator[str]:
    ends = {"at": "router", "to": "far"}
    yield from (*_sources(port.sources), "[[port]]", *_table(ends | port.settings))
    rest = set(ALL)
    for one in port.classes:
        match = selectors(one.takes, rest)
        rest -= one.takes
        yield from ("", *_sources(one.sources), "[[port.class]]")
        yield from _table({"name": _name(port, one), "match": match} | one.settings)


def _flows(port: Port, rate_bit_s: int, in_flight: int) -> Iterator[str]:
    """Go through a flow for each class: TCP, or less than the link takes where all else would starve."""
    starves = port.settings.get("scheduler", {}).get("kind") == "strict-priority"
    constant = {"rate": written_rate(max(1, rate_bit_s // (2 * len(port.classes)))), "packet_size": "1000B"}
    greedy: Table = {"count": 2, "start_jitter": "1s", "tcp": {"profile": "linux"}}
    # what comes back fills its link, not the queue of its host: the class has its ACKs
    back = greedy | {"tcp": {"profile": "linux", "window": f"{max(in_flight, 65536)}B"}}
    for one in port.classes:
        marks = sorted(mark for mark, ack in one.takes if not ack)
        ends = {"name": _name(port, one), "class": _name(port, one)}
        if not marks:
            yield from ("", "[[flow]]", *_table(ends | {"from": "far", "to": "near"} | back))
            continue
        ends |= {"from": "near", "to": "far", "mark": named(marks[0])}
        is_constant = starves and one is not port.classes[-1]
        yield from ("", "[[udp]]" if is_constant else "[[flow]]")
        yield from _table(ends | (constant if is_constant else greedy))


def _name(port: Port, one: Class) -> str:
    return "all" if "scheduler" not in port.settings else f"{one.ident[0]:x}-{one.ident[1]:x}"


def _sources(parts: Iterable[Part]) -> list[str]:
    return [toml.source(part.line, part.text) for part in parts]


def _table(table: Table) -> list[str]:
    return toml.table((key, value, "") for key, value in table.items())
