"""`perhop deploy --with tc` and `sqm`: commands that tc reads, sections for OpenWrt, what they leave out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conftest import Cli
from namespaces import namespace, need
from perhop import Scenario
from perhop.deploy.marks import number
from perhop.deploy.tc import Commands, commands
from perhop.recommend import line
from test_applications import HOUSEHOLD
from test_recommend import ACCESS

LACKS = re.compile(r"qdisc kind is unknown|Unknown qdisc \"dualpi2\"|classifier not found|No such file")
"""What is said where all was read, but the kernel, or this tc, has no such qdisc or filter."""
QUEUES = {
    '{ kind = "fifo", limit = "20p" }': "pfifo limit 20",
    '{ kind = "fifo", limit = "20kB" }': "bfifo limit 20000",
    '{ kind = "codel", limit = "30kB", target = "8ms" }': "codel limit 20 target 8000us "
    "interval 100000us noecn",
    '{ kind = "pie", limit = "100p", ecn = true }': "pie limit 100 target 15000us tupdate 15000us ecn",
    '{ kind = "fq", queues = 256 }': "fq_codel limit 10240 flows 256 quantum 1514 "
    "drop_batch 64 target 5000us interval 100000us ecn",
    '{ kind = "fq", queue = { kind = "pie" } }': "fq_pie limit 10240 flows 1024 quantum 1514 target 15000us "
    "tupdate 15000us noecn",
    '{ kind = "red", limit = "60p", min_th = "10p", max_th = "30p", max_p = 0.1 }': "red limit 90000 "
    "min 15000 max 45000 avpkt 1500 burst 17 probability 0.1 bandwidth 2000000bit",
    '{ kind = "dualpi2", limit = "100p" }': "dualpi2 limit 100 target 15000us coupling_factor 2",
    '{ kind = "cake", limit = "1MB", ack_filter = "aggressive", tins = "diffserv4" }': "cake unlimited "
    "diffserv4 triple-isolate rtt 100000us ack-filter-aggressive overhead 0 mpu 0",
}
CLASSES = """port.isp-home.class=[
  { name = "voice", match = ["EF", "CS5"], %s queue = { kind = "fifo", limit = "20p" } },
  { name = "acks", match = ["pure-ack"], %s queue = { kind = "fifo", limit = "64kB" } },
  { name = "rest", match = ["any"], %s queue = { kind = "fifo", limit = "100p" } },
]""".replace("\n", " ")
SCHEDULERS = {
    "strict-priority": ('{ kind = "strict-priority" }', ("", "", "")),
    "htb": ('{ kind = "htb" }', ('rate = "200kbit/s",', 'rate = "300kbit/s",', 'rate = "1.5Mbit/s",')),
    "cbq": ('{ kind = "cbq" }', ("share = 0.1,", "share = 0.2, bounded = true,", "share = 0.7,")),
    "drr": ('{ kind = "drr" }', ('quantum = "1500B",', 'quantum = "1500B",', 'quantum = "6000B",')),
    "wfq": ('{ kind = "wfq" }', ("weight = 1,", "weight = 1,", "weight = 4,")),
}


def _home(*overrides: str, shape: float | None = None) -> Commands:
    (made,) = commands(Scenario.load(HOUSEHOLD, overrides), "home", shape)
    return made.on("near")


def _several(kind: str, shape: float | None = None) -> Commands:
    scheduler, settings = SCHEDULERS[kind]
    return _home(f"port.isp-home.scheduler={scheduler}", CLASSES % settings, shape=shape)


@pytest.fixture(scope="module")
def read_by_tc() -> None:
    need("tc")


def _run(lines: list[str]) -> subprocess.CompletedProcess[str]:
    """Run commands at a pair of devices, each whatever became of the one before."""
    script = ["ip link add near type veth peer name far", "ip link set near up", *lines]
    return namespace(["sh", "-c", "; ".join([*script, "tc qdisc show dev near", "tc class show dev near"])])


@pytest.mark.usefixtures("read_by_tc")
@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_is_the_qdisc_that_comes_nearest_and_tc_reads_it(queue: str) -> None:
    made = _home(f"port.isp-home.class.all.queue={queue}")
    assert made.lines == [f"tc qdisc replace dev near root {QUEUES[queue]}"]
    done = _run(made.lines)
    wrong = [line for line in done.stderr.splitlines() if line.strip() and not LACKS.search(line)]
    assert wrong == []
    if "fifo" in queue:
        kind, _, amount = QUEUES[queue].split()
        assert re.search(rf"qdisc {kind} \w+: root .*limit {amount}", done.stdout), done.stdout


@pytest.mark.usefixtures("read_by_tc")
@pytest.mark.parametrize("kind", SCHEDULERS)
def test_classes_have_a_qdisc_each_and_filters_in_their_order(kind: str) -> None:
    made = _several(kind)
    filters = [line.partition(" prio ")[2] for line in made.lines if line.startswith("tc filter")]
    assert [one.rpartition(" ")[2] for one in filters] == ["1:1"] * 4 + ["1:2"] * 22 + ["1:3"]
    assert filters[-1].startswith(f"{max(int(one.split()[0]) for one in filters)} protocol all matchall")
    assert "match ip dsfield 0xb8 0xfc" in filters[0]
    done = _run(made.lines)
    unread = ("What is", "Illegal", "Usage")
    assert [line for line in done.stderr.splitlines() if any(word in line for word in unread)] == []


@pytest.mark.usefixtures("read_by_tc")
def test_htb_is_set_up_with_the_rates_of_the_classes() -> None:
    done = _run(_several("htb").lines)
    if "kind is unknown" in done.stderr:
        pytest.skip("this kernel has no htb")
    shown = dict(re.findall(r"class htb (1:[0-9a-f]+) .*? rate (\w+)", done.stdout))
    assert shown == {"1:1": "200Kbit", "1:2": "300Kbit", "1:3": "1500Kbit", "1:ff": "2Mbit"}


def test_a_device_faster_than_the_line_is_held_to_a_share_of_it() -> None:
    first, second, third = _home('port.isp-home.class.all.queue={ kind = "fq" }', shape=0.95).lines
    assert first.endswith("root handle 1: htb default 1")
    assert second.endswith("parent 1: classid 1:1 htb rate 1900000bit ceil 1900000bit")
    assert " parent 1:1 fq_codel " in third
    (only,) = _home('port.isp-home.class.all.queue={ kind = "cake" }', shape=0.95).lines
    assert "root cake bandwidth 1900000bit diffserv3" in only
    assert (
        _several("strict-priority", shape=0.9)
        .lines[2]
        .startswith("tc qdisc replace dev near parent 1:1 handle 2: prio bands 3")
    )


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (('port.isp-home.class.all.queue={ kind = "cobalt", limit = "20p" }',), "queue cobalt: no qdisc"),
        (
            ('port.isp-home.class.all.queue.ack_filter="conservative"',),
            "ack_filter: bfifo has none; cake has",
        ),
        (
            ('port.isp-home.class.all.queue={ kind = "fq", queue = { kind = "cobalt" } }',),
            "queue fq with cobalt",
        ),
    ],
)
def test_what_no_qdisc_says_is_told(overrides: tuple[str, ...], why: str) -> None:
    assert [one.startswith(why) for one in _home(*overrides).cannot] == [True]


@pytest.mark.parametrize(
    ("overrides", "lines"),
    [
        (
            ('port.isp-home.class=[{ name = "d", match = ["data"] }, { name = "a", match = ["any"] }]',),
            ["flowid 1:2"] * 22 + ["protocol all matchall flowid 1:1", "protocol all matchall flowid 1:2"],
        ),
        (
            (
                'port.isp-home.scheduler={ kind = "htb" }',
                'port.isp-home.class=[{ name = "a", rate = "1Mbit/s", quantum = "3kB" }]',
            ),
            [
                "rate 2000000bit burst 1600",
                "rate 1000000bit ceil 1000000bit quantum 3000",
                "matchall flowid 1:1",
            ],
        ),
        (
            ('port.isp-home.class.all.queue={ kind = "codel", limit = "9p", ce_threshold = "2ms" }',),
            ["codel limit 9 target 5000us interval 100000us ce_threshold 2000us noecn"],
        ),
    ],
)
def test_what_is_set_is_said(overrides: tuple[str, ...], lines: list[str]) -> None:
    made = [line for line in _home(*overrides).lines if "tc qdisc replace" not in line or "codel" in line]
    assert [line.endswith(end) for line, end in zip(made, lines, strict=True)] == [True] * len(lines), made


def test_what_a_qdisc_has_no_setting_for_is_named() -> None:
    queue = (
        'port.isp-home.class.all.queue={ kind = "pie", limit = "30kB", mark_ecnth = 0.2, max_burst = "1s" }'
    )
    limit, rest = _home(queue).cannot
    assert limit == "limit: 30000 bytes are counted in packets of 1500"
    assert rest == "queue pie: max_burst, mark_ecnth: no setting of pie"


@pytest.mark.parametrize("node", ["isp", "gateway"])
def test_every_router_of_the_pack_has_its_queues(node: str) -> None:
    """One of them has links to a group of servers."""
    assert [one.to for one in commands(Scenario.load(ACCESS), node)] == [
        {"isp": "gateway", "gateway": "isp"}[node]
    ]


def test_code_points_are_those_of_the_names() -> None:
    marks = {"BE": 0, "LE": 1, "EF": 46, "VA": 44, "CS5": 40, "AF11": 10, "AF43": 38, "7": 7}
    assert {name: number(name) for name in marks} == marks


def test_the_command_says_whose_device_it_is_and_what_is_left_out(cli: Cli) -> None:
    done = cli("deploy", ACCESS, "--with", "tc", "--at", "gateway", "--device", "isp=ppp0", "--shape", "95%")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("# gateway to isp, as ")
    cannot = [line for line in lines if line.startswith("# cannot: ")]
    assert any("scheduler cbq: Linux has none since 6.3" in line for line in cannot)
    assert any("conditioner meeting: no qdisc meters" in line for line in cannot)
    assert "cannot: gateway to isp: scheduler cbq" in done.err
    assert all("dev ppp0 " in line for line in lines[1:] if line not in cannot)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--with tc: whose queues?"),
        (("--at", "roof"), "--at roof: no such node"),
        (("--at", "pc"), "pc has nothing but FIFOs with the limit by default"),
        (("--at", "gateway", "--shape", "2"), "--shape 2: not a percentage from 1 to 100"),
        (("--at", "gateway", "--device", "isp=a b"), "--device a b: not the name of a device"),
        (("--at", "gateway", "--device", "pcx=eth7"), "no link to 'pcx' has anything to set"),
        (("--at", "gateway", "--device", "isp=a,isp=b"), "--device isp=b: isp has one already"),
        (("--at", "gateway", "--flow", "web"), "--host, --flow and --address: not with --with tc"),
    ],
)
def test_what_is_asked_wrongly_is_refused(cli: Cli, words: tuple[str, ...], why: str) -> None:
    done = cli("deploy", ACCESS, "--with", "tc", *words)
    assert (done.code, why in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        (("--with", "tc"), "isp, home"),
        (("--with", "tc", "--at", "roof"), "isp, home"),
        (("--with", "tc", "--at", "pc"), "isp, home"),
        (("--with", "openconfig", "--at", "pc"), "isp, home"),
        (("--with", "sqm"), "isp, home"),
    ],
)
def test_the_hint_names_nodes_with_something_to_set(cli: Cli, words: tuple[str, ...], nodes: str) -> None:
    done = cli("deploy", HOUSEHOLD, *words)
    assert (done.code, done.err.splitlines()[-1]) == (2, f"hint: --at one of {nodes}")


@pytest.mark.parametrize("with_", ["tc", "openconfig"])
def test_with_a_share_each_port_may_be_held(cli: Cli, with_: str) -> None:
    words = ("deploy", HOUSEHOLD, "--with", with_, "--shape", "95%")
    named = cli(*words).err.splitlines()[-1].removeprefix("hint: --at one of ").split(", ")
    assert [cli(*words, "--at", node).code for node in named] == [0] * len(named)
    assert "pc" in named


def _sqm(cli: Cli, *words: str) -> dict[str, str]:
    done = cli("deploy", HOUSEHOLD, "--with", "sqm", "--at", "home", "--device", "wan", *words)
    assert done.code == 0, done.err
    first, *options = done.out.splitlines()
    assert first == "config queue 'wan'"
    found = [re.fullmatch(r"\toption (\w+) '([^']*)'", line) for line in options]
    assert all(found)
    return {one[1]: one[2] for one in found if one}


def test_a_section_of_sqm_has_both_ways_of_the_line(cli: Cli) -> None:
    queue = 'port.isp-home.class.all.queue={ kind = "cake", ack_filter = "conservative", overhead = "44B" }'
    assert _sqm(cli, "-s", queue) == {
        "enabled": "1", "interface": "wan", "upload": "1900", "download": "19000", "qdisc": "cake",
        "script": "layer_cake.qos", "linklayer": "ethernet", "overhead": "44", "linklayer_advanced": "1",
        "tcMPU": "0", "qdisc_advanced": "1", "qdisc_really_really_advanced": "1", "eqdisc_opts": "ack-filter",
        "iqdisc_opts": "ack-filter",
    }  # fmt: skip
    held = _sqm(cli, "-s", 'port.isp-home.class.all.queue={ kind = "fq" }', "--shape", "80%")
    assert (held["upload"], held["download"], held["script"]) == ("1600", "16000", "simplest.qos")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--at", "home"), "port.home-isp has fifo; SQM has cake (besteffort, diffserv3) and fq with codel"),
        (("--at", "pc"), "--at pc: no slow link begins there"),
        (("--at", "home", "--device", "roof=wan"), "no link to 'roof' has anything to set"),
        (("--at", "home", "-s", CLASSES % ("", "", "")), "has classes of its own"),
    ],
)
def test_what_sqm_cannot_say_is_refused(cli: Cli, words: tuple[str, ...], why: str) -> None:
    done = cli("deploy", HOUSEHOLD, "--with", "sqm", *words)
    assert (done.code, why in done.err) == (2, True), done.err


LTE = Path(line.__file__).parents[1] / "starters" / "lte" / "lte.toml"
"""Both ways of its link follow traces."""


@pytest.mark.parametrize("with_", ["tc", "sqm", "openconfig"])
def test_a_share_of_a_rate_that_follows_a_trace_is_warned_of(cli: Cli, with_: str) -> None:
    words = ("deploy", LTE, "--with", with_, "--at", "tower", "--device", "wan")
    words += ("-s", 'port.tower-phone.class.all.queue={ kind = "fq" }')
    held = cli(*words, "--shape", "95%")
    assert held.code == 0
    assert re.search(
        r"phone: .*the rate follows down.trace, and a share is of its mean, 7\.822 Mbit/s", held.err
    )
    # sqm holds both ways to a share in any case
    ways = 2 if with_ == "sqm" else 1
    assert held.err.count("Give the port a `shaper` with a rate that the link nearly always has") == ways
    assert "follows" in cli(*words, "--shape", "95%", "--json").out
    own = cli(*words, "--shape", "95%", "-s", 'port.tower-phone.shaper={ rate = "2Mbit/s" }')
    assert (own.code, "follows" in own.err) == (0, False)
    if with_ != "sqm":
        assert "follows" not in cli(*words).err
