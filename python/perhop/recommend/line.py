"""What can be put on a line: shorter buffers, other queues, a way for ACKs; and how much it holds now."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perhop.experiment.factors import Factor
from perhop.models.network import Network
from perhop.recommend.candidates import AS_IT_IS, NothingToTryError, candidates, checked
from perhop.recommend.elements import OF_TODAY
from perhop.scenario.overrides import toml
from perhop.units import quantity

if TYPE_CHECKING:
    from perhop.experiment.factors import Level
    from perhop.scenario.scenario import LinkView, Scenario

FACTOR = "line"
"""What the factor of the candidates is called."""

Table = dict[str, Any]

Change = Callable[[Table, "LinkView"], Table | str]
"""A port's table and its link: the table with the candidate, or the reason why it does not fit."""

BUFFERS_S = (0.1, 0.05, 0.02)
"""How long a full buffer keeps the link busy, of the shorter buffers that are tried."""

MARKS = "ACK marks: "
"""What the names of markings begin with."""

PROBE = "probe-"
"""What the names of probes begin with."""

SHORTER = 1.5
"""How many times as much a port must hold as a buffer that is tried in its place."""

LEAST = {"p": 2, "B": 3000}
"""The least limit of a class: two packets."""

TAIL_DROP = frozenset(("fifo",))
"""Queues of which the limit alone decides how long packets wait."""

FILTERED = "conservative"
"""The ACK filter that is tried."""


@dataclass(frozen=True)
class Held:
    """How long a direction of a line is busy with all that its queues hold, s."""

    link: str
    seconds: float


def slow_links(scenario: Scenario) -> list[LinkView]:
    """Return the slowest link on the way of each flow's data, and on that of its ACKs."""
    return [link for link, _ in _ways(scenario).values()]


def _ways(scenario: Scenario) -> dict[str, tuple[LinkView, tuple[str, str]]]:
    """Return each slow link by its name, with the ends of the first flow that meets it."""
    network = Network(scenario)
    ways = [way for flow in network.flows for way in (flow.there, flow.back)]
    ways += [flow.there for flow in network.udp]
    found: dict[str, tuple[LinkView, tuple[str, str]]] = {}
    for way in ways:
        if way:
            slow = min(way, key=lambda link: link.rate_bit_s)
            found.setdefault(slow.name, (slow, (way[0].source, way[-1].target)))
    return found


def probed(scenario: Scenario) -> Scenario:
    """Return the scenario with a probe over each slow link: it tells what somebody waits who sends little.

    A probe is 100 bytes of UDP in best effort, 20 times a second, or a hundredth of a slower link. So a long
    queue counts by what others wait in it (the responsiveness of RFC 9318), whatever the scenario's flows.
    """
    udp: list[Table] = tomllib.loads(scenario.resolve()).get("udp", [])
    for link, (source, target) in _ways(scenario).values():
        name = f"{PROBE}{_base(link.source)}-{_base(link.target)}"
        rate = f"{min(16_000, round(link.rate_bit_s / 100))}bit/s"
        table = {"name": name, "class": name, "from": source, "to": target}
        udp.append(table | {"rate": rate, "packet_size": "100B", "start_jitter": "50ms"})
    return scenario.override(f"udp={toml(udp, 'udp')}")


def is_of_probes(assignment: str) -> bool:
    """Return whether an override is that of `probed`."""
    return assignment.startswith("udp=") and f'"{PROBE}' in assignment


def held(link: LinkView) -> Held:
    """Return how much a link's port holds; packets of a limit in packets have 1500 bytes."""
    amounts = [quantity(one.limit) for one in link.port.classes]
    size = sum(amount * (1500 if unit == "p" else 1) for amount, unit in amounts)
    return Held(link.name, 8 * size / link.rate_bit_s)


def line(scenario: Scenario) -> tuple[Factor, tuple[str, ...]]:
    """Return what can be put on the slow links of a scenario, as levels of one factor.

    The first level leaves it as it is. Markings of ACKs are among them where a port looks at marks.

    Returns
    -------
    factor
        Called `FACTOR`.
    left_out
        Candidates that there are not, each with the reason.

    Raises
    ------
    NothingToTryError
        No flow has a way through the network that is known.
    ScenarioError
        The scenario has mistakes.
    """
    links = slow_links(scenario)
    if not links:
        raise NothingToTryError(
            f"{scenario.name}: no flow has a single shortest way, so that its slow link is not known",
            "write a scenario with one way between the hosts",
        )
    tables: list[Table] = tomllib.loads(scenario.resolve())["port"]
    made, left_out = {AS_IT_IS: tuple[str, ...]()}, []
    for name, change in _changes(links):
        found = _assignments(tables, links, change)
        if isinstance(found, str):
            left_out.append(f"{name}: {found}")
        elif found:
            made[name] = found
    levels, refused = checked(scenario, made)
    try:
        marks = candidates(scenario)
    except NothingToTryError as error:
        left_out.append(f"marks of ACKs: {str(error).partition(': ')[2]}")
    else:
        own = (one for one in marks.factor.levels if one.name not in {marks.in_use, AS_IT_IS})
        levels += [replace(one, name=MARKS + one.name) for one in own]
        refused += marks.left_out
    return Factor(FACTOR, _distinct(scenario, levels)), (*left_out, *refused)


def _distinct(scenario: Scenario, levels: list[Level]) -> tuple[Level, ...]:
    """Return the levels, without those that make the same scenario as one before."""
    seen = {scenario.override(*one.set).key().treatment: one for one in reversed(levels)}
    return tuple(one for one in levels if one in seen.values())


