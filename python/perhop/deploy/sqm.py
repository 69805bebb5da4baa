"""The section of `/etc/config/sqm` that gives an OpenWrt router the queues of both ways of its line.

Source: OpenWrt's page on SQM configuration, and `sqm-scripts`. One interface has one section: what it sends
is the way up, what it receives the way down, whose queue is in the router too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from perhop.deploy.ports import Table, port_of, wanders
from perhop.scenario.scenario import LinkView, Scenario
from perhop.units import quantity

_SCRIPTS = {
    ("cake", "besteffort"): "piece_of_cake.qos",
    ("cake", "diffserv3"): "layer_cake.qos",
    ("fq", ""): "simplest.qos",
}
_ACKS = {"conservative": "ack-filter", "aggressive": "ack-filter-aggressive"}


class NoSectionError(ValueError):
    """A line that no section can describe; the message is the reason."""


def section(scenario: Scenario, node: str, to: str, device: str, share: float) -> tuple[str, list[str]]:
    """Return the section for the line from a node to another, and warnings of rates that follow traces.

    Each way is held to `share` of its rate where its queue has no rate of its own. NoSectionError says that
    there is no such line, or that SQM has no script for its queues.
    """
    links = {(one.source, one.target): one for one in scenario.describe().links}
    if (node, to) not in links:
        raise NoSectionError(f"no link between {node} and {to}")
    tables: list[Table] = tomllib.loads(scenario.resolve())["port"]
    ways = [(links[ends], _queue(tables, links[ends])) for ends in ((node, to), (to, node))]
    scripts = {_script(link, queue) for link, queue in ways}
    if len(scripts) > 1:
        raise NoSectionError(f"both ways have one script, and these ask for {' and '.join(sorted(scripts))}")
    warnings = [
        f"{link.source} to {link.target}: {why}"
        for link, queue in ways
        if "rate" not in queue
        for why in wanders(link)
    ]
    return "\n".join([*_lines(ways, device, share, scripts.pop()), ""]), warnings


def _queue(tables: list[Table], link: LinkView) -> Table:
    table = port_of(tables, link)
    if table is None:
        raise NoSectionError(f"{link.port.path} is not in the scenario")
    if len(table["class"]) > 1:
        raise NoSectionError(f"{link.port.path} has classes of its own; SQM knows the tins of CAKE alone")
    queue: Table = table["class"][0]["queue"]
    return {"rate": table["shaper"]["rate"]} | queue if "shaper" in table else queue


def _script(link: LinkView, queue: Table) -> str:
    tins = queue.get("tins", "")
    inner = queue.get("queue", {"kind": "codel"})["kind"]
    script = _SCRIPTS.get((queue["kind"], tins))
    if script is None or inner != "codel":
        called = f"{queue['kind']} {tins}".strip()
        raise NoSectionError(
            f"{link.port.path} has {called}; SQM has cake (besteffort, diffserv3) and fq with codel"
        )
    if queue["kind"] == "fq" and queue["queue"].get("ack_filter", "off") != "off":
        raise NoSectionError(f"{link.port.path} filters ACKs in fq; cake does that in SQM")
    return script


def _lines(ways: list[tuple[LinkView, Table]], device: str, share: float, script: str) -> Iterator[str]:
    (_, up), (_, down) = ways
    cake = up["kind"] == "cake"
    rates = [
        quantity(queue["rate"])[0] if "rate" in queue else share * link.rate_bit_s for link, queue in ways
    ]
    acks = [_ACKS.get(queue.get("ack_filter", "off"), "") for queue in (up, down)]
    size = {key: round(quantity(up.get(key, "0B"))[0]) for key in ("overhead", "mpu")}
    yield f"config queue '{device}'"
    options = {
        "enabled": 1,
        "interface": device,
        "upload": round(rates[0] / 1e3),
        "download": round(rates[1] / 1e3),
        "qdisc": "cake" if cake else "fq_codel",
        "script": script,
        "linklayer": "ethernet" if any(size.values()) else "none",
    }
    if any(size.values()):
        options |= {"overhead": size["overhead"], "linklayer_advanced": 1, "tcMPU": size["mpu"]}
    if cake and any(acks):
        advanced = {"qdisc_advanced": 1, "qdisc_really_really_advanced": 1}
        options |= advanced | {"eqdisc_opts": acks[0], "iqdisc_opts": acks[1]}
    yield from (f"\toption {key} '{value}'" for key, value in options.items())
