"""What is on record of the studies: verdicts follow from the values, runs come out again."""

from __future__ import annotations

import json
import os
import random
import shlex
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import Cli
from perhop import RESULTS_VERSION, Scenario
from perhop.cli.reproduce import PAPERS
from perhop.experiment.definition import Campaign
from perhop.papers import on_record, recorded
from perhop.papers.behind import runs_behind
from perhop.papers.campaigns import short
from perhop.papers.folder import own_folder, own_study
from perhop.papers.on_record import Record, scalars_of
from perhop.papers.plan import Plan, plan_of
from perhop.papers.records import encode
from perhop.papers.reduce import reduce
from perhop.papers.reproduce import run_plan
from perhop.papers.study import Study
from perhop.run.folder import always, write_file
from perhop.run.run import run as run_one
from scripts import script

ROOT = Path(__file__).parents[1]
RECORDED = [key for key in PAPERS if (own_folder(key) / recorded.FOLDER / recorded.RESULTS).is_file()]
SEED = int(os.environ.get("RECORDED_SEED", random.randrange(10**6)))
"""Of the runs that are made again."""


@lru_cache
def tables() -> ModuleType:
    """Load what makes the tables of pages."""
    return script(ROOT / "docs" / "recorded_tables.py")


def read(plan: Plan) -> Record:
    """Give the record of a plan's pack."""
    found = on_record.read(plan.study)
    assert found is not None
    return found


def judged_again(study: Study, plan: Plan, record: Record) -> Any:
    """Make rows and claims of the lines alone."""
    plan, document = replace(plan, beyond=(), drawn=()), record.document
    results = plan.results(scalars_of(plan, record), ())
    return reduce(plan, results, document["command"], document["results_version"]).document


@pytest.mark.parametrize("key", RECORDED)
def test_verdicts_follow_from_the_values_on_record(key: str) -> None:
    study = own_study(key)
    plan = plan_of(study)
    record = read(plan)
    document = record.document
    # nothing would be shown of a record that does not hold
    on_record.current(plan, record, f"perhop reproduce {key}")
    again = judged_again(study, plan, record)
    if "RECORDED_WRITE" in os.environ:
        document |= {name: again[name] for name in ("rows", "claims")}
        write_file(own_folder(key) / recorded.FOLDER / recorded.RESULTS, encode(document), always)
    assert again["rows"] == document["rows"]
    assert again["claims"] == document["claims"]


def made_again(record: Record) -> list[tuple[float, Scenario, str]]:
    """Give the runs on record as their commands make them, with their work and digest."""
    document = record.document
    settings = {one["name"]: one["settings"] for one in document["treatments"]}
    commands = {one["of"]: one["command"] for one in document["runs"]}
    bases: dict[tuple[str, str], tuple[Scenario, float]] = {}
    found = []
    for line in record.lines:
        place = line["of"], line["treatment"]
        if place not in bases:
            words = shlex.split(f"{commands[place[0]]} {settings[place[1]]}")
            base = Scenario.load(ROOT / words[2]).override(*words[4::2])
            bases[place] = base, base.work()
        base, work = bases[place]
        again = base.override(f"run.replication={line['replication']}")
        assert str(again.seed) == line["seed"]
        found.append((work, again, line["event_digest"]))
    return sorted(found, key=lambda one: one[0])


@pytest.mark.parametrize("key", RECORDED)
@pytest.mark.parametrize(
    ("number", "cheapest"), [(1, 0.1), pytest.param(12, 0.5, marks=pytest.mark.long)], ids=["one", "a dozen"]
)
def test_runs_on_record_come_out_again_bit_for_bit(key: str, number: int, cheapest: float) -> None:
    record = read(plan_of(own_study(key)))
    print(f"RECORDED_SEED={SEED} draws the same runs")
    runs = made_again(record)
    for _, scenario, digest in random.Random(SEED).sample(runs[: int(cheapest * len(runs))], number):
        told = f"{scenario.overrides} (RECORDED_SEED={SEED}) {anew(key, record.document['results_version'])}"
        assert run_one(scenario).event_digest == digest, told


