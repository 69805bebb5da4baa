"""Real packets: kernel TCP in namespaces, and the elements in between."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.run.live import LackingError, LiveError, differences, privileged, program

NETWORK = """
[run]
duration = "{duration}"
warmup = "500ms"
interval = "100ms"

[[node]]
name = "host"
count = 2

[[node]]
name = "edge"
kind = "router"

[[node]]
name = "core"
kind = "router"

[[node]]
name = "sink"

[[link]]
ends = ["host[*]", "edge"]
rate = "100Mbit/s"
delay = "1ms"

[[link]]
ends = ["edge", "core"]
rate = "10Mbit/s"
delay = "5ms"

[[link]]
ends = ["core", "sink"]
rate = "100Mbit/s"
delay = "1ms"

[[flow]]
name = "bulk"
from = "host[*]"
to = "sink"
class = "bulk"
mark = "AF11"
ack = {{ marking = {{ kind = "copy" }} }}
tcp = {{ profile = "linux", cc = "reno", slow_start = "standard" }}

[[udp]]
name = "call"
from = "host[0]"
to = "sink"
class = "call"
mark = "EF"
rate = "200kbit/s"
packet_size = "200B"
"""

EDGE = """
[[conditioner]]
name = "edge"
at = "edge"
from = "host[*]"
match = {{ mark = ["AF11"] }}
meter = {meter}
marker = {marker}
"""
PORT = """
[[port]]
at = "edge"
to = "core"
scheduler = {scheduler}
[[port.class]]
name = "ef"
match = ["EF"]
{first}
[[port.class]]
name = "rest"
match = ["any"]
queue = {queue}
{second}
"""
COLORS = 'colors = { AF11 = "green", AF12 = "yellow", AF13 = "red", BE = "red" }'
IN_OUT = 'colors = { AF11 = "green", AF13 = "red", BE = "red" }'
THREE = '{ green = "AF11", yellow = "AF12", red = "AF13" }'
TWO = '{ green = "AF11", red = "AF13" }'
PORTS = {
    "fifo and strict-priority": PORT.format(
        scheduler='{ kind = "strict-priority" }',
        queue='{ kind = "fifo", limit = "20p" }',
        first="",
        second="",
    ),
    "gred and wrr": PORT.format(
        scheduler='{ kind = "wrr" }',
        queue=f'{{ kind = "gred", limit = "40p", {COLORS}, averaging = "coupled", '
        'green = { min_th = "20p", max_th = "30p", max_p = 0.02, w_q = 0.02 }, '
        'yellow = { min_th = "10p", max_th = "20p", max_p = 0.06, w_q = 0.02 }, '
        'red = { min_th = "5p", max_th = "10p", max_p = 0.1, w_q = 0.02 } }',
        first="weight = 1",
        second="weight = 4",
    ),
    "rio and drr": PORT.format(
        scheduler='{ kind = "drr" }',
        queue=f'{{ kind = "rio", limit = "40p", {IN_OUT}, w_q = 0.02, '
        'green = { min_th = "20p", max_th = "30p", max_p = 0.05 }, '
        'red = { min_th = "5p", max_th = "15p", max_p = 0.1 } }',
        first='quantum = "1500B"',
        second='quantum = "6000B"',
    ),
    "cobalt and wfq": PORT.format(
        scheduler='{ kind = "wfq" }',
        queue='{ kind = "cobalt", limit = "40p", target = "2ms", interval = "20ms" }',
        first="weight = 1",
        second="weight = 4",
    ),
    "red and cbq": PORT.format(
        scheduler='{ kind = "cbq" }',
        queue='{ kind = "red", limit = "40p", min_th = "5p", max_th = "15p", max_p = 0.1, w_q = 0.02 }',
        first="share = 0.1\nbounded = true",
        second="share = 0.9",
    ),
    "htb behind a shaper, and dualpi2": PORT.format(
        scheduler='{ kind = "htb" }\nshaper = { rate = "9Mbit/s", burst = "3kB", overhead = "18B" }',
        queue='{ kind = "dualpi2", limit = "20p" }',
        first='rate = "1Mbit/s"\nceil = "9Mbit/s"',
        second='rate = "8Mbit/s"\nceil = "9Mbit/s"',
    ),
    "cake": """
