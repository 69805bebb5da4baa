"""What the paper leaves open, fitted in the open: a search over one parameter after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.papers.factorial import Cells
from perhop.papers.measured import Measurements
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import (
    CLASSES,
    CONGESTION,
    EVERYWHERE,
    MARKINGS,
    at,
    printed_cells,
)
from perhop.papers.papagiannaki.plan import campaign_of
from perhop.papers.plan import short
from perhop.papers.readings import load_readings
from perhop.papers.search import Point, search
from perhop.papers.study import CampaignRunner

Means = Mapping[str, Mapping[tuple[str, str], float]]
"""By marking: class and congestion, Mbit/s."""


@dataclass(frozen=True)
class Fit:
    """A calibration, as `calibration.toml` states it: settings by level of each parameter, what is fitted.

    `seen` has the cells that the search by hand for the starting point had seen, by class as `cells`.
    """

    levels: Mapping[str, Mapping[str, Sequence[str]]]
    start: Point
    cells: Mapping[str, Sequence[str]]
    seen: Mapping[str, Sequence[str]]
    error: Mapping[str, float]
    passes: int
    runs: Sequence[str]

    @property
    def fitted(self) -> frozenset[tuple[str, str]]:
        """Class and marking of what is fitted."""
        return _pairs(self.cells)

    @property
    def in_sample(self) -> frozenset[tuple[str, str]]:
        """Class and marking of what is fitted or was seen before."""
        return self.fitted | _pairs(self.seen)

    def settings(self, point: Point) -> list[str]:
        """Give the overrides of the scenario at a point."""
        return [one for name, level in point.items() for one in self.levels[name][str(level)]]

    def off(self, printed: Cells, means: Means) -> dict[str, float]:
        """How far each cell lies from the printed one, in the printed one's standard errors."""
        return {
            f"{name} {c} {marking}": (value - at([printed], name, marking, c)) / self.error[name]
            for marking, found in means.items()
            for (name, c), value in found.items()
        }

    def rms(self, off: Mapping[str, float], fitted: bool = True) -> float:
        """Root mean square over the cells that are fitted, or over the others."""
        own = [
            value
            for cell, value in off.items()
            if ((cell.split()[0], cell.split()[2]) in self.fitted) == fitted
        ]
        return math.sqrt(sum(value * value for value in own) / len(own))


def load_fit(pack: Pack) -> Fit:
    """Read `calibration.toml` of the pack."""
    table = pack.toml("calibration.toml")
    factors = table["factor"]
    return Fit(
        {one["name"]: one["levels"] for one in factors},
        {one["name"]: one["start"] for one in factors},
        table["fit"],
        table["seen"],
        table["error"],
        table["search"]["passes"],
        [f"run.{name}={table['search'][name]}" for name in ("seed", "duration")],
    )


def calibrate(pack: Pack, run: CampaignRunner) -> dict[str, Any]:
    """Search, then run every marking at the point that was found, and the fitted ones under each reading."""
    fit, printed = load_fit(pack), printed_cells(pack)
    markings = sorted({marking for _, marking in fit.fitted})

    def errors(points: Sequence[Point]) -> list[float]:
        found = run_points(pack, run, fit, [fit.settings(point) for point in points], markings, "search")
        return [round(fit.rms(fit.off(printed, means)), 4) for means in found]

    found = search(fit.start, {name: list(levels) for name, levels in fit.levels.items()}, errors, fit.passes)
    best = found.best
    (everywhere,) = run_points(pack, run, fit, [fit.settings(best)], MARKINGS, "all markings")
    off = fit.off(printed, everywhere)
    source = campaign_of(pack).scenario.source
    # a reading that is a duration alone would be the point itself again: the duration is the fit's
    readings = [one for one in load_readings(pack) if not all(map(_of_runs, one.settings_of(source)))]
    under = run_points(
        pack,
        run,
        fit,
        [[*fit.settings(best), *reading.settings_of(source)] for reading in readings],
        markings,
        "readings",
    )
    return {
        "paper": pack.key,
        "command": f"perhop reproduce {pack.key} --calibrate",
        "unit": "standard errors of a printed cell",
        "fitted": {name: list(cells) for name, cells in fit.cells.items()},
        "chosen": best,
        "error": {"fitted": round(fit.rms(off), 3), "held out": round(fit.rms(off, fitted=False), 3)},
        "readings": {
            reading.id: round(fit.rms(fit.off(printed, means)), 3)
            for reading, means in zip(readings, under, strict=True)
        },
        "cells": {cell: round(value, 2) for cell, value in off.items()},
        "points": [{"parameters": point, "error": error} for point, error in found.tried],
    }


def run_points(
    pack: Pack,
    run: CampaignRunner,
    fit: Fit,
    points: Sequence[Sequence[str]],
    markings: Sequence[str],
    what: str,
) -> list[Means]:
    """Run markings at several points, once each, and give the throughput of a flow by cell."""
    campaign = campaign_of(pack)
    wanted = {("".join(one.levels[:3]), one.levels[3]): one for one in campaign.design.treatments}
    treatments = tuple(wanted[marking, EVERYWHERE] for marking in markings)
    one_each = replace(campaign, design=replace(campaign.design, treatments=treatments, replications=1))
    measured = run([short(one_each, [*settings, *fit.runs]) for settings in points], what) if points else []
    return [_means(one, markings) for one in measured]


def _means(measured: Measurements, markings: Sequence[str]) -> Means:
    return {
        marking: {
            (name, c): measured.mean(name, congestion=c, **dict(zip("PAB", marking, strict=True)))
            for name in CLASSES
            for c in CONGESTION
        }
        for marking in markings
    }


def _pairs(cells: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    return frozenset((name, marking) for name, markings in cells.items() for marking in markings)


def _of_runs(setting: str) -> bool:
    return setting.startswith("run.")
