"""`perhop describe`: a scenario with names resolved, counts expanded, defaults filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from perhop.cli import options
from perhop.cli.options import flag
from perhop.cli.output import print_json
from perhop.say.document import MOST_ROWS, Part, Table, filled
from perhop.say.terminal import show
from perhop.units import duration, exact

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description, FlowView, PortView, UdpView


_MORE = "in what --json prints"


def command(
    scenario: Path = options.SCENARIO,
    overrides: list[str] | None = options.SET,
    seed: int | None = options.SEED,
    until: str | None = options.UNTIL,
    as_toml: bool = flag("--toml", "Print the resolved scenario, itself a valid file."),
    as_json: bool = options.JSON,
) -> None:
    """Show what a scenario means: nodes, links, ports, conditioners and flows."""
    loaded = options.load(scenario, overrides, seed, until)
    if as_toml:
        print(loaded.resolve(), end="")
    elif as_json:
        print_json(loaded.describe().parts())
    else:
        show(*_parts(loaded.describe()))


def _parts(meaning: Description) -> Iterator[Part]:
    """Go through a scenario as sentences and tables."""
    from perhop.run.promises import promises_of

    run = meaning.run
    yield (
        f"{run.duration_s:g} s simulated, measured from {run.warmup_s:g} s, "
        f"a sample every {run.interval_s:g} s, seed {run.seed}, replication {run.replication}\n"
    )
    if run.processing_jitter_s:
        yield f"Hosts send each packet up to {duration(run.processing_jitter_s)} later, by chance\n"
    links = sorted(meaning.links, key=lambda link: _is_default(link.port))
    ports = [
        {
            "port": link.port.path,
            "scheduler": str(link.port.scheduler),
            "classes": ", ".join(one.name for one in link.port.classes),
            "backpressure": link.port.backpressure,
            "shaper_bit_s": link.port.shaper and link.port.shaper.rate_bit_s,
        }
        for link in links
    ]
    yield from _table("Nodes", "node: name | kind", to_builtins(meaning.nodes))
    columns = "link: name | rate: rate_bit_s | delay: delay_s | pure ACK: {pure_ack_bytes:B}"
    traced = " | trace" if any(link.trace for link in links) else ""
    yield from _table("Links", columns + traced, to_builtins(links))
    bursty = [
        {"link": link.name, "loss": link.burst_loss.mean_loss, "burst": link.burst_loss.mean_burst_packets}
        for link in links
        if link.burst_loss
    ]
    columns = "link | mean loss: {loss:%} | mean burst, packets: {burst:.3g}"
    yield from _table("Losses in bursts", columns, bursty)
    shaped = " | shaper: shaper_bit_s" if any(link.port.shaper for link in links) else ""
    yield from _table("Ports", "port | scheduler | classes | backpressure" + shaped, ports)
    for title, lines in (
        ("Queues", queue_lines(meaning.settings.port)),
        ("Conditioners", conditioner_lines(meaning.settings.conditioner)),
        ("TCP", tcp_lines(meaning.settings.flow)),
    ):
        if lines:
            yield Table(title, (), [(line,) for line in lines], whole=_MORE, most=MOST_ROWS)
    rates = [{"flow": name, "rate": rate} for name, rate in meaning.arrivals_per_s.items()]
    yield from _table("Transfers that begin in a second, on average", "flow | transfers: {rate:.4g}", rates)
    columns = "application: name | kind | flows | mean load: {mean_load_bytes:B} | mean pause: mean_think_s"
    yield from _table("Applications", columns, to_builtins(meaning.applications))
    columns = "call: name | jitter buffer: jitter_buffer_s | Ie: {ie:g} | Bpl: {bpl:g}"
    yield from _table("Calls", columns, to_builtins(meaning.calls))
    captured = [
        {"flow": flow.name} | to_builtins(flow.capture) | {"repeats": "yes" if flow.capture.repeats else None}
        for flow in meaning.udp
        if flow.capture
    ]
    columns = "flow | packets | duration: duration_s | repeats"
    yield from _table("Sources from captures", columns, captured)
    tcp = "TCP: profile | segment: {mss_bytes:B} | header: {header_bytes:B} | window: {window_bytes:B}"
    udp = "rate: rate_bit_s | packet: {packet_bytes:B}"
    for title, flows, own in (("UDP flows", meaning.udp, udp), ("Flows", meaning.flows, tcp)):
        columns = f"flow: name | class | mark | from | to | start | {own}"
        columns += " | labels" if any(one.labels for one in flows) else ""
        yield from _table(title, columns, map(_flow, flows), even_empty=flows is meaning.flows)
    promised = [(one.called, one.bounded) for one in promises_of(meaning)]
    if promised:
        yield Table("Promises", ("promise", "bound"), promised)


def _table(
    title: str, columns: str, rows: Iterable[Mapping[str, Any]], even_empty: bool = False
) -> Iterator[Table]:
    """Give a table in which rows that are alike are folded together; without rows none."""
    table = filled(title, [columns], rows, whole=_MORE)
    cells = folded(tuple("-" if cell is None else str(cell) for cell in row) for row in table.rows)
    if cells or even_empty:
        yield replace(table, rows=cells)


def _flow(one: FlowView | UdpView) -> dict[str, Any]:
    """Return a flow's row: a random part of its start, which depends on the seed, by its bound."""
    later = f" + up to {one.start_jitter_s:g} s" if one.start_jitter_s else ""
    labels = " ".join(f"{name}={value}" for name, value in one.labels.items())
    return {**to_builtins(one), "start": f"{one.start_s:g} s{later}", "labels": labels or None}


