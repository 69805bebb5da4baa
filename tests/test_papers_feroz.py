"""Reduction of results to rows, and the pack, from hand-made numbers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made, undraw
from perhop import Scenario
from perhop.experiment.definition import Campaign
from perhop.papers.error import PackError
from perhop.papers.feroz.calibration import load_calibration
from perhop.papers.feroz.cases import FACTORS, FIGURE, FITTED, Case, published_rows
from perhop.papers.feroz.document import Reproduction, reduce
from perhop.papers.feroz.measure import Marks, spacing_kept
from perhop.papers.feroz.plan import MEASURED, SHORTER, Runs, make_plan
from perhop.papers.feroz.study import STUDY
from perhop.papers.pack import load_pack
from perhop.run.run import Result
from test_papers_traced import spaced_trace, web
from test_report import check_page

PLAN = make_plan()
BY_ID = {case.id: case for case in PLAN.cases}
PACK = load_pack("feroz", FIGURE)
FIT = load_calibration(PACK)

NumbersOf = Callable[[Case, str, str], dict[str, Any]]
"""What a run of a case gives, by the value of the parameters that vary and the id of the reading."""


def responses(case: Case, **changes: float) -> dict[str, float]:
    """One run of a case as a campaign measures it: two flows with as much goodput and variation as asked."""
    found = {"timeouts": 5, "dropped": 100, "dropped_in": 0, "goodput": 18000.0, "cov": 0.1, "obtained": 0.5}
    found |= changes
    # of two flows the sample's deviation is the root of two times the population's
    found |= {"flows": 2, "cov": found["cov"] * 2**0.5, "short_over_long": 4.0}
    return found | {"assured": found["obtained"] * case.assured_bit_s}


def as_claimed(case: Case, at: str = FITTED, reading: str = "") -> dict[str, Any]:
    """Numbers that do what the paper says."""
    level = {"tcp-friendly": 1, "token-bucket": 2, "none": 3}[case.marker]
    return {
        "timeouts": 4 * level,
        "dropped": 100 * level,
        "goodput": case.published.get("goodput", 18000.0 / level),
        "cov": 0.05 * level,
        "obtained": 0.8 / level,
    }


def measured(campaign: Campaign, numbers_of: NumbersOf, reading: str, spread: int) -> pl.DataFrame:
    """What a campaign measures; time-outs differ by replication."""
    rows = []
    for at, row, marker in (one.levels for one in campaign.design.treatments):
        case = BY_ID[f"{row} {marker}"]
        for k in range(campaign.design.replications):
            found = responses(case, **numbers_of(case, at, reading))
            found["timeouts"] = max(0, found["timeouts"] + spread * (k % 10 - 4))
            rows += [(at, row, marker, k, one.name, float(found[one.name])) for one in campaign.responses]
    return pl.DataFrame(rows, [*FACTORS, "replication", "response", "value"], orient="row")


def whole(case: Case, numbers_of: NumbersOf, mark: list[str] | None = None) -> Result:
    """One run of a case that is needed whole."""
    if case.figure == "short":
        found = numbers_of(case, FITTED, "")
        return web(found.get("completed_s", (1.0, 3.0)), timeouts=found.get("timeouts", 5), dropped=100)
    trace = spaced_trace(case.tokens, 3 * case.tokens) if case.tokens else spaced_trace()
    return replace(made(), trace={"packets": pl.DataFrame(trace | ({"mark": mark} if mark else {}))})


def reproduce(
    numbers_of: NumbersOf = as_claimed,
    spread: int = 0,
    plan: Runs | None = None,
    mark: list[str] | None = None,
) -> Reproduction:
    """Reduce runs of a plan, as a rule of the full one without sweeps."""
    plan = plan or replace(PLAN, beyond=())
    names = [""] * len(plan.fitted) + [reading.id for reading, own in plan.read for _ in own]
    names += [""] * len(plan.beyond)
    frames = [
        measured(one, numbers_of, name, spread) for one, name in zip(plan.campaigns, names, strict=True)
    ]
    drawn = [whole(BY_ID[job[1].rpartition(" ")[0]], numbers_of, mark) for job in plan.drawn]
    return reduce(plan, plan.results(frames, drawn), "perhop reproduce feroz", 1)


@cache
def claimed() -> Reproduction:
    """Reduce runs that do what the paper says, once for all tests that only read what comes of it."""
    return reproduce()


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = claimed().document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    assert len({(row["id"], row["quantity"]) for row in document["rows"]}) == len(document["rows"])
    assert all(row["closed_form"] == {"printed": None, "bounded": None} for row in document["rows"])
    assert json.dumps(document, allow_nan=False) == json.dumps(reproduce().document, allow_nan=False)


def test_commands_run_one_case_as_long_as_the_study_does() -> None:
    run_it = "perhop run papers/feroz/baseline.toml"
    assert BY_ID["1 tcp-friendly"].command(PACK, FIT) == f"{run_it} -o out/feroz-1-tcp-friendly"
    traced = BY_ID["marks token-bucket"].command(PACK, FIT)
    assert traced.startswith(f"{run_it} -s 'conditioner.marker.meter=")
    assert traced.endswith(" -s 'run.duration=20s' --trace packets -o out/feroz-marks-token-bucket")


def test_every_printed_number_has_its_row() -> None:
    rows = {(row["id"], row["quantity"]): row for row in claimed().document["rows"]}
    for id_, printed in published_rows(PACK).items():
        for quantity, value in printed.items():
            assert rows[id_, quantity]["published"] == value, (id_, quantity)
    one = rows["1 tcp-friendly", "losses_per_s"]
    assert (one["published"], one["unit"], one["simulated"]["mean"]) == (1.46, "packets/s", 1.0)
    assert rows["6-15 token-bucket", "obtained"]["published"] == 0.26
    assert rows["6-15 token-bucket", "obtained"]["simulated"]["mean"] == pytest.approx(0.4 * 0.49152)
    assert rows["6-15 token-bucket", "obtained_share"]["simulated"]["mean"] == pytest.approx(0.4)


def test_the_guard_of_reno_is_shown_with_and_without() -> None:
    def numbers_of(case: Case, at: str, reading: str) -> dict[str, Any]:
        return {**as_claimed(case), **({"timeouts": 2} if reading == "guard off" else {})}

    text = dict(reproduce(numbers_of).findings)["Time-outs with the guard of Reno and without"]
    assert "with the guard: 4.0 (tcp-friendly), 8.0 (token-bucket), 12.0 (none)" in text
    assert "without it: 2.0 (tcp-friendly), 2.0 (token-bucket), 2.0 (none)" in text


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
    assert found == pytest.approx({"gaps_kept": kept, "gap_excess": excess})


def test_spacing_follows_an_estimate_that_moves() -> None:
    """Eight packets, then sixteen: E is 8, then 12; with four tokens S is 1, then 2."""
    counts, marks, time = (8, 16, 16), [], []
    spacings = (0, 1, 2)
    for k, (count, spacing) in enumerate(zip(counts, spacings, strict=True)):
        marks += [n % (spacing + 1) == spacing for n in range(count)]
        time += [(k + (n + 0.5) / count) * 0.25 for n in range(count)]
    moving = Marks(np.array(time), np.array(marks))
    assert spacing_kept(moving, 4) == {"gaps_kept": 1.0, "gap_excess": 0.0}
    assert spacing_kept(moving, 4, gain=1.0)["gaps_kept"] < 1.0


def test_a_run_is_measured_by_the_campaign_of_its_scenario() -> None:
    flows = {
        "name": ["bulk[0]", "bulk[1]", "assured"],
        "goodput_bit_s": np.array([1e5, 3e5, 9e5]),
        "timeouts": np.array([2, 3, 1], dtype=np.uint64),
    }
    queues = {
        "path": ["port.r2-r3.class.all", "port.r3-d[0].class.all"],
        "dropped_packets": np.array([50, 7], dtype=np.uint64),
        "dropped_green": np.array([20, 7], dtype=np.uint64),
    }
    result = made(flows=flows, queues=queues)
    found = {
        one.name: one.evaluate(result)[()]
        for one in Campaign.load(PACK.folder / MEASURED["assured.toml"]).responses
    }
    assert found == {
        "timeouts": 6.0,
        "dropped": 50.0,
        "dropped_in": 20.0,
        "flows": 2.0,
        "goodput": 25000.0,
        "cov": pytest.approx(0.5 * 2**0.5),
        "assured": 9e5,
    }
    base = {one.name: one.text for one in Campaign.load(PACK.folder / MEASURED["baseline.toml"]).responses}
    for one in Campaign.load(PACK.folder / MEASURED["assured.toml"]).responses:
        if one.name != "assured":
            assert one.text.replace(' where name != "assured"', "") == base[one.name]


def test_quantities_are_made_of_responses() -> None:
    m = reproduce(lambda case, *_: {"dropped": 50, "dropped_in": 20, "cov": 0.3}).measured[FITTED]
    found = {name: values[0] for name, values in m.values["2 none"].items()}
    assert found == pytest.approx(
        {
            "timeouts": 5,
            "losses_per_s": 0.5,
            "losses_in": 0.2,
            "losses_out": 0.3,
            "goodput": 18000,
            "cov": 0.3,
        }
    )


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_a_finished_transfer_has_a_row_without_a_number() -> None:
    found = reproduce(lambda case, *_: {**as_claimed(case), "completed_s": [None, None]})
    rows = {(row["id"], row["quantity"]): row["simulated"] for row in found.document["rows"]}
    assert rows["short none", "completion_mean"] == {"mean": None, "ci95": None, "n": 0}
    assert rows["short none", "unfinished"]["mean"] == 2.0
    assert "completion mean" in STUDY.page(replace(PLAN, beyond=()), found)


def test_an_assured_flow_is_held_against_its_rate() -> None:
    m = reproduce(lambda *_: {}).measured[FITTED]
    assert m.mean("6-20 token-bucket", "obtained") == pytest.approx(0.32768)
    assert m.mean("6-20 token-bucket", "obtained_share") == pytest.approx(0.5)
    assert m.mean("6-20 token-bucket", "goodput") == pytest.approx(18000.0)
    assert m.mean("rtt none", "short_over_long") == pytest.approx(4.0)


def test_lost_in_packets_are_said() -> None:
    def lost(case: Case, *_: str) -> dict[str, Any]:
        return {**as_claimed(case), **({"dropped_in": 50} if case.id == "1 tcp-friendly" else {})}

    assert claimed().warnings == ()
    assert reproduce(lost).warnings == (
        "RIO is to drop OUT packets first, yet of the lost packets more than a fifth were IN: "
        "50% with tcp-friendly in Table 1",
    )


@cache
def full() -> Reproduction:
    """Reduce runs of the full plan, sweeps too; at a swept value all runs are alike."""
    places = {str(value): place for place, value in enumerate(FIT.parameters["depth"].levels)}
    places |= {"coupled": 0, "decoupled": 1, "shared": 2}

    def numbers_of(case: Case, at: str, _: str) -> dict[str, Any]:
        swept = {"timeouts": 10 * places.get(at, 1), "dropped": 100 * places.get(at, 1)}
        return {**as_claimed(case), **(swept if at != FITTED else {})}

    return reproduce(numbers_of, plan=PLAN)


def test_sweeps_are_put_to_their_values() -> None:
    found = full().measured
    means = [
        found[f"averaging={value}"].mean("1 none", "timeouts") for value in ("coupled", "decoupled", "shared")
    ]
    assert means == [0.0, 10.0, 20.0]
    assert set(found["depth=0.05"].cases) == {
        *(f"1 {marker}" for marker in ("tcp-friendly", "token-bucket", "none")),
        *(f"6-{tokens} {marker}" for tokens in (15, 30, 45) for marker in ("tcp-friendly", "token-bucket")),
    }


def test_findings_come_from_the_runs() -> None:
    titles = [title for title, _ in full().findings]
    assert titles == [
        "Time-outs with the guard of Reno and without",
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
    assert [title for title, _ in claimed().findings] == titles[:1]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.html"
    place.write_text(STUDY.page(PLAN, full()), encoding="utf-8")
    check_page(place)
    text = unescape(place.read_text())
    assert all(claim.statement in text for claim in PACK.claims)
    assert "2.0 (chosen)" in text
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
    undraw(monkeypatch)
    quick = make_plan(quick=True)
    place.write_text(STUDY.page(quick, reproduce(plan=quick)))
    check_page(place)
    assert 'id="sensitivity"' not in place.read_text()


# the pack


def test_every_published_row_is_run_and_named_once() -> None:
    ids = [case.id for case in PLAN.cases]
    assert len(ids) == len(set(ids))
    assert set(published_rows(PACK)) == {case.id for case in PLAN.cases if case.table != "extra"}
    assert len(published_rows(PACK)) == 15 + 2 * 10
    assert all(bool(case.published) == (case.table != "extra") for case in PLAN.cases)


def test_a_published_row_that_is_not_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = tuple(table for table in PACK.figures if table["id"] != "7")
    monkeypatch.setattr("perhop.papers.feroz.plan.load_pack", lambda *_: replace(PACK, figures=fewer))
    with pytest.raises(PackError, match="not run: 7-1500 tcp-friendly"):
        make_plan()


def test_scenarios_hold_what_the_paper_says() -> None:
    for name in ("baseline", "assured"):
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


@pytest.mark.parametrize("file", MEASURED)
def test_scenarios_hold_what_the_calibration_chose(file: str) -> None:
    """A file run alone is the fitted point; `depth` and `unmarked` are set for the marker they are of."""
    scenario = Scenario(PACK.scenario(file), file)
    case = replace(BY_ID["1 tcp-friendly"], scenario=file)
    assert scenario.override(*case.overrides(FIT.chosen, FIT)).resolve() == scenario.resolve()
    window = f"flow.assured.tcp.window={FIT.chosen['window']}KiB"
    if file == "assured.toml":
        assert scenario.override(window).resolve() == scenario.resolve()
    for name, one in FIT.parameters.items():
        other = {**FIT.chosen, name: next(value for value in one.levels if value != one.chosen)}
        moved = scenario.override(*case.overrides(other, FIT)).resolve() != scenario.resolve()
        assert moved == (name not in ("depth", "unmarked")), name


def keys(campaign: Campaign) -> set[str]:
    """Give the runs of a campaign; a study's have one sample at the end."""
    return set(campaign.design.runs(campaign.scenario.override("run.interval=100s"))["key"])


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("campaign.toml", {"1", "4", "5"}),
        ("campaign-assured.toml", {f"6-{tokens}" for tokens in (15, 20, 25, 30, 35, 40, 45)}),
    ],
)
def test_campaign_files_are_the_runs_of_the_study(file: str, rows: set[str]) -> None:
    written, ours = Campaign.load(PACK.folder / file), set[str]()
    for one in PLAN.fitted:
        own = tuple(each for each in one.design.treatments if each.levels[1] in rows)
        ours |= keys(replace(one, design=replace(one.design, treatments=own)))
    assert keys(written) == ours


