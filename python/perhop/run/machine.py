"""Requirements of real packets, asked of the kernel by trying; nothing that is tried stays."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.run import live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from perhop.scenario.scenario import Scenario

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# The smallest program for clsact: `return 0`.
_LOAD = """
import ctypes, os, struct, sys
number = {"x86_64": 321, "aarch64": 280, "riscv64": 280}.get(os.uname().machine)
if number is None: sys.exit("no number of bpf() is known for " + os.uname().machine)
code = ctypes.create_string_buffer(bytes([0xB7, *[0] * 7, 0x95, *[0] * 7]))
licence = ctypes.create_string_buffer(b"Apache-2.0")
asked = struct.pack("=IIQQ", 3, 2, ctypes.addressof(code), ctypes.addressof(licence)).ljust(128, b"\\0")
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(number, 5, asked, len(asked)) < 0: sys.exit(os.strerror(ctypes.get_errno()))
"""

_PIECE = 5000
"""Turns of a loop that does nothing: about 0.1 ms."""

_OPTIONAL = {name: f'cc = "{name}" on real packets' for name in ("dctcp", "prague", "bbr", "bbr3")}
"""Senders that not every kernel has, and what needs each."""

_IF_THERE = "if there is such a module"

_ROOT = "run perhop as root, or allow sudo without a password; a container needs the capabilities"


@dataclass(frozen=True)
class Way:
    """A way to get network namespaces: words before the program, name, findings."""

    name: str
    words: tuple[str, ...]
    """That start a program with the privilege; sudo may allow perhop-live alone."""
    found: live.Probe


@dataclass(frozen=True)
class Looked:
    """One requirement: the finding, or None; its purpose; the command that brings it."""

    what: str
    found: str | None
    needed_for: str
    adds: str


@dataclass(frozen=True)
class Tool:
    """A program, and its package for apt and for dnf."""

    name: str
    needed_for: str
    apt: str
    dnf: str


TOOLS = (
    Tool("tc", "ACK marking by eBPF", "iproute2", "iproute-tc"),
    Tool("bpftool", "ACK marking by eBPF", "bpftool", "bpftool"),
    Tool("clang", "ACK marking by eBPF", "clang", "clang"),
    Tool("nft", "ACK marking by nftables", "nftables", "nftables"),
    Tool("tcpdump", "looking at captures", "tcpdump", "tcpdump"),
    Tool("tshark", "looking at captures", "tshark", "wireshark-cli"),
    Tool("iperf3", "iperf3 as an endpoint", "iperf3", "iperf3"),
)

_HEADER = "/usr/include/bpf/bpf_helpers.h"
_HEADERS = Tool("headers of libbpf", "ACK marking by eBPF", "libbpf-dev", "libbpf-devel")


def which(name: str) -> str | None:
    """Return where a program is, in the folders of the administrator too."""
    return shutil.which(name, path=_PATH)


def look() -> list[Looked]:
    """Try each requirement of real packets, in child processes."""
    text = _read("/etc/os-release")
    way = _way()
    refused = _works([*(way.words if way else ()), sys.executable, "-I", "-B", "-c", _LOAD])
    prior = way is not None and way.found.priority == "SCHED_FIFO"
    headers = _HEADER if os.path.exists(_HEADER) else None
    return [
        Looked("way in", way.name if way else None, "perhop emulate", _adds_way()),
        Looked("perhop-live", _program(), "perhop emulate", "make build"),
        _tun(way),
        *(_control(name, "perhop emulate") for name in ("reno", "cubic")),
        *(_control(name, needed_for) for name, needed_for in _OPTIONAL.items()),
        Looked("TCP senders", _listed(), 'cc = "kernel:NAME"', f"modprobe tcp_NAME, {_IF_THERE}"),
        Looked("SCHED_FIFO", _realtime() if prior else None, "packets on time on a busy machine", _ROOT),
        Looked("BPF", "yes" if refused is None else None, "ACK marking by eBPF", _ROOT),
        *(Looked(one.name, which(one.name), one.needed_for, adds(one, text)) for one in TOOLS),
        Looked(_HEADERS.name, headers, _HEADERS.needed_for, adds(_HEADERS, text)),
    ]


def slowed(seconds: float = 1.0, spent: Callable[[], int] = time.thread_time_ns) -> float:
    """Return the share of a processor's time in which it works at less than half its speed.

    Runs equal pieces of work for so long by the clock, and looks at the processor time of each (`spent`, ns):
    other programs here cost none of it. What remains is a processor that is slow from outside, by the host of
    a virtual machine, say, which the guest's own counters need not show.
    """
    pieces: list[int] = []
    end = time.perf_counter() + seconds
    while not pieces or time.perf_counter() < end:
        began = spent()
        for _ in range(_PIECE):
            pass
        pieces.append(spent() - began)
    usual = sorted(pieces)[len(pieces) // 20]
    return sum(piece for piece in pieces if piece > 2 * usual) / max(1, sum(pieces))


def check_live(scenarios: Iterable[Scenario]) -> None:
    """See that scenarios can be run on this machine's kernel, before any is; raises as `live.run` does."""
    asked = list(scenarios)
    needs = {"perhop emulate", *(_OPTIONAL[name] for name in _senders(asked) if name in _OPTIONAL)}
    lacking = [one for one in look() if one.needed_for in needs and one.found is None]
    if lacking:
        lacks = "; ".join(f"{one.what}: {one.adds}" for one in lacking)
        raise live.LackingError(f"real packets need what is not here: {lacks}")
    for scenario in asked:
        live.differences(scenario)


