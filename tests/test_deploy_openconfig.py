"""`perhop deploy --with openconfig`: valid by OpenConfig's own YANG, and what is asked."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from yangson import DataModel
from yangson.enumerations import ContentType
from yangson.exceptions import YangsonException

from conftest import Cli
from namespaces import ROOT
from perhop import Scenario
from perhop.deploy.openconfig import Configuration
from perhop.deploy.ports import node_of
from test_applications import HOUSEHOLD
from test_deploy_tc import CLASSES, SCHEDULERS
from test_recommend import ACCESS

YANG = Path(__file__).with_name("yang")
DIFFSERV = ROOT / "python" / "perhop" / "starters" / "diffserv" / "diffserv.toml"
ROOTED = "openconfig-qos:qos"
NODES = [
    *((f"python/perhop/starters/{file}", node) for file, node in [
        ("diffserv/diffserv.toml", "edge"), ("access/access.toml", "gateway"), ("access/access.toml", "isp"),
        ("two-way/two-way.toml", "slow"),
    ]),
    *((f"examples/{file}", node) for file, node in [
        ("emulate.toml", "edge"), ("household.toml", "home"), ("l4s/dumbbell.toml", "router"),
        ("lessons/acks-first.toml", "home"), ("lessons/af.toml", "edge"), ("lessons/red.toml", "r1"),
    ]),
    *((f"papers/{file}", node) for file, node in [
        ("papagiannaki/y.toml", "e[2]"), ("papagiannaki/y.toml", "x"), ("laatu/aggregate.toml", "c1"),
        ("laatu/aggregate.toml", "e1"), ("feroz/baseline.toml", "r2"), ("seddigh/assurance.toml", "core"),
        ("seddigh/assurance.toml", "edge_u"), ("kalampoukas/bandwidth-allocation.toml", "slow"),
        ("rfc7928/dumbbell.toml", "r1"), ("today/line.toml", "isp"),
    ]),
]  # fmt: skip


@pytest.fixture(scope="module")
def model() -> DataModel:
    return DataModel((YANG / "yang-library.json").read_text(), [str(YANG)])


def validate(model: DataModel, document: Any) -> None:
    """Hold a configuration to the model, on a device that has the interfaces it names."""
    names = [one["interface-id"] for one in document[ROOTED]["interfaces"]["interface"]]
    own = [{"name": name, "config": {"name": name, "type": "iana-if-type:ethernetCsmacd"}} for name in names]
    whole = document | {"openconfig-interfaces:interfaces": {"interface": own}}
    model.from_raw(whole).validate(ctype=ContentType.config)


def configured(model: DataModel, file: Path, node: str, *overrides: str) -> tuple[Any, list[str]]:
    """Give the configuration of a node below its root, valid, and what is left out."""
    made = Configuration(node_of(Scenario.load(file, overrides), node))
    document = made.document({end: f"Ethernet{n}/1" for n, end in enumerate(made.interfaces)})
    validate(model, json.loads(json.dumps(document)))
    return document[ROOTED], made.cannot


def named(tree: Any, *path: str) -> Any:
    """Follow a path whose steps are fields, or keys of lists' entries."""
    for step in path:
        if isinstance(tree, list):
            (tree,) = [one for one in tree if str(next(iter(one.values()))) == step]
        else:
            tree = tree[step]
    return tree


def schedulers(tree: Any, policy: str) -> list[Any]:
    found: list[Any] = named(
        tree, "scheduler-policies", "scheduler-policy", policy, "schedulers", "scheduler"
    )
    return found


def weights(scheduler: Any) -> dict[str, str]:
    return {one["id"]: one["config"]["weight"] for one in scheduler["inputs"]["input"]}


def terms(tree: Any, classifier: str) -> list[Any]:
    found: list[Any] = named(tree, "classifiers", "classifier", classifier, "terms", "term")
    return found


@pytest.mark.parametrize(("file", "node"), NODES)
def test_it_is_valid_by_the_published_model(model: DataModel, file: str, node: str) -> None:
    tree, _ = configured(model, ROOT / file, node)
    assert tree["classifiers"]


