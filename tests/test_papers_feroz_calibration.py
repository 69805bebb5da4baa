"""The search for parameters of feroz, from hand-made errors, and the record of the real one."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from operator import ne
from pathlib import Path

import polars as pl
import pytest

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.papers.error import PackError
from perhop.papers.fit import BASE, read_record
from perhop.papers.folder import load
from test_papers_feroz import FIRST, FIT, FOLDER, OWN, PRINTED, STUDY_PY

SECOND, SEARCH = STUDY_PY.SECOND, STUDY_PY.SEARCH


def test_the_record_of_the_calibration_is_of_these_parameters() -> None:
    """The scenario files hold what the recorded search ended with, and it searched what the file says."""
    record = read_record(OWN.folder)
    fits, parameters = record["fits"], FIT.parameters
    assert fits[BASE]["chosen"] == FIT.chosen
    second = next(one for one in OWN.readings if one.id == SECOND)
    assert fits[SECOND]["chosen"] == FIT.chosen | dict(second.change)
    assert record["before"] == FIT.before
    assert record["fitted"] == SEARCH["fit"]
    for name in ("replications", "seed", "least_gain"):
        assert record[name] == SEARCH[name]
    for fit, one in fits.items():
        errors = {tuple(each["levels"]): each["error"] for each in record["points"] if each["fit"] == fit}
        chosen = tuple(one["chosen"].values())
        assert one["error"] == errors[chosen]
        beside = [own for at, own in errors.items() if sum(map(ne, at, chosen)) == 1]
        assert min(beside) >= (1.0 - SEARCH["least_gain"]) * one["error"]
        for place, parameter in enumerate(parameters.values()):
            tried = {levels[place] for levels in errors}
            assert tried == {*(parameter.searched if fit == BASE else parameter.levels)}
    assert set(record["errors"]["after"]) == {*SEARCH["fit"], *SEARCH["predict"]}


def test_errors_are_ratios() -> None:
    log_error, levels, ratios = STUDY_PY.log_error, STUDY_PY.levels_error, STUDY_PY.ratios_error
    assert log_error(2.0, 1.0) == pytest.approx(log_error(1.0, 2.0))
    assert log_error(0.0, 1.0) == log_error(float("nan"), 1.0) == float("inf")
    first = [one for one in FIRST.references.listed if one.place["figure"] == "1"]
    exact = [(one, one.value) for one in first]
    assert levels(exact) == ratios(exact) == 0.0
    doubled = [(one, 2 * value) for one, value in exact]
    assert levels(doubled) > 0.6
    assert ratios(doubled) < 0.02


def test_errors_of_levels_and_of_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [
        one._replace(value=value)
        for marker, value in (("tcp-friendly", 4.0), ("token-bucket", 1.0))
        for one in FIRST.references.listed
        if (one.place["figure"], one.place["marker"], one.response) == ("1", marker, "losses_per_s")
    ]
    pairs = [(one, 2 * one.value) for one in pair]
    monkeypatch.setitem(SEARCH, "offset", {})
    assert STUDY_PY.levels_error(pairs) == pytest.approx(math.log(2))
    assert STUDY_PY.ratios_error(pairs) == pytest.approx(0.0)
    monkeypatch.setitem(SEARCH, "offset", {"losses_per_s": 1.0})
    # with one more on both sides 9 / 5 and 3 / 2
    assert STUDY_PY.levels_error(pairs) == pytest.approx((math.log(9 / 5) + math.log(3 / 2)) / 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("chosen = 23\n", "chosen = 30\n", "tokens: a value that is not tried"),
        ("[search]", "[sought]", "has no 'search'"),
    ],
)
def test_a_calibration_that_takes_what_is_not_tried_is_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    shutil.copytree(FOLDER, tmp_path / "feroz")
    file = tmp_path / "feroz" / "calibration.toml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    with pytest.raises(PackError, match=message):
        load(tmp_path / "feroz")


def test_a_calibration_is_recorded() -> None:
    asked = []

    def run(campaigns: Sequence[Campaign], label: str) -> list[Measurements]:
        """Measure what is printed, or twice that where RIO averages all packets."""
        found = []
        for one in campaigns:
            assert one.scenario.override(*one.design.treatments[0].overrides).seed == 101
            rows = []
            for each in one.design.treatments:
                at = dict(zip(one.design.names, each.levels, strict=True))
                coupled = any(text.endswith("averaging=coupled") for text in each.overrides)
                asked.append((label, at["figure"], one.design.replications))
                place = (at["figure"], at.get("tokens", ""), at["marker"])
                values = {name: value for (*where, name), value in PRINTED.items() if (*where,) == place}
                values = {name: value * (2.0 if coupled else 1.0) for name, value in values.items()}
                values["cov_sample"] = values.get("cov", 0.0) / (0.99 if place[0] in "23" else 0.9) ** 0.5
                rows += [
                    ("key", each.name, *each.levels, k, response.name, values.get(response.name, 1.0))
                    for response in one.responses
                    for k in range(one.design.replications)
                ]
            columns = ["key", "treatment", *one.design.names, "replication", "response", "value"]
            found.append(Measurements(pl.DataFrame(rows, columns, orient="row")))
        return found

    record = STUDY_PY.calibrate(run)
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
    assert {(figure, often) for label, figure, often in asked if "Tables 1, 4, 5" in label} == {
        (figure, 8) for figure in "145"
    }
