"""What is measured in whole runs, from hand-made traces and tables of flows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from conftest import made
from perhop.papers.feroz.measure import flow_marks, transfers
from perhop.run.run import Result


def spaced_trace(tokens: int = 2, per_interval: int = 6) -> dict[str, Any]:
    """Trace of a flow that sends as much in every interval and has its tokens evenly spread."""
    gap = per_interval // tokens
    rows = [
        (k * 0.25 + (n + 0.5) * 0.25 / per_interval, n % gap == gap - 1)
        for k in range(8)
        for n in range(per_interval)
    ]
    return {
        "time_s": [time for time, _ in rows],
        "path": ["port.ea-r2.class.all"] * len(rows),
        "event": ["enqueued"] * len(rows),
        "flow": ["assured"] * len(rows),
        "mark": ["AF11" if is_in else "BE" for _, is_in in rows],
        "color": ["green" if is_in else "red" for _, is_in in rows],
    }


def web(
    completed_s: Iterable[float | None] = (1.0, 3.0), segments: Iterable[int] = (9, 9), **changes: int
) -> Result:
    """One run of transfers that start at once."""
    completed = list(completed_s)
    return made(
        flows={
            "name": [f"web[{k}]" for k in range(len(completed))],
            "start_s": [0.0] * len(completed),
            "completed_s": pl.Series(completed, dtype=pl.Float64),
            "segments_sent": np.array(list(segments), dtype=np.uint64),
            "timeouts": np.array([changes.get("timeouts", 5)] + [0] * (len(completed) - 1), dtype=np.uint64),
        },
        queues={
            "path": ["port.r2-r3.class.all", "port.r3-d[0].class.all"],
            "dropped_packets": np.array([changes.get("dropped", 100), 7], dtype=np.uint64),
        },
    )


def test_transfers_that_never_finished_are_counted() -> None:
    found = transfers(web([1.0, 3.0, None, None], [1, 1, 1, 0]), 100.0)
    assert (found["completed"], found["unfinished"], found["completion_mean"]) == (2.0, 1.0, 2.0)
    assert (found["timeouts"], found["losses_per_s"]) == (5.0, 1.0)
    assert np.isnan(found["completion_p95"])
    many = transfers(web([1.0] * 39 + [None], [1] * 40), 100.0)
    assert (many["unfinished"], many["completion_p95"]) == (1.0, 1.0)
    none = transfers(web([None] * 2), 100.0)
    assert (none["completed"], none["unfinished"]) == (0.0, 2.0)
    assert np.isnan([none["completion_mean"], none["completion_p95"]]).all()


def test_marks_are_read_behind_the_marker() -> None:
    trace = spaced_trace()
    trace["path"][0] = "port.a-ea.class.all"
    trace["event"][1] = "sent"
    trace["flow"][2] = "bulk[0]"
    found = flow_marks(pl.DataFrame(trace), "assured")
    assert len(found.time_s) == 48 - 3
    assert found.is_in.sum() == 16 - 1
