"""Claims of laatu judged, from hand-made numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perhop.papers.campaigns import short
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, plan_of
from perhop.papers.reduce import reduce
from test_papers_laatu import BARE, FLOWS, OWN, STUDY, done, measured, same


@pytest.fixture(scope="module")
def whole() -> Outcome:
    return done()


def test_no_claim_needs_a_predicate() -> None:
    assert [claim.id for claim in OWN.claims] == [f"L{k}" for k in range(1, 7)]
    assert {part.predicate for claim in OWN.claims for part in claim.parts} == {None}


def verdicts(found: Outcome) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in found.document["claims"]}


def test_runs_like_the_papers_support_it(whole: Outcome) -> None:
    assert verdicts(whole) == {f"L{k}": "supported" for k in range(1, 7)}


def test_runs_the_other_way_contradict_it() -> None:
    assert set(verdicts(done(turned=True)).values()) == {"contradicted"}


def test_a_reading_that_turns_the_sign_decides() -> None:
    claims = {claim["id"]: claim for claim in done(but="SACK").document["claims"]}
    assert {claim["verdict"] for claim in claims.values()} == {"inconclusive"}
    assert claims["L3"]["decided_by"] == ["SACK"]
    lifted = {claim["id"]: claim for claim in done(turned=True, but="guard off").document["claims"]}
    assert (lifted["L2"]["verdict"], lifted["L2"]["decided_by"]) == ("inconclusive", ["guard off"])


def test_l1_is_shown_by_its_parts(whole: Outcome) -> None:
    (l1, *_) = whole.document["claims"]
    words = [part["quantity"].split(",")[0] for part in l1["parts"]]
    assert words == ["total fairness", "committed fairness", "excess fairness"]
    assert {part["kind"] for part in l1["parts"]} == {"direction"}
    assert [part["printed"] for part in l1["parts"]] == pytest.approx([0.035, 0.045, 0.017])


def test_what_the_calibration_fitted_is_in_sample(whole: Outcome) -> None:
    found = {claim["id"]: claim["in_sample"] for claim in whole.document["claims"]}
    assert found == {"L1": False, "L2": True, "L3": True, "L4": False, "L5": True, "L6": True}


def test_l4_tells_direction_from_size(whole: Outcome) -> None:
    l4 = whole.document["claims"][3]
    assert [part["kind"] for part in l4["parts"]] == ["direction", "size"]
    assert l4["parts"][1]["claimed"] == [None, 0.5]
    assert l4["parts"][0]["printed"] == pytest.approx(8.6 / 34.5, abs=1e-6)
    assert l4["ours"] == "half"


@pytest.mark.parametrize(("aggregate", "per_flow", "wrong"), [(201.0, 190.0, 0), (150.0, 170.0, 1)])
def test_l5_is_about_the_largest_flow_and_about_the_mean(
    aggregate: float, per_flow: float, wrong: int
) -> None:
    """One flow in four that reaches its target contradicts that none does."""
    together = np.tile([150.0, 150.0, 150.0, aggregate], (50, 1))
    frames = [
        measured(one, lambda levels: np.full((50, FLOWS), per_flow) if "per-flow" in levels else together)
        for one in BARE.campaigns
    ]
    l5 = reduce(BARE, BARE.results(frames, []), "", 1).document["claims"][4]
    judged = [part["verdict"] for part in l5["parts"]]
    assert judged == ["contradicted" if part == wrong else "supported" for part in range(2)]
    assert [part["printed"] for part in l5["parts"]] == pytest.approx([187.1, 0.96])
    assert l5["parts"][0]["claimed"] == [None, 200.0]


@pytest.mark.parametrize(("dropped", "verdict"), [(140.0, "supported"), (150.0, "contradicted")])
def test_l6_counts_green_packets_that_are_dropped(dropped: float, verdict: str) -> None:
    """Of 14667, which 1.6 Mbit/s are in 110 s."""
    l6 = same(BARE, 190.0, green_drops=dropped).document["claims"][5]
    assert [part["verdict"] for part in l6["parts"]] == [verdict, verdict, "supported"]
    assert l6["parts"][0]["mean"] == pytest.approx(dropped / 14667, rel=1e-4)
    assert l6["parts"][2]["printed"] == 0.87


def test_the_readings_of_a_claim_are_counted(whole: Outcome) -> None:
    listed = [one for one in OWN.readings if not one.of]
    every = {"readings": len(listed), "of": len(listed), "without": []}
    assert [claim["judged_under"] for claim in whole.document["claims"]] == [every] * 6


def test_no_spread_at_all_leaves_the_ratio_undefined() -> None:
    l4 = same(BARE, 190.0).document["claims"][3]
    assert (l4["verdict"], l4["reason"]) == (
        "not judged",
        "the ratio is undefined: it is over 0, or a run has no value",
    )


def test_half_length_runs_judge_nothing() -> None:
    document = done(plan_of(STUDY, quick=True)).document
    assert {claim["verdict"] for claim in document["claims"]} == {"not judged"}
    assert {claim["reason"] for claim in document["claims"]} == {"a quick reproduction leaves it out"}


def few(n: int) -> Plan:
    """Give the fitted point with so many replications of each campaign."""
    return replace(BARE, fitted=tuple(short(one, (), n) for one in BARE.fitted), read=())


def test_few_runs_judge_nothing() -> None:
    assert set(verdicts(done(few(5))).values()) == {"not judged"}
    document = done(few(2)).document
    assert {claim["verdict"] for claim in document["claims"]} == {"not judged"}
    assert {row["simulated"]["n"] for row in document["rows"] if row["quantity"].endswith("_sdev")} == {0}
