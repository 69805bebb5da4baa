"""Packs, verdicts, and the consistency of the study's files."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.judge.grammar import ClaimsError
from perhop.papers.error import PackError
from perhop.papers.form import StudyError
from perhop.papers.laatu.study import STUDY as LAATU
from perhop.papers.pack import load_pack, pack_dir
from perhop.papers.study import load_study

PACK = load_pack("kalampoukas")


@pytest.mark.parametrize(
    ("file", "text", "instead", "told"),
    [
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
        ("feroz/readings.toml", "depth = 0.01", "depth = 0.02", "bucket of a packet: depth = 0.02 is not"),
        ("laatu/readings.toml", "quick = [", 'quick = ["K0", ', "there is no claim `K0`"),
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


def test_an_unknown_pack_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PackError, match="kalampoukas"):
        pack_dir("kalampukas")


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
