"""What waits in a queue by colour, counted from a hand-made trace."""

from __future__ import annotations

import polars as pl

from perhop.plot.backlog import backlog


def test_a_queue_is_counted_by_colour() -> None:
    trace = {
        "time_s": [0.0, 1.0, 2.0, 3.0, 4.0],
        "path": ["port.r2-r3.class.all"] * 4 + ["port.r3-d[0].class.all"],
        "event": ["enqueued", "enqueued", "dropped", "sent", "enqueued"],
        "color": ["green", "red", "red", "green", "red"],
    }
    found = backlog(pl.DataFrame(trace), "port.r2-r3.")
    assert found.green.tolist() == [1, 1, 1, 0]
    assert found.red.tolist() == [0, 1, 1, 1]
    assert found.dropped_red_s.tolist() == [2.0]
    assert found.dropped_green_s.tolist() == []
