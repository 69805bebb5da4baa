"""After any fault of the disk: the tables of an undisturbed run, or a status that is neither 0 nor 1."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults import KINDS, Faults, Left, faults
from perhop import StoredRun
from perhop.experiment import ledger
from perhop.experiment.store import Store
from test_damage import FILE, SCENARIO
from test_live import live

EMULATE = ("emulate", "y.toml", "--trace", "tcp", "-s", "run.duration=600ms", "-o", "e")


@dataclass(frozen=True)
class Case:
    """A command, and what it leaves that matters.

    Parameters
    ----------
    arguments
        The command.
    result
        What it writes, under its final name.
    read
        Reads that, and raises if it is not whole; bytes or hashes to compare.
    needs
        Names of what was there before: of `base`.
    is_resumed
        Whether the same command goes on, also where the result is there.
    whole
        The statuses with which it leaves a whole result. 4 is a run on real packets that a busy machine
        disturbed.
    """

    arguments: tuple[str, ...]
    result: str
    read: Callable[[Path], object]
    needs: tuple[str, ...] = ()
    is_resumed: bool = True
    whole: tuple[int, ...] = (0,)


def of_run(folder: Path) -> object:
    stored = StoredRun.load(folder)
    assert stored.trace("tcp") is not None
    return stored.record.file_hashes, stored.record.output_hash


def of_live(folder: Path) -> object:
    """Give what is the same of every run on real packets, whose tables are not."""
    of_run(folder)
    return sorted(path.name for path in folder.glob("[!.]*"))  # without what could not be removed


def of_store(folder: Path) -> object:
    """Give the table of a store that is finished; None of one that is not."""
    with ledger.read(folder):  # whole, if only begun
        pass
    if not (folder / "record.json").exists():
        return None
    Store.open(folder)
    return (folder / "scalars.parquet").read_bytes()


CASES = {
    "run": Case(("run", "y.toml", "--trace", "tcp", "-o", "r"), "r", of_run, is_resumed=False),
    "replace": Case(("run", "y.toml", "--trace", "tcp", "-o", "r", "--force"), "r", of_run, ("r",)),
    "campaign": Case(("campaign", "run", "c.toml", "-o", "s", "-j", "1"), "s", of_store),
    "again": Case(("campaign", "run", "s", "-j", "1"), "s", of_store, ("s",)),
    "report run": Case(("report", "r"), "r/report.html", Path.read_bytes, ("r",)),
    "report store": Case(("report", "s", "-o", "p.html", "--force"), "p.html", Path.read_bytes, ("s",)),
    "analyze": Case(("analyze", "s", "-o", "a.json", "--force"), "a.json", Path.read_bytes, ("s",)),
    "status": Case(("campaign", "status", "s"), "s", of_store, ("s",)),
    "figure": Case(("figure", "r", "goodput", "-o", "f.csv", "--force"), "f.csv", Path.read_bytes, ("r",)),
    "table": Case(("table", "r", "flows"), "r", of_run, ("r",)),
    "serve": Case(("serve", "make/0/c.toml"), "c", of_store),
    "emulate": Case(EMULATE, "e", of_live, is_resumed=False, whole=(0, 4)),
}
NAMES = [pytest.param(name, marks=live) if name == "emulate" else name for name in CASES]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.fixture(scope="module")
def base(disk: Faults, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a scenario, a campaign's file, a run and a store."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "y.toml").write_text(SCENARIO)
    (folder / "c.toml").write_text(FILE)
    for command in (CASES["run"], CASES["campaign"]):
        left = disk.run(folder, command.arguments)
        assert left.code == 0, left.said
    return folder


class Bench:
    """One command under one fault after the other, each in a fresh folder.

    Parameters
    ----------
    case
        The command.
    disk, base, folder
        What runs it, where it comes from, and where it runs.
    """

    def __init__(self, case: Case, disk: Faults, base: Path, folder: Path) -> None:
        self.case, self._disk, self._base, self._folder = case, disk, base, folder / "w"
        left = self.run()
        assert left.code in case.whole, left.said
        self.operations = [line.split(" ")[1] for line in left.done]
        self._whole = case.read(self._folder / case.result)
        self._names = self.names()

    def run(self, kind: str = "", at: int = 0) -> Left:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        for name in ("y.toml", "c.toml"):
            shutil.copy(self._base / name, self._folder)
        for name in self.case.needs:
            shutil.copytree(self._base / name, self._folder / name)
        return self._called(kind, at)

    def _called(self, kind: str = "", at: int = 0) -> Left:
        match self.case.arguments:
            case ("serve", job):
                return self._disk.serve(self._folder, job, kind, at)
            case words:
                return self._disk.run(self._folder, words, kind, at)

    def names(self) -> set[str]:
        return {path.name for path in self._folder.iterdir()}

    def result(self) -> object:
        """Read the result as it stands; None where there is none, or a store is not finished.

        A crash between taking a name and moving there leaves an empty folder, which the next command clears.
        """
        place = self._folder / self.case.result
        there = any(place.iterdir()) if place.is_dir() else place.exists()
        return self.case.read(place) if there else None

    def hold(self, kind: str, at: int) -> Left:
        """Hold the command to the one invariant under a fault."""
        left = self.run(kind, at)
        told = f"{kind} at {at} ({self.operations[at - 1]}): {left.code}\n{left.said}\n" + "\n".join(
            left.done[max(0, at - 6) : at]
        )
        assert left.code != 1, told
        assert "internal error" not in left.said, told
        assert "Traceback" not in left.said, told
        assert "panicked" not in left.said, told
        try:
            found = self.result()
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{told}") from error
        if left.code == 0:
            assert found == self._whole, told
            return left
        assert found in (None, self._whole), told
        again = self._called()
        if found is not None and not self.case.is_resumed:
            assert again.code == 2, (told, again.said)
        else:
            assert again.code in self.case.whole, (told, again.said)
        assert self.result() == self._whole, told
        assert {name for name in self.names() if not name.startswith(".partial")} == self._names, told
        return left


def worth(bench: Bench, kind: str) -> list[int]:
    """Give the operations at which a fault of this kind is one."""
    every = range(1, len(bench.operations) + 1)
    return [n for n in every if bench.operations[n - 1] == "write"] if kind == "short" else list(every)


SHORT = {"run": 2}


@pytest.mark.parametrize("name", NAMES)
def test_some_faults(name: str, disk: Faults, base: Path, tmp_path: Path) -> None:
    bench = Bench(CASES[name], disk, base, tmp_path)
    number = SHORT.get(name, 1)
    for turn, kind in enumerate(KINDS):
        places = worth(bench, kind)
        for i in range(min(number, len(places))):
            at = places[int((i + (turn + 0.5) / len(KINDS)) / number * len(places))]
            bench.hold(kind, at)


def test_a_leftover_that_cannot_be_removed_is_no_part_of_a_run(
    disk: Faults, base: Path, tmp_path: Path
) -> None:
    bench = Bench(CASES["run"], disk, base, tmp_path)
    first = bench.operations.index("unlink") + 1
    assert bench.hold("eio", first).code == 0
    assert list((tmp_path / "w" / "r").glob(".partial-*"))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_at_every_operation(name: str, kind: str, disk: Faults, base: Path, tmp_path: Path) -> None:
    bench = Bench(CASES[name], disk, base, tmp_path)
    broken = []
    for at in worth(bench, kind):
        try:
            bench.hold(kind, at)
        except AssertionError as error:
            broken.append(f"{error}")
    assert broken == [], f"{len(broken)} of {len(worth(bench, kind))}:\n" + "\n\n".join(broken)


def test_the_faults_are_faults(disk: Faults, base: Path, tmp_path: Path) -> None:
    bench = Bench(CASES["run"], disk, base, tmp_path)
    assert {"open", "write", "sync", "rename", "mkdir", "unlink"} <= set(bench.operations)
    codes = {kind: bench.run(kind, bench.operations.index("write") + 1).code for kind in KINDS}
    assert codes == {"eio": 7, "full": 7, "short": 0, "crash": -9}