def anew(key: str, version: int) -> str:
    """Say what another digest means: a record of a version whose runs are others, or a fault."""
    if version == RESULTS_VERSION:
        return f"gives other events though results version {version} is that of the record"
    return (
        f"gives other events under results version {RESULTS_VERSION} than under {version}, of the record: "
        f"perhop reproduce {key} --record makes it anew"
    )


def test_a_record_of_an_earlier_version_is_to_be_made_anew_where_a_run_differs() -> None:
    assert "feroz --record makes it anew" in anew("feroz", RESULTS_VERSION - 1)
    assert "--record" not in anew("feroz", RESULTS_VERSION)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    study = own_study("laatu")
    whole = plan_of(study)
    reading, own = whole.read[0]

    def few(campaign: Campaign) -> Campaign:
        return short(campaign, ["run.duration=15s"], 10)

    plan = replace(
        whole, fitted=(few(whole.fitted[0]),), read=((reading, tuple(map(few, own))),), beyond=(), drawn=()
    )
    results = run_plan("laatu", plan, tmp_path / "runs", 1)
    document = reduce(plan, results, "perhop reproduce laatu", RESULTS_VERSION).document
    document |= runs_behind(plan)
    elsewhere = replace(plan, study=replace(plan.study, folder=tmp_path))
    runs = recorded.lines_of(plan, results, document, tmp_path / "runs")
    for _ in range(2):  # over an earlier record too
        recorded.write(elsewhere, runs, document, tmp_path / "runs")
    record = read(elsewhere)
    found, lines = record.document, record.lines
    assert {name: found[name] for name in document} == json.loads(json.dumps(document))
    assert found["made"]["runs"] == len(lines) == sum(one["runs"] for one in document["runs"]) == 40
    again = judged_again(study, plan, record)
    assert (again["rows"], again["claims"]) == (found["rows"], found["claims"])
    assert any(claim["verdict"] != "not judged" for claim in again["claims"])
    for _, scenario, digest in made_again(record)[::15]:
        assert run_one(scenario).event_digest == digest
    changed = replace(record, lines=({**lines[0], "throughput[measured[0]]": "1"}, *lines[1:]))
    assert judged_again(study, plan, changed)["claims"] != found["claims"]


def test_a_record_is_of_a_study_in_full(cli: Cli) -> None:
    for options in (["--quick"], ["--fitted"], ["--calibrate"]):
        done = cli("reproduce", "laatu", "--record", *options)
        assert done.code == 2
        assert "--record: of one study, in full" in done.err
    assert cli("reproduce", "--record").code == 2


@pytest.mark.parametrize(
    ("verdict", "ci95", "claimed", "margin"),
    [
        ("supported", [0.2, 0.4], [0.0, None], 0.2),
        ("supported", [0.2, 0.4], [0.0, 0.5], 0.1),
        ("contradicted", [0.2, 0.4], [None, 0.1], 0.1),
        ("contradicted", [0.2, 0.4], [0.7, 0.9], 0.3),
        ("inconclusive", [0.2, 0.4], [0.25, None], 0.05),
    ],
)
def test_a_margin_is_from_the_end_of_the_interval_to_the_bound(
    verdict: str, ci95: list[float], claimed: list[float | None], margin: float
) -> None:
    assert tables().margin(verdict, ci95, claimed) == pytest.approx(margin)


def test_the_part_that_settles_a_claim_is_the_least_supported_or_the_most_contradicted() -> None:
    def part(verdict: str, low: float, high: float) -> dict[str, Any]:
        return {"verdict": verdict, "ci95": [low, high], "mean": (low + high) / 2, "claimed": [0.0, None]}

    clear, close = part("supported", 9.0, 11.0), part("supported", 0.01, 0.02)
    wrong, open_ = part("contradicted", -3.0, -2.0), part("inconclusive", -1.0, 2.0)
    for parts, expected in (
        ([clear, close], ("supported", 0.01)),
        ([clear, open_, close], ("inconclusive", 1.0)),
        ([clear, wrong, open_], ("contradicted", 2.0)),
    ):
        assert tables().settling(parts, parts, "verdict")[:2] == pytest.approx(expected)
    unjudged = part("not judged", 0.0, 0.0)
    assert tables().settling([clear, clear], [unjudged, clear], "verdict") is None
    assert tables().settling([clear, clear], [unjudged, wrong], "verdict")[0] == "contradicted"
