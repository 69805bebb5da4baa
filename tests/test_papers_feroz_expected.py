"""The quick reproduction of feroz against the one on record.

After a change that is meant to change results: `perhop reproduce feroz --quick --json >
papers/feroz/expected/quick.json`, and a line under "Changed results" in the changelog.
It takes a minute of a processor. `make test` makes runs of the full record instead: test_papers_recorded.py.
"""

from __future__ import annotations

import json

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.papers.folder import own_folder


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(process: Cli) -> None:
    expected = json.loads((own_folder("feroz") / "expected/quick.json").read_bytes())
    done = process("reproduce", "feroz", "--quick", "--json", "-o", "out/feroz")
    assert done.code == ExitCode.DONE, done.err
    found = done.json()
    for part in ("command", "results_version", "runs", "treatments"):
        assert found[part] == expected[part]
    for one, recorded in zip(found["rows"], expected["rows"], strict=True):
        assert (one["id"], one["quantity"], one["published"]) == (
            recorded["id"],
            recorded["quantity"],
            recorded["published"],
        )
        assert one["simulated"]["mean"] == pytest.approx(recorded["simulated"]["mean"], rel=1e-4), one["id"]
    judged, recorded_claims = (
        {claim["id"]: (claim["verdict"], claim["decided_by"]) for claim in document["claims"]}
        for document in (found, expected)
    )
    assert judged == recorded_claims