WRONG: list[tuple[tuple[str, ...], Any]] = [
    (("queues", "queue", "ef", "config", "depth"), 1),
    (("forwarding-groups", "forwarding-group", "ef", "config", "output-queue"), "gone"),
    (("queue-management-profiles", "queue-management-profile", "port.edge-core.af1", "wred", "uniform",
      "config", "max-drop-probability-percent"), 101),
    (("scheduler-policies", "scheduler-policy", "conditioner.premium", "schedulers", "scheduler", "1",
      "one-rate-two-color", "config", "cir"), 300000),
    (("scheduler-policies", "scheduler-policy", "conditioner.premium", "schedulers", "scheduler", "1",
      "config", "type"), "openconfig-qos-types:THREE_RATES"),
    (("classifiers", "classifier", "port.edge-core.IPV4", "terms", "term", "001", "conditions", "ipv4",
      "config", "dscp-set"), [64]),
    (("interfaces", "interface", "Ethernet0/1", "output", "scheduler-policy", "config", "name"), "port.edge"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_a_wrong_leaf_is_refused(model: DataModel, path: tuple[str, ...], value: object) -> None:
    tree, _ = configured(model, DIFFSERV, "edge")
    wrong = deepcopy(tree)
    named(wrong, *path[:-1])[path[-1]] = value
    with pytest.raises(YangsonException):
        validate(model, {ROOTED: wrong})


def test_an_edge_has_its_classes_queues_and_policers(model: DataModel) -> None:
    tree, cannot = configured(model, DIFFSERV, "edge")
    assert "conditioner assured: one meter or shaper for 4 interfaces: each has its own" in cannot
    assert [
        (one["conditions"].get("ipv4"), one["actions"]["config"]["target-group"])
        for one in terms(tree, "port.edge-core.IPV4")
    ] == [
        ({"config": {"dscp-set": [46]}}, "ef"),
        ({"config": {"dscp-set": [10, 12, 14]}}, "af1"),
        (None, "best-effort"),
    ]
    (shared,) = schedulers(tree, "port.edge-core")
    assert weights(shared) == {"ef": "1", "af1": "5", "best-effort": "4"}
    profiles = named(tree, "queue-management-profiles", "queue-management-profile")
    assert [one["name"] for one in profiles] == ["port.edge-core.af1", "port.edge-core.best-effort"]
    assert named(profiles, "port.edge-core.best-effort", "wred", "uniform", "config") == {
        "min-threshold": "22500", "max-threshold": "67500", "max-drop-probability-percent": 10, "weight": 9,
        "enable-ecn": False, "drop": True,
    }  # fmt: skip
    buffers = named(tree, "buffer-allocation-profiles", "buffer-allocation-profile", "port.edge-core")
    assert {one["name"]: one["config"]["dedicated-buffer"] for one in buffers["queues"]["queue"]} == {
        "ef": "30000", "af1": "90000", "best-effort": "150000"
    }  # fmt: skip
    (premium,) = schedulers(tree, "conditioner.premium")
    assert premium["one-rate-two-color"] == {
        "config": {"cir": "300000", "bc": 3000, "queuing-behavior": "POLICE"},
        "conform-action": {"config": {"set-dscp": 46}},
        "exceed-action": {"config": {"drop": True}},
    }
    (assured,) = schedulers(tree, "conditioner.assured")
    assert assured["two-rate-three-color"]["config"] == {
        "cir": "1200000", "bc": 22500, "pir": "2000000", "be": 27000
    }  # fmt: skip
    used = {
        one["interface-id"]: one["input"]["scheduler-policy"]["config"]["name"]
        for one in named(tree, "interfaces", "interface")[1:]
    }
    assert used == {"Ethernet1/1": "conditioner.premium"} | {
        f"Ethernet{n}/1": "conditioner.assured" for n in range(2, 6)
    }


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("strict-priority", [({"voice": "3", "acks": "2", "rest": "1"}, None)]),
        ("drr", [({"voice": "1", "acks": "1", "rest": "4"}, None)]),
        ("wfq", [({"voice": "1", "acks": "1", "rest": "4"}, None)]),
        ("htb", [({"voice": "2"}, "200000"), ({"acks": "3"}, "300000"), ({"rest": "15"}, "1500000")]),
        ("cbq", [({"voice": "1", "rest": "7"}, None), ({"acks": "2"}, "400000")]),
    ],
)
def test_a_scheduler_has_weights_and_ceilings(
    model: DataModel, kind: str, wanted: list[tuple[dict[str, str], str | None]]
) -> None:
    scheduler, settings = SCHEDULERS[kind]
    overrides = (f"port.isp-home.scheduler={scheduler}", CLASSES % settings)
    tree, cannot = configured(model, HOUSEHOLD, "home", *overrides)
    made = schedulers(tree, "port.home-isp")
    assert [
        (weights(one), one.get("one-rate-two-color", {}).get("config", {}).get("cir")) for one in made
    ] == wanted
    assert {one["config"].get("priority") for one in made} == {
        "STRICT" if kind == "strict-priority" else None
    }
    assert any("pure-ack: by length and flag" in one for one in cannot)


