"""Records of studies: a row a line, and the values that were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perhop.papers.records import encode

PAPERS = Path(__file__).parents[1] / "papers"
RECORDS = sorted(path for name in ("quick", "calibration") for path in PAPERS.glob(f"*/**/{name}.json"))


def test_a_row_is_a_line() -> None:
    record = {
        "paper": "x",
        "rows": [{"id": "1", "mean": 1.5}, {"id": "2", "mean": float("nan")}],
        "left": [],
        "errors": {"a": {"b": 1}, "c": [2, 3]},
        "names": ["p", "a"],
    }
    lines = encode(record).decode().splitlines()
    assert lines[2:5] == ['  "rows": [', '    {"id": "1", "mean": 1.5},', '    {"id": "2", "mean": null}']
    assert '    "a": {"b": 1},' in lines
    assert '  "names": ["p", "a"]' in lines
    assert json.loads(encode(record))["errors"] == record["errors"]
    assert json.loads(encode([record, record]))[1]["paper"] == "x"


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_records_of_the_packs_are_written_so(path: Path) -> None:
    assert path.read_bytes() == encode(json.loads(path.read_bytes()))
