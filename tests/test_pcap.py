"""Captures of links: every packet, as tools that know nothing of perhop read it."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.cli.exit import ExitCode

SCENARIO = """
[run]
duration = "5s"

[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"

[[link]]
ends = ["a", "r"]
rate = "10Mbit/s"

[[link]]
ends = ["r", "b"]
rate = "1Mbit/s"
delay = "10ms"

[[port]]
at = "r"
to = "b"
class = [{ name = "all", queue = { kind = "fifo", limit = "8p" } }]

[[flow]]
name = "up"
from = "a"
to = "b"
mark = "AF11"
tcp = { profile = "linux", mss = "1000B", header = "40B" }

[[udp]]
name = "call"
from = "a"
to = "b"
mark = "EF"
rate = "80kbit/s"
packet_size = "200B"
"""


class Packet(NamedTuple):
    """A packet of a capture."""

    time_ns: int
    kept: bytes
    original: int
    comment: str


def packets(file: Path) -> Iterator[Packet]:
    """Read a capture by the definition of the format, and refuse what is not of it."""
    data, at = file.read_bytes(), 0
    kinds = []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        kinds.append(kind)
        if kind == 6:
            _, high, low, kept, original = struct.unpack_from("<5I", data, at + 8)
            start = at + 28
            option = start + (kept + 3) // 4 * 4
            code, size = struct.unpack_from("<HH", data, option)
            assert code == 1
            comment = data[option + 4 : option + 4 + size].decode()
            yield Packet(high << 32 | low, data[start : start + kept], original, comment)
        at += length
    assert kinds[:2] == [0x0A0D0D0A, 1]


def summed(data: bytes) -> int:
    """Return the Internet checksum of RFC 1071, 0 of what holds its own."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "capture.toml"
    path.write_text(SCENARIO)
    return path


def test_every_packet_of_a_link_is_there_and_results_are_the_same(
    cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    plain = cli("run", scenario, "-o", tmp_path / "plain", "--json").json()
    done = cli("run", scenario, "-o", tmp_path / "run", "--pcap", "all", "--json").json()
    assert done["record"]["output_hash"] == plain["record"]["output_hash"]
    assert done["record"]["event_digest"] == plain["record"]["event_digest"]
    dropped = {queue["path"]: queue["dropped_packets"] for queue in done["queues"]}
    for link in done["links"]:
        name = link["name"].replace("->", "-")
        found = list(packets(tmp_path / "run" / f"{name}.pcapng"))
        sent = [one for one in found if "dropped" not in one.comment]
        assert len(sent) == link["packets"]
        # a SYN tells of its segments and its window, in 8 bytes that no scenario counts
        syns = sum(one.kept[9] == 6 and one.kept[33] & 2 > 0 for one in sent)
        assert sum(one.original for one in sent) == link["bytes"] + 8 * syns
        assert len(found) - len(sent) == dropped[f"port.{name}.class.all"]
        assert [one.time_ns for one in found] == sorted(one.time_ns for one in found)
    lost = [one for one in packets(tmp_path / "run" / "r-b.pcapng") if "dropped" in one.comment]
    assert {one.comment for one in lost} <= {"AF11 green dropped: overflow", "EF green dropped: overflow"}
    assert lost
    assert cli("run", scenario, "-o", tmp_path / "run", "--force").code == 0


def test_headers_are_those_of_the_packets(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    assert cli("run", scenario, "-o", tmp_path / "run", "--pcap", "r->b", "--pcap", "b->r").code == 0
    numbers = []
    for one in packets(tmp_path / "run" / "r-b.pcapng"):
        ip, above = one.kept[:20], one.kept[20:]
        assert summed(ip) == 0
        assert struct.unpack_from(">H", ip, 2) == (one.original,)
        if ip[9] == 17:
            assert (ip[1] >> 2, one.original, len(one.kept)) == (46, 200, 28)
            continue
        assert ip[1] >> 2 == 10
        number, flags, header = (*struct.unpack_from(">I", above, 4), above[13], above[12] >> 4)
        payload = one.original - 20 - 4 * header
        pseudo = ip[12:20] + struct.pack(">HH", 6, one.original - 20)
        assert summed(pseudo + above + bytes(payload)) == 0
        if flags & 2:
            assert (number, payload, above[20:24]) == (0, 0, b"\x02\x04\x03\xe8")
        elif payload:
            numbers.append(number)
            assert payload == 1000
    acks = list(packets(tmp_path / "run" / "b-r.pcapng"))
    highest = max(struct.unpack_from(">I", one.kept, 28)[0] for one in acks)
    # the data begin after the SYN, and none is left out
    assert set(range(1, highest, 1000)) <= set(numbers)
    assert highest > 400_000
    # a receiver with holes tells of them, beside timestamps
    assert any(len(one.kept) > 52 for one in acks)


def test_a_header_that_is_smaller_in_the_scenario_is_kept_whole(tmp_path: Path) -> None:
    small = Scenario.from_text(SCENARIO).override('flow.up.tcp.header="20B"', "flow.up.tcp.timestamps=false")
    small.run(pcap={"b->r": tmp_path / "acks.pcapng"})
    acks = [one for one in packets(tmp_path / "acks.pcapng") if one.kept[33] == 0x10]
    # no reader takes a packet that was shorter than what is kept of it
    assert {(len(one.kept), one.original) for one in acks if len(one.kept) == 40} == {(40, 40)}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        Scenario.from_text(SCENARIO).run(pcap={"r->b": tmp_path / name})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_link_that_is_not_there_is_refused(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    done = cli("run", scenario, "--pcap", "r-b")
    assert done.code == ExitCode.USAGE
    assert "r->b" in done.err
    with pytest.raises(OSError, match="no link x->y"):
        Scenario.from_text(SCENARIO).run(pcap={"x->y": tmp_path / "none"})
    with pytest.raises(FileNotFoundError):
        Scenario.from_text(SCENARIO).run(pcap={"r->b": tmp_path / "no" / "folder"})


@pytest.mark.parametrize("tool", ["tcpdump", "tshark"])
def test_tools_read_it_without_a_warning(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    file = tmp_path / "link.pcapng"
    Scenario.from_text(SCENARIO).run(pcap={"r->b": file})
    done = subprocess.run([tool, "-n", "-r", str(file)], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(list(packets(file)))
    told = [line for line in done.stderr.splitlines() if line]
    assert all(line.startswith(("reading from file", "Running as user")) for line in told)


@pytest.mark.parametrize("header", ["20B", "58B"])
def test_a_header_of_any_size_is_no_error_to_tools(header: str, tmp_path: Path) -> None:
    file = tmp_path / "link.pcapng"
    Scenario.from_text(SCENARIO).override(f'flow.up.tcp.header="{header}"').run(pcap={"r->b": file})
    data = {(one.original, one.comment) for one in packets(file) if one.original > 1000}
    expected = (1052, "AF11 green, 1032 bytes on the link") if header == "20B" else (1070, "AF11 green")
    assert expected in data
    for tool, options in (("tcpdump", ["-nv"]), ("tshark", ["-q", "-z", "expert"])):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
        done = subprocess.run([tool, *options, "-r", str(file)], capture_output=True, text=True, check=True)
        wrong = ("truncated", "bad cksum", "incorrect", "exceeds packet length", "Errors (")
        assert not [line for line in done.stdout.splitlines() if any(word in line for word in wrong)]
