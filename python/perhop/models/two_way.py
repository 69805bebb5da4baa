"""Closed forms for two-way TCP over an asymmetric link.

Two nodes, a slow link one way and a fast link the other; one connection (or several) sends data over each,
and the ACKs of either share a link with the data of the other. The *slow* connection (``i`` in the paper)
sends its data over the slow link, the *fast* one (``j``) over the fast link. An *efficiency* is a
connection's throughput over the rate of the link that carries its data, so it lies in [0, 1].

Forms
-----
``"printed"``
    What the paper prints, errata included.
``"bounded"`` (the default everywhere)
    The same argument with the bounds the printed form leaves out, chiefly that no more ACKs can wait than the
    fast window holds. Each function says what it bounds. The bounded forms of FIFO with delay and of
    backpressure with a threshold above one are ours; the simulation judges them.

All bounded forms share one balance: where the slow link never idles, what its data do not use its ACKs do, so
``slow = 1 - fast * alpha / beta``. Apart from FIFO they leave out the slow connection's ACKs on the fast
link, which cost the fast connection at most ``t_j^a / t_i^d`` (4 % for 60-byte ACKs on equal links, below 0.3
% in the paper).

Units: rates in bit/s, sizes and windows in bytes, times in seconds. Everything broadcasts over NumPy arrays.

References
----------
.. [1] L. Kalampoukas, A. Varma, K. K. Ramakrishnan, "Improving TCP Throughput over Two-Way Asymmetric Links:
   Analysis and Solutions", UCSC-CRL-97-20, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from perhop.models.arrays import Floats, inside

Form = Literal["printed", "bounded"]


class Efficiencies(NamedTuple):
    """Efficiencies of both connections.

    Attributes
    ----------
    slow
        Throughput of the connection with data on the slow link, over that link's rate.
    fast
        Throughput of the connection with data on the fast link, over that link's rate.
    """

    slow: Floats
    fast: Floats


class Queues(NamedTuple):
    """Longest queues at both nodes, in data packets; ACKs are not counted."""

    slow: Floats
    fast: Floats


@dataclass(frozen=True)
class TwoWay:
    """The two links and the connections on them.

    Parameters
    ----------
    fast_rate, slow_rate
        Link rates, bit/s.
    fast_packet, slow_packet
        Data packets of the fast and of the slow connection as the links count them, bytes.
    ack
        A pure ACK as both links count it, bytes.
    fast_window, slow_window
        Window of one connection, bytes; only whole packets are sent.
    delay
        Propagation delay there and back, ``D_ij + D_ji``, s.
    connections
        Connections each way. Their windows add up.

    Raises
    ------
    ValueError
        If a value is not finite or not positive (`delay` may be 0), a window holds no packet, or shapes do
        not broadcast.
    """

    fast_rate: npt.ArrayLike
    slow_rate: npt.ArrayLike
    fast_packet: npt.ArrayLike
    slow_packet: npt.ArrayLike
    ack: npt.ArrayLike
    fast_window: npt.ArrayLike
    slow_window: npt.ArrayLike
    delay: npt.ArrayLike = 0.0
    connections: npt.ArrayLike = 1.0

    def __post_init__(self) -> None:
        """Convert every field to a float array and check it."""
        for field in fields(self):
            value = np.asarray(getattr(self, field.name), dtype=np.float64)
            low_enough = value < 0 if field.name == "delay" else value <= 0
            if np.any(low_enough) or not np.all(np.isfinite(value)):
                rule = "must not be negative" if field.name == "delay" else "must be positive"
                raise ValueError(f"TwoWay.{field.name} = {value}: {rule} and finite")
            object.__setattr__(self, field.name, value)
        np.broadcast_shapes(*(np.shape(getattr(self, field.name)) for field in fields(self)))
        for side in ("fast", "slow"):
            if np.any(self._window(side) < 1):
                raise ValueError(f"TwoWay.{side}_window: must hold at least one {side}_packet")

    @property
    def t_i_d(self) -> Floats:
        """Transmission time of a slow connection's data packet on the slow link, s."""
        return np.asarray(8.0 * np.asarray(self.slow_packet) / np.asarray(self.slow_rate))

    @property
    def t_i_a(self) -> Floats:
        """Transmission time of an ACK on the slow link, s."""
        return np.asarray(8.0 * np.asarray(self.ack) / np.asarray(self.slow_rate))

    @property
    def t_j_d(self) -> Floats:
        """Transmission time of a fast connection's data packet on the fast link, s."""
        return np.asarray(8.0 * np.asarray(self.fast_packet) / np.asarray(self.fast_rate))

    @property
    def t_j_a(self) -> Floats:
        """Transmission time of an ACK on the fast link, s."""
        return np.asarray(8.0 * np.asarray(self.ack) / np.asarray(self.fast_rate))

    @property
    def n_i(self) -> Floats:
        """Packets in the windows of all slow connections."""
        return np.asarray(np.asarray(self.connections) * self._window("slow"))

    @property
    def n_j(self) -> Floats:
        """Packets in the windows of all fast connections."""
        return np.asarray(np.asarray(self.connections) * self._window("fast"))

    @property
    def alpha(self) -> Floats:
        """Data packet time on the slow link over data packet time on the fast link (paper, section 2)."""
        return np.asarray(self.t_i_d / self.t_j_d)

    @property
    def beta(self) -> Floats:
        """Data packet time over ACK time, both on the slow link (paper, section 2)."""
        return np.asarray(self.t_i_d / self.t_i_a)

    def _window(self, side: str) -> Floats:
        """Compute the whole packets in the window of one connection."""
        window, packet = (np.asarray(getattr(self, f"{side}_{what}")) for what in ("window", "packet"))
        return np.asarray(np.floor(window / packet))


