"""What no expression says of a run: when most transfers were complete, gaps between marks of a flow."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

TOKENS, INTERVAL_S, GAIN = 6, 0.25, 0.5
"""Of the assured flow in spacing.toml; the marking interval; weight of the last interval in E."""
EDGES = r"^port\.e.*-r2\."
"""Pattern of the paths of queues behind the markers."""

Tables = Mapping[str, pl.DataFrame]


def completion_p95(tables: Tables) -> float | None:
    """Return the time within which 95 % of the transfers that began were complete, s; None if fewer were."""
    flows = tables["flows"].filter(pl.col("segments_sent") > 0)
    # one that did not finish took longer than any that did
    took = (flows["completed_s"] - flows["start_s"]).cast(pl.Float64).fill_null(math.inf).to_numpy()
    return float(np.quantile(took, 0.95, method="higher")) if len(took) else None


def gaps_kept(_: Tables, packets: pl.DataFrame) -> float | None:
    """Return the fraction of gaps between IN packets that are floor(S) or ceil(S)."""
    found = gaps(packets)
    right = [math.floor(s + 1e-4) <= gap + 1e-4 and gap <= math.ceil(s - 1e-4) for gap, s in found]
    return sum(right) / len(found) if found else None


def gap_excess(_: Tables, packets: pl.DataFrame) -> float | None:
    """Return by how many packets gaps are longer than S on average."""
    found = gaps(packets)
    return sum(gap - spacing for gap, spacing in found) / len(found) if found else None


def gaps(packets: pl.DataFrame, tokens: int = TOKENS, gain: float = GAIN) -> list[tuple[int, float]]:
    """Return each gap between IN packets of the assured flow, in OUT packets, with the S that it should have.

    The flow has a marker for itself, and no small window. Its E is followed from its packets alone: the mean
    of the last interval's packets and the E before. Its allocation is min(M, E) of M tokens, its spacing S =
    E / min(M, E) - 1 (Algorithms 1 and 2); of each interval after the first the gaps inside are counted.
    """
    entered = (pl.col("event") == "enqueued") & pl.col("path").str.contains(EDGES)
    own = packets.filter(entered, flow="assured")
    is_in, interval = own["mark"] == "AF11", np.floor(own["time_s"].to_numpy() / INTERVAL_S).astype(int)
    estimate, found = math.nan, list[tuple[int, float]]()
    for k in range(interval.min(), interval.max() + 1):
        inside = is_in.to_numpy()[interval == k]
        if estimate > 0:
            spacing = estimate / min(float(tokens), estimate) - 1
            found += [(int(gap), spacing) for gap in np.diff(np.flatnonzero(inside)) - 1]
        sent = float(len(inside))
        estimate = sent if math.isnan(estimate) else estimate + gain * (sent - estimate)
    return found
