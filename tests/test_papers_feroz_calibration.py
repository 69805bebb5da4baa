"""The search for parameters of feroz, from hand-made errors, and the record of the real one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from perhop.papers import load_pack, load_readings
from perhop.papers.feroz import make_plan
from perhop.papers.feroz.calibrate import calibrate, error, log_error, ratio_error, search, table_errors
from perhop.papers.feroz.readings import Parameter, load_parameters
from perhop.papers.pack import PackError

PLAN = make_plan()
BY_ID = {case.id: case for case in PLAN.cases}


def test_the_record_of_the_calibration_is_of_these_parameters() -> None:
    """The scenario files hold what the recorded search ended with, and it searched what the file says."""
    record = json.loads(load_pack("feroz").scenario("expected/calibration.json"))
    settings, parameters = load_parameters(load_pack("feroz"))
    assert record["after"] == {parameter.name: parameter.chosen for parameter in parameters}
    second = next(one for one in load_readings(load_pack("feroz")) if one.id == "second fit")
    assert record["other"]["after"] == record["after"] | dict(second.change)
    assert record["before"] == {parameter.name: parameter.before for parameter in parameters}
    assert record["fit"] == list(settings.fit)
    for name in ("replications", "seed", "least_gain"):
        assert record[name] == getattr(settings, name)
    for step in record["steps"]:
        parameter = next(each for each in parameters if each.name == step["parameter"])
        assert parameter.search
        assert [value for value, _ in step["errors"]] == list(parameter.searched)
    assert set(record["errors"]["after"]) == {*settings.fit, *settings.predict}


def test_errors_are_ratios() -> None:
    assert log_error(2.0, 1.0) == pytest.approx(log_error(1.0, 2.0))
    assert log_error(0.0, 1.0) == log_error(float("nan"), 1.0) == float("inf")
    cases = [BY_ID["1 tcp-friendly"], BY_ID["1 token-bucket"]]
    exact = [case.published for case in cases]
    assert error(cases, exact) == 0.0
    assert ratio_error(cases, exact) == 0.0
    doubled = [{name: 2 * value for name, value in each.items()} for each in exact]
    assert error(cases, doubled) > 0.6
    assert ratio_error(cases, doubled) < 0.02
    assert set(table_errors(cases, exact)) == {"1"}


def test_the_search_finds_the_best_of_each_and_stops() -> None:
    parameters = (
        Parameter("a", "", (1, 2, 3), 1, 1, True),
        Parameter("b", "", (1, 2, 3), 1, 1, True),
        Parameter("c", "", (1, 2), 1, 1, False),
    )
    asked = []

    def measure(points: list[dict[str, Any]]) -> list[float]:
        asked.extend(points)
        return [abs(point["a"] - point["b"]) + 0.1 * abs(point["b"] - 3) for point in points]

    found, least, steps = search(parameters, measure, 5, 0.0)
    assert least == pytest.approx(0.2)
    assert found == {"a": 1, "b": 1, "c": 1}
    assert [step["parameter"] for step in steps] == ["a", "b"]
    assert len(asked) == len({tuple(point.values()) for point in asked})

    found, _, steps = search(
        parameters, lambda points: [(p["a"] - 2) ** 2 + (p["b"] - 3) ** 2 for p in points], 5, 0.0
    )
    assert found == {"a": 2, "b": 3, "c": 1}
    assert steps[0] == {"pass": 1, "parameter": "a", "errors": [[1, 5], [2, 4], [3, 5]], "taken": 2}
    assert max(step["pass"] for step in steps) == 2


def test_the_search_takes_nothing_that_gains_little() -> None:
    parameters = (Parameter("a", "", (1, 2, 3), 1, 1, True), Parameter("b", "", (1, 2), 1, 1, True))

    def measure(points: list[dict[str, Any]]) -> list[float]:
        return [{1: 1.0, 2: 0.96, 3: 0.97}[p["a"]] + {1: 0.0, 2: -0.1}[p["b"]] for p in points]

    assert search(parameters, measure, 5, 0.05)[0] == {"a": 1, "b": 2}
    assert search(parameters, measure, 5, 0.03)[0] == {"a": 2, "b": 2}


def test_the_search_takes_nothing_that_is_only_swept() -> None:
    bounded = (Parameter("a", "", (1, 2, 3), 1, 1, True, only_swept=(3,)),)
    asked: list[Any] = []

    def measure(points: list[dict[str, Any]]) -> list[float]:
        asked.extend(point["a"] for point in points)
        return [1.0 / point["a"] for point in points]

    assert search(bounded, measure, 5, 0.0)[0] == {"a": 2}
    assert asked == [1, 2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("chosen = 23\n", "chosen = 30\n", "tokens: a value that is not tried"),
        ("least_gain = 0.05", "", "search: .*least_gain"),
    ],
)
def test_a_calibration_that_takes_what_is_not_tried_is_refused(
    old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PLAN.pack.scenario("calibration.toml").decode()
    assert text.count(old) == 1
    monkeypatch.setattr(type(PLAN.pack), "scenario", lambda *_: text.replace(old, new).encode())
    with pytest.raises(PackError, match=message):
        load_parameters(PLAN.pack)


def test_readings_reach_the_scenario() -> None:
    held = PLAN.readings
    one = next(one for one in PLAN.judged if one.reading.id == "second fit")
    case = next(case for case in one.cases if case.id == "1 tcp-friendly")
    jobs = case.jobs({**held, **one.reading.change}, held, PLAN.pack, 1, one.reading)
    assert "conditioner.marker.meter.tokens=30" in jobs[0][2]
    assert [job for job in PLAN.jobs if job[2] == jobs[0][2]]
    assert "conditioner.marker.meter.tokens=30" not in case.overrides(held, held)


def test_a_calibration_is_recorded() -> None:
    def run_cases(wanted: Any, label: str) -> list[dict[str, float]]:
        return [
            {
                name: value * (2.0 if readings["averaging"] == "coupled" else 1.0)
                for name, value in case.published.items()
            }
            for case, readings in wanted
        ]

    record = calibrate(PLAN, run_cases)
    assert record["before"]["averaging"] == "coupled"
    assert record["after"]["averaging"] == "decoupled"
    tokens = next(step for step in record["steps"] if step["parameter"] == "tokens")
    unbounded = next(step for step in record["other"]["steps"] if step["parameter"] == "tokens")
    assert [value for value, _ in tokens["errors"]] == [10, 15, 20, 23]
    assert [value for value, _ in unbounded["errors"]] == [10, 15, 20, 23, 25, 30, 40]
    assert record["errors"]["after"]["6"]["levels"] == 0.0
    assert record["errors"]["before"]["6"]["levels"] == pytest.approx(np.log(2), abs=1e-3)
    assert set(record["errors"]["after"]) == {"1", "2", "3", "4", "5", "6", "7"}
    assert json.loads(json.dumps(record)) == record
