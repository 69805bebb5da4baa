"""What the paper leaves open, swept: both ways of marking at every point, under common random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perhop.papers.laatu.setup import AVERAGINGS, RTT_MS, Marking, Setup
from perhop.stats.intervals import Interval, mean_interval

RTTS_MS = (5.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 400.0)
BACKGROUND_RTTS_MS = (5.0, 20.0, 50.0, 100.0, 200.0)
PACKETS = (256, 576, 1000, 1500)
FLOWS = (2, 4, 8, 16)
RATIOS = (1.0, 2.0, 4.0, 8.0)
DEPTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
QUANTITIES = ("total_fairness", "cir_utilization", "aggregate_throughput")


@dataclass(frozen=True)
class Point:
    """A point of a sweep: where it lies, and the set-up there but for the marking."""

    label: str
    value: float
    base: Setup

    def setup(self, marking: Marking) -> Setup:
        """Give the set-up with one way of marking."""
        return replace(self.base, marking=marking)


@dataclass(frozen=True)
class Sweep:
    """One thing varied.

    Attributes
    ----------
    id, title
        Short name, and what varies.
    axis
        Label of the horizontal axis; `words` where the points are words.
    points
        Along the axis.
    replications
        Runs of each way of marking at each point.
    """

    id: str
    title: str
    axis: str
    points: tuple[Point, ...]
    replications: int
    words: bool = False


@dataclass(frozen=True)
class SweepResult:
    """Quantities over the points of a sweep.

    Attributes
    ----------
    sweep
        What was varied.
    simulated
        By quantity and way of marking, one interval per point.
    difference
        By quantity, per-flow less aggregate, paired by replication.
    """

    sweep: Sweep
    simulated: dict[str, dict[Marking, list[Interval]]]
    difference: dict[str, list[Interval]]

    def verdict(self) -> str:
        """Say in a sentence where each claim's direction holds."""
        words = {
            "total_fairness": "per-flow marking is fairer",
            "cir_utilization": "it uses more of the committed rate",
            "aggregate_throughput": "its throughput is higher",
        }
        parts = []
        for quantity, intervals in self.difference.items():
            labels = [point.label for point in self.sweep.points]
            higher = [name for name, one in zip(labels, intervals, strict=True) if one.low > 0.0]
            lower = [name for name, one in zip(labels, intervals, strict=True) if one.high < 0.0]
            text = f"{words[quantity]} at {_listed(higher, labels)}"
            parts.append(text + (f", the reverse at {_listed(lower, labels)}" if lower else ""))
        return "; ".join(parts) + " (95 % intervals of the paired difference)."


def make_sweeps(replications: int) -> tuple[Sweep, ...]:
    """List all sweeps around the pack's defaults.

    Parameters
    ----------
    replications
        Runs of each way of marking at each point.
    """
    base = Setup("per-flow")

    def sweep(id_: str, title: str, axis: str, points: Sequence[Point], words: bool = False) -> Sweep:
        return Sweep(id_, title, axis, tuple(points), replications, words)

    return (
        sweep(
            "rtt",
            "Empty round-trip time of the measured flows",
            "round-trip time in ms",
            [Point(f"{rtt:g} ms", rtt, replace(base, rtts_ms=(rtt,))) for rtt in RTTS_MS],
        ),
        sweep(
            "rtt-constant",
            "The same beside a background of constant rate",
            "round-trip time in ms",
            [
                Point(f"{rtt:g} ms", rtt, replace(base, rtts_ms=(rtt,), background="constant"))
                for rtt in RTTS_MS
            ],
        ),
        sweep(
            "background-rtt",
            "Empty round-trip time of the background",
            "round-trip time in ms",
            [Point(f"{rtt:g} ms", rtt, replace(base, background_rtt_ms=rtt)) for rtt in BACKGROUND_RTTS_MS],
        ),
        sweep(
            "packet",
            "Packet size",
            "packet in byte",
            [Point(f"{size} B", float(size), replace(base, packet=size)) for size in PACKETS],
        ),
        sweep(
            "averaging",
            "Which backlog a virtual queue averages",
            "averaging",
            [
                Point(word, float(place), replace(base, averaging=word))
                for place, word in enumerate(AVERAGINGS)
            ],
            words=True,
        ),
        sweep(
            "tcp",
            "What the senders do about losses, and when receivers acknowledge",
            "recovery, acknowledgment",
            [
                Point(f"{recovery}, {ack}", float(place), replace(base, recovery=recovery, ack=ack))
                for place, (recovery, ack) in enumerate(
                    (
                        ("reno", "delayed"),
                        ("reno", "every-segment"),
                        ("newreno", "delayed"),
                        ("sack", "delayed"),
                    )
                )
            ],
            words=True,
        ),
        sweep(
            "flows",
            "Measured flows that share the customer's rates",
            "flows",
            [Point(f"{n} flows", float(n), replace(base, flows=n)) for n in FLOWS],
        ),
        sweep(
            "spread",
            "Unequal round-trip times: every second flow nearer",
            "ratio of round-trip times",
            [Point(f"{ratio:g} times", ratio, replace(base, rtts_ms=_spread(ratio))) for ratio in RATIOS],
        ),
        sweep(
            "depth",
            "Depth of the customer's buckets, against the paper's",
            "factor on CBS and PBS",
            [Point(f"{depth:g} times", depth, replace(base, depth=depth)) for depth in DEPTHS],
        ),
    )


def reduce_sweep(sweep: Sweep, values: Sequence[dict[str, float]]) -> SweepResult:
    """Put the numbers of a sweep's runs on its points.

    Parameters
    ----------
    sweep
        What was run.
    values
        Quantities of each run, in the order of the jobs: point, way of marking, replication.

    Raises
    ------
    ValueError
        If there is not one value per job.
    """
    n = sweep.replications
    if len(values) != 2 * n * len(sweep.points):
        raise ValueError(f"sweep {sweep.id}: {len(values)} values for {2 * n * len(sweep.points)} runs")
    simulated: dict[str, dict[Marking, list[Interval]]] = {}
    difference: dict[str, list[Interval]] = {}
    for quantity in QUANTITIES:
        ours: dict[Marking, list[Interval]] = {"per-flow": [], "aggregate": []}
        difference[quantity] = []
        for place in range(len(sweep.points)):
            first = 2 * n * place
            each = [one[quantity] for one in values[first : first + n]]
            together = [one[quantity] for one in values[first + n : first + 2 * n]]
            ours["per-flow"].append(mean_interval(each))
            ours["aggregate"].append(mean_interval(together))
            difference[quantity].append(mean_interval([a - b for a, b in zip(each, together, strict=True)]))
        simulated[quantity] = ours
    return SweepResult(sweep, simulated, difference)


def _spread(ratio: float) -> tuple[float, ...]:
    return (RTT_MS,) if ratio == 1.0 else (RTT_MS / ratio, RTT_MS)


def _listed(found: Sequence[str], labels: Sequence[str]) -> str:
    if not found:
        return "no point"
    return "every point" if len(found) == len(labels) else ", ".join(found)
