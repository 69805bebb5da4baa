"""The study of BBR beside CUBIC: its quick form is the one on record, its forms those of its README."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

from conftest import Cli
from perhop.papers.folder import own_folder, own_study
from perhop.papers.plan import plan_of
from perhop.scenario.scenario import Scenario
from reproduced import quick_page

PACK = own_folder("ware2019")


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    page = quick_page(cli, "ware2019")
    assert "<title>One BBR flow beside one, two, four and sixteen CUBIC flows</title>" in page
    assert "ACM Internet Measurement Conference" in page


def _forms(buffer: str, bbr: int = 1) -> tuple[float, float]:
    study = own_study("ware2019")
    scenario = Scenario.load(PACK / "dumbbell.toml").override(
        f"port.router-d.class.all.queue.limit={buffer}", f"flow.bbr.count={bbr}"
    )
    forms = study.about[0].references.forms
    found = [forms[name](scenario, "share") for name in ("model", "pipe")]
    assert all(form(scenario, "wait") is None for form in forms.values())
    model, pipe = found
    assert model is not None
    assert pipe is not None
    return model, pipe


def test_the_closed_forms_are_the_equations_of_the_readme() -> None:
    # 10 Mbit/s of 1500 bytes, 40 ms, 1000 packets: 30 BDP
    rate, round_trip_s, buffer = 10e6 / 12000, 0.04, 1000.0
    sending = 1 - (buffer / rate + 0.2 + round_trip_s) / 10
    for bbr in (1, 4):
        printed = 0.5 - 1 / (2 * buffer / (rate * round_trip_s)) - 4 * bbr / buffer
        shared = 0.5 - 4 * bbr / (buffer + rate * round_trip_s)
        assert _forms("1000p", bbr) == pytest.approx(((1 - printed) * sending, (1 - shared) * sending))
    # below zero CUBIC has nothing; and so it is where the pipe is as long as the buffer
    alone = 1 - (17 / rate + 0.2 + round_trip_s) / 10
    assert _forms("17p") == pytest.approx((alone, alone))
    assert plan_of(own_study("ware2019")).campaigns[0].design.replications == 10


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """Give the rows on record by their names."""
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    return {row["id"]: row for row in document["rows"]}


BUFFERS = ("1", "2", "4", "8", "16", "32", "64")


def test_real_hosts_agree_in_every_cell_as_the_readme_says(rows: dict[str, Any]) -> None:
    off = [
        abs(row["simulated"]["mean"] - row["published"])
        for row in rows.values()
        if row["published"] is not None
    ]
    assert len(off) == 21
    assert max(off) == pytest.approx(0.039, abs=5e-4)
    assert sum(off) / len(off) == pytest.approx(0.0084, abs=1e-4)


def test_how_far_the_forms_are_is_what_the_readme_says(rows: dict[str, Any]) -> None:
    own = [rows[f"1:1 {buffer}"] for buffer in BUFFERS]

    def far(form: str, of: str = "simulated") -> list[float]:
        told = [one["published"] if of == "published" else one["simulated"]["mean"] for one in own]
        return [one["closed_form"][form] - value for one, value in zip(own, told, strict=True)]

    assert median(far("model")) == pytest.approx(0.13, abs=0.005)
    assert median(far("model", "published")) == pytest.approx(0.11, abs=0.005)
    assert max(far("pipe")[2:4]) < 0.02
    shares = [rows[f"1:{cubic} 16"]["simulated"]["mean"] for cubic in (1, 2, 4, 16)]
    assert shares == pytest.approx([0.43, 0.43, 0.42, 0.41], abs=0.005)


def test_a_fixed_point_of_the_cap_is_what_the_form_with_the_pipe_gives() -> None:
    """The cap, iterated from an empty network, instead of the equation solved."""
    rate, round_trip_s, buffer, probing = 10e6 / 12000, 0.04, 533.0, 4
    everything = buffer + rate * round_trip_s
    bbr = 10.0
    for _ in range(10_000):
        other = everything - bbr
        least_s = max(round_trip_s, (other + probing) / rate)
        cap = 2 * bbr / everything * rate * least_s
        bbr += 0.1 * (cap - bbr)
    sending = 1 - (buffer / rate + 0.2 + round_trip_s) / 10
    assert bbr / everything * sending == pytest.approx(_forms("533p")[1], rel=1e-6)
