"""Forms of single TCP flows: window and links, random losses, a token bucket that drops."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from perhop.models import throughput, token_bucket
from perhop.models.form import Estimate, Form
from perhop.models.network import Flow, Network, acks_for, other_tcp
from perhop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from perhop.scenario.scenario import ClassView, ConditionerView, LinkView

MOST = Form(
    name="most that window and links permit",
    quantity="goodput",
    unit="bit/s",
    formula="min(window / RTT, least rate x mss / (mss + header), least rate of ACKs x b x mss / ACK)",
    source="a window of data a round trip",
    range="endless flows and transfers; RTT of the empty path",
    bound=True,
)
WINDOW = Form(
    name="window limit",
    quantity="goodput",
    unit="bit/s",
    formula=MOST.formula + "; with delayed ACKs a window of whole pairs of segments",
    source=MOST.source,
    range="an endless flow alone on its links, nothing lost: FIFO queues that hold its window; once the "
    "window is open; within 1 % of simulation",
)
RENO = Form(
    name="TCP under loss: PFTK",
    quantity="goodput",
    unit="bit/s",
    formula="PFTK, the full model (31), less what is lost",
    source="Padhye, Firoiu, Towsley, Kurose 1998",
    range="Reno with plain recovery; RTT 20 to 200 ms; losses of 0.0001 to 0.1 with an ACK a segment, "
    "to 0.003 with delayed ACKs; least time-out at least a round trip; 0.9 to 1.25 of it is "
    "simulated (docs/tcp-laws.md)",
)
SACK = Form(
    name="TCP under loss: square root law",
    quantity="goodput",
    unit="bit/s",
    formula="sqrt(3 / (2 b p)) mss / RTT",
    source="Mathis, Semke, Mahdavi, Ott 1997",
    range="Reno's growth with SACK; RTT 20 to 200 ms; losses of 0.0001 to 0.01; 0.8 to 1.1 of it is "
    "simulated (docs/tcp-laws.md)",
)
CUBIC = Form(
    name="TCP under loss: CUBIC",
    quantity="goodput",
    unit="bit/s",
    formula="mean window of RFC 9438 section 5.1, x mss / RTT",
    source="RFC 9438 section 5",
    range="CUBIC with SACK, an ACK a segment; RTT 20 to 200 ms; losses of 0.0001 to 0.01; 0.95 to 1.2 "
    "of it is simulated, for losses come at random and not evenly (docs/tcp-laws.md)",
)
BUCKET = Form(
    name="TCP through a token bucket",
    quantity="goodput",
    unit="bit/s",
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


def most(network: Network) -> list[Estimate]:
    """Bound every flow by its window and its links."""
    given = []
    for flow in network.flows:
        if not (flow.there and flow.back):
            given.append(MOST.refuses(flow.view.name, "two ways are equally short", flow=True))
        else:
            given.append(MOST.gives(flow.view.name, _limit(flow), flow=True))
    return given


def window(network: Network) -> list[Estimate]:
    """Return the goodput of an undisturbed flow."""
    return [_one(WINDOW, flow, _disturbed(network, flow), _undisturbed) for flow in network.flows]


def loss(network: Network) -> list[Estimate]:
    """Return the goodput of a flow under random losses at a constant rate."""
    given = []
    for flow in network.flows:
        form = _law(flow)
        given.append(_one(form, flow, _not_by_loss(network, flow), partial(_lossy, network)))
    return given


def bucket(network: Network) -> list[Estimate]:
    """Return the goodput of a flow through a token bucket that drops."""
    return [
        _one(BUCKET, flow, _not_policed(network, flow), partial(_policed, network)) for flow in network.flows
    ]


def _one(form: Form, flow: Flow, why_not: str, value: Callable[[Flow], float]) -> Estimate:
    why_not = other_tcp(flow) or why_not
    if why_not:
        return form.refuses(flow.view.name, why_not, flow=True)
    return form.gives(flow.view.name, value(flow), flow=True)


def rtt(flow: Flow) -> float:
    """Return the round-trip time of the empty path, s."""
    full = flow.view.mss_bytes + flow.view.header_bytes
    there = sum(link.delay_s + 8.0 * full / link.rate_bit_s for link in flow.there)
    return there + sum(link.delay_s + 8.0 * ack_bytes(flow, link) / link.rate_bit_s for link in flow.back)


def ack_bytes(flow: Flow, link: LinkView) -> int:
    """Return the length of an ACK of a flow on a link."""
    return flow.view.header_bytes if link.pure_ack_bytes is None else link.pure_ack_bytes


def _undisturbed(flow: Flow) -> float:
    """Return the goodput of a flow alone; of an odd window one segment waits at the receiver."""
    b, mss = acks_for(flow), flow.view.mss_bytes
    return min(_limit(flow), 8.0 * (flow.view.window_bytes // mss // b * b * mss) / rtt(flow))


def _limit(flow: Flow) -> float:
    """Return the most that window, links and links of ACKs permit, bit/s of data."""
    view = flow.view
    share = view.mss_bytes / (view.mss_bytes + view.header_bytes)
    limits = [8.0 * view.window_bytes / rtt(flow), *(link.rate_bit_s * share for link in flow.there)]
    for link in flow.back:
        acked = ack_bytes(flow, link)
        if acked:
            limits.append(link.rate_bit_s / acked * acks_for(flow) * view.mss_bytes)
    return min(limits)


def _not_alone(network: Network, flow: Flow) -> str:
    """Return why a flow is not endless and alone on one way."""
    if not (flow.there and flow.back):
        return "two ways are equally short"
    if flow.view.has_application:
        return "an application says what it sends"
    if flow.view.size_bytes is not None or "arrivals" in flow.settings:
        return "it is a transfer that ends"
    others = network.sharing(flow)
    return f"it shares a link with {others}" if others else ""


def _disturbed(network: Network, flow: Flow) -> str:
    why = _not_alone(network, flow)
    if why:
        return why
    if network.losses(flow.there) != 0.0 or network.losses(flow.back) != 0.0:
        return "its links lose or mark packets"
    dropped = _dropping(network, flow)
    if dropped:
        return f"{dropped} may drop or delay"
    if acks_for(flow) > 1 and flow.view.window_bytes < 10 * flow.view.mss_bytes:
        return "with delayed ACKs a window below 10 segments waits for their timer"
    packets = flow.view.window_bytes / flow.view.mss_bytes
    for link in flow.there:
        for one in link.port.classes:
            why = _overflows(flow, link, one, packets)
            if why:
                return why
    return ""


def _overflows(flow: Flow, link: LinkView, one: ClassView, packets: float) -> str:
    """Return why a class of a port may drop packets of a window that waits there."""
    if one.queue != "fifo":
        return f"{link.port.path}.class.{one.name} drops by chance ({one.queue})"
    amount, unit = quantity(one.limit)
    full = flow.view.mss_bytes + flow.view.header_bytes
    held = amount / full if unit == "B" else amount
    pipe = link.rate_bit_s * rtt(flow) / 8.0 / full
    if packets > held + pipe:
        exceeds = f"exceeds {link.port.path} ({held:.0f}) and the path ({pipe:.0f})"
        return f"the window of {packets:.0f} packets {exceeds}: it overflows"
    return ""


def _dropping(network: Network, flow: Flow) -> str:
    """Name a conditioner on the way of data or ACKs that may drop or delay; empty without one."""
    return next((view.path for view, _ in _policers(network, flow)), "")


def _law(flow: Flow) -> Form:
    tcp = flow.settings["tcp"]
    if tcp["cc"] == "cubic":
        return CUBIC
    return RENO if tcp["recovery"] == "reno" else SACK


def _not_by_loss(network: Network, flow: Flow) -> str:
    """Return why no law of loss holds for a flow."""
    why = _not_alone(network, flow)
    if why:
        return why
    tcp = flow.settings["tcp"]
    p, acks = network.losses(flow.there), network.losses(flow.back)
    if p is None or acks is None:
        return "packets are lost in bursts, or chosen ones lost or marked, and not one by one at random"
    if p == 0.0:
        return "no link on its way loses data at random, and what queues will lose is not known beforehand"
    if acks > 0.0:
        return "ACKs are lost too"
    dropped = _dropping(network, flow)
    if dropped:
        return f"{dropped} may drop or delay"
    form = _law(flow)
    if form is not RENO and tcp["recovery"] != "sack":
        return f"it recovers with {tcp['recovery']}: the law is known to hold with sack alone"
    if form is CUBIC and acks_for(flow) > 1:
        return "ACKs are delayed: RFC 9438's function was held to an ACK a segment"
    top = MOST_LOSS["reno" if form is RENO else "other"][acks_for(flow) - 1]
    if not 0.999 * LEAST_LOSS <= p <= 1.001 * top:
        return f"a loss of {p:.3g} is outside {LEAST_LOSS:g} to {top:g}"
    time = rtt(flow)
    if not 0.99 * LEAST_RTT <= time <= 1.01 * MOST_RTT:
        return f"a round trip of {1000 * time:.3g} ms is outside 20 to 200 ms"
    if form is RENO and quantity(tcp["min_rto"])[0] < time:
        return "the least time-out is below a round trip: the first time-out is not known beforehand"
    rate = _lossy(network, flow)
    if rate > ROOM * _limit(flow):
        parts = f"{rate / 1e6:.3g} of {_limit(flow) / 1e6:.3g} Mbit/s"
        return f"it would fill more than half of what window and links permit ({parts})"
    return ""


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
    segments = flow.view.window_bytes / flow.view.mss_bytes
    return float(throughput.pftk(p, time, first, segments, b)) * (1.0 - p) * bits


def _policers(network: Network, flow: Flow) -> list[tuple[ConditionerView, dict[str, Any]]]:
    """Return the conditioners on a flow's way that may drop or delay, and their tables."""
    return [
        (view, table)
        for view, table in network.conditioners((*flow.there, *flow.back))
        if view.shaper or {"drop", "shape"} & {view.marker.green, view.marker.yellow, view.marker.red}
    ]


