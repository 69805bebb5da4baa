"""Which closed form of two-way TCP a scenario has, and with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from perhop.models import two_way
from perhop.scenario.scenario import FlowView, PortView, Scenario
from perhop.units import counted

Scheme = Literal["fifo", "ack-priority", "backpressure", "bandwidth-allocation"]


@dataclass(frozen=True)
class Setup:
    """Two nodes, a link between them, and equal connections in each direction.

    Attributes
    ----------
    scheme
        How the slow node, whose outgoing link is the slower one, treats ACKs.
    fast_rate, slow_rate
        Link rates, bit/s.
    fast_packet, slow_packet, ack
        Data packets of either connection and an ACK, bytes.
    fast_window, slow_window
        Window of one connection, bytes, in whole packets.
    threshold
        Backpressure: data packets per connection, ``b``; None without.
    share
        Bandwidth allocation: share of the slow link for data, ``f``; None without.
    delay
        Propagation delay there and back, s.
    """

    scheme: Scheme
    fast_rate: float
    slow_rate: float
    fast_packet: int
    slow_packet: int
    ack: int
    fast_window: int
    slow_window: int
    threshold: int | None
    share: float | None
    delay: float
    connections: int
    alone: bool

    @classmethod
    def of(cls, scenario: Scenario) -> Setup:
        """Read a scenario; of two equal links the second counts as the fast one.

        Parameters
        ----------
        scenario
            With the packet sizes that its links carry: ``pure_ack_size`` is given.

        Raises
        ------
        ValueError
            It is not of this kind, with the reason; or a scenario has mistakes.
        """
        meaning = scenario.describe()
        if len(meaning.links) != 2:
            links = counted(len(meaning.links), "link")
            raise ValueError(f"{scenario.name}: {links}; the closed forms are about two")
        slow, fast = sorted(meaning.links, key=lambda link: link.rate_bit_s)
        if slow.pure_ack_bytes is None:
            raise ValueError(f"{scenario.name}: the slow link gives no pure_ack_size")
        down = _equal(scenario.name, [flow for flow in meaning.flows if flow.source == fast.source])
        up = _equal(scenario.name, [flow for flow in meaning.flows if flow.source == slow.source])
        if not down or (up and len(up) != len(down)):
            there = counted(len(up), "connection")
            raise ValueError(f"{scenario.name}: {there} one way and {len(down)} the other")
        port, own = slow.port, (up or down)[0]
        return cls(
            scheme=_scheme(port),
            fast_rate=fast.rate_bit_s,
            slow_rate=slow.rate_bit_s,
            fast_packet=_packet(down[0]),
            slow_packet=_packet(own),
            ack=slow.pure_ack_bytes,
            fast_window=down[0].window_bytes // down[0].mss_bytes * _packet(down[0]),
            slow_window=own.window_bytes // own.mss_bytes * _packet(own),
            threshold=port.backpressure,
            share=port.scheduler.share,
            delay=slow.delay_s + fast.delay_s,
            connections=len(down),
            alone=not up,
        )

    def model(self) -> two_way.TwoWay:
        """Give the parameters of the closed forms."""
        return two_way.TwoWay(**{one.name: getattr(self, one.name) for one in fields(two_way.TwoWay)})

    def closed_form(self, form: two_way.Form) -> two_way.Efficiencies | None:
        """Evaluate the closed form of this set-up's scheme.

        Returns
        -------
        Efficiencies or None
            None where the paper has no such form: with propagation delay only FIFO has both forms, and
            backpressure with a threshold of one the printed form alone.
        """
        p = self.model()
        if self.alone:
            fast = two_way.one_way(p)
            return two_way.Efficiencies(0.0 * fast, fast)
        if self.scheme == "fifo":
            return two_way.fifo(p, form)
        if self.delay > 0:
            known = self.threshold == 1 and form == "printed"
            return two_way.backpressure_delay(p) if known else None
        if self.threshold is not None:
            return two_way.backpressure(p, self.threshold, form)
        if self.share is not None:
            return two_way.bandwidth_allocation(p, self.share, form)
        return two_way.ack_priority(p, form)


def _equal(name: str, flows: Sequence[FlowView]) -> Sequence[FlowView]:
    """Refuse flows of one direction with unequal settings that the closed forms take as equal."""
    if len({(flow.mss_bytes, flow.header_bytes, flow.window_bytes) for flow in flows}) > 1:
        raise ValueError(f"{name}: the connections from {flows[0].source} differ in mss, header or window")
    return flows


def _packet(flow: FlowView) -> int:
    return flow.mss_bytes + flow.header_bytes


def _scheme(port: PortView) -> Scheme:
    if port.backpressure is not None:
        return "backpressure"
    if port.scheduler.kind == "paired-counter":
        return "bandwidth-allocation"
    return "ack-priority" if len(port.classes) > 1 else "fifo"
