"""What studies measure in whole runs: the marks of a flow in a packet trace, and transfers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.judge.measured import Floats
from perhop.run.run import Result


@dataclass(frozen=True)
class Marks:
    """Packets of one flow in the order in which they left its edge's marker: when, and whether IN."""

    time_s: Floats
    is_in: npt.NDArray[np.bool_]

    def interval(self, length_s: float) -> npt.NDArray[np.int64]:
        """Give the marking interval of each, where intervals are so long."""
        return np.floor(self.time_s / length_s).astype(int)


def flow_marks(trace: pl.DataFrame, flow: str, behind: str, in_mark: str = "AF11") -> Marks:
    """Read a flow's marks from a packet trace: its packets as they enter the queue behind its marker.

    Parameters
    ----------
    trace
        As `perhop.run.run.Result.trace["packets"]` has it.
    flow
        Its name.
    behind
        Regular expression of the path of that queue.
    in_mark
        The mark of packets inside the contract.
    """
    own = trace.filter(
        (pl.col("flow") == flow) & (pl.col("event") == "enqueued") & pl.col("path").str.contains(behind)
    )
    return Marks(own["time_s"].to_numpy(), (own["mark"] == in_mark).to_numpy())


def transfers(run: Result, duration_s: float, bottleneck: str) -> dict[str, float]:
    """Reduce a run of transfers.

    Parameters
    ----------
    run
        Its flows end when they have sent what they have to.
    duration_s
        Of the run.
    bottleneck
        How the paths of the queues begin whose losses are counted.

    Returns
    -------
    dict
        Time-outs and losses; how many completed and how many of those that began did not, the mean time of
        those that completed, and the time within which 95 % of those that began did; NaN where there is none.
    """
    flows, queues = run.flows, run.queues.filter(pl.col("path").str.starts_with(bottleneck))
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
