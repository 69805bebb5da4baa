"""Treatments against each other: which values count, and that both commands say what the statistics do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from perhop.experiment.analysis import AnalysisRequest
from perhop.experiment.comparisons import Margin, Own, all_pairs, compare, values
from perhop.experiment.store import Store
from perhop.say.comparisons import in_words
from perhop.stats.contrasts import tukey
from perhop.stats.paired import paired_difference, tost
from perhop.stats.strata import Stratum
from test_campaign_page import made
from test_campaign_run import RATES
from test_experiment_analysis import TWO, noisy, table


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "sweep", [RATES])


def own(frame: pl.DataFrame, asked: AnalysisRequest) -> Own:
    [one] = values(frame, asked)
    return one


def test_pairs_by_hand_with_seeds_of_their_own_and_with_common_ones() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(3), 4)[1:]
    one = all_pairs(own(frame, TWO), TWO)
    assert len(one.table) == 15
    means = dict(frame.group_by("treatment", maintain_order=True).agg(pl.col("value").mean()).iter_rows())
    left = frame.select(pl.col("value") - pl.col("value").mean().over("treatment"))["value"]
    error = Stratum(23 - 6, float((left**2).sum()))
    assert one.table["low"].to_list() == pytest.approx(
        tukey(means, [3, 4, 4, 4, 4, 4], error)["low"].to_list()
    )
    common = replace(TWO, common_seeds=True)
    blocked = all_pairs(own(frame, common), common)
    assert blocked.remarks == ("Left out: 1 replication in which not every treatment has a value.",)
    whole = frame.filter(pl.col("replication").is_in([1, 2, 3]))
    y = whole.sort("treatment", "replication")["value"].to_numpy().reshape(6, 3)
    left_over = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    row = blocked.table.row(0, named=True)
    both = dict(whole.group_by("treatment").agg(pl.col("value").mean()).iter_rows())
    by_hand = tukey(both, [3] * 6, Stratum(5 * 2, float(np.sum(left_over**2))))
    half = (by_hand["high"] - by_hand["low"])[0] / 2
    assert row["difference"] == pytest.approx(both[row["second"]] - both[row["first"]])
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half)


def test_pairs_without_an_error_are_none() -> None:
    single = table({"a": "lh", "b": "xyz"}, noisy(3), 1)
    for asked in (TWO, replace(TWO, common_seeds=True)):
        one = all_pairs(own(single, asked), asked)
        assert one.table.is_empty()
        assert one.remarks == ("There is no error to compare with; add replications.",)


def test_two_are_compared_by_the_replications_that_both_have() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(4), 5)
    lacking = frame.filter(~((pl.col("treatment") == "l x") & (pl.col("replication") == 2)))
    one = compare(own(lacking, TWO), replace(TWO, level=0.9), "l x", "h x", Margin(1.2e6, False))
    assert one is not None
    x, y = (
        frame.filter(pl.col("treatment") == name, pl.col("replication") != 2)["value"].to_numpy()
        for name in ("l x", "h x")
    )
    assert one.found == paired_difference(x, y, 0.9)
    assert one.same == tost(y - x, -1.2e6, 1.2e6, 1.0 - 0.9)
    assert one.remarks[0] == "Left out: 1 replication that only one of them has."
    nothing = frame.filter((pl.col("treatment") == "l x") == (pl.col("replication") == 2))
    assert compare(own(nothing, TWO), TWO, "l x", "h x") is None


def test_a_share_of_0_is_told() -> None:
    none = table({"a": "lh", "b": "xyz"}, noisy(4), 5).with_columns(value=pl.lit(0.0))
    one = compare(own(none, TWO), TWO, "l x", "h x", Margin(0.5, True))
    assert one is not None
    assert (
        in_words(one)[-1]
        == "l x is 0, and a share of 0 says nothing: give the margin in the response's unit."
    )
    one = compare(own(none, TWO), TWO, "l x", "h x", Margin(1.0, False))
    assert one is not None
    assert in_words(one)[-1].startswith("They are the same within")


@pytest.mark.usefixtures("undrawn")
def test_analyze_compares_all_pairs(cli: Cli, sweep: Path) -> None:
    done = cli("analyze", sweep, "--pairs", "--json", "--response", "goodput")
    assert done.code == 0, done.err
    [one] = done.json()["pairs"]
    assert [(row["first"], row["second"]) for row in one["pairs"]] == [
        ("rate=1Mbit/s", "rate=2Mbit/s"),
        ("rate=1Mbit/s", "rate=4Mbit/s"),
        ("rate=2Mbit/s", "rate=4Mbit/s"),
    ]
    told = cli("analyze", sweep, "--pairs").out
    assert "each name down" in told
    assert "Second less first in Mbit/s; all intervals hold together" in told
    page = cli("report", sweep)
    assert page.code == 0
    assert "Which levels differ" in (sweep / "report.html").read_text()


def test_analyze_compares_two(cli: Cli, sweep: Path) -> None:
    words = ("analyze", sweep, "--compare", "1Mbit/s", "rate=4Mbit/s", "--response", "goodput")
    [one] = cli(*words, "--margin", "90%", "--json").json()["comparisons"]
    scalars = Store.open(sweep).scalars().filter(response="goodput")
    x, y = (scalars.filter(pl.col("rate") == rate)["value"].to_numpy() for rate in ("1Mbit/s", "4Mbit/s"))
    assert one["difference"]["mean"] == pytest.approx(float(np.mean(y - x)))
    assert (one["replications"], one["margin"]) == (3, {"value": 0.9, "relative": True})
    told = cli(*words, "--margin", "90%").out
    assert "rate=4Mbit/s less rate=1Mbit/s, 95 % intervals:" in told
    verdict = "They are the same" if one["equivalent"] else "It is not shown that they are the same"
    assert f"{verdict} within 90 % of rate=1Mbit/s" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--compare", "1Mbit/s", "3Mbit/s"], "no treatment '3Mbit/s'"),
        (["--compare", "1Mbit/s", "1Mbit/s"], "rate=1Mbit/s is named twice"),
        (["--margin", "2%"], "add --compare A B"),
        (["--compare", "1Mbit/s", "2Mbit/s", "--margin", "-2%"], "write --margin 2%, or a number above zero"),
        (["--compare", "1Mbit/s", "2Mbit/s", "--margin", "2ms"], "goodput is in bit/s"),
        (["--pairs", "--response", "speed"], "no such response"),
    ],
)
def test_comparisons_that_cannot_be(cli: Cli, sweep: Path, words: list[str], told: str) -> None:
    done = cli("analyze", sweep, *words)
    assert (done.code, told in done.err) == (2, True), done.err


def test_two_treatments_of_a_campaign_are_compared(cli: Cli, sweep: Path) -> None:
    assert "rate=2Mbit/s less rate=1Mbit/s" in cli("compare", sweep, "1Mbit/s", "2Mbit/s").out
    for others, told in (([sweep], "1 treatment is named"), (["a", "b", "c"], "3 treatments are named")):
        done = cli("compare", sweep, *others)
        assert (done.code, f"is a campaign: {told}, not two" in done.err) == (2, True), done.err


def test_very_many_treatments_are_not_compared_in_pairs(
    cli: Cli, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perhop.experiment.comparisons.MOST", 2)
    done = cli("analyze", sweep, "--pairs")
    assert (done.code, "3 treatments make 3 pairs; it compares at most 2" in done.err) == (2, True)
