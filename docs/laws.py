"""Hold the simulated TCP against the laws of loss and throughput, and write what comes out.

.venv/bin/python docs/laws.py            the sweep: docs/tcp-laws.md, docs/tcp-laws.json, docs/img/laws-*.svg
.venv/bin/python docs/laws.py --check    the sweep; fail where a number differs from docs/tcp-laws.json
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from perhop import RESULTS_VERSION, Result, Scenario
from perhop.models import throughput
from perhop.run.run import run_jobs
from perhop.stats.intervals import Interval, mean_interval

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS / "tcp-laws.json"
COMMAND = ".venv/bin/python docs/laws.py"
LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)
CUBIC_LOSSES = LOSSES[:5]
# a single run each
CUBIC_EVEN_LOSSES = (1e-5, 3e-5, *CUBIC_LOSSES)
RTTS = (0.02, 0.2)
BAND = (0.8, 1.25)
SEEDS = 8
THREADS = 2
# in the measured time of one run, at least; the interval narrows with the root of the number of losses
LOSSES_A_RUN = 100
LEAST_SEGMENTS = 200_000
# evenly spaced losses settle into a cycle
EVEN_LOSSES = 30
MSS, HEADER = 1460, 40
WINDOW = 64 * 2**20
# profile rfc: srtt + 4 rttvar is below it on paths this short
MIN_RTO_S = 1.0

SCENARIO = """
[run]
duration = "{duration_ms}ms"
warmup = "{warmup_ms}ms"
interval = "{interval_ms}ms"

[[node]]
name = "a"

[[node]]
name = "b"

[[link]]
ends = ["a", "b"]
rate = "100Gbit/s"
delay = "{delay_us}us"
{losses}

[[port]]
at = "a"
to = "b"
[[port.class]]
name = "all"
queue = {{ kind = "fifo", limit = "1000000p" }}

[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ profile = "rfc", cc = "{cc}", recovery = "{recovery}", window = "64MiB", timestamps = {timestamps} }}
ack = {{ {ack} }}
"""


@dataclass(frozen=True)
class Point:
    """One set-up: how the sender works, the path, and how often it loses what.

    `b` is the number of segments an ACK is for; `even` losses come at every 1/p-th segment, others at random.
    """

    cc: str
    recovery: str
    rtt_s: float
    b: int
    p: float
    even: bool = False
    timestamps: bool = False

    def law(self) -> float:
        """Return the rate in segments/s by which the length of the run is chosen."""
        if self.cc == "cubic":
            return float(throughput.cubic_response(self.p, self.rtt_s)) / self.rtt_s
        return float(throughput.pftk(self.p, self.rtt_s, MIN_RTO_S, b=self.b))

    def scenario(self, losses: int = LOSSES_A_RUN) -> bytes:
        """Return the scenario; its measured time has at least about so many losses, where they are random."""
        segments = EVEN_LOSSES / self.p if self.even else max(losses / self.p, LEAST_SEGMENTS)
        measured_ms = 1000 * segments / self.law()
        warmup_ms = measured_ms * (0.5 if self.even else 0.1)
        return SCENARIO.format(
            duration_ms=round(measured_ms + warmup_ms),
            warmup_ms=round(warmup_ms),
            interval_ms=round((measured_ms + warmup_ms) / 200),
            delay_us=round(self.rtt_s / 2 * 1e6),
            losses=self._losses(),
            cc=self.cc,
            recovery=self.recovery,
            timestamps=str(self.timestamps).lower(),
            ack='policy = "every-segment"' if self.b == 1 else 'policy = "delayed", timeout = "200ms"',
        ).encode()

    def _losses(self) -> str:
        if not self.even:
            return f'loss = {{ "a->b" = {self.p:.9f} }}'
        # the first ends slow start near the window that the law gives
        first = round(2 * self.law() * self.rtt_s)
        listed = [first, *(first + round(k / self.p) for k in range(1, 3 * EVEN_LOSSES))]
        return f'drop = {{ flow = "f", packets = {[[n, 1] for n in listed]} }}'


@dataclass(frozen=True)
class Measured:
    """What the runs of a point gave: means over the seeds, rates in segments/s.

    Parameters
    ----------
    sent, sent_half
        Segments sent, repeats included, from those that arrived; half the 95 % interval.
    delivered, delivered_half
        Segments delivered in order.
    timeouts
        Part of the loss events that ended in a time-out.
    limited
        Part of the samples in which the receiver's window was the smaller one.
    """

    sent: float
    sent_half: float
    delivered: float
    delivered_half: float
    timeouts: float
    limited: float


def measure(points: Sequence[Point], seeds: int = SEEDS, losses: int = LOSSES_A_RUN) -> list[Measured]:
    """Run every point with every seed and reduce each point to its means; even losses need no second seed."""
    jobs, owners = [], []
    for place, point in enumerate(points):
        source = point.scenario(losses)
        for seed in range(1, 2 if point.even else seeds + 1):
            jobs.append((source, "laws.toml", [f"run.seed={seed}"]))
            owners.append(place)
    runs: list[list[Result]] = [[] for _ in points]
    for place, result in zip(owners, run_jobs(jobs, THREADS), strict=True):
        if result.invariants:
            raise RuntimeError(f"{points[place]}: {result.invariants}")
        runs[place].append(result)
    return [_reduced(point, inside) for point, inside in zip(points, runs, strict=True)]


def _reduced(point: Point, runs: Sequence[Result]) -> Measured:
    def per_run(column: str) -> np.ndarray:
        return np.array([float(run.flows[column][0]) for run in runs])

    lost = 0.0 if point.even else point.p
    sent = _mean(per_run("throughput_bit_s") / (8 * (MSS + HEADER)) / (1 - lost))
    delivered = _mean(per_run("goodput_bit_s") / (8 * MSS))
    timeouts, repairs = per_run("timeouts").sum(), per_run("fast_retransmits").sum()
    windows = np.concatenate([_windows(run) for run in runs])
    return Measured(
        sent=sent.mean,
        sent_half=sent.half_width,
        delivered=delivered.mean,
        delivered_half=delivered.half_width,
        timeouts=timeouts / max(1.0, timeouts + repairs),
        limited=float(np.mean(windows >= WINDOW)),
    )


def _mean(values: np.ndarray) -> Interval:
    """Return the mean with its interval; of a single value, which nothing random is in, one of no length."""
    only = float(values[0])
    return mean_interval(values) if len(values) > 1 else Interval(only, only, only, 1)


def _windows(run: Result) -> np.ndarray:
    return run.series.filter(pl.col("quantity") == "cwnd_bytes")["value"].to_numpy()


def outside(row: Mapping[str, Any]) -> bool:
    """Return whether any ratio of a row is outside the band."""
    return not all(BAND[0] <= ratio <= BAND[1] for ratio in row["ratios"].values())


def reno_points() -> list[Point]:
    """Return the points for Mathis and PFTK."""
    return [
        Point("reno", recovery, rtt, b, p)
        for recovery in ("reno", "sack")
        for rtt in RTTS
        for b in (1, 2)
        for p in LOSSES
    ]


def timestamp_points() -> list[Point]:
    """Return the points in which Karn's rule keeps the timer backed off, with the option that avoids it."""
    return [Point("reno", "sack", RTTS[0], b, LOSSES[-1], timestamps=True) for b in (1, 2)]


