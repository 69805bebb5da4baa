"""Packs, verdicts, and the consistency of the study's files."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.papers import Asked, PackError, document, load_pack, pack_dir
from perhop.papers.kalampoukas.plan import make_plan
from perhop.papers.kalampoukas.predicates import PREDICATES
from perhop.papers.kalampoukas.setup import SCHEMES, Setup, with_connections
from perhop.papers.kalampoukas.sweeps import make_sweeps
from perhop.papers.laatu.plan import make_plan as laatu_plan
from perhop.papers.verdict import Part

PACK = load_pack("kalampoukas")


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
        ("feroz/figures.toml", "markers = ", "makers = ", "unknown key 'makers'; there is case, change, "),
        ("feroz/figures.toml", "markers = ", "meaning = ", "unknown key 'meaning'; there is case, change, "),
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
        (
            "laatu/figures.toml",
            'marking = "per-flow"',
            "making = 1",
            "case per-flow: setup: no parameter 'making'; th",
        ),
        ("laatu/claims.toml", "predicate = ", "predict = ", "claim L1: unknown key 'predict'"),
        (
            "kalampoukas/claims.toml",
            'form = "bounded"',
            'form = "bonded"',
            r"/kalampoukas/claims\.toml: claim K1: form is 'bonded', not one of 'printed', 'bounded'",
        ),
        (
            "kalampoukas/claims.toml",
            "{ tolerance = 0.03 }",
            '{ tolerance = "a" }',
            "claim K9: tolerance is 'a'",
        ),
        ("feroz/claims.toml", 'figure = "1"', "figures = 1", "F1: no parameter 'figures'; there is figure$"),
        (
            "laatu/claims.toml",
            '"higher"',
            '"hihger"',
            "L1: no predicate 'hihger'; there is higher, spread_at",
        ),
        ("laatu/claims.toml", ", ratio = 0.5", "", "L4: 'parameters' has no 'ratio'"),
        ("laatu/claims.toml", 'id = "L2"', 'id = "L1"', r"claims\.toml: claim L1: is there already"),
        ("laatu/claims.toml", 'ours = "half"', "ours = 0.5", "claim L4: 'ours' is 0.5, not a text"),
        (
            "laatu/readings.toml",
            'change = { recovery = "newreno" }',
            "change = { recover = 1 }",
            r"/laatu/readings\.toml: reading NewReno: no parameter 'recover'; there is meter, flows, rtts_ms",
        ),
        (
            "laatu/readings.toml",
            "rtts_ms = [5]",
            'rtts_ms = "5"',
            r"/laatu/readings\.toml: reading 5 ms: rtts_ms is '5', not a list of one finite number or more$",
        ),
        (
            "laatu/readings.toml",
            "rtts_ms = [5]",
            "rtts_ms = []",
            r"rtts_ms is \[\], not a list of one finite",
        ),
        ("laatu/readings.toml", "rtts_ms = [5]", 'rtts_ms = ["a"]', r"rtts_ms is \['a'\], not a list of one"),
        ("laatu/readings.toml", 'averaging = "shared"', "window_kb = true", "window_kb is True, not a whole"),
        (
            "laatu/readings.toml",
            'averaging = "shared"',
            'averaging = "apart"',
            "reading shared: averaging is 'apart', not one of 'decoupled', 'coupled', 'shared'",
        ),
        (
            "laatu/readings.toml",
            'averaging = "shared"',
            'meter = "tcp-friendly"',
            r"/laatu/readings\.toml: reading shared: tcp-friendly: one pool of tokens serves all flows",
        ),
        ("laatu/readings.toml", 'averaging = "shared"', 'marking = "per-flow"', "no parameter 'marking'"),
        (
            "laatu/figures.toml",
            'setup = { marking = "per-flow" }',
            'setup = { marking = "per-flow", meter = "tcp-friendly" }',
            r"/laatu/figures\.toml: case per-flow: setup: tcp-friendly: one pool of tokens",
        ),
        ("laatu/figures.toml", 'setup = { marking = "per-flow" }', "setup = {}", "setup: has no 'marking'"),
        (
            "kalampoukas/readings.toml",
            'set = ["flow.*.tcp.profile=ns2"]',
            "change = { depth = 1 }",
            r"/kalampoukas/readings\.toml: reading ns-2: 'change' has depth; this study has no parameters",
        ),
        ("feroz/readings.toml", "depth = 0.01", "depth = 0.02", "bucket of a packet: depth = 0.02 is not"),
        ("kalampoukas/readings.toml", 'quick = ["K1"', 'quick = ["K0"', "'quick': no claim 'K0'; there"),
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


def test_a_quick_plan_reads_the_readings_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACK.folder.parent / "laatu", tmp_path / "laatu")
    with (tmp_path / "laatu" / "readings.toml").open("a") as file:
        file.write('[[reading]]\nid = "x"\nset = ["run.seed=2"]\n')
    monkeypatch.setattr("perhop.papers.pack._ROOTS", (tmp_path,))
    with pytest.raises(PackError, match="reading x has no 'meaning'"):
        laatu_plan(quick=True)


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
    told = rf"kalampoukas/claims\.toml: claim {claim.id}: parameters .*'7\.7' is not measured"
    with pytest.raises(PackError, match=told):
        document.judge(
            {claim.predicate: _needs}, {"6.2": 1.0}, replace(claim, parameters={"figures": ["7.7"]})
        )


def _needs(measurements: dict[str, float], figures: list[str]) -> list[Part]:
    return [Asked("x", "size").mean([measurements[id_]] * 10) for id_ in figures]


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
        tcp = {"profile": "rfc", "mss": "1500B", "header": "0B", "window": "65536B"}
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
    assert len(plan.jobs) == 11 * len(plan.figures) * (1 + len(plan.readings))
    text, name, overrides = plan.jobs[11 * 5 + 3]
    assert text == PACK.scenario("ack-priority.toml")
    assert name == "ack-priority.toml for figure 4.2"
    assert overrides == ["link.slow-fast.pure_ack_size=15B", "run.seed=7", "run.replication=3"]
    _, name, overrides = plan.jobs[11 * len(plan.figures)]
    assert name == "fifo.toml for figure 2.3"
    assert overrides == [
        *("flow.up.tcp.profile=ns2", "flow.down.tcp.profile=ns2"),
        *("run.seed=7", "run.replication=0"),
    ]
    assert plan.left_out == ()


def test_a_quick_plan_has_whole_runs_and_says_what_it_left_out() -> None:
    quick = make_plan(quick=True)
    assert quick.replications == 10
    assert quick.jobs == make_plan().jobs
    assert not any("run.duration" in setting for job in quick.jobs for setting in job[2])
    assert any("maps" in text for text in quick.left_out)
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
