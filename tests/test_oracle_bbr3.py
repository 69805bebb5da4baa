"""The oracle of BBR version 3: its tables are the numbers'; the simulator gives its part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from perhop import Campaign
from perhop.experiment.design import each
from reproduced import changed, skip_if_any

FOLDER = Path(__file__).parents[1] / "oracles" / "bbr3"
VERSION = 13
"""The results_version of the recorded simulator."""


def test_the_page_has_the_tables_of_the_numbers() -> None:
    words = [sys.executable, str(FOLDER / "tables.py")]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    parts = printed.split("\n\n")
    assert len(parts) == 4
    page = (FOLDER / "README.md").read_text()
    assert [part for part in parts if f"\n{part}\n" not in page] == []


def test_the_simulator_gives_what_is_recorded() -> None:
    """Version 3 alone, its first run in each cell."""
    recorded = pl.read_csv(FOLDER / "alone.csv").filter(sender="bbr3", replication=0)
    campaign = Campaign.load(FOLDER / "alone.toml")
    compared = older = 0
    for run in each(campaign.design, campaign.scenario, range(1)):
        names = campaign.design.names
        levels = dict(zip(names, campaign.design.treatments[run.treatment].levels, strict=True))
        if levels["sender"] != "bbr3":
            continue
        scenario = campaign.scenario.override(*run.overrides)
        if changed(scenario, VERSION):
            older += 1
            continue
        flows = scenario.run().flows
        (row,) = recorded.filter(queue=levels["queue"], flows=int(levels["flows"])).to_dicts()
        assert flows["goodput_bit_s"].sum() == pytest.approx(row["goodput"], rel=1e-12)
        compared += 1
    skip_if_any(older, VERSION)
    assert compared == 8
