"""Claims of feroz judged, from hand-made numbers."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest

from perhop.papers.behind import runs_behind
from perhop.papers.folder_page import page_of
from perhop.papers.outcome import Outcome
from perhop.papers.plan import plan_of
from perhop.papers.study import SHORTER
from test_papers_feroz import (
    OWN,
    PLAN,
    PRINTED,
    STUDY,
    At,
    NumbersOf,
    as_claimed,
    claimed,
    often,
    printed,
    promised,
    reproduce,
)

FRIENDLY, BUCKET = "tcp-friendly", "token-bucket"


def verdicts_of(document: dict[str, Any]) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in document["claims"]}


def verdicts(found: Outcome) -> dict[str, str]:
    return verdicts_of(found.document)


def changed(marker: str, **values: Any) -> NumbersOf:
    return lambda at, _: {**as_claimed(at), **(values if at["marker"] == marker else {})}


def test_runs_that_do_what_the_paper_says_support_every_claim() -> None:
    assert verdicts(claimed()) == {f"F{k}": "supported" for k in range(1, 13)}


@pytest.mark.parametrize(
    ("values", "contradicted"),
    [
        ({"timeouts": 9}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"timeouts": 8}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"losses_per_s": 2.01}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"losses_per_s": 3.01}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"cov": 0.11}, {"F6"}),
        ({"goodput": 10000.0}, {"F7", "F12"}),
        ({"obtained_share": 0.5}, {"F8", "F9", "F11"}),
    ],
)
def test_the_friendly_marker_at_fault(values: dict[str, Any], contradicted: set[str]) -> None:
    found = verdicts(reproduce(changed("tcp-friendly", **values)))
    assert {id_ for id_, verdict in found.items() if verdict == "contradicted"} == contradicted


def test_a_reading_that_disagrees_leaves_a_claim_open() -> None:
    def numbers_of(at: At, reading: str) -> dict[str, float | None]:
        at_fault = reading == "SACK" and at["marker"] == FRIENDLY
        return {**as_claimed(at), **({"obtained_share": 0.45} if at_fault else {})}

    document = reproduce(numbers_of).document
    open_claims = {id_ for id_, verdict in verdicts_of(document).items() if verdict != "supported"}
    assert open_claims == {"F8", "F9", "F11"}
    claim = next(claim for claim in document["claims"] if claim["id"] == "F8")
    assert (claim["verdict"], claim["decided_by"]) == ("inconclusive", ["SACK"])
    assert (claim["direction"], claim["size"]) == ("supported", "inconclusive")
    assert claim["ours"] == "the factor 1.4"


def test_an_assured_flow_that_gets_nothing_leaves_a_ratio_undefined() -> None:
    found = reproduce(changed("token-bucket", obtained_share=0.0)).document
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert claims["F8"]["verdict"] == "not judged"
    assert "the ratio is undefined: the denominator is 0 in 10 of 10" in claims["F8"]["reason"]
    assert claims["F7"]["verdict"] == "supported"
    json.dumps(found, allow_nan=False)


def test_tables_that_were_fitted_are_in_sample() -> None:
    claims = {claim["id"]: claim for claim in claimed().document["claims"]}
    assert {id_ for id_, claim in claims.items() if claim["in_sample"]} == {"F1", "F4", "F5", "F6", "F12"}
    assert [part["in_sample"] for part in claims["F6"]["parts"]] == [False, False, True, True]


def test_parts_carry_what_the_paper_prints() -> None:
    claims = {claim["id"]: claim for claim in claimed().document["claims"]}
    assert [part["printed"] for part in claims["F1"]["parts"]] == pytest.approx([-7.0, -0.82, -2.78])
    assert claims["F7"]["parts"][0]["printed"] == pytest.approx(194795 / 134952, abs=1e-6)
    first = claims["F8"]["parts"][:2]
    assert [part["kind"] for part in first] == ["direction", "size"]
    assert [part["printed"] for part in first] == pytest.approx([0.44 / 0.26] * 2, abs=1e-6)
    printed = [part["printed"] for part in claims["F11"]["parts"]]
    assert printed == pytest.approx([0.52 - 0.42, 0.52 / 0.49, 0.52], abs=1e-6)
    sizes = [part["printed"] for part in claims["F12"]["parts"] if part["kind"] == "size"]
    assert sizes == pytest.approx([18503 / 17858, 20377 / 20449, 18421 / 18329, 18513 / 18472], abs=1e-6)


@pytest.mark.parametrize(
    ("marker", "tokens", "obtained", "part"),
    [(FRIENDLY, "20", 0.44, 2), (BUCKET, "30", 0.53, 0), (BUCKET, "40", 0.59, 1)],
)
def test_more_tokens_than_the_paper_says_contradict_f11(
    marker: str, tokens: str, obtained: float, part: int
) -> None:
    """As many tokens are needed as the paper says, or else the flow gets less, or the bucket more."""

    def numbers_of(at: At, _: str) -> dict[str, float | None]:
        is_it = (at["figure"], at["marker"], at.get("tokens")) == ("6", marker, tokens)
        return {**as_claimed(at), "assured": 1e6 * (obtained if is_it else printed(at, "obtained", 1.0))}

    (f11,) = (claim for claim in reproduce(numbers_of).document["claims"] if claim["id"] == "F11")
    assert f11["parts"][part]["verdict"] == "contradicted"


@pytest.mark.parametrize(("figure", "by"), [("1", 1.06), ("2", 1.001), ("4", 0.999), ("5", 0.94)])
def test_goodput_that_differs_otherwise_contradicts_f12(figure: str, by: float) -> None:
    def numbers_of(at: At, _: str) -> dict[str, float | None]:
        moved = {"goodput": by * PRINTED[figure, "", BUCKET, "goodput"]}
        is_it = (at["figure"], at["marker"]) == (figure, FRIENDLY)
        return {**as_claimed(at), **(moved if is_it else {})}

    assert verdicts(reproduce(numbers_of))["F12"] == "contradicted"


def test_equal_numbers_do_not_support_fewer() -> None:
    found = reproduce(changed("tcp-friendly", timeouts=8))
    claim = next(claim for claim in found.document["claims"] if claim["id"] == "F1")
    assert "time-outs" in claim["evidence"]["summary"]


def test_an_assured_flow_that_does_not_gain_by_tokens_contradicts() -> None:
    def flat(at: At, _: str) -> dict[str, float | None]:
        own = 4e5 / (2 if at["marker"] == BUCKET else 1)
        return {**as_claimed(at), "assured": own if promised(at) else 0.0}

    assert verdicts(reproduce(flat))["F8"] == "contradicted"


def test_markers_are_paired_by_replication() -> None:
    """Both vary far more from run to run than they differ; every run has the same sign."""
    assert verdicts(reproduce(spread=1))["F1"] == "supported"


@pytest.mark.parametrize("values", [{"gaps_kept": 0.99}, {"gap_excess": 0.06}, {"gap_excess": -0.06}])
def test_marks_off_their_spacing_contradict_f10(values: dict[str, float]) -> None:
    assert verdicts(reproduce(lambda at, _: {**as_claimed(at), **values}))["F10"] == "contradicted"


def test_every_claim_is_data() -> None:
    assert [claim.id for claim in OWN.claims] == [f"F{k}" for k in range(1, 13)]
    assert {part.predicate for claim in OWN.claims for part in claim.parts} == {None}


def test_a_shortened_run_is_not_judged() -> None:
    quick = plan_of(STUDY, quick=True)
    found = reproduce(plan=quick)
    judged = {"F1", "F4", "F5", "F10"}
    assert {id_ for id_, verdict in verdicts(found).items() if verdict == "supported"} == judged
    assert {id_ for id_, verdict in verdicts(found).items() if verdict == "not judged"} == {
        f"F{k}" for k in range(1, 13)
    } - judged
    claims = {claim["id"]: claim for claim in found.document["claims"]}
    assert claims["F2"]["reason"] == claims["F8"]["reason"] == "a quick reproduction leaves it out"
    assert {part["verdict"] for part in claims["F9"]["parts"]} == {"not judged"}
    assert len(claims["F1"]["readings"]) > 10
    assert claims["F8"]["readings"] == []


def test_shorter_runs_that_judge_otherwise_leave_a_claim_open() -> None:
    def numbers_of(at: At, reading: str) -> dict[str, float | None]:
        at_fault = reading == SHORTER and at["marker"] == FRIENDLY
        return {**as_claimed(at), **({"goodput": 1000.0} if at_fault else {})}

    claims = {claim["id"]: claim for claim in reproduce(numbers_of).document["claims"]}
    assert (claims["F7"]["verdict"], claims["F7"]["decided_by"]) == ("inconclusive", [SHORTER])


@pytest.mark.usefixtures("undrawn")
def test_the_readings_of_a_claim_are_counted() -> None:
    """Shorter runs at the fitted point and pairs are no readings of what the paper leaves open."""
    plan = often(PLAN, [reading.id for reading, _ in PLAN.read])
    found = reproduce(plan=plan)
    under = {claim["id"]: claim["judged_under"] for claim in found.document["claims"]}
    singles = [one for one in OWN.readings if not one.of]
    for id_, one in under.items():
        without = [reading.id for reading in singles if id_ not in reading.claims]
        own = {"readings": len(singles) - len(without), "of": len(singles), "without": without}
        assert one == own
    assert under["F3"]["without"] == ["SACK"]
    found.document.update(runs_behind(plan))
    page = unescape(page_of(STUDY, found))
    assert f"under {under['F3']['readings']} of {len(singles)} readings, without SACK" in page


def test_zero_itself_left_out_is_said_in_words() -> None:
    found = reproduce(changed("tcp-friendly", timeouts=9)).document["claims"][0]
    assert "where less than 0 is claimed (contradicted)" in found["evidence"]["summary"]
    assert found["parts"][0]["claimed"] == [None, 0.0]
    assert "-0.0" not in json.dumps(found)