def test_round_trips_are_20_to_200_ms() -> None:
    (table,) = (table for table in PACK.figures if table["id"] == "rtt")
    first, *others = (text.partition("=")[2] for text in table["set"])
    behind = sum(float(delay.removesuffix("ms")) for delay in others)
    assert [2 * (float(one.removesuffix("ms")) + behind) for one in json.loads(first)] == [
        20,
        45,
        90,
        135,
        200,
    ]


def test_a_rate_of_tokens() -> None:
    for row in PACK.table("tables6-7"):
        case = BY_ID[f"{row['table']}-{row['tokens_per_interval']} tcp-friendly"]
        assert case.assured_bit_s / 1e6 == pytest.approx(float(row["assured_mbps"]), rel=0.01)


def test_campaigns_hold_each_case_as_often_as_it_is_run() -> None:
    ids = []
    for one in PLAN.fitted:
        assert (one.design.names, one.design.seeds, one.scenario.seed) == (FACTORS, "common", 1)
        for at, row, marker in (each.levels for each in one.design.treatments):
            assert at == FITTED
            assert BY_ID[f"{row} {marker}"].replications == one.design.replications
            ids.append(f"{row} {marker}")
    assert sorted([*ids, *{job[1].rpartition(" ")[0] for job in PLAN.drawn}]) == sorted(BY_ID)
    assert BY_ID["4 none"].replications == 40
    assert len(PLAN.drawn) == 2 + 10 + 3 * 10


