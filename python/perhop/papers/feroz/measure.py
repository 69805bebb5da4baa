"""From the engine's results to the quantities of the study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.papers.feroz.plan import INTERVAL_S, Case, Plan, Sweep
from perhop.papers.readings import Reading
from perhop.papers.study import check_count
from perhop.run import Result
from perhop.stats.intervals import Interval, mean_interval

Floats = npt.NDArray[np.float64]

BOTTLENECK = "port.r2-r3."
ASSURED = "assured"

UNITS = {
    "timeouts": "1",
    "losses_per_s": "packets/s",
    "goodput": "B/s",
    "cov": "1",
    "obtained": "Mbit/s",
    "obtained_share": "1",
    "losses_in": "packets/s",
    "losses_out": "packets/s",
    "completion_mean": "s",
    "completion_p95": "s",
    "completed": "1",
    "unfinished": "1",
    "short_over_long": "1",
    "gaps_kept": "1",
    "gap_excess": "packets",
}
"""Unit of each quantity."""


@dataclass(frozen=True)
class Numbers:
    """What is kept of a run.

    Attributes
    ----------
    flows
        Names.
    goodput_bit_s, timeouts
        Per flow.
    time_s
        From the first byte to the last, per flow; NaN for one that did not complete.
    began
        Whether a flow began within the run.
    dropped, dropped_in, dropped_out
        Packets lost at the bottleneck: all, green, all others.
    trace
        The packet trace, where there is one.
    """

    flows: tuple[str, ...]
    goodput_bit_s: Floats
    timeouts: int
    time_s: Floats
    began: npt.NDArray[np.bool_]
    dropped: int
    dropped_in: int
    dropped_out: int
    trace: pl.DataFrame | None


def numbers(result: Result) -> Numbers:
    """Keep of a run what the study needs."""
    flows, queues = result.flows, result.queues
    bottleneck = queues.filter(pl.col("path").str.starts_with(BOTTLENECK))

    def total(column: str) -> int:
        return int(bottleneck[column].sum())

    completed = np.asarray(flows["completed_s"], dtype=np.float64)
    start = np.asarray(flows["start_s"], dtype=np.float64)
    dropped, dropped_in = total("dropped_packets"), total("dropped_green")
    return Numbers(
        tuple(flows["name"]),
        np.asarray(flows["goodput_bit_s"], dtype=np.float64),
        int(np.asarray(flows["timeouts"]).sum()),
        completed - start,
        np.asarray(flows["segments_sent"]) > 0,
        dropped,
        dropped_in,
        dropped - dropped_in,
        result.trace.get("packets"),
    )


@dataclass(frozen=True)
class Measurements:
    """Quantities of every case, one value per replication.

    Attributes
    ----------
    cases
        What was run, by id.
    values
        Per case id and quantity, the replications' values; NaN where a run gives none.
    fitted
        Tables that the calibration fitted.
    """

    cases: dict[str, Case]
    values: dict[str, dict[str, Floats]]
    fitted: frozenset[str]

    def interval(self, case: str, quantity: str) -> Interval | None:
        """Mean and 95 % interval of one quantity; None where a replication has no value of it."""
        found = self.values[case][quantity]
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    def mean(self, case: str, quantity: str) -> float:
        """Mean over the replications; NaN where one has no value."""
        return float(self.values[case][quantity].mean())


@dataclass(frozen=True)
class SweepResult:
    """A table under each value of a parameter: per value and case id, the mean of each quantity."""

    sweep: Sweep
    means: tuple[dict[str, dict[str, float]], ...]


@dataclass(frozen=True)
class Reduced:
    """What the runs of a plan come to: as fitted, over the sweeps, and under each reading."""

    fitted: Measurements
    swept: tuple[SweepResult, ...]
    readings: tuple[tuple[Reading, Measurements], ...]


def measure(plan: Plan, kept: Sequence[Numbers]) -> Reduced:
    """Reduce what was kept of a plan's runs, in the order of its jobs.

    Raises
    ------
    ValueError
        If there is not one result per job.
    """
    check_count(plan.jobs, kept)
    runs = iter(kept)
    fitted = frozenset(plan.search.fit)

    def measurements(cases: Sequence[Case]) -> Measurements:
        values = {
            case.id: _case_values(case, [next(runs) for _ in range(case.replications)]) for case in cases
        }
        return Measurements({case.id: case for case in cases}, values, fitted)

    main = measurements(plan.cases)
    swept = []
    for sweep in plan.sweeps:
        means = []
        for _ in sweep.values:
            found = measurements(sweep.cases).values
            means.append(
                {id_: {name: float(each.mean()) for name, each in own.items()} for id_, own in found.items()}
            )
        swept.append(SweepResult(sweep, tuple(means)))
    readings = tuple((one.reading, measurements(one.cases)) for one in plan.judged)
    return Reduced(main, tuple(swept), readings)


def _case_values(case: Case, runs: Sequence[Numbers]) -> dict[str, Floats]:
    each = [quantities(case, run) for run in runs]
    return {name: np.array([one[name] for one in each]) for name in each[0]}


def quantities(case: Case, run: Numbers) -> dict[str, float]:
    """Reduce one run.

    Returns
    -------
    dict
        Time-outs of all flows; losses at the bottleneck, all, of IN and of OUT packets; goodput of a flow in
        bytes per second and its coefficient of variation (population) over the flows. With an assured flow,
        what it obtains in Mbit/s and over its promised rate, the rest for the others. With short transfers,
        how many completed and how many of those that began did not, the mean time of those that completed,
        and the time within which 95 % of those that began did; NaN where there is none. With a trace, how
        well the marks keep their spacing.
    """
    is_assured = np.array([name == ASSURED for name in run.flows])
    others = run.goodput_bit_s[~is_assured] / 8
    found = {
        "timeouts": float(run.timeouts),
        "losses_per_s": run.dropped / case.duration_s,
        "losses_in": run.dropped_in / case.duration_s,
        "losses_out": run.dropped_out / case.duration_s,
    }
    if case.figure == "short":
        took = run.time_s[np.isfinite(run.time_s)]
        found["completed"] = float(len(took))
        found["unfinished"] = float(run.began.sum() - len(took))
        found["completion_mean"] = float(took.mean()) if len(took) else math.nan
        # one that did not finish took longer than any that did
        endless = np.where(np.isfinite(run.time_s), run.time_s, math.inf)[run.began]
        p95 = float(np.quantile(endless, 0.95, method="higher")) if len(endless) else math.nan
        found["completion_p95"] = p95 if math.isfinite(p95) else math.nan
        return found
    found["goodput"] = float(others.mean())
    found["cov"] = float(others.std() / others.mean()) if others.mean() > 0 else math.nan
    if case.assured_bit_s is not None:
        obtained = float(run.goodput_bit_s[is_assured].sum())
        found["obtained"] = obtained / 1e6
        found["obtained_share"] = obtained / case.assured_bit_s
    if case.figure == "rtt":
        groups = others.reshape(-1, 5)
        far = float(groups[:, -1].sum())
        found["short_over_long"] = float(groups[:, 0].sum()) / far if far > 0 else math.nan
    if case.figure == "spacing" and run.trace is not None and case.meter.tokens is not None:
        kept, excess = spacing_kept(flow_marks(run.trace, ASSURED), case.meter.tokens)
        found["gaps_kept"], found["gap_excess"] = kept, excess
    return found


@dataclass(frozen=True)
class Marks:
    """Packets of one flow in the order in which they left its edge's marker: when, and whether IN."""

    time_s: Floats
    is_in: npt.NDArray[np.bool_]


