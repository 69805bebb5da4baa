"""One BBR flow must fill its link behind a FIFO of any size and behind today's queues.

Part of `docs/laws.py`. One endless flow, a router, a queue; 20 s are not measured, then six searches for the
least round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.run.run import Result, run_jobs

RATES_MBIT_S = (10, 100)
RTTS_MS = (10, 50, 200)
PACKET, PAYLOAD = 1500, 1448
# a search costs a fifth of a second and a round trip or two each ten seconds
LEAST = 0.94

QUEUES: dict[str, str] = {
    "FIFO, 0.3 BDP": 'kind = "fifo", limit = "{third}p"',
    "FIFO, 1 BDP": 'kind = "fifo", limit = "{one}p"',
    "FIFO, 3 BDP": 'kind = "fifo", limit = "{three}p"',
    "CoDel": 'kind = "codel"',
    "FQ-CoDel": 'kind = "fq"',
    "PIE": 'kind = "pie"',
    "DualPI2": 'kind = "dualpi2"',
}

SCENARIO = """
[run]
duration = "80s"
warmup = "20s"

[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"

[[link]]
ends = ["a", "r"]
rate = "1Gbit/s"
[[link]]
ends = ["r", "b"]
rate = "{rate}Mbit/s"
delay = "{delay_us}us"

[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = {{ {queue} }}

[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ profile = "linux", cc = "bbr", mss = "{mss}B", window = "{window}B" }}
"""


@dataclass(frozen=True)
class Cell:
    """A queue before a link: rate in Mbit/s, empty round trip in ms."""

    queue: str
    rate: int
    rtt_ms: int

    def scenario(self) -> bytes:
        """Return the scenario, with queues in packets of the path."""
        path = self.rate * 1e6 * self.rtt_ms / 1e3 / (8 * PACKET)
        packets = {
            name: max(1, round(part * path)) for name, part in (("third", 0.3), ("one", 1), ("three", 3))
        }
        return SCENARIO.format(
            rate=self.rate,
            delay_us=500 * self.rtt_ms,
            queue=QUEUES[self.queue].format(**packets),
            mss=PAYLOAD,
            window=round(10 * path + 100) * PACKET,
        ).encode()


def cells(rates: Sequence[int] = RATES_MBIT_S, rtts_ms: Sequence[int] = RTTS_MS) -> list[Cell]:
    """Return every queue for each rate and round trip."""
    return [Cell(queue, rate, rtt) for rate in rates for rtt in rtts_ms for queue in QUEUES]


def measure(asked: Sequence[Cell], threads: int) -> list[dict[str, Any]]:
    """Run cells and return the part of what the link carries that arrives, and what is lost."""
    results = run_jobs([(one.scenario(), "laws-bbr.toml", []) for one in asked], threads)
    return [_row(one, result) for one, result in zip(asked, results, strict=True)]


def _row(cell: Cell, result: Result) -> dict[str, Any]:
    if result.invariants:
        raise RuntimeError(f"{cell}: {result.invariants}")
    flow, own = result.flows.row(0, named=True), result.classes.row(0, named=True)
    return {
        "queue": cell.queue,
        "rate_mbit_s": cell.rate,
        "rtt_ms": cell.rtt_ms,
        "utilization": round(flow["goodput_bit_s"] * PACKET / PAYLOAD / (cell.rate * 1e6), 4),
        "lost": round(own["dropped_packets"] / own["offered_packets"], 5),
    }


def broken(row: dict[str, Any]) -> bool:
    """Return whether a row is outside the law."""
    return bool(row["utilization"] < LEAST)
