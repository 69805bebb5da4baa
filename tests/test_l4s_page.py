"""The tables of Prague beside CUBIC on the page of DualPI2, cell by cell."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perhop import Scenario
from perhop.experiment.definition import Campaign
from perhop.stats.intervals import mean_interval
from scripts import script

TOP = Path(__file__).parents[1]
LINES = (TOP / "docs" / "elements" / "dualpi2.md").read_text().splitlines()
FOLDER = TOP / "examples" / "l4s"
DESIGN = Campaign.load(FOLDER / "campaign.toml").design
RATES = ("4Mbit/s", "12Mbit/s", "40Mbit/s", "120Mbit/s")
ROUND_TRIPS = ("5ms", "10ms", "20ms", "50ms", "100ms")
RUNS = 6
SHOWN = script(TOP / "oracles" / "kernel" / "compare.py").shown


def _tables() -> list[dict[str, list[str]]]:
    """Return both tables, by rate: of ratios and of delays."""
    first = next(i for i, line in enumerate(LINES) if line.startswith("Prague's rate over CUBIC's"))
    rows = [line.split(" | ") for line in LINES[first:] if line[:3] in {f"| {n}" for n in "14"}]
    cells = [(row[0].strip("| ").replace(" ", ""), [one.strip(" |") for one in row[1:]]) for row in rows[:8]]
    return [dict(cells[:4]), dict(cells[4:])]


def _measured(rate: str, round_trip: str, *more: str) -> tuple[list[float], list[float]]:
    """Return Prague's rate over CUBIC's, and the 99 % delay of its packets in ms, of each run."""
    (one,) = (each for each in DESIGN.treatments if each.levels == (rate, round_trip))
    scenario = Scenario.load(FOLDER / "dumbbell.toml").override(*one.overrides, *more)
    ratios, delays = [], []
    for replication in range(RUNS):
        classes = scenario.override(f"run.replication={replication}").run().classes
        of = {row["class"]: row for row in classes.to_dicts()}
        ratios.append(of["L4S"]["goodput_bit_s"] / of["classic"]["goodput_bit_s"])
        delays.append(of["L4S"]["delay_p99_s"] * 1e3)
    return ratios, delays


@pytest.mark.parametrize(
    "rate", [RATES[0], RATES[1], *(pytest.param(rate, marks=pytest.mark.long) for rate in RATES[2:])]
)
def test_both_tables_are_what_the_runs_give(rate: str) -> None:
    found = [_measured(rate, round_trip) for round_trip in ROUND_TRIPS]
    assert [[SHOWN(one[which]) for one in found] for which in (0, 1)] == [own[rate] for own in _tables()]


def test_the_words_beside_the_tables_are_theirs() -> None:
    ratios, delays = _tables()
    text = " ".join(LINES)
    means = [float(cell.split()[0]) for row in ratios.values() for cell in row]
    most = math.ceil(10 * max(*means, *(1 / one for one in means))) / 10
    assert f"within a factor of {most} of each other" in text
    waits = [
        float(cell.split()[0]) - float(trip.removesuffix("ms")) / 2
        for rate in RATES[1:]
        for trip, cell in zip(ROUND_TRIPS, delays[rate], strict=True)
    ]
    assert f"wait {min(waits):.1f} to {max(waits):.0f} ms at 12 Mbit/s and more" in text


@pytest.mark.long
def test_dctcp_in_its_place_is_further_away() -> None:
    means = [
        mean_interval(_measured(rate, trip, "flow.prague.tcp.cc=dctcp")[0]).mean
        for rate in RATES
        for trip in ROUND_TRIPS
    ]
    assert f"from {min(means):.1f} to {max(means):.1f}, more for short round trips" in " ".join(LINES)
