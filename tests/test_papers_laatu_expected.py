"""The quick reproduction of laatu against the one on record.

After a change that is meant to change results: `perhop reproduce laatu --quick --json >
papers/laatu/expected/quick.json`, and a line under "Changed results" in the changelog.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from perhop import _core, run
from perhop.papers import load_pack
from perhop.papers.laatu import Reproduction, Setup, make_plan, reduce
from perhop.papers.laatu.plan import DURATION_S, job
from perhop.papers.laatu.setup import AF_KBPS, CIR_KBPS
from perhop.papers.laatu.study import STUDY
from perhop.papers.laatu.sweeps import make_sweeps
from perhop.scenario import Scenario


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    plan = make_plan(quick=True)
    kept = run.run_jobs(plan.jobs, 2, keep=STUDY.keep)
    return reduce(plan, kept, "perhop reproduce laatu --quick", _core.RESULTS_VERSION)


def test_the_quick_reproduction_is_the_one_on_record(reproduction: Reproduction) -> None:
    expected = json.loads(load_pack("laatu").scenario("expected/quick.json"))
    found = reproduction.document
    assert (found["command"], found["results_version"]) == (expected["command"], expected["results_version"])
    assert [_row(row) for row in found["rows"]] == [_row(row) for row in expected["rows"]]
    judged, recorded_claims = (
        {claim["id"]: (claim["verdict"], claim["decided_by"]) for claim in document["claims"]}
        for document in (found, expected)
    )
    assert judged == recorded_claims


def test_rates_keep_to_the_network(reproduction: Reproduction) -> None:
    """Nothing exceeds the class or the meters: green is at most the committed rate and a bucket."""
    for id_, runs in reproduction.measurements.runs.items():
        deep = reproduction.measurements.cases[id_].setup
        meters = deep.flows if deep.marking == "per-flow" else 1
        bucket = meters * deep.depth * 15 * 1500 * 8 / 1e3 / 50
        for one in runs:
            assert one.throughput.sum() + one.background < 1.01 * AF_KBPS
            assert (one.green + one.excess).tolist() == pytest.approx(one.throughput.tolist(), rel=1e-3)
            assert (one.goodput < one.throughput).all()
            if deep.meter != "tcp-friendly":
                assert one.green.sum() <= 1.02 * CIR_KBPS + bucket, id_


@pytest.mark.parametrize("sweep", make_sweeps(1), ids=lambda sweep: sweep.id)
def test_every_point_of_a_sweep_is_a_valid_scenario(sweep: Any) -> None:
    pack = load_pack("laatu")
    for point in sweep.points:
        for marking in ("per-flow", "aggregate"):
            source, name, overrides = job(pack, point.setup(marking), "test", 0, 1, DURATION_S)
            assert Scenario(source, name, tuple(overrides)).check() == []


def test_deeper_buckets_change_the_meter() -> None:
    pack = load_pack("laatu")
    text, name, overrides = job(pack, Setup("aggregate", depth=4.0), "test", 0, 1, DURATION_S)
    resolved = Scenario(text, name, tuple(overrides)).resolve()
    assert "90000" in resolved or "90kB" in resolved


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    ends = row["simulated"]["ci95"] or []
    rounded = [round(value, 4) for value in (row["simulated"]["mean"], *ends)]
    return (row["table"], row["id"], row["quantity"], row["published"], row["simulated"]["n"], *rounded)
