"""`perhop deploy`: what a scenario asks of its receivers, as rules or commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.deploy.marks import NAMED, marking, name, number

ROOT = Path(__file__).parents[1]
ACCESS = ROOT / "python" / "perhop" / "starters" / "access" / "access.toml"
UP = "conditioner.acks-up.ack_marking="


def test_marks_have_the_numbers_of_their_rfcs() -> None:
    assert [NAMED[one] for one in ("BE", "CS0", "CS7", "AF11", "AF23", "AF43", "EF")] == [
        0,
        0,
        56,
        10,
        22,
        38,
        46,
    ]
    assert [number("AF12"), number("5"), name(12), name(5), name(0)] == [12, 5, "AF12", "5", "BE"]


def test_each_kind_of_marking_as_a_map() -> None:
    by_class = {"kind": "per-class", "marks": {"web": "EF"}}
    by_mark = {"kind": "per-mark", "marks": {"AF11": "AF12"}, "rule": "worst-of-covered"}
    assert marking(by_class, "web").fixed == 46
    assert marking(by_class, "mail").fixed == 0
    assert marking({"kind": "best-effort"}, "web").fixed == 0
    assert [marking(by_mark, "web").given[data] for data in (10, 12, 0)] == [12, 0, 0]
    assert marking(by_mark, "web").rule == "worst-of-covered"
    assert marking({"kind": "copy", "rule": "triggering-segment"}, "web").given == tuple(range(64))


def test_an_edge_on_the_way_of_the_acks_overrules_their_host(cli: Cli) -> None:
    asked = ["deploy", ACCESS, "--with", "ebpf", "--flow", "download", "--device", "wan0"]
    host = ["-s", 'flow.download.ack.marking={ kind = "copy" }']
    copied = "\nmake\n./ackmark-ebpf install wan0 copy triggering-segment\n./ackmark-ebpf check wan0\n"
    assert "install wan0 any=0 triggering-segment" in cli(*asked, *host).out
    assert copied in cli(*asked, *host, "-s", "conditioner.acks-up.match.class=web").out
    assert copied in cli(*asked, "-s", f'{UP}{{ kind = "copy" }}').out


def test_nft_tells_classes_apart_by_address(cli: Cli) -> None:
    asked = [
        "deploy",
        ACCESS,
        "--host",
        "pc",
        "-s",
        f'{UP}{{ kind = "per-class", marks = {{ web = "AF11" }} }}',
    ]
    done = cli(*asked)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert "cannot: download (every ACK BE) and web (every ACK AF11): pc cannot tell them apart" in done.err
    assert "--address" in done.err
    known = ["--address", "server[0]=192.0.2.1", "--address", "server[2]=2001:db8::1"]
    done = cli(*asked, *known)
    assert done.code == 0
    assert "tcp sport 5001 ip daddr 192.0.2.1 goto answer_1" in done.out
    assert "tcp sport 5001 ip6 daddr 2001:db8::1 goto answer_0" in done.out
    assert "chain answer_1 {\n    counter\n    goto mark_10\n" in done.out
    assert "goto mark_10" in cli(*asked, "--flow", "web").out
    done = cli(*asked, "--with", "ebpf", *known)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert "the eBPF program marks all flows alike" in done.err


def test_nft_cannot_choose_the_best_of_what_is_covered(cli: Cli) -> None:
    asked = ["deploy", ACCESS, "--host", "pc", "-s", f'{UP}{{ kind = "copy", rule = "best-of-covered" }}']
    done = cli(*asked)
    assert done.code == ExitCode.USAGE
    assert "best-of-covered: nftables remembers the mark that came last alone" in done.err
    [host] = cli(*asked, "--json").json()["hosts"]
    assert host["text"] is None
    assert len(host["cannot"]) == 1
    assert "install eth0 copy best-of-covered" in cli(*asked, "--with", "ebpf").out


def test_a_scenario_that_does_not_say_how_acks_are_marked_has_no_rules(cli: Cli, tmp_path: Path) -> None:
    file = ROOT / "examples" / "household.toml"
    for words in ((), ("--with", "ebpf"), ("--json",)):
        done = cli("deploy", file, *words)
        assert (done.code, done.out) == (ExitCode.USAGE, "")
        assert "does not say how ACKs are marked" in done.err
        assert "--with tc --at NODE" in done.err
    one = 'flow.pages.ack.marking={ kind = "best-effort" }'
    assert "goto mark_0" in cli("deploy", file, "--flow", "pages", "-s", one).out
    said = tmp_path / "said.toml"
    said.write_text(
        file.read_text().replace('name = "pages"', 'name = "pages"\nack.marking.kind = "best-effort"')
    )
    assert "goto mark_0" in cli("deploy", said).out


def test_hosts_that_differ_are_not_printed_as_one(cli: Cli) -> None:
    done = cli("deploy", ACCESS, "-s", f'{UP}{{ kind = "copy" }}')
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert "hosts are to mark differently: server[1], pc" in done.err
    hosts = cli("deploy", ACCESS, "-s", f'{UP}{{ kind = "copy" }}', "--json").json()["hosts"]
    assert {host["host"]: host["flows"][0]["acks"] for host in hosts} == {
        "server[1]": "every ACK BE",
        "pc": "the mark of the data",
    }


def test_a_conditioner_that_matches_by_mark_is_told(cli: Cli) -> None:
    done = cli("deploy", ACCESS, "--host", "pc", "-s", "conditioner.acks-up.match.mark=EF")
    assert done.code == ExitCode.USAGE
    assert "conditioner.acks-up takes ACKs by `mark`" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "nobody"], "--host nobody: there is none of that name"),
        (["--flow", "nothing"], "--flow nothing: there is none of that name"),
        (["--address", "pc=here"], "--address pc=here: not an address"),
        (["--address", "nobody=192.0.2.1"], "--address nobody: there is none of that name"),
        (["--with", "ebpf", "--device", "a;b"], "--device a;b: not the name of a device"),
        (["--flow", "call-up"], "--flow call-up: there is none of that name"),
    ],
)
def test_what_is_asked_wrongly_is_refused(cli: Cli, arguments: list[str], said: str) -> None:
    done = cli("deploy", ACCESS, *arguments)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert said in done.err
