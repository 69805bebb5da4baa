"""Files of the study of two-way TCP: figures, readings, sweeps, plans, and what is told of a damaged one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perhop import ScenarioError
from perhop.models.two_way_setup import Setup
from perhop.papers.folder import load
from perhop.papers.form import StudyError
from perhop.scenario.scenario import Description
from test_papers_kalampoukas import FIGURES, FOLDER, FULL, PACK, PLAN, at_the_form


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
