"""Reduction of measurements to rows and verdicts, from hand-made numbers; the files of the study."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import made
from perhop import Result, ScenarioError
from perhop.judge.measured import Measurements
from perhop.models.two_way_setup import Setup
from perhop.papers.folder import load, own_folder
from perhop.papers.folder_page import figure_of
from perhop.papers.form import StudyError
from perhop.papers.outcome import Outcome
from perhop.papers.plan import plan_of
from perhop.papers.reduce import reduce
from perhop.papers.study import Study
from perhop.scenario.scenario import Description, Scenario

PACK = own_folder("kalampoukas")
FOLDER = load(PACK, "kalampoukas")
STUDY, CODE = FOLDER, FOLDER.code
PLAN = plan_of(STUDY, quick=True)
FULL = plan_of(STUDY, quick=False)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its treatment, and the set-up that it makes."""

    id: str
    levels: Mapping[str, str]
    scenario: Scenario
    setup: Setup


def figures_of(study: Study) -> dict[str, Figure]:
    campaign = study.about[0].campaign
    found = {}
    for one in campaign.design.treatments:
        levels = dict(zip(campaign.design.names, one.levels, strict=True))
        scenario = campaign.scenario.override(*one.overrides)
        found[levels["figure"]] = Figure(levels["figure"], levels, scenario, Setup.of(scenario))
    return found


FIGURES = figures_of(FOLDER)
Efficiencies = tuple[float, float]
Runs = dict[str, list[dict[str, float]]]
"""Per figure, what its replications measured."""


def result(figure: Figure) -> Result:
    """One run with the efficiencies of the bounded form, shared among the connections of either direction."""
    m = figure.setup.connections
    slow, fast = bounded(figure)
    ups = [] if figure.setup.alone else [f"up{k}" for k in range(m)]
    downs = [f"down{k}" for k in range(m)]
    rates = [slow * figure.setup.slow_rate / m] * len(ups) + [fast * figure.setup.fast_rate / m] * len(downs)
    names = ups + downs
    return made(
        flows={"name": names, "from": ["slow"] * len(ups) + ["fast"] * len(downs)},
        series={
            "time_s": np.repeat([3.0, 6.0], 2 * len(names)),
            "path": [f"flow.{name}" for name in names] * 4,
            "quantity": (["goodput_bit_s"] * len(names) + ["cwnd_bytes"] * len(names)) * 2,
            "value": np.array((rates + [1e9] * len(names)) * 2),
        },
    )


def runs(efficiencies: Callable[[Figure], Efficiencies], spread: float = 0.0, replications: int = 10) -> Runs:
    """Give the runs of each figure around given efficiencies."""
    found: Runs = {}
    for figure in FIGURES.values():
        slow, fast = efficiencies(figure)
        found[figure.id] = [
            {
                "slow": (slow + offset) * figure.setup.slow_rate,
                "fast": (fast + offset) * figure.setup.fast_rate,
                "slow_link_utilization": 0.999,
                "slow_queue_data": 5.0,
                "slow_queue_packets": 45.0,
                "slow_fairness": 1.0,
                "fast_fairness": 1.0,
                "dropped": 0.0,
            }
            for offset in spread * np.linspace(-1, 1, replications)
        ]
    return found


def frame(found: Runs) -> pl.DataFrame:
    """Put runs into the table that a campaign leaves."""
    rows = [
        {
            **FIGURES[id_].levels,
            "key": f"{id_} {k}",
            "treatment": id_,
            "replication": k,
            "response": name,
            "value": value,
        }
        for id_, own in found.items()
        for k, one in enumerate(own)
        for name, value in one.items()
    ]
    return pl.DataFrame(rows)


