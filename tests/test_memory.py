"""Long traces and fine series take little memory; what does not fit is told before it starts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.run.tables import TRACES

CASES = Path(__file__).parents[1] / "bench" / "cases"
DUMBBELL = CASES / "dumbbell-100.toml"
"""A hundred flows: 240,000 steps of packets in a second."""


# A process begins with the peak of the one that starts it: this one is small, where the tests are not.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_of(*arguments: str) -> int:
    """Run a command in a process of its own; return the peak of memory in MB."""
    command = [sys.executable, "-S", "-c", LAUNCHER, sys.executable, "-m", "perhop.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, peak = map(int, done.stdout.split())
    assert code == 0
    return peak // 1024


def traced(until: str, folder: Path) -> tuple[int, int]:
    """Run it and trace packets; return the rows and the peak of memory in MB."""
    peak = peak_of("run", str(DUMBBELL), "--until", until, "--trace", "packets", "-o", str(folder))
    trace = StoredRun.load(folder).trace("packets")
    assert trace is not None
    return trace.select(pl.len()).collect().item(), peak


def test_a_trace_of_two_million_rows(tmp_path: Path) -> None:
    rows, peak = traced("10s", tmp_path / "run")
    assert rows > 2_000_000
    assert peak < 330


def test_four_million_values_of_series(tmp_path: Path) -> None:
    peak = peak_of(
        "run", str(DUMBBELL), "--until", "20s", "-s", "run.interval=10ms", "-o", str(tmp_path / "run")
    )
    rows = StoredRun.load(tmp_path / "run").tables["series"].height
    assert rows > 4_000_000
    itself = peak_of(
        "run", str(DUMBBELL), "--until", "100ms", "-s", "run.interval=100ms", "-o", str(tmp_path / "short")
    )
    needed = Scenario.load(DUMBBELL, ("run.duration=20s", "run.interval=10ms")).core.memory_bytes
    assert peak - itself < needed / 1e6 < 1.5 * (peak - itself)


def subscribers(active: int, idle: int, folder: Path) -> int:
    """Run an access network of so many subscribers for a moment; return the peak of memory in MB."""
    counts = {"loader": active // 2, "surfer": active // 2, "idle": idle}
    settings = [f"node.{name}.count={count}" for name, count in counts.items()]
    settings += ["run.duration=20ms", "run.warmup=0s", "run.interval=20ms"]
    words = [word for setting in settings for word in ("-s", setting)]
    return peak_of("run", str(CASES / "access.toml"), *words, "-o", str(folder))


def test_a_subscriber_takes_little_memory(tmp_path: Path) -> None:
    few = subscribers(2, 1, tmp_path / "few")
    # 5.5 kB, and 16 before idle hosts were their ports alone
    assert subscribers(2, 20_000, tmp_path / "idle") - few < 180
    # 24 kB with what they send at the start, and 57 while a host had an array as long as the list of flows
    assert subscribers(6000, 1, tmp_path / "active") - few < 220


@pytest.mark.long
def test_a_trace_of_a_hundred_million_rows(tmp_path: Path) -> None:
    rows, peak = traced("415s", tmp_path / "run")
    assert rows > 100_000_000
    assert peak < 500


@pytest.fixture
def parts(cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """Give a run whose traces are in parts of a thousand rows."""
    monkeypatch.setattr("perhop.run.run.PART_ROWS", 1000)
    assert cli("run", two_way, "-o", "a [1]", "--trace", ",".join(TRACES)).code == 0
    return StoredRun.load("a [1]")


def test_parts_add_up_to_the_whole(cli: Cli, parts: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Scenario.load("two-way.toml").run(trace=TRACES)
    assert whole.event_digest == parts.record.event_digest
    for kind in TRACES:
        assert len(list((parts.folder / f"trace.{kind}.parquet").iterdir())) > 5
        trace = parts.trace(kind)
        assert trace is not None
        assert trace.collect().equals(whole.trace[kind])
        assert pl.read_parquet(parts.folder / f"trace.{kind}.parquet", glob=False).equals(whole.trace[kind])
    monkeypatch.setattr("perhop.run.run.PART_ROWS", 1 << 30)
    assert cli("run", "two-way.toml", "-o", "one", "--trace", "tcp").code == 0
    assert Path("one/trace.tcp.parquet").is_file()
    assert Path("one/trace.tcp.csv").read_bytes() == (parts.folder / "trace.tcp.csv").read_bytes()


def test_a_run_with_parts_is_replaced_unless_something_else_is_among_them(cli: Cli, parts: StoredRun) -> None:
    again = ("run", "two-way.toml", "-o", parts.folder, "--force")
    assert cli(*again, "--trace", "queue").code == 0
    (parts.folder / "trace.queue.parquet" / "notes.txt").write_text("years of work")
    assert cli(*again).code == ExitCode.USAGE


def test_what_does_not_fit_into_memory_is_told_before_it_starts(cli: Cli, tmp_path: Path) -> None:
    cli("init")
    before = sorted(tmp_path.iterdir())
    command = f"ulimit -v 3000000; exec {sys.executable} -m perhop.cli run two-way.toml"
    done = subprocess.run(
        ["bash", "-c", f"{command} -s run.interval=30us --until 60s"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.MACHINE
    assert re.search(r"^error: .* this run need about \d\.\d GB of memory, and ", done.stderr)
    assert sorted(tmp_path.iterdir()) == before


def test_a_trace_that_does_not_fit_on_the_disk_is_told_before_it_starts(
    cli: Cli, two_way: Path, small_disk: Path
) -> None:
    done = cli("run", two_way, "--until", "2000s", "--trace", "packets,tcp", "-o", "small/new/run")
    assert done.code == ExitCode.MACHINE
    assert re.match(
        r"error: small/new/run: the traces need about \d+\.\d MB and 0\.1 MB are free\n", done.err
    )
    assert list(small_disk.iterdir()) == []


def test_memory_that_runs_out_is_no_defect(cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("perhop.run.run.run", full)
    done = cli("run", two_way)
    assert (done.code, done.err) == (ExitCode.MACHINE, "error: out of memory\n")


def test_twenty_thousand_hosts_are_described(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(
        '[run]\nduration = "1s"\n[[node]]\nname = "s"\ncount = 20000\n[[node]]\nname = "d"\n[[link]]\n'
        'ends = ["s[*]", "d"]\nrate = "1Mbit/s"\n[[flow]]\nname = "f"\nfrom = "s[0]"\nto = "d"\n'
    )
    assert peak_of("describe", str(file)) < 280