def _not_policed(network: Network, flow: Flow) -> str:
    """Return why the form of the token bucket does not hold for a flow."""
    why = _not_alone(network, flow)
    if why:
        return why
    met = _policers(network, flow)
    if not met:
        marks = [view.path for view, table in network.conditioners(flow.there) if "meter" in table]
        if marks:
            return (
                f"{marks[0]} marks and drops nothing: what queues lose of each mark is not known beforehand"
            )
        return "no token bucket on its way drops"
    if len(met) > 1:
        return "several conditioners drop or delay"
    (_, table), tcp = met[0], flow.settings["tcp"]
    marker, meter = table.get("marker", {}), table.get("meter", {})
    if "shaper" in table or meter.get("kind") != "token-bucket" or marker.get("red") != "drop":
        return f"conditioner.{table['name']} is no token bucket that drops"
    why = _other_packets(network, flow, table)
    if why:
        return why
    if tcp["cc"] != "reno" or tcp["recovery"] != "sack":
        return f"the sender is {tcp['cc']} with {tcp['recovery']}: the sawtooth is that of reno with sack"
    if network.losses(flow.there) != 0.0 or network.losses(flow.back) != 0.0:
        return "its links lose or mark packets"
    time, full = rtt(flow), flow.view.mss_bytes + flow.view.header_bytes
    tokens, depth = _profile(network, flow, table)
    if tokens * time < 10.0:
        return f"the tokens of a round trip are {tokens * time:.2g} packets, fewer than 10"
    if depth < tokens * time:
        least = f"the {tokens * time:.3g} of a round trip"
        return f"a depth of {depth:.3g} packets is below {least}: bursts empty the bucket"
    peak = max(tokens + (2.0 * depth / acks_for(flow)) ** 0.5 / time, 4.0 / 3.0 * tokens)
    if peak * full * 8.0 > min(link.rate_bit_s for link in flow.there) or peak * time > (
        flow.view.window_bytes / flow.view.mss_bytes
    ):
        return "window or links bound it before the bucket is empty"
    return ""


