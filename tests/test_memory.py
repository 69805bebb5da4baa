"""A long trace takes little memory: it is on the disk, in parts, and says the same as a whole one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.tables import TRACES

DUMBBELL = Path(__file__).parents[1] / "bench" / "cases" / "dumbbell-100.toml"
"""A hundred flows: 240,000 steps of packets in a second."""


def traced(until: str, folder: Path) -> tuple[int, int]:
    """Run it in a process of its own and trace packets; return the rows and the peak of memory in MB."""
    command = [sys.executable, "-m", "perhop.cli", "run", str(DUMBBELL), "--until", until]
    running = subprocess.Popen([*command, "--trace", "packets", "-o", str(folder)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0
    trace = StoredRun.load(folder).trace("packets")
    assert trace is not None
    return trace.select(pl.len()).collect().item(), used.ru_maxrss // 1024


def test_a_trace_of_two_million_rows(tmp_path: Path) -> None:
    rows, peak = traced("10s", tmp_path / "run")
    assert rows > 2_000_000
    assert peak < 330


@pytest.mark.long
def test_a_trace_of_a_hundred_million_rows(tmp_path: Path) -> None:
    rows, peak = traced("415s", tmp_path / "run")
    assert rows > 100_000_000
    assert peak < 500


@pytest.fixture
def parts(cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """Give a run whose traces are in parts of a thousand rows."""
    monkeypatch.setattr("perhop.run.PART_ROWS", 1000)
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
    monkeypatch.setattr("perhop.run.PART_ROWS", 1 << 30)
    assert cli("run", "two-way.toml", "-o", "one", "--trace", "tcp").code == 0
    assert Path("one/trace.tcp.parquet").is_file()
    assert Path("one/trace.tcp.csv").read_bytes() == (parts.folder / "trace.tcp.csv").read_bytes()


def test_a_run_with_parts_is_replaced_unless_something_else_is_among_them(cli: Cli, parts: StoredRun) -> None:
    again = ("run", "two-way.toml", "-o", parts.folder, "--force")
    assert cli(*again, "--trace", "queue").code == 0
    (parts.folder / "trace.queue.parquet" / "notes.txt").write_text("years of work")
    assert cli(*again).code == ExitCode.USAGE
