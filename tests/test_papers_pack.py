"""Packs, verdicts, and the consistency of the study's files."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.judge.grammar import ClaimsError
from perhop.models.two_way_setup import Setup
from perhop.papers.error import PackError
from perhop.papers.form import StudyError
from perhop.papers.kalampoukas.figures import FIGURE, Figure, figures_of
from perhop.papers.kalampoukas.study import STUDY
from perhop.papers.laatu.study import STUDY as LAATU
from perhop.papers.pack import load_pack, pack_dir
from perhop.papers.study import load_study

PACK = load_pack("kalampoukas", FIGURE)


def figures() -> dict[str, Figure]:
    """Give the figures of the study, by id."""
    return {one.id: one for one in figures_of(PACK, STUDY.plan(quick=True).campaigns[0])}


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
            "csv:2: 16 cells for 15 columns",
        ),
        ("kalampoukas/published/efficiencies.csv", "2.3,fifo", "2.3,lifo", "'scheme' is 'lifo', not fifo, w"),
        ("kalampoukas/published/efficiencies.csv", "2.3,fifo", "2.9,fifo", "not run: efficiencies 2.9"),
        (
            "kalampoukas/published/efficiencies.csv",
            "5.5,backpressure,5,100,1500,1500,28,65536,1,,3",
            "5.5,backpressure,5,100,1500,1500,28,65536,1,,2",
            "'connections_each_way' is '2', not 3, which is run",
        ),
        (
            "kalampoukas/published/efficiencies.csv",
            "65536,,0.18",
            "6553,,0.18",
            "not 43 packets of 1500, which",
        ),
        ("kalampoukas/published/efficiencies.csv", "1,,1,0.172", "1,0.1,1,0.172", "'f' is '0.1', not empty"),
        ("kalampoukas/figures.toml", 'title = "Shared', 'tile = "Shared', "figure 2.3: unknown key 'tile'"),
        ("kalampoukas/figures.toml", 'id = "5.3-b8"', 'id = "5.3-b9"', "no treatment has figure '5.3-b9'"),
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
        ("feroz/figures.toml", "markers = ", "makers = ", "unknown key 'makers'; there is id, markers, "),
        ("feroz/figures.toml", "markers = ", "meaning = ", "unknown key 'meaning'; there is id, markers, "),
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
            'case = "aggregate"',
            "cases = 1",
            "unknown key 'cases'; there is case, ",
        ),
        (
            "laatu/readings.toml",
            'set = ["link.s-e1.delay=2.5ms"]',
            "change = { rtts_ms = [5] }",
            "reading 5 ms: 'change' has rtts_ms, which is no level of campaign laatu",
        ),
        (
            "kalampoukas/readings.toml",
            'set = ["profile.stack.base=ns2"]',
            "change = { depth = 1 }",
            "reading ns-2: 'change' has depth, which is no level of campaign kalampoukas",
        ),
        (
            "kalampoukas/readings.toml",
            'set = ["profile.stack.base=ns2"]',
            'change = { fifo = "x" }',
            r"reading ns-2: 'change': fifo is 'x', not a list of texts",
        ),
        ("feroz/readings.toml", "depth = 0.01", "depth = 0.02", "bucket of a packet: depth = 0.02 is not"),
        ("kalampoukas/readings.toml", 'quick = ["K1"', 'quick = ["K0"', "there is no claim `K0`"),
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
    monkeypatch.setattr("perhop.papers.pack.ROOTS", (tmp_path,))
    with pytest.raises((PackError, StudyError), match=told):
        load_study(key).plan(quick=False)


def test_a_quick_plan_reads_the_readings_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACK.folder.parent / "laatu", tmp_path / "laatu")
    with (tmp_path / "laatu" / "readings.toml").open("a") as file:
        file.write('[[reading]]\nid = "x"\nset = ["run.seed=2"]\n')
    monkeypatch.setattr("perhop.papers.pack.ROOTS", (tmp_path,))
    with pytest.raises(StudyError, match="`meaning` is missing"):
        LAATU.plan(quick=True)


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


@pytest.mark.parametrize(
    ("file", "text", "instead", "place", "told"),
    [
        ("laatu", "predicate = ", "predict = ", "46:1", "there is no setting `predict` here"),
        ("laatu", '"cir_utilization"\nat', '"cir_utilisation"\nat', "28:12", "there is no response `cir_u"),
        ("kalampoukas", '= "bounded"', '= "bonded"', "26:9", "nothing is called `bonded`"),
        ("kalampoukas", '"10%"]', '"10"]', "27:10", "a text is a share above zero"),
        ("feroz", '"1", marker', "1, marker", "20:17", "must be a string, not an integer"),
        ("feroz", 'tokens = "30"', 'tokens = "31"', "167:44", "`tokens` has no level `31`"),
        ("laatu", '"spread_at_most"', '"spread"', "46:13", "no predicate 'spread'; there is spread_at_most"),
        ("laatu", ", ratio = 0.5", "", "46:13", "'parameters' has no 'ratio'"),
        ("laatu", 'id = "L2"', 'id = "L1"', "25:6", "a second claim is called `L1`"),
        ("laatu", 'ours = "half"', "ours = 0.5", "47:8", "must be a string that is not empty, not a number"),
        ("papagiannaki", '{ C = "r" }\nbelow', '{ C = "x" }\nbelow', "33:16", "`C` has no level `x`"),
    ],
)
def test_a_mistake_in_claims_is_told_with_its_place_before_anything_runs(
    file: str, text: str, instead: str, place: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACK.folder.parent / file, tmp_path / file)
    path = tmp_path / file / "claims.toml"
    whole = path.read_text()
    assert text in whole
    path.write_text(whole.replace(text, instead, 1))
    monkeypatch.setattr("perhop.papers.pack.ROOTS", (tmp_path,))
    with pytest.raises(ClaimsError) as caught:
        load_study(file).plan(quick=False)
    assert told in caught.value.diagnostics[0]["rule"]
    line, column = (caught.value.diagnostics[0][name] for name in ("line", "column"))
    assert f"{line}:{column}" == place


def test_a_published_table_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACK.folder, tmp_path / PACK.key)
    (tmp_path / PACK.key / "published" / "figure3_2.csv").unlink()
    monkeypatch.setattr("perhop.papers.pack.ROOTS", (tmp_path,))
    with pytest.raises(PackError, match=r"figure3_2\.csv: is missing"):
        STUDY.plan(quick=False)


def test_an_unknown_pack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PackError, match="kalampoukas"):
        pack_dir("kalampukas")


def test_every_claim_is_data() -> None:
    assert [claim.id for claim in PACK.claims] == [f"K{k}" for k in range(1, 16)]
    assert {part.predicate for claim in PACK.claims for part in claim.parts} == {None}


@pytest.mark.parametrize(("left_out", "row"), [("4.3", "efficiencies 4.3"), ("3.2-8192", "8192 two-way")])
def test_a_published_row_that_is_not_run_is_refused(
    monkeypatch: pytest.MonkeyPatch, left_out: str, row: str
) -> None:
    fewer = tuple(table for table in PACK.figures if table["id"] != left_out)
    monkeypatch.setattr("perhop.papers.kalampoukas.study.load_pack", lambda *_: replace(PACK, figures=fewer))
    with pytest.raises(PackError, match=f"not run: .*{row}$"):
        STUDY.plan(quick=False)


def test_every_published_row_is_run() -> None:
    found = figures().values()
    ids = [figure.id for figure in found]
    assert len(ids) == len(set(ids))
    assert {row["figure"] for row in PACK.table("efficiencies")} <= set(ids)
    assert sum(figure.table == "figure3_2" for figure in found) == len(PACK.table("figure3_2"))
    design = STUDY.plan(quick=True).campaigns[0].design
    assert ids == [
        levels[design.names.index("figure")] for levels in (one.levels for one in design.treatments)
    ]
    assert all(figure.table in (*PACK.published, "extra") for figure in found)
    assert set().union(*(claim.levels("figure") for claim in PACK.claims)) <= set(ids)


def test_the_base_case_and_the_cable_modem() -> None:
    """What the tables of the paper do not hold: section 3's network, and who the unprinted runs are."""
    setups = {id_: figure.setup for id_, figure in figures().items()}
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
    scenario = STUDY.plan(quick=True).campaigns[0].scenario
    flows = scenario.override(*figures()["5.5"].overrides).describe().flows
    assert [(one.name, one.source, one.start_s, one.start_jitter_s) for one in flows] == [
        *((f"up{k + 1}", "slow", float(k), 1.0) for k in range(3)),
        *((f"down{k + 1}", "fast", float(k), 1.0) for k in range(3)),
    ]


