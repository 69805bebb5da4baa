"""One flow must fill its link: what a sender makes of a drop-tail queue, against the sawtooth of its growth.

Part of `docs/laws.py`. One endless flow, a router, a drop-tail queue of so many bandwidth-delay products
(BDP); the receiver's window is above path and queue together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from perhop.run.run import Result, run_jobs

RATES_MBIT_S = (10, 100)
RTTS_MS = (10, 50, 200)
QUEUES_BDP = (0.3, 1.0, 2.0, 3.0)
PACKET, ACK = 1500, 40
# of the wire; below a BDP less than what the sawtooth itself leaves
LEAST = 0.95
SLACK = 0.02
MOST_TIMEOUTS = 2
# left out of the measurement, and measured: more where a part of a sawtooth at the end would count
FIRST_TEETH, TEETH, TEETH_BELOW_BDP = 2, 4, 12
LEAST_TOOTH_S = 2.0

SENDERS: dict[str, str] = {
    "reno newreno": 'profile = "rfc", recovery = "newreno"',
    "reno sack": 'profile = "rfc", recovery = "sack"',
    "reno sack-1996": 'profile = "rfc", recovery = "sack-1996"',
    "cubic sack": 'profile = "rfc", cc = "cubic", recovery = "sack"',
    "linux": 'profile = "linux"',
    "default": 'profile = "default"',
}
"""Those that the law binds."""

SHOWN: dict[str, str] = {
    "reno tahoe": 'profile = "rfc", recovery = "tahoe"',
    "reno reno": 'profile = "rfc", recovery = "reno"',
    "cubic newreno": 'profile = "rfc", cc = "cubic", recovery = "newreno"',
    "cubic reno": 'profile = "rfc", cc = "cubic", recovery = "reno"',
}
"""Those that are shown beside them."""

MANY_TIMEOUTS = {("reno newreno", 100, 200, 3.0)}
"""Where RFC 5681, 6582 and 6298 together ask for more time-outs than the law permits; the page says why."""

SCENARIO = """
[run]
duration = "{duration_ms}ms"
interval = "{interval_ms}ms"
packet_size = "1500B"

[[node]]
name = "a"

[[node]]
name = "r"
kind = "router"

[[node]]
name = "b"

[[link]]
ends = ["a", "r"]
rate = "{access}Mbit/s"

[[link]]
ends = ["r", "b"]
rate = "{rate}Mbit/s"
delay = "{delay_us}us"

[[port]]
at = "a"
to = "r"
[[port.class]]
name = "all"
queue = {{ kind = "fifo", limit = "100000p" }}

[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = {{ kind = "fifo", limit = "{limit}p" }}

[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ {tcp}, mss = "{mss}B", window = "{window}B" }}
"""


@dataclass(frozen=True)
class Link:
    """A sender on a link: rate in Mbit/s, empty round trip in ms, queue in bandwidth-delay products."""

    sender: str
    rate: int
    rtt_ms: int
    queue_bdp: float

    @property
    def bound(self) -> bool:
        """Whether the law binds this sender."""
        return self.sender in SENDERS

    @property
    def path(self) -> float:
        """Packets that the path holds without its queue."""
        return self.rate * 1e6 * self.rtt_ms / 1e3 / (8 * PACKET)

    @property
    def limit(self) -> int:
        """Packets that the queue holds: the bandwidth-delay product, rounded, and at least one."""
        return max(1, round(self.queue_bdp * self.path))

    def sawtooth(self) -> tuple[float, float]:
        """Return the length of a sawtooth in seconds and the part of the link that it uses, in whole packets.

        A round trip of a window w sends w packets and takes the empty round trip, or w packets at the rate
        of the link. Reno (RFC 5681) adds a packet each round trip from half of what was lost at, CUBIC (RFC
        9438) follows the larger of its curve and its Reno estimate from 0.7 of it; a recovery is a round
        trip of the reduced window before that, and one packet of the last is lost.
        """
        packet_s = 8 * PACKET / (self.rate * 1e6)
        # empty: the data is transmitted twice, at ten times the rate and at the rate, and so is the ACK
        empty_s = self.rtt_ms / 1e3 + 1.1 * packet_s * (1 + ACK / PACKET)
        top = math.floor(empty_s / packet_s) + self.limit + 1
        # an ACK for every second packet keeps half a packet of the window at the receiver
        waiting = 0.5 if self.sender in ("linux", "default") else 0.0
        seconds, sent = 0.0, -1.0
        for window in _rounds(self.sender, top, empty_s, packet_s):
            seconds += max(empty_s, window * packet_s)
            sent += math.floor(window) - waiting
        return seconds, min(1.0, sent * packet_s / seconds)

    @property
    def least(self) -> float:
        """The utilization that the law asks for: 0.95, and below one BDP the sawtooth's own less 0.02."""
        return LEAST if self.queue_bdp >= 1 else min(LEAST, self.sawtooth()[1] - SLACK)

    def scenario(self) -> bytes:
        """Return the scenario: two sawtooths that do not count, then four; an interval is one."""
        tcp = (SENDERS | SHOWN)[self.sender]
        options = 12 if self.sender == "linux" else 0
        teeth = TEETH if self.queue_bdp >= 1 else TEETH_BELOW_BDP
        tooth = max(LEAST_TOOTH_S, self.sawtooth()[0])
        return SCENARIO.format(
            duration_ms=round(1000 * tooth) * (FIRST_TEETH + teeth),
            interval_ms=round(1000 * tooth),
            rate=self.rate,
            access=10 * self.rate,
            delay_us=500 * self.rtt_ms,
            limit=self.limit,
            tcp=tcp,
            mss=PACKET - 40 - options,
            window=math.ceil(2 * (self.path + self.limit + 20)) * PACKET,
        ).encode()


