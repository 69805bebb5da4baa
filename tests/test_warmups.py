"""The warm-up of each study, held to MSER-5."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from perhop import Campaign, Scenario
from perhop.papers.folder import own_folder
from perhop.stats.warmup import mser

# a figure of each scheme and network
FIGURES = ("2.3", "3.2-one-way", "3.2-4096", "4.3", "5.3", "5.5", "6.2")
FILES = {
    "kalampoukas": FIGURES,
    "laatu": (
        *("aggregate", "aggregate-constant", "aggregate-sr-tcm"),
        *("per-flow", "per-flow-constant", "per-flow-sr-tcm", "tcp-friendly"),
    ),
    "feroz": ("1", "2", "tcp-friendly 25", "rtt"),
}

# What of the transient is measured, by choice: the papers average from the start of the flows on.
NAMES = ("campaign", "other", "campaign-assured", "beyond/cases", "beyond/constant")
MEASURED_S = {"kalampoukas": 0.0, "laatu": 20.0, "feroz": 20.0}


# the median over some runs: in a single one slow swings of TCP can look like a transient
SEEDS = range(1, 6)


def _scenario(study: str, name: str) -> Scenario:
    folder = own_folder(study)
    campaigns = [Campaign.load(path) for path in (folder / f"{file}.toml" for file in NAMES) if path.exists()]
    # of feroz its own marker, which is the first
    found, *_ = (
        campaign.scenario.override(*treatment.overrides)
        for campaign in campaigns
        for treatment in campaign.design.treatments
        if treatment.levels[-1] == name
    )
    return found


def _goodput(scenario: Scenario) -> np.ndarray:
    series = scenario.run().series
    flows = series.filter((pl.col("quantity") == "goodput_bit_s") & pl.col("path").str.starts_with("flow."))
    return flows.group_by("time_s").agg(pl.sum("value")).sort("time_s")["value"].to_numpy()


@pytest.mark.parametrize(("study", "name"), [(study, name) for study in FILES for name in FILES[study]])
def test_the_transient_is_over_when_the_study_takes_it_to_be(study: str, name: str) -> None:
    scenario = _scenario(study, name)
    run = scenario.describe().run
    interval = f"run.interval={round(run.duration_s / 300 * 1e6)}us"
    found = [mser(_goodput(scenario.override(interval, f"run.seed={seed}"))) for seed in SEEDS]
    cuts = [one.values for one in found if one is not None and one.settled]
    assert len(cuts) > len(SEEDS) // 2
    assert np.median(cuts) * run.duration_s / 300 <= run.warmup_s + MEASURED_S[study]
