"""From what the campaigns measured, and the runs that are drawn, to the quantities of the study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from perhop.judge.measured import Floats
from perhop.papers.feroz.case import INTERVAL_S, Case
from perhop.papers.feroz.plan import FACTORS
from perhop.papers.feroz.traced import Marks, flow_marks, transfers
from perhop.papers.feroz.values import CaseReader, Quantities
from perhop.run.run import Result

BOTTLENECK = "port.r2-r3."
EDGES = r"^port\.e.*-r2\."
"""Of the queues behind the markers."""
ASSURED = "assured"


def reader(cases: Sequence[Case]) -> CaseReader[Case]:
    """Give what reduces the runs of some cases."""
    return CaseReader(cases, FACTORS, quantities, whole_run)


def quantities(case: Case, of: Mapping[str, Floats]) -> Quantities:
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
    if case.level is not None:
        found["obtained"] = of[ASSURED] / 1e6
        found["obtained_share"] = of[ASSURED] / case.assured_bit_s
    if case.figure == "rtt":
        found["short_over_long"] = of["short_over_long"]
    return found


def whole_run(case: Case, run: Result) -> Mapping[str, float]:
    """Measure a whole run: of transfers their times, of a flow with tokens the gaps between its marks."""
    if case.figure == "short":
        return transfers(run, case.duration_s, BOTTLENECK)
    if case.level is not None:
        return spacing_kept(flow_marks(run.trace["packets"], ASSURED, EDGES), case.level)
    return {}


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
