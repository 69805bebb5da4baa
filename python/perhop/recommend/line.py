"""Candidates for a line: shorter buffers, other queues, a way for ACKs; and how much it holds now."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perhop.deploy.ports import PACKET, octets, port_of
from perhop.experiment.factors import Factor
from perhop.models.network import Network
from perhop.recommend.candidates import AS_IT_IS, NothingToTryError, candidates, checked
from perhop.recommend.elements import OF_TODAY
from perhop.scenario.overrides import ends, toml
from perhop.units import quantity

if TYPE_CHECKING:
    from perhop.scenario.scenario import LinkView, Scenario

FACTOR = "line"
"""What the factor of the candidates is called."""

Table = dict[str, Any]

BUFFERS_S = (0.1, 0.05, 0.02)
"""How long a full buffer keeps the line busy, of the shorter buffers that are tried."""

MARKS = "ACK marks: "
"""What the names of markings begin with."""

PROBE = "probe-"
"""What the names of probes begin with."""

SHORTER = 1.5
"""How many times as much a port must hold as a buffer that is tried in its place."""

LEAST = {"p": 2, "B": 2 * PACKET}
"""The least limit of a class: two packets."""

TAIL_DROP = frozenset(("fifo",))
"""Queues of which the limit alone decides how long packets wait."""

FILTERED = "conservative"
"""The ACK filter that is tried."""


@dataclass(frozen=True)
class Slow:
    """The slowest link on the way of some flow.

    Attributes
    ----------
    rate_bit_s
        Of the link, of its port's shaper, or of a CAKE that is all of its port: the least.
    held_s
        How long it is busy with all that its queues hold; packets of a limit in packets have 1500 bytes.
    source, target
        The ends of the first flow that meets it.
    """

    link: LinkView
    rate_bit_s: float
    held_s: float
    source: str
    target: str


Change = Callable[[Table, Slow], Table | str]
"""A port's table and its link: the table with the candidate, or the reason why it does not fit."""


def slow_links(scenario: Scenario) -> list[Slow]:
    """Return the slowest link on the way of each flow's data, and on that of its ACKs."""
    network = Network(scenario)
    tables: list[Table] = tomllib.loads(scenario.resolve())["port"]
    rates = {link.name: _rate(link, port_of(tables, link)) for link in network.described.links}
    ways = [way for flow in network.flows for way in (flow.there, flow.back)]
    ways += [flow.there for flow in network.udp]
    found: dict[str, Slow] = {}
    for way in ways:
        if way:
            slow = min(way, key=lambda link: rates[link.name])
            rate = rates[slow.name]
            held = 8 * sum(octets(one.limit) for one in slow.port.classes) / rate
            found.setdefault(slow.name, Slow(slow, rate, held, way[0].source, way[-1].target))
    return list(found.values())


def _rate(link: LinkView, table: Table | None) -> float:
    rates = [link.rate_bit_s]
    if table is not None:
        (first, *others) = table["class"]
        rates += [quantity(table["shaper"]["rate"])[0]] if "shaper" in table else []
        rates += [quantity(first["queue"]["rate"])[0]] if not others and "rate" in first["queue"] else []
    return min(rates)


