"""CAKE and FQ-CoDel as the authors of CAKE measured them: the page, the record, and how far perhop is off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from perhop import Campaign
from perhop.experiment.design import each
from reproduced import changed, skip_if_any
from scripts import script

FOLDER = Path(__file__).parents[1] / "oracles" / "cake-paper"
rrul = script(FOLDER / "rrul.py")

VERSION = 12
"""The results_version of the record."""


def test_the_page_has_the_tables_of_the_numbers() -> None:
    words = [sys.executable, str(FOLDER / "rrul.py")]
    tables = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert tables in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("line", ["10-10 diffserv4", "1-10 fq_codel"])
def test_the_simulator_gives_what_is_recorded(line: str) -> None:
    recorded = pl.read_csv(FOLDER / "simulated.csv").filter(replication=0)
    campaign = Campaign.load(FOLDER / "campaign.toml")
    runs = each(campaign.design, campaign.scenario, range(1))
    (run,) = [run for run in runs if campaign.design.treatments[run.treatment].levels == (line,)]
    scenario = campaign.scenario.override(*run.overrides)
    skip_if_any(int(changed(scenario, VERSION)), VERSION)
    flows = scenario.run().flows
    rates, queue = line.split(" ")
    for name, goodput in flows.select("name", "goodput_bit_s").rows():
        (own,) = recorded.filter(rates=rates, queue=queue, quantity=name.replace("-", " "))["value"]
        assert goodput / 1e6 == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize(
    ("queue", "share", "ping_ms"),
    [("fq_codel", 0.02, 0.1), ("besteffort", 0.025, 0.5), ("diffserv3", 0.09, 1.2), ("diffserv4", 0.09, 1.2)],
)
def test_a_line_of_ten_is_as_the_authors_measured_it(queue: str, share: float, ping_ms: float) -> None:
    for row in rrul.together().filter(rates="10-10", queue=queue).iter_rows(named=True):
        if row["unit"] == "ms":
            assert row["mean"] == pytest.approx(row["median"], abs=ping_ms)
        else:
            assert row["mean"] == pytest.approx(row["median"], rel=share)
