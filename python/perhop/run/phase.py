"""Phase effects: equal flows in step with a queue (Floyd and Jacobson 1992)."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from perhop.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    import polars as pl

    from perhop.scenario.scenario import BareLink, Description, FlowView, UdpView

_EXPECTED = 20.0
"""Losses that a flow would have had at the rate of its equals, at least, for so few to be no chance."""
_FEW = 0.1
"""Of these, what it had at most: by a Poisson distribution of probability below a millionth."""

COLUMNS = {
    "flows": {"name", "retransmissions", "segments_sent"},
    "udp": {"name", "sent_packets", "arrived_packets"},
    "links": {"lost_packets"},
    "queues": {"path", "dropped_early", "dropped_packets"},
}
"""Columns of tables that `effect` looks at."""


def effect(tables: Mapping[str, pl.DataFrame], meaning: Description) -> str | None:
    """Describe a flow that lost next to nothing where its equals did, or return ``None``.

    Equal are the endless flows of one ``[[flow]]``, and the flows of one ``[[udp]]``, between the same
    routers by first and last links of the same rate and delay and through the same conditioners. Nothing is
    said where hosts take a random time, or links or queues dropped by chance.
    """
    chance = (("links", "lost_packets"), ("queues", "dropped_early"))
    if meaning.run.processing_jitter_s or any(tables[name][column].sum() for name, column in chance):
        return None
    losses = _losses(tables)
    for group in _equals(meaning, {name for name, (own, _) in losses.items() if own > 0}):
        lost, sent = (sum(column) for column in zip(*(losses[name] for name in group), strict=True))
        for name in group:
            own, packets = losses[name]
            rate = (lost - own) / (sent - packets) if sent > packets else 0.0
            if rate * packets >= _EXPECTED and own <= _FEW * rate * packets:
                time = _packet_time(tables["queues"], meaning)
                return (
                    f"{name} lost {own or 'none'} of {packets} packets and its equals {percent(rate)}: "
                    f"nothing here is random, and they are in step with a queue (a phase effect), so that "
                    f"their shares mean nothing; run.processing_jitter of one packet time, {time}, puts "
                    f"them out of step"
                )
    return None


def _losses(tables: Mapping[str, pl.DataFrame]) -> dict[str, tuple[int, int]]:
    """Return the packets that each flow lost and sent; retransmissions of TCP stand for losses."""

    def of(table: str, *names: str) -> Iterator[tuple[Any, ...]]:
        return zip(*(tables[table][name] for name in ("name", *names)), strict=True)

    tcp = {name: (own, sent) for name, own, sent in of("flows", "retransmissions", "segments_sent")}
    # what was under way at the end of the warm-up arrives too
    udp = of("udp", "sent_packets", "arrived_packets")
    return tcp | {name: (max(0, sent - came), sent) for name, sent, came in udp}


def _equals(meaning: Description, losers: Set[str]) -> Iterator[list[str]]:
    """Give the names of flows that are equal, where any of their table in the file lost a packet."""
    tables: dict[object, list[FlowView | UdpView]] = defaultdict(list)
    endless: list[FlowView | UdpView] = [flow for flow in meaning.flows if flow.size_bytes is None]
    for flow in endless + list(meaning.udp):
        tables[type(flow), flow.name.split("[")[0]].append(flow)
    flows = [of for of in tables.values() if len(of) > 1 and any(flow.name in losers for flow in of)]
    if not flows:
        return
    out: dict[str, list[BareLink]] = defaultdict(list)
    into: dict[str, list[BareLink]] = defaultdict(list)
    for link in meaning.bare_links:
        out[link.source].append(link)
        into[link.target].append(link)
    edges: dict[str, list[str]] = defaultdict(list)
    for edge in meaning.conditioners:
        for name in edge.source:
            edges[name].append(edge.path)
    groups: dict[object, list[str]] = defaultdict(list)
    for flow in chain.from_iterable(flows):
        first = tuple(
            (link.target, link.rate_bit_s, link.delay_s, *edges[link.name]) for link in out[flow.source]
        )
        last = tuple((link.source, link.rate_bit_s, link.delay_s) for link in into[flow.target])
        groups[type(flow), flow.name.split("[")[0], first, last].append(flow.name)
    yield from (names for names in groups.values() if len(names) > 1)


def _packet_time(queues: pl.DataFrame, meaning: Description) -> str:
    """Return how long the longest packet takes on the link with the most drops."""
    port = queues.sort("dropped_packets", descending=True)["path"][0].split(".class.")[0]
    link = next(link for link in meaning.links if link.port.path == port)
    tcp = (flow.mss_bytes + flow.header_bytes for flow in meaning.flows)
    longest = max([*tcp, *(flow.packet_bytes for flow in meaning.udp)])
    return duration(8 * longest / link.rate_bit_s)
