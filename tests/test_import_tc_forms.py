"""What `perhop import tc` makes of each form: commands, what tc shows, a kernel, deploy; and of any text."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importing_tc import ACKS, DRR, HTB, ROOT, U32, port, refused, shown_as_json
from namespaces import namespace, need
from perhop import Scenario
from perhop.deploy.tc import commands
from perhop.import_ns2 import Imported
from perhop.import_tc import imported
from perhop.units import quantity
from test_applications import HOUSEHOLD
from test_deploy_tc import CLASSES, SCHEDULERS

LINUX = 'conventions = { like = "linux" }'
FQ = 'kind = "fq", conventions = { like = "linux" }, queue = { kind ='
CODEL = f'{FQ} "codel", conventions = {{ like = "linux", mtu = "1514B" }}'
BUFFERS = "packets have no buffers here: `limit` counts"

# what a command sets, the queue that it is, what `tc -j -d` shows of it, and what that leaves out
QUEUES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "pfifo limit 50": ('kind = "fifo", limit = "50p"', {"limit": 50}, []),
    "bfifo limit 75k": ('kind = "fifo", limit = "75KiB"', {"limit": 76800}, []),
    "codel limit 200 target 8ms ce_threshold 1ms ecn": (
        f'kind = "codel", limit = "200p", target = "8ms", ce_threshold = "1ms", ecn = true, {LINUX}',
        {"limit": 200, "target": 7999, "ce_threshold": 999, "interval": 99999, "ecn": True},
        [],
    ),
    "fq_codel flows 64 quantum 300 noecn": (
        f'{CODEL}, ecn = false }}, queues = 64, quantum = "300B"',
        {"limit": 10240, "flows": 64, "quantum": 300, "target": 4999, "interval": 99999, "drop_batch": 64},
        [],
    ),
    "fq_codel": (
        f"{CODEL}, ecn = true }}",
        {"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "interval": 99999,
         "memory_limit": 33554432,
         "ecn": True, "drop_batch": 64},
        [f"memory_limit 33554432: {BUFFERS}"],
    ),
    "pie limit 300 target 20ms tupdate 16ms alpha 4 bytemode dq_rate_estimator": (
        'kind = "pie", limit = "300p", target = "20ms", t_update = "16ms", alpha = 0.25, byte_mode = true, '
        f'delay_from = "departure-rate", {LINUX}',
        {"limit": 300, "target": 20000, "tupdate": 16000, "alpha": 4, "beta": 20, "bytemode": True,
         "dq_rate_estimator": True},
        [],
    ),
    "fq_pie flows 256 ecn": (
        f'{FQ} "pie", ecn = true, {LINUX} }}, queues = 256',
        {"limit": 10240, "flows": 256, "target": 15000, "tupdate": 15000, "alpha": 2, "beta": 20,
         "quantum": 1514,
         "memory_limit": 33554432, "ecn_prob": 10, "ecn": True},
        [f"memory_limit 33554432: {BUFFERS}"],
    ),
    "sfq perturb 10": (
        'kind = "fq", limit = "127p", queue = { kind = "fifo", limit = "127p" }',
        {"limit": 127, "quantum": 1514, "depth": 127, "flows": 128, "divisor": 1024, "perturb": 10},
        [
            "fq with fifo comes nearest: past `limit` sfq drops the longest queue's last",
            "flows 128: perhop's fq has no such setting",
            "perturb 10: perhop's fq has no such setting",
        ],
    ),
    "cake bandwidth 20mbit diffserv4 dual-srchost nat docsis rtt 50ms ack-filter": (
        'kind = "cake", rate = "20Mbit/s", tins = "diffserv4", isolation = "dual-srchost", rtt = "50ms", '
        'ack_filter = "conservative", overhead = "18B", mpu = "64B"',
        {"bandwidth": 2500000, "diffserv": "diffserv4", "flowmode": "dual-srchost", "nat": True,
         "wash": False,
         "ingress": False, "ack-filter": "enabled", "split_gso": True, "rtt": 50000, "raw": False,
         "atm": "noatm",
         "overhead": 18, "mpu": 64, "fwmark": "0"},
        [],
    ),
    "cake unlimited besteffort lan pppoe-ptm ether-vlan wash": (
        'kind = "cake", tins = "besteffort", rtt = "1ms", overhead = "34B"',
        {"bandwidth": "unlimited", "diffserv": "besteffort", "flowmode": "triple-isolate", "nat": False,
         "wash": True,
         "ingress": False, "ack-filter": "disabled", "split_gso": True, "rtt": 1000, "raw": False,
         "atm": "ptm",
         "overhead": 34, "fwmark": "0"},
        ["wash: perhop's cake has no such setting", "atm ptm: perhop counts bytes: no cells, no coding"],
    ),
    "dualpi2 target 20ms tupdate 16ms alpha 0.16015625 beta 3.19921875 coupling_factor 3 step_thresh 2ms "
    "classic_protection 20%": (
        'kind = "dualpi2", limit = "10000p", target = "20ms", t_update = "16ms", alpha = 0.16015625, '
        f'beta = 3.19921875, coupling = 3, l4s_threshold = "2ms", classic_share = 0.2, {LINUX}',
        {"limit": 10000, "memory-limit": 15140000, "target": 20000, "tupdate": 16000, "alpha": 0.160156,
         "beta": 3.199219, "step-thresh-us": 2000, "min-qlen-step": 0, "coupling": 3, "drop-overload": "drop",
         "drop-early": "drop-dequeue", "c-protection": 20, "ecn-mask": "l4s-ect", "split-gso": None},
        [f"memory-limit 15140000: {BUFFERS}"],
    ),
    "red limit 60000 min 15000 max 45000 avpkt 1500 burst 17 probability 0.1 bandwidth 2mbit ecn adaptive": (
        'kind = "red", limit = "60000B", min_th = "15000B", max_th = "45000B", max_p = 0.1, w_q = 0.0625, '
        "ecn = true",
        {"limit": 60000, "min": 15000, "max": 45000, "ecn": True, "harddrop": False, "adaptive": True,
         "nodrop": False, "ewma": 4, "probability": 0.1, "Scell_log": 17},
        ["adaptive: perhop's red has no such setting"],
    ),
}  # fmt: skip
"""The forms of JSON are those of iproute2 at ee2a4a86: `*_print_opt` in tc/q_codel.c, q_fq_codel.c, q_pie.c,
q_fq_pie.c, q_red.c with tc_red.c, q_sfq.c, q_cake.c, q_dualpi2.c, q_fifo.c; defaults are the kernel's."""


