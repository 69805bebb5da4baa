"""Reduction of results to rows and verdicts, and the pack, from hand-made numbers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop.papers import Pack, PackError, load_pack
from perhop.papers.feroz import Case, Numbers, Plan, Reproduction, make_plan, numbers, reduce
from perhop.papers.feroz.measure import Marks, flow_marks, quantities, spacing_kept
from perhop.papers.feroz.plan import published_rows
from perhop.papers.feroz.predicates import PREDICATES
from perhop.papers.feroz.readings import Meter, Parameter, Search, assured_bit_s, load_parameters, overrides
from perhop.papers.feroz.study import STUDY
from perhop.report.feroz import backlog
from test_report import check_page

PLAN = make_plan()
BY_ID = {case.id: case for case in PLAN.cases}
PACK = load_pack("feroz")

Level = Callable[[Case], float]


def run(
    case: Case,
    *,
    timeouts: int = 5,
    dropped: int = 100,
    goodput: float = 18000.0,
    cov: float = 0.1,
    **changes: Any,
) -> Numbers:
    """One run of a case with these totals: two flows whose mean and coefficient of variation are as asked."""
    flows, rates = ["bulk[0]", "bulk[1]"], [8 * goodput * (1 + cov), 8 * goodput * (1 - cov)]
    if case.figure == "rtt":
        flows, rates = [f"bulk[{k}]" for k in range(10)], [8e4, 6e4, 4e4, 3e4, 2e4] * 2
    if case.assured_bit_s is not None:
        flows, rates = [*flows, "assured"], [*rates, changes.pop("obtained", 0.5) * case.assured_bit_s]
    trace = pl.DataFrame(changes.pop("trace")) if "trace" in changes else None
    return Numbers(
        tuple(flows),
        np.array(rates),
        timeouts,
        np.array([1.0, 3.0] if case.figure == "short" else [np.nan] * len(flows)),
        np.ones(len(flows), dtype=bool),
        dropped,
        0,
        dropped,
        trace,
    )


def spaced_trace(tokens: int = 2, per_interval: int = 6) -> dict[str, Any]:
    """Trace of a flow that sends as much in every interval and has its tokens evenly spread."""
    gap = per_interval // tokens
    rows = [
        (k * 0.25 + (n + 0.5) * 0.25 / per_interval, n % gap == gap - 1)
        for k in range(8)
        for n in range(per_interval)
    ]
    return {
        "time_s": [time for time, _ in rows],
        "path": ["port.ea-r2.class.all"] * len(rows),
        "event": ["enqueued"] * len(rows),
        "flow": ["assured"] * len(rows),
        "mark": ["AF11" if is_in else "BE" for _, is_in in rows],
        "color": ["green" if is_in else "red" for _, is_in in rows],
    }


def as_claimed(case: Case) -> dict[str, Any]:
    """Numbers that do what the paper says."""
    level = {"tcp-friendly": 1, "token-bucket": 2, "none": 3}[case.marker]
    found: dict[str, Any] = {
        "timeouts": 4 * level,
        "dropped": 100 * level,
        "goodput": 18000.0 / level,
        "cov": 0.05 * level,
        "obtained": 0.8 / level,
    }
    if case.figure == "spacing":
        found["trace"] = spaced_trace(case.meter.tokens or 1, 3 * (case.meter.tokens or 1))
    if case.figure == "marks":
        found["trace"] = spaced_trace()
    return found


def reproduce(numbers_of: Callable[[Case], dict[str, Any]] = as_claimed, spread: int = 0) -> Reproduction:
    """Reduce runs of the plan without sweeps, equal under each reading; time-outs differ by replication."""
    kept = []
    for case in (*PLAN.cases, *(case for one in PLAN.judged for case in one.cases)):
        for k in range(case.replications):
            found = numbers_of(case)
            offset = spread * (k % 10 - 4)
            kept.append(run(case, **{**found, "timeouts": max(0, found["timeouts"] + offset)}))
    return reduce(without_sweeps(PLAN), kept, "perhop reproduce feroz", 1)


def runs_in(cases: Iterable[Case]) -> int:
    return sum(case.replications for case in cases)


def as_claimed_runs(plan: Plan) -> list[Numbers]:
    """Give runs of a plan without sweeps that do what the paper says, under each reading too."""
    cases = (*plan.cases, *(case for one in plan.judged for case in one.cases))
    return [one for case in cases for one in [run(case, **as_claimed(case))] * case.replications]


def without_sweeps(plan: Plan, *, readings: bool = True) -> Plan:
    """Give a plan with its cases, and its readings or not."""
    judged = plan.judged if readings else ()
    size = runs_in(plan.cases) + sum(runs_in(one.cases) for one in judged)
    return replace(plan, sweeps=(), judged=judged, jobs=plan.jobs[:size])


def verdicts_of(document: dict[str, Any]) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in document["claims"]}


def verdicts(found: Reproduction) -> dict[str, str]:
    return verdicts_of(found.document)


def changed(marker: str, **values: Any) -> Callable[[Case], dict[str, Any]]:
    return lambda case: {**as_claimed(case), **(values if case.marker == marker else {})}


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = reproduce().document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    assert len({(row["id"], row["quantity"]) for row in document["rows"]}) == len(document["rows"])
    assert all(row["closed_form"] == {"printed": None, "bounded": None} for row in document["rows"])
    assert json.dumps(document, allow_nan=False) == json.dumps(reproduce().document, allow_nan=False)


def test_commands_run_one_case_as_long_as_the_study_does() -> None:
    run_it, bucket = "perhop run papers/feroz/baseline.toml", BY_ID["marks token-bucket"]
    assert (
        BY_ID["1 tcp-friendly"].command(PLAN.readings, PLAN.readings)
        == f"{run_it} -o out/feroz-1-tcp-friendly"
    )
    traced = bucket.command(PLAN.readings, PLAN.readings)
    assert traced.startswith(f"{run_it} -s 'conditioner.marker.meter=")
    assert traced.endswith(" -s 'run.duration=20s' --trace packets -o out/feroz-marks-token-bucket")


def test_every_printed_number_has_its_row() -> None:
    rows = {(row["id"], row["quantity"]): row for row in reproduce().document["rows"]}
    for id_, printed in published_rows(PACK).items():
        for quantity, value in printed.items():
            assert rows[id_, quantity]["published"] == value, (id_, quantity)
    one = rows["1 tcp-friendly", "losses_per_s"]
    assert (one["published"], one["unit"], one["simulated"]["mean"]) == (1.46, "packets/s", 1.0)
    assert rows["6-15 token-bucket", "obtained"]["published"] == 0.26
    assert rows["6-15 token-bucket", "obtained"]["simulated"]["mean"] == pytest.approx(0.4 * 0.49152)
    assert rows["6-15 token-bucket", "obtained_share"]["simulated"]["mean"] == pytest.approx(0.4)


def test_runs_that_do_what_the_paper_says_support_every_claim() -> None:
    assert verdicts(reproduce()) == {f"F{k}": "supported" for k in range(1, 11)}


@pytest.mark.parametrize(
    ("values", "contradicted"),
    [
        ({"timeouts": 9}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"timeouts": 8}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"dropped": 201}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"dropped": 301}, {"F1", "F2", "F3", "F4", "F5"}),
        ({"cov": 0.11}, {"F6"}),
        ({"goodput": 10000.0}, {"F7"}),
        ({"obtained": 0.5}, {"F8", "F9"}),
    ],
)
def test_the_friendly_marker_at_fault(values: dict[str, Any], contradicted: set[str]) -> None:
    found = verdicts(reproduce(changed("tcp-friendly", **values)))
    assert {id_ for id_, verdict in found.items() if verdict == "contradicted"} == contradicted


def test_a_reading_that_disagrees_leaves_a_claim_open() -> None:
    kept = [run(case, **as_claimed(case)) for case in PLAN.cases for _ in range(case.replications)]
    for one in PLAN.judged:
        for case in one.cases:
            at_fault = one.reading.id == "SACK" and case.marker == "tcp-friendly"
            found = {**as_claimed(case), **({"obtained": 0.45} if at_fault else {})}
            kept += [run(case, **found)] * case.replications
    document = reduce(without_sweeps(PLAN), kept, "", 1).document
    open_claims = {id_ for id_, verdict in verdicts_of(document).items() if verdict != "supported"}
    assert open_claims == {"F8", "F9"}
    claim = next(claim for claim in document["claims"] if claim["id"] == "F8")
    assert (claim["verdict"], claim["decided_by"]) == ("inconclusive", ["SACK"])
    assert (claim["direction"], claim["size"]) == ("supported", "inconclusive")
    assert claim["ours"] == "the factor 1.4"


def test_an_assured_flow_that_gets_nothing_leaves_a_ratio_undefined() -> None:
    found = reproduce(changed("token-bucket", obtained=0.0)).document
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert claims["F8"]["verdict"] == "not judged"
    assert "the ratio is undefined: the denominator is 0 in 10 of 10" in claims["F8"]["reason"]
    assert claims["F7"]["verdict"] == "supported"
    json.dumps(found, allow_nan=False)


def test_tables_that_were_fitted_are_in_sample() -> None:
    claims = {claim["id"]: claim for claim in reproduce().document["claims"]}
    assert {id_ for id_, claim in claims.items() if claim["in_sample"]} == {"F1", "F4", "F5", "F6"}
    assert [part["in_sample"] for part in claims["F6"]["parts"]] == [False, False, True, True]


def test_parts_carry_what_the_paper_prints() -> None:
    claims = {claim["id"]: claim for claim in reproduce().document["claims"]}
    assert [part["printed"] for part in claims["F1"]["parts"]] == pytest.approx([-7.0, -0.82, -2.78])
    assert claims["F7"]["parts"][0]["printed"] == pytest.approx(194795 / 134952, abs=1e-6)
    first = claims["F8"]["parts"][:2]
    assert [part["kind"] for part in first] == ["direction", "size"]
    assert [part["printed"] for part in first] == pytest.approx([0.44 / 0.26] * 2, abs=1e-6)


def test_the_guard_of_reno_is_shown_with_and_without() -> None:
    kept = [run(case, **as_claimed(case)) for case in PLAN.cases for _ in range(case.replications)]
    for one in PLAN.judged:
        for case in one.cases:
            timeouts = 2 if one.reading.id == "guard off" else 4
            kept += [run(case, timeouts=timeouts)] * case.replications
    findings = dict(reduce(without_sweeps(PLAN), kept, "", 1).findings)
    text = findings["Time-outs with the guard of Reno and without"]
    assert "with the guard: 4.0 (tcp-friendly), 8.0 (token-bucket), 12.0 (none)" in text
    assert "without it: 2.0 (tcp-friendly), 2.0 (token-bucket), 2.0 (none)" in text


def test_equal_numbers_do_not_support_fewer() -> None:
    found = reproduce(changed("tcp-friendly", timeouts=8))
    claim = next(claim for claim in found.document["claims"] if claim["id"] == "F1")
    assert "time-outs" in claim["evidence"]["summary"]


def test_an_assured_flow_that_does_not_gain_by_tokens_contradicts() -> None:
    def flat(case: Case) -> dict[str, Any]:
        promised = case.assured_bit_s or 1.0
        return {**as_claimed(case), "obtained": 4e5 / promised / (2 if case.marker == "token-bucket" else 1)}

    assert verdicts(reproduce(flat))["F8"] == "contradicted"


def test_markers_are_paired_by_replication() -> None:
    """Both vary far more from run to run than they differ; every run has the same sign."""
    assert verdicts(reproduce(spread=1))["F1"] == "supported"


def test_marks_off_their_spacing_contradict_f10() -> None:
    bursty = spaced_trace(2, 6)
    bursty["mark"] = ["AF11", "BE", "BE", "BE", "BE", "AF11"] * 8

    def numbers_of(case: Case) -> dict[str, Any]:
        return {**as_claimed(case), **({"trace": bursty} if case.figure == "spacing" else {})}

    assert verdicts(reproduce(numbers_of))["F10"] == "contradicted"


@pytest.mark.parametrize(
    ("pattern", "tokens", "kept", "excess"),
    [
        ([False, True] * 4, 4, 1.0, 0.0),
        ([False, False, True] * 3, 3, 1.0, 0.0),
        ([False, True, False, False, True, False, True, False, False, True], 4, 1.0, 1 / 6),
        ([True, True, True, True, False, False, False, False], 4, 0.0, -1.0),
    ],
)
def test_spacing_is_held_against_the_algorithm(
    pattern: list[bool], tokens: int, kept: float, excess: float
) -> None:
    size = len(pattern)
    time = np.array([(k + (n + 0.5) / size) * 0.25 for k in range(6) for n in range(size)])
    found = spacing_kept(Marks(time, np.array(pattern * 6)), tokens)
    assert found == (pytest.approx(kept), pytest.approx(excess))


def test_spacing_follows_an_estimate_that_moves() -> None:
    """Eight packets, then sixteen: E is 8, then 12; with four tokens S is 1, then 2."""
    counts, marks, time = (8, 16, 16), [], []
    spacings = (0, 1, 2)
    for k, (count, spacing) in enumerate(zip(counts, spacings, strict=True)):
        marks += [n % (spacing + 1) == spacing for n in range(count)]
        time += [(k + (n + 0.5) / count) * 0.25 for n in range(count)]
    assert spacing_kept(Marks(np.array(time), np.array(marks)), 4) == (1.0, 0.0)
    assert spacing_kept(Marks(np.array(time), np.array(marks)), 4, gain=1.0)[0] < 1.0


def test_marks_are_read_behind_the_marker() -> None:
    trace = spaced_trace()
    trace["path"][0] = "port.a-ea.class.all"
    trace["event"][1] = "sent"
    trace["flow"][2] = "bulk[0]"
    found = flow_marks(pl.DataFrame(trace), "assured")
    assert len(found.time_s) == 48 - 3
    assert found.is_in.sum() == 16 - 1


def test_a_result_is_kept_as_numbers() -> None:
    result = made(
        flows={
            "name": ["bulk[0]", "bulk[1]"],
            "goodput_bit_s": np.array([1e5, 3e5]),
            "timeouts": np.array([2, 3], dtype=np.uint64),
            "segments_sent": np.array([9, 0], dtype=np.uint64),
            "start_s": np.array([0.0, 1.0]),
            "completed_s": [None, 4.0],
        },
        queues={
            "path": ["port.r2-r3.class.all", "port.r3-d[0].class.all"],
            "dropped_packets": np.array([50, 7], dtype=np.uint64),
            "dropped_green": np.array([20, 7], dtype=np.uint64),
        },
    )
    kept = numbers(result)
    assert (kept.timeouts, kept.dropped, kept.dropped_in, kept.dropped_out) == (5, 50, 20, 30)
    found = quantities(BY_ID["1 none"], kept)
    assert found["losses_per_s"] == 0.5
    assert found["goodput"] == 25000.0
    assert found["cov"] == pytest.approx(0.5)
    assert kept.began.tolist() == [True, False]
    assert quantities(BY_ID["short none"], kept)["completion_mean"] == 3.0


def transfers(time_s: list[float], began: list[bool]) -> dict[str, float]:
    case = BY_ID["short none"]
    one = replace(run(case), time_s=np.array(time_s), began=np.array(began))
    return quantities(case, one)


def test_transfers_that_never_finished_are_counted() -> None:
    found = transfers([1.0, 3.0, np.nan, np.nan], [True, True, True, False])
    assert (found["completed"], found["unfinished"], found["completion_mean"]) == (2.0, 1.0, 2.0)
    assert np.isnan(found["completion_p95"])
    many = transfers([1.0] * 39 + [np.nan], [True] * 40)
    assert (many["unfinished"], many["completion_p95"]) == (1.0, 1.0)
    none = transfers([np.nan] * 2, [True, True])
    assert (none["completed"], none["unfinished"]) == (0.0, 2.0)
    assert np.isnan([none["completion_mean"], none["completion_p95"]]).all()


def test_a_study_without_a_finished_transfer_has_a_row_without_a_number() -> None:
    kept = []
    for case in (*PLAN.cases, *(case for one in PLAN.judged for case in one.cases)):
        one = run(case, **as_claimed(case))
        if case.figure == "short":
            one = replace(one, time_s=np.full(len(one.time_s), np.nan))
        kept += [one] * case.replications
    found = reduce(without_sweeps(PLAN), kept, "perhop reproduce feroz", 1)
    rows = {(row["id"], row["quantity"]): row["simulated"] for row in found.document["rows"]}
    assert rows["short none", "completion_mean"] == {"mean": None, "ci95": None, "n": 0}
    assert rows["short none", "unfinished"]["mean"] == 2.0
    assert "completion mean" in STUDY.page(without_sweeps(PLAN), found)


def test_an_assured_flow_is_no_part_of_the_others() -> None:
    found = quantities(BY_ID["6-20 token-bucket"], run(BY_ID["6-20 token-bucket"], obtained=0.5))
    assert found["obtained"] == pytest.approx(0.32768)
    assert found["obtained_share"] == pytest.approx(0.5)
    assert found["goodput"] == pytest.approx(18000.0)


def test_round_trip_groups_are_compared() -> None:
    assert quantities(BY_ID["rtt none"], run(BY_ID["rtt none"]))["short_over_long"] == pytest.approx(4.0)


def test_lost_in_packets_are_said() -> None:
    plan = without_sweeps(PLAN, readings=False)
    kept = [run(case, **as_claimed(case)) for case in plan.cases for _ in range(case.replications)]
    kept[0] = replace(kept[0], dropped_in=100, dropped_out=0)
    assert reduce(plan, kept, "", 1).warnings == ()
    for k in range(40):
        kept[k] = replace(kept[k], dropped_in=50, dropped_out=50)
    assert reduce(plan, kept, "", 1).warnings == (
        "RIO is to drop OUT packets first, yet of the lost packets more than a fifth were IN: "
        "50% with tcp-friendly in Table 1",
    )


def test_missing_results_are_refused() -> None:
    with pytest.raises(ValueError, match="1 results for"):
        reduce(PLAN, [run(PLAN.cases[0])], "", 1)


def test_a_queue_is_counted_by_colour() -> None:
    trace = {
        "time_s": [0.0, 1.0, 2.0, 3.0, 4.0],
        "path": ["port.r2-r3.class.all"] * 4 + ["port.r3-d[0].class.all"],
        "event": ["enqueued", "enqueued", "dropped", "sent", "enqueued"],
        "color": ["green", "red", "red", "green", "red"],
    }
    found = backlog(pl.DataFrame(trace), "x")
    assert found.green.tolist() == [1, 1, 1, 0]
    assert found.red.tolist() == [0, 1, 1, 1]
    assert found.dropped_red_s.tolist() == [2.0]
    assert found.dropped_green_s.tolist() == []


SWEPT = tuple(
    sweep
    for sweep in PLAN.sweeps
    if sweep.parameter.name
    in {"1": ("averaging", "unmarked", "beyond_tokens", "carry", "depth"), "6": ("depth",)}[sweep.table]
)


FULL = replace(
    PLAN,
    sweeps=SWEPT,
    judged=(),
    jobs=PLAN.jobs[: runs_in(PLAN.cases) + sum(len(sweep.values) * runs_in(sweep.cases) for sweep in SWEPT)],
)
"""The full plan with as many of its sweeps as the findings need."""


@cache
def full() -> Reproduction:
    """Reduce runs of the full plan, sweeps too; under a swept value all runs are alike."""
    kept = [one for case in PLAN.cases for one in [run(case, **as_claimed(case))] * case.replications]
    for sweep in FULL.sweeps:
        for place, _ in enumerate(sweep.values):
            for case in sweep.cases:
                found = {**as_claimed(case), "timeouts": 10 * place, "dropped": 100 * place}
                kept += [run(case, **found)] * case.replications
    return reduce(FULL, kept, "perhop reproduce feroz", 1)


def test_sweeps_are_put_to_their_values() -> None:
    found = full()
    assert [swept.sweep for swept in found.swept] == list(FULL.sweeps)
    first = found.swept[0]
    assert [means["1 none"]["timeouts"] for means in first.means] == [0.0, 10.0, 20.0]
    sixth = next(swept for swept in found.swept if swept.sweep.table == "6")
    assert set(sixth.means[0]) == {
        f"6-{tokens} {marker}" for tokens in (15, 30, 45) for marker in ("tcp-friendly", "token-bucket")
    }


def test_findings_come_from_the_runs() -> None:
    titles = [title for title, _ in full().findings]
    assert titles == [
        "What RIO averages, and whose profile unmarked packets meet",
        "What becomes of unused tokens",
        "How deep the token bucket is",
        "Table 2 and RIO's thresholds",
        "At 150 Mbit/s the marking interval is six round trips",
        "Section 5.7: other kinds of traffic",
    ]
    texts = dict(full().findings)
    assert "the TCP-friendly marker is 2.0 times as good" in texts["How deep the token bucket is"]
    assert "4 and 1.0, 8 and 2.0" in texts["Table 2 and RIO's thresholds"]
    assert reproduce().findings[1:] == tuple(full().findings)[-3:]


def test_the_page(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    found = full()
    place.write_text(STUDY.page(FULL, found), encoding="utf-8")
    check_page(place)
    text = unescape(place.read_text())
    assert all(claim.statement in text for claim in PACK.claims)
    for part in (
        "table-1",
        "table-7",
        "pattern",
        "backlog",
        "sweep-averaging",
        "sweep-6-depth",
        "calibration",
    ):
        assert f'id="{part}"' in text
    quick = make_plan(quick=True)
    kept = as_claimed_runs(quick)
    place.write_text(STUDY.page(quick, reduce(quick, kept, "perhop reproduce feroz --quick", 1)))
    check_page(place)
    assert 'id="sensitivity"' not in place.read_text()


# the pack


def test_every_claim_has_a_predicate() -> None:
    assert [claim.id for claim in PACK.claims] == [f"F{k}" for k in range(1, 11)]
    assert {claim.predicate for claim in PACK.claims} == set(PREDICATES)


def test_every_published_row_is_run_and_named_once() -> None:
    ids = [case.id for case in PLAN.cases]
    assert len(ids) == len(set(ids))
    assert set(published_rows(PACK)) == {case.id for case in PLAN.cases if case.table != "extra"}
    assert len(published_rows(PACK)) == 15 + 2 * 10
    assert all(bool(case.published) == (case.table != "extra") for case in PLAN.cases)


def test_a_published_row_that_is_not_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = tuple(table for table in PACK.figures if table["id"] != "7")
    monkeypatch.setattr("perhop.papers.feroz.plan.load_pack", lambda _: replace(PACK, figures=fewer))
    with pytest.raises(PackError, match="not run: 7-1500 tcp-friendly"):
        make_plan()


def test_scenarios_hold_what_the_paper_says() -> None:
    for name in ("baseline", "large", "assured", "rtt", "short"):
        scenario = tomllib.loads(PACK.scenario(f"{name}.toml").decode())
        (port,), (conditioner,) = scenario["port"], scenario["conditioner"]
        queue, meter = port["class"][0]["queue"], conditioner["meter"]
        assert queue["green"] == {"min_th": "150p", "max_th": "200p", "max_p": 0.005}
        assert queue["red"] == {"min_th": "1p", "max_th": "20p", "max_p": 0.2}
        assert (queue["w_q"], queue["colors"]) == (0.002, {"AF11": "green", "BE": "red"})
        assert meter["interval"] == "250ms"
        for flow in scenario["flow"]:
            tcp = flow["tcp"]
            assert (tcp["profile"], tcp["mss"], tcp["header"]) == ("host", "1024B", "0B"), name


@pytest.mark.parametrize("name", [parameter.name for parameter in PLAN.parameters])
def test_a_calibration_that_chose_what_no_scenario_holds_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(pack: Pack) -> tuple[Search, tuple[Parameter, ...]]:
        search, parameters = load_parameters(pack)
        return search, tuple(
            replace(one, chosen=next(value for value in one.values if value != one.chosen))
            if one.name == name
            else one
            for one in parameters
        )

    monkeypatch.setattr("perhop.papers.feroz.plan.load_parameters", elsewhere)
    if name in ("depth", "unmarked"):  # set for the marker that has them, held by no file
        monkeypatch.setattr("perhop.papers.feroz.plan.load_readings", lambda _: ())
        make_plan()
        return
    with pytest.raises(PackError, match=rf"baseline.toml: not the {name}\b.* that calibration.toml chose"):
        make_plan()


def test_round_trips_are_20_to_200_ms() -> None:
    scenario = tomllib.loads(PACK.scenario("rtt.toml").decode())
    first, *others = (link["delay"] for link in scenario["link"])
    behind = sum(float(delay.removesuffix("ms")) for delay in others)
    assert [2 * (float(one.removesuffix("ms")) + behind) for one in first] == [20, 45, 90, 135, 200]


def test_a_rate_of_tokens() -> None:
    for row in PACK.table("tables6-7"):
        found = assured_bit_s(float(row["tokens_per_interval"])) / 1e6
        assert found == pytest.approx(float(row["assured_mbps"]), rel=0.01)


def test_a_plan_orders_replications_within_cases_and_shares_the_seed() -> None:
    plan = make_plan(replications=3, seed=7)
    _, name, settings = plan.jobs[4][:3]
    assert name == "baseline.toml for 1 token-bucket"
    assert settings[-2:] == ["run.seed=7", "run.replication=1"]
    assert {job[2][-2] for job in plan.jobs} == {"run.seed=7"}
    assert any("replications" in text for text in plan.left_out)
    assert sum(case.replications for case in plan.cases) < len(plan.jobs)
    assert {case.replications for case in plan.cases} == {1, 3}
    assert BY_ID["4 none"].replications == 40


def test_a_shortened_run_is_not_judged() -> None:
    quick = make_plan(quick=True)
    found = reduce(quick, as_claimed_runs(quick), "", 1)
    judged = {"F1", "F4", "F5", "F10"}
    assert {id_ for id_, verdict in verdicts(found).items() if verdict == "supported"} == judged
    assert {id_ for id_, verdict in verdicts(found).items() if verdict == "not judged"} == {
        f"F{k}" for k in range(1, 11)
    } - judged
    claims = {claim["id"]: claim for claim in found.document["claims"]}
    assert claims["F2"]["reason"] == "Table 2 simulates 20 s here"
    assert claims["F8"]["reason"] == "a quick reproduction leaves its readings out"
    assert {part["verdict"] for part in claims["F9"]["parts"]} == {"not judged"}
    assert len(claims["F1"]["readings"]) > 10
    assert claims["F8"]["readings"] == []


def test_zero_itself_left_out_is_said_in_words() -> None:
    found = reproduce(changed("tcp-friendly", timeouts=9)).document["claims"][0]
    assert "where less than 0 is claimed (contradicted)" in found["evidence"]["summary"]
    assert found["parts"][0]["claimed"] == [None, 0.0]
    assert "-0.0" not in json.dumps(found)


def test_a_quick_plan_keeps_every_claim() -> None:
    quick = make_plan(quick=True)
    assert {case.id for case in PLAN.cases if case.table != "extra"} <= {case.id for case in quick.cases}
    assert any(case.figure == "spacing" for case in quick.cases)
    assert quick.sweeps == ()
    assert quick.left_out
    assert len(quick.jobs) < len(PLAN.jobs)


def test_readings_become_settings() -> None:
    _, parameters = load_parameters(PACK)
    held = {parameter.name: parameter.chosen for parameter in parameters}
    friendly, bucket, none = Meter("tcp-friendly"), Meter("token-bucket"), Meter("none")
    assert overrides(friendly, ["bulk"], held, held) == []
    assert overrides(none, ["bulk"], {**held, "unmarked": "in"}, held)[-1].endswith("colors.BE=green")
    assert overrides(none, ["bulk"], {**held, "unmarked": "out"}, held) == [
        'conditioner.marker.marker={ green = "BE", red = "BE" }'
    ]
    readings = {**held, "depth": 0.5, "tokens": 40}
    assert overrides(bucket, ["bulk"], readings, held) == [
        'conditioner.marker.meter={ kind = "token-bucket", cir = "1310720bit/s", cbs = "20480B" }'
    ]
    assert overrides(Meter("token-bucket", 10.0), ["bulk"], readings, held)[-1].endswith('cbs = "204800B" }')
    assert overrides(Meter("token-bucket", tokens=15), ["bulk"], {**held, "depth": 0.01}, held)[-1].endswith(
        'cir = "491520bit/s", cbs = "1024B" }'
    )
    assert overrides(Meter("tcp-friendly", 10.0), ["bulk"], {**readings, "carry": 0.5}, held) == [
        "conditioner.marker.meter.tokens=400",
        "conditioner.marker.meter.carry_tokens=200",
    ]
    for parameter in parameters:
        other = next(value for value in parameter.values if value != parameter.chosen)
        each = [
            overrides(m, ["bulk"], {**held, parameter.name: other}, held) for m in (friendly, bucket, none)
        ]
        base = [overrides(m, ["bulk"], held, held) for m in (friendly, bucket, none)]
        assert each != base, parameter.name
