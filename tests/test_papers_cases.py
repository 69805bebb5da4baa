"""Cases of a made-up `figures.toml`, parameters that set them, and texts with their numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from perhop.papers import PackError
from perhop.papers.feroz.calibrate import error, ratio_error
from perhop.papers.feroz.calibration import Calibration
from perhop.papers.feroz.cases import Case, at_most, cases_of
from perhop.papers.feroz.words import told
from perhop.papers.fit import Parameter

TABLE: dict[str, Any] = {
    "id": "7",
    "table": "7",
    "title": "T",
    "scenario": "a.toml",
    "set": ["run.duration=30s", "link.a-b.rate=1Mbit/s"],
    "replications": 40,
    "kinds": ["new", "old"],
    "rates": [1, 2],
    "quick": "5s",
}
PRINTED = {"7-1 new": {"losses": 4.0}, "7-1 old": {"losses": 1.0}}
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


def cases(table: dict[str, Any], quick: bool = False) -> list[Case]:
    return cases_of(Case, table, "kinds", "rates", PRINTED, quick)


def test_a_case_for_each_level_and_treatment() -> None:
    found = cases(TABLE)
    assert [one.id for one in found] == ["7-1 new", "7-1 old", "7-2 new", "7-2 old"]
    assert [one.published for one in found] == [{"losses": 4.0}, {"losses": 1.0}, {}, {}]
    assert {(one.duration_s, one.replications, one.shortened) for one in found} == {(30.0, 40, False)}
    assert {one.replications for one in at_most(found, 4)} == {4}


def test_a_quick_case_is_shorter_or_left_out() -> None:
    assert {(one.duration_s, one.shortened) for one in cases(TABLE, True)} == {(5.0, True)}
    whole = cases({**TABLE, "quick": ""}, True)
    assert {(one.duration_s, one.shortened) for one in whole} == {(30.0, False)}
    assert cases({name: one for name, one in TABLE.items() if name != "quick"}, True) == []


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(PackError, match="'soon' is no time in seconds"):
        cases({**TABLE, "quick": "soon"}, True)


def test_parameters_set_the_treatment_they_are_of() -> None:
    new, old, *_ = cases(TABLE)
    common = ["host.tick=0ms", "host.on_tick=false"]
    rest = ["link.a-b.rate=1Mbit/s", "run.duration=30s"]
    assert old.overrides({"tick": 0, "gain": 0.5}, FIT) == [*common, *rest]
    assert new.overrides({"tick": 0, "gain": 0.5}, FIT) == [*common, "gain=0.5", *rest]
    assert "host.on_tick=true" in new.overrides(FIT.chosen, FIT)
    assert FIT.parameters["gain"].searched == (0.5,)


def test_errors_of_levels_and_of_ratios() -> None:
    own = cases(TABLE)[:2]
    means = {"7-1 new": {"losses": 8.0}, "7-1 old": {"losses": 2.0}}
    assert error(own, means, {}) == pytest.approx(math.log(2))
    assert ratio_error(own, means, {}) == pytest.approx(0.0)
    # with one more on both sides 9 / 5 and 3 / 2
    assert error(own, means, {"losses": 1.0}) == pytest.approx((math.log(9 / 5) + math.log(3 / 2)) / 2)


def test_numbers_stand_in_texts() -> None:
    texts = [{"title": "A", "text": "{mean[at 1/x]:.1f} and {name[7]}"}]
    named = {"mean": lambda under, case: len(under) + len(case), "name": str}
    assert told(texts, named) == [("A", "5.0 and 7")]