SHOWN = """\
qdisc htb 1: root refcnt 2 r2q 10 default 0x20 direct_packets_stat 0 direct_qlen 500
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 20: parent 1:20 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms drop_batch 64
  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0
class htb 1:1 root rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b
class htb 1:20 parent 1:1 leaf 20: prio 1 rate 7Mbit ceil 10Mbit burst 1598b cburst 1600b
 lended: 0 borrowed: 0 giants: 0
class htb 1:30 parent 1:1 prio 0 rate 3Mbit ceil 3Mbit burst 1599b cburst 1599b
class fq_codel 20:1a parent 20:
"""
"""As iproute2 6.1 prints them, but the kinds that this kernel lacks."""


def test_what_tc_shows_as_text_and_classes_in_json() -> None:
    classes = [
        {"class": "htb", "handle": "1:1", "root": True, "rate": 1250000, "ceil": 1250000, "burst": 1600,
         "cburst": 1600},
        {"class": "htb", "handle": "1:20", "parent": "1:1", "leaf": "0x20", "prio": 1, "rate": 875000,
         "ceil": 1250000, "burst": 1598, "cburst": 1600, "stats": {"bytes": 0}},
        {"class": "htb", "handle": "1:30", "parent": "1:1", "prio": 0, "rate": 375000, "ceil": 375000,
         "burst": 1599, "cburst": 1599},
    ]  # fmt: skip
    made = port(SHOWN)
    assert made == port(SHOWN.partition("class htb")[0] + json.dumps(classes))
    last, default = made["class"]
    assert (last["match"], last["rate"], last["queue"]["limit"]) == (["3"], "3Mbit/s", "500p")
    assert default["queue"] == {
        "kind": "fq", "limit": "10240p", "queues": 1024, "quantum": "1514B", "drop_batch": 64,
        "conventions": {"like": "linux"},
        "queue": {"kind": "codel", "ecn": False, "target": "5ms", "interval": "100ms",
                  "conventions": {"like": "linux", "mtu": "1514B"}},
    }  # fmt: skip


