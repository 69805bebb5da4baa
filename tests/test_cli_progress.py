"""Progress without a terminal: plain lines, seldom, with the time left; and numbers as people read them."""

from __future__ import annotations

import doctest

import pytest

import perhop.units
from perhop.cli import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time as a list of one number that a test may change."""
    now = [100.0]
    monkeypatch.setattr("perhop.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_lines_come_every_few_seconds_with_the_time_left(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Progress("working") as shown:
        for second in range(1, 11):
            clock[0] = 100.0 + second
            shown.update(second, 20)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "working: 25%, about 15 s left\nworking: 50%, about 10 s left\n"


def test_the_time_left_of_tasks_of_different_cost(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    costs = [1, 1, 1, 1, 1, 20, 5, 20]
    done = 0
    with progress.Progress("working") as shown:
        for cost in costs:
            # the machine does two units of work each second
            clock[0] += cost / 2
            done += cost
            shown.update(done, sum(costs))
    assert capsys.readouterr().err.splitlines() == [
        "working: 50%, about 12 s left",
        "working: 100%, about 0 s left",
    ]


def test_what_was_there_before_says_nothing_about_the_pace(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Progress("working") as shown:
        shown.update(80, 100)
        clock[0] += 6.0
        shown.update(85, 100)
    assert capsys.readouterr().err == "working: 85%, about 18 s left\n"


def test_of_work_that_may_end_early_it_says_the_most_that_is_left(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Progress("racing", bound=True) as shown:
        shown.update(10, 100)
        clock[0] += 6.0
        shown.update(16, 100)
        clock[0] += 6.0
        shown.update(22, 40)  # somebody was dropped
    assert capsys.readouterr().err.splitlines() == [
        "racing: 16% of the most, at most 84 s left",
        "racing: 55% of the most, at most 18 s left",
    ]


def test_short_work_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress("working") as shown:
        shown.update(0, 10)
        clock[0] += 4.0
        shown.update(9, 10)
    assert capsys.readouterr() == ("", "")


def test_examples_of_units_hold() -> None:
    done = doctest.testmod(perhop.units)
    assert done.failed == 0
    assert done.attempted > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0 bit/s"), (999.0, "999 bit/s"), (1e5, "100 kbit/s"), (2.5e9, "2.5 Gbit/s")],
)
def test_rates(value: float | None, text: str) -> None:
    assert perhop.units.bit_rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 ms"),
        (0.0125, "12.5 ms"),
        (1.0, "1 s"),
        (10.56, "10.56 s"),
        (1.8e-8, "18 ns"),
        (1e-10, "0.1 ns"),
    ],
)
def test_times(value: float | None, text: str) -> None:
    assert perhop.units.duration(value) == text