def _rounds(sender: str, top: int, rtt_s: float, packet_s: float) -> Iterator[float]:
    """Give the windows of a sawtooth that is lost at `top`, in packets, round trip by round trip."""
    if sender.split()[0] == "reno":
        yield max(1, top // 2)
        yield from range(max(1, top // 2), top + 1)
        return
    c, beta = 0.4, 0.7
    k = ((1 - beta) * top / c) ** (1 / 3)
    estimate = window = beta * top
    passed = 0.0
    yield window
    while window < top:
        yield window
        passed += max(rtt_s, window * packet_s)
        estimate += 3 * (1 - beta) / (1 + beta)
        window = max(estimate, c * (passed - k) ** 3 + top, window)
    yield top


def links(senders: Sequence[str], rates: Sequence[int], rtts_ms: Sequence[int]) -> list[Link]:
    """Return every queue for each of the senders, rates and round trips."""
    return [Link(s, rate, rtt, k) for s in senders for rate in rates for rtt in rtts_ms for k in QUEUES_BDP]


def measure(points: Sequence[Link], threads: int) -> list[dict[str, Any]]:
    """Run every link and return what came of it, in plain numbers."""
    # the longest first, so that no thread waits for one at the end
    order = sorted(range(len(points)), key=lambda i: -points[i].sawtooth()[0] * points[i].rate)
    jobs = [(points[i].scenario(), "laws-link.toml", []) for i in order]
    rows: dict[int, dict[str, Any]] = {}
    for i, result in zip(order, run_jobs(jobs, threads), strict=True):
        if result.invariants:
            raise RuntimeError(f"{points[i]}: {result.invariants}")
        rows[i] = _row(points[i], result)
    return [rows[i] for i in range(len(points))]


def _row(point: Link, result: Result) -> dict[str, Any]:
    flows = result.flows
    own = result.series.filter((pl.col("path") == "flow.f") & (pl.col("quantity") == "goodput_bit_s"))
    goodput = own["value"].to_list()[FIRST_TEETH:]
    payload = (PACKET - 40 - (12 if point.sender == "linux" else 0)) / PACKET
    return {
        "sender": point.sender,
        "rate_mbit_s": point.rate,
        "rtt_ms": point.rtt_ms,
        "queue_bdp": point.queue_bdp,
        "utilization": round(sum(goodput) / len(goodput) / (payload * point.rate * 1e6), 4),
        "least": round(point.least, 4),
        "timeouts": int(flows["timeouts"][0]),
        "repairs": int(flows["fast_retransmits"][0]),
        "bound": point.bound,
    }


def broken(row: dict[str, Any]) -> bool:
    """Return whether a row is outside the law, whoever it binds."""
    return row["utilization"] < row["least"] or row["timeouts"] > MOST_TIMEOUTS


def unexplained(row: dict[str, Any]) -> bool:
    """Return whether a row that the law binds is outside it, and not for a reason that the page gives."""
    place = (row["sender"], row["rate_mbit_s"], row["rtt_ms"], row["queue_bdp"])
    known = place in MANY_TIMEOUTS and row["utilization"] >= row["least"]
    return row["bound"] and broken(row) and not known
