"""MSER-5's objections to warm-ups, held against the share that chance gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.experiment import ledger
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.digests import seal_runs
from perhop.experiment.factors import Factor
from perhop.experiment.objections import objections
from perhop.experiment.store import Store
from perhop.report.campaign import render
from perhop.say.campaign import warm_up
from perhop.stats.warmup import BATCH, LEAST_RATE, mser, objection_rate
from test_campaign_page import made
from test_campaign_run import GOODPUT, RATES, SCENARIO

LATE = "the goodput of all flows settles at {} s (by MSER-5), after the warm-up of 30 s"


def campaign(levels: int, *, every: str = "run.duration=130s") -> Campaign:
    """Give a campaign of runs with 130 intervals, 30 of them warm-up."""
    scenario = Scenario.from_text(SCENARIO).override(every, "run.warmup=30s", "run.interval=1s")
    design = Design.full([Factor.vary("link.a-b.loss", [0.001 * k for k in range(levels)], "loss")])
    return Campaign("c", scenario, design, (GOODPUT,))


def runs(one: Campaign, objecting: list[int], of: int, times: tuple[float, ...] = (45.0,)) -> pl.DataFrame:
    """Give the runs of a campaign, so many of each treatment objected to."""
    rows = [
        (treatment.name, "done", LATE.format(times[k % len(times)]) if k < own else None)
        for treatment, own in zip(one.design.treatments, objecting, strict=True)
        for k in range(of)
    ]
    schema = {"treatment": pl.String, "state": pl.String, "unsettled": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize(("values", "warmup"), [(100, 5), (130, 10), (200, 10)])
def test_the_rate_of_chance_is_that_of_stationary_series(values: int, warmup: int) -> None:
    objected = 0
    for seed in range(1000):
        noise = np.random.default_rng(seed).standard_normal(values + 50)
        for k in range(1, len(noise)):
            noise[k] += 0.5 * noise[k - 1]
        found = mser(noise[50:])
        assert found is not None
        objected += found.values > warmup + BATCH
    # four standard deviations of a share of 1,000
    rate = objection_rate(values, warmup)
    assert objected / 1000 == pytest.approx(rate, abs=4 * (rate * (1 - rate) / 1000) ** 0.5)
    assert rate > LEAST_RATE


def test_long_runs_are_given_one_in_ten_and_short_ones_are_not_judged() -> None:
    assert objection_rate(10_000, 100) == objection_rate(500, 100) == LEAST_RATE == 0.1
    assert objection_rate(99, 10) == 0.0


def test_one_run_in_ten_is_no_reason_to_warn() -> None:
    one = campaign(54)
    assert objections(one, runs(one, [1] * 54, 10)) == []
    assert objections(one, runs(one, [0] * 54, 10)) == []


def test_a_treatment_with_more_is_named_with_the_time_that_it_takes() -> None:
    one = campaign(20)
    found = objections(one, runs(one, [1] * 19 + [8], 10, (45.0, 71.5)))
    assert [(each.treatment, each.objecting, each.runs) for each in found] == [("loss=0.019", 8, 10)]
    assert (found[0].by_chance, found[0].settles_s) == (0.1, 71.5)
    # of a single treatment, without a family
    alone = campaign(1)
    assert [each.objecting for each in objections(alone, runs(alone, [3], 5))] == [3]
    assert objections(alone, runs(alone, [2], 5)) == []


def test_single_replications_are_told_together() -> None:
    one = campaign(8)
    found = objections(one, runs(one, [1] * 8, 1))
    assert [(each.treatment, each.objecting, each.runs) for each in found] == [(None, 8, 8)]
    assert objections(one, runs(one, [1, 0, 0, 1, 0, 0, 0, 0], 1)) == []


def test_short_runs_are_allowed_more() -> None:
    long, short = campaign(2), campaign(2, every="run.duration=200s")
    short = Campaign("c", short.scenario.override("run.warmup=10s"), short.design, short.responses)
    # as docs/campaigns.md says
    rates = [objection_rate(*each) for each in ((100, 5), (100, 20), (200, 10))]
    assert rates == pytest.approx([0.21, 0.11, 0.14], abs=0.005)
    assert objections(long, runs(long, [4, 1], 10))
    assert objections(short, runs(short, [4, 1], 10)) == []


def test_one_campaign_in_twenty_is_warned_of_by_chance() -> None:
    one, chance = campaign(12), np.random.default_rng(3)
    warned = [bool(objections(one, runs(one, chance.binomial(10, 0.1, 12).tolist(), 10))) for _ in range(400)]
    assert np.mean(warned) <= 0.05


def test_every_place_that_tells_of_runs_tells_of_their_warm_up(cli: Cli, tmp_path: Path) -> None:
    folder = made(tmp_path / "store", [RATES])
    assert "MSER-5" not in render(Store.open(folder))
    with ledger.driven(folder) as book:
        book.connection.execute("UPDATE run SET unsettled = ? WHERE finished < 9", (LATE.format(2.5),))
        seal_runs(book.connection)
    said = "MSER-5 objects to the warm-up of more runs than the"
    assert said in render(Store.open(folder))
    for words in (("analyze", folder), ("campaign", "status", folder)):
        done = cli(*words)
        assert f"warning: {said}" in done.err
        assert "rate=1Mbit/s (" in done.err
        assert "the latest settles at 2.5 s" in done.err
        assert "Lengthen `run.warmup` there" in done.err


def test_the_words_name_at_most_five_treatments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = campaign(8)
    monkeypatch.setattr(Store, "campaign", one)
    (text,) = warm_up(Store(tmp_path), runs(one, [10] * 7 + [1], 10))
    assert text == (
        "MSER-5 objects to the warm-up of more runs than the 10 % that chance explains: "
        + "; ".join(
            f"loss={0.001 * k:g} (10 of 10 runs, the latest settles at 45 s)" for k in range(5)
        ).replace("loss=0 ", "loss=0.0 ")
        + " and 2 more treatments. Lengthen `run.warmup` there, and `run.duration` by as much"
    )
    assert warm_up(Store(tmp_path), runs(one, [1] * 8, 10)) == []