def reduced(base: Runs, under: Mapping[str, Runs] | None = None) -> Outcome:
    """Reduce runs, under each reading the same unless others are given."""
    measured = [base, *((under or {}).get(reading.id, base) for reading, _ in PLAN.read)]
    drawn = [result(figure) for figure in FIGURES.values()]
    results = PLAN.results([frame(one) for one in measured], drawn)
    return reduce(PLAN, results, "perhop reproduce kalampoukas", 1)


def reproduce(efficiencies: Callable[[Figure], Efficiencies], spread: float = 0.0) -> Outcome:
    """Reduce ten runs per figure around given efficiencies."""
    return reduced(runs(efficiencies, spread))


def bounded(figure: Figure) -> Efficiencies:
    """Give the bounded form; where there is none with a delay, that without."""
    own = figure.setup
    found = own.closed_form("bounded") or replace(own, delay=0.0).closed_form("bounded")
    assert found is not None
    return float(found.slow), float(found.fast)


@cache
def at_the_form() -> Outcome:
    """Reduce runs that give the bounded form, once for all tests that only read what comes of it."""
    return reproduce(bounded)


def verdicts(found: Outcome) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in found.document["claims"]}


def test_the_document_has_the_agreed_keys_and_is_plain_json() -> None:
    document = at_the_form().document
    assert list(document) == ["paper", "results_version", "command", "rows", "claims"]
    keys = ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
    assert all(list(row) == keys for row in document["rows"])
    assert len({(row["id"], row["quantity"]) for row in document["rows"]}) == len(document["rows"])
    text = json.dumps(document, allow_nan=False)
    assert text == json.dumps(reproduce(bounded).document, allow_nan=False)


def test_a_row() -> None:
    rows = {(row["id"], row["quantity"]): row for row in at_the_form().document["rows"]}
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
    assert rows["3.2-16384", "slow_throughput"]["published"] == 50.0
    assert rows["3.2-both-8192", "slow_throughput"]["closed_form"]["printed"] == pytest.approx(50.0, rel=0.1)
    assert ("3.2-one-way", "slow_throughput") not in rows
    assert rows["5.3", "slow_link_utilization"]["published"] == 1.0
    queue = rows["6.2", "slow_queue_data"]
    assert (queue["closed_form"], queue["simulated"]["mean"]) == ({"printed": None, "bounded": None}, 5)
    assert rows["6.2", "slow_queue_packets"]["simulated"]["mean"] == 45
    assert rows["5.5", "fast_efficiency"]["simulated"]["mean"] == pytest.approx(0.477, abs=5e-4)


def test_only_runs_with_a_shared_fifo_have_the_bound_of_theorem_2() -> None:
    found = at_the_form()
    bounds = {
        row["id"]: row["closed_form"]["printed"]
        for row in found.document["rows"]
        if row["quantity"] == "slow_queue_data" and row["closed_form"]["printed"] is not None
    }
    assert bounds == {
        "2.3": 43.0,
        **dict.fromkeys(("3.2-4096", "3.2-8192", "3.2-16384"), 7.046016),
        "3.2-both-8192": 15.046016,
        "3.2-both-16384": 31.046016,
    }
    assert CODE is not None
    assert CODE.theorem_2(FIGURES["6.2"].setup) == 43.0
    assert CODE.theorem_2(FIGURES["3.2-one-way"].setup) is None


def test_the_evidence_on_thresholds_says_why() -> None:
    claims = {claim["id"]: claim for claim in at_the_form().document["claims"]}
    for id_ in ("K7", "K8"):
        assert "within 0.0001 of it" in claims[id_]["evidence"]["notes"][-1]


