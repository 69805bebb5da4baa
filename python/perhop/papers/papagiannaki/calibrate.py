"""The fit of what the paper leaves open under every reading, and the readings that fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perhop.judge.measured import Measurements
from perhop.papers.fit import BASE, Measure, Point, Search, fit_record
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import EVERYWHERE, MARKINGS, by_cell, every_cell, printed_cells
from perhop.papers.papagiannaki.fit import Cell, CellFit, load_fit
from perhop.papers.papagiannaki.plan import campaign_of
from perhop.papers.plan import short
from perhop.papers.readings import Reading, load_readings
from perhop.papers.study import CampaignRunner

Off = dict[Cell, float]
"""Distance of each cell from the printed one, in the printed one's standard errors."""


def calibrate(pack: Pack, run: CampaignRunner) -> dict[str, Any]:
    """Search the parameters under each reading, run the results again, record which fit.

    The rule is decision 0073; `calibration.toml` has its numbers.
    """
    fit, campaign, printed = load_fit(pack), campaign_of(pack), by_cell([printed_cells(pack)])
    listed = [Reading(BASE, ""), *(one for one in load_readings(pack) if not one.of_runs)]
    readings = {one.id: one for one in listed}
    treatments = {one.levels: one for one in campaign.design.treatments}
    runs = [f"run.{name}={value}" for name, value in fit.runs.items()]

    def off(
        asked: Sequence[tuple[str, Point]], markings: Sequence[str], seeds: int, what: str
    ) -> list[list[Off]]:
        """Run markings at points, each under a reading, and compare throughputs seed by seed."""
        wanted = tuple(treatments[(*marking, EVERYWHERE)] for marking in markings)
        design = replace(campaign.design, treatments=wanted, replications=seeds)
        campaigns = []
        for id_, point in asked:
            own = readings[id_].settings_of(campaign.scenario.source)
            settings = [*own, *fit.under(id_).settings(point), *runs]
            campaigns.append(short(replace(campaign, design=design), settings))
        measured = run(campaigns, what) if campaigns else []
        return [[fit.off(printed, one) for one in _by_seed(each, markings, seeds)] for each in measured]

    def searched(id_: str, most: float) -> Search:
        def errors(points: Sequence[Point]) -> list[float]:
            found = off([(id_, point) for point in points], fit.treatments, 1, id_)
            return [round(fit.rms(one), 4) for (one,) in found]

        return search_twice(fit.under(id_), errors, most)

    found = {BASE: searched(BASE, math.inf)}
    most = fit.hopeless * found[BASE].error
    found |= {id_: searched(id_, most) for id_ in readings if id_ != BASE}
    ends = {id_: one.best for id_, one in found.items()}
    by_seed: dict[str, list[Off]] = {}
    for id_, one in found.items():
        seeds = fit.seeds if one.error <= most else 1
        (by_seed[id_],) = off([(id_, ends[id_])], fit.treatments, seeds, f"{id_}, {seeds} seeds")
    cells = {id_: _mean(own) for id_, own in by_seed.items()}
    fitting = fit.fitting({id_: fit.rms(own) for id_, own in cells.items()})
    others = [one for one in MARKINGS if one not in fit.treatments]
    for id_, rest in zip(
        fitting, off([(id_, ends[id_]) for id_ in fitting], others, 1, "held out"), strict=True
    ):
        cells[id_] |= _mean(rest)
    errors = {id_: [fit.rms(one) for one in own] for id_, own in by_seed.items()}
    return fit_record(
        pack,
        fit.treatments,
        {
            id_: {
                **found[id_].found(),
                "error": round(fit.rms(own), 3),
                "by seed": [round(one, 3) for one in errors[id_]],
                "held out": round(fit.rms(own, fitted=False), 3) if id_ in fitting else None,
                "fits": id_ in fitting,
            }
            for id_, own in cells.items()
        },
        [point for id_, one in found.items() for point in one.points(id_)],
        unit="standard errors of a printed cell",
        best=best_point([one for one in listed if not one.against], cells, errors, fit),
        cells={
            id_: {" ".join(cell): round(value, 3) for cell, value in own.items()}
            for id_, own in cells.items()
        },
    )


def search_twice(fit: CellFit, errors: Measure, most: float) -> Search:
    """Search all parameters once, and once more those that moved, where several did.

    Where the error is above `most` when the first has been searched, it ends there.
    """
    levels = {name: one.searched for name, one in fit.parameters.items()}
    first, *rest = levels
    found = Search(fit.before, errors)
    found.go_through({first: levels[first]})
    if found.error <= most:
        found.go_through({name: levels[name] for name in rest})
        moved = {name: own for name, own in levels.items() if found.best[name] != fit.before[name]}
        if len(moved) > 1:
            found.go_through(moved)
    return found


def best_point(
    candidates: Sequence[Reading],
    cells: Mapping[str, Off],
    by_seed: Mapping[str, Sequence[float]],
    fit: CellFit,
) -> str:
    """Return the fitted point: the candidate with the least error, or the base.

    It takes the place of the base only where it is nearer with every seed.
    """
    least = min((one.id for one in candidates), key=lambda id_: fit.rms(cells[id_]))
    nearer = all(own < base for own, base in zip(by_seed[least], by_seed[BASE], strict=True))
    return least if nearer else BASE


def _by_seed(measured: Measurements, markings: Sequence[str], seeds: int) -> list[Off]:
    values = {
        (name, c, marking): measured.values(name, congestion=c, **dict(zip("PAB", marking, strict=True)))
        for name, c, marking in every_cell(markings)
    }
    return [{cell: float(own[seed]) for cell, own in values.items()} for seed in range(seeds)]


def _mean(offs: Sequence[Off]) -> Off:
    return {cell: float(np.mean([one[cell] for one in offs])) for cell in offs[0]}
