"""`--until-ci --each`: a treatment that is narrow enough gets no more runs, and what is read stays paired."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from perhop import Campaign, Scenario
from perhop.cli.exit import ExitCode
from perhop.experiment.analyze import analyze, asked_of
from perhop.experiment.campaign import run_campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor
from perhop.experiment.rules import Stop
from perhop.experiment.stopping import EachStopping, Stopping, described
from perhop.experiment.store import Store
from perhop.judge.campaign import judge_store
from perhop.stats.intervals import mean_interval
from test_campaign_run import GOODPUT, SCENARIO

LOSSES = Factor.vary("link.a-b.loss", ["0.0", "0.02", "0.05"], "loss")
STOP = Stop("goodput", 0.1, relative=True, most=40, each=True)


def test_each_treatment_ends_where_it_would_alone() -> None:
    chance = np.random.default_rng(1)
    values = chance.normal(10.0, [[0.1], [1.0], [3.0]], (3, 60))
    stop = replace(STOP, half_width=0.08)
    together = EachStopping(stop, 3, 2)
    alone = [Stopping(stop, 1, 2) for _ in range(3)]
    # in an order of finishing that is none of replications
    for replication, treatment in chance.permutation([(i, k) for i in range(40) for k in range(3)]):
        measured = {"goodput": {(): values[treatment, replication]}}
        together.add(treatment, replication, measured)
        alone[treatment].add(0, replication, measured)
    many = [one.decided.replications for one in alone if one.decided is not None]
    assert many[0] == 10 < many[1] < many[2] == 40
    found = together.decided
    assert found is not None
    assert (found.fewest, found.replications, found.met, together.left) == (10, 40, False, 0)
    assert found.of == (2, ())
    assert [together.asks_for(k, many[k] - 1) and not together.asks_for(k, many[k]) for k in range(3)] == [
        True
    ] * 3
    assert "after 10 to 40 replications" in described(stop, found)
    assert "are of the first 10, which every treatment has" in described(stop, found)


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    design = Design.full([LOSSES], replications=2)
    return Campaign("each", Scenario.from_text(SCENARIO), design, (GOODPUT,), STOP)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Store:
    folder = tmp_path_factory.mktemp("store") / "each"
    with ThreadPoolExecutor(2) as executor:
        outcome = run_campaign(campaign, folder, executor)
    assert outcome.stopped is not None
    assert outcome.stopped.fewest is not None
    assert outcome.stopped.fewest < outcome.stopped.replications
    return Store.open(folder)


def counts(store: Store) -> dict[str, int]:
    runs = store.runs()
    assert set(runs["state"]) == {"done"}
    return {level: runs.filter(loss=level).height for level in ("0.0", "0.02", "0.05")}


def test_a_campaign_makes_no_runs_that_are_not_asked_for(
    store: Store, campaign: Campaign, tmp_path: Path
) -> None:
    many = counts(store)
    assert many["0.0"] == 10 < many["0.05"]
    # the same with one worker, and nothing is made again
    with ThreadPoolExecutor(1) as executor:
        run_campaign(campaign, tmp_path / "one", executor)
        again = run_campaign(campaign, tmp_path / "one", executor)
    assert again.made == 0
    assert (tmp_path / "one" / "scalars.parquet").read_bytes() == (
        store.folder / "scalars.parquet"
    ).read_bytes()
    # all together make as many of each as the worst needs
    with ThreadPoolExecutor(2) as executor:
        run_campaign(replace(campaign, stop=replace(STOP, each=False)), tmp_path / "all", executor)
    assert set(counts(Store.open(tmp_path / "all")).values()) == {max(many.values())}


def test_effects_are_of_what_every_treatment_has_and_means_of_all(store: Store) -> None:
    (found,) = analyze(store.scalars(), asked_of(store.campaign))
    assert found.method == "factorial"
    assert found.means["n"].to_list() == list(counts(store).values())
    assert set(found.frame.group_by("loss").len()["len"]) == {10}
    assert "of the 10 replications that every treatment has" in found.remarks[0]
    whole = store.campaign
    fixed = asked_of(replace(whole, stop=None, design=replace(whole.design, replications=10)))
    (first,) = analyze(store.scalars().filter(pl.col("replication") < 10), fixed)
    assert found.tests.equals(first.tests)


def test_claims_pair_the_replications_that_both_have(store: Store, tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text("""
[[claim]]
id = "less"
statement = "Loss costs."
response = "goodput"
at = { loss = "0.05" }
less = { loss = "0.0" }
below = 0
[[claim]]
id = "alone"
statement = "Something arrives."
response = "goodput"
at = { loss = "0.05" }
above = 0
[[claim]]
id = "effect"
statement = "Loss costs by itself."
response = "goodput"
effect = { loss = "0.05" }
below = 0
""")
    less, alone, effect = (one.parts[0] for one in judge_store(claims, store))
    scalars = store.scalars()
    wide = scalars.filter(pl.col("replication") < 10).pivot("loss", index="replication", values="value")
    assert less.measured == mean_interval((wide["0.05"] - wide["0.0"]).to_numpy())
    assert alone.measured is not None
    assert alone.measured.n == counts(store)["0.05"]
    assert effect.measured is not None
    assert effect.measured.n == 10
    assert effect.measured.mean == pytest.approx(
        (wide["0.05"] - (wide["0.0"] + wide["0.02"] + wide["0.05"]) / 3).mean()
    )


def test_the_file_and_the_command_line_say_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "y.toml").write_text(SCENARIO)
    text = """scenario = "y.toml"
[[factor]]
name = "loss"
path = "link.a-b.loss"
levels = [0.0, 0.05]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
[stop]
response = "goodput"
half_width = "20%"
most = 15
each = true
"""
    (tmp_path / "c.toml").write_text(text)
    assert Campaign.load(tmp_path / "c.toml").stop == Stop("goodput", 0.2, True, 15, True)
    done = cli("campaign", "run", tmp_path / "c.toml", "-o", tmp_path / "c", "-j", "1", "--most", "12")
    assert done.code == 0, done.err
    assert Store.open(tmp_path / "c").campaign.stop == Stop("goodput", 0.2, True, 12, True)
    sweep = (
        "sweep",
        tmp_path / "y.toml",
        "--vary",
        "link.a-b.loss=0.0,0.05",
        "-j",
        "1",
        "--replications",
        "2",
    )
    measure = ("--measure", "goodput=sum(flows.goodput_bit_s)", "-o", tmp_path / "s")
    done = cli(*sweep, *measure, "--until-ci", "20%", "--each", "--most", "12")
    assert done.code == 0, done.err
    assert "each = true" in (tmp_path / "s" / "campaign.toml").read_text()
    plain = tmp_path / "plain.toml"
    plain.write_text(text[: text.index("[stop]")])
    for words, told in (
        (("--each",), "--each: until what?"),
        (("--most", "20"), "--most 20: until what?"),
        (("--until-ci", "2%", "--most", "0"), "--most"),
    ):
        done = cli("campaign", "run", plain, *words)
        assert (done.code, told in done.err) == (ExitCode.USAGE, True), done.err
