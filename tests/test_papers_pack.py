"""Packs, verdicts, and the consistency of the study's files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perhop.judge.grammar import ClaimsError
from perhop.papers import records
from perhop.papers.error import PackError
from perhop.papers.folder import own_folder, own_study
from perhop.papers.form import StudyError
from perhop.papers.plan import plan_of

PACKS = own_folder("kalampoukas").parent


@pytest.mark.parametrize(
    ("file", "text", "instead", "told"),
    [
        ("feroz/published/tables1-5.csv", ",11,1.46,", ",nan,1.46,", "line 2: `nan` is not a finite number"),
        ("feroz/published/tables6-7.csv", "marker", "mark", "column `mark` is no factor and no group"),
        (
            "feroz/published/tables1-5.csv",
            "\n1,token-bucket",
            "\n9,token-bucket",
            "`figure` has no level `9`",
        ),
        ("feroz/study.toml", 'read_by = "figure"', 'read_by = "table"', "there is no factor `table`"),
        ("feroz/study.toml", 'without = ["2-scaled"', 'without = ["2-scale"', "a level `2-scale`"),
        (
            "feroz/study.toml",
            '[under.change]\n3 = ["run.duration=20s"',
            '[under.change]\n3 = ["run.end=20s"',
            "run.end",
        ),
        ("papagiannaki/study.toml", 'without = ["1 lost"', 'without = ["9 lost"', "a level `9 lost`"),
        (
            "seddigh/study.toml",
            "[quick]",
            '[quick]\nwithout = ["over", "exact", "under"]',
            "no treatment is left",
        ),
        ("feroz/study.toml", "[quick.change]\n2 =", "[quick.change]\n8 =", "no factor has a level `8`"),
        ("laatu/published/throughput.csv", ",0.87,", ",much,", "line 2: `much` is not a number"),
        (
            "laatu/published/throughput.csv",
            "per-flow,cir_utilization",
            "per-flow,cir",
            "line 2: there is no response `cir`",
        ),
        ("laatu/published/fairness.csv", "component", "part", "fairness.csv has no column `component`"),
        ("laatu/published/fairness.csv", "per-flow,excess", "each,excess", "`case` has no level `each`"),
        (
            "laatu/readings.toml",
            'set = ["link.s-e1.delay=2.5ms"]',
            "change = { rtts_ms = [5] }",
            "reading 5 ms: 'change' has rtts_ms, which is no level of campaign laatu",
        ),
        ("feroz/readings.toml", "depth = 0.01", "depth = 0.02", "depth = 0.02 is not tried"),
        ("laatu/study.toml", "\nclaims = []", '\nclaims = ["K0"]', "there is no claim `K0`"),
    ],
)
def test_a_damaged_file_of_a_pack_is_told_before_anything_runs(
    file: str, text: str, instead: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = file.partition("/")[0]
    shutil.copytree(PACKS / key, tmp_path / key)
    whole = (tmp_path / file).read_text()
    assert text in whole
    (tmp_path / file).write_text(whole.replace(text, instead, 1))
    monkeypatch.setattr("perhop.papers.folder.OWN", tmp_path)
    with pytest.raises((PackError, StudyError), match=told):
        plan_of(own_study(key))


def test_a_quick_plan_reads_the_readings_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKS / "laatu", tmp_path / "laatu")
    with (tmp_path / "laatu" / "readings.toml").open("a") as file:
        file.write('[[reading]]\nid = "x"\nset = ["run.seed=2"]\n')
    monkeypatch.setattr("perhop.papers.folder.OWN", tmp_path)
    with pytest.raises(StudyError, match="`meaning` is missing"):
        own_study("laatu")


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    for text, told in (
        ("{", "not JSON"),
        ("[]", "has no 'points', 'chosen'"),
        ('{"points": 1}', "no 'chosen'"),
    ):
        path = tmp_path / "calibration.json"
        path.write_text(text)
        with pytest.raises(PackError, match=f"calibration.json: .*{told}"):
            records.read(path, ("points", "chosen"))


@pytest.mark.parametrize(
    ("file", "text", "instead", "place", "told"),
    [
        ("laatu", "runs = 5", "run = 5", "12:1", "there is no setting `run` here"),
        ("laatu", '"cir_utilization"\nat', '"cir_utilisation"\nat', "95:12", "there is no response `cir_u"),
        ("feroz", '"1", marker', "1, marker", "70:17", "must be a string, not an integer"),
        ("laatu", '"std"', '"sdev"', "11:13", "there is no statistic `sdev`"),
        ("laatu", "runs = 5", "runs = 1", "12:8", "it is over two runs or more"),
        ("laatu", 'of = ["throughput", "goodput"]', 'of = ["rate"]', "25:7", "there is no response `rate`"),
        ("laatu", '"{of}_min"', '"{of}_sdev"', "14:8", "a second response is called `cir_utilization_sdev`"),
        ("laatu", '"per_flow_goodput", "per', '"goodputs", "per', "70:54", "there is no response `goodputs`"),
        ("laatu", "beyond/constant", "beyond/tcp", "4:32", "tcp has other factors"),
        ("laatu", "beyond/constant", "beyond/cases", "4:32", "cases has a treatment that is there already"),
        ("laatu", "beyond/constant", "beyond/none", "4:32", "beyond/none.toml: No such file or directory"),
        ("laatu", 'id = "L2"', 'id = "L1"', "92:6", "a second claim is called `L1`"),
        ("laatu", 'ours = "half"', "ours = 0.5", "113:8", "must be a string that is not empty, not a number"),
        ("papagiannaki", '{ C = "r" }\nbelow', '{ C = "x" }\nbelow', "74:16", "`C` has no value `x`"),
    ],
)
def test_a_mistake_in_claims_is_told_with_its_place_before_anything_runs(
    file: str, text: str, instead: str, place: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKS / file, tmp_path / file)
    path = tmp_path / file / "claims.toml"
    whole = path.read_text()
    assert text in whole
    path.write_text(whole.replace(text, instead, 1))
    monkeypatch.setattr("perhop.papers.folder.OWN", tmp_path)
    with pytest.raises((ClaimsError, StudyError)) as caught:
        plan_of(own_study(file))
    assert told in caught.value.diagnostics[0]["rule"]
    line, column = (caught.value.diagnostics[0][name] for name in ("line", "column"))
    assert f"{line}:{column}" == place


def test_an_unknown_pack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PackError, match="kalampoukas"):
        own_folder("kalampukas")
