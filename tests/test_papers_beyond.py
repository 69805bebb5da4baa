"""Campaigns past the papers: files are valid and plan, claims name what is measured, records are of them."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Campaign
from perhop.experiment.definition import is_campaign
from perhop.papers.beyond import OwnClaims, PartOf, judged, read_claims, write_judged, write_table
from perhop.papers.error import PackError
from perhop.papers.measured import Measurements
from perhop.papers.verdict import Verdict

TOP = Path(__file__).parents[1]
FILES = sorted((TOP / "papers").glob("*/beyond/*.toml"))
CAMPAIGNS = [file for file in FILES if is_campaign(file.read_bytes())]
CLAIMS = [file for file in FILES if file not in CAMPAIGNS]
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
    write_judged(OwnClaims("x.toml", []), scalars(1.0, 2.0), out)
    assert out.getvalue().startswith("claim,verdict,quantity")