def test_runs_are_shorter_under_readings_where_the_figure_says_so() -> None:
    """The fitted point is judged by such runs too, before any reading."""
    times: dict[str, set[str]] = {}
    for reading, campaigns in PLAN.read:
        for one in (each for campaign in campaigns for each in campaign.design.treatments):
            lasts = [text for text in one.overrides if text.startswith("run.duration=")]
            times.setdefault(one.levels[1].partition("-")[0], set()).add(lasts[-1])
            assert len(lasts) == 1, (reading.id, one.name)
    printed = {table["id"]: table.get("read", "100s") for table in PACK.figures if table["table"] != "extra"}
    assert times == {figure: {f"run.duration={time}"} for figure, time in printed.items()}
    assert {case.duration_s for case in PLAN.cases if case.table != "extra"} == {100.0}
    first, *others = (reading for reading, _ in PLAN.read)
    assert (first.id, first.claims) == (SHORTER, ("F3", "F6", "F7", "F9"))
    assert all(figure in first.meaning for figure in ("Table 3", "Table 7"))
    assert SHORTER not in {reading.id for reading in others}
    assert SHORTER not in {reading.id for reading, _ in make_plan(quick=True).read}


def test_shorter_runs_are_reduced_by_their_own_time() -> None:
    found = reproduce(lambda case, *_: {"dropped": 50}).measured
    assert found[FITTED].mean("3 none", "losses_per_s") == pytest.approx(50 / 100)
    assert found[SHORTER].mean("3 none", "losses_per_s") == pytest.approx(50 / BY_ID["3 none"].read_s)
    assert found["coarse clock"].mean("2 none", "losses_per_s") == pytest.approx(50 / 100)