[[port]]
at = "core"
to = "edge"
[[port.class]]
name = "all"
queue = { kind = "cake", rate = "9Mbit/s", limit = "20p", rtt = "20ms", ack_filter = "aggressive" }
""",
    "fq and paired-counter": PORT.format(
        scheduler='{ kind = "paired-counter", data = "rest", share = 0.9 }',
        queue='{ kind = "fq", limit = "20p" }',
        first="",
        second="",
    ),
    "pie and drr": PORT.format(
        scheduler='{ kind = "drr" }',
        queue='{ kind = "pie", limit = "40p", target = "2ms", t_update = "5ms", max_burst = "10ms" }',
        first='quantum = "1500B"',
        second='quantum = "6000B"',
    ),
    "codel, and strict-priority": PORT.format(
        scheduler='{ kind = "strict-priority" }',
        queue='{ kind = "codel", limit = "40p", target = "2ms", interval = "20ms" }',
        first="",
        second="",
    ),
}
FILTER = """
[[port]]
at = "core"
to = "edge"
[[port.class]]
name = "acks"
queue = { kind = "fifo", limit = "1000p", ack_filter = "aggressive" }
"""
METERS = {
    "tsw3cm of each flow": EDGE.format(
        meter='{ kind = "tsw3cm", cir = "1Mbit/s", pir = "2Mbit/s", window = "200ms" }',
        marker=THREE + '\nper = "flow"',
    ),
    "sr-tcm": EDGE.format(
        meter='{ kind = "sr-tcm", cir = "2Mbit/s", cbs = "10kB", ebs = "20kB" }', marker=THREE
    ),
    "tr-tcm": EDGE.format(
        meter='{ kind = "tr-tcm", cir = "2Mbit/s", cbs = "10kB", pir = "4Mbit/s", pbs = "10kB" }',
        marker=THREE,
    ),
    "tr-tcm-diffserv": EDGE.format(
        meter='{ kind = "tr-tcm-diffserv", cir = "2Mbit/s", cbs = "10kB", eir = "2Mbit/s", ebs = "10kB" }',
        marker=THREE,
    ),
    "tcp-friendly": EDGE.format(
        meter='{ kind = "tcp-friendly", interval = "100ms", tokens = 20, packet_size = "1448B" }', marker=TWO
    ),
    "tsw2cm": EDGE.format(meter='{ kind = "tsw2cm", cir = "2Mbit/s", window = "200ms" }', marker=TWO),
    "token-bucket of each flow": EDGE.format(
        meter='{ kind = "token-bucket", cir = "2Mbit/s", cbs = "10kB" }', marker=TWO + '\nper = "flow"'
    ),
    "shaper": EDGE.format(
        meter='{ kind = "token-bucket", cir = "2Mbit/s", cbs = "10kB" }',
        marker='{ green = "AF11", red = "shape" }\n'
        'shaper = { rate = "3Mbit/s", burst = "10kB", limit = "10p" }',
    ),
}
"""Together every meter, queue and scheduler, a shaper, and a conditioner with a meter of each flow."""
ELEMENTS = dict(zip(PORTS, itertools.cycle(METERS), strict=False))
assert set(ELEMENTS.values()) == set(METERS)
LINKS = [
    name
    for one, other in (("host[0]", "edge"), ("host[1]", "edge"), ("edge", "core"), ("core", "sink"))
    for name in (f"{one}->{other}", f"{other}->{one}")
]
FIFO = PORTS["fifo and strict-priority"]
TAHOE = ("-s", 'flow.bulk.tcp.profile="rfc"', "-s", 'flow.bulk.tcp.recovery="tahoe"')


def _lacking() -> str | None:
    """Why this machine cannot run on real packets."""
    try:
        words = [*privileged(), str(program())]
    except LackingError as error:
        return str(error)
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun cannot be opened"
    done = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 or os.geteuid() == 0 or words[0].endswith("sudo") else "no namespaces"


LACKING = _lacking()
live = pytest.mark.skipif(LACKING is not None, reason=f"no real packets here: {LACKING}")


def _scenario(tmp_path: Path, ports: str = FIFO, duration: str = "2s") -> Path:
    path = tmp_path / "network.toml"
    path.write_text(NETWORK.format(duration=duration) + ports)
    return path


def not_of_time(over: list[str]) -> list[str]:
    """What is over the budget but for lateness and stalls, which a busy machine has."""
    return [why for why in over if "late" not in why and "stood still" not in why]


@live
def test_a_run_on_real_packets_leaves_what_a_run_leaves(cli: Cli, tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    document = cli("emulate", path, "-o", tmp_path / "run", "--json").json()
    how = document["record"]["live"]
    # a busy machine may be late; nothing may be lost, damaged or made up
    assert not_of_time(how["over_budget"]) == []
    assert [law for law in document["record"]["invariants"] if "budget" not in law] == []
    flows = document["flows"]
    assert all(flow["delivered_bytes"] > 0 and flow["rtt_samples"] > 0 for flow in flows)
    # 10 Mbit/s less 200 kbit/s of UDP, of which 1448 of 1500 bytes are payload
    assert 0.8 * 9.8e6 * 1448 / 1500 <= sum(flow["goodput_bit_s"] for flow in flows) <= 9.8e6
    assert document["udp"][0]["arrived_packets"] == pytest.approx(125 * 1.5, abs=6)
    marks = {(row["flow"], row["mark"]) for row in document["marks"]}
    assert marks == {("bulk[0]", "AF11"), ("bulk[1]", "AF11"), ("call", "EF")}
    assert how["hosts"]["host[0]"]["sysctls"]["ipv4/tcp_sack"] == "1"
    stored = StoredRun.load(tmp_path / "run")
    assert stored.record.live is not None
    assert stored.record.live.kernel.startswith("Linux")
    assert stored.table("series").filter(pl.col("quantity") == "cwnd_bytes")["value"].max() > 1448


@live
@pytest.mark.parametrize("ports", PORTS)
def test_the_arrivals_of_a_live_run_meet_the_same_decisions_in_a_simulation(
    tmp_path: Path, ports: str
) -> None:
    path = _scenario(tmp_path, PORTS[ports] + METERS[ELEMENTS[ports]])
    words = [*privileged(), str(program()), "parity"]
    done = subprocess.run(words, input=path.read_text(), capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["arrivals"] > 1000
    assert said["steps"] > 5 * said["arrivals"]
    assert said["dropped"] > 0
    assert said["not_green"] > 0
    assert said["differ"] == 0


@live
def test_an_ack_filter_takes_the_same_of_real_acknowledgments_as_of_those_of_a_simulation(
    tmp_path: Path,
) -> None:
    path = _scenario(tmp_path, FILTER)
    one, both = 'rate = "10Mbit/s"', 'rate = { "edge->core" = "10Mbit/s", "core->edge" = "100kbit/s" }'
    text = path.read_text().replace(one, both)
    assert both in text
    done = subprocess.run(
        [*privileged(), str(program()), "parity"], input=text, capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["dropped"] > 100
    assert said["differ"] == 0


@live
def test_a_probe_of_each_class_tells_delay_by_class_on_both_clocks(tmp_path: Path) -> None:
    path = _scenario(tmp_path, duration="3s")
    probe = """