def test_a_shaper_is_behind_the_schedulers_or_is_the_only_one(model: DataModel) -> None:
    shaper = 'port.isp-home.shaper={ rate = "1Mbit/s", burst = "3kB", overhead = "18B" }'
    tree, cannot = configured(model, HOUSEHOLD, "home", shaper)
    (only,) = schedulers(tree, "port.home-isp")
    wanted = {"config": {"cir": "1000000", "bc": 3000, "queuing-behavior": "SHAPE"}}
    assert only["one-rate-two-color"] == wanted
    assert cannot == ["to isp: shaper: overhead and mpu: no leaf of the model"]
    tree, _ = configured(model, HOUSEHOLD, "home", shaper, CLASSES % ("", "", ""))
    (first,) = schedulers(tree, "port.home-isp")
    (behind,) = schedulers(tree, first["output"]["config"]["child-scheduler"])
    assert behind["one-rate-two-color"] == wanted
    cake = 'port.isp-home.class.all.queue={ kind = "cake", rate = "1.5Mbit/s" }'
    tree, cannot = configured(model, HOUSEHOLD, "home", cake)
    (only,) = schedulers(tree, "port.home-isp")
    assert only["one-rate-two-color"]["config"]["cir"] == "1500000"
    assert "to isp: queue cake: not in the model; tail drop at its limit comes nearest" in cannot


def test_acks_are_known_by_their_lengths(model: DataModel) -> None:
    """20 to 60 bytes of TCP, with the header of IPv4 and without that of IPv6; data is all else."""
    classes = 'port.isp-home.class=[{ name = "d", match = ["data"] }, { name = "a", match = ["any"] }]'
    tree, _ = configured(model, HOUSEHOLD, "home", classes)
    for family, first in (("ipv4", 40), ("ipv6", 20)):
        *acks, data, rest = terms(tree, f"port.home-isp.{family.upper()}")
        assert [one["conditions"][family]["config"]["length"] for one in acks] == [
            *range(first, first + 41, 4)
        ]
        assert acks[0]["conditions"]["transport"]["config"]["explicit-tcp-flags"] == [
            "openconfig-packet-match-types:TCP_ACK"
        ]
        assert [one["actions"]["config"]["target-group"] for one in (*acks, data, rest)] == ["a"] * 11 + [
            "d",
            "a",
        ]


def test_a_conditioner_matches_what_packets_say(model: DataModel) -> None:
    match = 'match={ protocol = "udp", mark = ["EF", "CS5"], src_port = [5000, 5100], dst_port = 53 }'
    tree, _ = configured(model, DIFFSERV, "edge", f"conditioner.premium.{match}")
    (term,) = terms(tree, "conditioner.premium.IPV6")
    assert term["conditions"] == {
        "ipv6": {"config": {"dscp-set": [46, 40], "protocol": "openconfig-packet-match-types:IP_UDP"}},
        "transport": {"config": {"source-port": "5000..5100", "destination-port": 53}},
    }
    tree, _ = configured(model, DIFFSERV, "edge", 'conditioner.premium.match={ kind = "pure-ack" }')
    assert len(terms(tree, "conditioner.premium.IPV4")) == 11


