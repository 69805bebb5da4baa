"""What the tests share: the command line, in this process and in one of its own, and a small scenario."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

import namespaces
from perhop import Result, Scenario
from perhop.cli.__main__ import run as run_cli
from perhop.run.tables import TABLES, complete

# a busy machine is no defect
settings.register_profile("perhop", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("perhop")


@dataclass(frozen=True)
class Done:
    """What a command left: its exit status and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Done]

LONGEST = ("test_docs.py", "test_wheel.py", "test_cost.py", "test_faults.py")
"""Files that take longest: begun first, so that none is left when the others have ended."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; `make test` has each file done by one of two processes, in this order."""
    items.sort(key=lambda item: LONGEST.index(name) if (name := item.path.name) in LONGEST else len(LONGEST))


def made(*, invariants: Sequence[str] = (), **tables: Any) -> Result:
    """Make the result of a run from columns; those that are not given are null."""
    whole: dict[str, Any] = {
        name: complete(name, pl.DataFrame(tables[name]) if name in tables else None) for name in TABLES
    }
    return Result(
        scenario=Scenario(b"", "made"),
        **whole,
        counts={},
        event_digest="",
        invariants=list(invariants),
    )


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Done:
        capfd.readouterr()
        code = run_cli([str(argument) for argument in arguments])
        return Done(code, *capfd.readouterr())

    return call


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """Run a command in a process of its own, in an empty folder."""

    def call(*arguments: str | Path, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "perhop.cli", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give an empty folder with room for 68 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=68k", "tmpfs", str(folder)]
    try:
        subprocess.run(mounting, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def shortened(text: str) -> str:
    """Return the scenario that `perhop init` writes, shortened: a few thousand packets."""
    return text.replace('duration = "60s"', 'duration = "20s"').replace('warmup = "10s"', 'warmup = "5s"')


@pytest.fixture
def two_way(cli: Cli) -> Path:
    """Give the scenario that `perhop init` writes, shortened."""
    assert cli("init").code == 0
    file = Path("two-way.toml")
    file.write_text(shortened(file.read_text()))
    return file


@pytest.fixture
def run_folder(cli: Cli, two_way: Path) -> Path:
    """Give the folder of a finished run of `two_way`."""
    assert cli("run", two_way, "-o", "run").code == 0
    return Path("run")


def undraw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out of pages what their figures show, not what they say: drawing takes most of a page's time."""

    def said(_: object, title: str, description: str) -> str:
        return f'<svg role="img"><title>{escape(title)}</title><desc>{escape(description)}</desc></svg>'

    monkeypatch.setattr("perhop.plot.style.svg", said)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages without what their figures show, for a test of something else."""
    undraw(monkeypatch)


@dataclass(frozen=True)
class Reproduced:
    """A reproduction: what it printed and the folder it left."""

    done: Done
    folder: Path


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Give the verdicts on record of kalampoukas, four runs made again, once for all processes of pytest."""
    return _reproduced(tmp_path_factory, "kalampoukas", "--verify", "4")


@pytest.fixture(scope="session")
def kalampoukas_quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Give a quick reproduction of the study kalampoukas, which takes minutes."""
    return _reproduced(tmp_path_factory, "kalampoukas", "--quick")


@pytest.fixture(scope="session")
def laatu(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Give a quick reproduction of the study laatu by one worker, done once for all of pytest's processes."""
    return _reproduced(tmp_path_factory, "laatu", "--quick", "-j", "1")


def _reproduced(factory: pytest.TempPathFactory, study: str, *options: str) -> Reproduced:
    here = factory.getbasetemp()
    shared = here.parent if "PYTEST_XDIST_WORKER" in os.environ else here
    folder, said = shared / study, shared / f"{study}.json"
    with (shared / f"{study}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            words = [sys.executable, "-m", "perhop.cli", "reproduce", study, "--json", *options]
            done = subprocess.run([*words, "-o", str(folder)], capture_output=True, text=True, check=False)
            said.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
    return Reproduced(Done(*json.loads(said.read_text())), folder)


@pytest.fixture(scope="session")
def ackmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile `deploy/ackmark.bpf.c`; a test that wants it skips where the kernel would not load it."""
    return namespaces.compiled(tmp_path_factory.mktemp("ackmark"))
