"""Senders as flows: TCP with a profile for each set of settings, and UDP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perhop.import_ns2 import toml
from perhop.import_ns2.quantities import nanoseconds, number, rate, real, truth, whole
from perhop.import_ns2.remarks import LineRefused, Refused

if TYPE_CHECKING:
    from perhop.import_ns2.plan import Flow, Plan
    from perhop.import_ns2.things import Application

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
        except LineRefused as error:
            plan.refused.append(error)
        except Refused as error:
            plan.refused.append(LineRefused(flow.sender.line, str(error)))
    made = [
        line
        for body, name in profiles.items()
        for line in ("", "[[profile]]", f'name = "{name}"', 'base = "ns235"', *body)
    ]
    return made + lines


def _ends(plan: Plan, flow: Flow, port: int) -> list[tuple[str, str, str]]:
    start = flow.start
    rows = [
        ("name", toml.text(flow.name), ""),
        ("from", toml.text(plan.names[flow.ends[0]]), ""),
        ("to", toml.text(plan.names[flow.ends[1]]), ""),
        ("start", toml.time(start.at_ns), f"line {start.line}"),
    ]
    if start.spread_ns:
        rows.append(("start_jitter", toml.time(start.spread_ns), f"line {start.line}: uniform"))
    if port > 49152:
        rows.append(("ports", f"[{port}, 5001]", "another flow has these hosts"))
    prio = flow.sender.settings["prio_"]
    if number(prio.value):
        rows.append(("mark", toml.text(str(whole(prio.value, "prio_"))), toml.origin("prio_", prio)))
    return rows


def _comment(flow: Flow) -> str:
    return toml.source(flow.sender.line, flow.sender.text)


def _tcp(plan: Plan, flow: Flow, profiles: dict[tuple[str, ...], str], port: int) -> list[str]:
    body = tuple(_profile(flow))
    recovery = RECOVERY[flow.sender.kind]
    if body not in profiles:
        same = sum(name.startswith(f"ns2-{recovery}") for name in profiles.values())
        profiles[body] = f"ns2-{recovery}-{same + 1}" if same else f"ns2-{recovery}"
    size = f', size = "{flow.start.packets}p"' if flow.start.packets else ""
    rows = [*_ends(plan, flow, port), ("tcp", f'{{ profile = "{profiles[body]}"{size} }}', "")]
    receiver = flow.receiver
    if receiver.kind.endswith("/DelAck"):
        longest = toml.time(nanoseconds(receiver.value("interval_")))
        why = toml.origin("interval_", receiver.settings["interval_"])
        rows.append(("ack", f'{{ policy = "delayed", timeout = {longest} }}', why))
    return [_comment(flow), "[[flow]]", *toml.table(rows)]


def _sizes(flow: Flow) -> tuple[int, int]:
    """Return payload and header: with perhop's timestamps, data and ACKs are as long as in ns-2."""
    sender = flow.sender
    packet = whole(sender.value("packetSize_"), "packetSize_", least=1)
    wire = packet
    stamps = truth(sender.value("timestamps_"), "timestamps_")
    if truth(sender.value("useHeaders_"), "useHeaders_"):
        wire += HEADER_BYTES + (TIMESTAMPS_BYTES if stamps else 0)
    ack = whole(flow.receiver.value("packetSize_"), "packetSize_", least=1)
    options = OPTION_BYTES if stamps else 0
    if wire <= ack:
        raise Refused(f"packets of {wire} bytes are no longer than their ACKs of {ack}")
    if ack <= options:
        raise Refused(f"ACKs of {ack} bytes have no room for timestamps")
    return wire - ack, ack - options


def _check(flow: Flow) -> None:
    sender, receiver = flow.sender, flow.receiver
    if not receiver.kind.startswith("Agent/TCPSink"):
        raise LineRefused(sender.link_line, f"TCP is connected to {receiver.kind}")
    if ("/Sack1" in sender.kind) != ("/Sack1" in receiver.kind):
        raise LineRefused(
            sender.link_line, f"{sender.kind} with {receiver.kind}: perhop has both ends with SACK or none"
        )
    if truth(sender.value("syn_"), "syn_") and not truth(sender.value("delay_growth_"), "delay_growth_"):
        raise Refused("`delay_growth_ false` with `syn_ true`: in perhop data waits for the handshake")


