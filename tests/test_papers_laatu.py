"""Metrics, the pack, the plan and the calibration of laatu, and rows made of hand-made numbers."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop import Result
from perhop.experiment.definition import Campaign
from perhop.judge.measured import Floats, Measurements
from perhop.papers.error import PackError
from perhop.papers.fit import BASE, read_record
from perhop.papers.laatu.calibrate import NEAREST, record, relative_error
from perhop.papers.laatu.document import Reproduction
from perhop.papers.laatu.findings import excess_denominator
from perhop.papers.laatu.page import verdict
from perhop.papers.laatu.responses import (
    FLOWS,
    MARKINGS,
    METRICS,
    Case,
    by_test,
    cases_of,
    published_values,
    sdev,
)
from perhop.papers.laatu.study import DURATION_S, FIGURE, QUICK_S, READ, STUDY
from perhop.papers.pack import load_pack
from perhop.papers.plan import Plan
from perhop.stats.fairness import jain, least_jain
from perhop.stats.jackknife import jackknife_interval
from perhop.stats.summaries import variance_ratio, welch

PACK = load_pack("laatu", FIGURE)
PLAN = STUDY.plan(quick=False)
PUBLISHED = published_values(PACK)
BARE = replace(PLAN, beyond=())
COMBINATIONS = Campaign.load(PACK.folder / "combinations.toml")

Runs = Callable[[tuple[str, ...]], Floats]
"""Gives the throughput of the flows of a treatment, by its levels, kbit/s: a row for each replication."""


def a_case(throughput: Floats, green: float = 0.9, background: float = 1250.0) -> Case:
    """Make a case in which every flow has that part of its throughput as green packets."""
    rates = {"throughput": 1.0, "goodput": 0.95, "committed": green, "excess": 1.0 - green}
    counts = {"timeouts": 0.0, "dropped_green": 0.0, "dropped_yellow": 12.0, "dropped_red": 3.0}
    n = len(throughput)
    return Case(
        {name: part * throughput for name, part in rates.items()},
        {name: np.full(n, value) for name, value in (counts | {"background": 1e3 * background}).items()},
    )


def measured(
    campaign: Campaign, runs: Runs, green_drops: float = 0.0, background: float = 1250.0
) -> pl.DataFrame:
    """Make the values of a campaign, in which every flow has nine tenths as green packets."""
    run, names = campaign.scenario.describe().run, campaign.design.names
    byte = 125.0 * (run.duration_s - run.warmup_s)
    parts = {"throughput": 1e3, "goodput": 0.95e3, "committed": 0.9 * byte, "excess": 0.1 * byte}
    whole = {"background": 1e3 * background, "dropped_green": green_drops}
    rows: list[dict[str, Any]] = []
    for treatment in campaign.design.treatments:
        levels = dict(zip(names, treatment.levels, strict=True))
        for response in campaign.responses:
            for k, flows in enumerate(runs(treatment.levels)[: campaign.design.replications]):
                own = {**levels, "replication": k, "response": response.name, "name": None, "flow": None}
                if response.by:
                    rows += [
                        {**own, response.by[0]: f"measured[{i}]", "value": parts[response.name] * rate}
                        for i, rate in enumerate(flows)
                    ]
                else:
                    rows.append({**own, "value": whole.get(response.name, 1.0)})
    return pl.DataFrame(rows, infer_schema_length=None)


@cache
def like_paper() -> tuple[Floats, Floats]:
    """Give runs as the paper has them, of per-flow and of aggregate marking."""
    rng = np.random.default_rng(3)
    return 190 + rng.normal(0, 4, (50, 4)), 154 + rng.normal(0, 30, (50, 4)).clip(-70, 70)


def done(plan: Plan = BARE, turned: bool = False, but: str = "") -> Reproduction:
    """Reduce runs as the paper has them, or with the two ways exchanged; turned under one reading."""

    def runs(turn: bool) -> Runs:
        fair, unfair = like_paper()[::-1] if turn else like_paper()
        return lambda levels: fair if "per-flow" in levels else unfair

    usual, other = runs(turned), runs(not turned)
    frames = [measured(campaign, usual) for campaign in plan.fitted]
    for reading, campaigns in plan.read:
        frames += [measured(campaign, other if reading.id == but else usual) for campaign in campaigns]
    frames += [measured(sweep.campaign, usual) for sweep in plan.beyond]
    return STUDY.reduce(plan, plan.results(frames, []), "perhop reproduce laatu", 1)


@pytest.fixture(scope="module")
def whole() -> Reproduction:
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


def test_utilizations_are_of_the_customer() -> None:
    case = a_case(np.array([[200.0, 180.0, 160.0, 220.0]]))
    assert case["cir_utilization"] == pytest.approx([0.9 * 760 / 800])
    assert case["excess_utilization"] == pytest.approx([0.1 * 760 / 1000])


def test_statistics_of_a_test_are_over_runs_or_over_all_flows() -> None:
    rates = np.random.default_rng(2).uniform(100, 250, (11, 4))
    case, tests = a_case(rates), [rates[:5], rates[5:10]]
    wanted = {
        "aggregate_throughput_sdev": [np.std(one.sum(axis=1), ddof=1) for one in tests],
        "aggregate_throughput_min": [one.sum(axis=1).min() for one in tests],
        "per_flow_throughput_sdev": [np.std(one, ddof=1) for one in tests],
        "per_flow_throughput_max": [one.max() for one in tests],
        "per_flow_goodput_max": [0.95 * one.max() for one in tests],
        "total_fairness_sdev": [np.std([jain(run) for run in one], ddof=1) for one in tests],
    }
    for name, values in wanted.items():
        found = case.interval(name)
        assert found is not None
        assert (found.mean, found.n) == (pytest.approx(np.mean(values)), 2), name
    assert a_case(rates[:4]).interval("total_fairness_sdev") is None
    assert case["per_flow_throughput"].tolist() == pytest.approx(rates.mean(axis=1))
    assert case["sdev_in_run"].tolist() == pytest.approx(np.std(rates, axis=1, ddof=1))
    assert sdev(np.array([[3.0]])).tolist() == [0.0]
    assert by_test(rates).shape == (2, 20)


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
    lows, highs = zip(*(excess_denominator(PUBLISHED[marking]) for marking in MARKINGS), strict=True)
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


def read(one: Result) -> Case:
    """Measure a run as the campaign does."""
    rows = [
        {"case": "x", "replication": 0, "response": response.name, "value": value, "name": None, "flow": None}
        | dict(zip(response.by, group, strict=True))
        for response in PLAN.fitted[0].responses
        for group, value in response.evaluate(one).items()
    ]
    measured = Measurements(pl.DataFrame(rows, infer_schema_length=None))
    return cases_of(PLAN.fitted[0], measured)["x",]


def test_reading_a_run() -> None:
    case = read(result())
    assert case.rates["committed"].tolist() == [pytest.approx([8 * 2e6 / 110e3, 8 * 2.2e6 / 110e3])]
    assert case.rates["excess"].tolist() == [pytest.approx([8 * 475e3 / 110e3, 0.0])]
    assert case.rates["throughput"].tolist() == [pytest.approx([180.0, 160.0])]
    assert case.rates["goodput"].tolist() == [pytest.approx([170.0, 150.0])]
    assert case["timeouts"].tolist() == [2.0]
    assert case["background_throughput"].tolist() == [900.0]
    assert [case[f"dropped_{color}"][0] for color in ("green", "yellow", "red")] == [1.0, 20.0, 3.0]
    constant = {"name": ["load"], "class": ["background"], "throughput_bit_s": [200e3]}
    assert read(result(udp=constant))["background_throughput"].tolist() == [1100.0]


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
    scenario = tomllib.loads(PACK.scenario("aggregate.toml").decode())
    assert (scenario["run"]["duration"], scenario["run"]["warmup"]) == (f"{DURATION_S}s", "10s")
    delays = {tuple(link["ends"]): link.get("delay") for link in scenario["link"]}
    assert sum(delay is not None for delay in delays.values()) == 2
    assert {link["rate"] for link in scenario["link"]} == {"10Mbit/s"}
    af, best_effort = scenario["port"][0]["class"]
    assert (af["share"], af["bounded"], best_effort["share"]) == (0.2, True, 0.8)
    for row in PACK.table("gred"):
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
    (flows,) = (one.campaign for one in PLAN.beyond if one.id == "flows")
    for n in (2, 4, 8, 16):
        each, together = (meter(flows, flows=f"{n} flows", marking=marking) for marking in MARKINGS)
        assert (bit_s(each["cir"]), bit_s(each["pir"])) == (800e3 / n, 1400e3 / n)
        assert (bit_s(together["cir"]), bit_s(together["pir"])) == (800e3, 1400e3)


def test_deeper_buckets_change_the_meter() -> None:
    deep = meter(PLAN.fitted[1], case="aggregate-deep")
    assert (deep["cbs"], deep["pbs"]) == ("90kB", "108kB")


def test_a_constant_background_replaces_the_tcp_flows_alone() -> None:
    sweep = next(one.campaign for one in PLAN.beyond if one.id == "rtt-constant")
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


def test_every_printed_number_has_a_row(whole: Reproduction) -> None:
    assert {row["metric"] for row in PACK.table("throughput")} == {name for name, _ in METRICS.values()}
    rows = {(row["id"], row["quantity"]): row["published"] for row in whole.document["rows"]}
    for marking in MARKINGS:
        assert len(PUBLISHED[marking]) == 26
        assert {name: rows[marking, name] for name in PUBLISHED[marking]} == PUBLISHED[marking]


def test_a_published_case_that_is_not_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACK.folder, tmp_path / "laatu")
    figures = tmp_path / "laatu" / "figures.toml"
    named = 'case = "aggregate"\ntable = "published"'
    figures.write_text(figures.read_text().replace(named, named.replace("published", "extra")))
    monkeypatch.setattr("perhop.papers.pack.ROOTS", (tmp_path,))
    with pytest.raises(PackError, match="not run: aggregate"):
        STUDY.plan(quick=False)


# the plan


def test_every_case_is_a_treatment_and_every_treatment_a_case() -> None:
    cases = [one["case"] for one in PACK.figures if "case" in one]
    found = [level for one in PLAN.fitted for (level,) in (each.levels for each in one.design.treatments)]
    assert sorted(found) == sorted(cases)
    assert [one["sweep"] for one in PACK.figures if "sweep" in one] == [one.id for one in PLAN.beyond]
    files = {path.stem for path in (PACK.folder / "beyond").glob("*.toml")}
    assert files == {"cases", "constant", "senders", "claims", *(one.id for one in PLAN.beyond)}


def test_what_is_compared_has_the_same_random_numbers_often_enough() -> None:
    assert [one.design.replications for one in PLAN.fitted] == [50, 20, 20]
    assert {one.design.replications for _, (one,) in PLAN.read} == {READ}
    assert {one.campaign.design.replications for one in PLAN.beyond} == {10}
    assert {one.design.seeds for one in PLAN.campaigns} == {"common"}
    assert {one.scenario.seed for one in PLAN.campaigns} == {1}
    assert PLAN.left_out == ()


def test_a_quick_plan_says_what_it_left_out() -> None:
    quick = STUDY.plan(quick=True)
    assert (quick.read, quick.beyond) == ((), ())
    assert {one.design.replications for one in quick.campaigns} == {10}
    assert all(one.scenario.describe().run.duration_s == QUICK_S for one in quick.campaigns)
    assert any(f"{QUICK_S} s" in text for text in quick.left_out)


def test_sweeps_go_through_the_fitted_point() -> None:
    fitted = {keys(PLAN.fitted[0])["per-flow",], keys(PLAN.fitted[2])["per-flow-constant",]}
    for sweep in PLAN.beyond:
        assert len(fitted & set(keys(sweep.campaign).values())) == 1, sweep.id


def keys(campaign: Campaign) -> dict[tuple[str, ...], str]:
    """Give what each treatment is, by its levels."""
    return {
        one.levels: campaign.scenario.override(*one.overrides).key().treatment
        for one in campaign.design.treatments
    }


# reduction


def test_the_document_has_the_agreed_keys_and_is_plain_json(whole: Reproduction) -> None:
    document = whole.document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    wanted = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == wanted for row in document["rows"])
    rows = [(row["table"], row["id"], row["quantity"]) for row in document["rows"]]
    assert len(set(rows)) == len(rows)
    json.dumps(document, allow_nan=False)


def same(plan: Plan, rate: float, **changes: float) -> Reproduction:
    """Reduce runs in which every flow gets the same."""
    rates = np.full((50, FLOWS), rate)
    frames = [measured(one, lambda _: rates, **changes) for one in plan.campaigns]
    return STUDY.reduce(plan, plan.results(frames, []), "", 1)


def test_statistics_of_tests_count_tests(whole: Reproduction) -> None:
    rows = {(row["id"], row["quantity"]): row["simulated"]["n"] for row in whole.document["rows"]}
    assert rows["per-flow", "aggregate_throughput"] == 50
    assert rows["per-flow", "aggregate_throughput_sdev"] == 10


def test_a_class_that_is_not_full_is_said() -> None:
    quick = STUDY.plan(quick=True)
    warnings = same(quick, 100.0, background=800.0).warnings
    assert any(text.startswith("per-flow: ") and "not the bottleneck" in text for text in warnings)
    assert any("green packets" in text for text in same(quick, 100.0, green_drops=20.0).warnings)


def test_the_findings_name_the_exchanged_columns_and_the_depth(whole: Reproduction) -> None:
    found = dict(whole.findings)
    assert "columns of Table 3 exchanged" in found["The paper's tables against each other"]
    assert "throughput" in found["State or depth"]
    assert "green" in found["Drop precedence upside down"]


def test_the_record_bounds_what_per_flow_marking_can_gain(whole: Reproduction) -> None:
    text = dict(whole.findings)["What 96 combinations of 4 parameters show"]
    recorded = read_record(PACK)
    gains = [
        one["simulated"]["per-flow"]["cir_utilization"] - one["simulated"]["aggregate"]["cir_utilization"]
        for one in recorded["points"]
    ]
    assert max(gains) < 0.05
    assert f"at most {max(gains):.3f} more" in text
    assert "2 degrees of freedom met 3 free parameters" in text


def test_the_findings_name_the_ceiling_and_the_common_mode(whole: Reproduction) -> None:
    found = dict(whole.findings)
    assert "0.96 standard deviations above the mean" in found["A ceiling of 187 kbit/s in the aggregate test"]
    common = found["A common mode of 33.9 kbit/s between runs"]
    assert "would give 17.2" in common
    excess = found["Which differences in fairness the paper's own runs show"]
    assert "excess 0.979 against 0.962 (Welch's t = 1.5, p = 0.19)" in excess
    assert "total 0.992 against 0.957 (Welch's t = 3.0, p = 0.04)" in excess
    guard = found["Time-outs with the guard of Reno and without"]
    assert "with the guard: 4.0 (per-flow" in guard


def test_variances_are_compared() -> None:
    ratio, probability = variance_ratio(33.9, 5, 9.8, 20)
    assert ratio == pytest.approx(11.97, abs=0.01)
    assert probability == pytest.approx(5e-5, rel=0.2)
    t, same = welch((1.0, 1.0), (0.1, 0.2), 5)
    assert (t, same) == (0.0, pytest.approx(1.0))


def test_a_sweep_says_where_the_directions_hold() -> None:
    fair, unfair = a_case(np.full((3, 4), 200.0)), a_case(np.array([[100.0, 200.0, 100.0, 150.0]] * 3))
    points = {"per-flow": [unfair, fair, fair], "aggregate": [fair, unfair, unfair]}
    told = verdict(["5 ms", "20 ms", "50 ms"], points)
    assert "per-flow marking is fairer at 20 ms, 50 ms, the reverse at 5 ms" in told
    assert "fairer at every point" in verdict(["a"], {"per-flow": [fair], "aggregate": [unfair]})


def test_the_page_has_the_figures_and_the_sweeps() -> None:
    sweeps = tuple(one for one in PLAN.beyond if one.id in ("averaging", "depth"))
    plan = replace(PLAN, read=(), beyond=sweeps)
    page = STUDY.page(plan, done(plan))
    for id_ in ("figures-per-flow", "figures-aggregate", "cases-total_fairness"):
        assert f'id="{id_}"' in page
    for id_ in ("sweep-averaging-cir_utilization", "sweep-depth-total_fairness"):
        assert f'id="{id_}"' in page
    assert "-s conditioner.customer.per=flow" in page


# calibration


def test_the_error_is_relative() -> None:
    assert relative_error({"a": 1.1, "b": 9.0}, {"a": 1.0, "b": 10.0}, ["a", "b"]) == pytest.approx(0.1)


def test_the_calibration_covers_the_fitted_point_and_fits_one_marking() -> None:
    fitted, tried = keys(PLAN.fitted[0]), keys(COMBINATIONS)
    chosen = ("coupled", "tcp", "20", "300")
    for marking in MARKINGS:
        assert tried[*chosen, marking] == fitted[marking,]
    # a customer that gets what is printed
    cases = {}
    for levels in tried:
        printed = PUBLISHED[levels[-1]]
        off = 1.0 if levels[:-1] == chosen else 1.1
        rates = {"goodput": np.full((5, 4), off * printed["per_flow_goodput"])}
        rates["throughput"] = np.full((5, 4), off * printed["aggregate_throughput"] / 4)
        rates["committed"] = np.full((5, 4), off * printed["cir_utilization"] * 200)
        rates["excess"] = np.full((5, 4), off * printed["excess_utilization"] * 250)
        cases[levels] = Case(rates, {})
    found = record(PACK, COMBINATIONS, cases)
    assert found["fits"][BASE] == found["fits"][NEAREST]
    assert found["fits"][BASE]["error"] == 0.0
    assert found["fits"][BASE]["chosen"] == {
        "averaging": "coupled",
        "background": "tcp",
        "background_rtt_ms": 20,
        "rtt_ms": 300,
    }
    assert found["points"][0]["error"] == pytest.approx(0.1)
    assert len(found["points"]) == 96


def test_the_record_chose_the_scenarios_values() -> None:
    recorded, table = read_record(PACK), PACK.toml("calibration.toml")
    assert {name: recorded[name] for name in ("marking", "independent", "free")} == {
        **{name: table["fit"][name] for name in ("marking", "independent")},
        "free": 3,
    }
    assert recorded["fitted"] == table["fit"]["quantities"]
    assert (recorded["stated"], recorded["predicted"]) == (table["stated"], table["predict"]["quantities"])
    names = COMBINATIONS.design.names[:-1]
    points = [tuple(map(str, one["levels"])) for one in recorded["points"]]
    assert points == list(dict.fromkeys(one.levels[:-1] for one in COMBINATIONS.design.treatments))
    admitted = [one for one in recorded["points"] if "tcp" in one["levels"]]
    fits = recorded["fits"]
    assert fits[BASE]["error"] == min(one["error"] for one in admitted)
    assert fits[NEAREST]["error"] == min(one["error"] for one in recorded["points"])
    chosen = tuple(str(fits[BASE]["chosen"][name]) for name in names)
    assert keys(COMBINATIONS)[*chosen, "per-flow"] == keys(PLAN.fitted[0])["per-flow",]
