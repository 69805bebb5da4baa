"""The fit of settings to printed numbers: its error by cell, which readings fit, what a page shows of it."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.papers.error import PackError
from perhop.papers.fit import BASE, CellFit, Fit, Parameter, fit_section
from perhop.papers.folder import load, own_folder
from perhop.papers.readings import Reading
from perhop.papers.refit import voting
from perhop.report.study import Table

STUDY = load(own_folder("papagiannaki"), "papagiannaki")
OWN = {"other": Parameter({"3 kB": ["a=3kB"]}, "3 kB")}
FIT = CellFit(
    parameters={
        "depth": Parameter({"1 kB": ["a=1kB", "b=2kB"], "2 kB": ["a=2kB"]}, "1 kB", under=OWN),
        "share": Parameter({"0.5": ["c=0.5"]}, "0.5"),
    },
    called="{A}",
    treatments=["x"],
    error={"fast": 0.1, "slow": 0.5},
    seeds=5,
    near=1.5,
    hopeless=2.0,
    runs={"seed": 2},
)
PRINTED = {(response, c, treatment): 1.0 for treatment in "xy" for response in ("fast", "slow") for c in "rf"}
OFF = {("fast", "r", "x"): 3.0, ("fast", "f", "x"): 4.0, ("slow", "r", "y"): 1.0}


def test_a_point_has_the_settings_of_its_levels() -> None:
    assert FIT.settings(FIT.before) == ["a=1kB", "b=2kB", "c=0.5"]
    assert FIT.settings({"depth": "2 kB", "share": "0.5"}) == ["a=2kB", "c=0.5"]


def test_parameters_set_the_treatment_they_are_of() -> None:
    tick = {"values": [0, 100], "before": 0, "chosen": 100, "set": ["host.tick={}ms", "host.on_tick={on}"]}
    gain = Parameter({0.5: ["gain=0.5"], 1.0: ["gain=1.0"]}, 0.5, 0.5, "", (1.0,), "new")
    fit = Fit({"tick": Parameter.of(tick), "gain": gain})
    common = ["host.tick=0ms", "host.on_tick=false"]
    assert fit.settings({"tick": 0, "gain": 0.5}, "old") == common
    assert fit.settings({"tick": 0, "gain": 0.5}, "new") == [*common, "gain=0.5"]
    assert "host.on_tick=true" in fit.settings(fit.chosen, "new")
    assert gain.searched == (0.5,)


def test_a_reading_may_have_levels_of_its_own() -> None:
    assert FIT.under("other").before == {"depth": "3 kB", "share": "0.5"}
    assert FIT.under("other").settings(FIT.under("other").before) == ["a=3kB", "c=0.5"]
    assert FIT.under("another").before == FIT.before


def test_numbers_are_off_by_standard_errors_of_their_response() -> None:
    found = FIT.off(PRINTED, {("fast", "r", "x"): 1.2, ("slow", "f", "y"): 0.5})
    assert found == pytest.approx({("fast", "r", "x"): 2.0, ("slow", "f", "y"): -1.0})


def test_what_is_fitted_counts_apart_from_the_rest() -> None:
    assert FIT.rms(OFF) == pytest.approx(math.sqrt(12.5))
    assert FIT.rms(OFF, fitted=False) == 1.0
    assert math.isnan(FIT.rms({("fast", "r", "x"): 3.0}, fitted=False))


def test_a_reading_fits_up_to_so_many_times_the_least_error() -> None:
    assert FIT.fitting({"best": 2.0, "near": 3.0, "far": 3.01}) == ["best", "near"]


def test_only_readings_that_fit_vote_each_at_its_own_point(tmp_path: Path) -> None:
    own = replace(STUDY, folder=tmp_path)
    assert own.fit is not None
    start = {id_: own.fit.under(id_).before for id_ in ("good", "window", "bad")}
    record = {
        BASE: {"error": 2.0, "fits": True},
        "good": {"chosen": {**start["good"], "delay of a hop": "48 ms"}, "error": 2.5, "fits": True},
        "window": {"chosen": start["window"], "error": 2.6, "fits": True},
        "bad": {"chosen": start["bad"], "error": 4.04, "fits": False},
    }
    (tmp_path / "calibration.json").write_text(
        json.dumps({"command": "c", "fitted": [], "fits": record, "points": []})
    )
    listed = [Reading("long", "m", ("run.duration=9s",)), *(Reading(id_, "m", ("x=1",)) for id_ in start)]
    votes, left_out = voting(replace(own, readings=tuple(listed)))
    assert [one.id for one in votes] == ["long", "good", "window"]
    assert votes[0] == listed[0]
    assert votes[1].settings[:3] == ("x=1", "link.e[0]-x.delay=48ms", "link.e[1..3]-x.delay=48ms")
    assert "link.e[0]-x.delay=67ms" in votes[2].settings  # a level that this reading alone has
    assert "delay of a hop 48 ms" in votes[1].meaning
    assert left_out == (
        "reading bad: does not fit the paper's own cells (4.0 against 2.0 standard errors), so that it does "
        "not vote",
    )
    with pytest.raises(PackError, match=r"calibration\.json: .*'new'"):
        voting(replace(own, readings=(Reading("new", "m", ("x=1",)),)))


@pytest.mark.parametrize(
    ("text", "instead", "told"),
    [
        ("seeds = 5", "seed = 5", "search: has no 'seeds'"),
        ("[search.error]", "[search.errors]", "search: has no 'error'"),
        ('"bpp", ', '"bpx", ', "search: 'there is no treatment bpx'"),
        ("premium = 0.015", "best_effort = 0.015", "search: 'nothing is printed of best_effort'"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(
    text: str, instead: str, told: str, tmp_path: Path
) -> None:
    shutil.copytree(STUDY.folder, tmp_path / "p")
    path = tmp_path / "p" / "calibration.toml"
    whole = path.read_text()
    assert text in whole
    path.write_text(whole.replace(text, instead, 1))
    with pytest.raises(PackError, match=rf"calibration\.toml: .*{told}"):
        load(tmp_path / "p")


def test_a_fit_needs_a_factorial(tmp_path: Path) -> None:
    folder = tmp_path / "laatu"
    shutil.copytree(own_folder("laatu"), folder)
    (folder / "calibration.toml").write_bytes((STUDY.folder / "calibration.toml").read_bytes())
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("\n[under]", "\nrefit = true\n[under]", 1))
    with pytest.raises(PackError, match=r"claims have no \[factorial\]"):
        load(folder)


def test_the_section_says_what_was_tried_of_each_parameter() -> None:
    tried = {"depth": [["1 kB", 0.7], ["2 kB", 2.0]], "share": [["0.5", 0.7]]}
    chosen = {"depth": "1 kB", "share": "0.5"}
    record = {"command": "calibrate", "fits": {BASE: {"chosen": chosen, "error": 0.7, "tried": tried}}}
    own = Table("T", ("a",), [])
    section = fit_section(FIT, record, ["Text."], [own])
    assert (section.text, section.tables[0]) == (["Text."], own)
    assert section.tables[1].rows == [
        ("depth", "1 kB (0.700), 2 kB (2.000)", "1 kB", "1 kB"),
        ("share", "0.5 (0.700)", "0.5", "0.5"),
    ]
