"""What is on record, made again: the quick reproduction of a study, and runs of an older results version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from perhop import RESULTS_VERSION, Scenario
from perhop.papers.folder import own_folder


def quick_page(cli: Cli, key: str) -> str:
    """Reproduce a study in its quick form, hold it to its record, and return its page."""
    expected = json.loads((own_folder(key) / "expected" / "quick.json").read_text())
    done = cli("reproduce", key, "--quick", "--json", "-j", "2")
    assert done.code == 0, done.err
    assert done.json() == expected
    assert expected["results_version"] == RESULTS_VERSION
    return Path(f"out/{key}/report.html").read_text()


def changed(scenario: Scenario, version: int) -> bool:
    """Whether the results of `scenario` have changed since a record of results version `version`."""
    return scenario.core.results_since > version


def skip_if_any(older: int, version: int) -> None:
    """Skip the rest of a test where `older` of its runs changed since the record; others were compared."""
    if older:
        pytest.skip(f"{older} runs were recorded under results_version {version} and have changed since")
