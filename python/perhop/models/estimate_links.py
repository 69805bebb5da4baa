"""Forms of links: crossing connections, random arrivals, overloaded classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perhop.models import queueing, two_way
from perhop.models.estimate_tcp import ack_bytes, full_bytes, goodput, held
from perhop.models.form import Estimate, Form
from perhop.models.network import Flow, Network, Udp, acks_for, other_tcp
from perhop.scenario.scenario import LinkView, PortView, SchedulerView
from perhop.units import counted

CROSSING = goodput(
    name="two-way efficiency",
    formula="efficiency (bounded form) x rate x mss / (mss + header) / connections each way",
    source="Kalampoukas, Varma, Ramakrishnan 1997, and perhop.models.two_way",
    range="endless TCP both ways over one link between two hosts, as many each way, an ACK a segment; FIFO "
    "the fast way; windows that fill the path and fit the queues; but for FIFO a delay of at most a tenth of "
    "a data packet's time on the slow link, and with priority or paired counters a fast window of at least "
    "40 packets; after the start, which takes minutes; within 0.03 of a link's rate (docs/estimate.md)",
)
RANDOM = Form(
    name="M/D/1",
    quantity="mean wait",
    unit="s",
    formula="load x packet time / (2 (1 - load))",
    source="Kleinrock 1975, (5.71)",
    range="the first link of a host that sends UDP at random (Poisson) in packets of one size, and no "
    "other data; FIFO; load up to 0.9; a queue that holds ten times the mean backlog",
)
OVERLOAD = Form(
    name="shares of an overloaded link",
    quantity="rate",
    unit="bit/s",
    formula="strict priority: the earlier class first; WRR, DRR, WFQ, CBQ: max-min by weight x "
    "packet, quantum, weight, share",
    source="Bertsekas and Gallager 1992, section 6.5.2; docs/elements of each scheduler",
    range="UDP alone, at constant bit rates that reach the link whole and exceed it together; CBQ "
    "classes neither bounded nor isolated, of one priority; within 1 % of simulation",
)
MOST_LOAD = 0.9
LEAST_WINDOW = 40


def of_links(network: Network) -> Iterator[list[Estimate]]:
    """Go through the forms of links: connections that cross, random arrivals, overloaded classes."""
    yield _crossing(network)
    yield _random_arrivals(network) if network.udp else [RANDOM.refuses("", "there is no UDP flow")]
    yield _overload(network) if network.udp else [OVERLOAD.refuses("", "there is no UDP flow")]


def _crossing(network: Network) -> list[Estimate]:
    """Give the goodput of connections that cross on an asymmetric link."""
    if why := next(_not_crossing(network), ""):
        return [CROSSING.refuses("", why)]
    slow, fast = sorted(network.described.links, key=lambda link: link.rate_bit_s)
    ups, downs = _by_link(network, slow), _by_link(network, fast)
    up, down = ups[0], downs[0]
    p = two_way.TwoWay(
        fast_rate=fast.rate_bit_s,
        slow_rate=slow.rate_bit_s,
        fast_packet=full_bytes(down),
        slow_packet=full_bytes(up),
        ack=ack_bytes(down, slow),
        fast_window=down.view.window_bytes / down.view.mss_bytes * full_bytes(down),
        slow_window=up.view.window_bytes / up.view.mss_bytes * full_bytes(up),
        delay=slow.delay_s + fast.delay_s,
        connections=len(ups),
    )
    form = _treatment(slow.port)
    if why := next(_outside(p, form, slow, fast), ""):
        return [CROSSING.refuses("", why)]
    efficiency = _efficiencies(p, form, slow.port)
    given = []
    for flows, link, part in ((ups, slow, efficiency.slow), (downs, fast, efficiency.fast)):
        for flow in flows:
            data = flow.view.mss_bytes / full_bytes(flow)
            value = float(part) * link.rate_bit_s * data / len(flows)
            given.append(CROSSING.gives(flow.view.name, value, flow=True))
    return given


def _by_link(network: Network, link: LinkView) -> list[Flow]:
    """Return the flows that send data over a link."""
    return [flow for flow in network.flows if flow.there == (link,)]


def _not_crossing(network: Network) -> Iterator[str]:
    """Go through why the scenario is not TCP both ways over one asymmetric link."""
    described = network.described
    if len(described.links) != 2:
        yield f"there are {len(described.links) // 2} links and not one"
    if described.udp or described.conditioners:
        yield "there are UDP flows" if described.udp else "there are conditioners"
    slow, fast = sorted(described.links, key=lambda link: link.rate_bit_s)
    ups, downs = _by_link(network, slow), _by_link(network, fast)
    if not ups or len(ups) != len(downs):
        yield f"{counted(len(ups), 'flow')} one way and {len(downs)} the other: not as many each way"
    if slow.rate_bit_s == fast.rate_bit_s:
        yield "the link is as fast both ways"
    if described.applications:
        yield "there are applications"
    if any("arrivals" in one.settings or one.view.size_bytes is not None for one in network.flows):
        yield "there are transfers that end"
    if network.losses(described.links) != 0.0:
        yield "the link loses or marks packets"
    yield from (f"{one.view.name}: {why}" for one in network.flows if (why := other_tcp(one)))
    if any(acks_for(one) > 1 for one in network.flows):
        yield "ACKs are delayed"
    for group in (ups, downs):
        if len({(one.view.mss_bytes, one.view.header_bytes, one.view.window_bytes) for one in group}) > 1:
            yield "flows of one way differ in segment or window"
    if ack_bytes(downs[0], slow) != ack_bytes(ups[0], fast) or not ack_bytes(downs[0], slow):
        yield "ACKs are not as long both ways, or have no length"
    if not _treatment(slow.port):
        ways = "shared FIFO, priority, backpressure, paired counters"
        yield f"{slow.port.path} treats ACKs in none of four ways: {ways}"
    if _treatment(fast.port) != "fifo":
        yield f"{fast.port.path} is no shared FIFO"


def _treatment(port: PortView) -> str:
    """Name how a port treats ACKs; empty where it is none of the four ways."""
    if any(one.queue != "fifo" or one.filters_acks for one in port.classes):
        return ""
    first, rest = port.classes[0], port.classes[1:]
    if not rest:
        return "fifo" if port.backpressure is None else "backpressure"
    apart = len(rest) == 1 and first.matches == ["pure-ack"] and port.backpressure is None
    if not apart or rest[0].matches not in (["any"], ["data"]):
        return ""
    if port.scheduler.kind == "paired-counter":
        return "paired-counter" if port.scheduler.data == rest[0].name else ""
    return "priority" if port.scheduler.kind == "strict-priority" else ""


def _outside(p: two_way.TwoWay, form: str, slow: LinkView, fast: LinkView) -> Iterator[str]:
    """Go through why parameters are outside the range of the forms."""
    if not two_way.ack_compression(p):
        yield "the windows do not fill the path, equation (2.1)"
    if form != "fifo" and slow.delay_s + fast.delay_s > 0.1 * float(p.t_i_d):
        yield "the delay is above a tenth of a data packet's time on the slow link: the form is for none"
    if form in ("priority", "paired-counter") and float(p.n_j) < LEAST_WINDOW:
        packets = counted(round(float(p.n_j)), "packet")
        yield f"the fast windows hold {packets}, fewer than {LEAST_WINDOW}: parts of ACKs count"
    longest = float(np.maximum(p.fast_packet, p.slow_packet))
    for link in (slow, fast):
        for one in link.port.classes:
            if (room := held(one.limit, longest)) < float(p.n_i + p.n_j):
                packets = counted(round(room), "packet")
                yield f"{link.port.path} holds {packets}, less than both windows: it overflows"


def _efficiencies(p: two_way.TwoWay, form: str, port: PortView) -> two_way.Efficiencies:
    if form == "fifo":
        return two_way.fifo(p)
    if form == "priority":
        return two_way.ack_priority(p)
    if form == "backpressure":
        return two_way.backpressure(p, port.backpressure or 1)
    return two_way.bandwidth_allocation(p, port.scheduler.share or 0.5)


def _random_arrivals(network: Network) -> list[Estimate]:
    """Give the mean wait at hosts that send UDP at random."""
    given = []
    for link in {one.there[0].name: one.there[0] for one in network.udp if one.there}.values():
        if why := next(_not_random(network, link), ""):
            given.append(RANDOM.refuses(link.name, why))
        else:
            given.append(RANDOM.gives(link.name, float(queueing.md1_wait(*_load(network, link)))))
    return given


def _load(network: Network, link: LinkView) -> tuple[float, float]:
    """Return a host link's load by UDP, and the packet time of its first flow, s."""
    streams = [one for one in network.udp if one.there and one.there[0] is link]
    rate = sum(one.view.rate_bit_s for one in streams)
    return rate / link.rate_bit_s, 8.0 * streams[0].view.packet_bytes / link.rate_bit_s


