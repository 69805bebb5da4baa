"""Forms of single TCP flows: window and links, random losses, a token bucket that drops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from perhop.models import throughput, token_bucket
from perhop.models.form import Estimate, Form
from perhop.models.network import Flow, Network, acks_for, other_tcp
from perhop.scenario.scenario import ClassView, ConditionerView, LinkView
from perhop.units import quantity

goodput = partial(Form, quantity="goodput", unit="bit/s")

MOST = goodput(
    name="most that window and links permit",
    formula="min(window / RTT, least rate x mss / (mss + header), least rate of ACKs x b x mss / ACK)",
    source="a window of data a round trip",
    range="endless flows and transfers; RTT of the empty path",
    bound=True,
)
WINDOW = goodput(
    name="window limit",
    formula=MOST.formula + "; with delayed ACKs a window of whole pairs of segments",
    source=MOST.source,
    range="an endless flow alone on its links, nothing lost: FIFO queues that hold its window; once the "
    "window is open; within 1 % of simulation",
)
RENO = goodput(
    name="TCP under loss: PFTK",
    formula="PFTK, the full model (31), less what is lost",
    source="Padhye, Firoiu, Towsley, Kurose 1998",
    range="Reno with plain recovery; RTT 20 to 200 ms; losses of 0.0001 to 0.1 with an ACK a segment, "
    "to 0.003 with delayed ACKs; least time-out at least a round trip; 0.9 to 1.25 of it is "
    "simulated (docs/tcp-laws.md)",
)
SACK = goodput(
    name="TCP under loss: square root law",
    formula="sqrt(3 / (2 b p)) mss / RTT",
    source="Mathis, Semke, Mahdavi, Ott 1997",
    range="Reno's growth with SACK; RTT 20 to 200 ms; losses of 0.0001 to 0.01; 0.8 to 1.1 of it is "
    "simulated (docs/tcp-laws.md)",
)
CUBIC = goodput(
    name="TCP under loss: CUBIC",
    formula="mean window of RFC 9438 section 5.1, x mss / RTT",
    source="RFC 9438 section 5",
    range="CUBIC with SACK, an ACK a segment; RTT 20 to 200 ms; losses of 0.0001 to 0.01; 0.95 to 1.2 "
    "of it is simulated, for losses come at random and not evenly (docs/tcp-laws.md)",
)
BUCKET = goodput(
    name="TCP through a token bucket",
    formula="min(CIR, 3/4 (CIR + sqrt(2 CBS / b) / RTT)) x mss / (mss + header), CIR and CBS in packets",
    source="ours (perhop.models.token_bucket), by the argument of Sahu, Nain, Diot, Firoiu, Towsley 2000",
    range="Reno's growth with SACK; one flow alone, a bucket that drops what is beyond; at least 10 "
    "packets of tokens a round trip, and a bucket at least as deep, for a window comes as a "
    "burst; links with room; 0.8 to 1.01 of it is simulated (docs/estimate.md)",
)
LEAST_LOSS, MOST_LOSS = 1e-4, {"reno": (0.1, 0.003), "other": (0.01, 0.01)}
LEAST_RTT, MOST_RTT = 0.02, 0.2
ROOM = 0.5
"""Part of a link that a flow under loss may fill: beyond, packets wait and the round trip is no constant."""


def of_flows(network: Network) -> Iterator[list[Estimate]]:
    """Go through the forms of single flows: bounds, undisturbed flows, random losses, token buckets."""
    for form, reasons, value in _FORMS:
        given = []
        for flow in network.flows:
            own, name, why = form or _law(flow), flow.view.name, next(reasons(network, flow), "")
            given.append(
                own.refuses(name, why, flow=True) if why else own.gives(name, value(network, flow), flow=True)
            )
        yield given


def rtt(flow: Flow) -> float:
    """Return the round-trip time of the empty path, s."""
    there = sum(link.delay_s + 8.0 * full_bytes(flow) / link.rate_bit_s for link in flow.there)
    return there + sum(link.delay_s + 8.0 * ack_bytes(flow, link) / link.rate_bit_s for link in flow.back)


def full_bytes(flow: Flow) -> int:
    """Return the length of a full segment of a flow, with its header."""
    return flow.view.mss_bytes + flow.view.header_bytes


def ack_bytes(flow: Flow, link: LinkView) -> int:
    """Return the length of an ACK of a flow on a link."""
    return flow.view.header_bytes if link.pure_ack_bytes is None else link.pure_ack_bytes


def held(limit: str, packet_bytes: float) -> float:
    """Return how many packets of a size a limit is."""
    amount, unit = quantity(limit)
    return amount / packet_bytes if unit == "B" else amount


def _segments(flow: Flow) -> float:
    """Return a flow's window in segments."""
    return flow.view.window_bytes / flow.view.mss_bytes


