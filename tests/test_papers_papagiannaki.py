"""The study of ACK marking: its claims on printed and hand-made tables, its runs."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.cli.exit import ExitCode
from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.experiment.store import Store
from perhop.judge.campaign import JudgedClaim, judge_all
from perhop.judge.cells import Cells
from perhop.judge.measured import Floats, Measurements
from perhop.judge.verdict import Verdict
from perhop.papers.behind import runs_behind
from perhop.papers.folder import load, own_folder
from perhop.papers.folder_page import page_of
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, plan_of
from perhop.papers.reduce import reduce
from perhop.papers.reproduce import run_campaigns

FOLDER = load(own_folder("papagiannaki"), "papagiannaki")
STUDY = FOLDER
CODE: Any = FOLDER.code
(ABOUT,) = FOLDER.about
CLAIMS = {claim.id: claim for claim in FOLDER.claims}
assert ABOUT.subject.factorial is not None
LAYOUT = ABOUT.subject.factorial
assert FOLDER.fit is not None
FIT = FOLDER.fit
CONGESTION, MARKINGS, EVERYWHERE = CODE.CONGESTION, CODE.MARKINGS, "everywhere"
CELLS = LAYOUT.printed(lambda response, at: ABOUT.subject.reference("printed", response, at, None))
PRINTED: Mapping[str, Floats] = {name: CELLS[name].values[..., 0] for name in CODE.CLASSES}

ARMS = ("copy", "network 3", "1 lost", "2 lost", "3 lost")

#: middles of what Tables 6 and 7 print without an alpha mark
PRINTED_EFFECTS = {
    response: tuple(
        sum(CODE.ends(row)) / 2
        for row in CODE.printed("effects", response)[1:]
        if np.prod(CODE.ends(row)) > 0.0
    )
    for response in ("premium", "assured")
}

#: ids of claims, and what their parts are on Tables 2 and 4
HOLD = {
    "P1": (95.90, 1.64),
    "P2": (7.66,),
    "P3": (-0.0488,),
    "P4": (-0.0448, -0.0683, 0.0462),
    "P5": (0.0351, 0.0332, 0.9964, 0.9918),
    "P6": (0.0285, 0.0507),
    "P7": (-0.0168,),
    "P8": (87.28, 6.15),
    "P9": (-0.0920, -0.0846, 0.1765),
    "P10": (-0.0751, 0.0394, 0.0357),
    "P11": (-0.0235,),
    "P12": (1.2319, 1.2319, 0.9649, 0.9821),
    "P13": (0.0, 0.0412, 0.0412, 1.175, 0.0116, 0.0351, 0.0517, 1.2143),
    "P15": (1.2286, 1.2286),
    "P18": (0.0390, 0.0360),
    "P19": (0.0191,),
    "P20": (-0.0180, -0.0151),
    "P21": (-0.0074,),
    "P22": (0.3529,),
    "P23": (-0.0360,),
    "P24": (0.0116, 0.0351, 0.0309),
    # the effects of Tables 6 and 7 that have no alpha mark
    "P28": PRINTED_EFFECTS["premium"],
    "P29": PRINTED_EFFECTS["assured"],
}


@cache
def plan() -> Plan:
    return plan_of(STUDY)


def cell(values: Floats, marking: str, c: str) -> float:
    place = (own.index(level) for own, level in zip(LAYOUT.levels, (*marking, c), strict=True))
    return float(values[tuple(place)])


def scalars(cells: Mapping[str, Floats], n: int = MIN_REPLICATIONS, spread: float = 0.002) -> pl.DataFrame:
    """Make what a campaign would measure, were these its means; arms give what p-a-b gives."""
    noise, rows = np.random.default_rng(1), []
    for replication in range(n):
        for arm, markings in ((EVERYWHERE, MARKINGS), *((arm, ("pab",)) for arm in ARMS)):
            for marking in markings:
                for c in CONGESTION:
                    own = {name: cell(values, marking, c) for name, values in cells.items()}
                    own["best_effort"] = 0.2
                    own["assured_retransmissions"] = 900.0 + 9.0 * (marking[2] == "a")
                    own["premium_syn_timeouts"] = own["assured_syn_timeouts"] = 0.0
                    own["premium"] -= 0.01 * int(arm[0]) if arm.endswith("lost") else 0.0
                    rows += [
                        (
                            "",
                            f"{arm} {marking}",
                            arm,
                            *marking,
                            replication,
                            name,
                            c,
                            value + noise.normal(0.0, spread),
                        )
                        for name, value in own.items()
                    ]
    columns = ["key", "treatment", "arm", "P", "A", "B", "replication", "response", "C", "value"]
    return pl.DataFrame(rows, columns, orient="row")


def measured(frame: pl.DataFrame) -> Cells:
    found = ABOUT.measured([Measurements(frame)])
    assert isinstance(found, Cells)
    return found


def judged(frame: pl.DataFrame, *ids: str) -> dict[str, JudgedClaim]:
    some = replace(ABOUT.claims, claims=tuple(CLAIMS[id_] for id_ in ids))
    return {one.claim.id: one for one in judge_all(ABOUT.checked._replace(claims=some), measured(frame))}


def verdicts(frame: pl.DataFrame, *ids: str) -> dict[str, Verdict]:
    return {id_: one.verdict for id_, one in judged(frame, *ids).items()}


def turned(axis: int, order: tuple[int, int, int]) -> dict[str, Floats]:
    """Give the printed tables with the levels of a factor exchanged."""
    return {name: np.take(values, order, axis) for name, values in PRINTED.items()}


@cache
def once() -> pl.DataFrame:
    """Give the printed tables as one replication."""
    return scalars(PRINTED, 1, 0.0)


# the printed tables


@pytest.mark.parametrize("id_", HOLD)
def test_a_claim_holds_on_the_printed_tables(id_: str) -> None:
    parts = judged(once(), id_)[id_].parts
    found = [part.printed for part in parts]
    error = {**dict.fromkeys(("P1", "P2", "P8"), 0.006), **dict.fromkeys(("P28", "P29"), 0.0021)}
    assert found == pytest.approx(HOLD[id_], abs=error.get(id_, 6e-5))
    assert all(
        part.low <= value <= part.high for part, value in zip(parts, found, strict=True) if value is not None
    )


def test_the_other_claims_cannot_be_judged_on_the_printed_tables() -> None:
    others = set(CLAIMS) - set(HOLD)
    assert others == {"P14", "P16", "P17", "P25", "P26", "P27", "P30"}
    for id_ in others:
        parts = judged(once(), id_)[id_].parts
        assert [part.printed for part in parts] == [None] * len(parts)


def test_the_effects_of_the_printed_tables_are_the_printed_effects() -> None:
    for response, cube in CELLS.items():
        for row in CODE.printed("effects", response)[1:]:
            levels = dict(zip(row["component"], row["level"], strict=True))
            assert cube.effect_of(levels) == pytest.approx(float(row["effect"]), abs=0.0021)


def test_table_8_repeats_cells_of_table_4() -> None:
    with (FOLDER.folder / "published" / "table8.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 6
    for row in rows:
        assert float(row["assured_mbps"]) == cell(PRINTED["assured"], row["strategy"], row["C"])


def outcome(cells: Mapping[str, Floats]) -> Outcome:
    """Give an outcome of runs as printed, and of these printed tables."""
    m = replace(
        measured(once()), printed=lambda name, at: cell(cells[name], at["P"] + at["A"] + at["B"], at["C"])
    )
    return Outcome(document={}, measured={"campaign.toml": m}, read={}, shown={"campaign.toml": m})


def test_what_is_false_on_the_papers_own_tables() -> None:
    found = CODE.tables(outcome(PRINTED))
    assert found["over_p"] == "p 0.903, a 0.931, b 0.880"
    assert (found["best"], found["best_at_r"]) == ("Assured", "Assured")
    assert (found["at_r"], f"{found['margin']:.3f}") == ("p 0.900, a 0.904, b 0.763", "0.012")
    assert f"{found['gain']:+.3f}" == "+0.004"
    assert (f"{found['half']:.4f}", found["hold"]) == ("0.0068", "hold 0")
    assert (found["lose"], found["losses"].count("against")) == (3, 3)
    assert (f"{found['least']:.2f}", f"{found['most']:.2f}") == ("0.43", "0.58")
    assert f"{found['twenty']:.1%}" == "22.9%"
    assert f"{found['pairs']:.2f}" == "37.05"


def test_which_marks_are_best_is_read_off_the_tables() -> None:
    """With the levels of P in another order the same statements name another mark."""
    found = CODE.tables(outcome(turned(0, (1, 0, 2))))
    assert (found["best"], found["best_at_r"]) == ("Premium", "Premium")
    assert f"{found['gain']:+.3f}" == "-0.004"


def test_each_printed_interval_implies_an_error() -> None:
    text = CODE.implied(outcome(PRINTED))
    assert "premium C/P: ± 0.0048, so s = 0.032" in text
    assert "premium A/B: ± 0.0533, so s = 0.357" in text


# predicates


def test_claims_are_supported_by_runs_as_printed() -> None:
    found = verdicts(scalars(PRINTED), *CLAIMS)
    assert {id_ for id_, verdict in found.items() if verdict is not Verdict.SUPPORTED} == set()


@pytest.mark.parametrize(
    ("axis", "order", "contradicted"),
    [
        pytest.param(3, (1, 0, 2), ("P3", "P4", "P9", "P10", "P21"), id="r and f exchanged"),
        pytest.param(0, (2, 1, 0), ("P4", "P5", "P7", "P23"), id="Premium's p and b exchanged"),
        pytest.param(0, (1, 0, 2), ("P6",), id="Premium's p and a exchanged"),
        pytest.param(1, (2, 1, 0), ("P10", "P12", "P18", "P20"), id="Assured's p and b exchanged"),
        pytest.param(2, (0, 2, 1), ("P11", "P19"), id="Best-Effort's a and b exchanged"),
    ],
)
def test_claims_are_contradicted_by_exchanged_levels(
    axis: int, order: tuple[int, int, int], contradicted: tuple[str, ...]
) -> None:
    found = verdicts(scalars(turned(axis, order)), *contradicted)
    assert found == dict.fromkeys(contradicted, Verdict.CONTRADICTED)


def test_outliers_of_one_marking_and_a_starved_class_are_told() -> None:
    frame = scalars(PRINTED)
    assert set(verdicts(frame, "P27", "P30").values()) == {Verdict.SUPPORTED}
    one = (
        (pl.col("P") == "b") & (pl.col("A") == "a") & (pl.col("B") == "b") & (pl.col("response") == "premium")
    )
    noise = pl.Series(np.random.default_rng(4).normal(0.0, 0.2, frame.height))
    bursts = frame.with_columns(value=pl.col("value") + pl.when(one).then(noise).otherwise(0.0))
    assert verdicts(bursts, "P27") == {"P27": Verdict.CONTRADICTED}
    cell = (pl.col("P") == "p") & (pl.col("C") == "f") & (pl.col("response") == "best_effort")
    starved = frame.with_columns(value=pl.when(cell).then(0.01).otherwise(pl.col("value")))
    assert verdicts(starved, "P30") == {"P30": Verdict.CONTRADICTED}


def test_claims_about_variation_can_fail() -> None:
    flat = {name: np.full_like(values, 0.8) for name, values in PRINTED.items()}
    found = verdicts(scalars(flat), "P13", "P15", "P22")
    assert found.pop("P13") is Verdict.INCONCLUSIVE  # near the best, but not better than b-b-b
    assert found.pop("P22") is Verdict.INCONCLUSIVE
    assert set(found.values()) == {Verdict.CONTRADICTED}
    # only all four together matter
    latin = 0.8 + 0.05 * (np.indices((3, 3, 3, 3)).sum(axis=0) % 3)
    found = verdicts(scalars(dict.fromkeys(flat, latin)), "P1", "P8")
    assert set(found.values()) == {Verdict.CONTRADICTED}
    # marks of Assured's ACKs do to Premium what Premium's do, and Assured is moved as little as Premium
    swapped = {name: PRINTED["premium"].swapaxes(0, 1) for name in PRINTED}
    found = verdicts(scalars(swapped), "P2", "P22")
    assert found == {"P2": Verdict.CONTRADICTED, "P22": Verdict.INCONCLUSIVE}


@pytest.mark.parametrize(("factor", "contradicted"), [(0.5, ("P13", "P23")), (2.0, ("P24",))])
def test_claims_about_the_best_marking_can_fail(factor: float, contradicted: tuple[str, ...]) -> None:
    """p-a-b half as good as printed, or twice as good: the best for both classes everywhere."""
    changed = {name: values.copy() for name, values in PRINTED.items()}
    for values in changed.values():
        values[0, 1, 2] *= factor
    found = verdicts(scalars(changed, spread=1e-9), *contradicted)
    assert found == dict.fromkeys(contradicted, Verdict.CONTRADICTED)


def test_the_ranges_of_both_classes_are_what_the_claim_says_of_the_printed_tables() -> None:
    ranges = []
    for name in ("assured", "premium"):
        means = PRINTED[name].mean(axis=(0, 1, 2))
        ranges.append((means.max() - means.min()) / means.mean())
    assert f"{ranges[0]:.0%} against {ranges[1]:.0%}" == "44% against 9%"
    assert "range" in CLAIMS["P22"].ours
    assert "44 against 9 %" in CLAIMS["P22"].ours
    # and Premium's least is not where the forward path is congested
    assert CONGESTION[int(PRINTED["premium"].mean(axis=(0, 1, 2)).argmin())] == "r"


def test_claims_about_arms_residuals_and_retransmissions_can_fail() -> None:
    frame = scalars(PRINTED)
    half = pl.when(pl.col("arm") == EVERYWHERE).then(pl.col("value")).otherwise(pl.col("value") / 2)
    assert set(verdicts(frame.with_columns(value=half), "P16", "P26").values()) == {Verdict.CONTRADICTED}
    fewer = pl.when(pl.col("response") == "assured_retransmissions").then(-pl.col("value")).otherwise("value")
    assert verdicts(frame.with_columns(value=fewer), "P17")["P17"] is Verdict.CONTRADICTED
    # one run in three of every cell far off: neither normal nor by setting a tenth aside
    shifted = pl.when(pl.col("replication") % 3 == 0).then(pl.col("value") - 0.3).otherwise("value")
    found = verdicts(frame.with_columns(value=shifted), "P14", "P25")
    assert set(found.values()) == {Verdict.CONTRADICTED}


def test_few_replications_judge_nothing() -> None:
    assert set(verdicts(scalars(PRINTED, n=2), "P3", "P8", "P15").values()) == {Verdict.NOT_JUDGED}


def test_a_missing_cell_is_told() -> None:
    frame = scalars(PRINTED).filter(~((pl.col("P") == "b") & (pl.col("C") == "t")))
    found = judged(frame, "P1", "P3")
    assert {one.verdict for one in found.values()} == {Verdict.NOT_JUDGED}
    assert all((part.reason or "").startswith("not measured") for one in found.values() for part in one.parts)


# the document and the page


def test_the_document_and_the_page() -> None:
    short = plan_of(STUDY, quick=True)
    done = reduce(short, short.results([scalars(PRINTED)], []), "perhop reproduce papagiannaki --quick", 1)
    rows = {(row["table"], row["id"], row["quantity"]): row for row in done.document["rows"]}
    assert len(rows) == len(done.document["rows"])
    assert {table for table, _, _ in rows} == {"2", "3", "4", "5", "6", "7", "8", "extra"}
    for row in rows.values():
        if row["unit"] == "Mbit/s" and row["published"] is not None and row["table"] in ("2", "4", "8"):
            assert row["simulated"]["mean"] == pytest.approx(row["published"], abs=0.02)
            assert row["simulated"]["n"] == 3
    assert all(claim["verdict"] == "not judged" for claim in done.document["claims"])
    done.document.update(runs_behind(short))
    page = page_of(STUDY, done)
    for words in (
        "The runs behind the verdicts",
        "perhop run papers/papagiannaki/y.toml -s run.duration=100s",
        '<a href="#runs-1">as fitted</a>',
        "Figure 7",
        "Figures 2, 3 and 4: Premium: normal Q-Q",
        "Figures 5 and 6: Assured: residuals",
        "Section 7: p-a-b outperforms b-b-b",
        "What a marking loses",
        "sends again",
    ):
        assert words in page


@pytest.mark.parametrize("timeouts", [0.0, 1.0])
def test_lost_syns_are_told_as_they_were_counted(timeouts: float) -> None:
    is_syn = pl.col("response") == "premium_syn_timeouts"
    frame = scalars(PRINTED).with_columns(value=pl.when(is_syn).then(timeouts).otherwise("value"))
    alone = plan().at_fit()
    done = reduce(alone, alone.results([frame], []), "", 1)
    text = dict(done.findings)["Lost SYNs and outliers"]
    assert f"810 values of Premium {810 * timeouts:.0f} time-outs of SYNs were counted" in text
    assert ("all flows start into empty queues" in text) == (timeouts == 0.0)


@pytest.mark.usefixtures("undrawn")
def test_every_claim_is_judged_under_every_reading() -> None:
    found = plan()
    frames = [scalars(PRINTED), *(scalars(turned(3, (1, 0, 2))) for _ in found.read)]
    done = reduce(found, found.results(frames, []), "perhop reproduce papagiannaki", 1)
    claims = {claim["id"]: claim for claim in done.document["claims"]}
    assert claims["P3"]["verdict"] == "inconclusive"
    assert claims["P3"]["decided_by"] == [reading.id for reading, _ in found.read]
    # b-b-b and a-a-a are fitted; p-a-b and p-p-p were seen by the search by hand
    assert {id_ for id_, claim in claims.items() if claim["in_sample"]} == {
        "P12",
        "P13",
        "P15",
        "P16",
        "P23",
        "P26",
    }
    assert all(part["in_sample"] for part in claims["P13"]["parts"])
    assert page_of(STUDY, done)


# the runs


def test_the_treatments_mark_what_they_say() -> None:
    first = plan().campaigns[0]
    assert (len(first.design.treatments), first.design.replications) == (32, MIN_REPLICATIONS)
    for one in first.design.treatments:
        arm = one.levels[3]
        resolved = resolved_conditioners(first.scenario.override(*one.overrides))
        for name in ("acks", "acks-3"):
            marking = resolved[name]["ack_marking"]
            if arm == "copy":
                assert marking["kind"] == "copy"
            elif arm == "network 3" and name == "acks-3":
                assert marking["kind"] == "best-effort"
            else:
                names = {"p": "EF", "a": "AF11", "b": "BE"}
                wanted = [names[mark] for mark in one.levels[:3]]
                assert [marking["marks"][name] for name in ("premium", "assured", "best-effort")] == wanted


def test_every_reading_and_every_level_of_the_calibration_is_a_valid_scenario() -> None:
    found = plan()
    keys = {one.scenario.key().treatment for one in found.campaigns}
    assert len(keys) == len(found.campaigns) == 1 + len(found.read)
    for reading, (one,) in found.read:
        assert one.scenario.check() == [], reading.id
        assert one.scenario.describe().run.duration_s == 260.0
    base = found.campaigns[0].scenario
    for reading in FOLDER.readings:
        own = FIT.under(reading.id)
        there = base.override(*reading.settings_of(base.source), *own.settings(own.before))
        for parameter in own.parameters.values():
            for settings in parameter.levels.values():
                assert there.override(*settings).check() == [], reading.id


def resolved_conditioners(scenario: Scenario) -> dict[str, Any]:
    import tomllib

    return {one["name"]: one for one in tomllib.loads(scenario.resolve())["conditioner"]}


def test_the_fitted_point_alone_leaves_out_the_readings_and_says_so(cli: Cli) -> None:
    whole = plan()
    alone = whole.at_fit()
    assert (alone.campaigns, alone.read) == (whole.fitted, ())
    assert "fitted point alone" in alone.left_out[-1]
    for arguments in (("--fitted",), ("papagiannaki", "--fitted", "--quick")):
        refused = cli("reproduce", *arguments)
        assert refused.code == ExitCode.USAGE
        assert "--fitted" in refused.err


def test_campaigns_share_a_store_and_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    """Two short campaigns one after the other; the second time there is nothing to run."""
    short = []
    for one in plan().campaigns[:2]:
        design = replace(one.design, treatments=one.design.treatments[:2], replications=1)
        short.append(
            replace(one, scenario=one.scenario.override("run.warmup=0s", "run.duration=3s"), design=design)
        )
    short[1] = replace(short[1], scenario=short[1].scenario.override("run.seed=2"))
    store = tmp_path / "runs"
    first = run_campaigns("papagiannaki", short, store, 2)
    assert [frame["treatment"].n_unique() for frame in first] == [2, 2]
    assert not first[0].equals(first[1])
    finished = Store.open(store).runs()["began"].to_list()
    again = run_campaigns("papagiannaki", short, store, 2)
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))
    assert Store.open(store).runs()["began"].to_list() == finished
