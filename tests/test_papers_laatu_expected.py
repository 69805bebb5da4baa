"""The quick reproduction of laatu against the one on record.

After a change that is meant to change results: `perhop reproduce laatu --quick --json >
papers/laatu/expected/quick.json`, and a line under "Changed results" in the changelog.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from conftest import Reproduced
from perhop import _core
from perhop.judge.measured import Floats
from perhop.papers.behind import runs_behind
from perhop.papers.outcome import Outcome
from perhop.papers.plan import plan_of
from perhop.papers.reduce import reduce
from perhop.papers.reproduce import run_plan
from test_papers_laatu import FLOWS, FOLDER, OWN, STUDY

DEPTHS = {"aggregate-deep": 4.0, "per-flow-shallow": 0.25}


@pytest.fixture(scope="module")
def reproduction(laatu: Reproduced, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Read a copy of the store; its runs are not made again."""
    plan, runs = plan_of(STUDY, quick=True), tmp_path_factory.mktemp("laatu") / "runs"
    shutil.copytree(laatu.folder.parent / "laatu.runs", runs)
    results = run_plan(STUDY.key, plan, runs, 2)
    return reduce(plan, results, "perhop reproduce laatu --quick", _core.RESULTS_VERSION)


def test_the_quick_reproduction_is_the_one_on_record(reproduction: Outcome) -> None:
    expected = json.loads((FOLDER / "expected" / "quick.json").read_text())
    found = reproduction.document | runs_behind(plan_of(STUDY, quick=True))
    for part in ("command", "results_version", "runs", "treatments"):
        assert found[part] == expected[part]
    assert [_row(row) for row in found["rows"]] == [_row(row) for row in expected["rows"]]
    judged, recorded_claims = (
        {claim["id"]: (claim["verdict"], claim["decided_by"]) for claim in document["claims"]}
        for document in (found, expected)
    )
    assert judged == recorded_claims


def test_rates_keep_to_the_network(reproduction: Outcome) -> None:
    """Nothing exceeds the class or the meters: green is at most the committed rate and a bucket."""
    found = reproduction.measured["campaign.toml"]
    for id_ in OWN.about[0].subject.levels["case"]:
        meters = FLOWS if id_.startswith("per-flow") else 1
        bucket = meters * DEPTHS.get(id_, 1.0) * 15 * 1500 * 8 / 1e3 / 50

        def of(name: str, case: str = id_) -> Floats:
            return found.rows(name, case=case)["value"].to_numpy()

        assert (of("busy") < 1.01).all()
        both = of("aggregate_throughput") + of("background_throughput")
        assert of("busy") == pytest.approx(both / 2000)
        assert of("committed") + of("excess") == pytest.approx(of("throughput"), rel=1e-3)
        assert (of("goodput") < of("throughput")).all()
        if id_ != "tcp-friendly":
            assert (of("cir_utilization") <= 1.02 + bucket / 800).all(), id_


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    ends = row["simulated"]["ci95"] or []
    rounded = [round(value, 4) for value in (row["simulated"]["mean"], *ends)]
    return (row["table"], row["id"], row["quantity"], row["published"], row["simulated"]["n"], *rounded)