def _not_random(network: Network, link: LinkView) -> Iterator[str]:
    """Go through why the first link of a host is no M/D/1 queue."""
    if any(isinstance(one, Flow) for one in network.users(link)):
        yield "TCP shares it"
    users = _crossed_by(network, link)
    if any(one.settings["pattern"]["kind"] != "poisson" for one in users):
        yield "packets do not all come at random"
    if len({one.view.packet_bytes for one in users}) > 1:
        yield "packets have several sizes"
    if len(link.port.classes) > 1 or link.port.classes[0].queue != "fifo":
        yield "it is no FIFO queue"
    if network.loss(link) != 0.0:
        yield "packets are lost before it"
    load, _ = _load(network, link)
    if load > MOST_LOAD:
        yield f"its load is {load:.3g}, above {MOST_LOAD:g}"
    room = held(link.port.classes[0].limit, users[0].view.packet_bytes)
    if room < 10.0 * max(1.0, load**2 / (2.0 * (1.0 - load))):
        yield f"its queue holds {counted(round(room), 'packet')}, less than ten times the mean backlog"


def _overload(network: Network) -> list[Estimate]:
    """Give the rate of each class of links that are offered more than they carry."""
    given: list[Estimate] = []
    for link in network.described.links:
        streams = _crossed_by(network, link)
        if sum(one.view.rate_bit_s for one in streams) > link.rate_bit_s:
            given += _shares(network, link, streams)
    return given or [OVERLOAD.refuses("", "no link is offered more than it carries by UDP alone")]


