"""The study that is all data: its quick form is the one on record, and no Python is of it."""

from __future__ import annotations

from pathlib import Path

from conftest import Cli
from perhop.judge.measured import Measurements
from perhop.papers import on_record
from perhop.papers.folder import own_folder, own_study
from perhop.papers.plan import plan_of
from reproduced import quick_page

PACK = own_folder("seddigh")


def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    page = quick_page(cli, "seddigh")
    # the assumption holds: where there is enough for all, packets within the target are not lost
    assert "were IN and lost" not in page
    assert "IEEE Globecom, 1999." in page


def test_it_has_no_python() -> None:
    assert not list(PACK.rglob("*.py"))
    assert not (Path(__file__).parents[1] / "python" / "perhop" / "papers" / "seddigh").exists()


def test_it_is_judged_ten_times_each_under_three_readings_or_more() -> None:
    plan = plan_of(own_study("seddigh"))
    assert len(plan.read) >= 3
    assert {one.design.replications for one in plan.campaigns} == {10}
    assert {len(one.design.treatments) for one in plan.campaigns} == {18}


def test_what_the_readme_says_came_out_is_on_record() -> None:
    plan = plan_of(own_study("seddigh"))
    record = on_record.read(plan.study)
    assert record is not None
    claims = {claim["id"]: claim for claim in record.document["claims"]}
    verdicts = {id_: claim["verdict"] for id_, claim in claims.items()}
    assert verdicts == dict.fromkeys(claims, "supported") | {"S7": "inconclusive"}
    assert len(claims) == 8
    assert claims["S7"]["decided_by"] == ["shallow bucket"]
    least = [part["claimed"][0] for part in claims["S1"]["parts"]]
    for under in (claims["S1"], *claims["S1"]["readings"]):
        assert all(part["ci95"][0] > low + 0.4 for part, low in zip(under["parts"], least, strict=True))

    campaigns = [Measurements(one) for one in on_record.scalars_of(plan, record)]
    fitted = campaigns[0]

    def rate(customer: str, case: str, network: str = "over", of: Measurements = fitted) -> float:
        found = of.interval("rate", **{"network": network, "case": case, "class": customer})
        assert found is not None
        return found.mean

    assert 0.6 < rate("B", "round trip") / rate("B", "equal") < 0.7
    assert rate("U", "UDP") - 1e6 > 3e6 / 2
    sliding = campaigns[1 + [reading.id for reading, _ in plan.read].index("TSW")]
    for one in fitted.scalars.filter(response="rate").unique(("network", "case", "class")).to_dicts():
        at = one["class"], one["case"], one["network"]
        assert abs(rate(*at, sliding) / rate(*at) - 1) < 0.03
