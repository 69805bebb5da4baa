"""The fit of settings to printed numbers: its error by cell, what it reads, what a page shows of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.papers import PackError, load_pack
from perhop.papers.fit import Fit, load_fit
from perhop.papers.fit_page import fit_section

FIT = Fit(
    levels={"depth": {"1 kB": ["a=1kB", "b=2kB"], "2 kB": ["a=2kB"]}, "share": {"0.5": ["c=0.5"]}},
    start={"depth": "1 kB", "share": "0.5"},
    cells={"fast": ["x"]},
    seen={"slow": ["y"]},
    error={"fast": 0.1, "slow": 0.5},
    passes=2,
    runs=["run.seed=2"],
)
PRINTED = {(response, c, treatment): 1.0 for treatment in "xy" for response in ("fast", "slow") for c in "rf"}
OFF = {("fast", "r", "x"): 3.0, ("fast", "f", "x"): 4.0, ("slow", "r", "x"): 1.0}


def test_a_point_has_the_settings_of_its_levels() -> None:
    assert FIT.settings({"depth": "1 kB", "share": "0.5"}) == ["a=1kB", "b=2kB", "c=0.5"]
    assert FIT.settings({"depth": "2 kB", "share": "0.5"}) == ["a=2kB", "c=0.5"]


def test_numbers_are_off_by_standard_errors_of_their_response() -> None:
    found = FIT.off(PRINTED, {("fast", "r", "x"): 1.2, ("slow", "f", "y"): 0.5})
    assert found == pytest.approx({("fast", "r", "x"): 2.0, ("slow", "f", "y"): -1.0})


def test_what_is_fitted_counts_apart_from_the_rest() -> None:
    assert FIT.rms(OFF) == pytest.approx(math.sqrt(12.5))
    assert FIT.rms(OFF, fitted=False) == 1.0
    assert math.isnan(FIT.rms({("fast", "r", "x"): 3.0}, fitted=False))
    # what was seen before is no part of the fit, and still in sample
    assert (FIT.fitted, FIT.in_sample) == ({("fast", "x")}, {("fast", "x"), ("slow", "y")})


@pytest.mark.parametrize(("lacks", "told"), [("[seen]", "seen"), ("passes", "search.passes")])
def test_a_calibration_without_a_part_is_refused(tmp_path: Path, lacks: str, told: str) -> None:
    pack = load_pack("papagiannaki")
    text = pack.scenario("calibration.toml").decode()
    (tmp_path / "calibration.toml").write_text(text)
    assert load_fit(replace(pack, folder=tmp_path)) == load_fit(pack)
    (tmp_path / "calibration.toml").write_text(
        text.replace(lacks, lacks.replace("se", "xe").replace("pa", "xa"))
    )
    with pytest.raises(PackError, match=rf"calibration\.toml: has no '{told}'"):
        load_fit(replace(pack, folder=tmp_path))


def test_the_page_has_a_row_for_each_treatment_and_stars_what_is_fitted() -> None:
    off = {cell: float(k) for k, cell in enumerate(PRINTED)}
    record = {
        "command": "calibrate",
        "chosen": {"depth": "1 kB"},
        "error": {"fitted": 0.7, "held out": 4.7},
        "readings": {"other": 2.0},
    }
    section = fit_section(FIT, off, record, "marking", "A star is a star.", "again")
    (table,) = section.tables
    assert table.columns == ("marking", "fast r", "fast f", "slow r", "slow f")
    assert table.rows == [("x *", "+0.0", "+1.0", "+2.0", "+3.0"), ("y", "+4.0", "+5.0", "+6.0", "+7.0")]
    for words in (
        "Fitted: depth 1 kB.",
        "0.7 over the 2 fitted cells, 4.8 over the others",
        "`calibrate`: 0.7 and 4.7",
    ):
        assert words in section.text[0]
    assert "other 2.0" in section.text[0]