def _crossed_by(network: Network, link: LinkView) -> list[Udp]:
    """Return the UDP flows over a link."""
    return [one for one in network.udp if link in one.there]


def _shares(network: Network, link: LinkView, streams: Sequence[Udp]) -> list[Estimate]:
    if why := next(_not_fluid(network, link, streams), ""):
        return [OVERLOAD.refuses(link.name, why)]
    classes = link.port.classes
    offered, packets = [0.0] * len(classes), [0] * len(classes)
    for one in streams:
        place = _class_of(link.port, one.view.mark)
        assert place is not None
        offered[place] += one.view.rate_bit_s
        packets[place] = one.view.packet_bytes
    scheduler = link.port.scheduler
    if scheduler.kind == "strict-priority":
        rates = queueing.priority_shares(offered, link.rate_bit_s)
    else:
        rates = queueing.weighted_shares(offered, _weights(scheduler, packets), link.rate_bit_s)
    names = [f"{link.port.path}.class.{one.name}" for one in classes]
    return [OVERLOAD.gives(name, rate) for name, rate in zip(names, rates, strict=True)]


def _weights(scheduler: SchedulerView, packets: Sequence[int]) -> list[float]:
    if scheduler.kind == "wrr":
        return [weight * size for weight, size in zip(scheduler.weights or [], packets, strict=True)]
    return [float(part) for part in scheduler.quanta_bytes or scheduler.weights or scheduler.shares or []]


def _class_of(port: PortView, mark: str) -> int | None:
    """Return the place of the class that data with a mark belongs to; None without one."""
    found = (place for place, one in enumerate(port.classes) if {"any", "data", mark} & set(one.matches))
    return next(found, None)


def _not_fluid(network: Network, link: LinkView, streams: Sequence[Udp]) -> Iterator[str]:
    """Go through why the classes of an overloaded link have no known shares."""
    if any(isinstance(one, Flow) for one in network.users(link)):
        yield "TCP shares it"
    if any(one.settings["pattern"]["kind"] != "cbr" for one in streams):
        yield "not all of it comes at a constant bit rate"
    for one in streams:
        for before in one.there[: one.there.index(link)]:
            load = sum(other.view.rate_bit_s for other in _crossed_by(network, before))
            if load > before.rate_bit_s or network.loss(before) != 0.0:
                yield f"{one.view.name} does not reach it whole: {before.name}"
        if network.conditioners(one.there):
            yield f"{one.view.name} passes a conditioner"
    if network.loss(link) != 0.0:
        yield "packets are lost before it"
    port = link.port
    kind = port.scheduler.kind
    if kind not in ("strict-priority", "wrr", "drr", "wfq", "cbq"):
        yield f"its scheduler is {kind}"
    sizes: dict[int, set[int]] = {}
    for one in streams:
        place = _class_of(port, one.view.mark)
        if place is None:
            yield f"{port.path} has no class for {one.view.name}, marked {one.view.mark}"
            return
        sizes.setdefault(place, set()).add(one.view.packet_bytes)
    if kind == "wrr" and any(len(own) > 1 for own in sizes.values()):
        yield "WRR counts packets, and those of a class have several sizes"
    if kind == "cbq" and any(_does_more_than_share(one["class"]) for one in network.ports(port)):
        yield "its CBQ has bounded or isolated classes, or several priorities"


def _does_more_than_share(classes: list[dict[str, Any]]) -> bool:
    """Return whether classes of CBQ do more than share by weight."""
    priorities = {one.get("priority", 0) for one in classes}
    return len(priorities) > 1 or any(one.get("bounded") or one.get("isolated") for one in classes)
