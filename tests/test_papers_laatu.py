"""Metrics, files, plan, findings and calibration of laatu, and rows made of hand-made numbers."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop import Result, Scenario
from perhop.experiment.campaign import plan as planned
from perhop.experiment.definition import Campaign
from perhop.judge.measured import Floats, Measurements
from perhop.papers.behind import runs_behind
from perhop.papers.folder import load, own_folder
from perhop.papers.folder_page import page_of
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, plan_of
from perhop.papers.reduce import reduce
from perhop.stats.fairness import jain, least_jain
from perhop.stats.jackknife import jackknife_interval
from perhop.stats.summaries import variance_ratio, welch

FOLDER = own_folder("laatu")
OWN = load(FOLDER, "laatu")
STUDY = OWN
STUDY_PY: Any = OWN.code
PLAN = plan_of(STUDY, quick=False)
PUBLISHED = STUDY_PY.printed()
BARE = replace(PLAN, beyond=())
COMBINATIONS = Campaign.load(FOLDER / "combinations.toml")
MARKINGS, FLOWS = STUDY_PY.MARKINGS, STUDY_PY.FLOWS
MEASURES = {one.name: one for one in PLAN.fitted[0].responses}

Runs = Callable[[tuple[str, ...]], Floats]
"""Gives the throughput of the flows of a treatment, by its levels, kbit/s: a row for each replication."""


def run_of(flows: Floats, background: float = 1250.0, green_drops: float = 0.0) -> dict[str, float | Floats]:
    """Measure a run in which every flow has nine tenths as green packets, as the campaign does."""
    total, green = float(flows.sum()), 0.9
    fair = float(jain(flows))
    return {
        "throughput": flows,
        "goodput": 0.95 * flows,
        "committed": green * flows,
        "excess": (1 - green) * flows,
        "cir_utilization": green * total / 800,
        "excess_utilization": (1 - green) * total / 1000,
        "per_flow_goodput": 0.95 * total / len(flows),
        "per_flow_throughput": total / len(flows),
        "aggregate_throughput": total,
        **dict.fromkeys(("committed_fairness", "excess_fairness", "total_fairness"), fair),
        "largest_throughput": float(flows.max()),
        "sdev_in_run": float(np.std(flows, ddof=1)),
        "timeouts": 1.0,
        "background_throughput": background,
        "busy": (total + background) / 2000,
        "dropped_green": green_drops,
        "dropped_yellow": 1.0,
        "dropped_red": 1.0,
    }


def measured(campaign: Campaign, runs: Runs, **changes: float) -> pl.DataFrame:
    """Make the values of a campaign."""
    names = campaign.design.names
    rows: list[dict[str, Any]] = []
    for run in planned(campaign):
        treatment = campaign.design.treatments[run.treatment]
        levels = dict(zip(names, treatment.levels, strict=True))
        first = {"key": run.key, "treatment": treatment.name, **levels, "replication": run.replication}
        values = run_of(runs(treatment.levels)[run.replication], **changes)
        for response in campaign.responses:
            value = values[response.name]
            each = enumerate(value) if isinstance(value, np.ndarray) else [(None, value)]
            rows += [
                {
                    **first,
                    "response": response.name,
                    "value": float(one),
                    "name": None if i is None else f"measured[{i}]",
                }
                for i, one in each
            ]
    return pl.DataFrame(rows, infer_schema_length=None)


@cache
def like_paper() -> tuple[Floats, Floats]:
    """Give runs as the paper has them, of per-flow and of aggregate marking."""
    rng = np.random.default_rng(3)
    return 190 + rng.normal(0, 4, (50, 4)), 154 + rng.normal(0, 30, (50, 4)).clip(-70, 70)


def done(plan: Plan = BARE, turned: bool = False, but: str = "") -> Outcome:
    """Reduce runs as the paper has them, or with the two ways exchanged; turned under one reading."""

    def runs(turn: bool) -> Runs:
        fair, unfair = like_paper()[::-1] if turn else like_paper()
        return lambda levels: fair if "per-flow" in levels else unfair

    usual, other = runs(turned), runs(not turned)
    frames = [measured(campaign, usual) for campaign in plan.fitted]
    for reading, campaigns in plan.read:
        frames += [measured(campaign, other if reading.id == but else usual) for campaign in campaigns]
    frames += [measured(sweep.campaign, usual) for sweep in plan.beyond]
    return reduce(plan, plan.results(frames, []), "perhop reproduce laatu", 1)


@pytest.fixture(scope="module")
def whole() -> Outcome:
    return done()


# metrics


def test_the_fairness_index() -> None:
    assert jain([200.0] * 4) == 1.0
    assert jain([800.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert jain([100.0, 300.0], [1.0, 3.0]) == 1.0
    assert jain([100.0, 300.0], [2.0, 2.0]) == jain([100.0, 300.0])
    assert jain([0.0, 0.0]) == 1.0
    assert jain([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]).tolist() == pytest.approx([36 / 42, 1.0])


@pytest.mark.parametrize("rates", [[], [-1.0, 1.0], [np.nan], [[1.0, -2.0]]])
def test_the_fairness_index_refuses_what_is_no_allocation(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="jain"):
        jain(rates)


def test_fairness_is_a_function_of_the_coefficient_of_variation() -> None:
    rates = np.array([152.0, 171.0, 160.0, 98.0])
    cov = np.std(rates) / np.mean(rates)
    assert jain(rates) == pytest.approx(1 / (1 + cov**2))


def test_statistics_of_a_test_are_over_runs_or_over_all_flows() -> None:
    rates = np.random.default_rng(2).uniform(100, 250, (50, 4))
    tests = rates.reshape(10, 5, 4)
    frames = [measured(one, lambda _: rates) for one in BARE.campaigns]
    found = reduce(BARE, BARE.results(frames, []), "", 1).measured["campaign.toml"]
    wanted = {
        "aggregate_throughput_sdev": [np.std(one.sum(axis=1), ddof=1) for one in tests],
        "aggregate_throughput_min": [one.sum(axis=1).min() for one in tests],
        "per_flow_throughput_sdev": [np.std(one, ddof=1) for one in tests],
        "per_flow_throughput_max": [one.max() for one in tests],
        "per_flow_goodput_max": [0.95 * one.max() for one in tests],
        "total_fairness_sdev": [np.std([jain(run) for run in one], ddof=1) for one in tests],
    }
    for name, values in wanted.items():
        assert found.values(name, case="per-flow") == pytest.approx(values), name
        assert len(found.values(name, case="aggregate-deep")) == 4


def test_the_spread_of_table_2_forbids_the_fairness_of_table_3() -> None:
    printed, together = (PUBLISHED[marking] for marking in MARKINGS)
    least = least_jain(printed["aggregate_throughput_min"] / 4, printed["per_flow_throughput_sdev"], 4, 5)
    assert least == pytest.approx(0.9978, abs=5e-5)
    assert printed["total_fairness"] + printed["total_fairness_sdev"] < least
    assert printed["committed_fairness"] > least
    least = least_jain(together["aggregate_throughput_min"] / 4, together["per_flow_throughput_sdev"], 4, 5)
    assert least < together["total_fairness"]


def test_no_runs_are_less_fair_than_their_spread_permits() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        rates = rng.uniform(50, 250, (5, 4))
        least = least_jain(rates.mean(axis=1).min(), float(np.std(rates, ddof=1)), 4, 5)
        assert np.mean(jain(rates)) >= least - 1e-12


def test_the_printed_values_imply_an_excess_rate_near_a_megabit() -> None:
    lows, highs = zip(*(STUDY_PY.excess_denominator(PUBLISHED[marking]) for marking in MARKINGS), strict=True)
    assert 600 < max(lows) < 1000 < min(highs) < 1200


def result(**changes: Any) -> Result:
    found: dict[str, Any] = {
        "flows": {
            "name": ["measured[0]", "measured[1]", "background[0]"],
            "class": ["measured", "measured", "background"],
            "throughput_bit_s": np.array([180e3, 160e3, 900e3]),
            "goodput_bit_s": np.array([170e3, 150e3, 850e3]),
            "timeouts": np.array([3, 1, 0], dtype=np.uint64),
        },
        "marks": {
            "flow": ["measured[0]", "measured[0]", "measured[0]", "measured[1]", "background[0]", "load"],
            "mark": ["AF11", "AF12", "AF13", "AF11", "AF11", "BE"],
            "arrived_packets": np.array([1, 1, 1, 1, 1, 1], dtype=np.uint64),
            "arrived_bytes": np.array([2_000_000, 400_000, 75_000, 2_200_000, 9_000_000, 1], dtype=np.uint64),
        },
        "queues": {
            "path": ["port.e1-c1.class.all", "port.c1-c2.class.af"],
            "dropped_green": np.array([9, 1], dtype=np.uint64),
            "dropped_yellow": np.array([9, 20], dtype=np.uint64),
            "dropped_red": np.array([9, 3], dtype=np.uint64),
        },
        "udp": {
            "name": ["load"],
            "class": ["best-effort"],
            "throughput_bit_s": np.array([8e6]),
        },
    }
    return made(**found | changes)


def test_reading_a_run() -> None:
    about = Scenario(PLAN.fitted[0].scenario.source, "aggregate.toml").describe()

    def read(one: Result) -> dict[str, Any]:
        return {name: response.evaluate(one, about) for name, response in MEASURES.items()}

    found = read(result())
    green, rest = [8 * 2e6 / 110e3, 8 * 2.2e6 / 110e3], [8 * 475e3 / 110e3, 0.0]
    both = [("measured[0]",), ("measured[1]",)]
    for name, rates in (
        *(("committed", green), ("excess", rest)),
        *(("throughput", [180.0, 160.0]), ("goodput", [170.0, 150.0])),
    ):
        assert [found[name][one] for one in both] == pytest.approx(rates)
        assert set(found[name]) == {*both}
    for name, value in {
        "cir_utilization": sum(green) / 800,
        "excess_utilization": sum(rest) / 1000,
        "per_flow_goodput": 160.0,
        "per_flow_throughput": 170.0,
        "aggregate_throughput": 340.0,
        "committed_fairness": float(jain(green)),
        "excess_fairness": 0.5,
        "total_fairness": float(jain([180, 160])),
        "largest_throughput": 180.0,
        "sdev_in_run": float(np.std([180, 160], ddof=1)),
        "timeouts": 2.0,
        "background_throughput": 900.0,
        "busy": 1240 / 2000,
        "dropped_green": 1.0,
        "dropped_yellow": 20.0,
        "dropped_red": 3.0,
    }.items():
        assert found[name][()] == pytest.approx(value), name
    constant = {"name": ["load"], "class": ["background"], "throughput_bit_s": [200e3]}
    assert read(result(udp=constant))["background_throughput"][()] == pytest.approx(1100.0)


# the jackknife


def test_the_jackknife_of_a_mean_is_its_interval() -> None:
    from perhop.stats.intervals import mean_interval

    values = [3.0, 4.0, 8.0, 1.0]
    found = jackknife_interval(values, lambda x: float(np.mean(x)))
    whole = mean_interval(values)
    assert (found.mean, found.low, found.high) == pytest.approx((whole.mean, whole.low, whole.high))


def test_the_jackknife_covers_a_ratio_of_standard_deviations() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        pairs = list(zip(rng.normal(0, 1, 50), rng.normal(0, 2, 50), strict=True))
        found = jackknife_interval(
            pairs, lambda x: float(np.std([a for a, _ in x], ddof=1) / np.std([b for _, b in x], ddof=1))
        )
        covered += found.low <= 0.5 <= found.high
    assert covered >= 180


def test_the_jackknife_needs_three() -> None:
    with pytest.raises(ValueError, match="three"):
        jackknife_interval([1.0, 2.0], lambda x: sum(x))


# the pack


def test_the_scenario_holds_the_printed_parameters() -> None:
    scenario = tomllib.loads((FOLDER / "aggregate.toml").read_text())
    assert (scenario["run"]["duration"], scenario["run"]["warmup"]) == ("120s", "10s")
    delays = {tuple(link["ends"]): link.get("delay") for link in scenario["link"]}
    assert sum(delay is not None for delay in delays.values()) == 2
    assert {link["rate"] for link in scenario["link"]} == {"10Mbit/s"}
    af, best_effort = scenario["port"][0]["class"]
    assert (af["share"], af["bounded"], best_effort["share"]) == (0.2, True, 0.8)
    for row in csv.DictReader((FOLDER / "published" / "gred.csv").read_text().splitlines()):
        assert af["queue"][row["colour"]] == {
            "min_th": f"{row['min_th_kb']}kB",
            "max_th": f"{row['max_th_kb']}kB",
            "max_p": float(row["max_p"]),
            "w_q": float(row["w_q"]),
        }
    (profile,) = scenario["profile"]
    assert (profile["recovery"], profile["mss"]) == ("reno", "1448B")
    flows = {flow["name"]: flow for flow in scenario["flow"]}
    assert flows["measured"]["start"] == "10s"
    assert flows["measured"]["ack"] == flows["background"]["ack"] == {"policy": "delayed"}


def meter(campaign: Campaign, **levels: str) -> dict[str, Any]:
    """Give the customer's meter under a treatment, and what it is for."""
    wanted = tuple(levels[name] for name in campaign.design.names)
    (treatment,) = (one for one in campaign.design.treatments if one.levels == wanted)
    resolved = tomllib.loads(campaign.scenario.override(*treatment.overrides).resolve())
    customer = next(one for one in resolved["conditioner"] if one["name"] == "customer")
    return {"per": customer["per"], **customer["meter"]}