def test_a_plan_runs_every_figure_under_every_reading() -> None:
    plan = STUDY.plan(quick=False)
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
    quick, whole = STUDY.plan(quick=True), STUDY.plan(quick=False)
    assert quick.campaigns == whole.campaigns[:6]
    assert not any(
        "run.duration" in one for campaign in quick.campaigns for one in campaign.scenario.overrides
    )
    assert any("maps" in text for text in quick.left_out)


def test_commands_run_one_figure() -> None:
    commands = {id_: figure.command() for id_, figure in figures().items()}
    assert commands["6.5"] == (
        "perhop run papers/kalampoukas/bandwidth-allocation.toml"
        " -s 'flow.up.tcp.mss=256B' -s 'port.slow-fast.scheduler.share=0.18'"
    )
    assert "\n" not in commands["5.5"]


_FIELDS = {"asymmetry": "fast_rate"}


def test_sweeps_vary_what_they_are_about() -> None:
    sweeps = {sweep.id: sweep.campaign for sweep in STUDY.plan(quick=False).beyond}
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
                if name not in [_FIELDS.get(one, one) for one in names]:
                    assert getattr(setup, name) == value, (id_, levels)


def test_with_delay_only_what_the_paper_prints_is_computed() -> None:
    base = {figure.setup.scheme: figure.setup for figure in figures().values()}
    delayed = replace(base["backpressure"], delay=0.1, threshold=1)
    assert delayed.closed_form("printed") is not None
    assert delayed.closed_form("bounded") is None
    assert replace(delayed, threshold=2).closed_form("printed") is None
    assert replace(base["ack-priority"], delay=0.1).closed_form("printed") is None
    assert replace(base["fifo"], delay=0.1).closed_form("bounded") is not None


def test_a_text_that_is_missing_is_told_with_its_file_and_its_key(tmp_path: Path) -> None:
    (tmp_path / "page.toml").write_text(
        'intro = "here"\n[sections]\nfit = "fitted"\n[[finding]]\ntitle = "t"\n'
    )
    words = replace(PACK, folder=tmp_path).toml("page.toml")
    assert words["sections"]["fit"] == "fitted"
    for table, key, told in (
        (words, "about", "has no 'about'; there is intro, sections, finding"),
        (words["sections"], "models", "has no 'sections.models'; there is fit"),
        (words["finding"][0], "text", "has no 'finding[0].text'; there is title"),
    ):
        with pytest.raises(PackError, match=re.escape(f"{tmp_path / 'page.toml'}: {told}")):
            table[key]