def resolved(text: str, queue: str = "") -> dict[str, Any]:
    """Give the queue of an imported scenario with all its defaults, or one in its place."""
    own = (f"port.router-far.class.all.queue={{ {queue} }}",) if queue else ()
    scenario = Scenario(text.encode(), "test.toml", own)
    assert scenario.check() == []
    (only,) = tomllib.loads(scenario.resolve())["port"][0]["class"]
    return only["queue"]


@pytest.mark.parametrize("command", QUEUES)
def test_a_queue_is_the_same_from_a_command_and_as_it_is_shown(command: str) -> None:
    expected, options, leaves = QUEUES[command]
    of_command = imported(ROOT + command, "test")
    of_json = imported(shown_as_json(command.split()[0], options), "test")
    assert (of_command.refused, of_json.refused) == ((), ())
    same = resolved(of_json.text, expected)
    assert resolved(of_json.text) == same
    # tc shows no avpkt
    own = {"mean_packet": "1500B"} if "red" in command else {}
    assert resolved(of_command.text) == same | own
    assert [str(one).partition("8001:: ")[2] or one.why for one in of_json.left_out] == leaves


LINUX_QUEUES = (
    'kind = "fifo", limit = "20p"',
    'kind = "fifo", limit = "20kB"',
    f'kind = "codel", limit = "30p", target = "8ms", ce_threshold = "2ms", {LINUX}',
    f'kind = "pie", limit = "100p", ecn = true, alpha = 0.25, delay_from = "departure-rate", {LINUX}',
    f"{CODEL}, ecn = true }}, queues = 256",
    f'{FQ} "pie", target = "20ms", {LINUX} }}',
    f'kind = "dualpi2", limit = "100p", beta = 3.19921875, classic_share = 0.2, {LINUX}',
    'kind = "cake", ack_filter = "aggressive", tins = "diffserv4", rate = "1Mbit/s", '
    'overhead = "18B", mpu = "64B"',
    'kind = "red", limit = "90kB", min_th = "15kB", max_th = "45kB", max_p = 0.1, w_q = 0.0625, '
    'mean_packet = "1500B"',
)


@pytest.mark.parametrize("queue", LINUX_QUEUES)
@pytest.mark.parametrize("shape", [None, 0.5])
def test_a_queue_comes_back_from_deploy(queue: str, shape: float | None) -> None:
    overrides = (f"port.isp-home.class.all.queue={{ {queue} }}",)
    (made,) = commands(Scenario.load(HOUSEHOLD, overrides), "home", shape)
    again = imported("\n".join(made.on("near").lines), "test")
    assert again.refused == again.left_out == ()
    assert resolved(again.text) == resolved(again.text, queue)
    shaper = tomllib.loads(again.text)["port"][0].get("shaper", {}).get("rate")
    assert shaper == ("1Mbit/s" if shape and "cake" not in queue else None)


