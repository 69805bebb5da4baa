"""Every value of a campaign's file, and of the files of studies, in every type: a sentence, never a crash."""

from __future__ import annotations

import datetime
import random
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perhop import ScenarioError
from perhop.experiment.definition import read
from perhop.papers.error import PackError
from perhop.papers.folder import own_folder, own_study
from perhop.papers.kernel import arms
from perhop.papers.plan import plan_of
from test_experiment_file import FILE, QUEUES, STARTERS

VALUES: tuple[Any, ...] = (
    *(0, 7, -1, 10**30, 0.5, float("inf"), float("nan"), True, datetime.date(2026, 1, 1), datetime.time(1)),
    *("", "x", "7", "{", [], [7], [True, "x"], [[1]], [{}], {}, {"a": 7}, {"a": [1]}, {"x": {"y": "z"}}),
)
"""What is put in every place."""

FRACTION = """
scenario = "two-way.toml"
fraction = ["C = A B"]
factor = [
  { name = "A", path = "flow.up.tcp.window", levels = ["16KiB", "32KiB"] },
  { name = "B", path = "flow.down.tcp.window", levels = { low = "16KiB", high = "32KiB" } },
  { name = "C", levels = { shared = ["run.warmup=1s"], each = "run.warmup=2s" } },
]
response = [{ name = "goodput", measure = "mean(flows.goodput_bit_s)", unit = "bit/s" }]
"""
LISTED = FRACTION.replace('fraction = ["C = A B"]', 'treatment = [{ A = "16KiB", B = "low", C = "each" }]')
RANGES = """
scenario = "two-way.toml"
points = 3
set = ["run.duration=20s"]
range = [{ name = "w", path = "run.warmup", from = "1s", to = "9s", scale = "log" }]
response = [{ name = "goodput", measure = "mean(flows.goodput_bit_s)" }]
stop = { response = "goodput", half_width = "2%", most = 40 }
"""
QUEUE = QUEUES.replace("@@", '{ one = { kind = "fifo", limit = "9p" }, two = { kind = "fifo" } }')


def written(value: Any) -> str:
    """Return a value as TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(str(key))} = {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def document(table: dict[str, Any]) -> str:
    return "".join(f"{key} = {written(value)}\n" for key, value in table.items())


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give where every part of a file is, tables and arrays included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def changes(text: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Give every place of a file with every value; None leaves it out."""
    return [(place, value) for place in places(tomllib.loads(text)) for value in (*VALUES, None)]


def mutant(text: str, place: tuple[Any, ...], value: Any) -> str:
    """Return a file with one value replaced, or left out."""
    whole = tomllib.loads(text)
    inside: Any = whole
    for key in place[:-1]:
        inside = inside[key]
    if value is None:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return document(whole)


@pytest.mark.parametrize(
    "text", [FILE, FRACTION, LISTED, RANGES, QUEUE], ids=["full", "fraction", "listed", "ranges", "queue"]
)
def test_a_campaign_with_any_value_anywhere(tmp_path: Path, text: str) -> None:
    shutil.copy(STARTERS / "two-way" / "two-way.toml", tmp_path)
    file = tmp_path / "c.toml"
    refused = 0
    for done in changes(text):
        file.write_text(mutant(text, *done))
        try:
            found = read(file)
        except (OSError, ScenarioError):
            raise AssertionError(done) from None
        except Exception as error:
            raise AssertionError(f"{done}: {type(error).__name__}: {error}") from error
        assert (found.campaign is None) == bool(found.mistakes), done
        refused += bool(found.mistakes)
        for one in found.mistakes:
            assert one["line"] >= 1, done
            assert one["rule"], done
    assert refused > 100


def test_a_level_that_is_a_number_without_a_path_is_told_with_its_place(tmp_path: Path) -> None:
    shutil.copy(STARTERS / "two-way" / "two-way.toml", tmp_path)
    file = tmp_path / "c.toml"
    file.write_text(FRACTION.replace('shared = ["run.warmup=1s"]', "shared = 7"))
    (mistake,) = read(file).mistakes
    assert (mistake["line"], mistake["rule"]) == (7, "level `shared` has a value, but the factor no `path`")


FILES = (
    "figures.toml",
    "claims.toml",
    "readings.toml",
    "calibration.toml",
    "kernel.toml",
    "page.toml",
    "study.toml",
)


STUDIES = ("kalampoukas", "feroz", "laatu", "papagiannaki")


def hold(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, quick: bool) -> None:
    """Hold files of a study to the rule: it is planned, or an error of packs or scenarios says why."""
    folder = tmp_path / key
    shutil.copytree(own_folder(key), folder)
    monkeypatch.setattr("perhop.papers.folder.OWN", tmp_path)
    files = {name: (folder / name).read_text() for name in FILES if (folder / name).exists()}
    every = [(name, *done) for name, text in files.items() for done in changes(text)]
    crashed = []
    for name, *done in random.Random(number).sample(every, number):
        (folder / name).write_text(mutant(files[name], *done))
        try:
            arms(own_study(key)) if name == "kernel.toml" else plan_of(own_study(key), quick=quick)
        except (PackError, ScenarioError):
            pass
        except Exception as error:
            crashed.append(f"{name}: {done}: {type(error).__name__}: {error}")
        (folder / name).write_text(files[name])
    assert crashed == []


@pytest.mark.parametrize("key", STUDIES)
def test_a_study_with_some_value_somewhere(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(key, tmp_path, monkeypatch, 6, quick=True)


@pytest.mark.long
@pytest.mark.parametrize("key", STUDIES)
def test_a_study_with_any_value_in_many_places(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(key, tmp_path, monkeypatch, 300, quick=False)
