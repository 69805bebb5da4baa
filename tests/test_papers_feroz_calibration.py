"""The search for parameters of feroz, from hand-made errors, and the record of the real one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import ne

import polars as pl
import pytest

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.papers.feroz.calibrate import (
    SECOND,
    calibrate,
    error,
    log_error,
    ratio_error,
    table_errors,
)
from perhop.papers.feroz.calibration import load_calibration
from perhop.papers.feroz.cases import FACTORS
from perhop.papers.fit import BASE, read_record
from perhop.papers.pack import PackError, load_pack
from perhop.papers.readings import load_readings
from test_papers_feroz import BY_ID, PLAN

OFFSET = load_calibration(PLAN.pack).offset


def test_the_record_of_the_calibration_is_of_these_parameters() -> None:
    """The scenario files hold what the recorded search ended with, and it searched what the file says."""
    record, settings = read_record(load_pack("feroz")), load_calibration(load_pack("feroz"))
    fits, parameters = record["fits"], settings.parameters
    assert fits[BASE]["chosen"] == settings.chosen
    second = next(one for one in load_readings(load_pack("feroz")) if one.id == SECOND)
    assert fits[SECOND]["chosen"] == settings.chosen | dict(second.change)
    assert record["before"] == settings.before
    assert record["fitted"] == list(settings.fit)
    for name in ("replications", "seed", "least_gain"):
        assert record[name] == getattr(settings, name)
    for fit, one in fits.items():
        errors = {tuple(each["levels"]): each["error"] for each in record["points"] if each["fit"] == fit}
        chosen = tuple(one["chosen"].values())
        assert one["error"] == errors[chosen]
        beside = [own for at, own in errors.items() if sum(map(ne, at, chosen)) == 1]
        assert min(beside) >= (1.0 - settings.least_gain) * one["error"]
        for place, parameter in enumerate(parameters.values()):
            tried = {levels[place] for levels in errors}
            assert tried == {*(parameter.searched if fit == BASE else parameter.levels)}
    assert set(record["errors"]["after"]) == {*settings.fit, *settings.predict}


def test_errors_are_ratios() -> None:
    assert log_error(2.0, 1.0) == pytest.approx(log_error(1.0, 2.0))
    assert log_error(0.0, 1.0) == log_error(float("nan"), 1.0) == float("inf")
    cases = [BY_ID["1 tcp-friendly"], BY_ID["1 token-bucket"]]
    exact = {case.id: case.published for case in cases}
    assert error(cases, exact, OFFSET) == 0.0
    assert ratio_error(cases, exact, OFFSET) == 0.0
    doubled = {id_: {name: 2 * value for name, value in each.items()} for id_, each in exact.items()}
    assert error(cases, doubled, OFFSET) > 0.6
    assert ratio_error(cases, doubled, OFFSET) < 0.02
    assert set(table_errors(cases, exact, OFFSET)) == {"1"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("chosen = 23\n", "chosen = 30\n", "tokens: a value that is not tried"),
        ("least_gain = 0.05", "", r"has no 'search\.least_gain'"),
    ],
)
def test_a_calibration_that_takes_what_is_not_tried_is_refused(
    old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PLAN.pack.scenario("calibration.toml").decode()
    assert text.count(old) == 1
    monkeypatch.setattr(type(PLAN.pack), "scenario", lambda *_: text.replace(old, new).encode())
    with pytest.raises(PackError, match=message):
        load_calibration(PLAN.pack)


def test_a_calibration_is_recorded() -> None:
    asked = []

    def run(campaigns: Sequence[Campaign], label: str) -> list[Measurements]:
        """Measure what is printed, or twice that where RIO averages all packets."""
        found = []
        for one in campaigns:
            assert one.scenario.override(*one.design.treatments[0].overrides).seed == 101
            rows = []
            for each in one.design.treatments:
                at, row, marker = each.levels
                case = BY_ID[f"{row} {marker}"]
                coupled = any(text.endswith("averaging=coupled") for text in each.overrides)
                asked.append((label, at, case.id, one.design.replications))
                values = {name: value * (2.0 if coupled else 1.0) for name, value in case.published.items()}
                values["dropped"] = values.get("losses_per_s", 0.0) * 100
                values["assured"] = values.get("obtained", 0.0) * 1e6
                # of so many flows that the sample's deviation is the population's
                values |= {"flows": 1e12, "dropped_in": 0.0}
                rows += [
                    (at, row, marker, k, response.name, values.get(response.name, 1.0))
                    for response in one.responses
                    for k in range(one.design.replications)
                ]
            columns = [*FACTORS, "replication", "response", "value"]
            found.append(Measurements(pl.DataFrame(rows, columns, orient="row")))
        return found

    record = calibrate(PLAN, run)
    assert record["before"]["averaging"] == "coupled"
    assert record["fits"][BASE]["chosen"]["averaging"] == "decoupled"
    place = [*record["before"]].index("tokens")
    tokens = {
        name: {one["levels"][place] for one in record["points"] if one["fit"] == name}
        for name in record["fits"]
    }
    assert tokens == {BASE: {10, 15, 20, 23}, SECOND: {10, 15, 20, 23, 25, 30, 40}}
    assert record["errors"]["after"]["6"]["levels"] == 0.0
    assert record["errors"]["before"]["6"]["levels"] == pytest.approx(0.6931, abs=1e-3)
    assert set(record["errors"]["after"]) == {"1", "2", "3", "4", "5", "6", "7"}
    assert json.loads(json.dumps(record)) == record
    assert {replications for label, *_, replications in asked if "Tables 1, 4, 5" in label} == {8}
    assert {id_[0] for label, _, id_, _ in asked if "Tables 1, 4, 5" in label} == {"1", "4", "5"}
