"""What `perhop import tc` takes of scripts, what it names, and how the command answers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Cli
from importing_tc import ACKS, DRR, HTB, ROOT, U32, left_out, port, queue, refused, shown_as_json, taken
from perhop import Scenario
from perhop.import_ns2.remarks import Refused
from perhop.import_tc import imported
from perhop.import_tc.filters import named
from perhop.import_tc.quantities import count, rate, real, size, time


def test_a_script_of_htb_is_the_port_between_two_hosts() -> None:
    made = port(HTB)
    assert (made["at"], made["to"], made["scheduler"]) == (
        "router",
        "far",
        {"kind": "htb", "rate": "10Mbit/s"},
    )
    first, last_but_one, default = made["class"]
    assert first == {
        "name": "1-10",
        "match": ["pure-ack", "EF"],
        "rate": "2Mbit/s",
        "ceil": "10Mbit/s",
        "queue": {"kind": "fifo", "limit": "1000p"},
    }
    assert (last_but_one["name"], last_but_one["match"], last_but_one["priority"]) == ("1-30", ["3"], 2)
    assert "ceil" not in last_but_one
    assert (default["name"], default["match"], default["rate"]) == ("1-20", ["any"], "7Mbit/s")
    assert (default["burst"], default["quantum"], default["queue"]["kind"]) == ("15360B", "3000B", "fq")
    assert left_out(HTB) == [
        "line 9: tc class add dev $DEV parent 1:1 classid 1:30 htb rate 1mbit prio 2: "
        "no filter leads to 1:30: here it gets the packets with mark 3 instead",
    ]


def test_each_class_has_a_flow_and_the_link_is_not_in_its_way() -> None:
    got = taken(HTB, rate_bit_s=50_000_000, round_trip_ns=80_000_000)
    assert [link["rate"] for link in got["link"]] == ["500Mbit/s", "50Mbit/s"]
    assert got["link"][1]["delay"] == "40ms"
    assert [(flow["class"], flow["mark"]) for flow in got["flow"]] == [
        ("1-10", "EF"),
        ("1-30", "3"),
        ("1-20", "BE"),
    ]
    scenario = Scenario(imported(HTB, "test").text.encode(), "test.toml").override(
        "run.duration=3s", "run.warmup=1s"
    )
    counted = {row["path"]: row["in_packets"] for row in scenario.run().queues.iter_rows(named=True)}
    assert all(counted[f"port.router-far.class.{name}"] > 0 for name in ("1-10", "1-20", "1-30"))


def test_the_text_says_from_which_line_and_what_is_left_out() -> None:
    text = imported(HTB + "echo done\n", "up.sh").text
    assert text.startswith("# Made by `perhop import tc` from up.sh.")
    assert "#   line 14: echo done: no command of tc that sets up queues\n" in text
    assert "# line 10: tc qdisc add dev $DEV parent 1:20 handle 20: fq_codel\n[[port.class]]\n" in text


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("ip dsfield 0x28 0xfc", ["AF11"]),
        ("ip tos 0x28 0xff", ["AF11"]),
        ("ip dsfield 0x20 0xe0", ["CS1", "9", "AF11", "11", "AF12", "13", "AF13", "15"]),
        ("ip dsfield 0x04 0xfc", ["1"]),
        ("u8 0xb8 0xfc at 1", ["EF"]),
        ("u16 0x00b8 0x00fc at 0", ["EF"]),
        ("u32 0x00b80000 0x00fc0000 at 0", ["EF"]),
        ("ip tos 050 0xfc", ["AF11"]),
        ("u32 0 0", ["any"]),
    ],
)
def test_marks_of_u32(match: str, expected: list[str]) -> None:
    both = port(DRR + U32.format("ip", 1, match, 1) + U32.format("all", 2, "u32 0 0", 2))["class"]
    assert [one["match"] for one in both][:1] == [expected]


def test_ip6_has_its_class_elsewhere() -> None:
    filters = U32.format("ipv6", 1, "ip6 priority 0xb8 0xfc", 1) + U32.format("all", 2, "u32 0 0", 2)
    assert [one["match"] for one in port(DRR + filters)["class"]] == [["EF"], ["any"]]


def test_filters_of_flower_and_matchall_and_their_order() -> None:
    last_first = (
        "tc filter add dev eth0 parent 1: matchall flowid 1:2\n"
        "tc filter add dev eth0 parent 1: protocol ip flower ip_tos b8/0xfc classid 1:1\n"
    )
    assert [one["match"] for one in port(DRR + last_first)["class"]] == [["EF"], ["any"]]
    # a filter that takes all goes first, and nothing is left for the other class
    first = last_first.replace("matchall", "prio 1 matchall").replace("ip flower", "ip prio 2 flower")
    assert [one["match"] for one in port(DRR + first)["class"]] == [["any"]]
    assert left_out(DRR + first)[0].endswith(
        "the filters before leave 1:1 nothing, and all marks lead elsewhere: it is left out"
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (U32.format("ip", 1, "ip dport 80 0xffff", 1), "match ip dport 80 0xffff"),
        (U32.format("ip", 1, "ip protocol 6 0xff", 1), "more than the DS field"),
        (U32.format("ip", 1, ACKS.replace("0x0000 0xffc0", "0x05dc 0xffff"), 1), "more than the DS field"),
        (U32.format("ip", 1, ACKS.replace("u8 0x10 0xff", "u8 0x02 0xff"), 1), "more than the DS field"),
        (U32.format("ip", 1, "u16 0x28 0xffff at 2", 1), "more than the DS field"),
        (U32.format("arp", 1, "u32 0 0", 1), "chain 0, protocol arp"),
        (U32.format("ip", 1, "u32 0x28 0xff at 2", 1), "match 0x28 0xff at 2"),
        (U32.format("ip", 1, "u32 0x28 0xff at nexthdr+0", 1), "at nexthdr+0"),
        ("tc filter add dev eth0 parent 1: handle 6 fw flowid 1:1\n", "filters of kind fw"),
        ("tc filter add dev eth0 parent 1: flower dst_port 80 classid 1:1\n", "dst_port 80"),
        (
            "tc filter add dev eth0 parent 1: matchall action police rate 1mbit burst 10k flowid 1:1\n",
            "action police rate 1mbit burst 10k",
        ),
        (U32.format("ip", 1, "u32 0 0", 7), "there is no class 1:7"),
    ],
)
def test_a_filter_that_a_port_has_not_is_named(line: str, why: str) -> None:
    found = [one for one in left_out(DRR + line) if "tc filter" in one]
    assert len(found) == 1
    assert found[0].endswith(why), found


FILTERS = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 255), st.booleans(), st.integers(1, 3)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60)
@given(FILTERS)
def test_each_kind_of_packets_goes_where_the_first_filter_says(
    filters: list[tuple[int, int, bool, int]],
) -> None:
    script = ROOT + "drr\n"
    script += "".join(
        f"tc class add dev eth0 parent 1: classid 1:{n} drr quantum 1500\n" for n in range(1, 5)
    )
    for at, (value, mask, acks, goal) in enumerate(filters, 1):
        match = f"ip dsfield {value:#x} {mask:#x}" + (f" match {ACKS}" if acks else "")
        script += U32.format("ip", at, match, goal)
    script += "tc filter add dev eth0 parent 1: prio 9 matchall flowid 1:4\n"
    found = imported(script, "test")
    if found.refused:
        assert "in an order that a port does not have" in found.refused[0].why
        return
    classes = tomllib.loads(found.text)["port"][0]["class"]
    spare = {int(one.why.split()[-2]) for one in found.left_out if one.why.endswith(" instead")}
    for mark in {*range(64)} - spare:
        for ack in (False, True):
            takes = (
                f"1-{goal}"
                for value, mask, acks, goal in [*filters, (0, 0, False, 4)]
                if (ack or not acks) and (mark << 2) & mask & 0xFC == value & mask & 0xFC
            )
            kinds = {"any", "pure-ack" if ack else "data", named(mark)}
            assert next(one["name"] for one in classes if kinds & {*one["match"]}) == next(takes)


def test_packets_without_a_class() -> None:
    goes = "what has no class is dropped in Linux, and comes to 1:2 here"
    assert [one["match"] for one in port(DRR)["class"]] == [["3"], ["any"]]
    assert any(one.endswith(goes) for one in left_out(DRR))
    past = HTB.replace(" default 20", "")
    assert port(past)["class"][-1]["name"] == "1-30"
    assert any("goes past all classes in Linux, and comes to 1:30 here" in one for one in left_out(past))


def test_bands_take_what_forwarding_gives_them() -> None:
    bands = port(ROOT + "prio")["class"]
    assert [one["name"] for one in bands] == ["1-1", "1-2", "1-3"]
    # by the TOS bits of RFC 1349: minimize delay, then none or both, then maximize throughput
    assert {"4", "AF12", "AF22"} <= set(bands[0]["match"])
    assert {"BE", "EF", "CS6", "AF13"} <= set(bands[1]["match"])
    assert bands[2]["match"] == ["any"]
    both = port(
        ROOT + "prio bands 2 priomap" + " 1" * 16 + "\n" + U32.format("ip", 1, "ip dsfield 0xb8 0xfc", 1)
    )
    assert [one["match"] for one in both["class"]] == [["EF"], ["any"]]
    assert [flow["name"] for flow in taken(ROOT + "prio")["udp"]] == ["1-1", "1-2"]
    fast = shown_as_json(
        "pfifo_fast", {"bands": 3, "priomap": [1, 2, 2, 2, 1, 2, 0, 0, *[1] * 8], "multiqueue": False}
    )
    assert [one["match"] for one in port(fast)["class"]] == [one["match"] for one in bands]


def test_acks_may_go_first_and_data_later() -> None:
    rules = f"{ROOT}prio bands 2 priomap{' 0' * 16}\n{U32.format('ip', 2, ACKS, 2)}"
    assert [one["match"] for one in port(rules)["class"]] == [["data"], ["any"]]
    assert [(flow["from"], flow["to"]) for flow in taken(rules)["flow"]] == [("far", "near")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tbf rate 1mbit burst 5kb latency 50ms overhead 18 mpu 64", {"overhead": "18B", "mpu": "64B"}),
        ("tbf rate 1mbit buffer 5kb limit 11370", {}),
        (
            "htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit burst 5k mpu 64",
            {"mpu": "64B"},
        ),
    ],
)
def test_shapers(text: str, expected: dict[str, str]) -> None:
    made = port(ROOT + text)
    assert made["shaper"] == {"rate": "1Mbit/s", "burst": "5120B"} | expected
    assert left_out(ROOT + text) == []
    (only,) = made["class"]
    assert only["queue"]["limit"] == ("1000p" if "htb" in text else "11370B")
    below = port(ROOT + text + "\ntc qdisc add dev eth0 parent 1:1 handle 2: prio\n")
    assert (below["shaper"], len(below["class"])) == (made["shaper"], 3)
    twice = (
        ROOT + text + "\ntc qdisc add dev eth0 parent 1:1 handle 2: tbf rate 1mbit burst 5kb latency 1ms\n"
    )
    assert refused(twice)[0].endswith("a port of perhop has one shaper")


def test_a_ceiling_below_the_rate_is_what_a_class_alone_gets() -> None:
    held = "htb default 1\ntc class add dev eth0 parent 1: classid 1:1 htb rate 5mbit ceil 1mbit burst 9k"
    assert port(ROOT + held)["shaper"] == {"rate": "1Mbit/s"}
    assert port(ROOT + held + " cburst 2k")["shaper"] == {"rate": "1Mbit/s", "burst": "2048B"}


def test_a_value_that_no_scenario_has_is_told_where_the_script_has_it(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "up.sh"
    script.write_text(HTB.replace("handle 20: fq_codel", "handle 20: fq_codel flows 0 quantum 0"))
    done = cli("import", "tc", script)
    assert (done.code, done.out) == (3, "")
    place = "line 10: tc qdisc add dev $DEV parent 1:20 handle 20: fq_codel flows 0 quantum 0: "
    assert f"{place}queues: 0 is below 1" in done.err
    assert f"{place}quantum: " in done.err
    assert ".toml" not in done.err


def test_a_class_alone_that_packets_may_go_past() -> None:
    alone = ROOT + "htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n"
    past = U32.format("ip", 1, "ip dsfield 0xb8 0xfc", 2)
    assert [one.rpartition(": ")[2] for one in left_out(alone + past)] == [
        "what has no class goes past all classes in Linux, and comes to 1:1 here",
        "there is no class 1:2",
    ]
    assert (
        left_out(alone.replace("htb\n", "htb default 1\n") + past.replace("flowid 1:2", "flowid 1:1")) == []
    )


def test_classes_without_a_parent_lend_nothing() -> None:
    flat = HTB.replace("parent 1:1 ", "parent 1: ").replace("classid 1:1 ", "classid 1:40 ")
    made = port(flat)
    assert made["scheduler"] == {"kind": "htb"}
    assert [(one.get("ceil"), one.get("cburst")) for one in made["class"]][-1] == (None, "15360B")
    assert port(HTB.replace("default", "r2q 5 default"))["class"][0]["quantum"] == "50000B"


def test_more_is_promised_than_the_parent_has() -> None:
    more = HTB.replace("rate 2mbit", "rate 5mbit")
    made = port(more)
    assert made["scheduler"]["rate"] == "13Mbit/s"
    assert {one["name"]: one.get("ceil") for one in made["class"]} == {
        "1-10": "10Mbit/s", "1-20": "10Mbit/s", "1-30": None,
    }  # fmt: skip
    assert any("its classes have 13Mbit/s of their own, here as in Linux" in one for one in left_out(more))
    shaped = (
        more.replace("root handle 1: htb", "parent 9: handle 1: htb")
        .replace(
            "$TC qdisc del",
            "tc qdisc add dev $DEV root handle 9: tbf rate 12mbit burst 5k latency 50ms; $TC qdisc del",
        )
        .replace("$TC qdisc del dev $DEV root 2>/dev/null || true", "")
    )
    assert refused(shaped)[0].endswith("its classes have 13Mbit/s, and its shaper less")


TREE = """\
tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:1 htb rate 100mbit
tc class add dev eth0 parent 1:1 classid 1:2 htb rate 60mbit ceil 80mbit burst 20k
tc class add dev eth0 parent 1:2 classid 1:10 htb rate 10mbit ceil 100mbit prio 1
tc class add dev eth0 parent 1:2 classid 1:20 htb rate 20mbit ceil 50mbit
tc class add dev eth0 parent 1:1 classid 1:3 htb rate 15mbit ceil 40mbit
tc class add dev eth0 parent 1:3 classid 1:30 htb rate 5mbit ceil 90mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x20 0xe0 flowid 1:2
tc filter add dev eth0 parent 1:2 protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0x28 0xfc flowid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dsfield 0x68 0xfc flowid 1:20
"""


def test_a_tree_of_htb_has_one_level() -> None:
    made = port(TREE)
    assert made["scheduler"] == {"kind": "htb", "rate": "100Mbit/s"}
    # 60 in the ratio of 10 to 20; 15 to an only child; no ceiling above that of 1:2 and 1:3
    assert {one["name"]: (one["rate"], one.get("ceil")) for one in made["class"]} == {
        "1-10": ("20Mbit/s", "80Mbit/s"), "1-20": ("40Mbit/s", "50Mbit/s"), "1-30": ("15Mbit/s", "40Mbit/s"),
    }  # fmt: skip
    # what filters lead to 1:2 is decided there: the rest has the default
    assert {one["name"]: one["match"] for one in made["class"]} == {
        "1-10": ["AF11"], "1-20": ["AF31"], "1-30": ["any"],
    }  # fmt: skip
    (tree, burst) = left_out(TREE)
    assert burst.endswith("burst 20k: a port of perhop has no such setting")
    assert tree.startswith("line 3: ")
    assert tree.endswith(
        "burst 20k: perhop's htb has one level: what its classes leave goes to all, not to each other first; "
        "each may have its 80Mbit/s, and all together more; its 60Mbit/s are "
        "shared out in the ratio of their rates"
    )
    two = TREE.replace("1:1 classid 1:3 ", "1: classid 1:3 ")
    assert port(two)["scheduler"]["rate"] == "98.333333Mbit/s"
    assert port(two)["class"][-1] == {
        "name": "1-30", "match": ["any"], "rate": "15Mbit/s", "queue": {"kind": "fifo", "limit": "1000p"},
    }  # fmt: skip
    deep = TREE + "".join(
        f"tc class add dev eth0 parent 1:{n} classid 1:{n + 1} htb rate 1mbit\n" for n in range(30, 38)
    )
    assert refused(deep)[0].endswith("htb has 8 levels at most")
    circle = TREE.replace("1:1 classid 1:2 ", "1:20 classid 1:2 ")
    assert [one["name"] for one in port(circle)["class"]] == ["1-30"]
    nowhere = [one.split(":")[0] for one in left_out(circle) if one.endswith("no packet comes to it")]
    assert nowhere == ["line 3", "line 4", "line 5"]


def test_what_is_deleted_replaced_or_changed() -> None:
    gone = TREE + "tc class del dev eth0 classid 1:3\n" + "tc filter del dev eth0 parent 1: prio 3 u32\n"
    assert [one["name"] for one in port(gone)["class"]] == ["1-10", "1-20"]
    lost = [one for one in left_out(gone) if "takes it back" in one]
    assert [(one.split(":")[0], one.rpartition(": ")[2]) for one in lost] == [
        ("line 6", "line 12 takes it back"),
        ("line 7", "line 12 takes it back"),
        ("line 11", "line 13 takes it back"),
    ]
    assert queue(TREE + "tc qdisc del root dev eth0\n" + ROOT + "codel\n")["kind"] == "codel"
    other = TREE + ROOT.replace("add", "replace") + "codel\n"
    assert queue(other)["kind"] == "codel"
    assert sum(one.endswith("line 12 replaces it") for one in left_out(other)) == 11
    change = "tc class change dev eth0 parent 1:1 classid 1:3 htb rate 30mbit\n"
    assert port(TREE + change)["class"][-1]["rate"] == "30Mbit/s"
    assert left_out(TREE + "tc qdisc del dev eth0 ingress\n")[-1].endswith("there is nothing to take back")
    assert left_out("tc qdisc del dev eth0 root\n" + ROOT + "codel\n") == []
    ingress = "tc qdisc add dev eth0 handle ffff: ingress\n"
    assert left_out(ROOT + "codel\n" + ingress + ingress.replace("add", "del"))[0].endswith(
        "line 3 takes it back"
    )
    assert refused(TREE + "tc filter del dev eth0 parent 1: handle 800::800 u32\n")[0].endswith(
        "filters are deleted by `prio`, or all of a parent"
    )


FILTER = "tc filter {} dev eth0 parent 1: protocol ip prio 1 {}flower ip_tos {} classid 1:{}\n"


def test_a_filter_that_is_changed_or_replaced_has_its_place() -> None:
    script = DRR + FILTER.format("add", "handle 1 ", "0xb8/0xfc", 1)
    for verb in ("change", "replace"):
        (last,) = port(script + FILTER.format(verb, "handle 1 ", "0xb8/0xfc", 2))["class"][-1:]
        assert (last["name"], last["match"]) == ("1-2", ["any"])
        (first, _) = port(script + FILTER.format(verb, "handle 1 ", "0x28/0xfc", 1))["class"]
        assert first["match"] == ["AF11"]
    first, _ = port(script + FILTER.format("replace", "handle 2 ", "0x28/0xfc", 1))["class"]
    assert first["match"] == ["AF11", "EF"]
    once = "write the filter once, as it is in the end"
    for add, verb, other in (
        ("handle 1 ", "change", "handle 2 "),
        ("handle 1 ", "change", ""),
        ("", "change", "handle 1 "),
        ("", "replace", "handle 1 "),
    ):
        text = DRR + FILTER.format("add", add, "0xb8/0xfc", 1) + FILTER.format(verb, other, "0xb8/0xfc", 2)
        (why,) = refused(text)
        assert why.startswith("line 5: ")
        assert why.endswith(f"no line adds one of this parent, protocol, `prio` and handle: {once}")
    u32 = U32.format("ip", 1, "ip tos 0xb8 0xfc", 1).replace(" u32", " handle 800::1 u32")
    (why,) = refused(DRR + u32 + u32.replace("add", "change"))
    assert why.endswith(f"what a filter of u32 keeps of line 4 is not followed: {once}")
    twice = FILTER.format("add", "handle 1 ", "0xb8/0xfc", 2)
    assert "line 4 has a filter there already" in refused(script + twice)[0]


def test_a_class_whose_filter_is_not_taken() -> None:
    of_port = U32.format("ip", 1, "ip dport 80 0xffff", 1) + U32.format("all", 9, "u32 0 0", 2)
    assert [one["match"] for one in port(DRR + of_port)["class"]] == [["3"], ["any"]]
    assert any(
        one.endswith(
            "the filter that leads to 1:1 is not taken (line 4): here it gets the packets with mark 3 instead"
        )
        for one in left_out(DRR + of_port)
    )


def test_transmit_queues_are_one() -> None:
    queues = [
        {"kind": "mq", "handle": "0:", "dev": "eth0", "root": True, "options": {}},
        *(
            {"kind": "fq_codel", "handle": "0:", "dev": "eth0", "parent": f":{n}", "options": {"limit": n}}
            for n in (4, 1, 3)
        ),
        {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "options": {}},
    ]
    text = json.dumps(queues, indent=1)
    assert queue(text)["limit"] == "1p"
    assert set(left_out(text)) == {
        "line 1: qdisc mq 0:: of 3 transmit queues the first stands for all",
        "line 1: qdisc noqueue 0:: it is of another device",
    }


def test_several_devices() -> None:
    two = ROOT + "fq_codel\n" + ROOT.replace("eth0", "ifb0") + "cake bandwidth 20mbit\n"
    assert refused(two) == ["queues of several devices: --device takes one of eth0, ifb0"]
    twice = two.replace("ifb0", "eth0")
    assert refused(twice)[0].endswith(": line 1 has a qdisc there already: write `replace`, or leave one out")
    assert queue(twice.replace("add", "replace"))["kind"] == "cake"
    assert port(two, device="ifb0")["class"][0]["queue"]["kind"] == "cake"
    assert left_out(two) == []
    bare = two + "tc class add dev eth9 parent 1: classid 1:1 htb rate 1mbit\n"
    assert refused(bare, device="eth9") == [
        "no qdisc stands at the root of eth9: there are those of eth0, ifb0"
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no qdisc stands at the root"),
        ("hello\n", "no qdisc stands at the root"),
        ("[]", "no qdisc stands at the root"),
        (ROOT + "hfsc default 1", "hfsc is not taken"),
        (ROOT + "htb default 1", "it has no classes"),
        (HTB.replace("rate 2mbit ceil", "ceil"), "htb ceil $UP prio 0: a class of htb has a `rate`"),
        (ROOT + "codel target 5", "valid"),
        (ROOT + "codel target 5x", "`5x` is not taken as a time"),
        (ROOT + "codel limit", "`limit` has no value, or is no word of codel"),
        (ROOT + "pfifo limit -3", "`-3` is not taken as a number"),
        (ROOT + "tbf burst 1k latency 1ms", "a qdisc of tbf has a `rate`"),
        (ROOT + "htb\ntc class add dev eth0 parent 1: classid 1:1 htb", "a class of htb has a `rate`"),
        (
            ROOT + "htb\ntc class add dev eth0 parent 1: classid 1:1 htb rate 5mbit ceil 5qbit",
            "line 2: tc class add dev eth0 parent 1: classid 1:1 htb rate 5mbit ceil 5qbit: `5qbit` is not",
        ),
        (
            HTB.replace("parent 1:1 classid 1:20", "parent 1:2 classid 1:20"),
            "its parent is not there: there is no class 1:2",
        ),
        (HTB + "tc qdisc add dev eth0 parent 1:99 pie", "1:99 pie: its parent is not there: there is no"),
        (HTB + "tc qdisc add dev eth0 parent 3: pie", "there is no qdisc 3:0"),
        (
            DRR + U32.format("ip", 1, "u8 0x28 zz at 1", 1),
            "zz at 1 flowid 1:1: match 0x28 zz: a value or a mask is not a number",
        ),
        (ROOT + "tbf rate 0 burst 1k latency 1ms", "`0` is not taken as a rate"),
        (ROOT + "tbf rate 50% burst 1k latency 1ms", "`50%` is not taken as a rate"),
        (ROOT + "prio bands 2", "it has from 1 to 16 bands, and more than its priomap names"),
        (ROOT + "red limit 60k", "red without limit or avpkt"),
        (shown_as_json("red", {"limit": 60000, "min": 5000, "max": 15000}), "tc -j -d qdisc show"),
        ("tc qdisc add root fq_codel", "it is taken in the form `tc qdisc add dev DEV parent ID KIND`"),
        ("tc qdisc add dev eth0 parent x:y fq_codel", "`x:y` is no number of a qdisc or class, such as 1:10"),
        ("tc qdisc add dev $DEV root fq_codel", "`$DEV` has no value in the script: write the value"),
        ("RATE=$((8 * 1000))kbit", "nothing is executed: write the value"),
        ("for i in 1 2 3; do", "no conditions, loops or functions: write the commands of tc out"),
        ("start() {", "no conditions, loops or functions: write the commands of tc out"),
        ("echo 'never closed", "No closing quotation"),
        ('[{"kind": ', "not JSON: Expecting value"),
        ("[" * 5000, "not JSON: "),
        ('[[3]]', "no qdisc, class or filter of `tc -j`"),
        ("filter parent 1: protocol ip pref 1 u32 chain 0", "filters are read from `tc -j filter show`"),
        (ROOT + "prio\ntc qdisc add dev eth0 parent 1:1 handle 2: prio", "a class of perhop has a queue"),
        (shown_as_json("mq", {}), "no qdisc of its transmit queues"),
        (
            shown_as_json("drr", {})[:-1] + ', {"class": "drr", "handle": "8001:1", "root": true}]',
            "`tc -j` has no quantum of drr",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, why: str) -> None:
    if why == "valid":
        assert queue(text)["target"] == "5us"
    else:
        assert any(why in one for one in refused(text)), refused(text)


def test_quantities() -> None:
    assert [rate(one) for one in ("10mbit", "1.5Mbit", "64kbit", "100kbps", "1mibit", "9600", 125000)] == [
        10_000_000, 1_500_000, 64_000, 800_000, 1_048_576, 9600, 1_000_000,
    ]  # fmt: skip
    assert [size(one) for one in ("15k", "1600b", "5Kb/1", "1mbit", "2m", 1600)] == [
        15360, 1600, 5120, 131072, 2_097_152, 1600,
    ]  # fmt: skip
    assert [time(one) for one in ("5ms", "1.5s", "800us", "20", "1sec", 4999)] == [
        5_000_000, 1_500_000_000, 800_000, 20_000, 1_000_000_000, 4_999_000,
    ]  # fmt: skip
    assert (count("10240p"), count(3), real("10%"), real(0.5)) == (10240, 3, 10.0, 0.5)
    for wrong in (
        "",
        "x",
        "1e999",
        "-1",
        "1kk",
        None,
        True,
        [],
        float("nan"),
        float("inf"),
        10**400,
        "9" * 5000,
    ):
        with pytest.raises(Refused):
            size(wrong)


def test_the_command(cli: Cli) -> None:
    Path("up.sh").write_text(HTB)
    done = cli("import", "tc", "up.sh", "-o", "up.toml", "--rate", "40Mbit/s", "--round-trip", "10ms")
    assert (done.code, done.out) == (0, "up.toml\n")
    assert "left out: line 9: " in done.err
    assert cli("check", "up.toml").code == 0
    assert cli("import", "tc", "up.sh", "-o", "up.toml").code == 2
    assert 'rate = "40Mbit/s"\ndelay = "5ms"' in Path("up.toml").read_text()
    other = cli("import", "tc", "up.sh", "--device", "eth1")
    assert (other.code, "--device eth1: up.sh has no such device" in other.err, "eth0" in other.err) == (
        2,
        True,
        True,
    )
    assert cli("import", "tc", "none.sh").code == 2
    assert [
        cli("import", "tc", "up.sh", *words).code for words in (("--rate", "x"), ("--round-trip", "3"))
    ] == [2, 2]


def test_the_command_names_what_it_refuses_and_writes_nothing(cli: Cli) -> None:
    Path("bad.sh").write_text("modprobe ifb\n" + ROOT + "hfsc default 1\n")
    done = cli("import", "tc", "bad.sh", "-o", "bad.toml")
    assert (done.code, done.out, Path("bad.toml").exists()) == (3, "", False)
    assert done.err.splitlines() == [
        "left out: line 1: modprobe ifb: no command of tc that sets up queues",
        "refused: line 2: tc qdisc add dev eth0 root handle 1: hfsc default 1: hfsc is not taken",
        "bad.sh: 1 line refused, nothing written; docs/import-tc.md says what is taken",
    ]
    done = cli("import", "tc", "bad.sh", "--json")
    assert (done.code, [one["line"] for one in done.json()["refused"]]) == (3, [2])


def test_what_perhop_cannot_run_is_no_scenario(cli: Cli) -> None:
    Path("odd.sh").write_text(ROOT + "fq_codel flows 100000\n")
    done = cli("import", "tc", "odd.sh", "-o", "odd.toml")
    assert (done.code, Path("odd.toml").exists()) == (3, False)
    assert "the scenario that it makes is not valid" in done.err