[[udp]]
name = "probe-{mark}"
from = "host[0]"
to = "sink"
class = "probe-{mark}"
mark = "{mark}"
rate = "16kbit/s"
packet_size = "100B"
"""
    scenario = Scenario.from_text(path.read_text() + probe.format(mark="EF") + probe.format(mark="AF11"))

    def delays(clock: str) -> tuple[float, float, float]:
        classes = scenario.override(f"run.clock={clock}").run().classes

        def of(mark: str, column: str) -> float:
            return float(classes.filter(pl.col("class") == f"probe-{mark}")[column][0])

        return of("EF", "delay_p50_s"), of("AF11", "delay_p50_s"), of("EF", "delay_min_s")

    for clock in ("virtual", "live"):
        ef, bulk, least = delays(clock)
        # 1 + 5 + 1 ms, and 100 bytes at 100, 10 and 100 Mbit/s
        assert least >= 7e-3 + 100 * 8 * 1.2e-7 - 1e-9
        # before it at most one packet of 1500 bytes, 1.2 ms, and other packets of its class
        assert ef < least + 2e-3
        # behind a queue of up to twenty
        assert bulk > ef + 3e-3


def _emulate(path: Path, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a run in a process of its own, whose temporary folder is `tmp_path / "tmp"`."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [sys.executable, "-m", "perhop.cli", "emulate", str(path), "-o", str(tmp_path / "run")]
    return subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip


@live
def test_a_killed_run_leaves_nothing_behind(tmp_path: Path) -> None:
    path = _scenario(tmp_path, duration="60s")
    before = set(os.listdir("/sys/class/net"))
    with _emulate(path, tmp_path) as driver:
        child = _until(lambda: _running_child(driver.pid), "the run to start")
        driver.send_signal(signal.SIGKILL)
    _until(lambda: not _is_running(child), "the privileged program to end")
    assert set(os.listdir("/sys/class/net")) == before
    assert not (tmp_path / "run").exists()
    assert list((tmp_path / "tmp").iterdir()) == []


@live
def test_a_killed_program_is_told_and_is_no_defect(tmp_path: Path) -> None:
    with _emulate(_scenario(tmp_path, duration="60s"), tmp_path) as driver:
        os.kill(_until(lambda: _running_child(driver.pid), "the run to start"), signal.SIGKILL)
        said = driver.communicate()[1]
    assert driver.returncode == 7
    assert "perhop-live was ended by SIGKILL" in said
    assert not (tmp_path / "run").exists()


@live
def test_a_run_that_stood_still_is_not_valid_whatever_its_queue(tmp_path: Path) -> None:
    with _emulate(_scenario(tmp_path, duration="4s"), tmp_path) as driver:
        child = _until(lambda: _running_child(driver.pid), "the run to start")
        time.sleep(1.5)
        os.kill(child, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(child, signal.SIGCONT)
        said = driver.communicate()[1]
    assert driver.returncode == 4
    found = re.search(r"the run stood still for (\d+) ms at (\d\.\d) s \(at most 100 ms\)", said)
    assert found, said
    assert int(found[1]) >= 190
    assert 0.9 < float(found[2]) < 2.5


MANY = """
[run]
duration = "1.2s"
clock = "live"
[[node]]
name = "h"
count = {hosts}
[[node]]
name = "r"
kind = "router"
[[link]]
ends = ["h[*]", "r"]
rate = "1Gbit/s"
delay = "100us"
[[udp]]
name = "u"
from = "h[0]"
to = "h[1]"
rate = "{rate}"
packet_size = "100B"
"""


@live
def test_a_run_with_300_hosts_begins_and_ends_in_seconds() -> None:
    """A device's set-up by programs and its closing by the process took 40 ms of an idle machine each."""
    scenario = Scenario.from_text(MANY.format(hosts=300, rate="80kbit/s"))
    began = time.monotonic()
    run = scenario.run()
    assert time.monotonic() - began < 10
    assert run.live is not None
    assert len(run.live.hosts) == 300
    assert run.udp["arrived_packets"].sum() > 60


