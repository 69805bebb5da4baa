"""Campaigns past the papers: files are valid and plan, claims name what is measured, records are of them."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from conftest import Cli
from perhop import Campaign
from perhop.experiment.kinds import is_campaign
from perhop.judge.campaign import checked
from perhop.judge.quantity import Words, quantity_claims

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
MEANS = [file for file in TABLES if file.name != "claims.csv"]


def name(file: Path) -> str:
    return f"{file.relative_to(TOP / 'papers')}"


def test_there_are_some() -> None:
    assert len(CAMPAIGNS) >= 9
    assert {file.name for file in CLAIMS} == {"claims.toml"}


@pytest.mark.parametrize("file", CAMPAIGNS, ids=name)
def test_a_campaign_is_valid_and_plans(file: Path, cli: Cli) -> None:
    found = cli("check", file, "--json").json()["files"][0]
    assert (found["kind"], found["ok"]) == ("campaign", True)
    assert cli("campaign", "plan", file).code == 0


@pytest.mark.parametrize("file", CLAIMS, ids=name)
def test_claims_are_those_on_record(file: Path) -> None:
    """Each quantity and its range, in order."""
    _, campaign, subject, _ = found = checked(file)
    claims = found.claims
    assert campaign is not None
    assert subject is not None
    words = Words(claims.file.quantities)
    parts = [
        (claim.id, hypothesis.quantity, *(round(end, 6) + 0.0 for end in (hypothesis.low, hypothesis.high)))
        for claim in claims.claims
        for part in claim.parts
        for one in quantity_claims(part, subject, words)
        for hypothesis in one.hypotheses
    ]
    rows = csv.DictReader(StringIO((file.parent / "recorded" / "claims.csv").read_text(encoding="utf-8")))
    infinite = float("inf")
    assert parts == [
        (
            row["claim"],
            row["quantity"],
            float(row["low"]) if row["low"] else -infinite,
            float(row["high"]) if row["high"] else infinite,
        )
        for row in rows
    ]


@pytest.mark.parametrize("file", MEANS, ids=name)
def test_a_record_has_the_treatments_of_its_file(file: Path) -> None:
    rows = list(csv.DictReader(StringIO(file.read_text(encoding="utf-8"))))
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