def ack_compression(p: TwoWay) -> npt.NDArray[np.bool_]:
    """Return whether the windows fill the round-trip pipe, so that ACKs bunch: (2.1).

    Every other function assumes that this holds.
    """
    return np.asarray(p.n_i * p.t_i_d + p.n_j * p.t_j_d > np.asarray(p.delay))


def fifo(p: TwoWay, form: Form = "bounded") -> Efficiencies:
    """Share one FIFO between data and ACKs at each node: Theorem 1, equation (2.2).

    Notes
    -----
    With ``x`` and ``y`` the times either window occupies its link, the three branches of (2.2) are one
    expression: the window's time over ``max(x, y, (x + y + D) / 2)``, the time of a round.

    Printed, ``x`` and ``y`` count data only. Bounded, the ACKs that share each queue are added:
    ``x = n_i t_i^d + n_j t_i^a``, ``y = n_j t_j^d + n_i t_j^a``. At zero delay, and with the slow link the
    busier, this is ``n_i t_i^d / (n_i t_i^d + n_j t_i^a)``; the other branches with ACK time are ours.

    Valid while (2.1) holds and nothing is lost.
    """
    slow_data, fast_data = p.n_i * p.t_i_d, p.n_j * p.t_j_d
    x, y = slow_data, fast_data
    if form == "bounded":
        x, y = x + p.n_j * p.t_i_a, y + p.n_i * p.t_j_a
    around = np.maximum(np.maximum(x, y), (x + y + np.asarray(p.delay)) / 2)
    return Efficiencies(np.asarray(slow_data / around), np.asarray(fast_data / around))


def max_queue(p: TwoWay) -> Queues:
    """Compute upper bounds of the longest queues under a shared FIFO: Theorem 2, (2.3).

    The bounds count data packets. ACKs wait in the same queues and come on top.
    """
    slow_time, fast_time = p.n_i * p.t_i_d, p.n_j * p.t_j_d
    delay = np.asarray(p.delay)

    def bound(own: Floats, other: Floats, window: Floats, packet_time: Floats) -> Floats:
        between = (own + other - delay) / packet_time
        cases = [own > other + delay, own >= other - delay]
        return np.asarray(np.select(cases, [window - delay / packet_time, between], window))

    return Queues(bound(slow_time, fast_time, p.n_i, p.t_i_d), bound(fast_time, slow_time, p.n_j, p.t_j_d))