@pytest.mark.parametrize("kind", ["strict-priority", "htb", "drr"])
@pytest.mark.parametrize("shape", [None, 0.95])
def test_classes_come_back_from_deploy(kind: str, shape: float | None) -> None:
    scheduler, own = SCHEDULERS[kind]
    asked = Scenario.load(HOUSEHOLD, (f"port.isp-home.scheduler={scheduler}", CLASSES % own))
    (made,) = commands(asked, "home", shape)
    text = "\n".join(made.on("near").lines)
    if kind == "htb" and shape:
        # deploy says so, too: the rates are those of the whole link
        assert "its classes have 2Mbit/s, and its shaper less" in refused(text)[0]
        return
    got = port(text)
    (before,) = (one for one in tomllib.loads(asked.resolve())["port"] if one["class"][0]["name"] == "voice")
    assert got["scheduler"]["kind"] == before["scheduler"]["kind"] == kind
    assert got.get("shaper") == ({"rate": "1.9Mbit/s"} if shape else None)
    assert [set(one["match"]) for one in got["class"]] == [set(one["match"]) for one in before["class"]]
    assert [quantities(one) for one in got["class"]] == [quantities(one) for one in before["class"]]


def quantities(one: dict[str, Any]) -> list[Any]:
    """Give rate, ceiling, quantum and limit of a class, however they are written."""
    given = [one.get("rate"), one.get("ceil", one.get("rate")), one.get("quantum"), one["queue"]["limit"]]
    return [quantity(text) if text else None for text in given]


KERNEL = (
    *(
        "pfifo limit 50",
        "bfifo limit 20kb",
        "pfifo_fast",
        "prio",
        "codel ecn",
        "fq_codel limit 500",
        "pie",
        "fq_pie",
    ),
    *(
        "red limit 60000 min 5000 max 15000 avpkt 1000 burst 20 bandwidth 10mbit",
        "cake bandwidth 10mbit",
        "sfq",
    ),
    *("dualpi2", "tbf rate 1mbit burst 5kb latency 50ms overhead 18", "drr", "htb default 20"),
)
SHOW = (
    "tc -j -s -d qdisc show dev near; tc -s -d class show dev near; tc -j filter show dev near; echo BEHIND"
)


def _in_a_kernel(*lines: str) -> str:
    """Give what tc shows of a device that commands have set up."""
    need("tc")
    script = ["ip link add near type veth peer name far", "ip link set near up", *lines, SHOW]
    done = namespace(["sh", "-c", "; ".join(script)])
    for lacks in ("qdisc kind is unknown", "Unknown qdisc"):
        if lacks in done.stderr:
            pytest.skip(f"this kernel or this tc has no such qdisc: {done.stderr.strip()}")
    assert "Error" not in done.stderr, done.stderr
    return done.stdout.partition("BEHIND")[0]


@pytest.mark.parametrize("kind", KERNEL)
def test_what_a_kernel_shows_is_what_was_set(kind: str) -> None:
    leaves = {
        "htb": [
            "parent 1: classid 1:1 htb rate 10mbit",
            "parent 1:1 classid 1:20 htb rate 7mbit ceil 10mbit quantum 3000 prio 1",
            "parent 1:1 classid 1:30 htb rate 3mbit ceil 3mbit quantum 3000 burst 15k",
        ],
        "drr": ["parent 1: classid 1:20 drr quantum 3000", "parent 1: classid 1:30 drr quantum 1500"],
    }.get(kind.split()[0], [])
    script = [
        f"tc qdisc add dev near root handle 1: {kind}",
        *(f"tc class add dev near {one}" for one in leaves),
    ]
    if leaves:
        both = U32.format("ip", 1, "ip dsfield 0xb8 0xfc", 30) + U32.format("ip", 2, ACKS, 30)
        script += ["tc qdisc add dev near parent 1:20 handle 20: bfifo limit 30000"]
        script += both.replace("eth0", "near").splitlines()
    got, asked = port(_in_a_kernel(*script)), port("\n".join(script))
    # bursts are times to the kernel, and tc -j shows those by default, too
    bursts = [
        [one.pop(word, "1600B") for one in (made.get("shaper", {}), made.get("scheduler", {}), *made["class"])
         for word in ("burst", "cburst")]
        for made in (got, asked)
    ]  # fmt: skip
    for one, other in zip(*bursts, strict=True):
        assert quantity(one)[0] == pytest.approx(quantity(other)[0], rel=0.01)
    assert got == asked