def _undisturbed(network: Network, flow: Flow) -> float:
    """Return the goodput of a flow alone; of an odd window one segment waits at the receiver."""
    b, mss = acks_for(flow), flow.view.mss_bytes
    return min(_limit(network, flow), 8.0 * (flow.view.window_bytes // mss // b * b * mss) / rtt(flow))


def _limit(_network: Network, flow: Flow) -> float:
    """Return the most that window, links and links of ACKs permit, bit/s of data."""
    view = flow.view
    share = view.mss_bytes / full_bytes(flow)
    limits = [8.0 * view.window_bytes / rtt(flow), *(link.rate_bit_s * share for link in flow.there)]
    for link in flow.back:
        if acked := ack_bytes(flow, link):
            limits.append(link.rate_bit_s / acked * acks_for(flow) * view.mss_bytes)
    return min(limits)


def _without_way(_network: Network, flow: Flow) -> Iterator[str]:
    if not (flow.there and flow.back):
        yield "two ways are equally short"


def _not_alone(network: Network, flow: Flow) -> Iterator[str]:
    """Go through why a flow is not perhop's own, endless and alone on one way."""
    if why := other_tcp(flow):
        yield why
    yield from _without_way(network, flow)
    if flow.view.has_application:
        yield "an application says what it sends"
    if flow.view.size_bytes is not None or "arrivals" in flow.settings:
        yield "it is a transfer that ends"
    if others := network.sharing(flow):
        yield f"it shares a link with {others}"


def _lossy_links(network: Network, flow: Flow) -> Iterator[str]:
    if network.losses(flow.there) != 0.0 or network.losses(flow.back) != 0.0:
        yield "its links lose or mark packets"


def _dropped(network: Network, flow: Flow) -> Iterator[str]:
    for view, _ in _policers(network, flow):
        yield f"{view.path} may drop or delay"


def _disturbed(network: Network, flow: Flow) -> Iterator[str]:
    yield from _not_alone(network, flow)
    yield from _lossy_links(network, flow)
    yield from _dropped(network, flow)
    if acks_for(flow) > 1 and flow.view.window_bytes < 10 * flow.view.mss_bytes:
        yield "with delayed ACKs a window below 10 segments waits for their timer"
    for link in flow.there:
        for one in link.port.classes:
            yield from _overflows(flow, link, one)


def _overflows(flow: Flow, link: LinkView, one: ClassView) -> Iterator[str]:
    """Go through why a class of a port may drop packets of a window that waits there."""
    if one.queue != "fifo":
        yield f"{link.port.path}.class.{one.name} drops by chance ({one.queue})"
    room, pipe = held(one.limit, full_bytes(flow)), link.rate_bit_s * rtt(flow) / 8.0 / full_bytes(flow)
    if _segments(flow) > room + pipe:
        exceeds = f"exceeds {link.port.path} ({room:.0f}) and the path ({pipe:.0f})"
        yield f"the window of {_segments(flow):.0f} packets {exceeds}: it overflows"


def _law(flow: Flow) -> Form:
    tcp = flow.settings["tcp"]
    if tcp["cc"] == "cubic":
        return CUBIC
    return RENO if tcp["recovery"] == "reno" else SACK


def _not_by_loss(network: Network, flow: Flow) -> Iterator[str]:
    """Go through why no law of loss holds for a flow."""
    yield from _not_alone(network, flow)
    tcp = flow.settings["tcp"]
    p, acks = network.losses(flow.there), network.losses(flow.back)
    if p is None or acks is None:
        yield "packets are lost in bursts, or chosen ones lost or marked, and not one by one at random"
        return
    if p == 0.0:
        yield "no link on its way loses data at random, and what queues will lose is not known beforehand"
    if acks > 0.0:
        yield "ACKs are lost too"
    yield from _dropped(network, flow)
    form = _law(flow)
    if form is not RENO and tcp["recovery"] != "sack":
        yield f"it recovers with {tcp['recovery']}: the law is known to hold with sack alone"
    if form is CUBIC and acks_for(flow) > 1:
        yield "ACKs are delayed: RFC 9438's function was held to an ACK a segment"
    top = MOST_LOSS["reno" if form is RENO else "other"][acks_for(flow) - 1]
    if not 0.999 * LEAST_LOSS <= p <= 1.001 * top:
        yield f"a loss of {p:.3g} is outside {LEAST_LOSS:g} to {top:g}"
    time = rtt(flow)
    if not 0.99 * LEAST_RTT <= time <= 1.01 * MOST_RTT:
        yield f"a round trip of {1000 * time:.3g} ms is outside 20 to 200 ms"
    if form is RENO and quantity(tcp["min_rto"])[0] < time:
        yield "the least time-out is below a round trip: the first time-out is not known beforehand"
    rate, most = _lossy(network, flow), _limit(network, flow)
    if rate > ROOM * most:
        parts = f"{rate / 1e6:.3g} of {most / 1e6:.3g} Mbit/s"
        yield f"it would fill more than half of what window and links permit ({parts})"


def _lossy(network: Network, flow: Flow) -> float:
    """Return the goodput by the law of a flow's kind, bit/s."""
    p, time, b = network.losses(flow.there), rtt(flow), acks_for(flow)
    assert p is not None
    form, bits = _law(flow), 8.0 * flow.view.mss_bytes
    if form is CUBIC:
        return float(throughput.cubic_response(p, time)) / time * bits
    if form is SACK:
        return float(throughput.mathis(p, time, b)) * bits
    first = quantity(flow.settings["tcp"]["min_rto"])[0]
    return float(throughput.pftk(p, time, first, _segments(flow), b)) * (1.0 - p) * bits


def _policers(network: Network, flow: Flow) -> list[tuple[ConditionerView, dict[str, Any]]]:
    """Return the conditioners on a flow's way that may drop or delay, and their tables."""
    return [
        (view, table)
        for view, table in network.conditioners((*flow.there, *flow.back))
        if view.shaper or {"drop", "shape"} & {view.marker.green, view.marker.yellow, view.marker.red}
    ]


def _not_policed(network: Network, flow: Flow) -> Iterator[str]:
    """Go through why the form of the token bucket does not hold for a flow."""
    yield from _not_alone(network, flow)
    met = _policers(network, flow)
    if not met:
        for view, table in network.conditioners(flow.there):
            if "meter" in table:
                lost = "what queues lose of each mark is not known beforehand"
                yield f"{view.path} marks and drops nothing: {lost}"
        yield "no token bucket on its way drops"
        return
    if len(met) > 1:
        yield "several conditioners drop or delay"
    (_, table), tcp = met[0], flow.settings["tcp"]
    marker, meter, name = table.get("marker", {}), table.get("meter", {}), f"conditioner.{table['name']}"
    if "shaper" in table or meter.get("kind") != "token-bucket" or marker.get("red") != "drop":
        yield f"{name} is no token bucket that drops"
    if all(one is not table for _, one in network.conditioners(flow.there)):
        yield f"{name} is on the way of the ACKs"
    if table.get("match", {}) not in ({}, {"kind": "data"}):
        yield f"{name} has a match other than kind = data: what it polices is not known to be all data"
    if marker.get("green") in ("drop", "shape"):
        yield f"{name} drops or delays green packets too"
    if tcp["cc"] != "reno" or tcp["recovery"] != "sack":
        yield f"the sender is {tcp['cc']} with {tcp['recovery']}: the sawtooth is that of reno with sack"
    yield from _lossy_links(network, flow)
    time = rtt(flow)
    tokens, depth = _profile(network, flow, table)
    if tokens * time < 10.0:
        yield f"the tokens of a round trip are {tokens * time:.2g} packets, fewer than 10"
    if depth < tokens * time:
        least = f"the {tokens * time:.3g} of a round trip"
        yield f"a depth of {depth:.3g} packets is below {least}: bursts empty the bucket"
    peak = max(tokens + (2.0 * depth / acks_for(flow)) ** 0.5 / time, 4.0 / 3.0 * tokens)
    slowest = min(link.rate_bit_s for link in flow.there)
    if peak * full_bytes(flow) * 8.0 > slowest or peak * time > _segments(flow):
        yield "window or links bound it before the bucket is empty"


def _profile(network: Network, flow: Flow, table: dict[str, Any]) -> tuple[float, float]:
    """Return tokens, packets/s, and depth, packets, of a meter for the packets of a flow."""
    full = full_bytes(flow)
    amount, unit = quantity(table["meter"]["cbs"])
    depth = amount * network.packet_bytes / full if unit == "p" else amount / full
    return quantity(table["meter"]["cir"])[0] / 8.0 / full, depth


def _policed(network: Network, flow: Flow) -> float:
    """Return the goodput through the one token bucket on a flow's way, bit/s."""
    ((_, table),) = _policers(network, flow)
    tokens, depth = _profile(network, flow, table)
    return float(token_bucket.policed(tokens, depth, rtt(flow), acks_for(flow))) * 8.0 * flow.view.mss_bytes


_Reasons = Callable[[Network, Flow], Iterator[str]]
_Value = Callable[[Network, Flow], float]

_FORMS: tuple[tuple[Form | None, _Reasons, _Value], ...] = (
    (MOST, _without_way, _limit),
    (WINDOW, _disturbed, _undisturbed),
    (None, _not_by_loss, _lossy),
    (BUCKET, _not_policed, _policed),
)
"""A form, by default the law of the flow; why it does not hold, of which the first counts; its value."""
