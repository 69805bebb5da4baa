"""What `perhop doctor` asks of the kernel: by trying, with nothing left; and the commands it gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perhop import live, machine
from perhop.machine import Looked, Tool, adds, look

BPFTOOL = Tool("bpftool", "", "bpftool", "bpftool")
TC = Tool("tc", "", "iproute2", "iproute-tc")


@pytest.mark.parametrize(
    ("release", "tool", "command"),
    [
        ("ID=debian\n", TC, "apt-get install iproute2"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', BPFTOOL, "apt-get install linux-tools-generic"),
        ("ID=debian\n", BPFTOOL, "apt-get install bpftool"),
        ("NAME=x\nID=fedora\n", TC, "dnf install iproute-tc"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', TC, "dnf install iproute-tc"),
        ("", TC, "install iproute2 (Debian) or iproute-tc (Fedora) by its name here"),
    ],
)
def test_the_command_is_that_of_the_distribution(release: str, tool: Tool, command: str) -> None:
    assert adds(tool, release) == command


def found() -> dict[str, Looked]:
    return {one.what: one for one in look()}


def test_what_is_tried_is_over() -> None:
    def state() -> tuple[str, list[str], int]:
        return (
            Path("/proc/net/dev").read_text().split("|")[0],
            sorted(os.listdir("/sys/class/net")),
            os.sched_getscheduler(0),
        )

    before = state()
    look()
    assert state() == before
    children = subprocess.run(
        ["ps", "-o", "comm=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    assert "unshare" not in children.stdout


def test_root_finds_what_root_can_do() -> None:
    if os.geteuid():
        pytest.skip("not root")
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    assert (found()["way in"].found == "root") == (tried.returncode == 0)


def test_where_nothing_works_everything_is_missing_with_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_works", lambda words: "Operation not permitted")
    monkeypatch.setattr(machine, "which", lambda name: None)
    monkeypatch.setattr(live, "privileged", list)
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    looked = found()
    assert {what for what, one in looked.items() if one.found} <= {
        "perhop-live",
        "TCP reno",
        "TCP cubic",
        "headers of libbpf",
    }
    assert all(one.adds for one in looked.values())


def test_an_ordinary_user_takes_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []
    monkeypatch.setattr(machine, "_works", lambda words: tried.append(words))
    monkeypatch.setattr(live, "privileged", list)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert found()["way in"].found == "user namespace"
    assert tried[0] == ["unshare", "--user", "--map-root-user", "--net", "true"]
    monkeypatch.setattr(live, "privileged", lambda: ["sudo", "-n"])
    assert found()["way in"].found == "sudo -n"
    assert [*("sudo", "-n"), sys.executable] == next(
        one for one in tried if sys.executable in one and "sudo" in one
    )[:3]
