"""The form of a scenario: it has every setting, and what is changed becomes overrides that mean it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perhop import Scenario
from perhop.serve.foremost import take_first
from perhop.serve.settings import Field, Group, form, laid_over, schema

STARTERS = Path(__file__).parents[1] / "python" / "perhop" / "starters"
FILES = [STARTERS / "two-way" / "two-way.toml", STARTERS / "access" / "access.toml"]
FILES += [
    STARTERS / "diffserv" / "diffserv.toml",
    Path(__file__).parents[1] / "examples" / "three-losses.toml",
]


def fields(groups: list[Group]) -> dict[str, Field]:
    """Return all fields of groups, by path."""
    found = {one.path: one for group in groups for one in group.fields}
    for group in groups:
        found |= fields(group.groups)
    return found


def made(scenario: Scenario, **given: str) -> Any:
    return form(scenario.resolve(), given)


def two_way() -> Scenario:
    return Scenario.load(FILES[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_form_left_as_it_is_changes_nothing(file: Path) -> None:
    scenario = Scenario.load(file)
    shown = made(scenario)
    assert shown.overrides == []
    assert not any(group.changed for group in shown.groups)
    same = made(scenario, **{path: one.text for path, one in fields(shown.groups).items()})
    assert same.overrides == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_value_of_a_form_can_be_written_as_an_override(file: Path) -> None:
    """Each field's path is one that the core knows, with the value that is there already."""
    scenario = Scenario.load(file)
    # `queue.kind` alone would be a table of another kind
    known = {path: one for path, one in fields(made(scenario).groups).items() if one.base}
    assert len(known) > 50
    for path, one in known.items():
        assert scenario.override(f"{path}={one.base}").check() == [], path


def test_the_form_has_what_the_schema_has() -> None:
    paths = fields(made(two_way()).groups)
    tcp, run = (schema()["$defs"][name]["properties"] for name in ("Tcp", "Run"))
    assert {f"flow.up.tcp.{name}" for name in tcp} <= set(paths)
    assert {f"run.{name}" for name in run} <= set(paths)
    assert paths["flow.up.tcp.cc"].choices == ("reno", "cubic", "dctcp", "prague", "bbr", "bbr3")
    assert paths["run.duration"].about == run["duration"]["description"]
    assert paths["run.packet_size"].hint == "such as 1460B"


@pytest.mark.parametrize(
    ("path", "text", "override"),
    [
        ("run.duration", "30s", "run.duration=30s"),
        ("run.seed", " 7 ", "run.seed=7"),
        ("flow.up.class", "5", 'flow.up.class="5"'),
        ("flow.up.tcp.ecn", "true", "flow.up.tcp.ecn=true"),
        ("flow.up.tcp.cc", "cubic", "flow.up.tcp.cc=cubic"),
        ("link.slow-fast.rate.slow->fast", "50kbit/s", "link.slow-fast.rate.slow->fast=50kbit/s"),
        ("run.series", '["averages"]', 'run.series=["averages"]'),
        ("port.slow-fast.class.data.queue.limit", "9p", "port.slow-fast.class.data.queue.limit=9p"),
    ],
)
def test_a_changed_field_is_an_override(path: str, text: str, override: str) -> None:
    shown = made(two_way(), **{path: text})
    assert shown.overrides == [override]
    after = two_way().override(*shown.overrides)
    assert after.check() == []
    assert fields(made(after).groups)[path].base == text.strip()


def test_another_kind_of_queue_brings_its_settings_and_is_written_as_a_whole() -> None:
    queue = "port.slow-fast.class.data.queue"
    shown = made(two_way(), **{f"{queue}.kind": "red", f"{queue}.limit": "40p"})
    paths = fields(shown.groups)
    assert f"{queue}.min_th" in paths
    assert f"{queue}.min_th" not in fields(made(two_way()).groups)
    assert "needs min_th, max_th, max_p" in two_way().unread(*shown.overrides).check()[0]["rule"]
    more = {
        f"{queue}.min_th": "5p",
        f"{queue}.max_th": "15p",
        f"{queue}.max_p": "0.1",
        f"{queue}.ecn": "true",
    }
    whole = made(two_way(), **{f"{queue}.kind": "red", f"{queue}.limit": "40p"}, **more)
    assert len(whole.overrides) == 1
    after = two_way().override(*whole.overrides)
    assert after.check() == []
    assert {path: fields(made(after).groups)[path].text for path in more} == more
    assert fields(made(after).groups)[f"{queue}.limit"].text == "40p"


def test_a_port_for_both_directions_stands_once() -> None:
    text = two_way().source.decode().replace('at = "slow"\nto = "fast"', 'between = ["slow", "fast"]')
    both = Scenario(text.encode(), "both")
    paths = fields(made(both).groups)
    assert "port.slow-fast.scheduler.share" in paths
    assert not [path for path in paths if path.startswith("port.fast-slow")]
    assert both.override(*made(both, **{"port.slow-fast.scheduler.share": "0.3"}).overrides).check() == []


def test_a_later_override_takes_the_place_of_an_earlier_one() -> None:
    before = ["run.seed=1", "a.queue.limit=2p", "a.queue.kind=x", "a.queuex=1", "b=1"]
    assert laid_over(before, ["a.queue={}", "run.seed=2"]) == [
        "a.queuex=1",
        "b=1",
        "a.queue={}",
        "run.seed=2",
    ]


def test_of_very_many_flows_some_are_left_out_and_it_says_so() -> None:
    text = two_way().source.decode()
    for number in range(60):
        text += f'\n[[flow]]\nname = "f{number}"\nfrom = "slow"\nto = "fast"\n'
    shown = form(Scenario(text.encode(), "many").resolve(), {})
    flows = next(group for group in shown.groups if group.title == "flow")
    assert (len(flows.groups), flows.left_out) == (40, 22)


def first(scenario: Scenario, **given: str) -> tuple[list[str], list[str]]:
    """Return the paths of the settings that come first, and of the others."""
    shown = made(scenario, **given)
    taken = [one.path for one in take_first(shown, scenario.describe())]
    return taken, list(fields(shown.groups))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_ten_settings_come_first_and_none_is_lost(file: Path) -> None:
    scenario = Scenario.load(file)
    taken, left = first(scenario)
    assert len(taken) == 10
    assert sorted([*taken, *left]) == sorted(fields(made(scenario).groups))


def test_the_slowest_link_and_direction_come_first() -> None:
    taken, _ = first(Scenario.load(STARTERS / "access" / "access.toml"))
    assert taken[2:4] == ["link.gateway-isp.rate.gateway->isp", "link.gateway-isp.delay"]
    assert "port.gateway-isp.scheduler.kind" in taken
    taken, _ = first(two_way())
    assert "port.slow-fast.scheduler.share" in taken
    assert "link.slow-fast.rate.fast->slow" not in taken


def test_the_settings_of_a_kind_just_chosen_stand_beside_it_once() -> None:
    queue = "port.slow-fast.class.acks.queue"
    taken, left = first(two_way(), **{f"{queue}.kind": "red"})
    assert len({*taken, *left}) == len(taken) + len(left)
    assert taken[0] == f"{queue}.kind"
    assert {f"{queue}.{name}" for name in ("min_th", "max_th", "max_p")} <= {*taken}