def _other_packets(network: Network, flow: Flow, table: dict[str, Any]) -> str:
    """Return why a token bucket does not police all data of a flow, and that alone."""
    name = f"conditioner.{table['name']}"
    if all(one is not table for _, one in network.conditioners(flow.there)):
        return f"{name} is on the way of the ACKs"
    if table.get("match", {}) not in ({}, {"kind": "data"}):
        return f"{name} has a match other than kind = data: what it polices is not known to be all data"
    if table["marker"].get("green") in ("drop", "shape"):
        return f"{name} drops or delays green packets too"
    return ""


def _profile(network: Network, flow: Flow, table: dict[str, Any]) -> tuple[float, float]:
    """Return tokens, packets/s, and depth, packets, of a meter for the packets of a flow."""
    full = flow.view.mss_bytes + flow.view.header_bytes
    amount, unit = quantity(table["meter"]["cbs"])
    depth = amount * network.packet_bytes / full if unit == "p" else amount / full
    return quantity(table["meter"]["cir"])[0] / 8.0 / full, depth


def _policed(network: Network, flow: Flow) -> float:
    """Return the goodput through the one token bucket on a flow's way, bit/s."""
    ((_, table),) = _policers(network, flow)
    tokens, depth = _profile(network, flow, table)
    return float(token_bucket.policed(tokens, depth, rtt(flow), acks_for(flow))) * 8.0 * flow.view.mss_bytes
