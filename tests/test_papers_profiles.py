"""The study under other conventions of TCP than its own, `rfc`: what it finds must not hang on them."""

from __future__ import annotations

import json
import tomllib

import pytest

from perhop import _core
from perhop.papers import load_pack
from perhop.papers.kalampoukas import Reproduction, make_plan, reduce


def reproduce(profile: str) -> Reproduction:
    """Reproduce kalampoukas, quick, with every flow under `profile`."""
    plan = make_plan(quick=True)
    jobs = [
        (source, name, [*overrides, *(f"flow.{flow}.tcp.profile={profile}" for flow in flows(source))])
        for source, name, overrides in plan.jobs
    ]
    return reduce(plan, _core.run_batch(jobs, 2), f"profile {profile}", _core.RESULTS_VERSION)


def flows(source: bytes) -> list[str]:
    """Name the flows of a scenario."""
    return [flow["name"] for flow in tomllib.loads(source.decode())["flow"]]


@pytest.mark.parametrize("profile", ["ns2", "bsd"])
def test_kalampoukas_is_the_same_under_each_profile(profile: str) -> None:
    """Efficiencies are those on record, within the bounds of the closed forms, and no verdict changes."""
    expected = json.loads(load_pack("kalampoukas").scenario("expected/quick.json"))
    found = reproduce(profile)
    for row, recorded in zip(found.document["rows"], expected["rows"], strict=True):
        if row["unit"] != "1":
            continue
        mean = row["simulated"]["mean"]
        assert mean == pytest.approx(recorded["simulated"]["mean"], abs=0.002), row["id"]
        if row["closed_form"]["bounded"] is not None:
            assert mean == pytest.approx(row["closed_form"]["bounded"], abs=0.03), row["id"]
    verdicts = {claim["id"]: claim["verdict"] for claim in expected["claims"]}
    assert {claim["id"]: claim["verdict"] for claim in found.document["claims"]} == verdicts
    assert found.warnings == []