def acks_behind_data(p: TwoWay) -> Floats:
    """Compute the ACKs that gather during a data packet of the slow link: ``N_a``, (4.2)."""
    return np.asarray(np.minimum(p.n_j, p.alpha))


def acks_before_next_data(p: TwoWay) -> Floats:
    """Compute the ACKs sent between two data packets when ACKs go first: (4.3).

    More arrive while the first are sent, a geometric series. Without limit where ``alpha >= beta``.
    """
    return _over_gap(p, acks_behind_data(p) * p.beta)


def ack_priority(p: TwoWay, form: Form = "bounded") -> Efficiencies:
    """Send ACKs first, without preemption: equations (4.1) and (4.5).

    Notes
    -----
    Both forms take the fast connection from (4.5). Printed, the slow one is (4.1), which assumes that the
    fast link is full; bounded, it is what the ACKs really sent leave over, ``1 - F_j alpha / beta``.

    Where ``alpha >= beta`` (an ACK takes the slow link at least as long as a data packet takes the fast one)
    the slow connection starves, and the fast one gets ``beta / alpha``. Zero delay.
    """
    ratio = p.alpha / p.beta
    gap = np.maximum(p.beta - p.alpha, 0.0)
    fast = np.where(ratio < 1, np.minimum(1.0, p.n_j / ratio / (gap + p.n_j)), 1.0 / ratio)
    used = fast * ratio if form == "bounded" else ratio
    return Efficiencies(np.asarray(np.where(ratio < 1, 1.0 - used, 0.0)), np.asarray(fast))


def backpressure(p: TwoWay, threshold: npt.ArrayLike = 1, form: Form = "bounded") -> Efficiencies:
    """Let at most `threshold` data packets per connection wait: Theorems 3 and 4, (5.5) to (5.13).

    Parameters
    ----------
    threshold
        Data packets per connection handed to the port and not yet fully sent, ``b_i``; at least 1.
    form
        Printed: Theorem 4, which for ``b_i = 1`` is Theorem 3. It describes one connection each way, and is
        evaluated per connection. Bounded: see below.

    Notes
    -----
    *Erratum.* The printed form chooses its branch by ``alpha / beta < 1`` and there lets the ACKs in front of
    a data packet grow without regard to the window; the paper's own numbers (0.56 and 0.48, 0.172 and 0.87,
    all with ``alpha / beta = 0.93``) need the bound.

    *Bounded.* ``T``, the ACK time in front of each data packet, is at most what a window of ACKs takes,
    shared by the data packets that travel through the queue with it. With ``b`` of those (thresholds of all
    connections added up, never more than the slow windows hold), a FIFO that always holds ``b`` data packets
    sends every item once per round, and a round carries ``b`` data packets and the fast window's ``n_j``
    ACKs::

        T = min(alpha / (beta - alpha), n_j / (b beta)) t_i^d    where alpha < beta
        T = n_j t_i^a / b                                        elsewhere
        F_i = t_i^d / (t_i^d + T)
        F_j = min(1, n_j t_j^d / (b (t_i^d + T)))

    For ``b = 1`` this is what the erratum asks for; for ``b > 1`` the derivation is ours. It says that a
    higher threshold *raises* the slow connection and *lowers* the fast one, against the text after Theorem 4,
    and it becomes the bounded FIFO as ``b`` reaches the slow window, as it must. Zero delay; the slow
    connection's ACKs on the fast link are left out.
    """
    ratio = p.alpha / p.beta
    if form == "printed":
        per_connection, per_flow_b = p._window("fast"), np.asarray(threshold, dtype=np.float64)
        slow = np.where(ratio < 1, 1.0 - ratio, p.beta / (per_connection + p.beta))
        below = per_connection / per_flow_b * (1.0 / p.alpha - 1.0 / p.beta)
        above = per_connection * p.beta / ((per_connection + p.beta * per_flow_b) * p.alpha)
        return Efficiencies(np.asarray(slow), np.asarray(np.minimum(1.0, np.where(ratio < 1, below, above))))
    b = np.minimum(np.asarray(p.connections) * np.asarray(threshold, dtype=np.float64), p.n_i)
    t = np.minimum(_over_gap(p, p.alpha), p.n_j / (b * p.beta)) * p.t_i_d
    slow = p.t_i_d / (p.t_i_d + t)
    fast = np.minimum(1.0, p.n_j * p.t_j_d / (b * (p.t_i_d + t)))
    return Efficiencies(np.asarray(slow), np.asarray(fast))


