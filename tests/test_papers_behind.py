"""The runs behind verdicts are those that the command names."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from perhop import Scenario
from perhop.experiment.campaign import plan as planned
from perhop.papers.behind import runs_behind
from perhop.papers.folder import own_study
from perhop.papers.plan import plan_of

PLAN = plan_of(own_study("papagiannaki"))
BEHIND = runs_behind(PLAN)
ROOT = Path(__file__).parents[1]


def settings(command: str) -> list[str]:
    words = shlex.split(command)
    assert set(words[::2]) <= {"-s"}
    return words[1::2]


@pytest.mark.parametrize("place", [0, 2, -1])
def test_the_commands_of_a_campaign_make_its_runs(place: int) -> None:
    campaign, told = PLAN.campaigns[place], BEHIND["runs"][place]
    perhop, run, file, *common = shlex.split(told["command"])
    assert (perhop, run) == ("perhop", "run")
    base = Scenario.load(ROOT / file).override(*settings(shlex.join(common)))
    treatments = {one["name"]: settings(one["settings"]) for one in BEHIND["treatments"]}
    runs = planned(replace(campaign, design=replace(campaign.design, replications=2)))
    assert told["runs"] == len(runs) // 2 * told["replications"]
    for one in runs:
        own = treatments[campaign.design.treatments[one.treatment].name]
        assert base.override(*own, f"run.replication={one.replication}").key().hex() == one.key


def test_every_reading_and_every_treatment_is_there() -> None:
    assert [one["of"] for one in BEHIND["runs"]] == ["as fitted", *(reading.id for reading, _ in PLAN.read)]
    assert len(BEHIND["treatments"]) == 32
    assert {one["store"] for one in BEHIND["runs"]} == {"papagiannaki.runs"}


def test_several_campaigns_at_one_point_are_told_apart() -> None:
    (fitted,) = PLAN.fitted
    design = fitted.design
    other = replace(design.treatments[0], overrides=("run.duration=1s",))
    short = replace(fitted, name="short", design=replace(design, treatments=(other,)))
    found = runs_behind(replace(PLAN, fitted=(fitted, short), read=()))
    assert [one["of"] for one in found["runs"]] == [f"as fitted, {fitted.name}", "as fitted, short"]
    assert found["treatments"][-1] == {
        "name": f"{other.name} (as fitted, short)",
        "settings": "-s run.duration=1s",
    }


def test_random_numbers_that_are_not_common_are_refused() -> None:
    (fitted,) = PLAN.fitted
    apart = replace(fitted, design=replace(fitted.design, seeds="independent"))
    with pytest.raises(ValueError, match="not common"):
        runs_behind(replace(PLAN, fitted=(apart,)))
