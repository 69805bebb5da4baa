"""Sources from captures of perhop, tcpdump and tshark; loads, and factors that drive several settings."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Cli
from perhop import Scenario

HEAD = """
[run]
duration = "4s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "10Mbit/s"
"""
POISSON = """
[[udp]]
name = "u"
from = "a"
to = "b"
rate = "400kbit/s"
packet_size = "250B"
pattern = { kind = "poisson" }
"""
WEB = """
[[flow]]
name = "web"
from = "a"
to = "b"
arrivals = { load = 0.2, link = "a->b", size = { kind = "fixed", size = "25kB" } }
[[flow]]
name = "mail"
from = "b"
to = "a"
arrivals = { load = 0.2, link = "b->a", size = { kind = "exponential", mean = "50kB" } }
"""


def captured(file: str, more: str = "") -> str:
    pattern = f'pattern = {{ kind = "capture", file = "{file}"{more} }}'
    return f'{HEAD}[[udp]]\nname = "u"\nfrom = "a"\nto = "b"\n{pattern}\n'


def left(scenario: Scenario) -> list[tuple[int, int]]:
    """Return when each packet of UDP came to its port, in ns from the first, and its length."""
    packets = scenario.run(trace=["packets"]).trace["packets"]
    rows = packets.filter(packets["event"] == "enqueued", packets["path"].str.starts_with("port.a-b"))
    times = [round(at * 1e9) for at in rows["time_s"]]
    return list(zip([at - times[0] for at in times], rows["bytes"].to_list(), strict=True))


def test_a_capture_of_a_run_is_sent_again(cli: Cli) -> None:
    Path("net.toml").write_text(HEAD + POISSON)
    assert cli("run", "net.toml", "-o", "out", "--pcap", "a->b").code == 0
    (capture,) = Path("out").glob("*.pcapng")
    shutil.copy(capture, "u.pcapng")
    Path("again.toml").write_text(captured("u.pcapng"))
    first, again = left(Scenario.load("net.toml")), left(Scenario.load("again.toml"))
    assert len(first) > 700
    # the capture is of what begins on the link, where now and then a packet has waited for the one before it
    assert [size for _, size in again] == [size for _, size in first]
    assert max(abs(one[0] - other[0]) for one, other in zip(first, again, strict=True)) < 3 * 200_000
    assert sum(one == other for one, other in zip(first, again, strict=True)) > 0.9 * len(first)
    # replayed from its folder alone, and from the start again when it is over
    assert cli("run", "again.toml", "-o", "copy").code == 0
    Path("u.pcapng").unlink()
    assert cli("replay", "copy").code == 0
    meaning = cli("describe", "copy/scenario.toml", "--json").json()
    assert meaning["udp"][0]["capture"]["packets"] == len(first)
    twice = ["run.duration=8s", "udp.u.pattern.repeat=true"]
    assert len(left(Scenario.load("copy/scenario.toml", tuple(twice)))) > 1.9 * len(first)


def test_what_tcpdump_and_tshark_write_of_loopback_is_sent_again(tmp_path: Path) -> None:
    for tool in ("tcpdump", "tshark"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    file = tmp_path / "lo.pcap"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        to = receiver.getsockname()
        words = ["tcpdump", "-i", "lo", "-n", "-U", "--immediate-mode", "-s", "64", "-w", str(file)]
        listening = subprocess.Popen(
            [*words, f"udp and dst port {to[1]}"], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        with listening as child:
            assert child.stderr is not None
            said = child.stderr.readline()
            if "listening" in said:
                sizes = [100, 200, 1000, 50, 100, 20]
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    for size in sizes:
                        sender.sendto(bytes(size), to)
                        time.sleep(0.02)
                time.sleep(0.2)
                child.send_signal(signal.SIGINT)
    if "listening" not in said:
        pytest.skip(f"tcpdump may not listen here: {said.strip()}")
    subprocess.run(
        ["tshark", "-r", str(file), "-w", str(tmp_path / "lo.pcapng")], check=True, capture_output=True
    )
    found = []
    for name in (file.name, "lo.pcapng"):
        (tmp_path / "net.toml").write_text(captured(name, f', protocol = "udp", dst_port = {to[1]}'))
        found.append(left(Scenario.load(tmp_path / "net.toml")))
    assert found[0] == found[1]
    assert [size for _, size in found[0]] == [size + 28 for size in sizes]
    assert all(
        20_000_000 <= b[0] - a[0] < 1_000_000_000 for a, b in zip(found[0], found[0][1:], strict=False)
    )


def test_damage_is_told_at_the_key(cli: Cli) -> None:
    Path("net.toml").write_text(captured("u.pcap"))
    Path("u.pcap").write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(25))
    told = cli("check", "net.toml").out
    assert "udp.u.pattern.file: `u.pcap` ends within a packet: it is cut off or damaged (byte 24)" in told


def test_no_form_is_of_a_capture(cli: Cli) -> None:
    Path("net.toml").write_text(HEAD + POISSON)
    assert cli("run", "net.toml", "-o", "out", "--pcap", "a->b").code == 0
    (capture,) = Path("out").glob("*.pcapng")
    shutil.copy(capture, "u.pcapng")
    Path("again.toml").write_text(captured("u.pcapng"))
    assert not any(one["holds"] for one in cli("estimate", "again.toml", "--json").json()["estimates"])


def test_loads_are_told_as_transfers_a_second(cli: Cli) -> None:
    Path("web.toml").write_text(HEAD + WEB)
    meaning = cli("describe", "web.toml", "--json").json()
    # 2 Mbit/s in transfers of 200 and 400 kbit
    assert meaning["arrivals_per_s"] == pytest.approx({"web": 10.0, "mail": 5.0})
    assert "Transfers that begin in a second" in cli("describe", "web.toml").out


def test_a_factor_may_drive_several_settings(cli: Cli) -> None:
    Path("web.toml").write_text(HEAD + WEB)
    study = """
    scenario = "web.toml"
    [[factor]]
    name = "load"
    path = ["flow.web.arrivals.load", "flow.mail.arrivals.load"]
    levels = [0.1, 0.4]
    [[response]]
    name = "goodput"
    measure = "sum(flows.goodput_bit_s)"
    """
    Path("vary.toml").write_text(study)
    assert cli("check", "vary.toml").code == 0
    assert cli("campaign", "run", "vary.toml", "-o", "store", "-j", "1").code == 0
    from perhop.experiment.store import Store

    treatments = Store.open("store").campaign.design.treatments
    set_by = [f"flow.{name}.arrivals.load" for name in ("web", "mail")]
    assert [one.overrides for one in treatments] == [
        tuple(f"{path}={load}" for path in set_by) for load in (0.1, 0.4)
    ]
    Path("vary.toml").write_text(study.replace("[0.1, 0.4]", "[0.1, -1]"))
    told = cli("check", "vary.toml")
    assert told.code == 3
    assert "load=-1" in told.out
    Path("vary.toml").write_text(study.replace("flow.mail", "flow.post"))
    assert "the file has no flow `post`" in cli("check", "vary.toml").out
