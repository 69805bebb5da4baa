"""The quick reproduction of papagiannaki against the one on record.

After a change that is meant to change results: `perhop reproduce papagiannaki --quick --json >
papers/papagiannaki/expected/quick.json`, and a line under "Changed results" in the changelog.
It takes a minute of a processor. `make test` makes runs of the full record instead: test_papers_recorded.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.papers.folder import own_folder


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record_and_is_resumed(process: Cli, tmp_path: Path) -> None:
    ask = ("reproduce", "papagiannaki", "--quick", "--json", "-o", "out/papagiannaki")
    done = process(*ask)
    assert done.code == ExitCode.DONE, done.err
    expected = json.loads((own_folder("papagiannaki") / "expected/quick.json").read_bytes())
    found = done.json()
    for part in ("command", "results_version", "runs", "treatments"):
        assert found[part] == expected[part]
    assert [_row(row) for row in found["rows"]] == [_row(row) for row in expected["rows"]]
    assert [_rounded(claim) for claim in found["claims"]] == [_rounded(claim) for claim in expected["claims"]]
    assert {claim["verdict"] for claim in found["claims"]} == {"not judged"}
    assert (tmp_path / "out/papagiannaki.runs/record.json").is_file()
    # every run is there already
    again = process(*ask)
    assert again.out == done.out


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    ends = row["simulated"]["ci95"] or []
    rounded = [round(value, 4) for value in (row["simulated"]["mean"], *ends)]
    return (row["table"], row["id"], row["quantity"], row["published"], row["simulated"]["n"], *rounded)


def _rounded(value: Any) -> Any:
    """Round every number in a claim, as those of rows are."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value