def probed(scenario: Scenario) -> Scenario:
    """Return the scenario with a probe over each slow link, which measures the delay of a light sender.

    A probe is 100 bytes of UDP in best effort, 20 times a second, or a hundredth of a slower link. So a long
    queue counts by what others wait in it (the responsiveness of RFC 9318), whatever the scenario's flows.
    """
    udp: list[Table] = tomllib.loads(scenario.resolve()).get("udp", [])
    meaning = scenario.describe()
    taken = {one.class_ for one in meaning.flows} | {one.class_ for one in meaning.udp}
    taken |= {one["name"] for one in udp}
    for slow in slow_links(scenario):
        name = _free(f"{PROBE}{_base(slow.link.source)}-{_base(slow.link.target)}", taken)
        taken.add(name)
        rate = f"{min(16_000, max(800, round(slow.rate_bit_s / 100)))}bit/s"
        table = {"name": name, "class": name, "from": slow.source, "to": slow.target}
        udp.append(table | {"rate": rate, "packet_size": "100B", "start_jitter": "50ms"})
    return scenario.override(f"udp={toml(udp, 'udp')}")


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, numbered where it must be."""
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def is_of_probes(assignment: str) -> bool:
    """Return whether an override is that of `probed`."""
    return assignment.startswith("udp=") and f'"{PROBE}' in assignment


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
    for name, change in _changes(links, has_acks=bool(scenario.describe().flows)):
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
    return Factor(FACTOR, tuple(levels)), (*left_out, *refused)


def _changes(links: list[Slow], has_acks: bool) -> Iterator[tuple[str, Change]]:
    for seconds in BUFFERS_S:
        yield f"buffers of {seconds * 1e3:g} ms", _buffer(seconds)
    several = any(len(slow.link.port.classes) > 1 for slow in links)
    for kind in OF_TODAY:
        yield f"{kind} in each class" if several else kind, _in_each_class(kind)
    for_all = " for all" if several else ""
    if several:
        for kind in ("fq", "cake"):
            yield f"{kind}{for_all}", _for_all(kind)
    if has_acks:
        for kind in ("fq", "cake"):
            yield f"{kind}{for_all} that filters ACKs", _for_all(kind, ack_filter=FILTERED)
        yield "ACKs first", _acks_first


def _buffer(seconds: float) -> Change:
    def change(port: Table, slow: Slow) -> Table | str:
        kinds = {one["queue"]["kind"] for one in port["class"]}
        if not kinds <= TAIL_DROP:
            return (
                f"{slow.link.port.path} has {', '.join(sorted(kinds - TAIL_DROP))}, which keeps its own delay"
            )
        share = seconds / slow.held_s
        if share * SHORTER > 1.0:
            return port
        return _with_queues(port, lambda queue: queue | {"limit": _part(queue["limit"], share)})

    return change


def _part(limit: str, share: float) -> str:
    amount, unit = quantity(limit)
    part = max(LEAST[unit], float(f"{amount * share:.3g}"))
    return f"{part:.0f}{unit}"


def _in_each_class(kind: str) -> Change:
    def change(port: Table, slow: Slow) -> Table | str:
        del slow
        return _with_queues(port, lambda queue: _queue(kind), but="EF")

    return change


def _with_queues(port: Table, of: Callable[[Table], Table], but: str | None = None) -> Table:
    """Return a port with other queues in its classes, except those for the mark `but` alone."""
    return port | {
        "class": [
            one if one["match"] == [but] else one | {"queue": of(one["queue"])} for one in port["class"]
        ]
    }


def _queue(kind: str, ack_filter: str | None = None) -> Table:
    """Return a queue with its defaults, as it is typed in, and with an ACK filter."""
    table: Table = {"kind": kind}
    if ack_filter and kind == "fq":
        return table | {"queue": {"kind": "codel", "ecn": True, "ack_filter": ack_filter}}
    return table | ({"ack_filter": ack_filter} if ack_filter else {})


def _for_all(kind: str, ack_filter: str | None = None) -> Change:
    """Put one queue in the place of all classes."""

    def change(port: Table, slow: Slow) -> Table | str:
        del slow
        name = port["class"][0]["name"] if len(port["class"]) == 1 else "all"
        only = {"name": name, "match": ["any"], "queue": _queue(kind, ack_filter)}
        return port | {"scheduler": {"kind": "strict-priority"}, "class": [only]}

    return change


def _acks_first(port: Table, slow: Slow) -> Table | str:
    classes, path = port["class"], slow.link.port.path
    if classes[0]["match"] == ["pure-ack"]:
        return port
    if len(classes) > 1 and port["scheduler"]["kind"] != "strict-priority":
        kind = port["scheduler"]["kind"]
        return f"{path} shares its link by {kind}, which has no class before all others"
    if any("pure-ack" in one["match"] for one in classes):
        return f"{path} has a class for pure ACKs already"
    name = _free("acks", {one["name"] for one in classes})
    acks = {"name": name, "match": ["pure-ack"], "queue": {"kind": "fifo", "limit": "64kB"}}
    bare = [{key: one[key] for key in ("name", "match", "queue")} for one in classes]
    return port | {"scheduler": {"kind": "strict-priority"}, "class": [acks, *bare]}


def _assignments(tables: list[Table], links: list[Slow], change: Change) -> tuple[str, ...] | str:
    """Return the overrides that make a change at the ports of links.

    None where all is so already; the first reason where no port can have it.
    """
    found: list[str] = []
    written, rewrite, reasons = [], False, list[str]()
    for table in tables:
        own = [slow for slow in links if port_of(tables, slow.link) is table]
        changed = [change(table, slow) for slow in own]
        reasons += [one for one in changed if isinstance(one, str)]
        news = [table if isinstance(one, str) else one for one in changed]
        both = table.get("between")
        if not both or not news or (len(news) > 1 and all(one == news[0] for one in news)):
            new = news[0] if news else table
            written.append(new)
            found += _differences(table, new)
            continue
        rewrite |= any(one != table for one in news)
        by_start = {_base(slow.link.source): new for slow, new in zip(own, news, strict=True)}
        for at, to in (both, both[::-1]):
            new = by_start.get(_base(at), table)
            written.append({"at": at, "to": to} | {key: new[key] for key in new if key != "between"})
    made = (f"port={toml(written, 'port')}",) if rewrite else tuple(found)
    return reasons[0] if reasons and not made else made


def _base(node: str) -> str:
    return node.partition("[")[0]


def _differences(old: Table, new: Table) -> Iterator[str]:
    """Go through the overrides that make one port's table of another."""
    path = f"port.{ends(old)}"
    if new["scheduler"] != old["scheduler"]:
        yield f"{path}.scheduler={toml(new['scheduler'], path)}"
    plain = [[{**one, "queue": None} for one in port["class"]] for port in (old, new)]
    if plain[0] != plain[1]:
        yield f"{path}.class={toml(new['class'], path)}"
        return
    for before, after in zip(old["class"], new["class"], strict=True):
        place = f"{path}.class.{after['name']}.queue"
        limit = {"limit": after["queue"].get("limit")}
        if before["queue"] | limit == after["queue"] != before["queue"]:
            yield f"{place}.limit={toml(after['queue']['limit'], place)}"
        elif before["queue"] != after["queue"]:
            yield f"{place}={toml(after['queue'], place)}"
