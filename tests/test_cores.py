"""How many live runs go side by side: what is undistorted, what is kept, what is done with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from conftest import Cli
from perhop.run import cores
from perhop.run.cores import CostOfRuns, Step

ALONE = Step(1, (9.4e6, 9.5e6, 9.3e6, 9.4e6), 1e-4, 1e-3, ())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "perhop" / "beside.json"


def _step(runs: int, goodput: float, *over: str) -> Step:
    return Step(runs, (goodput,) * runs, 1e-4, 1e-3, over)


def _measure(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> CostOfRuns:
    monkeypatch.setattr(cores, "_steps", lambda: iter(steps))
    return cores.measure(lambda _step, _fits: None)


@pytest.mark.parametrize(
    ("second", "most"),
    [(_step(2, 9.3e6), 2), (_step(2, 9.1e6), 1), (_step(2, 9.4e6, "99 % of the packets late"), 1)],
)
def test_side_by_side_is_as_alone_or_distorted(
    monkeypatch: pytest.MonkeyPatch, second: Step, most: int
) -> None:
    assert _measure(monkeypatch, ALONE, second).most == most


def test_after_what_is_distorted_nothing_more_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _measure(monkeypatch, ALONE, _step(2, 9.4e6), _step(4, 8e6), _step(8, 9.4e6))
    assert [step.runs for step in found.steps] == [1, 2, 4]
    assert found.most == 2


def test_more_than_measured_is_reduced_with_a_sentence(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    found = _measure(monkeypatch, ALONE, _step(2, 9.4e6), _step(4, 9.4e6), _step(8, 8e6))
    assert cores.keep(found) == cache
    assert cores.kept() == found
    assert cores.allowed(None) == (4, "")
    assert cores.allowed(3) == (3, "")
    some, why = cores.allowed(9)
    assert some == 4
    assert why.startswith("4 live runs side by side instead of 9")


def test_without_a_measure_of_this_machine_it_is_said(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    some, why = cores.allowed(None)
    assert some == len(cores.os.sched_getaffinity(0))
    assert "not measured" in why
    other = msgspec.structs.replace(_measure(monkeypatch, ALONE), kernel="another")
    cores.keep(other)
    assert cores.kept() is None
    cache.write_text("{")
    assert "not measured" in cores.allowed(1)[1]


def test_a_machine_too_busy_for_one_run_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, cache: Path
) -> None:
    monkeypatch.setattr(cores, "_steps", lambda: iter([_step(1, 9e6, "late"), _step(2, 9e6)]))
    done = cli("doctor", "--parallel")
    assert done.code == 7
    assert "one alone is over its budget" in done.err
    assert not cache.exists()
    monkeypatch.setattr(cores, "_steps", lambda: iter([ALONE, _step(2, 9.4e6)]))
    assert "undistorted: 2 at once" in cli("doctor", "--parallel").out
    assert cache.exists()


def test_runs_are_made_by_threads_that_end() -> None:
    code = """
import threading
from perhop.run import cores
from perhop import Scenario
def one(seed):
    assert Scenario.from_text(cores._SCENARIO).override(f"run.seed={seed}").core.live
for seed in range(100):
    thread = threading.Thread(target=one, args=(seed,))
    thread.start()
    thread.join()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
