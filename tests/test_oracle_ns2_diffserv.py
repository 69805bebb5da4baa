"""perhop beside ns-2.35 where TCP meets markers and RIO: by one set of conventions, means within intervals.

A few configurations, a few seeds. The scripts `compare.py` of the two folders do all.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import Any

import pytest

from scripts import script

ORACLES = Path(__file__).parent.parent / "oracles"
FEROZ = ORACLES / "ns2-2.35-feroz"
LAATU = ORACLES / "ns2-2.35-laatu"
SEEDS = 8


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load a script, which imports others of its folder by their names alone."""
    monkeypatch.syspath_prepend(path.parent)
    return script(path)


def recorded(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return results


@pytest.fixture
def feroz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return loaded(FEROZ / "compare.py", monkeypatch)


@pytest.fixture
def laatu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return loaded(LAATU / "compare.py", monkeypatch)


def means(feroz: ModuleType, name: str) -> dict[str, list[float]]:
    """Run a configuration in perhop."""
    settings = recorded(FEROZ)[name]["settings"]
    found: dict[str, list[float]] = feroz.summary(
        [feroz.once(settings, seed) for seed in range(1, SEEDS + 1)]
    )
    return found


def test_every_configuration_has_its_results(feroz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    results = recorded(FEROZ)
    assert list(results) == list(feroz.CONFIGURATIONS)
    for name, (settings, seeds) in feroz.CONFIGURATIONS.items():
        assert (results[name]["settings"], results[name]["seeds"]) == (settings, seeds)
    cases = loaded(LAATU / "run.py", monkeypatch).CASES
    results = recorded(LAATU)
    assert {name: (one["settings"], one["seeds"]) for name, one in results.items()} == cases


@pytest.mark.parametrize("name", ["Reno-bucket-46", "Sack1-out", "Newreno-bucket-46-coupled"])
def test_a_token_bucket_and_rio_do_what_they_do_in_ns2(feroz: ModuleType, name: str) -> None:
    ours, theirs = means(feroz, name), recorded(FEROZ)[name]
    for what in feroz.QUANTITIES:
        assert not feroz.differs(ours[what], theirs[what]), (what, ours[what], theirs[what])


def test_other_configurations_are_told_apart(feroz: ModuleType) -> None:
    ours, results = means(feroz, "Sack1-bucket-46"), recorded(FEROZ)
    for name in ("Reno-bucket-46", "Sack1-bucket-46-coupled", "Sack1-bucket-1", "Sack1-out"):
        assert any(feroz.differs(ours[what], results[name][what]) for what in feroz.QUANTITIES), name


def test_four_meters_or_one_do_what_they_do_in_ns2(laatu: ModuleType) -> None:
    theirs = recorded(LAATU)["shared-300"]
    levels = {}
    for marking in laatu.MARKINGS:
        given = laatu.scenario(theirs["settings"], marking, ("pack", "tcp", "ack", "link"))
        levels[marking] = mean(laatu.once(given, seed)["cir"] for seed in range(1, 5))
        assert levels[marking] == pytest.approx(theirs[marking]["cir"][0], abs=0.02)
    assert levels["flow"] - levels["aggregate"] == pytest.approx(theirs["difference"]["cir"][0], abs=0.03)


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns-2.35 (Debian package ns2)")
def test_ns2_gives_the_recorded_means_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run = loaded(FEROZ / "run.py", monkeypatch)
    theirs = recorded(FEROZ)["Reno-bucket-10-tokens"]
    again = run.summary([run.once(theirs["settings"], seed) for seed in range(1, theirs["seeds"] + 1)])
    assert again == {what: theirs[what] for what in again}
