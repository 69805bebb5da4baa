"""What is on record of the studies: verdicts follow from the values, runs come out again."""

from __future__ import annotations

import csv
import json
import os
import random
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from perhop import RESULTS_VERSION, Scenario
from perhop.cli.reproduce import PAPERS
from perhop.experiment.definition import Campaign
from perhop.papers import recorded
from perhop.papers.behind import judged, runs_behind
from perhop.papers.pack import pack_dir
from perhop.papers.plan import Plan, short
from perhop.papers.records import encode
from perhop.papers.reproduce import run_plan
from perhop.papers.study import Study, load_study
from perhop.run.folder import always, write_file
from perhop.run.run import run as run_one

ROOT = Path(__file__).parents[1]
RECORDED = [key for key in PAPERS if (pack_dir(key) / recorded.FOLDER / recorded.RESULTS).is_file()]
SEED = int(os.environ.get("RECORDED_SEED", random.randrange(10**6)))
"""Of the runs that are made again."""


@lru_cache
def tables() -> ModuleType:
    """Load what makes the tables of pages."""
    spec = spec_from_file_location("recorded_tables", ROOT / "docs" / "recorded_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Lines = list[dict[str, str]]


def read(folder: Path) -> tuple[dict[str, Any], Lines]:
    with (folder / recorded.RUNS).open(newline="") as file:
        return json.loads((folder / recorded.RESULTS).read_text()), list(csv.DictReader(file))


def scalars(campaign: Campaign, names: list[str], lines: Lines) -> pl.DataFrame:
    """Give the values of a campaign as its store would."""
    by = {one.name: one.by for one in campaign.responses}
    levels = {name: one.levels for name, one in zip(names, campaign.design.treatments, strict=True)}
    rows = []
    for line in lines:
        place = {"replication": int(line["replication"])}
        place |= dict(zip(campaign.design.names, levels[line["treatment"]], strict=True))
        for name, value in line.items():
            response, _, group = (
                name.removesuffix("]").partition("[") if name.endswith("]") else (name, "", "")
            )
            if value and response in by:
                groups = zip(by[response], group.split(","), strict=True) if group else ()
                rows.append({**place, "response": response, **dict(groups), "value": float(value)})
    return pl.DataFrame(rows, infer_schema_length=None)


def judged_again(study: Study[Any, Any], plan: Plan, document: Mapping[str, Any], lines: Lines) -> Any:
    """Make rows and claims of the lines alone."""
    plan = replace(plan, beyond=(), drawn=())
    names = {one["of"]: one["treatments"] for one in document["runs"]}
    frames = [
        scalars(campaign, names[of], [line for line in lines if line["of"] == of])
        for _, of, campaign in judged(plan)
    ]
    first = ("of", "treatment", "replication", "seed", "event_digest")
    whole = {
        f"{line['treatment']} {line['replication']}": {
            name: float(value) for name, value in line.items() if value and name not in first
        }
        for line in lines
        if line["of"] == recorded.WHOLE
    }
    results = replace(plan.results(frames, ()), whole=whole)
    return study.reduce(plan, results, document["command"], document["results_version"]).document


@pytest.mark.parametrize("key", RECORDED)
def test_verdicts_follow_from_the_values_on_record(key: str) -> None:
    study = load_study(key)
    document, lines = read(pack_dir(key) / recorded.FOLDER)
    plan = study.plan(False)
    assert runs_behind(plan)["runs"] == document["runs"], f"perhop reproduce {key} --record makes it anew"
    again = judged_again(study, plan, document, lines)
    if "RECORDED_WRITE" in os.environ:
        document |= {name: again[name] for name in ("rows", "claims")}
        write_file(pack_dir(key) / recorded.FOLDER / recorded.RESULTS, encode(document), always)
    assert again["rows"] == document["rows"]
    assert again["claims"] == document["claims"]
    assert sum(one["runs"] for one in document["runs"]) == sum(line["of"] != recorded.WHOLE for line in lines)


def made_again(document: Mapping[str, Any], lines: Lines) -> list[tuple[float, Scenario, str]]:
    """Give the runs on record as their commands make them, with their work and digest."""
    settings = {one["name"]: one["settings"] for one in document["treatments"]}
    commands = {one["of"]: one["command"] for one in document["runs"]}
    bases: dict[tuple[str, str], tuple[Scenario, float]] = {}
    found = []
    for line in lines:
        place = line["of"], line["treatment"]
        if place[0] != recorded.WHOLE:
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
    document, lines = read(pack_dir(key) / recorded.FOLDER)
    print(f"RECORDED_SEED={SEED} draws the same runs")
    runs = made_again(document, lines)
    for _, scenario, digest in random.Random(SEED).sample(runs[: int(cheapest * len(runs))], number):
        told = f"{scenario.overrides} (RECORDED_SEED={SEED}) {anew(key, document['results_version'])}"
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
    study = load_study("laatu")
    whole = study.plan(False)
    reading, own = whole.read[0]

    def few(campaign: Campaign) -> Campaign:
        return short(campaign, ["run.duration=15s"], 10)

    plan = replace(
        whole, fitted=(few(whole.fitted[0]),), read=((reading, tuple(map(few, own))),), beyond=(), drawn=()
    )
    results = run_plan("laatu", plan, tmp_path / "runs", 1)
    document = study.reduce(plan, results, "perhop reproduce laatu", RESULTS_VERSION).document
    document |= runs_behind(plan)
    elsewhere = replace(plan, pack=replace(plan.pack, folder=tmp_path))
    for _ in range(2):  # over an earlier record too
        recorded.write(elsewhere, results, {}, document, tmp_path / "runs")
    found, lines = read(tmp_path / recorded.FOLDER)
    assert {name: found[name] for name in document} == json.loads(json.dumps(document))
    assert found["made"]["runs"] == len(lines) == sum(one["runs"] for one in document["runs"]) == 40
    again = judged_again(study, plan, found, lines)
    assert (again["rows"], again["claims"]) == (found["rows"], found["claims"])
    assert all(claim["verdict"] != "not judged" for claim in again["claims"])
    for _, scenario, digest in made_again(found, lines)[::15]:
        assert run_one(scenario).event_digest == digest
    lines[0]["throughput[measured[0]]"] = "1"
    assert judged_again(study, plan, found, lines)["claims"] != found["claims"]


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