def backpressure_delay(p: TwoWay) -> Efficiencies:
    """Apply backpressure with a threshold of one and a delay, as printed: (5.14) and (5.15).

    Notes
    -----
    *Erratum.* At zero delay these do not become Theorem 3, and for small packets they leave [0, 1]. There is
    no bounded form: the simulation decides.

    ``L_j`` divides an unloaded round trip (the delay and the time of one slow data packet) by the time each
    packet of the fast connection costs where it is longest: itself on the fast link, or its ACK on the slow.
    """
    ratio = p.alpha / p.beta
    under_way = (np.asarray(p.delay) + p.t_i_d) / np.maximum(p.t_j_d, p.t_i_a)
    waiting = p.n_j - under_way
    filled = (ratio < 1) & (p.n_j > under_way)
    window_limited = p.n_j / under_way * np.minimum(1.0, 1.0 / ratio)
    slow = np.where(filled, 1.0 - ratio, 1.0 - window_limited * ratio)
    fast = np.where(filled, np.minimum(1.0, waiting * (1.0 / p.alpha - 1.0 / p.beta)), window_limited)
    return Efficiencies(np.asarray(slow), np.asarray(fast))


def acks_per_data(p: TwoWay, share: npt.ArrayLike) -> Floats:
    """Compute the ACKs per data packet that the share leaves room for: ``gamma``, (6.1)."""
    f = inside("share", share)
    return np.asarray((1.0 - f) / f * p.beta)


def bandwidth_allocation(p: TwoWay, share: npt.ArrayLike = 0.5, form: Form = "bounded") -> Efficiencies:
    """Guarantee data a `share` of the slow link by two byte counters: (6.2) to (6.5).

    Parameters
    ----------
    share
        ``f``, the fraction of the slow link for data, inside (0, 1).
    form
        Printed: ``min(n_j, gamma)`` ACKs per data packet, (6.2). Bounded: see below.

    Notes
    -----
    The printed form stops at one window of ACKs per data packet, but ACKs keep arriving while a burst of them
    is sent, which is the very correction of (4.3). Bounded, the ACKs available are those of (4.3), without
    limit where ``alpha >= beta``, and ``min(available, gamma)`` are sent per data packet. As `share` goes to
    0 this becomes the bounded form of `ack_priority`. Zero delay.
    """
    gamma = acks_per_data(p, share)
    per_data = np.minimum(p.n_j if form == "printed" else acks_before_next_data(p), gamma)
    fast = np.minimum(1.0, per_data * p.t_j_d / (per_data * p.t_i_a + p.t_i_d))
    return Efficiencies(np.asarray(p.beta / (per_data + p.beta)), np.asarray(fast))


def one_way(p: TwoWay) -> Floats:
    """Compute the efficiency of the fast connection when it is alone: section 3's window per round trip.

    The round trip is the delay plus one data packet and one ACK; the slow link's ACK rate bounds the rest.
    """
    round_trip = np.asarray(p.delay) + p.t_j_d + p.t_i_a
    return np.asarray(np.minimum(np.minimum(1.0, p.t_j_d / p.t_i_a), p.n_j * p.t_j_d / round_trip))


def _over_gap(p: TwoWay, numerator: Floats) -> Floats:
    """Compute ``numerator / (beta - alpha)``, infinite where the difference is not positive."""
    gap = p.beta - p.alpha
    return np.asarray(np.where(gap > 0, numerator / np.where(gap > 0, gap, 1.0), np.inf))
