"""The study of queues by RFC 7928: its quick form is the one on record, its loads are those of its README."""

from __future__ import annotations

import pytest

from conftest import Cli
from perhop.experiment.work import execute
from perhop.judge.measured import Measurements
from perhop.papers import again, on_record
from perhop.papers.folder import own_folder, own_study
from perhop.papers.plan import plan_of
from reproduced import quick_page

PACK = own_folder("rfc7928")


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    page = quick_page(cli, "rfc7928")
    assert "<title>Senders and load: goodput against wait</title>" in page
    assert "RFC 7928, 2016" in page


def _fitted() -> Measurements:
    plan = plan_of(own_study("rfc7928"))
    record = on_record.read(plan.study)
    assert record is not None
    return Measurements(on_record.scalars_of(plan, record)[0])


def _mean(of: Measurements, response: str, **at: str) -> float:
    found = of.interval(response, **at)
    assert found is not None
    return found.mean


@pytest.mark.parametrize(("case", "loss"), [("mild", 0.0011), ("medium", 0.0054), ("heavy", 0.0104)])
def test_loads_are_those_of_the_guidelines_behind_a_fifo(case: str, loss: float) -> None:
    assert _mean(_fitted(), "loss", queue="FIFO", case=case) == pytest.approx(loss, abs=6e-5)


def test_a_run_on_record_over_a_trace_is_made_again_with_its_file() -> None:
    plan = plan_of(own_study("rfc7928"))
    record = on_record.read(plan.study)
    assert record is not None
    drawn = again.draw(plan, record, 60, seed=1)
    (one, *_) = (one for one in drawn if "case=capacity" in one.line["treatment"])
    finished = execute(one.task)
    assert finished.failure is None
    assert dict(one.task.files).keys() == {"capacity.csv"}