def test_runs_that_do_what_the_bounded_forms_say() -> None:
    found = verdicts(at_the_form())
    assert {id_: verdict for id_, verdict in found.items() if "/" not in id_} == {
        "K1": "supported",
        "K2": "supported",
        "K3": "supported",
        "K4": "supported",
        "K5": "supported",
        "K6": "supported",
        "K7": "contradicted",
        "K8": "contradicted",
        "K9": "contradicted",
        "K10": "supported",
        "K11": "supported",
        "K12": "contradicted",
        "K13": "supported",
        "K14": "supported",
        "K15": "supported",
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
        "23 of 24 parts supported; 5.3, slow efficiency: 0.6 where at least 0.525 and at most 0.585 is "
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
    other = runs(lambda f: (0.2, 0.7) if f.id in ("4.3", "4.4-30-byte") else bounded(f))
    document = reduced(runs(bounded), {"ns-2": other}).document
    claims = {claim["id"]: claim for claim in document["claims"]}
    assert (claims["K2"]["verdict"], claims["K2"]["decided_by"]) == ("inconclusive", ["ns-2"])
    assert claims["K1/4.3"]["verdict"] == "inconclusive"
    assert claims["K1/4.4"]["verdict"] == "supported"
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
    document = reduced(runs(bounded, replications=9)).document
    assert {claim["verdict"] for claim in document["claims"]} == {"not judged"}
    assert {claim["reason"] for claim in document["claims"]} == {"9 replications, 10 are needed"}


def test_one_replication_gives_no_interval() -> None:
    document = reduced(runs(bounded, replications=1)).document
    assert document["rows"][0]["simulated"] == {"mean": 0.981675, "ci95": None, "n": 1}
    json.dumps(document, allow_nan=False)


def test_the_allocation_finding_names_the_nearer_form() -> None:
    assert "what the bounded form says" in at_the_form().findings[0][1]

    def printed(figure: Figure) -> Efficiencies:
        found = figure.setup.closed_form("printed")
        assert found is not None
        return float(found.slow), float(found.fast)

    assert "what the printed form says" in reproduce(printed).findings[0][1]


def test_curves_are_efficiencies_per_interval_with_sums() -> None:
    def lines(id_: str) -> dict[str, list[list[float]]]:
        found: dict[str, list[list[float]]] = {}
        for one in CODE.lines_of(FIGURES[id_].scenario, result(FIGURES[id_])):  # type: ignore[union-attr]
            assert one.x == [3.0, 6.0]
            found.setdefault(one.name, []).append(list(one.y))
        return found

    assert list(lines("5.3")) == ["slow (up0)", "fast (down0)"]
    assert lines("5.3")["slow (up0)"] == [pytest.approx([0.554734] * 2, abs=1e-6)]
    three = lines("5.5")
    assert {name: len(own) for name, own in three.items()} == {
        "slow, each": 3,
        "slow, together": 1,
        "fast, each": 3,
        "fast, together": 1,
    }
    assert three["slow, together"] == [pytest.approx([0.554734] * 2, abs=1e-6)]
    assert list(lines("3.2-one-way")) == ["fast (down0)"]
    assert lines("3.2-one-way")["fast (down0)"] == [pytest.approx([1638.4] * 2, rel=1e-6)]


def test_losses_and_long_queues_are_said() -> None:
    assert at_the_form().warnings == []
    found = runs(bounded)
    found["2.3"][0]["dropped"] = 4.0
    found["2.3"][1]["slow_queue_data"] = 44.0
    assert reduced(found).warnings == [
        "figure 2.3: packets were lost; the closed forms assume none",
        "figure 2.3: 44 data packets waited; Theorem 2 allows 43.0",
    ]
    found = runs(bounded)
    found["5.3-b8"][9]["slow_queue_data"] = 44.0
    assert reduced(found).warnings == [
        "figure 5.3-b8: 44 data packets waited; Theorem 2 is not about this scheme, but would allow 43.0",
    ]


def swept(
    id_: str, efficiencies: Callable[[Setup, Mapping[str, str]], Efficiencies], scheme: str
) -> dict[str, str]:
    """Put given efficiencies on a sweep; return what is said of each form in the caption of a scheme."""
    (sweep,) = (sweep for sweep in FULL.beyond if sweep.name == f"beyond/{id_}.toml")
    design, rows = sweep.campaign.design, []
    for treatment in design.treatments:
        levels = dict(zip(design.names, treatment.levels, strict=True))
        setup = Setup.of(sweep.campaign.scenario.override(*treatment.overrides))
        each = dict(zip(("slow_efficiency", "fast_efficiency"), efficiencies(setup, levels), strict=True))
        rows += [
            {**levels, "treatment": treatment.name, "replication": 0, "response": name, "value": value}
            for name, value in each.items()
        ]
    # the order of the table is not that of the grid
    measured = {sweep.name: Measurements(pl.DataFrame(rows[::-1]))}
    (figure,) = (one for one in FOLDER.file.figure if one.campaign == sweep.name)
    drawn = figure_of(FOLDER, figure, measured)[scheme]
    return dict(one.split(": ", 1) for one in drawn.distances().removesuffix(".").split("; ") if ": " in one)


def test_a_sweep_is_put_on_its_grid() -> None:
    def one_off(setup: Setup, levels: Mapping[str, str]) -> Efficiencies:
        form = setup.closed_form("bounded")
        assert form is not None
        off = (levels["asymmetry"], levels["ack"]) == ("2", "15")
        return float(form.slow), float(form.fast) - (0.25 if off else 0.0)

    assert swept("map", one_off, "bandwidth-allocation")["bounded"] == (
        "off by more than 0.03 at 1 of 80 points, at most by 0.250 (asymmetry 2, ACK size 15 bytes)"
    )


def test_a_sweep_without_a_form_says_so() -> None:
    found = swept("delay", lambda setup, levels: (0.5, 0.5), "ack-priority")
    assert found["printed"].startswith("off by more than 0.03 at 1 of 1 points")
    held = swept("delay", lambda setup, levels: (0.5, 0.5), "backpressure")
    assert "values outside [0, 1]" not in held["printed"]


def notes(document: Mapping[str, Any], claim: str) -> str:
    """Give what is said beside the verdict on a claim."""
    (found,) = (one for one in document["claims"] if one["id"] == claim)
    return " ".join(found["evidence"]["notes"])


def test_a_switch_decides_the_row_it_comes_near_to() -> None:
    """Figure 6.2 as one store-and-forward switch gives it: the printed numbers, not the bounded form."""
    other = runs(lambda f: (0.555, 0.477) if f.id in ("4.3", "6.2") else bounded(f))
    document = reduced(runs(bounded), {"switch": other}).document
    claims = {claim["id"]: claim for claim in document["claims"]}
    assert (claims["K9/6.2"]["verdict"], claims["K9/6.2"]["decided_by"]) == ("inconclusive", ["switch"])
    assert claims["K9/4.2"]["verdict"] == "contradicted"
    assert (claims["K1"]["verdict"], claims["K1"]["decided_by"]) == ("inconclusive", ["switch"])
    assert "Figure 6.2: 0.500 and 0.536 without, 0.555 and 0.477 with it" in notes(document, "K9")


def test_a_reading_votes_where_it_fits_what_the_section_prints() -> None:
    """Near as any in section 6, far off in section 4, where it would turn K2."""
    far = {"4.2": (0.712, 0.577), "4.4-30-byte": (0.54, 0.5), "6.2": (0.555, 0.477)}
    found = reduced(runs(bounded), {"switch": runs(lambda f: far.get(f.id, bounded(f)))})
    claims = {claim["id"]: claim for claim in found.document["claims"]}
    assert (claims["K2"]["verdict"], claims["K2"]["decided_by"]) == ("supported", [])
    assert claims["K2"]["judged_under"]["without"] == ["switch", "modem buffer"]
    assert claims["K1/4.2"]["verdict"] == "supported"
    assert (claims["K1/6.2"]["verdict"], claims["K1"]["decided_by"]) == ("inconclusive", ["switch"])
    (of_switch,) = (one for one in claims["K2"]["readings"] if one["id"] == "switch")
    assert of_switch["verdict"] == "not judged"
    assert of_switch["parts"][1]["mean"] == 0.54
    # four cells: the slow one of 4.2 is off by 0.212, the fast one by 0.343, those of 4.4 by a half unit
    reason = "does not fit what section 4 prints (off by 0.202 against "
    assert of_switch["parts"][1]["reason"].startswith(reason)
    assert f"switch {reason}" in found.findings[-1][1]


def test_what_is_nearer_than_the_paper_prints_is_not_better() -> None:
    """Section 5 as it is printed but for the rest of a digit: no reading is ruled out for less."""
    exact = {"5.3": (0.56, 0.48), "5.4": (0.172, 0.87), "5.6": (0.06, 0.2)}
    for off, out in ((0.0049, False), (0.012, True)):
        other = {id_: (slow + off, fast) for id_, (slow, fast) in exact.items()}
        base, under = (runs(lambda f, own=own: own.get(f.id, bounded(f))) for own in (exact, other))
        found = reduced(base, {"BSD": under})
        assert any("section 5" in text for _, text in found.findings) == out


def test_a_modem_that_loses_decides_the_jump() -> None:
    def lossy(figure: Figure) -> Efficiencies:
        return (0.7, 0.1194) if figure.id == "3.2-16384" else bounded(figure)

    some = runs(lossy)
    some["3.2-8192"][0]["fast"] = 90e3
    found = reduced(runs(bounded), {"BSD + modem buffer": some}).document
    assert "90 to 97 kbit/s with 8 KB, 1194 with 16 KB" in notes(found, "K12")

    document = reduced(runs(bounded), {"BSD + modem buffer": runs(lossy)}).document
    claims = {claim["id"]: claim for claim in document["claims"]}
    for id_ in ("K12", "K13", "K14"):
        found = claims[id_]
        assert (found["verdict"], found["decided_by"]) == ("inconclusive", ["BSD + modem buffer"]), id_
    assert "1194 with 16 KB, the slow connection then 35." in notes(document, "K12")
    assert "backs off" in notes(document, "K14")
    assert [part["printed"] for part in claims["K14"]["parts"]] == [50.0] * 3
    assert claims["K6"]["verdict"] == "supported"
    assert claims["K10"]["readings"][-1]["id"] == "BSD"


def test_the_verdict_on_a_sentence_names_the_formula_that_denies_it() -> None:
    assert "(5.13)" in notes(at_the_form().document, "K8")
    assert "0.057, 0.029, 0.014, 0.007 for b = 1, 2, 4 and 8" in notes(at_the_form().document, "K8")


def test_delays_and_equal_buffers_that_matter_contradict() -> None:
    far = {"5.3-80-ms": (0.44, 0.477), "3.2-both-8192": (0.98, 0.0061), "5.5": (0.555, 0.477)}
    found = runs(lambda figure: far.get(figure.id, bounded(figure)))
    for one in found["5.5"]:
        one["fast_fairness"] = 0.9
    judged = verdicts(reduced(found))
    assert [judged[id_] for id_ in ("K10", "K11", "K15")] == ["contradicted"] * 3


def test_a_reading_changes_settings_after_those_of_the_treatments_of_a_level() -> None:
    read = {reading.id: campaign for reading, (campaign,) in PLAN.read}
    at = {id_: {one.levels[-1]: one for one in own.design.treatments} for id_, own in read.items()}
    assert at["switch"]["5.3"] == at["BSD"]["5.3"]

    def meaning(id_: str, figure: str) -> Description:
        return read[id_].scenario.override(*at[id_][figure].overrides).describe()

    for figure, ack in (("4.2", 15), ("4.4", 40), ("4.4-30-byte", 30), ("6.4", 28)):
        hops = meaning("switch", figure).links
        assert [(hop.rate_bit_s, hop.pure_ack_bytes) for hop in hops] == [(1e5, ack), (5e6, ack)] * 2, figure
    (slow, _) = meaning("BSD + modem buffer", "3.2-16384").links
    assert slow.port.classes[0].limit == "24p"


@pytest.mark.parametrize(
    ("file", "text", "instead", "told"),
    [
        (
            "published/figure3_2.csv",
            "16384,one-way,1200",
            "16384,one-way,many",
            "line 2: `many` is not a number",
        ),
        (
            "published/figure3_2.csv",
            "16384,one-way",
            "16384,two-way",
            "`traffic` is `two-way`, but `one-way` is run",
        ),
        ("published/figure3_2.csv", "-8192,8192,", "-8192,4096,", "is `4096`, but 8192 to 8703 is run"),
        ("published/efficiencies.csv", "2.3,fifo,5,", "2.3,fifo,5,5,", "line 2: more cells than columns"),
        ("published/efficiencies.csv", "2.3,fifo", "2.3,lifo", "`scheme` has no level `lifo`"),
        ("published/efficiencies.csv", "2.3,fifo", "2.3,backpressure", "line 2: nothing is run for this row"),
        ("published/efficiencies.csv", "2.3,fifo", "2.9,fifo", "`figure` has no level `2.9`"),
        (
            "published/efficiencies.csv",
            "5.5,backpressure,5,100,1500,1500,28,65536,1,,3",
            "5.5,backpressure,5,100,1500,1500,28,65536,1,,2",
            "`connections_each_way` is `2`, but 3 is run",
        ),
        ("published/efficiencies.csv", "65536,,0.18", "6553,,0.18", "is `6553`, but 65536 to 65791 is run"),
        ("published/efficiencies.csv", "1,,1,0.172", "1,0.1,1,0.172", "`f` is `0.1`, but nothing is run"),
        (
            "published/efficiencies.csv",
            "f,connections_each_way",
            "g,connections_each_way",
            "column `g` is no factor",
        ),
        ("claims.toml", '= "bounded"', '= "bonded"', "nothing is called `bonded`"),
        ("claims.toml", '"10%"]', '"10"]', "a text is a share above zero"),
        ("claims.toml", 'response = "slow"\n', 'response = "slo"\n', "there is no response `slo`"),
        ("claims.toml", "network = { base", "net = { base", "there is no factor `net`"),
        ("claims.toml", "{ base = 1e5", "{ bass = 1e5", "`network` has no level `bass`"),
        ("claims.toml", "{ base = 1e5", "{ base = 0", "nothing is divided by zero"),
        (
            "claims.toml",
            'name = "fast_efficiency"',
            'name = "slow_efficiency"',
            "a second response is called",
        ),
        (
            "study.toml",
            'table = "efficiencies"',
            'tables = "efficiencies"',
            "there is no setting `tables` here",
        ),
        (
            "study.toml",
            '"5.3-b8", "5.3-20-ms", "5.3-40-ms", "5.3-80-ms"]',
            '"5.3-b9"]',
            "`figure` has no level `5.3-b9`",
        ),
        (
            "study.toml",
            '["3.2-4096", "3.2-8192", ',
            '["3.2-4096", ',
            "figure3_2.csv prints `slow_throughput` at figure = 3.2-8192",
        ),
        ("study.toml", 'K9 = "figure"', 'K0 = "figure"', "there is no claim `K0`"),
        ("study.toml", 'K9 = "figure"', 'K9 = "figures"', "there is no factor `figures`"),
        ("study.toml", "draw = { figure", "draw = { figures", "there is no factor and no group `figures`"),
        ("study.toml", '"beyond/map.toml", ', '"beyond/maps.toml", ', "beyond/maps.toml: No such file"),
        ("study.toml", 'reading = "switch"', 'reading = "swich"', "there is no reading `swich`"),
        ("study.toml", 'form = "printed"', 'form = "print"', "there is no form `print`"),
        ("study.toml", "{thresholds:", "{threshold:", "there is no value `threshold`"),
        ("study.toml", "{one_way:.0f}", "{one_way:.0x}", "Unknown format code 'x'"),
        ("study.toml", 'claims = ["K14"]', "", "it stands nowhere"),
        ("study.toml", 'claims = ["K14"]', 'claims = ["K41"]', "there is no claim `K41`"),
        (
            "study.toml",
            'asymmetry = "all", ack = "all" }',
            'asymmetry = "all" }',
            "a map needs two factors",
        ),
        (
            "readings.toml",
            'set = ["profile.stack.base=ns2"]',
            "change = { depth = 1 }",
            "'change' has depth, which is no level",
        ),
        (
            "readings.toml",
            'set = ["profile.stack.base=ns2"]',
            'change = { fifo = "x" }',
            "fifo is 'x', not a list of texts",
        ),
    ],
)
def test_a_damaged_file_is_told_before_anything_runs(
    file: str, text: str, instead: str, told: str, tmp_path: Path
) -> None:
    shutil.copytree(PACK, tmp_path / "kalampoukas")
    whole = (tmp_path / "kalampoukas" / file).read_text()
    assert text in whole
    (tmp_path / "kalampoukas" / file).write_text(whole.replace(text, instead, 1))
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "kalampoukas")
    assert told in " ".join(str(caught.value).split())


