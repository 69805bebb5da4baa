"""The command line when its output is no terminal, is closed or full, and when it is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Cli
from perhop import StoredRun
from perhop.cli.exit import ExitCode


def test_output_without_a_terminal_has_no_control_characters(cli: Cli, process: Cli) -> None:
    cli("init")
    for environment in ({}, {"NO_COLOR": "1"}):
        done = process("run", "two-way.toml", "--until", "15s", "--force", **environment)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err


def test_a_terminal_that_lacks_characters_gets_question_marks(cli: Cli, process: Cli, tmp_path: Path) -> None:
    cli("init")
    (tmp_path / "bad.toml").write_text("[run]\nduration = 5")
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    checked = process("check", "bad.toml", **plain)
    assert checked.code == ExitCode.INVALID
    assert "? run.duration" in checked.out
    (tmp_path / "two-way.toml").rename(tmp_path / "é.toml")
    assert process("run", "é.toml", "-o", "é", **plain).code == 0
    assert process("report", "é", **plain).out == "?/report.html\n"


@pytest.mark.parametrize(
    "command", ["check two-way.toml -s run.warmup=99s", "describe two-way.toml", "schema"]
)
def test_a_reader_that_goes_away_is_no_defect(cli: Cli, tmp_path: Path, command: str) -> None:
    cli("init")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "perhop.cli", *command.split()],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (ExitCode.PIPE, "")


def test_a_run_goes_on_when_nobody_reads_its_warnings(cli: Cli, tmp_path: Path) -> None:
    cli("init")
    read, write = os.pipe()
    os.close(read)
    command = ["run", "two-way.toml", "--until", "20s", "-s", "flow.up.tcp.ecn=true", "-o", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "perhop.cli", *command], cwd=tmp_path, stderr=write, check=False
    )
    os.close(write)
    assert done.returncode == 0
    assert (tmp_path / "run" / "record.json").exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check two-way.toml -s run.warmup=99s >&-", ExitCode.PIPE),
        ("run two-way.toml --until 20s >&-", ExitCode.PIPE),
        ("run two-way.toml --until 20s <&- >&- 2>&-", ExitCode.PIPE),
        ("run two-way.toml --until 20s <&- 2>&-", ExitCode.DONE),
        ("schema -o schema.json >&-", ExitCode.DONE),
        ("run missing.toml >&- 2>&-", ExitCode.USAGE),
    ],
)
def test_what_is_printed_to_a_closed_output_has_no_reader(
    cli: Cli, tmp_path: Path, command: str, code: int
) -> None:
    cli("init")
    shell = f"{sys.executable} -m perhop.cli {command}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "internal" in done.stderr) == (code, False)
    if command.startswith("run two-way"):
        assert StoredRun.load(tmp_path / "out" / "two-way-1").record.seed == 1


def test_a_full_standard_output_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "perhop.cli", "schema"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        ExitCode.MACHINE,
        "error: standard output: No space left on device\n",
    )


LONG = ("run", "two-way.toml", "--until", "10000000s", "-s", "run.interval=1000s")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
@pytest.mark.parametrize(
    "command", [LONG, ("reproduce", "laatu", "--verify", "all", "-j", "2")], ids=["run", "reproduce"]
)
def test_a_signal_leaves_nothing_half_written(
    cli: Cli, tmp_path: Path, command: tuple[str, ...], number: signal.Signals
) -> None:
    cli("init")
    before = sorted(tmp_path.iterdir())
    running = subprocess.Popen(
        [sys.executable, "-m", "perhop.cli", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        # the store of a study's runs is there after its partial folder
        wanted = "laatu.runs" if "reproduce" in command else "*.partial"
        while not any(tmp_path.rglob(wanted)):
            assert running.poll() is None
            time.sleep(0.05)
        for _ in range(2):
            running.send_signal(number)
            time.sleep(0.01)
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    code = ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED
    assert running.returncode == code
    assert err.splitlines()[-1] == f"{code.name.lower()}: nothing half-written is left behind"
    assert "Traceback" not in err
    # what a study has run is kept, to go on from there
    kept = [tmp_path / "out" / "laatu.runs"] if "reproduce" in command else []
    assert list((tmp_path / "out").glob("*")) == kept
    assert sorted(path for path in tmp_path.iterdir() if path.name != "out" or not kept) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_a_signal_after_the_work_is_done_changes_nothing(
    process: Cli, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        f"import atexit, os\natexit.register(lambda: os.kill(os.getpid(), {int(number)}))\n"
    )
    done = process("init", PYTHONPATH=str(tmp_path))
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
@pytest.mark.parametrize("module", ["typer", "polars"])
def test_a_signal_during_an_import_is_no_traceback(
    cli: Cli, process: Cli, tmp_path: Path, module: str, number: signal.Signals
) -> None:
    cli("init")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Signal:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Signal())\n"
    )
    done = process("run", "two-way.toml", PYTHONPATH=str(tmp_path))
    code = ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED
    assert (done.code, done.err.strip()) == (
        code,
        f"{code.name.lower()}: nothing half-written is left behind",
    )
