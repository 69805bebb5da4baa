"""The quick reproduction of a study, held to the one on record."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Cli
from perhop import RESULTS_VERSION
from perhop.papers.folder import own_folder


def quick_page(cli: Cli, key: str) -> str:
    """Reproduce a study in its quick form, hold it to its record, and return its page."""
    expected = json.loads((own_folder(key) / "expected" / "quick.json").read_text())
    done = cli("reproduce", key, "--quick", "--json", "-j", "2")
    assert done.code == 0, done.err
    assert done.json() == expected
    assert expected["results_version"] == RESULTS_VERSION
    return Path(f"out/{key}/report.html").read_text()
