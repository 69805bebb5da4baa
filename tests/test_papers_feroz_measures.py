"""What feroz measures of a run, from hand-made traces and tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop import Scenario
from perhop.experiment.definition import Campaign
from perhop.papers.folder import own_folder
from perhop.run.run import Result
from scripts import script

FOLDER = own_folder("feroz")


MEASURES: Any = script(FOLDER / "measures.py")
"""The functions that campaigns of the study measure by."""


def values(file: str, result: Result, seconds: float = 100.0) -> dict[str, float | None]:
    """Measure a run of so long as a campaign does."""
    scenario = Scenario.load(FOLDER / "baseline.toml").override(f"run.duration={seconds:g}s")
    run, own = replace(result, scenario=scenario), Campaign.load(FOLDER / file).responses
    # a function is given tables alone: their flows are not those of the scenario
    return {one.name: one.evaluate(run if one.source is None else run.tables())[()] for one in own}


def trace_of(times: Iterable[float], is_in: Iterable[bool]) -> dict[str, Any]:
    """Trace of the assured flow as its packets enter the queue behind its marker."""
    times, is_in = list(times), list(is_in)
    return {
        "time_s": times,
        "path": ["port.ea-r2.class.all"] * len(times),
        "event": ["enqueued"] * len(times),
        "flow": ["assured"] * len(times),
        "mark": ["AF11" if one else "BE" for one in is_in],
    }


def web(
    completed_s: Iterable[float | None] = (1.0, 3.0), segments: Iterable[int] = (9, 9), dropped: int = 100
) -> Result:
    """One run of transfers that start at once."""
    completed = list(completed_s)
    return made(
        flows={
            "name": [f"web[{k}]" for k in range(len(completed))],
            "start_s": [0.0] * len(completed),
            "completed_s": pl.Series(completed, dtype=pl.Float64),
            "segments_sent": np.array(list(segments), dtype=np.uint64),
            "timeouts": np.array([5] + [0] * (len(completed) - 1), dtype=np.uint64),
        },
        queues={
            "path": ["port.r2-r3.class.all", "port.r3-d[0].class.all"],
            "dropped_packets": np.array([dropped, 7], dtype=np.uint64),
        },
    )


def test_transfers_that_never_finished_are_counted() -> None:
    found = values("short.toml", web([1.0, 3.0, None, None], [1, 1, 1, 0]))
    assert (found["completed"], found["unfinished"], found["completion_mean"]) == (2.0, 1.0, 2.0)
    assert (found["timeouts"], found["losses_per_s"]) == (5.0, 1.0)
    assert found["completion_p95"] is None
    many = values("short.toml", web([1.0] * 39 + [None], [1] * 40))
    assert (many["unfinished"], many["completion_p95"]) == (1.0, 1.0)
    none = values("short.toml", web([None] * 2))
    assert (none["completed"], none["unfinished"]) == (0.0, 2.0)
    assert none["completion_mean"] is none["completion_p95"] is None


def test_losses_are_over_the_time_of_their_run() -> None:
    """Runs under readings are shorter in Tables 3 and 7."""
    assert values("short.toml", web(dropped=50))["losses_per_s"] == 0.5
    assert values("short.toml", web(dropped=50), 20.0)["losses_per_s"] == 2.5


def test_a_run_is_measured_by_the_campaign_of_its_scenario() -> None:
    flows = {
        "name": ["bulk[0]", "bulk[1]", "assured"],
        "goodput_bit_s": np.array([1e5, 3e5, 9e5]),
        "timeouts": np.array([2, 3, 1], dtype=np.uint64),
    }
    queues = {
        "path": ["port.r2-r3.class.all", "port.r3-d[0].class.all"],
        "dropped_packets": np.array([50, 7], dtype=np.uint64),
        "dropped_green": np.array([20, 7], dtype=np.uint64),
    }
    result = made(flows=flows, queues=queues)
    common = {"timeouts": 6.0, "losses_per_s": 0.5, "losses_in": 0.2, "losses_out": 0.3, "lost_in": 0.4}
    for file in ("campaign-assured.toml", "fast-assured.toml"):
        assert values(file, result) == {**common, "goodput": 25000.0, "obtained": 0.9, "assured": 9e5}
    for file in ("campaign.toml", "other.toml", "fast.toml"):
        found = values(file, result)
        assert {name: found[name] for name in common} == common
        assert found["goodput"] == pytest.approx(13e5 / 3 / 8)
        assert found["cov_sample"] == pytest.approx(float(np.std([1, 3, 9], ddof=1)) / (13 / 3))
    each = {"name": [f"bulk[{k}]" for k in range(10)], "goodput_bit_s": [4.0, 1, 1, 1, 1, 2.0, 1, 1, 1, 0.5]}
    assert values("other.toml", made(flows=each, queues=queues))["short_over_long"] == 4.0


@pytest.mark.parametrize(
    ("pattern", "tokens", "kept", "excess"),
    [
        ([False, True] * 4, 4, 1.0, 0.0),
        ([False, False, True] * 3, 3, 1.0, 0.0),
        ([False, True, False, False, True, False, True, False, False, True], 4, 1.0, 1 / 6),
        ([True, True, True, True, False, False, False, False], 4, 0.0, -1.0),
    ],
)
def test_spacing_is_held_against_the_algorithm(
    pattern: list[bool], tokens: int, kept: float, excess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(pattern)
    times = [(k + (n + 0.5) / size) * 0.25 for k in range(6) for n in range(size)]
    found = MEASURES.gaps(pl.DataFrame(trace_of(times, pattern * 6)), tokens)
    monkeypatch.setattr(MEASURES, "gaps", lambda _: found)
    assert MEASURES.gaps_kept({}, None) == pytest.approx(kept)
    assert MEASURES.gap_excess({}, None) == pytest.approx(excess)


def test_spacing_follows_an_estimate_that_moves() -> None:
    """Eight packets, then sixteen: E is 8, then 12; with four tokens S is 1, then 2."""
    counts, marks, times = (8, 16, 16), list[bool](), list[float]()
    for k, (count, spacing) in enumerate(zip(counts, (0, 1, 2), strict=True)):
        marks += [n % (spacing + 1) == spacing for n in range(count)]
        times += [(k + (n + 0.5) / count) * 0.25 for n in range(count)]
    moving = pl.DataFrame(trace_of(times, marks))
    assert {(gap, spacing) for gap, spacing in MEASURES.gaps(moving, 4)} == {(1, 1.0), (2, 2.0)}
    assert {spacing for _, spacing in MEASURES.gaps(moving, 4, gain=1.0)} == {1.0, 3.0}


def test_marks_are_read_behind_the_marker() -> None:
    per, gap = 18, 3
    times = [k * 0.25 + (n + 0.5) * 0.25 / per for k in range(8) for n in range(per)]
    trace = trace_of(times, [n % gap == gap - 1 for _ in range(8) for n in range(per)])
    scenario = Scenario.load(FOLDER / "assured.toml")
    result = replace(made(), scenario=scenario, trace={"packets": pl.DataFrame(trace)})
    right = {one.name: one.evaluate(result)[()] for one in Campaign.load(FOLDER / "spacing.toml").responses}
    assert right == {"gaps_kept": 1.0, "gap_excess": 0.0}
    whole = len(MEASURES.gaps(pl.DataFrame(trace)))
    for column, other in (("path", "port.a-ea.class.all"), ("event", "sent"), ("flow", "bulk[0]")):
        marked = [place for place, mark in enumerate(trace["mark"]) if mark == "AF11" and place > per]
        less = {**trace, column: [other if k == marked[0] else x for k, x in enumerate(trace[column])]}
        assert len(MEASURES.gaps(pl.DataFrame(less))) == whole - 1
    bursty = trace_of(times, [n < 6 for _ in range(8) for n in range(per)])
    assert MEASURES.gaps_kept({}, pl.DataFrame(bursty)) == 0.0
    # in the first interval there is no estimate yet
    first = pl.DataFrame(trace_of(times[:per], [True] * per))
    assert MEASURES.gaps_kept({}, first) is MEASURES.gap_excess({}, first) is None
