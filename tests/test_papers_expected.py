"""The quick reproduction against the one on record.

After a change that is meant to change results: `perhop reproduce kalampoukas --quick --json >
papers/kalampoukas/expected/quick.json`, and a line under "Changed results" in the changelog.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Reproduced
from perhop import RESULTS_VERSION
from perhop.cli.reproduce import PAPERS
from perhop.judge.measured import Measurements
from perhop.models import two_way
from perhop.models.two_way_setup import Setup
from perhop.papers.behind import runs_behind
from perhop.papers.folder import load, own_folder, own_study
from perhop.papers.folder_page import figure_of
from perhop.papers.plan import plan_of
from perhop.papers.reduce import reduce
from perhop.papers.reproduce import run_campaigns


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(kalampoukas_quick: Reproduced) -> None:
    """Its runs are those of the record, of which `make test` makes some again."""
    expected = json.loads((own_folder("kalampoukas") / "expected/quick.json").read_bytes())
    found = kalampoukas_quick.done.json()
    for part in ("command", "results_version", "runs", "treatments"):
        assert found[part] == expected[part]
    assert [_row(row) for row in found["rows"]] == [_row(row) for row in expected["rows"]]
    assert [_claim(claim) for claim in found["claims"]] == [_claim(claim) for claim in expected["claims"]]


@pytest.mark.parametrize("key", PAPERS)
def test_what_is_on_record_of_a_quick_reproduction_is_of_its_runs(key: str) -> None:
    expected = json.loads((own_folder(key) / "expected/quick.json").read_bytes())
    plan = plan_of(own_study(key), quick=True)
    assert {name: expected[name] for name in ("runs", "treatments")} == runs_behind(plan)
    assert expected["results_version"] == RESULTS_VERSION


@pytest.mark.parametrize("reading", ["ns-2", "BSD"])
def test_the_study_is_the_same_under_each_convention_of_tcp(reading: str, reproduction: Reproduced) -> None:
    """Efficiencies are those of the base within 0.002, and no verdict differs."""
    claims = {claim["id"]: claim for claim in reproduction.done.json()["claims"]}
    for claim in claims.values():
        assert reading not in claim["decided_by"], claim["id"]
    k1 = claims["K1"]
    other = next(one for one in k1["readings"] if one["id"] == reading)
    assert len(other["parts"]) == 24
    for part, again in zip(k1["parts"], other["parts"], strict=True):
        assert again["mean"] == pytest.approx(part["mean"], abs=0.002), part["quantity"]


def test_one_switch_gives_the_printed_numbers_of_figure_6_2(reproduction: Reproduced) -> None:
    """And those of Figure 4.2 no more; what the README says of them."""
    claims = {claim["id"]: claim for claim in reproduction.done.json()["claims"]}

    def means(row: str) -> list[float]:
        (own,) = (one for one in claims[f"K9/{row}"]["readings"] if one["id"] == "switch")
        return [round(part["mean"], 3) for part in own["parts"]]

    assert means("6.2") == [0.555, 0.477]
    assert means("4.2") == [0.712, 0.577]
    assert claims["K9/6.2"]["decided_by"] == ["switch"]
    assert claims["K9"]["verdict"] == claims["K9/4.2"]["verdict"] == "contradicted"


def test_every_row_is_within_a_fiftieth_of_the_bounded_form(reproduction: Reproduced) -> None:
    """Tighter than claim K1, and relative where the efficiency is small."""
    for row in reproduction.done.json()["rows"]:
        bounded, mean = row["closed_form"]["bounded"], row["simulated"]["mean"]
        if bounded is not None and row["unit"] == "1":
            assert mean == pytest.approx(bounded, abs=min(0.02, max(0.05 * bounded, 0.005))), row["id"]


@pytest.mark.long
def test_nothing_is_lost_and_theorem_2_holds(kalampoukas_quick: Reproduced, tmp_path: Path) -> None:
    """Told on the page alone; the runs are in the store, and are not made again."""
    shutil.copytree(kalampoukas_quick.folder.parent / "kalampoukas.runs", tmp_path / "store")
    study = own_study("kalampoukas")
    plan = replace(plan_of(study, quick=True), drawn=())
    frames = run_campaigns("kalampoukas", plan.campaigns, tmp_path / "store", 2)
    found = reduce(plan, plan.results(frames, ()), "perhop reproduce kalampoukas --quick", RESULTS_VERSION)
    assert found.warnings == []


def test_the_threshold_curve_follows_the_bounded_form(tmp_path: Path) -> None:
    folder = load(own_folder("kalampoukas"), "kalampoukas")
    about = folder.of("beyond/threshold.toml")
    (scalars,) = run_campaigns("threshold", [about.campaign], tmp_path / "store", 2)
    (figure,) = (one for one in folder.file.figure if one.campaign == about.name)
    (drawn,) = figure_of(folder, figure, {about.name: Measurements(scalars)}).values()
    assert all(one.off("bounded") < 0.01 for one in drawn.values.values())
    assert max(one.off("printed") for one in drawn.values.values()) > 0.9
    fifo = two_way.fifo(Setup.of(about.campaign.scenario).model())
    assert drawn.values["slow_efficiency", "43"].mean == pytest.approx(float(fifo.slow), abs=0.005)


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    ends = row["simulated"]["ci95"] or []
    rounded = [round(value, 4) for value in (row["simulated"]["mean"], *ends)]
    return (row["table"], row["id"], row["quantity"], row["published"], row["simulated"]["n"], *rounded)


def _claim(claim: dict[str, Any]) -> tuple[object, ...]:
    return (claim["id"], claim["verdict"], claim["decided_by"])