def test_a_quick_plan_keeps_every_claim() -> None:
    quick = make_plan(quick=True)
    assert {case.id for case in PLAN.cases if case.table != "extra"} <= {case.id for case in quick.cases}
    assert any(case.figure == "spacing" for case in quick.cases)
    assert quick.beyond == ()
    assert quick.left_out
    assert len(quick.campaigns) < len(PLAN.campaigns)


def test_values_become_settings() -> None:
    friendly, bucket, none = (BY_ID[f"1 {marker}"] for marker in ("tcp-friendly", "token-bucket", "none"))
    held = FIT.chosen

    def last(case: Case, **values: Any) -> str:
        """Give what sets the marker: after it comes the window, and how long the run is."""
        return case.overrides({**held, **values}, FIT)[-3]

    assert last(none, unmarked="in").endswith("colors.BE=green")
    assert last(none, unmarked="out").endswith("colors.BE=red")
    assert 'conditioner.marker.marker={ green = "BE", red = "BE" }' in none.overrides(held, FIT)
    bucket_of = 'conditioner.marker.meter={ kind = "token-bucket", cir = "1310720bit/s", cbs = "%s" }'
    assert last(bucket, depth=0.5, tokens=40) == bucket_of % "20480B"
    assert last(replace(bucket, scale=10), depth=0.5, tokens=40).endswith('cbs = "204800B" }')
    assert 'cir = "491520bit/s", cbs = "1024B" }' in " ".join(
        replace(bucket, tokens=15).overrides({**held, "depth": 0.01}, FIT)
    )
    assert "conditioner.marker.meter.tokens=400" in replace(friendly, scale=10).overrides(
        {**held, "tokens": 40}, FIT
    )
    assert last(replace(friendly, scale=10), tokens=40, carry=1).endswith("carry_tokens=400")
    for name, one in FIT.parameters.items():
        other = {**held, name: next(value for value in one.levels if value != one.chosen)}
        assert any(
            case.overrides(other, FIT) != case.overrides(held, FIT) for case in (friendly, bucket, none)
        )