@live
def test_udp_packets_that_leave_together_are_as_large_and_as_many() -> None:
    run = Scenario.from_text(MANY.format(hosts=2, rate="80Mbit/s")).run()
    how = run.live
    assert how is not None
    assert (how.unsent, how.sizes, how.checksums) == (0, 0, 0)
    (flow,) = run.udp.to_dicts()
    # 100,000 a second for 1.2 s; a busy machine has not sent the last ones then, or reads some that follow
    assert 60_000 < flow["sent_packets"] + how.unread < 120_100
    assert flow["sent_bytes"] == 100 * flow["sent_packets"]
    assert flow["arrived_bytes"] == 100 * flow["arrived_packets"] > 0
    assert 0 < how.sending_share < 1
    assert 0 < how.forwarding_share < 1


def _until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def _running_child(driver: int) -> int | None:
    """The privileged program that `driver` has started, once it has threads: its namespaces are up then."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == driver and len(list((process / "task").iterdir())) > 3:
                return int(process.name)
    return None


def _is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_what_a_kernel_cannot_do_is_refused_or_told(cli: Cli, tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    scenario = Scenario.load(path)
    told = differences(scenario)
    # `linux` has a delay that adapts, and jiffies
    assert not any(word.startswith("ack_delay") for word in told)
    fixed = differences(scenario.override("flow.bulk.tcp.ack_delay_adapts=false"))
    assert any(word.startswith("ack_delay") for word in fixed)
    assert not any(word.startswith("timer_on_tick") for word in told)
    exact = differences(scenario.override('flow.bulk.tcp.timer_jiffy="0s"'))
    assert any(word.startswith("timer_on_tick") for word in exact)
    assert not any(word.startswith(("recovery", "processing_jitter")) for word in told)
    jitter = differences(scenario.override('run.processing_jitter="1ms"'))
    assert any(word.startswith("processing_jitter") for word in jitter)
    reno = scenario.override('flow.bulk.tcp.profile="rfc"', 'flow.bulk.tcp.recovery="reno"')
    assert any(word.startswith("recovery: without SACK a kernel goes on") for word in differences(reno))
    with pytest.raises(LiveError, match="Tahoe"):
        differences(reno.override('flow.bulk.tcp.recovery="tahoe"'))
    done = cli("emulate", path, *TAHOE)
    assert done.code == 3
    assert "Tahoe" in done.err
    assert "Traceback" not in done.err


def test_a_live_scenario_is_not_simulated(tmp_path: Path) -> None:
    scenario = Scenario.load(_scenario(tmp_path)).override('run.clock="live"')
    with pytest.raises(ValueError, match="clock is live"):
        scenario.core.simulate([])
    assert scenario.key() != Scenario.load(_scenario(tmp_path)).key()


@live
def test_a_live_run_is_replayed_by_intervals_and_its_page_has_both_arms(cli: Cli, tmp_path: Path) -> None:
    path = _scenario(tmp_path, duration="3s")
    assert cli("emulate", path, "-o", tmp_path / "run", "--report").code in (0, 4)
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'id="two-clocks"' in page
    assert "net.ipv4.tcp_sack = 1" in page
    told = cli("replay", tmp_path / "run", "--json").json()
    link = next(one for one in told["compared"] if one["what"] == "link.edge->core, utilization")
    assert link["recorded"]["mean"] == pytest.approx(1, abs=0.02)
    assert link["replayed"]["mean"] == pytest.approx(1, abs=0.02)


@live
@pytest.mark.parametrize("umask", [0o022, 0o007])
def test_files_are_the_users_and_may_be_more_than_a_shell_allows_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    """As under sudo, the program is started with another umask; and with room for ten files."""
    start = ["sh", "-c", 'umask 077; ulimit -S -n 10; exec "$@"', "sh", *privileged()]
    monkeypatch.setattr("perhop.run.live.privileged", lambda: start)
    before = os.umask(umask)
    try:
        scenario = Scenario.load(_scenario(tmp_path, duration="1s")).override('run.clock="live"')
        scenario.run(pcap={link: tmp_path / f"{i}.pcapng" for i, link in enumerate(LINKS)})
    finally:
        os.umask(before)
    files = list(tmp_path.glob("*.pcapng"))
    assert len(files) == len(LINKS)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o666 & ~umask}
    assert {file.stat().st_uid for file in files} == {os.geteuid()}
    assert all(file.stat().st_size > 0 for file in files)


POLICED = """
[[conditioner]]
name = "edge"
at = "edge"
from = "host[*]"
match = { mark = ["EF"] }
meter = { kind = "token-bucket", cir = "400kbit/s", cbs = "5kB" }
marker = { green = "EF", red = "AF13" }
"""
RATE, PACKET = 400e3, 500 * 8


@live
def test_decisions_differ_from_the_ideal_ones_by_what_packets_were_late(tmp_path: Path) -> None:
    """A source at twice the rate of its meter: by each moment as many packets are green as ideally."""
    scenario = Scenario.load(_scenario(tmp_path, FIFO + POLICED)).override(
        "udp.call.rate=800kbit/s", "udp.call.packet_size=500B"
    )

    def coloured(clock: str) -> pl.DataFrame:
        result = scenario.override(f"run.clock={clock}").run(trace=["packets"])
        rows = result.trace["packets"].filter(event="coloured", flow="call")
        return rows.select("time_s", green=(pl.col("color") == "green").cast(pl.Int64).cum_sum())

    ideal, found = coloured("virtual"), coloured("live")
    both = min(ideal.height, found.height)
    assert both >= 395
    late = (found["time_s"][:both] - ideal["time_s"][:both]).abs().max()
    assert isinstance(late, float)
    most = 1 + math.ceil(late * RATE / PACKET)
    assert (found["green"][:both] - ideal["green"][:both]).abs().max() <= most
    # the bound is worth something: a tenth of the packets more or less would not pass
    assert most < 0.1 * both


def test_what_one_kernel_cannot_be_for_two_flows_is_refused_with_both(tmp_path: Path) -> None:
    path = _scenario(tmp_path)
    flow = 'name = "other"\nfrom = "host[0]"\nto = "sink"\ntcp = { profile = "linux" }\n'
    both = Scenario.from_text(f"{path.read_text()}[[flow]]\n{flow}")
    # windows may differ, for a buffer that holds the larger holds the smaller; other settings may not
    assert differences(both.override('flow.other.tcp.window="1MiB"'))
    with pytest.raises(
        LiveError, match=r"host\[0\]: flow other needs net.ipv4.tcp_frto = 0, another of its flows 2"
    ):
        differences(both.override("flow.other.tcp.frto=false"))
