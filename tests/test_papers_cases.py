"""Cases of a made-up `figures.toml`, parameters that set them, and their errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from perhop.papers.error import PackError
from perhop.papers.feroz.calibrate import error, ratio_error
from perhop.papers.feroz.calibration import Calibration
from perhop.papers.feroz.cases import Case, at_most, cases_of, under_readings
from perhop.papers.fit import Parameter
from perhop.papers.pack import load_pack

TABLE: dict[str, Any] = {
    "id": "7",
    "table": "7",
    "title": "T",
    "scenario": "a.toml",
    "set": ["run.duration=30s", "link.a-b.rate=1Mbit/s"],
    "replications": 40,
    "markers": ["tcp-friendly", "token-bucket"],
    "tokens": [1500, 3],
    "quick": "5s",
    "read": "20s",
}
FIT = Calibration(
    {
        "tick": Parameter.of(
            {
                "values": [0, 100],
                "before": 0,
                "chosen": 100,
                "set": ["host.tick={}ms", "host.on_tick={on}"],
            }
        ),
        "gain": Parameter({0.5: ["gain=0.5"], 1.0: ["gain=1.0"]}, 0.5, 0.5, "", (1.0,), "new"),
    },
    *((), (), 8, 1, 3, 0.05, {}),
)


def cases(table: dict[str, Any], quick: bool = False) -> tuple[Case, ...]:
    return cases_of(replace(load_pack("feroz"), figures=(table,)), quick)


def test_a_case_for_each_level_and_marker() -> None:
    found = cases(TABLE)
    rows = [f"{tokens} {marker}" for tokens in TABLE["tokens"] for marker in TABLE["markers"]]
    assert [one.id for one in found] == [f"7-{row}" for row in rows]
    printed, lacking = found[:2], found[2:]
    assert all(one.published["obtained"] > 0.0 for one in printed)
    assert [one.published for one in lacking] == [{}, {}]
    assert {(one.duration_s, one.replications, one.shortened) for one in found} == {(30.0, 40, False)}
    assert {one.replications for one in at_most(found, 4)} == {4}
    assert {one.duration_s for one in under_readings(found)} == {20.0}


def test_a_quick_case_is_shorter_or_left_out() -> None:
    assert {(one.duration_s, one.read_s, one.shortened) for one in cases(TABLE, True)} == {(5.0, 5.0, True)}
    whole = cases({**TABLE, "quick": ""}, True)
    assert {(one.duration_s, one.shortened) for one in whole} == {(30.0, False)}
    assert cases({name: one for name, one in TABLE.items() if name != "quick"}, True) == ()


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(PackError, match="'soon' is no time in seconds"):
        cases({**TABLE, "quick": "soon"}, True)


def test_parameters_set_the_treatment_they_are_of() -> None:
    common = ["host.tick=0ms", "host.on_tick=false"]
    assert FIT.settings({"tick": 0, "gain": 0.5}, "old") == common
    assert FIT.settings({"tick": 0, "gain": 0.5}, "new") == [*common, "gain=0.5"]
    assert "host.on_tick=true" in FIT.settings(FIT.chosen, "new")
    assert FIT.parameters["gain"].searched == (0.5,)


def test_errors_of_levels_and_of_ratios() -> None:
    own = [
        replace(one, published={"losses": value})
        for one, value in zip(cases(TABLE), (4.0, 1.0), strict=False)
    ]
    means = {one.id: {"losses": value} for one, value in zip(own, (8.0, 2.0), strict=True)}
    assert error(own, means, {}) == pytest.approx(math.log(2))
    assert ratio_error(own, means, {}) == pytest.approx(0.0)
    # with one more on both sides 9 / 5 and 3 / 2
    assert error(own, means, {"losses": 1.0}) == pytest.approx((math.log(9 / 5) + math.log(3 / 2)) / 2)
