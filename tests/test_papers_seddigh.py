"""The study that is all data: its quick form is the one on record, and no Python is of it."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Cli
from perhop import RESULTS_VERSION
from perhop.papers.of_folder import own_study
from perhop.papers.pack import pack_dir

PACK = pack_dir("seddigh")


def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    expected = json.loads((PACK / "expected" / "quick.json").read_text())
    done = cli("reproduce", "seddigh", "--quick", "--json", "-j", "2")
    assert done.code == 0, done.err
    assert done.json() == expected
    assert expected["results_version"] == RESULTS_VERSION
    page = Path("out/seddigh/report.html").read_text()
    # the assumption holds: where there is enough for all, packets within the target are not lost
    assert "were IN and lost" not in page
    assert "IEEE Globecom, 1999." in page


def test_it_has_no_python() -> None:
    assert not list(PACK.rglob("*.py"))
    assert not (Path(__file__).parents[1] / "python" / "perhop" / "papers" / "seddigh").exists()


def test_it_is_judged_ten_times_each_under_three_readings_or_more() -> None:
    plan = own_study("seddigh").plan(quick=False)
    assert len(plan.read) >= 3
    assert {one.design.replications for one in plan.campaigns} == {10}
    assert {len(one.design.treatments) for one in plan.campaigns} == {18}
