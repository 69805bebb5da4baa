"""`scripts/test` finds the tests of what is named, and says what is not there."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).parents[1]
SCRIPT = TOP / "scripts" / "test"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("scripts_test", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("stats/ranks", "test_stats_comparisons"),  # by its tests' imports
        ("experiment/ledger", "test_campaign_run"),  # one of a list in brackets
        ("run/seal", "test_damage"),  # by what imports it
        ("cli/run", "test_run"),  # a command: by its name
    ],
)
def test_the_tests_of_a_module_are_found(script: ModuleType, module: str, test: str) -> None:
    found = {Path(one).stem for one in script.of_module(f"python/perhop/{module}.py")}
    assert any(one.startswith(test) for one in found), found


def test_the_tests_of_rust_are_found_by_file_and_by_law(script: ModuleType) -> None:
    assert script.of_rust("crates/perhop-core/src/queue/red.rs") == ("perhop-core", "red")
    assert script.of_rust("crates/perhop-sim/src/engine/mod.rs") == ("perhop-sim", "engine")
    assert script.of_rust("crates/perhop-core/src/lib.rs") == ("perhop-core", "")
    assert script.law("laws_queues::red") == ("perhop-core", "laws_queues::red")


@pytest.mark.parametrize("word", ["docs/nosuch.md", "--nosuch", "nosuch_law::red", "-k"])
def test_what_is_not_there_is_told(word: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, word], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("scripts/test: ")
    assert word in done.stderr
    assert "\nhint: " in done.stderr


def test_what_each_part_of_a_make_took_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "lint-rust").write_text("61\n0m0.010s 0m0.020s\n1m40.200s 0m9.900s\n")
    os.utime(tmp_path / "lint-rust", (1, 1))
    (tmp_path / "rust-test").write_text("3\n0m0.000s 0m0.000s\n0m4.500s 0m0.500s\n")
    done = subprocess.run([TOP / "scripts" / "times", tmp_path], capture_output=True, text=True, check=True)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["part", "wall,", "s", "CPU,", "s"],
        ["lint-rust", "61", "110"],
        ["rust-test", "3", "5"],
        ["all", "115"],
    ]