def test_a_published_table_that_is_missing_is_told(tmp_path: Path) -> None:
    shutil.copytree(PACK, tmp_path / "kalampoukas")
    (tmp_path / "kalampoukas" / "published" / "figure3_2.csv").unlink()
    with pytest.raises(StudyError, match=r"figure3_2\.csv: No such file"):
        load(tmp_path / "kalampoukas")


def test_every_claim_is_data() -> None:
    assert [claim.id for claim in FOLDER.claims] == [f"K{k}" for k in range(1, 16)]
    assert {part.predicate for claim in FOLDER.claims for part in claim.parts} == {None}


def test_every_figure_has_rows_and_is_run() -> None:
    rows = at_the_form().document["rows"]
    assert list(dict.fromkeys(row["id"] for row in rows)) == list(FIGURES)
    printed = {row["id"] for row in rows if row["published"] is not None}
    assert printed == {*FIGURES} - {one["id"] for one in rows if one["table"] == "extra"} - {"4.3", "5.5"}


def test_the_base_case_and_the_cable_modem() -> None:
    """What the tables of the paper do not hold: section 3's network, and who the unprinted runs are."""
    setups = {id_: figure.setup for id_, figure in FIGURES.items()}
    modem = Setup(
        scheme="fifo",
        fast_rate=1e7,
        slow_rate=5e4,
        fast_packet=512,
        slow_packet=512,
        ack=9,
        fast_window=4096,
        slow_window=4096,
        threshold=None,
        share=None,
        delay=0.0781504,
        connections=1,
        alone=False,
    )
    assert setups["3.2-4096"] == modem
    assert setups["3.2-8192"] == replace(modem, fast_window=8192)
    assert setups["3.2-16384"] == replace(modem, fast_window=16384)
    alone = setups["3.2-one-way"]
    assert (alone.alone, alone.fast_window, alone.delay) == (True, 16384, 0.0781504)
    assert setups["5.5-caption"] == replace(setups["5.5"], slow_packet=256, slow_window=65536)
    assert setups["4.4-30-byte"] == replace(setups["4.4"], ack=30)
    for b in (2, 4, 8):
        assert setups[f"5.3-b{b}"] == replace(setups["5.3"], threshold=b)


