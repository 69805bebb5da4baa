"""A run on real packets. The privileged part is a program of its own, ``perhop-live``."""

from __future__ import annotations

import filecmp
import os
import platform
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from perhop.scenario.scenario import Scenario

_PROGRAM = "perhop-live"
_INSTALLED = Path("/usr/local/sbin") / _PROGRAM
"""Where root may keep a copy that sudo starts, and that its users cannot change."""
_PROBE_S = 10
"""A machine that is busy starts sudo and the program in less."""
_AT_ONCE = 200
"""Descriptors in one message; the kernel takes 253."""


class Quantiles(msgspec.Struct, frozen=True):
    """How late something was, s; None where it never was due."""

    p50: float | None
    p99: float | None
    p999: float | None
    max: float | None


class Host(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a host's kernel, and the congestion controls of its connections; None without any."""

    sysctls: dict[str, str]
    route: dict[str, str]
    mtu_bytes: int
    controls: list[str] | None = None
    bursts: bool = False


class Retransmissions(msgspec.Struct, frozen=True):
    """A flow with other retransmissions in its packets than in its kernel's count."""

    flow: str
    packets: int
    kernel: int


class Iperf3Flow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The measurements of iperf3 for a flow, beside our count; None if it never ran."""

    flow: str
    acknowledged_bytes: int
    """By the receiver's kernel, as its ACKs showed; 37 of them are iperf3's own."""
    sent_bytes: int | None
    """Handed to its kernel by the client."""
    received_bytes: int | None
    retransmissions: int | None
    seconds: float | None
    """From the client's first byte until it was interrupted."""
    client: Any = None
    server: Any = None
    """All that they said; in a folder ``iperf3.json`` has it."""


class Iperf3(msgspec.Struct, frozen=True):
    """The iperf3 at the ends of the connections, and its measurements."""

    version: str
    flows: list[Iperf3Flow]

    def parted(self) -> tuple[Iperf3, dict[str, Any]]:
        """Return its measurements alone, and all its output by flow."""
        flows = [msgspec.structs.replace(one, client=None, server=None) for one in self.flows]
        said = {one.flow: {"client": one.client, "server": one.server} for one in self.flows}
        return Iperf3(self.version, flows), said


class Live(msgspec.Struct, frozen=True):
    """The course of a live run: settings, lateness, use of its error budget.

    Parameters
    ----------
    priority
        How the loop that forwards was scheduled: ``SCHED_FIFO``, or ``normal`` where that was refused.
    lateness_s, reads_late_s, applications_late_s, sources_late_s
        Packets written to their hosts, packets read that hosts sent of themselves, sockets served, UDP
        packets sent.
    stalls_s, longest_stall_s
        How long the loop was not there though something was due: in all where that was more than 0.5 ms, and
        the longest.
    suspended_s
        How long the machine was suspended.
    checksums, sizes, foreign, unread, unwritten, unsent
        Packets: with a wrong checksum, larger than their flow's, of no flow, dropped by a device before they
        were read, not taken by a device, not taken by the kernel.
    cpu_s
        Processor time, the kernel's for it included.
    forwarding_share, sending_share
        The largest share of a processor, in any one second, of the loop and of the thread that sends UDP.
    over_budget
        Why the run is not valid; empty of one that is.
    differences
        What the kernels do otherwise than the scenario says.
    iperf3
        Of runs with ``run.endpoint = "iperf3"``.
    """

    priority: str
    lateness_s: Quantiles
    applications_late_s: Quantiles
    sources_late_s: Quantiles
    checksums: int
    sizes: int
    foreign: int
    unread: int
    unwritten: int
    unsent: int
    cpu_s: float
    retransmissions_differ: list[Retransmissions]
    over_budget: list[str]
    differences: list[str]
    options_lacking: list[str]
    hosts: dict[str, Host]
    kernel: str = ""
    iperf3: Iperf3 | None = None
    reads_late_s: Quantiles = Quantiles(None, None, None, None)
    stalls_s: float = 0.0
    longest_stall_s: float = 0.0
    suspended_s: float = 0.0
    forwarding_share: float = 0.0
    sending_share: float = 0.0


class LiveRun(msgspec.Struct, frozen=True):
    """A live run, as ``perhop-live`` has it: columns of its tables, and how it went."""

    tables: dict[str, dict[str, list[Any]]]
    trace: dict[str, dict[str, list[Any]]]
    counts: dict[str, int]
    invariants: list[str]
    event_digest: str
    live: Live


class LiveError(Exception):
    """The scenario cannot be run on a kernel."""


class LackingError(Exception):
    """Real packets need something that the machine lacks."""


def program() -> Path:
    """Return the privileged program: this perhop's own, or a copy of it that root has installed.

    A LackingError says that this perhop came without it.
    """
    beside = Path(__file__).parents[1] / "bin" / _PROGRAM
    if beside.is_file():
        with suppress(OSError):
            if filecmp.cmp(_INSTALLED, beside, shallow=False):
                return _INSTALLED
        return beside
    found = shutil.which(_PROGRAM)
    if found is None:
        raise LackingError(f"{_PROGRAM} is not there: `make build` in a checkout makes it")
    return Path(found)


class Probe(msgspec.Struct, frozen=True):
    """The findings of ``perhop-live probe``: a missing device, the scheduling of its loop."""

    device: str | None
    priority: str


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_PROBE = msgspec.json.Decoder(Probe)
_LIVE_RUN = msgspec.json.Decoder(LiveRun)


def probe(words: Sequence[str]) -> Probe | None:
    """Return the program's findings, started by `words`; None without it or a namespace."""
    try:
        done = subprocess.run(
            [*words, program(), "probe"], capture_output=True, check=False, timeout=_PROBE_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _PROBE.decode(done.stdout) if done.returncode == 0 else None


def privileged() -> list[str]:
    """Return the words before the program: ``sudo -n`` where needed and allowed.

    Where it is not allowed the program makes a user namespace of its own.
    """
    if os.geteuid() == 0:
        return []
    # `sudo -l PROGRAM` would also allow what needs a password
    words = [sudo, "-n"] if (sudo := shutil.which("sudo")) else []
    return words if words and probe(words) else []


def differences(scenario: Scenario) -> list[str]:
    """Return the differences between a kernel and a scenario; raises as `run` does."""
    done = subprocess.run(
        [program(), "differences"], input=_text(scenario), capture_output=True, text=True, check=False
    )
    _check(done.returncode, done.stderr)
    return msgspec.json.decode(done.stdout, type=list[str])


def _text(scenario: Scenario) -> str:
    """Return a scenario as the program reads it: text alone."""
    if scenario.core.files:
        named = ", ".join(scenario.core.files)
        raise LiveError(f"the scenario names files ({named}), which only runs in virtual time can read")
    return scenario.resolve()


def run(
    scenario: Scenario,
    trace: Sequence[str],
    progress: Callable[[float, float], None] | None,
    pcap: Mapping[str, Path],
) -> LiveRun:
    """Run a scenario on real packets; it takes as long as the scenario lasts.

    Every file is opened here: the program with the privileges gets descriptors and no path.

    Raises
    ------
    LiveError
        It cannot be run on a kernel; the message says why.
    LackingError
        This machine lacks something.
    """
    words = ["--tied"]
    words += [word for kind in trace for word in ("--trace", kind)]
    words += [word for link in pcap for word in ("--pcap", link)]
    with ExitStack() as opened:
        out = opened.enter_context(tempfile.TemporaryFile())
        captures = [opened.enter_context(path.open("wb")) for path in pcap.values()]
        child = opened.enter_context(started(words, _text(scenario), [out, *captures]))
        errors = _listen(child, progress)
        _check(child.wait(), errors)
        out.seek(0)
        done = _LIVE_RUN.decode(out.read())
    return msgspec.structs.replace(
        done,
        invariants=[*done.invariants, *(f"over the error budget: {why}" for why in done.live.over_budget)],
        live=msgspec.structs.replace(done.live, kernel=f"{platform.system()} {platform.release()}"),
    )


@contextmanager
def started(options: Sequence[str], text: str, files: Sequence[IO[bytes]]) -> Iterator[subprocess.Popen[str]]:
    """Start ``perhop-live run`` on the scenario `text`; it writes results and captures to `files`.

    Tied, it ends with the block.
    """
    here, there = socket.socketpair()
    with here:
        with there:
            child = subprocess.Popen(
                [*privileged(), str(program()), "run", *options],
                stdin=there.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        with child:
            # one that has ended says why
            with suppress(BrokenPipeError, ConnectionResetError):
                descriptors = [file.fileno() for file in files]
                for first in range(0, len(descriptors), _AT_ONCE):
                    socket.send_fds(here, [b"\n"], descriptors[first : first + _AT_ONCE])
                written = text.encode()
                here.sendall(len(written).to_bytes(8, "big") + written)
            yield child


def _listen(child: subprocess.Popen[str], progress: Callable[[float, float], None] | None) -> str:
    """Pass on the progress of a run, and return the rest of its output."""
    errors = []
    assert child.stderr is not None
    for line in child.stderr:
        words = line.split()
        if len(words) == 5 and (words[0], words[2], words[4]) == ("at", "of", "s"):
            if progress is not None:
                progress(float(words[1]), float(words[3]))
        else:
            errors.append(line)
    return "".join(errors)


def _check(status: int, errors: str) -> None:
    if status == 0:
        return
    why = errors.removeprefix("error: ").strip()
    # sudo tells a signal as a shell does
    number = -status if status < 0 else status - 128
    if number in {one.value for one in signal.Signals}:
        ended = f"{_PROGRAM} was ended by {signal.Signals(number).name}"
        raise LackingError(f"{ended}: something ended it, or memory ran out; the run can be made again")
    if status == 3:
        raise LiveError(why)
    if status == 7:
        raise LackingError(why)
    raise RuntimeError(why or f"{_PROGRAM} ended with status {status}")
