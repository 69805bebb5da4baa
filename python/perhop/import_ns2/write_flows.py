"""Senders as flows: TCP with a profile for each set of settings, and UDP."""

from __future__ import annotations

from perhop.import_ns2 import toml
from perhop.import_ns2.plan import Flow, Plan
from perhop.import_ns2.quantities import nanoseconds, number, rate
from perhop.import_ns2.remarks import Refused
from perhop.import_ns2.things import Application
from perhop.units import written_rate, written_time

RECOVERY = {
    "Agent/TCP": "tahoe",
    "Agent/TCP/Reno": "reno",
    "Agent/TCP/Newreno": "newreno",
    "Agent/TCP/Sack1": "sack-1996",
}
"""ns-2's agents and perhop's recoveries."""
TIMESTAMPS_BYTES = 10
"""What ns-2 adds to data with `useHeaders_` and `timestamps_`, but not to ACKs."""
OPTION_BYTES = 12
"""What perhop adds to each segment with `timestamps`."""
HEADER_BYTES = 40


def flows(plan: Plan) -> list[str]:
    """Return the lines of profiles and flows; what is lacking is noted in `plan.refused`."""
    profiles: dict[tuple[str, ...], str] = {}
    lines: list[str] = []
    ports: dict[tuple[int, int], int] = {}
    for flow in plan.flows:
        port = ports[flow.ends] = ports.get(flow.ends, 49151) + 1
        try:
            lines += ["", *(_tcp(plan, flow, profiles, port) if flow.tcp else _udp(plan, flow, port))]
        except Refused as error:
            plan.refuse(flow.sender.line, error)
    made = [
        line
        for body, name in profiles.items()
        for line in ("", "[[profile]]", f'name = "{name}"', 'base = "ns235"', *body)
    ]
    return made + lines


def _ends(plan: Plan, flow: Flow, port: int) -> list[toml.Row]:
    start = flow.start
    rows: list[toml.Row] = [
        ("name", flow.name, ""),
        ("from", plan.names[flow.ends[0]], ""),
        ("to", plan.names[flow.ends[1]], ""),
        ("start", written_time(start.at_ns), f"line {start.line}"),
    ]
    if start.spread_ns:
        rows.append(("start_jitter", written_time(start.spread_ns), f"line {start.line}: uniform"))
    if port > 49152:
        rows.append(("ports", [port, 5001], "another flow has these hosts"))
    if number(flow.sender.value("prio_")):
        rows.append(toml.row(flow.sender, "mark", "prio_", str(flow.sender.whole("prio_"))))
    return rows


def _tcp(plan: Plan, flow: Flow, profiles: dict[tuple[str, ...], str], port: int) -> list[str]:
    body = tuple(_profile(flow))
    recovery = RECOVERY[flow.sender.kind]
    if body not in profiles:
        same = sum(name.startswith(f"ns2-{recovery}") for name in profiles.values())
        profiles[body] = f"ns2-{recovery}-{same + 1}" if same else f"ns2-{recovery}"
    size = {"size": f"{flow.start.packets}p"} if flow.start.packets else {}
    rows = [*_ends(plan, flow, port), ("tcp", {"profile": profiles[body]} | size, "")]
    receiver = flow.receiver
    if receiver.kind.endswith("/DelAck"):
        delayed = {"policy": "delayed", "timeout": receiver.time("interval_")}
        rows.append(toml.row(receiver, "ack", "interval_", delayed))
    return [toml.source(flow.sender.line, flow.sender.text), "[[flow]]", *toml.table(rows)]


def _sizes(flow: Flow) -> tuple[int, int]:
    """Return payload and header: with perhop's timestamps, data and ACKs are as long as in ns-2."""
    sender = flow.sender
    packet = sender.whole("packetSize_", least=1)
    wire = packet
    stamps = sender.truth("timestamps_")
    if sender.truth("useHeaders_"):
        wire += HEADER_BYTES + (TIMESTAMPS_BYTES if stamps else 0)
    ack = flow.receiver.whole("packetSize_", least=1)
    options = OPTION_BYTES if stamps else 0
    if wire <= ack:
        raise Refused(f"packets of {wire} bytes are no longer than their ACKs of {ack}")
    if ack <= options:
        raise Refused(f"ACKs of {ack} bytes have no room for timestamps")
    return wire - ack, ack - options