def test_the_two_ways_of_marking_differ_in_the_meter_alone() -> None:
    depth = {"kind": "tr-tcm", "cbs": "15p", "pbs": "18p"}
    each, together = (meter(PLAN.fitted[0], case=marking) for marking in MARKINGS)
    assert depth.items() <= each.items()
    assert depth.items() <= together.items()
    for name, one, all_ in (("cir", 200_000, 800_000), ("pir", 350_000, 1_400_000)):
        assert (bit_s(each[name]), bit_s(together[name])) == (one, all_)
    assert (each["per"], together["per"]) == ("flow", "aggregate")
    overrides = PLAN.fitted[0].design.treatments[0].overrides
    assert {one.partition("=")[0].rpartition(".")[0] for one in overrides} == {
        "conditioner.customer",
        "conditioner.customer.meter",
    }


def bit_s(rate: str) -> float:
    for unit, factor in (("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)):
        if rate.endswith(unit):
            return float(rate.removesuffix(unit)) * factor
    raise ValueError(rate)


def test_more_flows_share_the_customers_rates() -> None:
    (flows,) = (one.campaign for one in PLAN.beyond if one.name == "beyond/flows.toml")
    for n in (2, 4, 8, 16):
        each, together = (meter(flows, flows=str(n), marking=marking) for marking in MARKINGS)
        assert (bit_s(each["cir"]), bit_s(each["pir"])) == (800e3 / n, 1400e3 / n)
        assert (bit_s(together["cir"]), bit_s(together["pir"])) == (800e3, 1400e3)


def test_deeper_buckets_change_the_meter() -> None:
    deep = meter(PLAN.fitted[1], case="aggregate-deep")
    assert (deep["cbs"], deep["pbs"]) == ("90kB", "108kB")


def test_a_constant_background_replaces_the_tcp_flows_alone() -> None:
    sweep = next(one.campaign for one in PLAN.beyond if one.name == "beyond/rtt-constant.toml")
    base, *generated = (
        tomllib.loads(one.scenario.resolve()) for one in (PLAN.fitted[0], PLAN.fitted[2], sweep)
    )
    base["flow"] = [flow for flow in base["flow"] if flow["name"] != "background"]
    for one in generated:
        background = next(each for each in one["udp"] if each["name"] == "background")
        assert background["rate"] == "200kbit/s"
        assert (background["from"], background["to"], background["class"]) == ("b[*]", "a[*]", "background")
        one["udp"] = [each for each in one["udp"] if each["name"] != "background"]
        assert one == base


def test_every_printed_number_has_a_row(whole: Outcome) -> None:
    rows = {(row["id"], row["quantity"]): row["published"] for row in whole.document["rows"]}
    for marking in MARKINGS:
        assert len(PUBLISHED[marking]) == 26
        assert {name: rows[marking, name] for name in PUBLISHED[marking]} == PUBLISHED[marking]
    assert sum(value is not None for value in rows.values()) == 52


# the plan


def test_every_treatment_is_a_case_that_the_page_tells_of() -> None:
    (about,) = OWN.about
    found = [level for one in PLAN.fitted for (level,) in (each.levels for each in one.design.treatments)]
    assert sorted(found) == sorted(about.subject.levels["case"])
    told = {case for row in OWN.file.row for case in row.each["case"]}
    assert told == {*found}
    files = {f"beyond/{path.name}" for path in (FOLDER / "beyond").glob("*.toml")}
    own = {"cases", "constant", "senders", "claims"}
    assert files == {*(f"beyond/{one}.toml" for one in own), *(one.name for one in PLAN.beyond)}


def test_what_is_compared_has_the_same_random_numbers_often_enough() -> None:
    assert [one.design.replications for one in PLAN.fitted] == [50, 20, 20]
    assert {one.design.replications for _, (one,) in PLAN.read} == {20}
    assert {one.campaign.design.replications for one in PLAN.beyond} == {10}
    assert {one.design.seeds for one in PLAN.campaigns} == {"common"}
    assert {one.scenario.seed for one in PLAN.campaigns} == {1}
    assert PLAN.left_out == ()


def test_a_quick_plan_says_what_it_left_out() -> None:
    quick = plan_of(STUDY, quick=True)
    assert (quick.read, quick.beyond) == ((), ())
    assert {one.design.replications for one in quick.campaigns} == {10}
    assert all(one.scenario.describe().run.duration_s == 60 for one in quick.campaigns)
    assert quick.left_out[0] == "runs with run.duration=60s"
    assert quick.left_out[-1] == "the figures beyond the paper"


def test_sweeps_go_through_the_fitted_point() -> None:
    fitted = {keys(PLAN.fitted[0])["per-flow",], keys(PLAN.fitted[2])["per-flow-constant",]}
    for sweep in PLAN.beyond:
        assert len(fitted & set(keys(sweep.campaign).values())) == 1, sweep.name


def keys(campaign: Campaign) -> dict[tuple[str, ...], str]:
    """Give what each treatment is, by its levels."""
    return {
        one.levels: campaign.scenario.override(*one.overrides).key().treatment
        for one in campaign.design.treatments
    }


# reduction


def test_the_document_has_the_agreed_keys_and_is_plain_json(whole: Outcome) -> None:
    document = whole.document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    wanted = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == wanted for row in document["rows"])
    rows = [(row["table"], row["id"], row["quantity"]) for row in document["rows"]]
    assert len(set(rows)) == len(rows)
    json.dumps(document, allow_nan=False)


def same(plan: Plan, rate: float, **changes: float) -> Outcome:
    """Reduce runs in which every flow gets the same."""
    rates = np.full((50, FLOWS), rate)
    frames = [measured(one, lambda _: rates, **changes) for one in plan.campaigns]
    return reduce(plan, plan.results(frames, []), "", 1)


def test_statistics_of_tests_count_tests(whole: Outcome) -> None:
    rows = {(row["id"], row["quantity"]): row["simulated"]["n"] for row in whole.document["rows"]}
    assert rows["per-flow", "aggregate_throughput"] == 50
    assert rows["per-flow", "aggregate_throughput_sdev"] == 10


def test_a_class_that_is_not_full_is_said() -> None:
    quick = plan_of(STUDY, quick=True)
    warnings = same(quick, 100.0, background=800.0).warnings
    assert any("bottleneck" in text and "busy at per-flow is 0.6" in text for text in warnings)
    assert any("green packet" in text for text in same(quick, 100.0, green_drops=20.0).warnings)
    assert same(quick, 190.0).warnings == []


def test_the_findings_name_the_exchanged_columns_and_the_depth(whole: Outcome) -> None:
    found = dict(whole.findings)
    assert "columns of Table 3 exchanged" in found["The paper's tables against each other"]
    assert "throughput 0 ± 0 kbit/s" in found["State or depth"]
    assert "green" in found["Drop precedence upside down"]


def test_the_record_bounds_what_per_flow_marking_can_gain(whole: Outcome) -> None:
    text = dict(whole.findings)["What 96 combinations of 4 parameters show"]
    gains = [
        one["simulated"]["per-flow"]["cir_utilization"] - one["simulated"]["aggregate"]["cir_utilization"]
        for one in RECORD["points"]
    ]
    assert max(gains) < 0.05
    assert f"at most {max(gains):.3f} more" in text
    assert "2 degrees of freedom met 3 free parameters" in text


def test_the_findings_name_the_ceiling_and_the_common_mode(whole: Outcome) -> None:
    found = dict(whole.findings)
    assert "0.96 standard deviations above the mean" in found["A ceiling of 187 kbit/s in the aggregate test"]
    common = found["A common mode of 33.9 kbit/s between runs"]
    assert "would give 17.2" in common
    excess = found["Which differences in fairness the paper's own runs show"]
    assert "excess 0.979 against 0.962 (Welch's t = 1.5, p = 0.19)" in excess
    assert "total 0.992 against 0.957 (Welch's t = 3.0, p = 0.04)" in excess
    guard = found["Time-outs with the guard of Reno and without"]
    assert "with the guard: 4" in guard
    assert "kbit/s" in guard
    fitted = done(replace(BARE, read=()))
    assert "Time-outs with the guard of Reno and without" not in dict(fitted.findings)


def test_without_spread_there_is_no_ceiling_and_no_common_mode() -> None:
    titles = [title for title, _ in same(plan_of(STUDY, quick=True), 190.0).findings]
    assert not any(title.startswith("A ") for title in titles)
    assert len(titles) == 8


def test_variances_are_compared() -> None:
    ratio, probability = variance_ratio(33.9, 5, 9.8, 20)
    assert ratio == pytest.approx(11.97, abs=0.01)
    assert probability == pytest.approx(5e-5, rel=0.2)
    t, same = welch((1.0, 1.0), (0.1, 0.2), 5)
    assert (t, same) == (0.0, pytest.approx(1.0))


def test_the_page_has_the_figures_and_the_sweeps() -> None:
    sweeps = tuple(one for one in PLAN.beyond if one.name in ("beyond/averaging.toml", "beyond/depth.toml"))
    plan = replace(PLAN, read=(), beyond=sweeps)
    found = done(plan)
    page = page_of(STUDY, replace(found, document=found.document | runs_behind(plan)))
    for id_ in ("figures-per-flow", "figures-aggregate", "figure-1-1", "figure-6-2", "figure-10-1"):
        assert f'id="{id_}"' in page, id_
    assert 'id="figure-2-1"' not in page
    assert "per-flow is above aggregate at every point (95 % intervals of the difference" in page
    assert "papers/laatu/aggregate.toml -s conditioner.customer.per=flow" in page


# calibration

RECORD = json.loads((FOLDER / "calibration.json").read_text())


def test_the_error_is_relative() -> None:
    assert STUDY_PY.relative_error({"a": 1.1, "b": 9.0}, {"a": 1.0, "b": 10.0}, ["a", "b"]) == pytest.approx(
        0.1
    )


def test_the_calibration_covers_the_fitted_point_and_fits_one_marking() -> None:
    fitted, tried = keys(PLAN.fitted[0]), keys(COMBINATIONS)
    chosen = ("coupled", "tcp", "20", "300")
    for marking in MARKINGS:
        assert tried[*chosen, marking] == fitted[marking,]
    # a customer that gets what is printed
    rows = [
        {
            **dict(zip(COMBINATIONS.design.names, levels, strict=True)),
            "response": one.name,
            "replication": 0,
            "value": (1.0 if levels[:-1] == chosen else 1.1) * PUBLISHED[levels[-1]][one.name],
        }
        for levels in tried
        for one in COMBINATIONS.responses
    ]
    found = STUDY_PY.record_of(COMBINATIONS, Measurements(pl.DataFrame(rows)))
    assert found["fits"]["as fitted"] == found["fits"]["nearest"]
    assert found["fits"]["as fitted"]["error"] == 0.0
    assert found["fits"]["as fitted"]["chosen"] == {
        "averaging": "coupled",
        "background": "tcp",
        "background_rtt_ms": 20,
        "rtt_ms": 300,
    }
    assert found["points"][0]["error"] == pytest.approx(0.1)
    assert len(found["points"]) == 96
    assert list(found) == list(RECORD)
    assert list(found["points"][0]) == list(RECORD["points"][0])
    called = list[str]()
    STUDY_PY.calibrate(lambda campaigns, text: called.append(text) or [Measurements(pl.DataFrame(rows))])
    assert called == ["calibration"]


def test_the_record_chose_the_scenarios_values() -> None:
    table = tomllib.loads((FOLDER / "calibration.toml").read_text())
    assert {name: RECORD[name] for name in ("marking", "independent", "free")} == {
        **{name: table["fit"][name] for name in ("marking", "independent")},
        "free": 3,
    }
    assert RECORD["fitted"] == table["fit"]["quantities"]
    assert (RECORD["stated"], RECORD["predicted"]) == (table["stated"], table["predict"]["quantities"])
    # claims about what was fitted are in sample; what a flow gets is a share of the sum
    (about,) = OWN.about
    (fitted,) = about.claims.file.fitted
    assert fitted.at == {"case": RECORD["marking"]}
    assert {*fitted.response} == {*RECORD["fitted"], "per_flow_throughput"}
    names = COMBINATIONS.design.names[:-1]
    points = [tuple(map(str, one["levels"])) for one in RECORD["points"]]
    assert points == list(dict.fromkeys(one.levels[:-1] for one in COMBINATIONS.design.treatments))
    admitted = [one for one in RECORD["points"] if "tcp" in one["levels"]]
    fits = RECORD["fits"]
    assert fits["as fitted"]["error"] == min(one["error"] for one in admitted)
    assert fits["nearest"]["error"] == min(one["error"] for one in RECORD["points"])
    chosen = tuple(str(fits["as fitted"]["chosen"][name]) for name in names)
    assert keys(COMBINATIONS)[*chosen, "per-flow"] == keys(PLAN.fitted[0])["per-flow",]