def test_three_connections_start_a_second_apart() -> None:
    flows = FIGURES["5.5"].scenario.describe().flows
    assert [(one.name, one.source, one.start_s, one.start_jitter_s) for one in flows] == [
        *((f"up{k + 1}", "slow", float(k), 1.0) for k in range(3)),
        *((f"down{k + 1}", "fast", float(k), 1.0) for k in range(3)),
    ]


def test_a_plan_runs_every_figure_under_every_reading() -> None:
    plan = FULL
    base, ns2, bsd, switch, modem, both, *beyond = plan.campaigns
    read = (base, ns2, bsd, switch, modem, both)
    assert [one.design.replications for one in read] == [10] * 6
    assert [base.scenario.seed, base.design.seeds] == [1, "common"]
    profiles = [
        base.scenario.override(f"profile.stack.base={name}").resolve()
        for name in ("rfc", "ns2", "bsd", "rfc", "rfc", "bsd")
    ]
    assert [one.scenario.resolve() for one in read] == profiles
    assert [one.name for one in beyond] == [sweep.campaign.name for sweep in plan.beyond]
    assert plan.left_out == ()


def test_a_quick_plan_has_whole_runs_and_says_what_it_left_out() -> None:
    quick, whole = PLAN, FULL
    assert quick.campaigns == whole.campaigns[:6]
    assert not any(
        "run.duration" in one for campaign in quick.campaigns for one in campaign.scenario.overrides
    )
    assert quick.left_out == ("the figures beyond the paper",)