def _profile(flow: Flow) -> list[str]:
    _check(flow)
    sender, get = flow.sender, flow.sender.settings
    payload, header = _sizes(flow)
    window = whole(sender.value("window_"), "window_", least=1)

    def flag(name: str, key: str, *words: str) -> tuple[str, str, str]:
        holds = truth(sender.value(name), name)
        value = toml.text(words[0] if holds else words[1]) if words else toml.truth(holds)
        return key, value, toml.origin(name, get[name])

    def seconds(name: str, key: str) -> tuple[str, str, str]:
        return key, toml.time(nanoseconds(sender.value(name))), toml.origin(name, get[name])

    initial = str(whole(sender.value("windowInit_"), "windowInit_", least=1))
    options = OPTION_BYTES if truth(sender.value("timestamps_"), "timestamps_") else 0
    behind = f" less {OPTION_BYTES} of timestamps" if options else ""
    wire = f"packetSize_ {sender.value('packetSize_')}, useHeaders_ {sender.value('useHeaders_')}"
    rows = [
        ("recovery", toml.text(RECOVERY[sender.kind]), sender.kind),
        ("mss", f'"{payload}B"', f"{payload + header + options} bytes on the wire: {wire}"),
        (
            "header",
            f'"{header}B"',
            f"length of an ACK{behind}; {toml.origin('packetSize_', flow.receiver.settings['packetSize_'])}",
        ),
        ("window", f'"{window * payload}B"', f"{window} packets; {toml.origin('window_', get['window_'])}"),
        ("initial_window", initial, toml.origin("windowInit_", get["windowInit_"])),
        flag("syn_", "handshake"),
        flag("singledup_", "limited_transmit"),
        flag("precisionReduce_", "halving", "fractional", "integer"),
        flag("bugFix_", "guard", "careful", "off"),
        flag("timestamps_", "timestamps"),
        ("ecn", "false", "ns-2.35's default: ecn_ 0"),
        seconds("tcpTick_", "clock_tick"),
        ("clock_phase", '"random"', "ns-2 draws it too"),
        seconds("rtxcur_init_", "initial_rto"),
        seconds("minrto_", "min_rto"),
        seconds("maxrto_", "max_rto"),
    ]
    if "/Sack1" in sender.kind:
        blocks = flow.receiver.settings["maxSackBlocks_"]
        rows.append(
            ("sack_blocks", str(whole(blocks.value, "maxSackBlocks_")), toml.origin("maxSackBlocks_", blocks))
        )
    return toml.table(rows)


def _udp(plan: Plan, flow: Flow, port: int) -> list[str]:
    source = flow.source
    if source is None or source.kind == "Application/FTP":
        raise Refused("UDP without CBR or Exponential")
    if flow.receiver.kind not in ("Agent/Null", "Agent/LossMonitor"):
        raise LineRefused(flow.sender.link_line, f"UDP is connected to {flow.receiver.kind}")
    get = source.settings
    size = whole(source.value("packetSize_"), "packetSize_", least=1)
    if size > whole(flow.sender.value("packetSize_"), "packetSize_", least=1):
        why = f"`Agent/UDP` cuts packets of {size} bytes to its own `packetSize_`"
        raise LineRefused(source.line, why)
    bit_s, comment = _rate(source)
    rows = [
        *_ends(plan, flow, port),
        ("rate", toml.rate(bit_s), comment),
        ("packet_size", f'"{size}B"', toml.origin("packetSize_", get["packetSize_"])),
    ]
    if source.kind.endswith("/Exponential"):
        on, off = (toml.time(nanoseconds(source.value(name))) for name in ("burst_time_", "idle_time_"))
        why = "burst_time_, idle_time_; ns-2 rounds bursts to whole packets, at least one"
        rows.append(("pattern", f'{{ kind = "on-off", on = {on}, off = {off} }}', why))
    return [_comment(flow), "[[udp]]", *toml.table(rows)]


def _rate(source: Application) -> tuple[int, str]:
    get = source.settings
    interval = get.get("interval_")
    if interval is None or interval.line is None or (get["rate_"].line or 0) > interval.line:
        return rate(get["rate_"].value), toml.origin("rate_", get["rate_"])
    gap = nanoseconds(interval.value) / 1e9
    if gap <= 0:
        raise Refused("`interval_` is not above zero")
    bits = 8 * real(source.value("packetSize_"), "packetSize_")
    return round(bits / gap), f"{toml.origin('interval_', interval)} of a packet"
