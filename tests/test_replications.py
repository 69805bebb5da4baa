"""`perhop campaign replications`: how many runs a half-width or a difference takes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.experiment.analysis import AnalysisRequest
from perhop.experiment.analyze import asked_of
from perhop.experiment.comparisons import Margin
from perhop.experiment.replications import TooManyError, for_difference, for_half_width
from perhop.experiment.store import Store
from perhop.say.document import MOST_ROWS, Table
from perhop.say.replications import of_needed
from perhop.say.terminal import lines
from perhop.stats.intervals import mean_interval
from perhop.stats.power import replications_for_difference, replications_for_mean, replications_until
from perhop.stats.sequential import half_width_over_s
from test_campaign_page import LOSSES, made
from test_campaign_run import RATES


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "pilot", [RATES, LOSSES], replications=4)


@pytest.mark.parametrize("ratio", [0.03, 0.05, 0.3, 1.0, 5.0])
def test_a_mean_has_the_half_width_with_so_many_and_not_with_fewer(ratio: float) -> None:
    n = replications_for_mean(ratio, 1.0)

    def half(n: int) -> float:
        return float(scipy.special.stdtrit(n - 1, 0.975)) / math.sqrt(n)

    assert n is not None
    assert half(n) <= ratio
    assert n == 2 or half(n - 1) > ratio
    until = replications_until(ratio, 1.0)
    assert until is not None
    assert half_width_over_s(until, 0.95) <= ratio
    assert half_width_over_s(until - 1, 0.95) > ratio
    # the price of looking: 1.7 times as wide
    assert n < 10 or 2.5 < until / n < 5.0


def test_nothing_is_so_narrow_and_nothing_varies() -> None:
    assert replications_for_mean(1e-9, 1.0) is None
    assert replications_for_mean(0.1, 0.0) == 2
    assert replications_for_difference(0.1, 0.0, paired=True) == 2


@pytest.mark.parametrize("paired", [True, False])
def test_a_difference_is_found_in_four_of_five_campaigns(paired: bool) -> None:
    # two arms with deviation 1 each, correlated by one half where they have the same seeds
    correlation = 0.5 if paired else 0.0
    variance = 2.0 - 2.0 * correlation
    n = replications_for_difference(0.8, variance, paired=paired)
    assert n is not None
    chance = np.random.default_rng(2)
    first, own = chance.standard_normal((2, 4000, n))
    second = correlation * first + math.sqrt(1 - correlation**2) * own + 0.8
    if paired:
        p = scipy.stats.ttest_rel(first, second, axis=-1).pvalue
    else:
        p = scipy.stats.ttest_ind(first, second, axis=-1).pvalue
    assert 0.78 < np.mean(p < 0.05) < 0.88
    fewer = replications_for_difference(0.8, variance, paired=paired, wanted=0.6)
    assert fewer is not None
    assert fewer < n


def test_each_treatment_and_group_has_its_number() -> None:
    chance = np.random.default_rng(1)
    rows = [
        ("k", level, level, i, "delay", group, 10.0 * (1.0 + spread * float(chance.standard_normal())))
        for level, spread in (("a", 0.02), ("b", 0.2))
        for i in range(30)
        for group in ("gold", "be")
    ]
    names = ("key", "treatment", "x", "replication", "response", "class", "value")
    scalars = pl.DataFrame(rows, schema=names, orient="row")
    asked = AnalysisRequest({"x": ["a", "b"]}, {"delay": "s"}, common_seeds=True)
    found = for_half_width(scalars, asked, Margin(0.05, relative=True))
    assert [(one.treatment, one.of["class"]) for one in found] == [
        (level, group) for group in ("gold", "be") for level in "ab"
    ]
    for one in found:
        own = scalars.filter(treatment=one.treatment, **{"class": one.of["class"]})["value"].to_numpy()
        assert one.deviation == pytest.approx(own.std(ddof=1))
        assert one.width == pytest.approx(0.05 * own.mean())
        assert one.replications == replications_for_mean(one.width, one.deviation)
        assert one.up_to is not None
        assert one.replications is not None
        assert one.replications <= one.up_to
    assert max(one.replications or 0 for one in found) > 50
    (pair, _) = for_difference(scalars, asked, Margin(1.0, relative=False))
    wide = scalars.filter(**{"class": "gold"}).pivot("x", index="replication", values="value")
    assert pair.deviation == pytest.approx((wide["b"] - wide["a"]).std())
    apart = AnalysisRequest({"x": ["a", "b"]}, {"delay": "s"}, common_seeds=False)
    (pair, _) = for_difference(scalars, apart, Margin(1.0, relative=False))
    assert pair.deviation == pytest.approx(math.hypot(wide["b"].std(), wide["a"].std()))
    many = AnalysisRequest({"x": [str(k) for k in range(41)]}, {"delay": "s"}, common_seeds=True)
    with pytest.raises(TooManyError):
        for_difference(scalars, many, Margin(1.0, relative=False))


def test_the_command_says_what_is_enough_and_names_the_worst(cli: Cli, store: Path) -> None:
    done = cli("campaign", "replications", store, "--half-width", "5%")
    assert done.code == 0, done.err
    found = cli("campaign", "replications", store, "--half-width", "5%", "--json").json()["needed"]
    own = [one for one in found if one["response"] == "goodput"]
    worst = max(own, key=lambda one: one["replications"])
    assert len(own) == 6
    assert (
        f"{worst['replications']} replications make every 95 % interval at most 5 % of the mean" in done.out
    )
    assert f"The worst, known from 4 runs, is {worst['treatment']}." in done.out
    assert f"(`--until-ci`) take about {worst['until']}" in done.out
    pairs = cli("campaign", "replications", store, "--difference", "20kbit/s", "--response", "goodput")
    assert "find a difference of 20 kbit/s in 80 % of campaigns, between any two treatments" in pairs.out
    part = cli(
        "campaign", "replications", store, "--half-width", "5%", "--where", "loss=0.01", "--json"
    ).json()
    assert {one["treatment"] for one in part["needed"]} < {one["treatment"] for one in found}


def test_the_number_holds_when_the_runs_are_made(cli: Cli, store: Path) -> None:
    (one, *_) = cli("campaign", "replications", store, "--half-width", "30%", "--json").json()["needed"]
    assert one["width"] == pytest.approx(0.3 * one["mean"])
    # what a mean of so many values of this deviation has
    normal = np.random.default_rng(0).standard_normal(one["replications"])
    normal = (normal - normal.mean()) / normal.std(ddof=1)
    interval = mean_interval(one["mean"] + one["deviation"] * normal)
    assert interval.half_width <= one["width"] * (1 + 1e-9)


def test_the_upper_end_of_five_runs_is_that_of_the_page() -> None:
    rows = [("k", "a", "a", i, "y", float(value)) for i, value in enumerate((3, 1, 4, 1, 5))]
    names = ("key", "treatment", "x", "replication", "response", "value")
    asked = AnalysisRequest({"x": ["a"]}, {"y": None}, common_seeds=True)
    (one,) = for_half_width(pl.DataFrame(rows, schema=names, orient="row"), asked, Margin(0.03, False))
    assert one.up_to is not None
    assert one.replications is not None
    assert math.sqrt(one.up_to / one.replications) == pytest.approx(2.4, abs=0.05)


def test_where_no_number_is_enough_that_is_said(cli: Cli, store: Path) -> None:
    told = cli("campaign", "replications", store, "--half-width", "0.0001%").out
    assert "No number up to 100,000 is enough to make every 95 % interval at most 0.0001 %" in told
    assert "No number up to 100,000 is enough for intervals that hold at every look (`--until-ci`)." in told
    assert "about more than" not in told
    told = cli("campaign", "replications", store, "--difference", "0.0001%").out
    assert "No number up to 100,000 is enough to find a difference of 0.0001 % of the mean in 80 %" in told


def test_no_number_is_cut_where_it_is_narrow(cli: Cli, store: Path) -> None:
    opened = Store.open(store)
    wanted = Margin(0.05, relative=True)
    found = for_half_width(opened.scalars(), asked_of(opened.campaign), wanted)
    tables = [part for part in of_needed(found, wanted, 0.95) if isinstance(part, Table)]
    assert len(tables) == 2
    for table in tables:
        narrow = [line for part in lines(table, 40) for line in part.split()]
        cells = [str(cell) for row in table.rows for cell in row[-4:]]
        assert set(cells) <= set(narrow)
    # `--all` has every row
    assert len(tables[1].rows) == 12
    assert tables[1].most == MOST_ROWS


def test_what_is_wrong_is_told(cli: Cli, store: Path) -> None:
    for words, told in (
        ((), "one of --half-width and --difference says what is wanted"),
        (("--half-width", "5%", "--difference", "5%"), "one of --half-width and --difference"),
        (("--half-width", "5"), None),
        (("--half-width", "0%"), "--half-width 0%: not above zero, or no number"),
        (("--half-width", "5ms"), "--half-width 5ms: goodput is in bit/s"),
        (("--half-width", "5%", "--response", "x"), "--response x: no such response"),
        (("--half-width", "5%", "--level", "1"), "--level 1: must lie inside (0, 1)"),
        (("--half-width", "5%", "--where", "loss=0.1"), "--where loss=0.1: 'loss' has no level '0.1'"),
    ):
        done = cli("campaign", "replications", store, *words)
        assert (done.code == ExitCode.USAGE, told is None or told in done.err) == (told is not None, True), (
            words
        )