def flow_marks(trace: pl.DataFrame, flow: str) -> Marks:
    """Read a flow's marks from a packet trace: its packets as they enter the queue behind its marker."""
    behind = pl.col("path").str.starts_with("port.e") & pl.col("path").str.contains("-r2.", literal=True)
    own = trace.filter((pl.col("flow") == flow) & (pl.col("event") == "enqueued") & behind)
    return Marks(own["time_s"].to_numpy(), (own["mark"] == "AF11").to_numpy())


def spacing_kept(marks: Marks, tokens: int, gain: float = 0.5) -> tuple[float, float]:
    """Hold the marks of a flow that has a marker for itself, and no small window, against Algorithms 1 and 2.

    The flow's E is followed from its packets alone: the mean of the last interval's packets and the E before.
    Its allocation is min(M, E), its spacing S = E / min(M, E) - 1. Of each interval after the first, the OUT
    packets between two of its IN packets are counted.

    Parameters
    ----------
    marks
        Of the flow, from the start of the run.
    tokens
        M.
    gain
        Weight of the last interval in E.

    Returns
    -------
    tuple of float
        The fraction of gaps that are floor(S) or ceil(S), and by how much gaps are longer than S on average;
        NaN without gaps.
    """
    interval = np.floor(marks.time_s / INTERVAL_S).astype(int)
    estimate: float | None = None
    right, gaps, excess = 0, 0, 0.0
    for k in range(interval.min(), interval.max() + 1):
        inside = marks.is_in[interval == k]
        if estimate is not None and estimate > 0:
            spacing = estimate / min(float(tokens), estimate) - 1
            for gap in np.diff(np.flatnonzero(inside)) - 1:
                gaps += 1
                right += int(np.floor(spacing + 1e-4) <= gap + 1e-4 and gap <= np.ceil(spacing - 1e-4))
                excess += gap - spacing
        sent = float(len(inside))
        estimate = sent if estimate is None else estimate + gain * (sent - estimate)
    return (right / gaps, excess / gaps) if gaps else (float("nan"), float("nan"))


__all__ = [
    "UNITS",
    "Marks",
    "Measurements",
    "Numbers",
    "Reduced",
    "SweepResult",
    "flow_marks",
    "measure",
    "numbers",
    "quantities",
    "spacing_kept",
]
