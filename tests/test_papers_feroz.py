"""Reduction of results to rows, and the files of feroz, from hand-made numbers."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, partial
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import made, undraw
from perhop import Scenario
from perhop.experiment.definition import Campaign
from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.papers.behind import runs_behind
from perhop.papers.campaigns import changed, short
from perhop.papers.folder import load, own_folder
from perhop.papers.folder_page import page_of
from perhop.papers.form import StudyError
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, plan_of
from perhop.papers.reduce import reduce
from perhop.papers.study import SHORTER
from perhop.run.run import Result
from test_papers_feroz_measures import trace_of
from test_report import check_page

FOLDER = own_folder("feroz")
OWN = load(FOLDER, "feroz")
STUDY = OWN
STUDY_PY: Any = OWN.code
PLAN: Plan = plan_of(STUDY, quick=False)


def often(plan: Plan, names: Collection[str]) -> Plan:
    """Give a plan without sweeps, with ten replications of all, under some readings."""
    return replace(
        plan,
        beyond=(),
        fitted=tuple(short(one, (), 10) for one in plan.fitted),
        read=tuple(
            (reading, tuple(short(one, (), 10) for one in own))
            for reading, own in plan.read
            if reading.id in names
        ),
    )


BARE = often(PLAN, (SHORTER, "guard off", "SACK", "slow edges"))
"""What most tests need: each claim under a reading or more."""
FIT = STUDY_PY.FIT
FIRST, ASSURED, *_ = OWN.about
PRINTED = {
    (*(one.place.get(name, "") for name in ("figure", "tokens", "marker")), one.response): one.value
    for about in (FIRST, ASSURED)
    for one in about.references.listed
}

At = Mapping[str, str]
NumbersOf = Callable[[At, str], dict[str, float | None]]
"""What a run at these levels gives that is not as usual, by them and the id of the reading."""


def printed(at: At, response: str, instead: float = 0.0) -> float:
    """Give what is printed at a place."""
    return PRINTED.get((at["figure"], at.get("tokens", ""), at["marker"], response), instead)


def promised(at: At) -> float:
    """Give the rate that an assured flow is promised, bit/s."""
    return int(at.get("tokens", 0)) * 1024 * 8 / 0.25


def as_claimed(at: At, reading: str = "") -> dict[str, float | None]:
    """Numbers that do what the paper says."""
    level = {"tcp-friendly": 1, "token-bucket": 2, "none": 3}[at["marker"]]
    return {
        "timeouts": 4 * level,
        "losses_per_s": float(level),
        "goodput": printed(at, "goodput", 18000.0 / level),
        "cov": 0.05 * level,
        "obtained_share": 0.8 / level,
    }


def run_of(at: At, more: Mapping[str, float | None]) -> dict[str, float | None]:
    """One run as campaigns measure it."""
    usual: dict[str, Any] = {"timeouts": 5, "losses_per_s": 1.0, "losses_in": 0.0, "goodput": 18000.0}
    usual |= {"cov": 0.1, "obtained_share": 0.5, "short_over_long": 4.0, **more}
    n = 100 if at["figure"] in ("2", "3", "2-scaled", "3-interval") else 10
    usual["cov_sample"] = usual["cov"] / (1 - 1 / n) ** 0.5
    usual["losses_out"] = usual["losses_per_s"] - usual["losses_in"]
    usual["lost_in"] = usual["losses_in"] / usual["losses_per_s"] if usual["losses_per_s"] else None
    usual.setdefault("assured", usual["obtained_share"] * promised(at))
    usual["obtained"] = usual["assured"] / 1e6
    made_up = {"completion_mean": 2.0, "completion_p95": 3.0, "completed": 2.0, "unfinished": 0.0}
    return {**made_up, "gaps_kept": 1.0, "gap_excess": 0.0, **usual}


def measured(campaign: Campaign, numbers_of: NumbersOf, reading: str, spread: int) -> pl.DataFrame:
    """What a campaign measures; time-outs differ by replication."""
    rows, names = [], campaign.design.names
    for one in campaign.design.treatments:
        at = {"marker": "tcp-friendly", **dict(zip(names, one.levels, strict=True))}
        found = run_of(at, numbers_of(at, reading))
        for k in range(campaign.design.replications):
            values = {**found, "timeouts": max(0, (found["timeouts"] or 0) + spread * (k % 10 - 4))}
            rows += [
                ("key", one.name, *one.levels, k, each.name, values[each.name]) for each in campaign.responses
            ]
    columns = ["key", "treatment", *names, "replication", "response", "value"]
    return pl.DataFrame(rows, columns, orient="row").with_columns(pl.col("value").cast(pl.Float64))


def drawn() -> Result:
    """One traced run that is drawn."""
    trace = trace_of([k / 80 for k in range(1600)], [k % 3 == 0 for k in range(1600)])
    trace |= {"flow": ["bulk[0]"] * 1600, "color": ["green"] * 1600}
    return replace(made(), trace={"packets": pl.DataFrame(trace)})


def reproduce(numbers_of: NumbersOf = as_claimed, spread: int = 0, plan: Plan = BARE) -> Outcome:
    """Reduce runs of a plan, as a rule of the full one without sweeps."""
    names = [""] * len(plan.fitted) + [reading.id for reading, own in plan.read for _ in own]
    names += [""] * len(plan.beyond)
    frames = [
        measured(one, numbers_of, name, spread) for one, name in zip(plan.campaigns, names, strict=True)
    ]
    results = plan.results(frames, [drawn() for _ in plan.drawn])
    outcome: Outcome = reduce(plan, results, "perhop reproduce feroz", 1)
    return outcome


@cache
def claimed() -> Outcome:
    """Reduce runs that do what the paper says, once for all tests that only read what comes of it."""
    return reproduce()


def rows_of(found: Outcome) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["table"], row["id"], row["quantity"]): row for row in found.document["rows"]}


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = claimed().document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    assert len(rows_of(claimed())) == len(document["rows"]) == 175
    assert all(row["closed_form"] == {"printed": None, "bounded": None} for row in document["rows"])
    assert json.dumps(document, allow_nan=False) == json.dumps(reproduce().document, allow_nan=False)


def test_every_printed_number_has_its_row() -> None:
    rows = rows_of(claimed())
    words = {"none": "no marker"}
    for (figure, tokens, marker, quantity), value in PRINTED.items():
        id_ = ", ".join(filter(None, (tokens, words.get(marker, marker))))
        assert rows[figure, id_, quantity]["published"] == value
    assert len(PRINTED) == sum(row["published"] is not None for row in rows.values()) == 15 * 4 + 20
    one = rows["1", "tcp-friendly", "losses_per_s"]
    assert (one["published"], one["unit"], one["simulated"]["mean"]) == (1.46, "packets/s", 1.0)
    assert rows["6", "15, token-bucket", "obtained"]["published"] == 0.26
    assert rows["6", "15, token-bucket", "obtained"]["simulated"]["mean"] == pytest.approx(0.4 * 0.49152)
    assert rows["6", "15, token-bucket", "obtained_share"]["simulated"]["mean"] == pytest.approx(0.4)


def test_the_guard_of_reno_is_shown_with_and_without() -> None:
    def numbers_of(at: At, reading: str) -> dict[str, float | None]:
        return {**as_claimed(at), **({"timeouts": 2} if reading == "guard off" else {})}

    text = dict(reproduce(numbers_of).findings)["Time-outs with the guard of Reno and without"]
    assert "with the guard: 4.0 (tcp-friendly), 8.0 (token-bucket), 12.0 (no marker)" in text
    assert "without it: 2.0 (tcp-friendly), 2.0 (token-bucket), 2.0 (no marker)" in text


def test_quantities_are_made_of_responses() -> None:
    """The deviation is that of all flows; a rate is over what is promised."""
    m = reproduce(lambda *_: {"cov": 0.3}).measured["campaign.toml"]
    for figure in FIRST.subject.levels["figure"]:
        assert m.mean("cov", figure=figure, marker="tcp-friendly") == pytest.approx(0.3), figure
    assert m.mean("short_over_long", figure="rtt", marker="none") == 4.0
    own = reproduce(lambda *_: {}).measured["campaign-assured.toml"]
    for tokens in ASSURED.subject.levels["tokens"]:
        at = {"tokens": tokens, "marker": "token-bucket"}
        assert own.mean("obtained_share", **at) == pytest.approx(0.5)
        assert own.mean("obtained", **at) == pytest.approx(promised(at) / 2e6)
    assert own.mean("goodput", tokens="20", marker="token-bucket") == 18000.0


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_a_finished_transfer_has_a_row_without_a_number() -> None:
    found = reproduce(lambda at, _: {**as_claimed(at), "completion_mean": None, "unfinished": 2.0})
    rows = rows_of(found)
    none = rows["extra", "Short transfers, no marker", "completion_mean"]["simulated"]
    assert none == {"mean": None, "ci95": None, "n": 0}
    assert rows["extra", "Short transfers, no marker", "unfinished"]["simulated"]["mean"] == 2.0
    found.document.update(runs_behind(BARE))
    assert "completion mean" in page_of(STUDY, found)


def test_lost_in_packets_are_said() -> None:
    def lost(at: At, _: str) -> dict[str, float | None]:
        place = (at["figure"], at["marker"])
        return {**as_claimed(at), **({"losses_in": 0.5} if place == ("1", "tcp-friendly") else {})}

    assert claimed().warnings == []
    (told,) = reproduce(lost).warnings
    assert told.startswith(
        "RIO is to drop OUT packets first, yet of the lost packets more than a fifth were IN"
    )
    assert "with tcp-friendly is 0.5" in told


@cache
def full() -> Outcome:
    """Reduce runs of the full plan, sweeps too; at a swept value all runs are alike."""
    places = {str(value): place for place, value in enumerate(FIT.parameters["depth"].levels)}
    places |= {"coupled": 0, "decoupled": 1, "shared": 2}

    def numbers_of(at: At, _: str) -> dict[str, float | None]:
        own = {*FIT.parameters} - {"tokens"}
        swept = next((places.get(level, 1) for name, level in at.items() if name in own), None)
        more = {} if swept is None else {"timeouts": 10 * swept, "losses_per_s": float(swept)}
        return {**as_claimed(at), **more}

    found = reproduce(numbers_of, plan=replace(BARE, beyond=PLAN.beyond))
    found.document.update(runs_behind(BARE))
    return found


def test_sweeps_are_put_to_their_values() -> None:
    swept = full().beyond["1 averaging"]
    values = ("coupled", "decoupled", "shared")
    assert [swept.mean("timeouts", averaging=one, marker="none") for one in values] == [0.0, 10.0, 20.0]
    assert [one.name for one in PLAN.beyond] == [
        *(f"1 {name}" for name in FIT.parameters),
        *(f"6 {name}" for name in ("averaging", "depth", "beyond_tokens", "carry")),
    ]
    depth = next(one.campaign for one in PLAN.beyond if one.name == "6 depth")
    assert {one.levels[2:] for one in depth.design.treatments} == {
        (marker, tokens) for tokens in ("15", "30", "45") for marker in ("tcp-friendly", "token-bucket")
    }
    assert {one.campaign.design.replications for one in PLAN.beyond} == {4}


def test_findings_come_from_the_runs() -> None:
    titles = [title for title, _ in full().findings]
    assert titles == [
        "How what the paper leaves open was searched",
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
    assert "error by 5%, 3 passes, 8 replications" in texts[titles[0]]
    # without sweeps, what is of them is left out
    assert [title for title, _ in claimed().findings] == [*titles[:2], *titles[5:]]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.html"
    place.write_text(page_of(STUDY, full()), encoding="utf-8")
    check_page(place)
    text = unescape(place.read_text())
    assert all(claim.statement in text for claim in OWN.claims)
    assert "Chosen: decoupled." in text
    for part in ("pattern", "backlog", "figure-1", "figure-7", "figure-28", "calibration", "paper"):
        assert f'id="{part}' in text, part
    assert "--trace packets -o out/feroz-token-bucket" in text
    undraw(monkeypatch)
    quick = plan_of(STUDY, quick=True)
    found = reproduce(plan=quick)
    found.document.update(runs_behind(quick))
    place.write_text(page_of(STUDY, found))
    check_page(place)
    assert 'id="figure-8' not in place.read_text()


# the files


def test_a_published_row_that_is_not_run_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "feroz")
    table = tmp_path / "feroz" / "published" / "tables6-7.csv"
    table.write_text(table.read_text() + "7,6000,tcp-friendly,1.0,none\n")
    with pytest.raises(StudyError, match="`tokens` has no level `6000`"):
        load(tmp_path / "feroz")


def test_scenarios_hold_what_the_paper_says() -> None:
    for name in ("baseline", "assured"):
        scenario = tomllib.loads((FOLDER / f"{name}.toml").read_text())
        (port,), (conditioner,) = scenario["port"], scenario["conditioner"]
        queue, meter = port["class"][0]["queue"], conditioner["meter"]
        assert queue["green"] == {"min_th": "150p", "max_th": "200p", "max_p": 0.005}
        assert queue["red"] == {"min_th": "1p", "max_th": "20p", "max_p": 0.2}
        assert (queue["w_q"], queue["colors"]) == (0.002, {"AF11": "green", "BE": "red"})
        assert meter["interval"] == "250ms"
        for flow in scenario["flow"]:
            tcp = flow["tcp"]
            assert (tcp["profile"], tcp["mss"], tcp["header"]) == ("host", "1024B", "0B"), name


def keys(campaign: Campaign) -> dict[tuple[str, ...], str]:
    """Give what each treatment is, by its levels."""
    return {
        one.levels: campaign.scenario.override(*one.overrides).key().treatment
        for one in campaign.design.treatments
    }


def at_point(point: Mapping[str, Any], at: At) -> list[str]:
    found: list[str] = STUDY_PY.settings(at, point)
    return found


def test_campaigns_hold_what_the_calibration_chose() -> None:
    """A treatment is that at the fitted point, and each parameter moves those that it is of."""
    moved = dict[str, set[str]]()
    for about in (FIRST, ASSURED):
        for campaign in about.campaigns:
            own = OWN.about[0] if about is FIRST else about
            printed_here = {one.place["figure"] for one in own.references.listed}
            kept = changed(campaign, partial(at_point, FIT.chosen))
            before, after = keys(campaign), keys(kept)
            figure, marker = (campaign.design.names.index(name) for name in ("figure", "marker"))
            assert all(before[at] == after[at] for at in before if at[figure] in printed_here)
            for name, one in FIT.parameters.items():
                other = next(value for value in one.levels if value != one.chosen)
                point = {**FIT.chosen, name: other}
                made_so = keys(changed(campaign, partial(at_point, point)))
                moved.setdefault(name, set()).update(
                    at[marker] for at in before if at[figure] in printed_here and made_so[at] != before[at]
                )
    friendly, bucket = {"tcp-friendly"}, {"token-bucket"}
    every = {*friendly, *bucket, "none"}
    of_marker = {name for name, one in FIT.parameters.items() if one.treatment} | {"carry"}
    assert moved == {
        name: friendly
        if name in of_marker
        else {"depth": bucket, "unmarked": {"none"}, "tokens": friendly | bucket}.get(name, every)
        for name in FIT.parameters
    }


def test_round_trips_are_20_to_200_ms() -> None:
    (factor,) = (one for one in Campaign.load(FOLDER / "other.toml").design.factors if one.name == "figure")
    level = factor.level("rtt")
    assert level is not None
    first, *others = (text.partition("=")[2] for text in level.set)
    behind = sum(float(delay.removesuffix("ms")) for delay in others)
    trips = [2 * (float(one.removesuffix("ms")) + behind) for one in json.loads(first)]
    assert trips == [20, 45, 90, 135, 200]


def test_a_rate_of_tokens() -> None:
    for line in (FOLDER / "published" / "tables6-7.csv").read_text().splitlines()[1:]:
        _, tokens, *_, note = line.split(",")
        rate = float(note.removeprefix("promised ").removesuffix(" Mbit/s"))
        assert promised({"tokens": tokens}) / 1e6 == pytest.approx(rate, rel=0.01)


def test_campaigns_hold_each_case_as_often_as_it_is_run() -> None:
    often = dict[str, set[int]]()
    for one in PLAN.fitted:
        assert (one.design.seeds, one.scenario.seed) == ("common", 1)
        place = one.design.names.index("figure")
        for each in one.design.treatments:
            often.setdefault(each.levels[place], set()).add(one.design.replications)
    ours = ("2-scaled", "1-together", "3-interval", "rtt", "fast", "spacing", "short")
    assert often == {one: {40} for one in "145"} | {one: {10} for one in (*"2367", *ours)}
    assert [(job[1], *job[3:]) for job in PLAN.drawn] == [
        (f"1, {marker}", ("packets",)) for marker in ("tcp-friendly", "token-bucket")
    ]
    for _, own in PLAN.read:
        for one in own:
            place = one.design.names.index("figure")
            figures = {each.levels[place] for each in one.design.treatments}
            assert one.design.replications == (40 if figures <= set("145") else 10)


def test_runs_are_shorter_under_readings_where_the_study_says_so() -> None:
    """The fitted point is judged by such runs too, before any reading."""
    times: dict[str, set[float]] = {}
    for _, campaigns in PLAN.read:
        for one in campaigns:
            place = one.design.names.index("figure")
            for each in one.design.treatments:
                run = one.scenario.override(*each.overrides).describe().run
                assert run.interval_s == run.duration_s
                times.setdefault(each.levels[place], set()).add(run.duration_s)
    assert times == {one: {100.0} for one in "12456"} | {"3": {20.0}, "7": {50.0}}
    first, *others = (reading for reading, _ in PLAN.read)
    assert (first.id, first.claims) == (SHORTER, ("F3", "F6", "F7", "F9"))
    assert [one.id for one in others] == [one.id for one in OWN.readings]
    assert SHORTER not in {reading.id for reading, _ in plan_of(STUDY, quick=True).read}


def test_a_quick_plan_keeps_every_claim() -> None:
    quick = plan_of(STUDY, quick=True)
    figures = {
        each.levels[one.design.names.index("figure")]
        for one in quick.fitted
        for each in one.design.treatments
    }
    assert figures == {*"1234567", "spacing"}
    assert quick.beyond == ()
    assert "2: runs with run.duration=20s, run.interval=20s" in quick.left_out
    assert len(quick.campaigns) < len(PLAN.campaigns)
    assert {*quick.unjudged} == {"F2", "F3", "F6", "F7", "F8", "F9", "F11", "F12"}
    read = [one for _, own in quick.read for one in own]
    assert {one.design.replications for one in read} == {MIN_REPLICATIONS}
    assert {each.levels[1] for one in read for each in one.design.treatments} == {"1", "4", "5"}


def test_values_become_settings() -> None:
    def last(marker: str, tokens: str = "", figure: str = "1", **values: Any) -> str:
        at = {"figure": figure, "marker": marker, **({"tokens": tokens} if tokens else {})}
        return str(STUDY_PY.parameters(at, values)[-1])

    assert last("none", unmarked="out").endswith("colors.BE=red")
    bucket_of = 'conditioner.marker.meter={ kind = "token-bucket", cir = "1310720bit/s", cbs = "%s" }'
    assert last("token-bucket", depth=0.5, tokens="40") == bucket_of % "20480B"
    assert last("token-bucket", figure="3", depth=0.5).endswith('cir = "7536640bit/s", cbs = "117760B" }')
    assert last("token-bucket", tokens="15", depth=0.01).endswith('cir = "491520bit/s", cbs = "1024B" }')
    for window, tokens, assured in ((16, "15", 16), (16, "45", 45), (8, "1500", 1500)):
        at = {"figure": "6", "marker": "none", "tokens": tokens}
        found = STUDY_PY.parameters(at, {"window": window})
        assert found[-3:-1] == [f"flow.bulk.tcp.window={window}KiB", f"flow.assured.tcp.window={assured}KiB"]
    own = STUDY_PY.parameters({"figure": "3", "marker": "tcp-friendly"}, {"tokens": 40, "carry": 1})
    assert own[-2:] == ["conditioner.marker.meter.tokens=400", "conditioner.marker.meter.carry_tokens=400"]


def test_every_run_is_a_valid_scenario() -> None:
    for campaign in PLAN.campaigns:
        for one in campaign.design.treatments:
            assert campaign.scenario.override(*one.overrides).check() == [], (campaign.name, one.name)
    for source, name, overrides, *_ in PLAN.drawn:
        assert Scenario(source, name, tuple(overrides)).check() == [], name


def test_a_reading_runs_the_tables_of_its_claims() -> None:
    def figures(id_: str) -> set[str]:
        own = next(own for reading, own in PLAN.read if reading.id == id_)
        return {
            each.levels[one.design.names.index("figure")] for one in own for each in one.design.treatments
        }

    assert figures("guard off") == {*"1234567"}
    assert figures("SACK") == {"6", "7"}
    assert figures("thresholds times ten") == {"2", "3", "7"}
    assert figures("guard off + delayed ACKs") == {"1", "2", "5"}
    guard = next(own for reading, own in PLAN.read if reading.id == "guard off")
    assert all("profile.host.guard=off" in one.scenario.overrides for one in guard)
    second = next(own for reading, own in PLAN.read if reading.id == "second fit")
    friendly = next(one for one in second[0].design.treatments if one.levels == ("tcp-friendly", "1"))
    assert "conditioner.marker.meter.tokens=30" in friendly.overrides


def test_nothing_is_run_more_often_than_it_needs() -> None:
    """Campaigns share their runs: what two of them ask for is made once."""
    runs = [key for one in PLAN.campaigns for key in one.design.runs(one.scenario)["key"]]
    # 12,526 and 8,684 with the traced runs of before, of which two are drawn now
    assert (len(runs), len(set(runs))) == (12524, 8682)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("{ depth = 3.0 }", "depth = 3.0 is not tried"),
        ("{ deep = 1.0 }", "deep = 1.0 is not tried"),
        ("{ depth = 2.0 }", "is what calibration.toml chose"),
        ("{ 3 = 2 }", "'change': 3 is 2, not a list of texts"),
    ],
)
def test_a_reading_that_changes_nothing_known_is_refused(change: str, told: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "feroz")
    file = tmp_path / "feroz" / "readings.toml"
    text = file.read_text()
    assert text.count("change = { depth = 0.01 }") == 1
    file.write_text(text.replace("change = { depth = 0.01 }", f"change = {change}"))
    with pytest.raises(StudyError) as error:
        load(tmp_path / "feroz")
    (one,) = error.value.diagnostics
    assert told in one["rule"]
    assert one["path"].endswith("change")
