"""The calibration of the study of ACK marking: its record, and its search on made-up runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.papers.fit import BASE, Parameter, Point, Search, read_record
from perhop.papers.readings import Reading
from perhop.papers.refit import best_point, calibrate, search_twice
from test_papers_papagiannaki import CONGESTION, FIT, FOLDER, PRINTED, cell, plan


def record() -> dict[str, Any]:
    return read_record(FOLDER.folder)


def test_the_scenario_is_what_was_fitted_and_readings_that_fit_are_run_where_they_were() -> None:
    readings, fit, found = record()["fits"], FIT, plan()
    base = found.campaigns[0].scenario
    assert record()["best"] == BASE
    assert base.override(*fit.settings(readings[BASE]["chosen"])).key() == base.key()
    # the fit has runs of one duration, so that another duration is no reading of it
    assert [*readings] == [BASE, *(one.id for one in FOLDER.readings if one.id != "240 s")]
    voting = ["240 s", *(id_ for id_, one in readings.items() if one["fits"] and id_ != BASE)]
    assert [one.id for one, _ in found.read] == voting
    assert len(found.left_out) == len(readings) - len(voting)
    for one, (campaign,) in found.read[1:]:
        own = fit.under(one.id).settings(readings[one.id]["chosen"])
        assert campaign.scenario.override(*own).key() == campaign.scenario.key(), one.id


def test_the_errors_on_record_are_those_of_its_cells() -> None:
    whole, fit = record(), FIT
    assert whole["fitted"] == list(fit.treatments)
    # a Latin square: every mark of every class three times, with each mark of each other class once
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert len({(one[first], one[second]) for one in fit.treatments}) == len(fit.treatments) == 9
    cells = {
        id_: {tuple(cell.split()): value for cell, value in own.items()}
        for id_, own in whole["cells"].items()
    }
    errors = {id_: fit.rms(own) for id_, own in cells.items()}
    fitting = fit.fitting(errors)
    for id_, one in whole["fits"].items():
        assert one["error"] == pytest.approx(errors[id_], abs=2e-3)
        assert one["fits"] == (id_ in fitting)
        hopeless = one["by seed"][0] > fit.hopeless * whole["fits"][BASE]["by seed"][0]
        assert len(one["by seed"]) == (1 if hopeless else fit.seeds)
        assert len(cells[id_]) == (162 if one["fits"] else 54)
        if one["fits"]:
            assert one["held out"] == pytest.approx(fit.rms(cells[id_], fitted=False), abs=2e-3)
        tried = {tuple(point["levels"]): point["error"] for point in whole["points"] if point["fit"] == id_}
        assert min(tried.values()) == tried[tuple(one["chosen"].values())]
        # the search has the first seed
        assert one["by seed"][0] == pytest.approx(min(tried.values()), abs=1e-3)


def test_the_readme_has_the_cells_that_are_farthest_off() -> None:
    fit, cells = FIT, record()["cells"][BASE]
    off = {tuple(cell.split()): value * fit.error[cell.split()[0]] for cell, value in cells.items()}
    far = sorted(off, key=lambda cell: -abs(off[cell]))
    fitted = next(cell for cell in far if cell[2] in fit.treatments)
    lines = [
        f"| {name.title()}, C = {c}, {'-'.join(marking)}{note} | {off[name, c, marking]:+.3f} |"
        for (name, c, marking), note in [*((cell, "") for cell in far[:8]), (fitted, " (fitted)")]
    ]
    assert fitted not in far[:8]
    assert "\n".join(lines) in (FOLDER.folder / "README.md").read_text()


def test_a_search_finds_the_nearest_point_of_every_reading_and_says_which_fit() -> None:
    """Made-up runs: off by 0.02 Mbit/s at one depth of Premium's bucket, 0.03 elsewhere, 0.1 with NewReno."""

    def run(campaigns: Sequence[Campaign], label: str) -> list[Measurements]:
        del label
        return [Measurements(made_up(one)) for one in campaigns]

    def made_up(campaign: Campaign) -> pl.DataFrame:
        there = campaign.scenario.overrides
        off = 0.02 if "conditioner.premium.meter.cbs=900kB" in there else 0.03
        off = 0.1 if "profile.host.recovery=newreno" in there else off
        return pl.DataFrame(
            [
                {
                    **dict(zip(campaign.design.names, one.levels, strict=True)),
                    "replication": replication,
                    "response": name,
                    "C": c,
                    "value": cell(PRINTED[name], "".join(one.levels[:3]), c) + off,
                }
                for one in campaign.design.treatments
                for replication in range(campaign.design.replications)
                for name in PRINTED
                for c in CONGESTION
            ]
        )

    def error(off: float) -> Any:
        # half of the cells are Premium's, half Assured's
        return pytest.approx(off * np.sqrt((0.015**-2 + 0.012**-2) / 2), abs=1e-3)

    found, start = calibrate(FOLDER, run), FIT.before
    base, window, newreno = (found["fits"][id_] for id_ in (BASE, "window", "NewReno"))
    assert base["chosen"] == {**start, "depth of Premium's bucket": "900 kB"}
    assert base == {**base, "error": error(0.02), "held out": error(0.02), "fits": True}
    assert len(found["cells"][BASE]) == 162
    # it has depths of its own: 1.5 times the least is too much
    assert window == {**window, "error": error(0.03), "held out": None, "fits": False}
    assert (len(found["cells"]["window"]), len(window["by seed"])) == (54, 5)
    # no hope: four delays and no more
    assert newreno == {**newreno, "error": error(0.1), "by seed": [error(0.1)], "fits": False}
    assert sum(point["fit"] == "NewReno" for point in found["points"]) == 4
    assert ("240 s" not in found["fits"], found["best"]) == (True, BASE)
    assert found["points"][0] == {
        "fit": BASE,
        "levels": ["33 ms", *list(start.values())[1:]],
        "error": error(0.03),
    }


@pytest.mark.parametrize(("off", "best"), [([0.9] * 5, "other"), ([0.9] * 4 + [1.1], BASE)])
def test_another_reading_is_the_fitted_point_only_where_it_is_nearer_with_every_seed(
    off: list[float], best: str
) -> None:
    one = ("premium", "r", "bpp")
    cells = {BASE: {one: 1.0}, "other": {one: 0.9}}
    both = [Reading(id_, "") for id_ in cells]
    assert best_point(both, cells, {BASE: [1.0] * 5, "other": off}, FIT) == best


GAINS = {("0", "0"): 9.0, ("1", "0"): 8.0, ("1", "1"): 7.0, ("2", "1"): 6.0}
"""Errors by the levels of two parameters; elsewhere it is 10."""


def searched(most: float) -> Search:
    levels = {name: Parameter({level: [] for level in "012"}, "0") for name in "abc"}

    def errors(points: Sequence[Point]) -> list[float]:
        return [GAINS.get((str(one["a"]), str(one["b"])), 10.0) + int(one["c"]) for one in points]

    return search_twice(replace(FIT, parameters=levels), errors, most)


def test_parameters_that_moved_are_searched_once_more() -> None:
    found = searched(8.0)
    # the third level of the first pays when the second has moved
    assert (found.best, found.error) == ({"a": "2", "b": "1", "c": "0"}, 6.0)
    # what did not move is not tried again, and nothing twice
    tried = [tuple(point.values()) for point, _ in found.tried]
    assert len(tried) == len(set(tried)) == 7 + 3


def test_a_search_without_hope_ends_after_the_first_parameter() -> None:
    found = searched(7.9)
    assert (found.best, found.error, len(found.tried)) == ({"a": "1", "b": "0", "c": "0"}, 8.0, 3)