def _changes(links: list[LinkView]) -> Iterator[tuple[str, Change]]:
    for seconds in BUFFERS_S:
        yield f"buffers of {seconds * 1e3:g} ms", _buffer(seconds)
    several = any(len(link.port.classes) > 1 for link in links)
    for kind in OF_TODAY:
        yield f"{kind} in each class" if several else kind, _in_each_class(kind)
    if several:
        for kind in ("fq", "cake"):
            yield f"{kind} for all", _for_all(kind)
    for kind in ("fq", "cake"):
        yield f"{kind} that filters ACKs", _for_all(kind, ack_filter=FILTERED)
    yield "ACKs first", _acks_first


def _buffer(seconds: float) -> Change:
    def change(port: Table, link: LinkView) -> Table | str:
        kinds = {one["queue"]["kind"] for one in port["class"]}
        if not kinds <= TAIL_DROP:
            return f"{link.port.path} has {', '.join(sorted(kinds - TAIL_DROP))}, which keeps its own delay"
        share = seconds / held(link).seconds
        if share * SHORTER > 1.0:
            return port
        return _with_queues(port, lambda queue: queue | {"limit": _part(queue["limit"], share)})

    return change


def _part(limit: str, share: float) -> str:
    amount, unit = quantity(limit)
    part = max(LEAST[unit], float(f"{amount * share:.3g}"))
    return f"{part:.0f}{unit}"


def _in_each_class(kind: str) -> Change:
    def change(port: Table, link: LinkView) -> Table | str:
        del link
        return _with_queues(port, lambda queue: _queue(kind, queue["limit"]), but="EF")

    return change


def _with_queues(port: Table, of: Callable[[Table], Table], but: str | None = None) -> Table:
    """Return a port with other queues in its classes, except those for the mark `but` alone."""
    return port | {
        "class": [
            one if one["match"] == [but] else one | {"queue": of(one["queue"])} for one in port["class"]
        ]
    }


def _queue(kind: str, limit: str, ack_filter: str | None = None) -> Table:
    """Return a queue with the limit that there is and else its defaults, and with an ACK filter."""
    table: Table = {"kind": kind, "limit": limit}
    if ack_filter and kind == "fq":
        return table | {"queue": {"kind": "codel", "ecn": True, "ack_filter": ack_filter}}
    return table | ({"ack_filter": ack_filter} if ack_filter else {})


def _for_all(kind: str, ack_filter: str | None = None) -> Change:
    """Put one queue in the place of all classes, with the limit of all together."""

    def change(port: Table, link: LinkView) -> Table | str:
        amounts = [quantity(one["queue"]["limit"]) for one in port["class"]]
        if len({unit for _, unit in amounts}) > 1:
            return f"{link.port.path} has limits in packets and in bytes"
        limit = f"{sum(amount for amount, _ in amounts):.0f}{amounts[0][1]}"
        name = port["class"][0]["name"] if len(port["class"]) == 1 else "all"
        only = {"name": name, "match": ["any"], "queue": _queue(kind, limit, ack_filter)}
        return port | {"scheduler": {"kind": "strict-priority"}, "class": [only]}

    return change


def _acks_first(port: Table, link: LinkView) -> Table | str:
    if len(port["class"]) > 1 and port["scheduler"]["kind"] != "strict-priority":
        kind = port["scheduler"]["kind"]
        return f"{link.port.path} shares its link by {kind}, which has no class before all others"
    if any("pure-ack" in one["match"] for one in port["class"]):
        return port
    acks = {"name": "acks", "match": ["pure-ack"], "queue": {"kind": "fifo", "limit": "64kB"}}
    return port | {"class": [acks, *port["class"]]}


def _assignments(tables: list[Table], links: list[LinkView], change: Change) -> tuple[str, ...] | str:
    """Return the overrides that make a change at the ports of links; none where all is so already."""
    found: list[str] = []
    written, rewrite = [], False
    for table in tables:
        own = [link for link in links if _is_of(table, link)]
        changed = [change(table, link) for link in own]
        if why := next((one for one in changed if isinstance(one, str)), None):
            return why
        news = [one for one in changed if isinstance(one, dict)]
        ends = table.get("between")
        if not ends or not news or (len(news) == 2 and news[0] == news[1]):
            new = news[0] if news else table
            written.append(new)
            found += _differences(table, new)
            continue
        rewrite = True
        by_start = {link.source: new for link, new in zip(own, news, strict=True)}
        for at, to in (ends, ends[::-1]):
            new = by_start.get(at, table)
            written.append({"at": at, "to": to} | {key: new[key] for key in new if key != "between"})
    return (f"port={toml(written, 'port')}",) if rewrite else tuple(found)


def _is_of(table: Table, link: LinkView) -> bool:
    ends = (_base(link.source), _base(link.target))
    if "between" in table:
        return set(map(_base, table["between"])) == set(ends)
    return (_base(table["at"]), _base(table["to"])) == ends


def _base(node: str) -> str:
    return node.partition("[")[0]


def _differences(old: Table, new: Table) -> Iterator[str]:
    """Go through the overrides that make one port's table of another."""
    ends = old["between"] if "between" in old else (old["at"], old["to"])
    path = f"port.{'-'.join(map(_base, ends))}"
    if new["scheduler"] != old["scheduler"]:
        yield f"{path}.scheduler={toml(new['scheduler'], path)}"
    plain = [[{**one, "queue": None} for one in port["class"]] for port in (old, new)]
    if plain[0] != plain[1]:
        yield f"{path}.class={toml(new['class'], path)}"
        return
    for before, after in zip(old["class"], new["class"], strict=True):
        place = f"{path}.class.{after['name']}.queue"
        if before["queue"] | {"limit": after["queue"]["limit"]} == after["queue"] != before["queue"]:
            yield f"{place}.limit={toml(after['queue']['limit'], place)}"
        elif before["queue"] != after["queue"]:
            yield f"{place}={toml(after['queue'], place)}"
