"""The study of our own: what its page says of real packets and of when thresholds were fixed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conftest import Cli
from perhop import RESULTS_VERSION
from perhop.papers.folder import own_folder

PACK = own_folder("today")


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    expected = json.loads((PACK / "expected" / "quick.json").read_text())
    done = cli("reproduce", "today", "--quick", "--json", "-j", "2")
    assert done.code == 0, done.err
    assert done.json() == expected
    assert expected["results_version"] == RESULTS_VERSION


def meet(row: dict[str, Any]) -> bool:
    """Say whether the intervals of both clocks meet."""
    ours, kernels = (row[arm]["ci95"] for arm in ("simulator", "kernel"))
    return bool(ours[0] <= kernels[1] and kernels[0] <= ours[1])


def test_real_packets_agree_as_often_as_the_page_says() -> None:
    kernel = json.loads((PACK / "recorded" / "kernel.json").read_text())
    rows = [row for row in kernel["rows"] if row["kernel"] and row["kernel"]["mean"]]
    told = re.search(r"\*\*(\d+) of (\d+) means the intervals meet\*\*", (PACK / "README.md").read_text())
    assert told is not None
    assert (sum(map(meet, rows)), len(rows)) == (int(told[1]), int(told[2]))
    differing = [claim["id"] for claim in kernel["claims"] if differ(claim) and "/" not in claim["id"]]
    assert differing == ["H7"]
    assert (
        len([claim for claim in kernel["claims"] if claim["id"][0] == "H" and "/" not in claim["id"]]) == 10
    )


def differ(claim: dict[str, Any]) -> bool:
    """Say whether the simulator's verdict on a claim that both judged is not the kernel's."""
    ours, kernels = claim["simulator"]["verdict"], claim["kernel"]["verdict"]
    return "not judged" not in (ours, kernels) and ours != kernels


def test_every_claim_of_a_sender_is_judged_for_each() -> None:
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"]}
    for claim in ("M1", "F1", "Q1"):
        own = {name.partition("/")[2] for name in verdicts if name.startswith(f"{claim}/")}
        assert own == {"Reno", "CUBIC", "BBR", "Prague"}
    assert "not judged" not in verdicts.values()


def test_commands_on_record_name_scenarios_by_their_place_in_the_project() -> None:
    """Those of other studies too: three of the five campaigns run their networks."""
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    named = {one["command"].split()[2] for one in document["runs"]}
    others = ("laatu/aggregate.toml", "feroz/baseline.toml", "papagiannaki/y.toml")
    assert named == {"papers/today/line.toml", *(f"papers/{other}" for other in others)}
