"""Quantities of cases, from what campaigns measured and from runs needed whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.judge.measured import Floats, Measured, Measurements
from perhop.judge.quantity import Place
from perhop.papers.feroz.cases import FACTORS, FITTED, INTERVAL_S, Case, cases_at, under_readings
from perhop.papers.plan import Results
from perhop.run.run import Result
from perhop.stats.intervals import Interval, mean_interval

BOTTLENECK = "port.r2-r3."
EDGES = r"^port\.e.*-r2\."
"""Pattern of the paths of queues behind the markers."""
ASSURED = "assured"

Quantities = Mapping[str, Floats]
"""Value for each replication, or NaN, by quantity."""

Whole = Mapping[str, Mapping[str, float]]
"""Quantities of runs that are needed whole, by name."""


@dataclass(frozen=True)
class CaseValues(Measured):
    """Quantities of every case at one point.

    Attributes
    ----------
    cases
        Those that were run, by id.
    values
        By case id and quantity.
    """

    cases: Mapping[str, Case]
    values: Mapping[str, Quantities]

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Return a quantity of a case by replication."""
        del effect
        (case,) = cases_at(self.cases.values(), at)
        return self.values[case.id][response]

    def interval(self, case: str, quantity: str) -> Interval | None:
        """Return mean and 95 % interval of a quantity; None where a replication has no value."""
        found = self.values[case][quantity]
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    def mean(self, case: str, quantity: str) -> float:
        """Return the mean over the replications; NaN where one has no value."""
        return float(self.values[case][quantity].mean())


def measured_of(cases: Sequence[Case], at: str, m: Measurements, whole: Whole | None = None) -> CaseValues:
    """Reduce those cases that were run, at a level of the first factor."""
    found: dict[tuple[str, ...], dict[str, Floats]] = {}
    first, *others = FACTORS
    kept = m.scalars.filter(**{first: at}).sort("replication")
    for *place, response, value in kept.group_by(*others, "response").agg("value").iter_rows():
        found.setdefault(tuple(place), {})[response] = np.array(value, dtype=np.float64)
    values, whole = dict[str, Quantities](), whole or {}
    for case in cases:
        names = _names(case)
        if (case.row, case.marker) in found:
            values[case.id] = quantities(case, found[case.row, case.marker])
        elif names[0] in whole:
            values[case.id] = {
                each: np.array([whole[name][each] for name in names]) for each in whole[names[0]]
            }
    return CaseValues({case.id: case for case in cases if case.id in values}, values)


def everything(cases: Sequence[Case], results: Results) -> dict[str, CaseValues]:
    """Reduce all results: as fitted, by id of reading, and by `parameter=value` of the sweeps.

    Sweeps of several tables over one parameter are put together.
    """
    whole = results.whole or whole_runs(cases, results.drawn)
    found = {FITTED: measured_of(cases, FITTED, results.fitted, whole)}
    shorter = under_readings(cases)
    for reading, own in results.read:
        found[reading.id] = measured_of(shorter, FITTED, own)
    for sweep, own in results.beyond:
        for level in sweep.campaign.design.factors[0].levels:
            name, more = f"{sweep.axes[0]}={level.name}", measured_of(cases, level.name, own)
            if (one := found.get(name)) is not None:
                more = replace(one, cases={**one.cases, **more.cases}, values={**one.values, **more.values})
            found[name] = more
    return found


def means_of(
    cases: Sequence[Case], points: int, measured: Iterable[Measurements]
) -> list[dict[str, dict[str, float]]]:
    """Return the mean by point, case id and quantity; the first factor numbers the points."""
    found = [dict[str, dict[str, float]]() for _ in range(points)]
    for one in measured:
        for place, own in enumerate(found):
            of = measured_of(cases, str(place), one).values
            own |= {id_: {name: float(x.mean()) for name, x in each.items()} for id_, each in of.items()}
    return found