def controls() -> list[str]:
    """Return the congestion controls that this kernel has, by name; modules not loaded are left out."""
    return sorted(_read("/proc/sys/net/ipv4/tcp_available_congestion_control").split())


def modules(release: str | None = None) -> list[str]:
    """Return the congestion controls that are modules of this kernel, or of that of another folder."""
    folder = Path(release or f"/lib/modules/{os.uname().release}") / "kernel/net/ipv4"
    names = (file.name.partition(".")[0] for file in folder.glob("tcp_*.ko*"))
    # the one module of that name that sends nothing
    return sorted({name.removeprefix("tcp_") for name in names} - {"diag"})


def check_controls(scenarios: Iterable[Scenario]) -> None:
    """See that this kernel has the senders that scenarios name, before any is run."""
    known = controls()
    for name in sorted({name for one in scenarios for name in one.core.kernel_controls}):
        if known and name not in known:
            raise live.LackingError(
                f"kernel:{name}: this kernel has no such congestion control: it has {', '.join(known)}; "
                f"`modprobe tcp_{name}` loads it, {_IF_THERE}"
            )


def adds(tool: Tool, release: str) -> str:
    """Return the command that installs a tool, by the text of an os-release file."""
    named = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    ids = f"{named.get('ID', '')} {named.get('ID_LIKE', '')}".replace('"', "").split()
    if {"debian", "ubuntu"} & set(ids):
        renamed = "ubuntu" in ids and tool.apt == "bpftool"
        return f"apt-get install {'linux-tools-generic' if renamed else tool.apt}"
    if {"fedora", "rhel", "centos"} & set(ids):
        return f"dnf install {tool.dnf}"
    return f"install {tool.apt} (Debian) or {tool.dnf} (Fedora) by its name here"


def _way() -> Way | None:
    """Return the way that `perhop emulate` takes, if it works."""
    try:
        before = tuple(live.privileged())
        found = live.probe(before)
    except live.LackingError:
        found = None
    if found is None:
        return None
    if before or os.geteuid() == 0:
        return Way("sudo -n" if before else "root", before, found)
    return Way("user namespace", ("unshare", "--user", "--map-root-user"), found)


def _adds_way() -> str:
    if _program() is None:
        return "make build"
    if _read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").strip() == "1":
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    if _read("/proc/sys/user/max_user_namespaces").strip() == "0":
        return "sudo sysctl -w user.max_user_namespaces=15000"
    return "run perhop as root; in a container, add CAP_SYS_ADMIN and CAP_NET_ADMIN"


def _program() -> str | None:
    try:
        return str(live.program())
    except live.LackingError:
        return None


def _tun(way: Way | None) -> Looked:
    device = "/dev/net/tun"
    there = os.access(device, os.R_OK | os.W_OK) if way is None else way.found.device is None
    lacks = "modprobe tun; in a container, --device /dev/net/tun"
    add = "sudo chmod 0666 /dev/net/tun" if os.path.exists(device) else lacks
    return Looked(device, device if there else None, "perhop emulate", add)


def _senders(scenarios: Iterable[Scenario]) -> set[str]:
    each = (tomllib.loads(scenario.resolve()).get("flow", ()) for scenario in scenarios)
    return {flow["tcp"]["cc"] for flows in each for flow in flows}


def _control(name: str, needed_for: str) -> Looked:
    """Ask a socket for a congestion control."""
    try:
        with socket.socket() as one:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        found: str | None = "yes"
    except OSError:
        found = "yes, to root" if name in controls() else None
    add = f"modprobe tcp_{name}" + (f", {_IF_THERE}" if name in _OPTIONAL else "")
    return Looked(f"TCP {name}", found, needed_for, add)


def _listed() -> str | None:
    """Return the names of congestion controls, and of those that are modules and not loaded."""
    there = controls()
    more = ", ".join(name for name in modules() if name not in there)
    return ", ".join(there) + (f"; as modules: {more}" if more else "") if there else None


def _realtime() -> str:
    """Return the part of a processor that a real-time thread may have, in words (``sched_rt_runtime_us``)."""
    runtime, period = (
        _read(f"/proc/sys/kernel/sched_rt_{name}_us").strip() for name in ("runtime", "period")
    )
    if not (runtime.isdigit() and period.isdigit()) or int(runtime) >= int(period):
        return "yes"
    share = 100 * int(runtime) / int(period)
    return (
        f"yes, for {share:.0f} % of a processor: above that the kernel stops a thread; since Linux 6.12 "
        "only where other programs wait for that processor"
    )


def _works(words: list[str]) -> str | None:
    """Run a command to its end; return why it failed, or nothing."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=1.5, env={**os.environ, "PATH": _PATH}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