@pytest.mark.parametrize(
    ("meter", "config", "why"),
    [
        (
            'kind = "sr-tcm", cir = "1Mbit/s", cbs = "3kB", ebs = "6kB"',
            {"cir": "1000000", "bc": 3000, "pir": "1000000", "be": 6000},
            "meter sr-tcm: pir is cir",
        ),
        (
            'kind = "tr-tcm-diffserv", cir = "1Mbit/s", cbs = "3kB", eir = "500kbit/s", ebs = "2p"',
            {"cir": "1000000", "bc": 3000, "pir": "1500000", "be": 6000},
            "meter tr-tcm-diffserv: pir is cir and eir",
        ),
        (
            'kind = "tr-tcm", cir = "1Mbit/s", cbs = "3kB", pir = "2Mbit/s", pbs = "4kB", color_aware = true',
            {"cir": "1000000", "bc": 3000, "pir": "2000000", "be": 4000},
            "color_aware: a policer looks at no colour",
        ),
    ],
)
def test_a_meter_of_three_colours_is_the_nearest_policer(
    model: DataModel, meter: str, config: dict[str, object], why: str
) -> None:
    tree, cannot = configured(model, DIFFSERV, "edge", f"conditioner.assured.meter={{ {meter} }}")
    (made,) = schedulers(tree, "conditioner.assured")
    assert made["two-rate-three-color"]["config"] == config
    assert made["two-rate-three-color"]["violate-action"] == {"config": {"set-dscp": 14}}
    assert any(one.startswith(f"conditioner assured: {why}") for one in cannot)


def test_conditioners_in_a_row_are_one_classifier_and_that_is_named(model: DataModel) -> None:
    """The first marks all that comes from its interface, so that none is left for the policer."""
    tree, cannot = configured(model, ROOT / "papers" / "papagiannaki" / "y.toml", "e[2]")
    name = "conditioner.premium-data+conditioner.assured"
    marked, policed = terms(tree, f"{name}.IPV4")
    assert marked["actions"] == {"remark": {"config": {"set-dscp": 46}}}
    assert policed["actions"] == {"config": {"target-group": "conditioner.assured"}}
    assert f"{name}: a packet passes the first of them alone that it fits" in cannot


def edge(tmp_path: Path, conditioner: str) -> Path:
    """Write a scenario whose premium conditioner has other settings."""
    text = DIFFSERV.read_text()
    before, _, rest = text.partition('[[conditioner]]\nname = "premium"')
    after = rest[rest.index("[[conditioner]]") :]
    file = tmp_path / "edge.toml"
    own = f'[[conditioner]]\nname = "premium"\nat = "edge"\nfrom = "voice_host"\n{conditioner}\n\n'
    file.write_text(before + own + after)
    return file


def test_a_conditioner_without_a_meter_marks_or_shapes(model: DataModel, tmp_path: Path) -> None:
    tree, _ = configured(model, edge(tmp_path, 'marker = { green = "EF" }'), "edge")
    (term,) = terms(tree, "conditioner.premium.IPV4")
    assert term["actions"] == {"remark": {"config": {"set-dscp": 46}}}
    shaper = 'marker = { green = "shape" }\nshaper = { rate = "1Mbit/s", burst = "2p", limit = "50p" }'
    tree, _ = configured(model, edge(tmp_path, shaper), "edge")
    (made,) = schedulers(tree, "conditioner.premium")
    assert made["one-rate-two-color"]["config"] == {
        "cir": "1000000", "bc": 3000, "max-queue-depth-packets": 50, "queuing-behavior": "SHAPE"
    }  # fmt: skip


BUCKET = 'meter = { kind = "token-bucket", cir = "1Mbit/s", cbs = "3kB" }\n'


