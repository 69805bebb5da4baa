"""Queues, schedulers and meters in the place of a scenario's own: which, and that each is a scenario."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import perhop
from conftest import Cli
from perhop import Scenario
from perhop.experiment.store import Store
from perhop.recommend.elements import TRIED, elements

STARTERS = Path(perhop.__file__).parent / "starters"
ACCESS, DIFFSERV = STARTERS / "access" / "access.toml", STARTERS / "diffserv" / "diffserv.toml"
AF = (
    "-s",
    'port.gateway-isp.class.af1.match=["AF11", "AF12"]',
    "-s",
    'port.isp-gateway.class.af1.match=["AF11", "AF12"]',
)


def _levels(kind: str, scenario: Scenario) -> dict[str, tuple[str, ...]]:
    factor, _ = elements(kind, scenario)
    return {} if factor is None else {level.name: level.set for level in factor.levels}


def _class(scenario: Scenario, path: str, name: str) -> dict[str, Any]:
    at, to = path.split("-")
    ports = tomllib.loads(scenario.resolve())["port"]
    port = next(one for one in ports if (one["at"], one["to"]) == (at, to))
    return next(one for one in port["class"] if one["name"] == name)


@pytest.mark.parametrize("file", [ACCESS, DIFFSERV])
def test_each_candidate_is_a_scenario_of_its_own_without_mistakes(file: Path) -> None:
    scenario = Scenario.load(file)
    keys = {scenario.key().treatment}
    for kind in TRIED:
        for name, sets in _levels(kind, scenario).items():
            other = scenario.override(*sets)
            assert other.check() == []
            assert not [one for one in other.warnings() if one not in scenario.warnings()]
            keys.add(other.key().treatment) if name != "as it is" else None
    assert len(keys) == 1 + sum(max(0, len(_levels(kind, scenario)) - 1) for kind in TRIED)


def test_a_queue_has_the_limit_of_the_class_and_thresholds_in_parts_of_it() -> None:
    scenario = Scenario.load(ACCESS)
    levels = _levels("queue", scenario)
    assert list(levels) == ["as it is", "red", "codel", "pie", "cobalt", "fq", "cake"]
    codel = _class(scenario.override(*levels["codel"]), "gateway-isp", "best-effort")["queue"]
    assert {key: codel[key] for key in ("kind", "limit", "target", "interval")} == {
        "kind": "codel",
        "limit": "64kB",
        "target": "5ms",
        "interval": "100ms",
    }
    red = scenario.override(*levels["red"])
    queue = _class(red, "gateway-isp", "best-effort")["queue"]
    assert {key: queue[key] for key in ("kind", "limit", "min_th", "max_th", "max_p", "gentle")} == {
        "kind": "red",
        "limit": "64kB",
        "min_th": "10666B",
        "max_th": "32kB",
        "max_p": 0.1,
        "gentle": True,
    }
    assert _class(red, "gateway-isp", "ef")["queue"] == {"kind": "fifo", "limit": "16kB"}


def test_colours_are_tried_where_a_class_has_drop_precedences() -> None:
    _, left_out = elements("queue", Scenario.load(ACCESS))
    assert [one.split(":")[0] for one in left_out] == ["rio", "gred"]
    two = _levels("queue", Scenario.load(ACCESS, AF[1::2]))
    assert list(two) == ["as it is", "red", "codel", "pie", "cobalt", "fq", "cake", "rio"]
    # gred is what is there
    assert elements("queue", Scenario.load(DIFFSERV))[1] == ()
    three = _levels("queue", Scenario.load(DIFFSERV))
    assert list(three) == ["as it is", "fifo", "red", "codel", "pie", "cobalt", "fq", "cake", "rio"]


def test_a_scheduler_has_the_shares_that_are_there() -> None:
    scenario = Scenario.load(ACCESS)
    levels = _levels("scheduler", scenario)
    assert list(levels) == ["as it is", "strict-priority", "wrr", "drr", "wfq"]
    found = {name: scenario.override(*sets) for name, sets in levels.items()}
    names = ("ef", "af1", "best-effort")
    for kind in ("wrr", "wfq"):
        assert [_class(found[kind], "gateway-isp", one)["weight"] for one in names] == [2, 9, 9]
    assert [_class(found["drr"], "isp-gateway", one)["quantum"] for one in names] == [
        "1500B",
        "6750B",
        "6750B",
    ]
    # and back again
    back = _levels("scheduler", found["drr"])
    assert list(back) == ["as it is", "strict-priority", "wrr", "wfq", "cbq"]
    cbq = found["drr"].override(*back["cbq"])
    assert [_class(cbq, "gateway-isp", one)["share"] for one in names] == [0.1, 0.45, 0.45]
    equal = found["strict-priority"].override(*_levels("scheduler", found["strict-priority"])["wrr"])
    assert [_class(equal, "gateway-isp", one)["weight"] for one in names] == [1, 1, 1]


def test_a_queue_is_put_into_a_scheduler_s_classes() -> None:
    scenario = Scenario.load(ACCESS)
    both = (*_levels("scheduler", scenario)["drr"], *_levels("queue", scenario)["red"])
    one = _class(scenario.override(*both), "gateway-isp", "af1")
    assert (one["quantum"], one["queue"]["kind"]) == ("6750B", "red")


def test_a_meter_with_yellow_is_tried_where_a_class_takes_yellow() -> None:
    factor, left_out = elements("meter", Scenario.load(ACCESS))
    assert factor is None
    assert [one.split(":")[0] for one in left_out] == ["sr-tcm", "tr-tcm", "tsw3cm"]
    scenario = Scenario.load(ACCESS, AF[1::2])
    levels = _levels("meter", scenario)
    assert list(levels) == ["as it is", "sr-tcm", "tr-tcm", "tsw3cm"]
    two = ("tr-tcm", {"cbs": "20p", "pir": "3Mbit/s", "pbs": "40p"})
    for name, own in (("sr-tcm", {"cbs": "20p", "ebs": "20p"}), two, ("tsw3cm", {"pir": "3Mbit/s"})):
        found = tomllib.loads(scenario.override(*levels[name]).resolve())["conditioner"]
        by_name = {one["name"]: one for one in found}
        assert {"cir": "1500kbit/s", **own}.items() <= by_name["meeting"]["meter"].items()
        assert by_name["meeting"]["marker"] == {"green": "AF11", "yellow": "AF12", "red": "BE"}
        assert by_name["call"]["meter"]["kind"] == "token-bucket"
    assert list(_levels("meter", Scenario.load(DIFFSERV))) == ["as it is", "token-bucket", "sr-tcm", "tsw3cm"]


def test_yellow_is_the_drop_precedence_after_the_first() -> None:
    second = 'conditioner.meeting.marker={ green = "AF12", red = "BE" }'
    assert elements("meter", Scenario.load(ACCESS, (*AF[1::2], second)))[0] is None


def test_what_fits_nowhere_is_told() -> None:
    bare = (
        'port.gateway-isp.class=[{ name = "all", match = ["EF", "any"] }]',
        "port.gateway-isp.scheduler={ kind = 'strict-priority' }",
    )
    bare += tuple(one.replace("gateway-isp", "isp-gateway") for one in bare)
    _, left_out = elements("scheduler", Scenario.load(ACCESS, bare))
    assert [one.split(": ") for one in left_out] == [
        [kind, "no port that looks at marks has two classes"]
        for kind in ("strict-priority", "wrr", "drr", "wfq", "cbq")
    ]


def test_a_candidate_that_is_no_scenario_is_left_out_with_the_reason() -> None:
    small = ("port.gateway-isp.class.af1.queue.limit=1p",)
    factor, left_out = elements("queue", Scenario.load(ACCESS, small))
    assert factor is not None
    assert [level.name for level in factor.levels] == ["as it is", "codel", "pie", "cobalt", "fq", "cake"]
    assert left_out[0].startswith("red: port.gateway-isp.class.af1.queue")


def test_recommend_crosses_them_with_the_markings(cli: Cli, tmp_path: Path) -> None:
    short = (
        "-s",
        "run.duration=2s",
        "-s",
        "run.warmup=1s",
        "-s",
        "link.gateway-isp.rate.isp->gateway=5Mbit/s",
    )
    more = (
        "--weigh",
        "upload:goodput=1",
        "--delta",
        "50%",
        "--most",
        "2",
        "--try",
        "queue,meter",
        "--try",
        "queue",
    )
    (tmp_path / "access.toml").write_text(ACCESS.read_text())
    done = cli("recommend", "access.toml", *short, *more, "-o", "a", "--json")
    assert done.code == 0, done.err
    assert "not tried: queue rio: no class with a limit takes two drop precedences" in done.err
    assert "--try meter: there is nothing to try, so that it stays as it is" in done.err
    told = done.json()
    assert told["treatments"] == 70
    assert told["in_use"] == "acks=best-effort queue=as it is"
    assert told["said"][0].startswith("Not settled after ")
    assert "queue=red" in told["said"][0]
    assert "queue=as it is" not in told["said"][0]
    store = Store.open("a")
    assert set(store.campaign.design.names) == {"acks", "queue"}
    again = next(one for one in store.campaign.design.treatments if one.name == told["taken"])
    assert all(one in told["commands"]["try it"].replace("'\"'\"'", "'") for one in again.overrides)
