"""The quick reproduction against the one on record.

After a change that is meant to change results: `perhop reproduce kalampoukas --quick --json >
papers/kalampoukas/expected/quick.json`, and a line under "Changed results" in the changelog.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conftest import Reproduced
from perhop import _core
from perhop.models import two_way
from perhop.papers import load_pack
from perhop.papers.kalampoukas import Reproduction, make_plan, reduce
from perhop.papers.kalampoukas.setup import Setup
from perhop.papers.kalampoukas.sweeps import make_sweeps, reduce_sweep
from perhop.run import run_jobs

COMMAND = "perhop reproduce kalampoukas --quick"


@pytest.fixture(scope="module")
def base() -> Reproduction:
    """Give the reproduction without its readings, for what its document does not hold."""
    plan = make_plan(quick=True)
    jobs = plan.jobs[: len(plan.figures) * plan.replications]
    plan = replace(plan, readings=(), jobs=jobs)
    return reduce(plan, run_jobs(jobs, 2), COMMAND, _core.RESULTS_VERSION)


def test_the_quick_reproduction_is_the_one_on_record(reproduction: Reproduced) -> None:
    expected = json.loads(load_pack("kalampoukas").scenario("expected/quick.json"))
    found = reproduction.done.json()
    assert (found["command"], found["results_version"]) == (expected["command"], expected["results_version"])
    assert [_row(row) for row in found["rows"]] == [_row(row) for row in expected["rows"]]
    assert [_claim(claim) for claim in found["claims"]] == [_claim(claim) for claim in expected["claims"]]


@pytest.mark.parametrize("reading", ["ns-2", "BSD"])
def test_the_study_is_the_same_under_each_convention_of_tcp(reading: str, reproduction: Reproduced) -> None:
    """Efficiencies are those of the base within 0.002, and no verdict differs."""
    claims = {claim["id"]: claim for claim in reproduction.done.json()["claims"]}
    for claim in claims.values():
        assert claim["decided_by"] == [], claim["id"]
    k1 = claims["K1"]
    other = next(one for one in k1["readings"] if one["id"] == reading)
    assert len(other["parts"]) == 24
    for part, again in zip(k1["parts"], other["parts"], strict=True):
        assert again["mean"] == pytest.approx(part["mean"], abs=0.002), part["quantity"]


def test_every_row_is_within_a_fiftieth_of_the_bounded_form(base: Reproduction) -> None:
    """Tighter than claim K1, and relative where the efficiency is small."""
    for row in base.document["rows"]:
        bounded, mean = row["closed_form"]["bounded"], row["simulated"]["mean"]
        if bounded is not None and row["unit"] == "1":
            assert mean == pytest.approx(bounded, abs=min(0.02, max(0.05 * bounded, 0.005))), row["id"]


def test_nothing_is_lost_and_theorem_2_holds(base: Reproduction) -> None:
    assert base.warnings == []


def test_the_threshold_curve_follows_the_bounded_form() -> None:
    sweep = next(sweep for sweep in make_sweeps() if sweep.id == "threshold")
    found = reduce_sweep(sweep, run_jobs(sweep.jobs, 2))
    assert float(found.error("bounded").max()) < 0.01
    assert float(found.error("printed").max()) > 0.9
    fifo = two_way.fifo(Setup("fifo").model())
    assert found.simulated.slow[-1] == pytest.approx(float(fifo.slow), abs=0.005)


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    ends = row["simulated"]["ci95"] or []
    rounded = [round(value, 4) for value in (row["simulated"]["mean"], *ends)]
    return (row["table"], row["id"], row["quantity"], row["published"], row["simulated"]["n"], *rounded)


def _claim(claim: dict[str, Any]) -> tuple[object, ...]:
    return (claim["id"], claim["verdict"], claim["decided_by"])