def _check(flow: Flow) -> None:
    sender, receiver = flow.sender, flow.receiver
    if not receiver.kind.startswith("Agent/TCPSink"):
        raise Refused(f"TCP is connected to {receiver.kind}", sender.link_line)
    if ("/Sack1" in sender.kind) != ("/Sack1" in receiver.kind):
        raise Refused(
            f"{sender.kind} with {receiver.kind}: perhop has both ends with SACK or none", sender.link_line
        )
    if sender.truth("syn_") and not sender.truth("delay_growth_"):
        raise Refused("`delay_growth_ false` with `syn_ true`: in perhop data waits for the handshake")


def _profile(flow: Flow) -> list[str]:
    _check(flow)
    sender, receiver = flow.sender, flow.receiver
    payload, header = _sizes(flow)
    window = sender.whole("window_", least=1)
    initial = sender.whole("windowInit_", least=1)
    options = OPTION_BYTES if sender.truth("timestamps_") else 0
    behind = f" less {OPTION_BYTES} of timestamps" if options else ""
    wire = f"packetSize_ {sender.value('packetSize_')}, useHeaders_ {sender.value('useHeaders_')}"
    halving = "fractional" if sender.truth("precisionReduce_") else "integer"
    rows: list[toml.Row] = [
        ("recovery", RECOVERY[sender.kind], sender.kind),
        ("mss", f"{payload}B", f"{payload + header + options} bytes on the wire: {wire}"),
        toml.row(receiver, "header", "packetSize_", f"{header}B", f"length of an ACK{behind}; "),
        toml.row(sender, "window", "window_", f"{window * payload}B", f"{window} packets; "),
        toml.row(sender, "initial_window", "windowInit_", initial),
        toml.row(sender, "handshake", "syn_", sender.truth("syn_")),
        toml.row(sender, "limited_transmit", "singledup_", sender.truth("singledup_")),
        toml.row(sender, "halving", "precisionReduce_", halving),
        toml.row(sender, "guard", "bugFix_", "careful" if sender.truth("bugFix_") else "off"),
        toml.row(sender, "timestamps", "timestamps_", sender.truth("timestamps_")),
        ("ecn", False, "ns-2.35's default: ecn_ 0"),
        toml.row(sender, "clock_tick", "tcpTick_", sender.time("tcpTick_")),
        ("clock_phase", "random", "ns-2 draws it too"),
        toml.row(sender, "initial_rto", "rtxcur_init_", sender.time("rtxcur_init_")),
        toml.row(sender, "min_rto", "minrto_", sender.time("minrto_")),
        toml.row(sender, "max_rto", "maxrto_", sender.time("maxrto_")),
    ]
    if "/Sack1" in sender.kind:
        rows.append(toml.row(receiver, "sack_blocks", "maxSackBlocks_", receiver.whole("maxSackBlocks_")))
    return toml.table(rows)


def _udp(plan: Plan, flow: Flow, port: int) -> list[str]:
    source = flow.sender.source
    if source is None or source.kind == "Application/FTP":
        raise Refused("UDP without CBR or Exponential")
    if flow.receiver.kind not in ("Agent/Null", "Agent/LossMonitor"):
        raise Refused(f"UDP is connected to {flow.receiver.kind}", flow.sender.link_line)
    size = source.whole("packetSize_", least=1)
    if size > flow.sender.whole("packetSize_", least=1):
        why = f"`Agent/UDP` cuts packets of {size} bytes to its own `packetSize_`"
        raise Refused(why, source.line)
    bit_s, comment = _rate(source)
    rows = [
        *_ends(plan, flow, port),
        ("rate", written_rate(bit_s), comment),
        toml.row(source, "packet_size", "packetSize_", f"{size}B"),
    ]
    if source.kind.endswith("/Exponential"):
        pattern = {"kind": "on-off", "on": source.time("burst_time_"), "off": source.time("idle_time_")}
        why = "burst_time_, idle_time_; ns-2 rounds bursts to whole packets, at least one"
        rows.append(("pattern", pattern, why))
    return [toml.source(flow.sender.line, flow.sender.text), "[[udp]]", *toml.table(rows)]


def _rate(source: Application) -> tuple[int, str]:
    get = source.settings
    interval = get.get("interval_")
    if interval is None or interval.line is None or (get["rate_"].line or 0) > interval.line:
        return rate(get["rate_"].value), toml.origin("rate_", get["rate_"])
    gap = nanoseconds(interval.value) / 1e9
    if gap <= 0:
        raise Refused("`interval_` is not above zero")
    bits = 8 * source.real("packetSize_")
    return round(bits / gap), f"{toml.origin('interval_', interval)} of a packet"
