"""What `perhop doctor` asks of the kernel: by trying, with nothing left; and the commands it gives."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perhop.run import live, machine
from perhop.run.machine import Looked, Tool, adds, look
from test_live import live as live_packets

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


@pytest.mark.parametrize(("every", "share"), [(0, 0.0), (10, 0.25)])
def test_a_processor_is_slow_where_equal_work_costs_more_than_twice(every: int, share: float) -> None:
    """One piece of ten costs three times as much: 3 of 12."""
    costs = iter(range(1_000_000_000))
    clock = 0

    def spent() -> int:
        nonlocal clock
        number = next(costs)
        piece, ends = divmod(number, 2)
        clock += ends * (3 if every and piece % every == 0 else 1)
        return clock

    assert machine.slowed(0.2, spent) == pytest.approx(share, abs=0.01)


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
    _need_the_program()
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    assert (found()["way in"].found == "root") == (tried.returncode == 0)


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        (
            "950000\n",
            "yes, for 95 % of a processor: above that the kernel stops a thread; since Linux 6.12 only where "
            "other programs wait for that processor",
        ),
        ("-1\n", "yes"),
        ("1000000\n", "yes"),
        ("", "yes"),
    ],
)
def test_the_share_of_a_real_time_thread_is_said(
    monkeypatch: pytest.MonkeyPatch, runtime: str, said: str
) -> None:
    probe = live.Probe(device=None, priority="SCHED_FIFO")
    monkeypatch.setattr(machine, "_way", lambda: machine.Way("root", (), probe))
    monkeypatch.setattr(machine, "_works", lambda words: None)
    monkeypatch.setattr(
        machine,
        "_read",
        lambda file: {"runtime": runtime, "period": "1000000\n"}.get(
            file.removeprefix("/proc/sys/kernel/sched_rt_")[:-3], ""
        ),
    )
    assert found()["SCHED_FIFO"].found == said


def _need_the_program() -> Path:
    try:
        return live.program()
    except live.LackingError as error:
        pytest.skip(str(error))


def test_where_nothing_works_everything_is_missing_with_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_works", lambda words: "Operation not permitted")
    monkeypatch.setattr(machine, "which", lambda name: None)
    monkeypatch.setattr(live, "privileged", list)
    monkeypatch.setattr(live, "probe", lambda words: None)
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    looked = found()
    assert {what for what, one in looked.items() if one.found} <= {
        "perhop-live",
        "TCP reno",
        "TCP cubic",
        "TCP bbr",
        "TCP senders",
        "headers of libbpf",
    }
    assert all(one.adds for one in looked.values())


def test_an_ordinary_user_takes_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[list[str]] = []
    started: list[list[str]] = []

    def probe(words: Sequence[str]) -> live.Probe:
        started.append(list(words))
        return live.Probe(device=None, priority="SCHED_FIFO" if words else "normal")

    monkeypatch.setattr(machine, "_works", lambda words: tried.append(words))
    monkeypatch.setattr(live, "probe", probe)
    monkeypatch.setattr(live, "privileged", list)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    looked = found()
    assert looked["way in"].found == "user namespace"
    assert looked["SCHED_FIFO"].found is None
    assert looked["/dev/net/tun"].found
    assert started == [[]]
    monkeypatch.setattr(live, "privileged", lambda: ["sudo", "-n"])
    looked = found()
    assert looked["way in"].found == "sudo -n"
    assert (looked["SCHED_FIFO"].found or "").startswith("yes")
    assert started[1:] == [["sudo", "-n"]]
    assert [*("sudo", "-n"), sys.executable] == next(
        one for one in tried if sys.executable in one and "sudo" in one
    )[:3]


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A user of this machine for a while, and the program where the user may read it."""
    if os.geteuid():
        pytest.skip("only root can make a user and a line of sudoers")
    for tool in ("sudo", "useradd", "runuser"):
        if machine.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    own = _need_the_program()
    name = f"perhop{os.getpid()}"
    subprocess.run(["useradd", "--no-create-home", name], check=True, capture_output=True)
    folder = Path(tempfile.mkdtemp(prefix="perhop-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        program = folder / "perhop-live"
        shutil.copy(own, program)
        program.chmod(0o755)
        yield name, program
    finally:
        (Path("/etc/sudoers.d") / name).unlink(missing_ok=True)
        shutil.rmtree(folder)
        subprocess.run(["userdel", name], check=False, capture_output=True)


ASK = """
import os, pwd, sys
from pathlib import Path
import perhop.run.run
from perhop import Scenario
from perhop.run import live
user, program, text, capture = sys.argv[1:]
scenario = Scenario.from_text(text).override('run.clock="live"')
one = pwd.getpwnam(user)
# only now: the user may not be allowed to read this checkout
os.initgroups(user, one.pw_gid)
os.setgid(one.pw_gid)
os.setuid(one.pw_uid)
os.umask(0o007)
live.program = lambda: Path(program)
print(live.privileged())
if capture:
    live.run(scenario, [], None, {"a->b": Path(capture)})
"""

NETWORK = """
node = [{ name = "a" }, { name = "b" }]
link = [{ ends = ["a", "b"], rate = "1Mbit/s" }]
flow = [{ name = "f", from = "a", to = "b", tcp = { profile = "linux" } }]
run = { duration = "500ms" }
"""


def test_a_line_of_sudoers_for_this_program_alone_is_enough_and_files_are_the_users(
    user: tuple[str, Path],
) -> None:
    name, program = user

    def privileged(line: str, capture: Path | str = "") -> str:
        rule = Path("/etc/sudoers.d") / name
        rule.write_text(f"{name} ALL=(root) {line}\n")
        rule.chmod(0o440)
        words = [sys.executable, "-c", ASK, name, str(program), NETWORK, str(capture)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    own = program.parent / "own"
    own.mkdir()
    shutil.chown(own, name, name)
    assert privileged(f"NOPASSWD: {program}", own / "link.pcapng").endswith("sudo', '-n']")
    written = (own / "link.pcapng").stat()
    assert written.st_size > 0
    assert (written.st_uid, written.st_gid) == (own.stat().st_uid, own.stat().st_gid)
    assert written.st_mode & 0o777 == 0o660
    # to be listed is not to be started
    assert privileged(f"PASSWD: {program}, NOPASSWD: /usr/bin/true") == "[]"


class Program:
    """`perhop-live` as somebody starts it."""

    def __init__(self, *command: str, **user: Any) -> None:
        self.command, self.user = command, user

    @classmethod
    def by_sudo(cls, name: str, program: Path) -> Program:
        """As a user does whom a line of sudoers allows this program alone."""
        rule = Path("/etc/sudoers.d") / name
        rule.write_text(f"{name} ALL=(root) NOPASSWD: {program}\n")
        rule.chmod(0o440)
        return cls("sudo", "-n", str(program), user=name, group=name, extra_groups=[])

    def start(self, words: list[str], stdin: int) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*self.command, *words], stdin=stdin, stdout=pipe, stderr=pipe, text=True, cwd="/", **self.user
        )

    @contextmanager
    def hand(self, words: list[str], descriptors: list[int], text: str) -> Iterator[subprocess.Popen[str]]:
        """Hand over what `run` reads; the program ends with the block if it is tied."""
        here, there = socket.socketpair()
        with here:
            with there:
                child = self.start(words, there.fileno())
            with child:
                socket.send_fds(here, [b"."], descriptors)
                here.sendall(len(text).to_bytes(8, "big") + text.encode())
                yield child


def test_with_real_sudo_no_file_but_ones_own_is_read_written_or_made(user: tuple[str, Path]) -> None:
    """No argument is a path, and what is written to was opened by the user."""
    sudo, folder = Program.by_sudo(*user), user[1].parent
    secret, closed, scenario = folder / "secret", folder / "closed", folder / "n.toml"
    secret.write_text('secret = "of root"\n')
    secret.chmod(0o600)
    closed.mkdir(mode=0o700)
    scenario.write_text(NETWORK)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for words in (
        ["run", str(secret), str(closed / "new")],
        ["run", str(scenario), str(secret)],
        ["run", str(scenario), str(closed / "new")],
        ["run", "--pcap", f"a->b={closed / 'new'}"],
        ["run", "--trace", str(closed / "new")],
        ["differences", str(secret)],
        ["parity", str(secret)],
        ["parity"],
    ):
        with sudo.start(words, subprocess.DEVNULL) as child:
            said = "".join(child.communicate())
        assert child.returncode in (2, 3, 7), (words, said)
        assert "of root" not in said
    # what the user may read is not written, and what is no file is not written to
    for path, flags in ((scenario, os.O_RDONLY), (Path("/dev/null"), os.O_WRONLY), (folder, os.O_RDONLY)):
        descriptor = os.open(path, flags)
        with sudo.hand(["run"], [descriptor], NETWORK) as child:
            said = "".join(child.communicate())
            assert "of no file that may be written" in said
            assert child.returncode == 7
        os.close(descriptor)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def _statuses(process: int) -> list[dict[str, str]]:
    """What the kernel says of each thread of a process."""
    texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/status")]
    return [dict(line.split(":", 1) for line in text.splitlines()) for text in texts]


def _while_packets_pass(started: Program, text: str, child_of: int = 0) -> tuple[list[dict[str, str]], Any]:
    """What threads are in the middle of a run, and how the run went; `child_of`: programs before it."""
    with tempfile.TemporaryFile() as out:
        with started.hand(["run"], [out.fileno()], text) as child:
            assert child.stderr is not None
            # half a second has passed, or more on a busy machine
            assert child.stderr.readline().startswith("at ")
            process = child.pid
            for _ in range(child_of):
                process = int(Path(f"/proc/{process}/task/{process}/children").read_text())
            statuses = _statuses(process)
            said = child.communicate()[1]
            assert child.returncode == 0, said
        out.seek(0)
        how = json.load(out)["live"]
    # the loop, what serves the sockets, what probes, and the one that waits for them
    assert len(statuses) >= 4
    for status in statuses:
        assert status["NoNewPrivs"].strip() == "1"
        assert {int(status[one], 16) for one in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    return statuses, how


def test_under_real_sudo_the_program_has_no_privilege_once_packets_pass(user: tuple[str, Path]) -> None:
    uid, gid = pwd.getpwnam(user[0])[2:4]
    for text in (NETWORK, NETWORK.replace("run = {", 'run = { endpoint = "iperf3",')):
        if "iperf3" in text and shutil.which("iperf3") is None:
            continue
        statuses, how = _while_packets_pass(Program.by_sudo(*user), text.replace("500ms", "2s"), 1)
        for status in statuses:
            assert status["Uid"].split() == [str(uid)] * 4
            assert status["Gid"].split() == [str(gid)] * 4
            assert status["Groups"].split() == []
        # given before: what the privilege is for
        assert how["priority"] == "SCHED_FIFO"


@live_packets
def test_in_a_user_namespace_the_program_has_no_capability_once_packets_pass() -> None:
    program = str(_need_the_program())
    _, how = _while_packets_pass(Program("unshare", "-Ur", program), NETWORK.replace("500ms", "2s"))
    assert how["priority"] in ("SCHED_FIFO", "normal")