def all_points() -> list[Point]:
    """Return every point of the sweep, in the order of `docs/tcp-laws.json`."""
    return [*reno_points(), *timestamp_points(), *cubic_points()]


def cubic_points() -> list[Point]:
    """Return the points for CUBIC: losses evenly spaced, as the RFC takes them, and at random."""
    even = [Point("cubic", "sack", rtt, 1, p, True) for rtt in RTTS for p in CUBIC_EVEN_LOSSES]
    return even + [Point("cubic", "sack", rtt, 1, p) for rtt in RTTS for p in CUBIC_LOSSES]


def ratios(point: Point, found: Measured) -> dict[str, float]:
    """Return simulated over computed, by law.

    Mathis and RFC 9438 are about what is delivered, PFTK about what is sent.
    """
    if point.cc == "cubic":
        return {
            "rfc9438": found.delivered * point.rtt_s / float(throughput.cubic_response(point.p, point.rtt_s))
        }
    return {
        "mathis": found.delivered / float(throughput.mathis(point.p, point.rtt_s, point.b)),
        "pftk": found.sent / float(throughput.pftk(point.p, point.rtt_s, MIN_RTO_S, b=point.b)),
    }


def document(points: Sequence[Point]) -> dict[str, Any]:
    """Run the points and return what they gave, as it is kept in `docs/tcp-laws.json`."""
    # a script finds its neighbours; a test that imports this module needs none of them
    import laws_bbr
    import laws_link
    import laws_trace

    rows = [
        {
            **asdict(point),
            **{name: _rounded(value) for name, value in asdict(found).items()},
            "ratios": {law: _rounded(value) for law, value in ratios(point, found).items()},
        }
        for point, found in zip(points, measure(points), strict=True)
    ]
    for point, row in zip(points, rows, strict=True):
        if outside(row):
            # the first run once more, with its trace
            traced = Scenario(point.scenario(), "laws.toml", ("run.seed=1",)).run(trace=["tcp"]).trace["tcp"]
            why = asdict(laws_trace.anatomy(traced, point.rtt_s))
            row["why"] = {name: _rounded(value) for name, value in why.items()}
    senders = [*laws_link.SENDERS, *laws_link.SHOWN]
    links = laws_link.measure(laws_link.links(senders, laws_link.RATES_MBIT_S, laws_link.RTTS_MS), THREADS)
    return {
        "command": COMMAND,
        "results_version": RESULTS_VERSION,
        "seeds": SEEDS,
        "points": rows,
        "links": links,
        "bbr": laws_bbr.measure(laws_bbr.cells(), THREADS),
    }


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def _near(one: Any, other: Any) -> bool:
    """Return whether two documents are equal, but for the last digit of a number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return math.isclose(one, other, rel_tol=1e-4) if isinstance(one, float) else bool(one == other)


def main(arguments: list[str]) -> int:
    """Write the page, its pictures and its numbers, or compare the numbers."""
    import laws_bbr
    import laws_link
    import laws_page

    made = document(all_points())
    text = json.dumps(made, indent=1) + "\n"
    if "--check" in arguments:
        same = _near(json.loads(text), json.loads(RESULTS.read_text(encoding="utf-8")))
        print(f"{RESULTS.name}: {'the same numbers' if same else 'other numbers came out'}")
        idle = [row for row in made["links"] if laws_link.unexplained(row)]
        idle += filter(laws_bbr.broken, made["bbr"])
        print(*(f"does not fill its link: {row}" for row in idle), sep="\n")
        return 0 if same and not idle else 1
    RESULTS.write_text(text, encoding="utf-8")
    page = DOCS / "tcp-laws.md"
    page.write_text(laws_page.page(made, page.read_text(encoding="utf-8")), encoding="utf-8")
    laws_page.pictures(made, DOCS / "img")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
