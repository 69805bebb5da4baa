"""The warm-up of each study, held to MSER-5."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from perhop.papers import load_pack
from perhop.scenario import Scenario
from perhop.stats.warmup import mser

FILES = {
    "kalampoukas": (
        *("fifo", "ack-priority", "bandwidth-allocation", "backpressure", "backpressure-three"),
        *("cable-modem", "cable-modem-one-way"),
    ),
    "laatu": (
        *("aggregate", "aggregate-constant", "aggregate-sr-tcm"),
        *("per-flow", "per-flow-constant", "per-flow-sr-tcm", "tcp-friendly"),
    ),
    "feroz": ("baseline", "assured", "large", "rtt"),
}

# What of the transient is measured, by choice: the papers average from the start of the flows on.
MEASURED_S = {"kalampoukas": 0.0, "laatu": 20.0, "feroz": 20.0}


# the median over some runs: in a single one slow swings of TCP can look like a transient
SEEDS = range(1, 6)


def _goodput(text: bytes, name: str, overrides: tuple[str, ...]) -> np.ndarray:
    series = Scenario(text, f"{name}.toml", overrides).run().series
    flows = series.filter((pl.col("quantity") == "goodput_bit_s") & pl.col("path").str.starts_with("flow."))
    return flows.group_by("time_s").agg(pl.sum("value")).sort("time_s")["value"].to_numpy()


@pytest.mark.parametrize(("study", "name"), [(study, name) for study in FILES for name in FILES[study]])
def test_the_transient_is_over_when_the_study_takes_it_to_be(study: str, name: str) -> None:
    text = load_pack(study).scenario(f"{name}.toml")
    run = Scenario(text, f"{name}.toml").describe().run
    interval = f"run.interval={round(run.duration_s / 300 * 1e6)}us"
    found = [mser(_goodput(text, name, (interval, f"run.seed={seed}"))) for seed in SEEDS]
    cuts = [one.values for one in found if one is not None and one.settled]
    assert len(cuts) > len(SEEDS) // 2
    assert np.median(cuts) * run.duration_s / 300 <= run.warmup_s + MEASURED_S[study]
