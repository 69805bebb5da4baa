"""The study of per-flow and aggregate marking: its metrics, its pack, its verdicts, from hand-made runs."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conftest import made
from perhop import Result
from perhop.papers import PackError, load_pack
from perhop.papers.laatu import Plan, Reproduction, Run, Setup, jain, make_plan, read, reduce
from perhop.papers.laatu.calibration import load_calibration, point_record, relative_error, setup_at
from perhop.papers.laatu.measure import (
    cir_utilization,
    excess_denominator,
    excess_utilization,
    least_fairness,
    per_flow_sdev,
    run_quantities,
    table_statistics,
)
from perhop.papers.laatu.plan import DURATION_S, READ, WARMUP_S
from perhop.papers.laatu.predicates import PREDICATES
from perhop.papers.laatu.printed import variance_ratio, welch
from perhop.papers.laatu.published import METRICS
from perhop.papers.laatu.setup import (
    AVERAGING,
    BACKGROUND_RTT_MS,
    CBS_PACKETS,
    HEADERS,
    LIMIT_KB,
    MARKINGS,
    PBS_PACKETS,
    RTT_MS,
)
from perhop.papers.laatu.study import STUDY, measured_s
from perhop.papers.laatu.sweeps import make_sweeps, reduce_sweep
from perhop.papers.study import BrokenRun
from perhop.stats.jackknife import jackknife_interval

PACK = load_pack("laatu")
PLAN = make_plan()
TWO_RATE = ("per-flow.toml", "aggregate.toml")


def a_run(throughput: list[float], green: float = 0.9, background: float = 1250.0) -> Run:
    """Make a run in which every flow has that part of its throughput as green packets."""
    total = np.array(throughput)
    return Run(
        green=green * total,
        excess=(1 - green) * total,
        throughput=total,
        goodput=0.95 * total,
        timeouts=np.zeros(len(total)),
        background=background,
        dropped=(0.0, 12.0, 3.0),
    )


# metrics


def test_the_fairness_index() -> None:
    assert jain([200.0] * 4) == 1.0
    assert jain([800.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert jain([100.0, 300.0], [1.0, 3.0]) == 1.0
    assert jain([100.0, 300.0], [2.0, 2.0]) == jain([100.0, 300.0])
    assert jain([0.0, 0.0]) == 1.0


@pytest.mark.parametrize("rates", [[], [-1.0, 1.0], [math.nan], [[1.0, 2.0]]])
def test_the_fairness_index_refuses_what_is_no_allocation(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="jain"):
        jain(rates)


def test_fairness_is_a_function_of_the_coefficient_of_variation() -> None:
    rates = np.array([152.0, 171.0, 160.0, 98.0])
    cov = np.std(rates) / np.mean(rates)
    assert jain(rates) == pytest.approx(1 / (1 + cov**2))


def test_utilizations_are_of_the_customer() -> None:
    run = a_run([200.0, 180.0, 160.0, 220.0])
    assert cir_utilization(run) == pytest.approx(0.9 * 760 / 800)
    assert excess_utilization(run) == pytest.approx(0.1 * 760 / 1000)
    assert excess_utilization(run, 600.0) == pytest.approx(0.1 * 760 / 600)


def test_statistics_of_a_test_are_over_runs_or_over_all_flows() -> None:
    runs = [a_run([100.0, 200.0]), a_run([150.0, 250.0])]
    found = table_statistics(runs)
    assert found["aggregate_throughput_sdev"] == pytest.approx(np.std([300, 400], ddof=1))
    assert (found["aggregate_throughput_min"], found["aggregate_throughput_max"]) == (300, 400)
    assert found["per_flow_throughput_sdev"] == pytest.approx(np.std([100, 200, 150, 250], ddof=1))
    assert (found["per_flow_throughput_min"], found["per_flow_throughput_max"]) == (100, 250)
    assert found["per_flow_goodput_max"] == pytest.approx(0.95 * 250)
    assert found["total_fairness_sdev"] == pytest.approx(np.std([jain([100, 200]), jain([150, 250])], ddof=1))
    assert per_flow_sdev(runs) == found["per_flow_throughput_sdev"]
    assert run_quantities(runs[0])["per_flow_throughput"] == 150


def test_the_spread_of_table_2_forbids_the_fairness_of_table_3() -> None:
    printed = PLAN.published["per-flow"]
    least = least_fairness(printed["aggregate_throughput_min"] / 4, printed["per_flow_throughput_sdev"], 4, 5)
    assert least == pytest.approx(0.9978, abs=5e-5)
    assert printed["total_fairness"] + printed["total_fairness_sdev"] < least
    assert printed["committed_fairness"] > least
    aggregate = PLAN.published["aggregate"]
    least = least_fairness(
        aggregate["aggregate_throughput_min"] / 4, aggregate["per_flow_throughput_sdev"], 4, 5
    )
    assert least < aggregate["total_fairness"]


def test_no_runs_are_less_fair_than_their_spread_permits() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        rates = rng.uniform(50, 250, (5, 4))
        least = least_fairness(rates.mean(axis=1).min(), float(np.std(rates, ddof=1)), 4, 5)
        assert np.mean([jain(one) for one in rates]) >= least - 1e-12


def test_the_printed_values_imply_an_excess_rate_near_a_megabit() -> None:
    ranges = [
        excess_denominator(one["cir_utilization"], one["excess_utilization"], one["aggregate_throughput"])
        for one in (PLAN.published[marking] for marking in MARKINGS)
    ]
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    assert low < 1000 < high
    assert low > 600
    assert high < 1200


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
    run = read(result(), 110.0)
    assert run.green.tolist() == pytest.approx([8 * 2e6 / 110e3, 8 * 2.2e6 / 110e3])
    assert run.excess.tolist() == pytest.approx([8 * 475e3 / 110e3, 0.0])
    assert run.throughput.tolist() == [180.0, 160.0]
    assert run.goodput.tolist() == [170.0, 150.0]
    assert run.timeouts.tolist() == [3, 1]
    assert run.background == 900.0
    assert run.dropped == (1.0, 20.0, 3.0)
    constant = {"name": ["load"], "class": ["background"], "throughput_bit_s": [200e3]}
    assert read(result(udp=constant), 110.0).background == 1100.0


def test_a_broken_run_is_refused_when_it_ends() -> None:
    with pytest.raises(BrokenRun, match="aggregate"):
        STUDY.keep((b"", "aggregate.toml", []), result(invariants=["a packet vanished"]))


def test_the_measured_time_follows_the_duration() -> None:
    assert measured_s([]) == DURATION_S - WARMUP_S
    assert measured_s(["run.seed=1", "run.duration=60s"]) == 60 - WARMUP_S
    quick = make_plan(quick=True)
    assert {measured_s(job[2]) for job in quick.jobs} == {quick.measured_s}


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


def test_scenarios_hold_the_defaults_and_the_printed_parameters() -> None:
    gred = {row["colour"]: row for row in PACK.table("gred")}
    for name in (*TWO_RATE, "per-flow-sr-tcm.toml", "aggregate-sr-tcm.toml", "tcp-friendly.toml"):
        scenario = tomllib.loads(PACK.scenario(name).decode())
        assert (scenario["run"]["duration"], scenario["run"]["warmup"]) == ("120s", "10s")
        delays = {tuple(link["ends"]): link.get("delay") for link in scenario["link"]}
        assert delays["s[*]", "e1"] == f"{RTT_MS / 2:g}ms"
        assert delays["b[*]", "e2"] == f"{BACKGROUND_RTT_MS / 2:g}ms"
        assert sum(delay is not None for delay in delays.values()) == 2
        assert {link["rate"] for link in scenario["link"]} == {"10Mbit/s"}
        af, best_effort = scenario["port"][0]["class"]
        assert (af["share"], af["bounded"], best_effort["share"]) == (0.2, True, 0.8)
        assert (af["queue"]["limit"], af["queue"]["averaging"]) == (f"{LIMIT_KB:g}kB", AVERAGING)
        for colour, row in gred.items():
            virtual = af["queue"][colour]
            assert virtual == {
                "min_th": f"{row['min_th_kb']}kB",
                "max_th": f"{row['max_th_kb']}kB",
                "max_p": float(row["max_p"]),
                "w_q": float(row["w_q"]),
            }
        (profile,) = scenario["profile"]
        assert (profile["recovery"], profile["mss"]) == ("reno", f"{1500 - HEADERS}B")
        flows = {flow["name"]: flow for flow in scenario["flow"]}
        assert flows["measured"]["start"] == "10s"
        assert flows["measured"]["ack"] == flows["background"]["ack"] == {"policy": "delayed"}


def test_the_two_scenarios_differ_in_the_meter_alone() -> None:
    per_flow, aggregate = (tomllib.loads(PACK.scenario(name).decode()) for name in TWO_RATE)
    ours, theirs = per_flow["conditioner"][0], aggregate["conditioner"][0]
    depth = {"cbs": f"{CBS_PACKETS}p", "pbs": f"{PBS_PACKETS}p"}
    assert (ours.pop("per"), theirs.pop("per")) == ("flow", "aggregate")
    assert ours.pop("meter") == {"kind": "tr-tcm", "cir": "200kbit/s", "pir": "350kbit/s"} | depth
    assert theirs.pop("meter") == {"kind": "tr-tcm", "cir": "800kbit/s", "pir": "1400kbit/s"} | depth
    assert per_flow == aggregate


@pytest.mark.parametrize("marking", MARKINGS)
def test_a_constant_background_replaces_the_tcp_flows_alone(marking: str) -> None:
    usual, constant = (
        tomllib.loads(PACK.scenario(f"{marking}{end}.toml").decode()) for end in ("", "-constant")
    )
    background = next(one for one in constant["udp"] if one["name"] == "background")
    assert background["rate"] == "200kbit/s"
    assert (background["from"], background["to"], background["class"]) == ("b[*]", "a[*]", "background")
    usual["flow"] = [flow for flow in usual["flow"] if flow["name"] != "background"]
    constant["udp"] = [one for one in constant["udp"] if one["name"] != "background"]
    assert usual == constant


def test_every_claim_has_a_predicate() -> None:
    assert [claim.id for claim in PACK.claims] == ["L1", "L2", "L3", "L4"]
    assert {claim.predicate for claim in PACK.claims} <= set(PREDICATES)


def test_every_printed_number_has_a_row() -> None:
    assert {row["metric"] for row in PACK.table("throughput")} == {name for name, _ in METRICS.values()}
    rows = {(row["id"], row["quantity"]): row["published"] for row in done(PLAN).document["rows"]}
    for marking in MARKINGS:
        values = PLAN.published[marking]
        assert len(values) == 26
        assert {quantity: rows[marking, quantity] for quantity in values} == values


def test_a_published_case_that_is_not_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = tuple(table for table in PACK.figures if table.get("case") != "aggregate")
    monkeypatch.setattr("perhop.papers.laatu.plan.load_pack", lambda _: replace(PACK, figures=fewer))
    with pytest.raises(PackError, match="not run: aggregate"):
        make_plan()


# set-ups


def test_the_default_set_ups_change_nothing() -> None:
    for marking in MARKINGS:
        assert Setup(marking).changes() == []
        assert Setup(marking).scenario() == f"{marking}.toml"
    assert Setup("aggregate", "sr-tcm").scenario() == "aggregate-sr-tcm.toml"
    assert Setup("aggregate", "tcp-friendly").scenario() == "tcp-friendly.toml"


def test_changes_of_a_set_up() -> None:
    assert Setup("per-flow", flows=8).changes() == [
        "node.s.count=8",
        "node.d.count=8",
        "conditioner.customer.meter.cir=100000bit/s",
        "conditioner.customer.meter.pir=175000bit/s",
    ]
    assert Setup("aggregate", flows=8).changes() == ["node.s.count=8", "node.d.count=8"]
    assert Setup("aggregate", rtts_ms=(7.0,), background_rtt_ms=9.0).changes() == [
        "link.s-e1.delay=3500us",
        "link.b-e2.delay=4500us",
    ]
    assert Setup("aggregate", background="constant", background_rtt_ms=9.0).changes() == []
    assert Setup("aggregate", rtts_ms=(20.0, 80.0)).changes() == ['link.s-e1.delay=["10000us", "40000us"]']
    assert Setup("aggregate", packet=576).changes() == ["run.packet_size=576B", "profile.linux24.mss=524B"]
    assert Setup("aggregate", depth=4.0).changes() == [
        "conditioner.customer.meter.cbs=90000B",
        "conditioner.customer.meter.pbs=108000B",
    ]
    assert Setup("per-flow", "sr-tcm", depth=0.5).changes() == [
        "conditioner.customer.meter.cbs=11250B",
        "conditioner.customer.meter.ebs=13500B",
    ]


def test_a_set_up_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="no per-flow form"):
        Setup("per-flow", "tcp-friendly")
    with pytest.raises(ValueError, match="constant rate"):
        Setup("aggregate", "sr-tcm", background="constant")
    with pytest.raises(ValueError, match="at least one"):
        Setup("per-flow", flows=0)


# the plan


def test_plan_orders_replications_within_cases() -> None:
    plan = make_plan(replications=3, seed=7)
    assert [case.id for case, _ in plan.cases[:2]] == ["per-flow", "aggregate"]
    text, name, overrides = plan.jobs[4]
    assert text == PACK.scenario("aggregate.toml")
    assert name == "aggregate.toml for case aggregate"
    assert overrides == ["run.seed=7", "run.replication=1"]
    assert any("replications" in text for text in plan.left_out)
    runs = 3 * len(plan.cases) + sum(2 * len(sweep.points) * sweep.replications for sweep in plan.sweeps)
    assert len(plan.jobs) == runs + 2 * READ * len(plan.readings)


def test_a_quick_plan_says_what_it_left_out() -> None:
    quick = make_plan(quick=True)
    assert quick.sweeps == ()
    assert {n for _, n in quick.cases} == {10}
    assert all(job[2][-1] == "run.duration=60s" for job in quick.jobs)
    assert any("60 s" in text for text in quick.left_out)
    assert PLAN.left_out == ()
    assert PLAN.cases[0][1] == PLAN.cases[1][1] == 50


def test_a_plan_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="replications = 0"):
        make_plan(replications=0)


def test_commands_run_one_case() -> None:
    deep = next(case for case, _ in PLAN.cases if case.id == "aggregate-deep")
    assert deep.command() == (
        "perhop run papers/laatu/aggregate.toml -s 'conditioner.customer.meter.cbs=90000B'"
        " -s 'conditioner.customer.meter.pbs=108000B'"
    )


def test_sweeps_go_through_the_defaults() -> None:
    sweeps = make_sweeps(2)
    assert len({sweep.id for sweep in sweeps}) == len(sweeps)
    for sweep in sweeps:
        usual = replace(Setup("per-flow"), background=sweep.points[0].base.background)
        assert sum(point.base == usual for point in sweep.points) == 1, sweep.id


# reduction


def done(plan: Plan, like_paper: bool = True, but: str = "") -> Reproduction:
    """Reduce runs as the paper has them, or with the two ways exchanged; turned under one reading."""
    rng = np.random.default_rng(3)
    fair = [a_run(list(190 + rng.normal(0, 4, 4))) for _ in range(50)]
    unfair = [a_run(list(154 + rng.normal(0, 30, 4).clip(-70, 70))) for _ in range(50)]
    by_case = {"per-flow": fair, "aggregate": unfair}
    if not like_paper:
        by_case = {"per-flow": unfair, "aggregate": fair}
    kept = [run for case, n in plan.cases for run in by_case.get(case.id, unfair)[:n]]
    for sweep in plan.sweeps:
        n = sweep.replications
        kept += (fair[:n] + unfair[:n]) * len(sweep.points)
    under = [run for case in ("per-flow", "aggregate") for run in by_case[case][:READ]]
    turned = [run for case in ("aggregate", "per-flow") for run in by_case[case][:READ]]
    for reading in plan.readings:
        kept += turned if reading.id == but else under
    return reduce(plan, kept, "perhop reproduce laatu", 1)


def verdicts(found: Reproduction) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in found.document["claims"]}


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = done(PLAN).document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    rows = [(row["table"], row["id"], row["quantity"]) for row in document["rows"]]
    assert len(set(rows)) == len(rows)
    json.dumps(document, allow_nan=False)


def test_runs_like_the_papers_support_it() -> None:
    assert verdicts(done(PLAN)) == dict.fromkeys(("L1", "L2", "L3", "L4"), "supported")


def test_runs_the_other_way_contradict_it() -> None:
    assert set(verdicts(done(PLAN, like_paper=False)).values()) == {"contradicted"}


def test_a_reading_that_turns_the_sign_decides() -> None:
    claims = {claim["id"]: claim for claim in done(PLAN, but="SACK").document["claims"]}
    assert {claim["verdict"] for claim in claims.values()} == {"inconclusive"}
    assert claims["L3"]["decided_by"] == ["SACK"]
    lifted = {claim["id"]: claim for claim in done(PLAN, False, "guard off").document["claims"]}
    assert (lifted["L2"]["verdict"], lifted["L2"]["decided_by"]) == ("inconclusive", ["guard off"])


def test_l1_is_shown_by_its_parts() -> None:
    (l1, *_) = done(PLAN).document["claims"]
    words = [part["quantity"].split(",")[0] for part in l1["parts"]]
    assert words == ["total fairness", "committed fairness", "excess fairness"]
    assert {part["kind"] for part in l1["parts"]} == {"direction"}
    assert [part["printed"] for part in l1["parts"]] == pytest.approx([0.035, 0.045, 0.017])


def test_what_the_calibration_fitted_is_in_sample() -> None:
    found = {claim["id"]: claim["in_sample"] for claim in done(PLAN).document["claims"]}
    assert found == {"L1": False, "L2": True, "L3": True, "L4": False}


def test_l4_tells_direction_from_size() -> None:
    l4 = done(PLAN).document["claims"][3]
    assert [part["kind"] for part in l4["parts"]] == ["direction", "size"]
    assert l4["parts"][1]["claimed"] == [None, 0.5]
    assert l4["parts"][0]["printed"] == pytest.approx(8.6 / 34.5, abs=1e-6)
    assert l4["ours"] == "half"


def test_no_spread_at_all_leaves_the_ratio_undefined() -> None:
    kept = [a_run([190.0] * 4)] * len(PLAN.jobs)
    l4 = reduce(PLAN, kept, "", 1).document["claims"][3]
    assert (l4["verdict"], l4["reason"]) == (
        "not judged",
        "the ratio is undefined: no spread with aggregate",
    )


def test_half_length_runs_judge_nothing() -> None:
    document = done(make_plan(quick=True)).document
    assert {claim["verdict"] for claim in document["claims"]} == {"not judged"}
    assert {claim["reason"] for claim in document["claims"]} == {"runs simulate 60 s here, the study's 120 s"}


def test_few_runs_judge_nothing() -> None:
    plan = make_plan(replications=5)
    assert set(verdicts(done(plan)).values()) == {"not judged"}
    plan = make_plan(replications=2)
    document = done(plan).document
    assert set(verdicts(done(plan)).values()) == {"not judged"}
    assert not any(row["quantity"].endswith("_sdev") for row in document["rows"])


def test_statistics_of_tests_count_tests() -> None:
    rows = {(row["id"], row["quantity"]): row["simulated"]["n"] for row in done(PLAN).document["rows"]}
    assert rows["per-flow", "aggregate_throughput"] == 50
    assert rows["per-flow", "aggregate_throughput_sdev"] == 10


def test_missing_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="1 results for"):
        reduce(PLAN, [a_run([1.0])], "", 1)


def test_a_class_that_is_not_full_is_said() -> None:
    plan = make_plan(replications=10)
    kept = [a_run([100.0] * 4, background=800.0)] * len(plan.jobs)
    warnings = [text for text in reduce(plan, kept, "", 1).warnings if "not the bottleneck" in text]
    assert any(text.startswith("A meter for each flow (per-flow): ") for text in warnings)
    green = [replace(one, dropped=(20.0, 0.0, 0.0)) for one in kept]
    assert any("green packets" in text for text in reduce(plan, green, "", 1).warnings)


def test_the_findings_name_the_exchanged_columns_and_the_depth() -> None:
    found = dict(done(PLAN).findings)
    assert "columns of Table 3 exchanged" in found["The paper's tables against each other"]
    assert "throughput" in found["State or depth"]
    assert "green" in found["Drop precedence upside down"]


def test_the_record_bounds_what_per_flow_marking_can_gain() -> None:
    text = dict(done(PLAN).findings)["What 96 combinations of 4 parameters show"]
    record = json.loads(PACK.scenario("calibration.json"))
    gains = [
        one["simulated"]["per-flow"]["cir_utilization"] - one["simulated"]["aggregate"]["cir_utilization"]
        for one in record["points"]
    ]
    assert max(gains) < 0.05
    assert f"at most {max(gains):.3f} more" in text
    assert "2 degrees of freedom met 3 free parameters" in text


def test_the_findings_name_the_ceiling_and_the_common_mode() -> None:
    found = dict(done(PLAN).findings)
    assert "0.96 standard deviations above the mean" in found["A ceiling of 187 kbit/s in the aggregate test"]
    common = found["A common mode of 33.9 kbit/s between runs"]
    assert "would give 17.2" in common
    excess = found["Which differences in fairness the paper's own runs show"]
    assert "excess 0.979 against 0.962 (Welch's t = 1.5, p = 0.19)" in excess
    assert "total 0.992 against 0.957 (Welch's t = 3.0, p = 0.04)" in excess
    guard = found["Time-outs with the guard of Reno and without"]
    assert "with the guard: 0.0 (per-flow" in guard


def test_variances_are_compared() -> None:
    ratio, probability = variance_ratio(33.9, 5, 9.8, 20)
    assert ratio == pytest.approx(11.97, abs=0.01)
    assert probability == pytest.approx(5e-5, rel=0.2)
    t, same = welch((1.0, 1.0), (0.1, 0.2), 5)
    assert (t, same) == (0.0, pytest.approx(1.0))


def test_a_sweep_says_where_the_directions_hold() -> None:
    sweep = make_sweeps(3)[0]
    fair, unfair = run_quantities(a_run([200.0] * 4)), run_quantities(a_run([100.0, 200.0, 100.0, 150.0]))
    values = []
    for place in range(len(sweep.points)):
        first, second = (unfair, fair) if place == 0 else (fair, unfair)
        values += [first] * 3 + [second] * 3
    found = reduce_sweep(sweep, values)
    first, *others = (point.label for point in sweep.points)
    assert f"per-flow marking is fairer at {', '.join(others)}, the reverse at {first}" in found.verdict()
    with pytest.raises(ValueError, match="1 values"):
        reduce_sweep(sweep, [fair])


def test_the_page_has_the_figures_and_the_sweeps() -> None:
    plan = make_plan(replications=3)
    sweeps = tuple(sweep for sweep in plan.sweeps if sweep.id in ("averaging", "depth"))
    runs = 3 * len(plan.cases) + sum(2 * len(sweep.points) * sweep.replications for sweep in sweeps)
    plan = replace(plan, sweeps=sweeps, readings=(), jobs=plan.jobs[:runs])
    page = STUDY.page(plan, done(plan))
    for id_ in ("figure-2", "figure-3", "figure-4", "figure-5", "cases", "sweep-averaging", "sweep-depth"):
        assert f'id="{id_}"' in page
    assert plan.cases[0][0].command() in page


# calibration


def test_the_error_is_relative() -> None:
    assert relative_error({"a": 1.1, "b": 9.0}, {"a": 1.0, "b": 10.0}, ["a", "b"]) == pytest.approx(0.1)


def test_the_calibration_covers_the_defaults_and_fits_one_marking() -> None:
    stated = load_calibration(PLAN.pack)
    assert stated.marking == "per-flow"
    points = stated.points()
    assert any(setup_at(point, "per-flow") == Setup("per-flow") for point in points)
    means = {marking: PLAN.published[marking] for marking in MARKINGS}
    record = point_record(PLAN, stated, points[0], means)
    assert record["fit_error"] == 0.0
    assert record["prediction_error"] == {"per-flow": 0.0, "aggregate": 0.0}


def test_the_record_chose_the_scenarios_values() -> None:
    record = json.loads(PACK.scenario("calibration.json"))
    stated = load_calibration(PLAN.pack)
    assert len(record["points"]) == len(stated.points())
    assert record["fitted"]["marking"] == stated.marking
    assert record["fitted"]["quantities"] == list(stated.fitted)
    admitted = [one for one in record["points"] if stated.admits(one["parameters"])]
    assert record["chosen"]["fit_error"] == min(one["fit_error"] for one in admitted)
    assert record["nearest"]["fit_error"] == min(one["fit_error"] for one in record["points"])
    assert setup_at(record["chosen"]["parameters"], "per-flow") == Setup("per-flow")
