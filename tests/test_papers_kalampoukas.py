"""Reduction of results to rows and verdicts, from hand-made result dictionaries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop import Result
from perhop.papers import PackError
from perhop.papers.kalampoukas import BrokenRun, Figure, Plan, Reproduction, make_plan, reduce
from perhop.papers.kalampoukas.predicates import within_closed_form
from perhop.papers.kalampoukas.sweeps import make_sweeps, reduce_sweep

PLAN = make_plan()
Efficiencies = tuple[float, float]


def result(figure: Figure, slow: float, fast: float) -> Result:
    """One run with these efficiencies, shared among the connections of either direction."""
    m = figure.setup.connections
    ups = [] if figure.setup.alone else [f"up{k}" for k in range(m)]
    downs = [f"down{k}" for k in range(m)]
    rates = [slow * figure.setup.slow_rate / m] * len(ups) + [fast * figure.setup.fast_rate / m] * len(downs)
    names = ups + downs
    return made(
        flows={
            "name": names,
            "from": ["slow"] * len(ups) + ["fast"] * len(downs),
            "goodput_bit_s": np.array(rates),
        },
        links={"name": ["slow->fast", "fast->slow"], "utilization": np.array([0.999, 0.5])},
        queues={
            "path": ["port.slow-fast.class.acks", "port.slow-fast.class.data", "port.fast-slow.class.all"],
            "max_packets": np.array([40, 5, 7], dtype=np.uint64),
            "max_data_packets": np.array([0, 5, 5], dtype=np.uint64),
            "dropped_packets": np.array([0, 0, 0], dtype=np.uint64),
        },
        series={
            "time_s": np.repeat([3.0, 6.0], 2 * len(names)),
            "path": [f"flow.{name}" for name in names] * 4,
            "quantity": (["goodput_bit_s"] * len(names) + ["cwnd_bytes"] * len(names)) * 2,
            "value": np.array((rates + [1e9] * len(names)) * 2),
        },
    )


def changed(result: Result, column: str, queue: int, packets: int) -> Result:
    """The same with another count of packets of one queue."""
    counts = result.queues[column].to_list()
    counts[queue] = packets
    return replace(result, queues=result.queues.with_columns(pl.Series(column, counts, pl.UInt64)))


def reproduce(efficiencies: Callable[[Figure], Efficiencies], spread: float = 0.0) -> Reproduction:
    """Reduce ten runs per figure around given efficiencies."""
    return reduce(PLAN, all_results(efficiencies, spread), "perhop reproduce kalampoukas", 1)


def all_results(
    efficiencies: Callable[[Figure], Efficiencies], spread: float = 0.0, plan: Plan = PLAN
) -> list[Result]:
    """Give the runs of a plan around given efficiencies, under each reading as without."""
    offsets = spread * np.linspace(-1, 1, plan.replications)
    found = []
    for figure in plan.figures * (1 + len(plan.readings)):
        slow, fast = efficiencies(figure)
        found += [result(figure, slow + offset, fast + offset) for offset in offsets]
    return found


def bounded(figure: Figure) -> Efficiencies:
    found = figure.setup.closed_form("bounded")
    assert found is not None
    return float(found.slow), float(found.fast)


def verdicts(found: Reproduction) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in found.document["claims"]}


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = reproduce(bounded).document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    assert len({(row["id"], row["quantity"]) for row in document["rows"]}) == len(document["rows"])
    text = json.dumps(document, allow_nan=False)
    assert text == json.dumps(reproduce(bounded).document, allow_nan=False)


def test_a_row() -> None:
    rows = {(row["id"], row["quantity"]): row for row in reproduce(bounded).document["rows"]}
    assert rows["5.3", "slow_efficiency"] == {
        "table": "efficiencies",
        "id": "5.3",
        "quantity": "slow_efficiency",
        "unit": "1",
        "published": 0.56,
        "closed_form": {"printed": 0.066667, "bounded": 0.554734},
        "simulated": {"mean": 0.554734, "ci95": [0.554734, 0.554734], "n": 10},
    }
    one_way = rows["3.2-one-way", "fast_throughput"]
    assert (one_way["published"], one_way["unit"]) == (1200.0, "kbit/s")
    assert one_way["closed_form"]["printed"] == pytest.approx(1638.4)
    assert rows["3.2-16384", "fast_throughput"]["published"] is None
    queue = rows["6.2", "slow_queue_data"]
    assert (queue["closed_form"], queue["simulated"]["mean"]) == ({"printed": None, "bounded": None}, 5)
    assert rows["6.2", "slow_queue_packets"]["simulated"]["mean"] == 45
    assert rows["5.5", "fast_efficiency"]["simulated"]["mean"] == pytest.approx(0.477, abs=5e-4)


def test_only_runs_with_a_shared_fifo_have_the_bound_of_theorem_2() -> None:
    found = reproduce(bounded)
    bounds = {
        row["id"]: row["closed_form"]["printed"]
        for row in found.document["rows"]
        if row["quantity"] == "slow_queue_data" and row["closed_form"]["printed"] is not None
    }
    assert bounds == {"2.3": 43.0, "3.2-4096": 7.046016, "3.2-8192": 7.046016, "3.2-16384": 7.046016}
    assert found.queue_bounds["6.2"] == 43.0
    assert found.queue_bounds["3.2-one-way"] is None


def test_the_evidence_on_thresholds_says_why() -> None:
    claims = {claim["id"]: claim for claim in reproduce(bounded).document["claims"]}
    for id_ in ("K7", "K8"):
        assert "within 0.0000 of it" in claims[id_]["evidence"]["notes"][0]


def test_a_row_without_a_closed_form_cannot_be_judged() -> None:
    m = reproduce(bounded).measurements
    delayed = replace(m.figures["4.2"], setup=replace(m.figures["4.2"].setup, delay=0.1))
    m = replace(m, figures=m.figures | {"4.2": delayed})
    with pytest.raises(PackError, match=r"figure 4\.2: there is no bounded closed form"):
        within_closed_form(m, "bounded", 0.03, 0.1, 0.3)
    with pytest.raises(PackError, match="form is 'bonded', not one of 'printed', 'bounded'"):
        within_closed_form(m, "bonded", 0.03, 0.1, 0.3)  # type: ignore[arg-type]


def test_runs_that_do_what_the_bounded_forms_say() -> None:
    found = verdicts(reproduce(bounded))
    assert {id_: found[id_] for id_ in ("K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K9")} == {
        "K1": "supported",
        "K2": "supported",
        "K3": "supported",
        "K4": "supported",
        "K5": "supported",
        "K6": "supported",
        "K7": "contradicted",
        "K8": "contradicted",
        "K9": "contradicted",
    }
    rows = {id_.removeprefix("K9/"): verdict for id_, verdict in found.items() if id_.startswith("K9/")}
    assert rows["6.2"] == "contradicted"
    assert rows["5.3"] == "supported"
    assert "4.3" not in rows
    assert "5.5-caption" not in rows


def test_one_row_beside_its_form_contradicts_k1_and_is_named() -> None:
    document = reproduce(lambda f: (0.60, 0.477) if f.id == "5.3" else bounded(f)).document
    k1 = document["claims"][0]
    assert k1["verdict"] == "contradicted"
    assert k1["evidence"]["summary"] == (
        "23 of 24 parts supported; 5.3, slow efficiency: 0.600 where at least 0.525 and at most 0.585 is "
        "claimed (contradicted)"
    )
    assert "6.2" in k1["evidence"]["notes"][0]
    rows = {claim["id"]: claim["verdict"] for claim in document["claims"] if claim["id"].startswith("K1/")}
    assert len(rows) == 12
    assert {id_ for id_, verdict in rows.items() if verdict != "supported"} == {"K1/5.3"}


@pytest.mark.parametrize(
    ("figure", "side", "off", "verdict"),
    [
        ("2.3", 1, -0.0196, "contradicted"),
        ("2.3", 1, 0.0021, "contradicted"),
        ("2.3", 1, 0.0019, "supported"),
        ("5.6", 0, 0.0068, "contradicted"),
        ("5.6", 0, 0.0065, "supported"),
        ("5.3", 0, 0.029, "supported"),
        ("5.3", 0, 0.031, "contradicted"),
    ],
)
def test_k1_is_relative_where_an_efficiency_is_small(
    figure: str, side: int, off: float, verdict: str
) -> None:
    def shifted(f: Figure) -> Efficiencies:
        found = list(bounded(f))
        found[side] += off if f.id == figure else 0.0
        return found[0], found[1]

    assert verdicts(reproduce(shifted))[f"K1/{figure}"] == verdict


def test_a_reading_that_changes_a_claim_decides_it() -> None:
    results = all_results(bounded)
    size = len(PLAN.figures) * PLAN.replications
    at = next(k for k, figure in enumerate(PLAN.figures) if figure.id == "4.4")
    for k in range(PLAN.replications):
        results[size + at * PLAN.replications + k] = result(PLAN.figures[at], 0.2, 0.7)
    claims = {claim["id"]: claim for claim in reduce(PLAN, results, "", 1).document["claims"]}
    assert (claims["K2"]["verdict"], claims["K2"]["decided_by"]) == ("inconclusive", ["ns-2"])
    assert claims["K1/4.4"]["verdict"] == "inconclusive"
    assert claims["K1/4.3"]["verdict"] == "supported"
    assert claims["K4"]["verdict"] == "supported"


def test_a_link_that_is_idle_leaves_a_ratio_undefined() -> None:
    """No data at all in the figure below the line: the study goes on, the claim is not judged."""
    document = reproduce(lambda f: (0.5, 0.0) if f.id == "3.2-4096" else bounded(f)).document
    claim = next(claim for claim in document["claims"] if claim["id"] == "K6")
    assert claim["verdict"] == "not judged"
    assert "the ratio is undefined: the denominator is 0 in 10 of 10" in claim["reason"]
    json.dumps(document, allow_nan=False)


def test_wide_intervals_conclude_nothing() -> None:
    assert verdicts(reproduce(bounded, spread=0.2))["K1"] == "inconclusive"


def test_nine_replications_judge_nothing() -> None:
    plan = make_plan(replications=9)
    document = reduce(plan, all_results(bounded, plan=plan), "", 1).document
    assert {claim["verdict"] for claim in document["claims"]} == {"not judged"}
    assert {claim["reason"] for claim in document["claims"]} == {"9 replications, 10 are needed"}


def test_one_replication_gives_no_interval() -> None:
    plan = make_plan(replications=1)
    document = reduce(plan, all_results(bounded, plan=plan), "", 1).document
    assert document["rows"][0]["simulated"] == {"mean": 0.981675, "ci95": None, "n": 1}
    json.dumps(document, allow_nan=False)


def test_the_allocation_finding_names_the_nearer_form() -> None:
    assert "what the bounded form says" in reproduce(bounded).findings[0][1]

    def printed(figure: Figure) -> Efficiencies:
        found = figure.setup.closed_form("printed")
        assert found is not None
        return float(found.slow), float(found.fast)

    assert "what the printed form says" in reproduce(printed).findings[0][1]


def test_curves_are_efficiencies_per_interval_with_sums() -> None:
    curves = reproduce(bounded).curves
    assert [curve.name for curve in curves["5.3"]] == ["up0", "down0"]
    assert curves["5.3"][0].time_s.tolist() == [3.0, 6.0]
    assert curves["5.3"][0].value == pytest.approx([0.554734] * 2, abs=1e-6)
    three = {curve.name: curve for curve in curves["5.5"]}
    assert set(three) == {f"{n}{k}" for n in ("up", "down") for k in range(3)} | {
        "slow connections together",
        "fast connections together",
    }
    assert three["slow connections together"].value == pytest.approx([0.554734] * 2, abs=1e-6)
    assert [curve.name for curve in curves["3.2-one-way"]] == ["down0"]
    assert curves["3.2-one-way"][0].value == pytest.approx([1638.4] * 2, rel=1e-6)


def test_a_broken_run_is_never_averaged_in() -> None:
    results = all_results(lambda _: (0.5, 0.5))
    results[3] = replace(results[3], invariants=["queue port.slow-fast.class.all: 3 in, 2 out"])
    with pytest.raises(BrokenRun, match=r"figure 2\.3: queue port"):
        reduce(PLAN, results, "", 1)


def test_missing_results_are_refused() -> None:
    with pytest.raises(ValueError, match="1 results for"):
        reduce(PLAN, [result(PLAN.figures[0], 0.5, 0.5)], "", 1)


def test_losses_and_long_queues_are_said() -> None:
    assert reproduce(bounded).warnings == []
    results = all_results(bounded)
    results[0] = changed(results[0], "dropped_packets", 2, 4)
    results[1] = changed(results[1], "max_data_packets", 1, 44)
    assert reduce(PLAN, results, "", 1).warnings == [
        "figure 2.3: packets were lost; the closed forms assume none",
        "figure 2.3: 44 data packets waited; Theorem 2 allows 43.0",
    ]
    results[0] = changed(results[0], "dropped_packets", 2, 0)
    results[1] = changed(results[1], "max_data_packets", 1, 5)
    last = len(PLAN.figures) * PLAN.replications - 1
    results[last] = changed(results[last], "max_data_packets", 1, 44)
    assert reduce(PLAN, results, "", 1).warnings == [
        "figure 5.3-b8: 44 data packets waited; Theorem 2 is not about this scheme, but would allow 43.0",
    ]


def test_a_sweep_is_put_on_its_grid() -> None:
    sweep = next(sweep for sweep in make_sweeps() if sweep.id == "map-bandwidth-allocation")
    results = []
    for index, setup in enumerate(sweep.setups):
        form = setup.closed_form("bounded")
        assert form is not None
        figure = Figure("", "extra", "", "", (), setup, {})
        results.append(result(figure, float(form.slow), float(form.fast) - (0.25 if index == 9 else 0.0)))
    found = reduce_sweep(sweep, results)
    assert found.simulated.slow.shape == sweep.shape
    error = found.error("bounded")
    assert error[1, 1] == pytest.approx(0.25)
    assert float(np.delete(error.ravel(), 9).max()) < 1e-12
    assert found.verdict("bounded") == (
        "bounded: off by more than 0.03 at 1 of 80 points, at most by 0.250 (asymmetry 2, ACK size 15 bytes)"
    )
    results[5] = replace(results[5], invariants=["broken"])
    with pytest.raises(BrokenRun, match="map-bandwidth-allocation: broken"):
        reduce_sweep(sweep, results)


def test_a_sweep_without_a_form_says_so() -> None:
    sweep = next(sweep for sweep in make_sweeps() if sweep.id == "delay-ack-priority")
    results = [result(Figure("", "extra", "", "", (), s, {}), 0.5, 0.5) for s in sweep.setups]
    found = reduce_sweep(sweep, results)
    assert found.verdict("printed").startswith("printed: off by more than 0.03 at 1 of 1 points")
    delayed = next(sweep for sweep in make_sweeps() if sweep.id == "delay-backpressure")
    found = reduce_sweep(delayed, results)
    assert "values outside [0, 1]" not in found.verdict("printed")