PIECES = [
    *(HTB + DRR).split(),
    *("\n", ";", "[", "]", "{", "}", '"', "'", "$", "\\", "#", "|", "&", ">", "1:", ":1", "root", "ingress"),
    *(
        "mq",
        "hfsc",
        "red",
        "cake",
        "prio",
        "tbf",
        "match",
        "at",
        "u32",
        "u8",
        "flower",
        "ip_tos",
        "priomap",
        "%",
    ),
    *(
        "0",
        "-1",
        "1e99",
        "99999999999999999999",
        "class",
        "qdisc",
        "filter",
        "add",
        "del",
        "replace",
        "matchall",
    ),
]
WORDS = {key for _, shown, _ in QUEUES.values() for key in shown} | {"keys", "match", "flowid"}
OPTIONS = st.dictionaries(
    st.sampled_from(sorted(WORDS)),
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=6),
        st.lists(st.integers(0, 3), max_size=3), st.just([{"value": "b8", "mask": "ff", "off": 0}]),
    ),
    max_size=6,
)  # fmt: skip
IDS = st.sampled_from(["0:", "1:", "1:1", "1:2", ":1", "ffff:", "x"])
THINGS = st.fixed_dictionaries(
    {"options": OPTIONS},
    optional={
        "kind": st.sampled_from(
            [*(one.split()[0] for one in KERNEL), "u32", "flower", "mq", "hfsc", "ingress"]
        ),
        "class": st.sampled_from(["htb", "drr", "fq_codel"]),
        "handle": IDS,
        "parent": IDS,
        "root": st.booleans(),
        "pref": st.one_of(st.integers(-1, 5), st.text(max_size=3)),
        "protocol": st.sampled_from(["ip", "ipv6", "arp"]),
        "dev": st.sampled_from(["eth0", "eth1"]),
        "rate": st.integers(0, 10**9),
        "quantum": st.integers(-1, 4000),
    },
)


def holds(found: Imported) -> None:
    """Check that an import is a scenario that can be read, or says why not."""
    assert bool(found.text) != bool(found.refused)
    if found.text:
        tomllib.loads(found.text)
        Scenario(found.text.encode(), "fuzz.toml").diagnose()


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join))
def test_no_words_make_a_traceback(text: str) -> None:
    holds(imported(text, "fuzz"))


@settings(max_examples=150)
@given(st.data())
def test_no_change_of_a_script_makes_a_traceback(data: st.DataObject) -> None:
    lines = (HTB + U32.format("ip", 3, "ip dsfield 0x28 0xfc", 30)).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[at])))
        behind = lines[at][cut + data.draw(st.integers(0, 3)) :]
        lines[at] = f"{lines[at][:cut]} {data.draw(st.sampled_from(PIECES))} {behind}"
    holds(imported("".join(lines), "fuzz"))


@settings(max_examples=100)
@given(st.lists(THINGS, min_size=1, max_size=4))
def test_no_json_of_tc_makes_a_traceback(things: list[dict[str, Any]]) -> None:
    things[0] |= {"root": True, "handle": "1:"}
    things[0].pop("class", None)
    holds(imported(json.dumps(things), "fuzz"))


@settings(max_examples=150)
@given(st.text(max_size=200))
def test_no_text_makes_a_traceback(text: str) -> None:
    holds(imported(text, "fuzz"))


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda one: (
        st.lists(one, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "options", "handle", "class", "root"]), one, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=100)
@given(ANY)
def test_no_json_makes_a_traceback(one: Any) -> None:
    holds(imported(json.dumps([one]), "fuzz"))
