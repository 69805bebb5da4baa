"""Packs, verdicts, and the consistency of the study's files."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.papers import PackError, Verdict, compound, document, judge, load_pack, pack_dir, part
from perhop.papers.kalampoukas.plan import make_plan
from perhop.papers.kalampoukas.predicates import PREDICATES
from perhop.papers.kalampoukas.setup import SCHEMES, Setup, with_connections
from perhop.papers.kalampoukas.sweeps import make_sweeps
from perhop.papers.verdict import Part
from perhop.stats.intervals import Interval

PACK = load_pack("kalampoukas")


def interval(low: float, high: float, n: int = 10) -> Interval:
    return Interval((low + high) / 2, low, high, n)


@pytest.mark.parametrize(
    ("low", "high", "n", "expected"),
    [
        (0.1, 0.2, 10, Verdict.SUPPORTED),
        (0.0, 1.0, 10, Verdict.SUPPORTED),
        (1.1, 1.2, 10, Verdict.CONTRADICTED),
        (-0.2, -0.1, 10, Verdict.CONTRADICTED),
        (0.9, 1.1, 10, Verdict.INCONCLUSIVE),
        (-1.0, 2.0, 10, Verdict.INCONCLUSIVE),
        (0.1, 0.2, 9, Verdict.INCONCLUSIVE),
        (1.1, 1.2, 9, Verdict.INCONCLUSIVE),
    ],
)
def test_an_interval_is_judged_against_a_range(low: float, high: float, n: int, expected: Verdict) -> None:
    assert judge(interval(low, high, n), 0.0, 1.0) is expected


def test_a_compound_claim() -> None:
    yes, no, perhaps = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
    assert compound([yes, yes]) is yes
    assert compound([yes, perhaps]) is perhaps
    assert compound([yes, perhaps, no]) is no
    assert compound([]) is perhaps


def test_a_part_in_json_has_no_infinity() -> None:
    assert part("x", Interval(1.0, float("-inf"), float("inf"), 1), low=0.5).to_json() == {
        "quantity": "x",
        "claimed": [0.5, None],
        "mean": 1.0,
        "ci95": None,
        "n": 1,
        "verdict": "inconclusive",
    }


@pytest.mark.parametrize(
    ("file", "text", "instead", "told"),
    [
        (
            "kalampoukas/published/figure3_2.csv",
            "16384,one-way,1200",
            "16384,one-way,many",
            "csv:2: column 'fast_thr",
        ),
        (
            "kalampoukas/published/efficiencies.csv",
            "2.3,fifo,5,",
            "2.3,fifo,5,5,",
            "csv:2: 15 cells for 14 columns",
        ),
        ("kalampoukas/published/efficiencies.csv", "2.3,fifo", "2.3,lifo", "'scheme' is 'lifo', not fifo or"),
        ("kalampoukas/published/efficiencies.csv", "2.3,fifo", "2.9,fifo", "not run: efficiencies 2.9"),
        ("kalampoukas/figures.toml", "set = []", "set = 5", "figure 2.3: 'set' is 5, not a list of texts"),
        (
            "feroz/published/tables1-5.csv",
            ",11,1.46,",
            ",nan,1.46,",
            "csv:2: column 'timeouts' is 'nan', not a number",
        ),
        (
            "feroz/published/tables6-7.csv",
            "friendly_mbps",
            "friend_mbps",
            "csv:2: no column 'friendly_mbps'; there is table, ",
        ),
        (
            "feroz/published/tables1-5.csv",
            "1,reno,10,1.5,token-bucket,18,2.28,17858,0.09\n",
            "",
            "no rows for 1 token",
        ),
        ("feroz/figures.toml", "markers = ", "makers = ", "unknown key 'makers'"),
        ("laatu/published/throughput.csv", ",0.87,", ",,", "csv:2: column 'mean' is '', not a number"),
        (
            "laatu/published/throughput.csv",
            "per-flow,cir_utilization",
            "per-flow,cir",
            "'metric' is 'cir', not cir_util",
        ),
        (
            "laatu/published/fairness.csv",
            "per-flow,excess,0.979,0.007\n",
            "",
            "per-flow: no row for excess_fairness",
        ),
        ("laatu/figures.toml", 'marking = "per-flow"', "making = 1", "case per-flow: setup: .*making"),
        ("laatu/claims.toml", "predicate = ", "predict = ", "claim L1: unknown key 'predict'"),
    ],
)
def test_a_damaged_file_of_a_pack_is_told_before_anything_runs(
    file: str, text: str, instead: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = file.partition("/")[0]
    shutil.copytree(PACK.folder.parent / key, tmp_path / key)
    whole = (tmp_path / file).read_text()
    assert text in whole
    (tmp_path / file).write_text(whole.replace(text, instead, 1))
    monkeypatch.setattr("perhop.papers.pack._ROOTS", (tmp_path,))
    with pytest.raises(PackError, match=told):
        importlib.import_module(f"perhop.papers.{key}.plan").make_plan()


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    pack = replace(PACK, folder=tmp_path)
    for text, told in (
        ("{", "not JSON"),
        ("[]", "has no 'points', 'chosen'"),
        ('{"points": 1}', "no 'chosen'"),
    ):
        (tmp_path / "calibration.json").write_text(text)
        with pytest.raises(PackError, match=f"calibration.json: .*{told}"):
            pack.record("calibration.json", ("points", "chosen"))


def test_a_claim_about_what_is_not_measured_is_told() -> None:
    (claim, *_) = (claim for claim in PACK.claims if claim.parameters)
    for parameters in ({"figures": ["7.7"]}, {"unheard": 1}):
        with pytest.raises(PackError, match=f"claim {claim.id}: parameters"):
            document.judge({claim.predicate: _needs}, {"6.2": 1.0}, replace(claim, parameters=parameters))


def _needs(measurements: dict[str, float], figures: list[str]) -> list[Part]:
    return [part("x", interval(measurements[id_], measurements[id_])) for id_ in figures]


def test_a_published_table_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACK.folder, tmp_path / PACK.key)
    (tmp_path / PACK.key / "published" / "figure3_2.csv").unlink()
    monkeypatch.setattr("perhop.papers.pack._ROOTS", (tmp_path,))
    with pytest.raises(PackError, match=r"figure3_2\.csv: is missing"):
        make_plan()


def test_an_unknown_pack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PackError, match="kalampoukas"):
        pack_dir("kalampukas")


def test_every_claim_has_a_predicate() -> None:
    assert [claim.id for claim in PACK.claims] == [f"K{k}" for k in range(1, 10)]
    assert {claim.predicate for claim in PACK.claims} <= set(PREDICATES)


@pytest.mark.parametrize(("left_out", "row"), [("4.3", "efficiencies 4.3"), ("3.2-8192", "8192 two-way")])
def test_a_published_row_that_is_not_run_is_refused(
    monkeypatch: pytest.MonkeyPatch, left_out: str, row: str
) -> None:
    fewer = tuple(table for table in PACK.figures if table["id"] != left_out)
    monkeypatch.setattr("perhop.papers.kalampoukas.plan.load_pack", lambda _: replace(PACK, figures=fewer))
    with pytest.raises(PackError, match=f"not run: .*{row}$"):
        make_plan()


def test_every_published_row_is_run() -> None:
    plan = make_plan()
    ids = [figure.id for figure in plan.figures]
    assert len(ids) == len(set(ids))
    assert {row["figure"] for row in PACK.table("efficiencies")} <= set(ids)
    assert sum(figure.table == "figure3_2" for figure in plan.figures) == len(PACK.table("figure3_2"))
    assert all(figure.table in (*PACK.published, "extra") for figure in plan.figures)
    known = {figure for claim in PACK.claims for figure in claim.parameters.get("figures", [])}
    assert known <= set(ids)


def test_overrides_say_what_the_published_parameters_say() -> None:
    for figure in make_plan().figures:
        if figure.table != "figure3_2":
            base = Setup(figure.setup.scheme, connections=figure.setup.connections)
            assert list(figure.overrides) == figure.setup.changes(base), figure.id


def test_scenarios_hold_the_base_case() -> None:
    for scheme in SCHEMES:
        scenario = tomllib.loads(PACK.scenario(f"{scheme}.toml").decode())
        (link,) = scenario["link"]
        assert link["rate"] == {"slow->fast": "100kbit/s", "fast->slow": "5Mbit/s"}
        assert (link["delay"], link["pure_ack_size"]) == ("0ms", "28B")
        tcp = {"mss": "1500B", "header": "0B", "window": "65536B"}
        assert [(flow["from"], flow["to"], flow["tcp"]) for flow in scenario["flow"]] == [
            ("slow", "fast", tcp),
            ("fast", "slow", tcp),
        ]
        assert scenario["run"]["interval"] == "3s"


def test_three_connections_are_the_base_scenario_repeated() -> None:
    base = PACK.scenario("backpressure.toml").decode()
    repeated = tomllib.loads(with_connections(base, 3))
    assert repeated == tomllib.loads(PACK.scenario("backpressure-three.toml").decode())
    assert with_connections(base, 1) == base


def test_plan_orders_replications_within_figures() -> None:
    plan = make_plan(replications=11, seed=7)
    assert len(plan.jobs) == 11 * len(plan.figures)
    text, name, overrides = plan.jobs[11 * 5 + 3]
    assert text == PACK.scenario("ack-priority.toml")
    assert name == "ack-priority.toml for figure 4.2"
    assert overrides == ["link.slow-fast.pure_ack_size=15B", "run.seed=7", "run.replication=3"]
    assert plan.left_out == ()


def test_a_quick_plan_keeps_the_replications_and_says_what_it_left_out() -> None:
    quick = make_plan(quick=True)
    assert quick.replications == 10
    assert all(job[2][-1] == "run.duration=480s" for job in quick.jobs)
    assert any("480s" in text for text in quick.left_out)
    assert any("replications" in text for text in make_plan(replications=3).left_out)


def test_a_plan_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="replications = 0"):
        make_plan(replications=0)


def test_commands_run_one_figure() -> None:
    figure = next(figure for figure in make_plan().figures if figure.id == "6.5")
    assert figure.command() == (
        "perhop run papers/kalampoukas/bandwidth-allocation.toml"
        " -s 'flow.up.tcp.mss=256B' -s 'port.slow-fast.scheduler.share=0.18'"
    )
    quick = make_plan(quick=True)
    assert quick.figures[0].command(quick.shorter).endswith("fifo.toml -s 'run.duration=480s'")
    assert make_plan().shorter == ()


def test_sweeps_have_one_job_per_point() -> None:
    sweeps = make_sweeps(seed=3)
    assert len({sweep.id for sweep in sweeps}) == len(sweeps)
    for sweep in sweeps:
        points = 1
        for axis in sweep.axes:
            points *= len(axis.values)
        assert len(sweep.jobs) == len(sweep.setups) == points
    by_id = {sweep.id: sweep for sweep in sweeps}
    last = by_id["map-fifo"].jobs[-1]
    assert last[2][:2] == [
        "link.slow-fast.rate.fast->slow=100000000bit/s",
        "link.slow-fast.pure_ack_size=60B",
    ]
    assert by_id["delay-backpressure"].jobs[2][2][0] == "link.slow-fast.delay=20000000ns"
    assert by_id["connections-fifo"].jobs[1][0].count(b"[[flow]]") == 4


def test_with_delay_only_what_the_paper_prints_is_computed() -> None:
    delayed = Setup("backpressure", delay=0.1)
    assert delayed.closed_form("printed") is not None
    assert delayed.closed_form("bounded") is None
    assert replace(delayed, threshold=2).closed_form("printed") is None
    assert Setup("ack-priority", delay=0.1).closed_form("printed") is None
    assert Setup("fifo", delay=0.1).closed_form("bounded") is not None