_FIELDS = {"asymmetry": "fast_rate"}


def test_sweeps_vary_what_they_are_about() -> None:
    sweeps = {Path(sweep.name).stem: sweep.campaign for sweep in FULL.beyond}
    assert {id_: len(one.design.treatments) for id_, one in sweeps.items()} == {
        "map": 320,
        "threshold": 11,
        "share": 19,
        "delay": 204,
        "connections": 24,
    }
    for id_, campaign in sweeps.items():
        names = [name for name in campaign.design.names if name != "scheme"]
        for treatment in campaign.design.treatments[:: max(1, len(campaign.design.treatments) // 12)]:
            levels = dict(zip(campaign.design.names, treatment.levels, strict=True))
            setup = Setup.of(campaign.scenario.override(*treatment.overrides))
            ours = {
                "asymmetry": setup.fast_rate / setup.slow_rate,
                **{
                    name: getattr(setup, name)
                    for name in ("ack", "threshold", "share", "delay", "connections")
                },
            }
            assert [ours[name] for name in names] == [float(levels[name]) for name in names], (id_, levels)
            assert levels.get("scheme", setup.scheme) == setup.scheme
            fixed = {"fast_rate": 5e6, "ack": 28, "delay": 0.0, "connections": 1, "fast_packet": 1500}
            for name, value in fixed.items():
                if name not in [{"asymmetry": "fast_rate"}.get(one, one) for one in names]:
                    assert getattr(setup, name) == value, (id_, levels)


def test_with_delay_only_what_the_paper_prints_is_computed() -> None:
    base = {figure.setup.scheme: figure.setup for figure in FIGURES.values()}
    delayed = replace(base["backpressure"], delay=0.1, threshold=1)
    assert delayed.closed_form("printed") is not None
    assert delayed.closed_form("bounded") is None
    assert replace(delayed, threshold=2).closed_form("printed") is None
    assert replace(base["ack-priority"], delay=0.1).closed_form("printed") is None
    assert replace(base["fifo"], delay=0.1).closed_form("bounded") is not None


def test_commands_run_one_figure() -> None:
    found = at_the_form()
    (section,) = (one for one in CODE.sections(found) if one.id == "over-time")  # type: ignore[union-attr]
    commands = {one.id: one.command for one in section.drawings}
    assert commands["figure-6.5"] == (
        "perhop run papers/kalampoukas/bandwidth-allocation.toml"
        " -s 'flow.up.tcp.mss=256B' -s 'port.slow-fast.scheduler.share=0.18'"
    )
    assert "\n" not in commands["figure-5.5"]
