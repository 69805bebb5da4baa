"""Warnings of meaning in the levels of a campaign: each once, with the treatments it holds for."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.experiment.design import Design
from perhop.experiment.design_check import EVERYWHERE
from perhop.experiment.factors import Factor, Level

LESSON = Path(__file__).parents[1] / "examples" / "lessons" / "af.toml"
RATES = Factor.vary("link.edge-core.rate", ["4Mbit/s", "8Mbit/s"], "rate")
RULE = "the meters commit {} on `edge->core`, which has {}"


def cir(*rates: str) -> Factor:
    meter = (
        'conditioner.profile.meter={{ kind = "tr-tcm", cir = "{0}", pir = "{0}", cbs = "20p", pbs = "20p" }}'
    )
    return Factor("cir", tuple(Level(one, (meter.format(one),)) for one in rates))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.load(LESSON)


def warned(scenario: Scenario, *factors: Factor) -> list[tuple[tuple[str | int, ...], str]]:
    found = Design.full(factors).check(scenario)
    assert found.mistakes == []
    return [(one.at, one.rule) for one in found.warnings]


def test_a_level_is_warned_of_where_it_stands(scenario: Scenario) -> None:
    ((at, rule),) = warned(scenario, cir("2Mbit/s", "4.5Mbit/s"))
    assert at == ("factor", 0, "levels", "4.5Mbit/s")
    assert rule.startswith("cir=4.5Mbit/s: conditioner.profile.meter")
    assert rule.endswith(RULE.format("4500kbit/s", "4Mbit/s"))


def test_levels_that_are_doubtful_together_are_named_together(scenario: Scenario) -> None:
    ((_, rule),) = warned(scenario, RATES, cir("2Mbit/s", "4.5Mbit/s", "5Mbit/s"))
    assert rule.startswith("rate=4Mbit/s cir=4.5Mbit/s|5Mbit/s: conditioner")
    assert rule.endswith("(the numbers are those of rate=4Mbit/s cir=4.5Mbit/s)")


def test_treatments_that_no_levels_tell_apart_are_counted(scenario: Scenario) -> None:
    ((at, rule),) = warned(scenario, RATES, cir("2Mbit/s", "4.5Mbit/s", "9Mbit/s"))
    assert at == ("factor",)
    assert rule.startswith("rate=4Mbit/s cir=4.5Mbit/s and 2 more treatments: conditioner")


def test_what_every_treatment_has_is_the_scenarios(scenario: Scenario) -> None:
    ((at, rule),) = warned(scenario, cir("4.5Mbit/s", "9Mbit/s"))
    assert at == EVERYWHERE
    assert rule.startswith("conditioner.profile.meter")


def test_check_tells_each_warning_once(cli: Cli, tmp_path: Path) -> None:
    text = LESSON.read_text()
    (tmp_path / "af.toml").write_text(text)
    file = tmp_path / "c.toml"
    levels = 'levels = { low = [], high = ["conditioner.profile.meter.cir=4.5Mbit/s"] }'
    campaign = (
        'scenario = "af.toml"\n[[factor]]\nname = "cir"\n{}\n'
        '[[response]]\nname = "all"\nmeasure = "sum(flows.goodput_bit_s)"\n'
    )
    high = "conditioner.profile.meter.pir=5Mbit/s"
    file.write_text(campaign.format(levels.replace('["', f'["{high}", "')))
    done = cli("check", file)
    assert done.code == 0
    assert "c.toml: valid, 1 warning; campaign: 2 treatments" in done.out
    assert "cir=high: conditioner.profile.meter.cir: the meters commit 4500kbit/s on `edge->core`" in done.err
    assert "c.toml:4:" in done.err
    # what the scenario has everywhere is told with its place there
    (tmp_path / "af.toml").write_text(
        text.replace('cir = "2Mbit/s", pir = "3', 'cir = "4.5Mbit/s", pir = "5')
    )
    file.write_text(campaign.format('path = "run.duration"\nlevels = ["60s", "70s"]'))
    done = cli("check", file)
    assert done.err.count("the meters commit 4500kbit/s") == 1
    assert "af.toml:" in done.err
    # what no treatment has is not told
    low = "conditioner.profile.meter.cir=1Mbit/s"
    file.write_text(campaign.format(f'levels = {{ a = "{low}", b = ["{low}", "run.duration=70s"] }}'))
    assert cli("check", file).err == ""


def test_a_sweep_warns_of_its_values(cli: Cli, tmp_path: Path) -> None:
    vary = "link.edge-core.rate=1Mbit/s,4Mbit/s"
    short = ("-s", "run.duration=2s", "-s", "run.warmup=1s", "--replications", "1", "-j", "1")
    measure = ("--measure", "all=sum(flows.goodput_bit_s)", "-o", tmp_path / "out")
    done = cli("sweep", LESSON, "--vary", vary, *measure, *short)
    assert done.code == 0, done.err
    assert "warning: --vary: rate=1Mbit/s: conditioner.profile.meter.cir: the meters commit" in done.err
