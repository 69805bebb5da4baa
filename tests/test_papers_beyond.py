"""Campaigns past the papers: files are valid and plan, claims name what is measured, records are of them."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Campaign
from perhop.cli.exit import ExitCode
from perhop.experiment.rules import is_campaign
from perhop.experiment.store import Store
from perhop.judge.measured import Measurements
from perhop.judge.verdict import Verdict
from perhop.papers.beyond import OwnClaims, PartOf, judged, judged_rows, read_claims, write_rows, write_table
from perhop.papers.error import PackError
from test_models_estimate import LINE, PLAIN

SWEEP = """scenario = "line.toml"
replications = 1
[[factor]]
name = "rate"
path = "link.a-r.rate"
levels = [{rates}]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
"""
OWN = """campaign = "sweep.toml"
[[claim]]
id = "X"
statement = "Something arrives."
part = [{ response = "goodput", at = { rate = "1Mbit/s" }, low = 1.0 }]
"""
TOP = Path(__file__).parents[1]
FILES = sorted((TOP / "papers").glob("*/beyond/*.toml"))
CAMPAIGNS = [file for file in FILES if is_campaign(file.read_bytes())]
CLAIMS = [file for file in FILES if file not in CAMPAIGNS]
# run by `perhop reproduce`: their means are in the study's page and document
NOT_RECORDED = {
    f"{study}/beyond/{file}.toml"
    for study, files in (
        ("kalampoukas", ("connections", "delay", "map", "share", "threshold")),
        ("laatu", ("averaging", "background-rtt", "cases", "constant", "depth", "flows", "packet")),
        ("laatu", ("rtt", "rtt-constant", "spread", "tcp")),
    )
    for file in files
}
TABLES = sorted((TOP / "papers").glob("*/beyond/recorded/*.csv"))


def name(file: Path) -> str:
    return f"{file.relative_to(TOP / 'papers')}"


def test_there_are_some() -> None:
    assert len(CAMPAIGNS) >= 9
    assert {file.name for file in CLAIMS} == {"claims.toml"}


@pytest.mark.parametrize("file", CAMPAIGNS, ids=name)
def test_a_campaign_is_valid_and_plans(file: Path, cli: Cli) -> None:
    checked = cli("check", file, "--json").json()["files"][0]
    assert (checked["kind"], checked["ok"]) == ("campaign", True)
    assert cli("campaign", "plan", file).code == 0


@pytest.mark.parametrize("file", CLAIMS, ids=name)
def test_claims_name_levels_and_responses_of_their_campaign(file: Path) -> None:
    claims = read_claims(file)
    campaign = Campaign.load(file.parent / claims.campaign)
    levels = {factor.name: {one.name for one in factor.levels} for factor in campaign.design.factors}
    responses = {one.name for one in campaign.responses}
    for part in (part for claim in claims.claim for part in claim.part):
        assert part.response in responses
        for place in (part.at, part.less or {}, part.over or {}):
            assert all(level in levels.get(factor, {level}) for factor, level in place.items())


@pytest.mark.parametrize("file", TABLES, ids=name)
def test_a_record_has_the_treatments_of_its_file(file: Path) -> None:
    rows = list(csv.DictReader(StringIO(file.read_text(encoding="utf-8"))))
    if file.name == "claims.csv":
        claims = read_claims(file.parents[1] / "claims.toml")
        assert [one["claim"] for one in rows] == [claim.id for claim in claims.claim for _ in claim.part]
        return
    campaign = Campaign.load(file.parents[1] / f"{file.stem}.toml")
    factors = [one.name for one in campaign.design.factors]
    treatments = {one.levels for one in campaign.design.treatments}
    assert {tuple(row[one] for one in factors) for row in rows} == treatments
    assert {int(row["n"]) for row in rows} <= {0, campaign.design.replications}


def test_every_campaign_and_file_of_claims_has_a_record() -> None:
    records = {name(file) for file in TABLES}
    wanted = {file for file in FILES if name(file) not in NOT_RECORDED}
    assert {name(file.parent / "recorded" / f"{file.stem}.csv") for file in wanted} == records
    assert {name(file) for file in CAMPAIGNS} >= NOT_RECORDED


def stored(folder: Path, rates: str) -> Store:
    """Make a campaign of these rates and its store, not run."""
    folder.mkdir()
    (folder / "line.toml").write_text(LINE.format(**PLAIN | {"duration": 2, "warmup": 1}))
    (folder / "sweep.toml").write_text(SWEEP.format(rates=rates))
    (folder / "claims.toml").write_text(OWN)
    return Store(folder / "store")


def test_claims_are_judged_on_the_store_of_their_campaign(cli: Cli, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, rates in ((one, '"1Mbit/s", "2Mbit/s"'), (other, '"1Mbit/s", "3Mbit/s"')):
        store = stored(folder, rates)
        assert cli("campaign", "run", folder / "sweep.toml", "-o", store.folder).code == 0
    done = cli("analyze", one / "store", "--claims", one / "claims.toml")
    assert done.code == 0
    assert "not judged" in done.out
    done = cli("analyze", one / "store", "--claims", one / "claims.toml", "--csv")
    assert done.out.startswith("claim,verdict,quantity,low,high,mean,from,to,n,part\nX,not judged,goodput at")
    assert cli("analyze", one / "store", "--csv").out.startswith(
        "rate,response,mean,from,to,n\n1Mbit/s,goodput,"
    )
    done = cli("analyze", other / "store", "--claims", one / "claims.toml")
    assert done.code == ExitCode.INVALID
    assert "has other treatments or responses" in done.err


def test_what_the_command_cannot_do_is_told(cli: Cli, tmp_path: Path) -> None:
    store = stored(tmp_path / "one", '"1Mbit/s"')
    assert cli("campaign", "run", tmp_path / "one" / "sweep.toml", "-o", store.folder).code == 0
    assert cli("analyze", store.folder, "--csv", "--pairs").code == ExitCode.USAGE
    done = cli("analyze", store.folder, "--claims", tmp_path / "none.toml")
    assert done.code == ExitCode.USAGE
    assert "none.toml" in done.err
    (tmp_path / "bad.toml").write_text("campaign = 1")
    done = cli("analyze", store.folder, "--claims", tmp_path / "bad.toml")
    assert done.code == ExitCode.INVALID
    assert "Traceback" not in done.err


def scalars(a: float, b: float) -> pl.DataFrame:
    """Ten replications of two arms with means 0.05 above `a` and `b`."""
    rows = [
        {"key": "", "treatment": arm, "arm": arm, "replication": i, "response": "rate", "value": value}
        for arm, mean in (("a", a), ("b", b))
        for i, value in enumerate([mean, mean + 0.1] * 5)
    ]
    return pl.DataFrame(rows)


def part(**settings: object) -> PartOf:
    return PartOf("rate", {"arm": "b"}, **settings)  # type: ignore[arg-type]


def test_parts_are_judged() -> None:
    measured = Measurements(scalars(1.0, 2.0))
    less = {"arm": "a"}
    assert judged(part(less=less, above_zero=True), measured).verdict is Verdict.SUPPORTED
    pooled = Measurements(scalars(1.0, 2.0).filter(pl.col("arm") == "b"))
    assert judged(part(less={}, above_zero=False, low=-0.1, high=0.1), pooled).verdict is Verdict.SUPPORTED
    assert judged(part(less=less, below_zero=True), measured).verdict is Verdict.CONTRADICTED
    # (20 + 0.5) / (10 + 0.5), less what the jackknife takes off
    ratio = judged(part(over=less, low=1.9), measured)
    assert ratio.measured is not None
    assert ratio.measured.mean == pytest.approx(20.5 / 10.5, abs=1e-3)
    # 2.05 in the mean: the interval holds it
    assert judged(part(low=2.05), measured).verdict is Verdict.INCONCLUSIVE
    few = Measurements(scalars(1.0, 2.0).filter(pl.col("replication") < 9))
    assert judged(part(less=less, above_zero=True), few).verdict is Verdict.NOT_JUDGED


def test_what_is_not_measured_is_told() -> None:
    measured = Measurements(scalars(1.0, 2.0))
    for wrong in (
        part(),
        part(less={"arm": "a"}, above_zero=True, below_zero=True),
        part(less={"arm": "a"}, above_zero=True, low=1.0),
        part(less={}, above_zero=True),
        part(less={"arm": "c"}),
        part(less={"leg": "a"}),
        part(less={"arm": "a"}, over={"arm": "a"}),
    ):
        with pytest.raises(PackError, match="rate"):
            judged(wrong, measured)


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('campaign = "x.toml"\nclaims = []\n')
    with pytest.raises(PackError, match=r"claims\.toml: .*claim"):
        read_claims(file)


def test_tables_have_a_row_for_each_mean_and_part() -> None:
    out = StringIO()
    write_table(scalars(1.0, 2.0), out)
    assert out.getvalue().splitlines()[:2] == ["arm,response,mean,from,to,n", "a,rate,1.05,1.0123,1.0877,10"]
    out = StringIO()
    write_rows(judged_rows(OwnClaims("x.toml", []), scalars(1.0, 2.0)), out)
    assert out.getvalue().startswith("claim,verdict,quantity")
