"""From what the campaigns measured, and the runs that are drawn, to the quantities of the study."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.papers.feroz.case import INTERVAL_S, Case
from perhop.papers.measured import Floats, Measurements
from perhop.run import Result
from perhop.stats.intervals import Interval, mean_interval

BOTTLENECK = "port.r2-r3."
ASSURED = "assured"

UNITS = {
    "losses_per_s": "packets/s",
    "goodput": "B/s",
    "obtained": "Mbit/s",
    "completion_mean": "s",
    "completion_p95": "s",
    "gap_excess": "packets",
}
"""Unit of each quantity that has one."""


@dataclass(frozen=True)
class Measured:
    """Quantities of every case at one point: by case id and quantity a value for each replication, or NaN."""

    cases: Mapping[str, Case]
    values: Mapping[str, Mapping[str, Floats]]
    fitted: Collection[str]

    def interval(self, case: str, quantity: str) -> Interval | None:
        """Mean and 95 % interval of one quantity; None where a replication has no value of it."""
        found = self.values[case][quantity]
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    def mean(self, case: str, quantity: str) -> float:
        """Mean over the replications; NaN where one has no value."""
        return float(self.values[case][quantity].mean())

    def joined(self, other: Measured) -> Measured:
        """Put the cases of another table to these."""
        return replace(self, cases={**self.cases, **other.cases}, values={**self.values, **other.values})


def measure(
    cases: Iterable[Case], at: str, m: Measurements, drawn: Mapping[str, Result], fitted: Collection[str]
) -> Measured:
    """Reduce what was measured of those cases that were run.

    Parameters
    ----------
    cases
        Of the study.
    at
        Level of the factor of that name.
    m
        What campaigns measured.
    drawn
        Results by name of run.
    fitted
        Tables that the calibration fitted.
    """
    found: dict[tuple[str, ...], dict[str, Floats]] = {}
    rows = m.scalars.filter(at=at).sort("replication").group_by("figure", "marker", "response").agg("value")
    for row, marker, response, value in rows.iter_rows():
        found.setdefault((row, marker), {})[response] = np.array(value, dtype=np.float64)
    values, own = {}, {}
    for case in cases:
        names = [f"{case.id} {k}" for k in range(case.replications)]
        if (case.row, case.marker) in found:
            values[case.id] = quantities(case, found[case.row, case.marker])
        elif names[0] in drawn:
            values[case.id] = drawn_quantities(case, [drawn[name] for name in names])
        else:
            continue
        own[case.id] = case
    return Measured(own, values, fitted)


def quantities(case: Case, of: Mapping[str, Floats]) -> dict[str, Floats]:
    """Turn the responses of a case into its quantities.

    Returns
    -------
    dict
        Time-outs of all flows; losses at the bottleneck, all, of IN and of OUT packets; goodput of a flow in
        bytes per second and its coefficient of variation (population) over the flows. With an assured flow,
        what it obtains in Mbit/s and over its promised rate, the rest for the others.
    """
    found = {
        "timeouts": of["timeouts"],
        "losses_per_s": of["dropped"] / case.duration_s,
        "losses_in": of["dropped_in"] / case.duration_s,
        "losses_out": (of["dropped"] - of["dropped_in"]) / case.duration_s,
        "goodput": of["goodput"],
        "cov": of["cov"] * np.sqrt(1 - 1 / of["flows"]),
    }
    if case.tokens is not None:
        found["obtained"] = of[ASSURED] / 1e6
        found["obtained_share"] = of[ASSURED] / case.assured_bit_s
    if case.figure == "rtt":
        found["short_over_long"] = of["short_over_long"]
    return found


def drawn_quantities(case: Case, runs: Sequence[Result]) -> dict[str, Floats]:
    """Measure whole runs: of transfers their times, of a flow with tokens the gaps between its marks."""
    if case.figure == "short":
        each = [transfers(run, case.duration_s) for run in runs]
    elif case.tokens is not None:
        each = [spacing_kept(flow_marks(run.trace["packets"], ASSURED), case.tokens) for run in runs]
    else:
        each = [{}]
    return {name: np.array([one[name] for one in each]) for name in each[0]}


def transfers(run: Result, duration_s: float) -> dict[str, float]:
    """Reduce a run of transfers.

    Returns
    -------
    dict
        Time-outs and losses; how many completed and how many of those that began did not, the mean time of
        those that completed, and the time within which 95 % of those that began did; NaN where there is none.
    """
    flows, bottleneck = run.flows, run.queues.filter(pl.col("path").str.starts_with(BOTTLENECK))
    time = (flows["completed_s"] - flows["start_s"]).cast(pl.Float64).to_numpy()
    took, began = time[np.isfinite(time)], (flows["segments_sent"] > 0).to_numpy()
    # one that did not finish took longer than any that did
    endless = np.where(np.isfinite(time), time, math.inf)[began]
    p95 = float(np.quantile(endless, 0.95, method="higher")) if len(endless) else math.nan
    return {
        "timeouts": float(flows["timeouts"].sum()),
        "losses_per_s": int(bottleneck["dropped_packets"].sum()) / duration_s,
        "completed": float(len(took)),
        "unfinished": float(began.sum() - len(took)),
        "completion_mean": float(took.mean()) if len(took) else math.nan,
        "completion_p95": p95 if math.isfinite(p95) else math.nan,
    }


@dataclass(frozen=True)
class Marks:
    """Packets of one flow in the order in which they left its edge's marker: when, and whether IN."""

    time_s: Floats
    is_in: npt.NDArray[np.bool_]

    @property
    def interval(self) -> npt.NDArray[np.int64]:
        """The marking interval of each."""
        return np.floor(self.time_s / INTERVAL_S).astype(int)


def flow_marks(trace: pl.DataFrame, flow: str) -> Marks:
    """Read a flow's marks from a packet trace: its packets as they enter the queue behind its marker."""
    behind = pl.col("path").str.starts_with("port.e") & pl.col("path").str.contains("-r2.", literal=True)
    own = trace.filter((pl.col("flow") == flow) & (pl.col("event") == "enqueued") & behind)
    return Marks(own["time_s"].to_numpy(), (own["mark"] == "AF11").to_numpy())


def spacing_kept(marks: Marks, tokens: int, gain: float = 0.5) -> dict[str, float]:
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
    dict
        The fraction of gaps that are floor(S) or ceil(S), and by how much gaps are longer than S on average;
        NaN without gaps.
    """
    interval, estimate = marks.interval, math.nan
    right, excess = [], []
    for k in range(interval.min(), interval.max() + 1):
        inside = marks.is_in[interval == k]
        if estimate > 0:
            spacing = estimate / min(float(tokens), estimate) - 1
            gaps = np.diff(np.flatnonzero(inside)) - 1
            right += list((np.floor(spacing + 1e-4) <= gaps + 1e-4) & (gaps <= np.ceil(spacing - 1e-4)))
            excess += list(gaps - spacing)
        sent = float(len(inside))
        estimate = sent if math.isnan(estimate) else estimate + gain * (sent - estimate)
    if not right:
        return {"gaps_kept": math.nan, "gap_excess": math.nan}
    return {"gaps_kept": sum(right) / len(right), "gap_excess": sum(excess) / len(excess)}
