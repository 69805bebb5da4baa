"""What a packet-hop costs: no test of time, but of counts, which are the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import script

cost = script(Path(__file__).parent.parent / "bench/cost.py")


@pytest.mark.skipif(cost.missing() is not None, reason=f"{cost.missing()} is not installed")
def test_a_packet_hop_costs_no_more_instructions_than_on_record() -> None:
    on_record = json.loads(cost.RECORD.read_text())
    dearer = {case: now for case, now in cost.count().items() if now > cost.SLACK * on_record[case]}
    assert not dearer, (
        f"{dearer}, on record {on_record}: name it in CHANGELOG.md and run bench/cost.py --record"
    )