def folded(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Make one row of those that differ in the member alone: `s[0..20]->r (20)`.

    A number that is the same in all of them stays, numbers in a row become a slice, others `[*]`.
    """
    alike: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in rows:
        alike.setdefault(tuple(_MEMBER.sub("[*]", cell) for cell in row), []).append(row)
    return [
        group[0] if len(group) == 1 else (f"{_members(cells[0])} ({len(group)})", *map(_members, cells[1:]))
        for group in alike.values()
        for cells in [list(zip(*group, strict=True))]
    ]


_MEMBER = re.compile(r"\[(\d+)\]")


def _members(cells: Sequence[str]) -> str:
    """Return one cell for cells that differ in the numbers of members alone."""
    places = [sorted(set(map(int, place))) for place in zip(*map(_MEMBER.findall, cells), strict=True)]
    numbers = iter(places)

    def one(_: re.Match[str]) -> str:
        found = next(numbers)
        first, last = found[0], found[-1]
        if first == last:
            return f"[{first}]"
        return f"[{first}..{last + 1}]" if len(found) == last + 1 - first else "[*]"

    return _MEMBER.sub(one, cells[0])


def _is_default(port: PortView) -> bool:
    """Return whether the port is as one that no scenario file mentions."""
    one = port.classes[0]
    held = port.backpressure or port.shaper
    as_default = (one.name, one.queue, one.limit, held) == ("all", "fifo", "1000p", None)
    return as_default and len(port.classes) == 1


def _parted(table: dict[str, Any], structure: str) -> tuple[dict[str, Any], dict[str, Any]]:
    from perhop.scenario.defaults import parted

    return parted(table, structure)


def queue_lines(ports: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each queue: its place, what it takes, settings of class and queue."""
    placed = ("name", "match", "queue")
    return [
        f"{'-'.join(port.get('between') or (port['at'], port['to']))}.class.{one['name']} "
        f"({' '.join(one['match'])}){', both directions' if 'between' in port else ''}: "
        + _settings(_without(placed, one), chosen)
        + _by_default(default)
        for port in ports
        for one in port["class"]
        for chosen, default in [_parted(one["queue"], "Queue")]
    ]


def conditioner_lines(conditioners: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each conditioner: its place, what it treats, its settings."""
    return [
        f"{one['name']} at {one['at']} from {_text(one['from'])}: "
        + _settings(_without(("name", "at", "from"), chosen))
        + _by_default(_without(("match",), default))
        for one in conditioners
        for chosen, default in [_parted(one, "Conditioner")]
    ]


def tcp_lines(flows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each TCP and its receiver: its flows and its settings."""
    named: dict[str, list[str]] = {}
    for one in flows:
        tcp, ack = _parted(one["tcp"], "Tcp"), _parted(one["ack"], "Ack")
        chosen, default = (own | ({"ack": at} if at else {}) for own, at in zip(tcp, ack, strict=True))
        if "control" in one:
            chosen["control"] = one["control"]
        named.setdefault(_settings(chosen) + _by_default(default), []).append(one["name"])
    return [f"{', '.join(names)}: {text}" for text, names in named.items()]


def _without(keys: Sequence[str], table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _settings(*tables: dict[str, Any]) -> str:
    """Return settings as text: `limit 60p, gentle, ecn no, mean_packet -`: on, off, not given."""
    return ", ".join(_setting(key, value) for table in tables for key, value in table.items())


def _by_default(settings: dict[str, Any]) -> str:
    """Return the settings that a scenario leaves as they are."""
    return f"; by default {_settings(settings)}" if settings else ""


def _setting(key: str, value: Any) -> str:
    return key if value is True else f"{key} {_text(value)}"


def _text(value: Any) -> str:
    if value is None or value is False or value == {}:
        return "no" if value is False else "-"
    if isinstance(value, dict):
        return " ".join(_setting(key, inner) for key, inner in value.items())
    if isinstance(value, list):
        return " ".join(_text(inner) for inner in value)
    return exact(value) if isinstance(value, float) else str(value)
