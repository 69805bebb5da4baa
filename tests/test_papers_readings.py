"""`readings.toml`: what a pack lists, what is refused, and what becomes of settings; the real packs'."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.error import PackError
from perhop.papers.form import StudyError
from perhop.papers.of_folder import own_study
from perhop.papers.pack import Pack, load_pack
from perhop.papers.plan import under
from perhop.papers.readings import Reading, load_readings, unjudged_claims

LAATU = load_pack("laatu")
STUDY = own_study("laatu")
TWO = """
quick = ["L1"]
[[reading]]
id = "a"
meaning = "A"
set = ["x.y=1"]
[[reading]]
id = "b"
meaning = "B"
change = { depth = 2.0 }
claims = ["L2", "L3"]
[[pair]]
of = ["a", "b"]
"""


def pack_with(text: str, tmp_path: Path) -> Pack:
    (tmp_path / "readings.toml").write_text(text)
    return replace(LAATU, folder=tmp_path)


def test_readings_and_pairs(tmp_path: Path) -> None:
    pack = pack_with(TWO, tmp_path)
    assert load_readings(pack) == (
        Reading("a", "A", ("x.y=1",), {}, ("L1", "L2", "L3", "L4", "L5", "L6")),
        Reading("b", "B", (), {"depth": 2.0}, ("L2", "L3")),
        Reading("a + b", "A; B", ("x.y=1",), {"depth": 2.0}, ("L2", "L3"), ("a", "b")),
    )
    assert unjudged_claims(pack, quick=True) == {"L2", "L3", "L4", "L5", "L6"}
    assert unjudged_claims(pack, quick=False) == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('claims = ["L2", "L3"]', 'claims = ["L9"]', "reading[1].claims[0]: there is no claim `L9`"),
        ('id = "b"', 'id = "a"', "reading[1].id: a second reading is called `a`"),
        ('set = ["x.y=1"]', "", "reading[0]: it changes nothing"),
        ('meaning = "A"', "", "reading[0]: `meaning` is missing"),
        ("meaning =", "means =", "there is no setting `means` here"),
        ("[[pair]]", "[[pairs]]", "there is no setting `pairs` here"),
        ("[[pair]]", "[[pair]]\nset = []", "there is no setting `set` here"),
        ('id = "a"', 'id = "a"\nscenario = "a.toml"', "there is no setting `scenario` here"),
        ('id = "a"', 'id = ""', "reading[0].id: must be a string that is not empty, not an empty one"),
        ('claims = ["L2", "L3"]', "claims = []", "reading[1].claims: it is about no claim"),
        ('of = ["a", "b"]', 'of = ["a", "c"]', "pair[0].of: two readings of a, b make a pair"),
        ('of = ["a", "b"]', 'of = ["a"]', "pair[0].of: two readings of a, b make a pair"),
        ("change = { depth = 2.0 }", 'set = ["x.y=2"]', "both change x.y"),
        ('set = ["x.y=1"]', 'set = ["x.y=1"]\nclaims = ["L1"]', "both are about no claim"),
        ('of = ["a", "b"]', 'of = ["a", "b"]\nclaims = ["L1"]', "both are about L2, L3"),
        ("[[pair]]", '[[pair]]\nof = ["a", "b"]\n[[pair]]', "pair[1].of: a second pair of these"),
        ("quick =", "quack =", "there is no setting `quack` here"),
        ('quick = ["L1"]', "", "has no 'quick'"),
        ('quick = ["L1"]', 'quick = "L1"', "quick: must be an array, not a string"),
        ('quick = ["L1"]', 'quick = ["L1", "L9"]', "quick[1]: there is no claim `L9`"),
        ("[[pair]]", "[pair]", "pair: must be an array, not a table"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in TWO
    pack = pack_with(TWO.replace(old, new, 1), tmp_path)
    with pytest.raises((PackError, StudyError), match=re.escape(told)) as wrong:
        (load_readings(pack), unjudged_claims(pack, quick=False))
    assert "readings.toml" in str(wrong.value)


def test_a_pack_without_readings_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"readings\.toml: No such file"):
        load_readings(replace(LAATU, folder=tmp_path))


def test_a_setting_of_every_flow_becomes_one_for_each() -> None:
    reading = Reading("x", "", ("run.seed=2", "flow.*.ack.policy=delayed"))
    source = b'[[flow]]\nname = "up"\n[[flow]]\nname = "down"\n'
    assert reading.settings_of(source) == [
        "run.seed=2",
        "flow.up.ack.policy=delayed",
        "flow.down.ack.policy=delayed",
    ]
    anew = 'flow=[{ name = "other" }]'
    assert Reading("x", "", (anew, "flow.*.mark=EF")).settings_of(source) == [anew, "flow.other.mark=EF"]


@pytest.mark.parametrize("key", ["kalampoukas", "feroz", "laatu"])
def test_a_pack_names_the_readings_it_must(key: str) -> None:
    """Every claim has readings but those on our own algorithm; the guard of Reno is one where it matters."""
    pack = own_study(key).plan(quick=True).pack
    readings = load_readings(pack)
    covered = {claim for reading in readings for claim in reading.claims}
    assert {claim.id for claim in pack.claims} - covered == ({"F10"} if key == "feroz" else set())
    guards = [one for one in readings if any(text.endswith(".guard=off") for text in one.settings)]
    assert bool(guards) == (key != "kalampoukas")


def test_laatu_runs_both_markings_under_each_reading() -> None:
    plan = STUDY.plan(quick=False)
    assert [reading for reading, _ in plan.read] == list(load_readings(LAATU))
    for reading, (campaign,) in plan.read:
        assert campaign.design.replications >= MIN_REPLICATIONS
        assert [one.levels for one in campaign.design.treatments] == [("per-flow",), ("aggregate",)]
        for treatment in campaign.design.treatments:
            assert campaign.scenario.override(*treatment.overrides).check() == [], reading.id
    under = {reading.id: campaign.scenario for reading, (campaign,) in plan.read}
    both = {flow.name: flow for flow in under["steady background"].describe().flows}
    assert set(both) == {f"measured[{i}]" for i in range(4)}
    assert "every-segment" in under["steady background + every segment"].resolve()
    assert STUDY.plan(quick=True).read == ()


def test_a_campaign_is_not_run_under_a_change_of_parameters() -> None:
    (campaign, *_) = STUDY.plan(quick=True).fitted
    for change, told in (
        ({"share": 0.5}, "'change' has share, which is no level of campaign laatu"),
        ({"per-flow": 0.5}, "'change': per-flow is 0.5, not a list of texts"),
    ):
        with pytest.raises(ValueError, match=told):
            under(campaign, Reading("wider", "", (), change, ()))


def test_what_changes_by_level_comes_after_the_settings_of_a_treatment() -> None:
    (campaign, *_) = STUDY.plan(quick=True).fitted
    setting = "run.duration=7s"
    made = under(campaign, Reading("shorter", "", ("run.seed=3",), {"per-flow": [setting]}, ()))
    assert made.scenario.overrides == (*campaign.scenario.overrides, "run.seed=3")
    changed, same = made.design.treatments
    assert changed.overrides == (*campaign.design.treatments[0].overrides, setting)
    assert same == campaign.design.treatments[1]
