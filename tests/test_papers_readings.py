"""`readings.toml`: what a pack lists, what is refused, and what becomes of settings; the real packs'."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.papers import readings
from perhop.papers.campaigns import under
from perhop.papers.folder import own_study
from perhop.papers.form import StudyError
from perhop.papers.plan import plan_of
from perhop.papers.readings import Reading

STUDY = own_study("laatu")
TWO = """
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


def read(text: str) -> tuple[Reading, ...]:
    return readings.read(Path("readings.toml"), text.encode(), [f"L{k}" for k in range(1, 7)])


def test_readings_and_pairs() -> None:
    assert read(TWO) == (
        Reading("a", "A", ("x.y=1",), {}, ("L1", "L2", "L3", "L4", "L5", "L6")),
        Reading("b", "B", (), {"depth": 2.0}, ("L2", "L3")),
        Reading("a + b", "A; B", ("x.y=1",), {"depth": 2.0}, ("L2", "L3"), ("a", "b")),
    )


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
        ("[[pair]]", "[pair]", "pair: must be an array, not a table"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, told: str) -> None:
    assert old in TWO
    with pytest.raises(StudyError, match=re.escape(told)) as wrong:
        read(TWO.replace(old, new, 1))
    assert "readings.toml" in str(wrong.value)


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
    study = own_study(key)
    covered = {claim for reading in study.readings for claim in reading.claims}
    assert {claim.id for claim in study.claims} - covered == ({"F10"} if key == "feroz" else set())
    guards = [one for one in study.readings if any(text.endswith(".guard=off") for text in one.settings)]
    assert bool(guards) == (key != "kalampoukas")


def test_laatu_runs_both_markings_under_each_reading() -> None:
    plan = plan_of(STUDY, quick=False)
    assert [reading for reading, _ in plan.read] == list(STUDY.readings)
    for reading, (campaign,) in plan.read:
        assert campaign.design.replications >= MIN_REPLICATIONS
        assert [one.levels for one in campaign.design.treatments] == [("per-flow",), ("aggregate",)]
        for treatment in campaign.design.treatments:
            assert campaign.scenario.override(*treatment.overrides).check() == [], reading.id
    under = {reading.id: campaign.scenario for reading, (campaign,) in plan.read}
    both = {flow.name: flow for flow in under["steady background"].describe().flows}
    assert set(both) == {f"measured[{i}]" for i in range(4)}
    assert "every-segment" in under["steady background + every segment"].resolve()
    assert plan_of(STUDY, quick=True).read == ()


def test_a_campaign_is_not_run_under_a_change_of_parameters() -> None:
    (campaign, *_) = plan_of(STUDY, quick=True).fitted
    for change, told in (
        ({"share": 0.5}, "'change' has share, which is no level of campaign laatu"),
        ({"per-flow": 0.5}, "'change': per-flow is 0.5, not a list of texts"),
    ):
        with pytest.raises(ValueError, match=told):
            under(campaign, Reading("wider", "", (), change, ()))


def test_what_changes_by_level_comes_after_the_settings_of_a_treatment() -> None:
    (campaign, *_) = plan_of(STUDY, quick=True).fitted
    setting = "run.duration=7s"
    made = under(campaign, Reading("shorter", "", ("run.seed=3",), {"per-flow": [setting]}, ()))
    assert made.scenario.overrides == (*campaign.scenario.overrides, "run.seed=3")
    changed, same = made.design.treatments
    assert changed.overrides == (*campaign.design.treatments[0].overrides, setting)
    assert same == campaign.design.treatments[1]
