"""What is recorded of the kernel's TCP: the table is the numbers', and the simulator still gives its half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from perhop import _core
from perhop.experiment.definition import Campaign
from perhop.experiment.design_runs import each

FOLDER = Path(__file__).parents[1] / "oracles" / "kernel"
RECORDED = pl.read_csv(FOLDER / "tcp.csv", schema_overrides={"flows": pl.String, "queue": pl.String})


def test_the_page_has_the_table_of_the_numbers() -> None:
    words = [sys.executable, str(FOLDER / "compare.py"), str(FOLDER / "tcp.csv")]
    table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert table in (FOLDER / "README.md").read_text()


@pytest.mark.skipif(_core.RESULTS_VERSION != 6, reason="recorded under results_version 6")
def test_the_simulator_gives_what_is_recorded() -> None:
    campaign = Campaign.load(FOLDER / "tcp.toml")
    compared = 0
    for run in each(campaign.design, campaign.scenario, range(1)):
        names = campaign.design.names
        levels = dict(zip(names, campaign.design.treatments[run.treatment].levels, strict=True))
        if levels["clock"] != "simulator":
            continue
        result = campaign.scenario.override(*run.overrides).run()
        flows = result.flows
        (row,) = RECORDED.filter(replication=0, **levels).to_dicts()
        assert flows["goodput_bit_s"].sum() == pytest.approx(row["goodput"], rel=1e-12)
        assert flows["timeouts"].sum() == row["timeouts"]
        compared += 1
    assert compared == 12