def whole_runs(cases: Iterable[Case], drawn: Mapping[str, Result]) -> Whole:
    """Reduce the runs that are needed whole, by their names."""
    named = ((name, case) for case in cases for name in _names(case))
    return {name: whole_run(case, drawn[name]) for name, case in named if name in drawn}


def _names(case: Case) -> list[str]:
    return [f"{case.id} {k}" for k in range(case.replications)]


def quantities(case: Case, of: Mapping[str, Floats]) -> Quantities:
    """Turn the responses of a case into its quantities.

    Time-outs of all flows; losses at the bottleneck, all, of IN and of OUT packets; goodput of a flow in
    bytes per second and its coefficient of variation (population) over the flows. With an assured flow, what
    it obtains in Mbit/s and over its promised rate, the rest for the others.
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


def whole_run(case: Case, run: Result) -> Mapping[str, float]:
    """Measure a whole run: times of transfers, or gaps between marks of the assured flow."""
    if case.figure == "short":
        return transfers(run, case.duration_s)
    if case.tokens is not None:
        return spacing_kept(flow_marks(run.trace["packets"], ASSURED), case.tokens)
    return {}


@dataclass(frozen=True)
class Marks:
    """Packets of one flow in the order in which they left its marker: when, and whether IN."""

    time_s: Floats
    is_in: npt.NDArray[np.bool_]

    def interval(self, length_s: float) -> npt.NDArray[np.int64]:
        """Return the number of each packet's interval, with intervals of this length."""
        return np.floor(self.time_s / length_s).astype(int)


def flow_marks(trace: pl.DataFrame, flow: str) -> Marks:
    """Read a flow's marks from a packet trace, as packets enter the queue behind its marker."""
    own = trace.filter(
        (pl.col("flow") == flow) & (pl.col("event") == "enqueued") & pl.col("path").str.contains(EDGES)
    )
    return Marks(own["time_s"].to_numpy(), (own["mark"] == "AF11").to_numpy())


def transfers(run: Result, duration_s: float) -> dict[str, float]:
    """Reduce a run of transfers, whose flows end when they have sent what they have to.

    Time-outs and losses at the bottleneck; how many completed and how many of those that began did not, the
    mean time of those that completed, and the time within which 95 % of those that began did; NaN where there
    is none.
    """
    flows, queues = run.flows, run.queues.filter(pl.col("path").str.starts_with(BOTTLENECK))
    time = (flows["completed_s"] - flows["start_s"]).cast(pl.Float64).to_numpy()
    took, began = time[np.isfinite(time)], (flows["segments_sent"] > 0).to_numpy()
    # one that did not finish took longer than any that did
    endless = np.where(np.isfinite(time), time, math.inf)[began]
    p95 = float(np.quantile(endless, 0.95, method="higher")) if len(endless) else math.nan
    return {
        "timeouts": float(flows["timeouts"].sum()),
        "losses_per_s": int(queues["dropped_packets"].sum()) / duration_s,
        "completed": float(len(took)),
        "unfinished": float(began.sum() - len(took)),
        "completion_mean": float(took.mean()) if len(took) else math.nan,
        "completion_p95": p95 if math.isfinite(p95) else math.nan,
    }


def spacing_kept(marks: Marks, tokens: int, gain: float = 0.5) -> dict[str, float]:
    """Compare the gaps between a flow's marks with those of Algorithms 1 and 2.

    The flow has a marker for itself, and no small window.

    The flow's E is followed from its packets alone: the mean of the last interval's packets and the E before.
    Its allocation is min(M, E) of M tokens, its spacing S = E / min(M, E) - 1. Of each interval after the
    first, the OUT packets between two of its IN packets are counted: the fraction of such gaps that are
    floor(S) or ceil(S), and by how much they are longer than S on average; NaN without gaps. `gain` is the
    weight of the last interval in E.
    """
    interval, estimate = marks.interval(INTERVAL_S), math.nan
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
