"""Treatments in which a response would be zero without a word: warned of by `check`, and before any run."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from test_promises import LINE


def campaign(levels: str, measure: str) -> Path:
    Path("line.toml").write_text(LINE)
    file = Path("c.toml")
    file.write_text(
        f'scenario = "line.toml"\n[[factor]]\nname = "voice"\nlevels = {levels}\n'
        f"[[response]]\nname = \"lost\"\nmeasure = '{measure}'\n"
    )
    return file


OTHER = "{ plain = [], named = ['udp.voice.name=call'] }"
NONE = "{ plain = [], none = ['udp=[]'] }"
BOTH = "{ one = ['udp.voice.name=call'], two = ['udp.voice.name=call', 'link.r-b.delay=20ms'] }"


@pytest.mark.parametrize(
    ("levels", "measure", "said"),
    [
        (
            OTHER,
            'sum(udp.throughput_bit_s where name = "voice")',
            'voice=named: no row of `udp` will have name = "voice"',
        ),
        (NONE, 'count(udp where name = "voice") / 2', "voice=none: no row of `udp`"),
        (NONE, 'sum(classes.dropped_packets where class = "voice")', "voice=none: no row of `classes`"),
        (
            OTHER,
            'count(udp where class = "voice" and name in ("voice", "v"))',
            "voice=named: no row of `udp`",
        ),
        (BOTH, 'count(udp where name = "voice")', "every treatment: no row of `udp`"),
        # there are rows, or no value, which is seen
        (OTHER, 'count(udp where name in ("voice", "call"))', ""),
        (OTHER, 'count(udp where name = "voice" or class = "voice")', ""),
        (OTHER, 'count(udp where not name = "voice")', ""),
        (OTHER, 'count(udp where name != "voice")', ""),
        (OTHER, 'mean(udp.throughput_bit_s where name = "voice")', ""),
        (OTHER, 'count(links where name = "r->b" and packets > 1e9)', ""),
    ],
)
def test_a_level_that_takes_away_what_is_counted_is_warned_of(
    cli: Cli, levels: str, measure: str, said: str
) -> None:
    done = cli("check", campaign(levels, measure))
    assert done.code == 0, done.out
    assert ("so that `lost` counts 0 for it" in done.err) == bool(said), done.err
    assert said in done.err
    if said.startswith("voice="):
        assert "c.toml:4:" in done.err


def test_what_no_treatment_has_is_told_once(cli: Cli) -> None:
    done = cli("check", campaign(OTHER, 'count(udp where name = "vioce")'))
    assert 'will have name "vioce"' in done.err
    assert "counts 0" not in done.err


def test_a_sweep_and_a_campaign_warn_before_they_run(cli: Cli) -> None:
    measure = 'count(udp where name = "voice")'
    file = campaign(OTHER, measure)
    assert "voice=named: no row of `udp`" in cli("campaign", "plan", file).err
    short = ("-s", "run.duration=2s", "--replications", "1", "-j", "1")
    done = cli("sweep", "line.toml", "--vary", "udp.voice.name=voice,call", "--measure", measure, *short)
    assert done.code == 0, done.err
    assert done.err.count("warning: --vary: name=call: no row of `udp` will have") == 1


def test_a_campaign_tells_a_warning_of_its_scenario_once(cli: Cli) -> None:
    file = campaign("{ plain = [] }", "count(udp)")
    Path("line.toml").write_text(LINE + "tcp = { ecn = true }\n")
    assert cli("campaign", "plan", file).err.count("it has ECN in vain") == 1