@pytest.mark.parametrize(
    ("conditioner", "why"),
    [
        (f'{BUCKET}marker = {{ red = "drop" }}\nper = "flow"', "per flow: a policer has one bucket for all"),
        (f'{BUCKET}marker = {{ green = "drop" }}', "green drop: no action of a policer"),
        ('marker = { green = "drop" }', "a classifier drops nothing"),
        ('ack_marking = { kind = "copy" }', "ack_marking: not in the model"),
        (
            'meter = { kind = "tsw2cm", cir = "1Mbit/s" }\nmarker = { red = "drop" }',
            "meter tsw2cm: not in the model",
        ),
    ],
)
def test_a_conditioner_that_the_model_cannot_say_is_left_out_and_named(
    model: DataModel, tmp_path: Path, conditioner: str, why: str
) -> None:
    tree, cannot = configured(model, edge(tmp_path, conditioner), "edge")
    assert f"conditioner premium: {why}" in cannot
    assert "conditioner.premium" not in json.dumps(tree)


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ('{ kind = "codel", limit = "30kB" }', "queue codel: not in the model; tail drop at its limit"),
        ('{ kind = "fifo", limit = "30kB", ack_filter = "aggressive" }', "ack_filter: not in the model"),
        (
            '{ kind = "red", limit = "60kB", min_th = "10kB", max_th = "30kB", max_p = 0.125 }',
            "queue red: max_p 0.125 is written as 0.12",
        ),
        (
            '{ kind = "red", limit = "60kB", min_th = "10kB", max_th = "30kB", max_p = 0.1, gentle = true }',
            "queue red: gentle: no leaf of the model",
        ),
    ],
)
def test_what_the_model_cannot_say_of_a_queue_is_named(model: DataModel, queue: str, why: str) -> None:
    _, cannot = configured(model, HOUSEHOLD, "home", f"port.isp-home.class.all.queue={queue}")
    assert any(one.startswith(f"to isp: {why}") for one in cannot), cannot


def test_the_command_prints_json_and_says_what_is_left_out(cli: Cli, model: DataModel) -> None:
    words = ("deploy", ACCESS, "--with", "openconfig", "--at", "gateway")
    done = cli(*words, "--device", "isp=GigabitEthernet0/0/0/1,phone=ge-0/0/2")
    assert done.code == 0
    validate(model, done.json())
    held = cli(*words, "--shape", "95%").json()
    validate(model, held)
    (shaper,) = schedulers(held[ROOTED], "port.gateway-isp.shaper")
    assert shaper["one-rate-two-color"]["config"]["cir"] == "4750000"
    interfaces = done.json()[ROOTED]["interfaces"]["interface"]
    assert [one["interface-id"] for one in interfaces] == ["GigabitEthernet0/0/0/1", "ge-0/0/2", "camera"]
    assert "cannot: gateway: conditioner acks-up: ack_marking: not in the model" in done.err
    whole = cli(*words, "--json")
    assert whole.err == ""
    assert set(whole.json()) == {"with", "at", "cannot", "configuration"}
    assert "are called as the other ends: --device isp=NAME," in cli(*words).err
    none = cli("deploy", ROOT / "papers" / "feroz" / "baseline.toml", "--with", "openconfig", "--at", "e[0]")
    assert (none.code, none.out) == (2, "")
    assert "cannot: e[0]: conditioner marker: meter tcp-friendly: not in the model" in none.err
    assert "OpenConfig says nothing of e[0]" in none.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--with openconfig: whose queues?"),
        (("--at", "roof"), "--at roof: no such node"),
        (("--at", "pc"), "pc has nothing but FIFOs with the limit by default"),
        (("--at", "gateway", "--device", "isp=phone"), "two links have one interface"),
        (("--at", "gateway", "--device", "isp=a b"), "--device a b: not the name of a device"),
        (("--at", "gateway", "--device", "eth0"), "--device eth0: which of 3 links is that?"),
        (("--at", "gateway", "--shape", "0%"), "--shape 0%: not a percentage"),
        (("--at", "gateway", "--host", "pc"), "not with --with openconfig"),
    ],
)
def test_what_is_asked_wrongly_is_refused(cli: Cli, words: tuple[str, ...], why: str) -> None:
    done = cli("deploy", ACCESS, "--with", "openconfig", *words)
    assert (done.code, why in done.err) == (2, True), done.err
