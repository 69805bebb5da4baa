"""What the paper leaves open, fitted in the open: a search over one parameter after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perhop.papers.fit import Cell, load_fit
from perhop.papers.measured import Measurements
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import EVERYWHERE, MARKINGS, by_cell, every_cell, printed_cells
from perhop.papers.papagiannaki.plan import campaign_of
from perhop.papers.plan import short
from perhop.papers.readings import load_readings
from perhop.papers.search import Point, search
from perhop.papers.study import CampaignRunner


def calibrate(pack: Pack, run: CampaignRunner) -> dict[str, Any]:
    """Search, then run every marking at the point that was found, and the fitted ones under each reading."""
    fit, printed, campaign = load_fit(pack), by_cell([printed_cells(pack)]), campaign_of(pack)
    fitted = sorted({marking for _, marking in fit.fitted})
    treatments = {one.levels: one for one in campaign.design.treatments}

    def off(points: Sequence[Sequence[str]], markings: Sequence[str], what: str) -> list[dict[Cell, float]]:
        """Run markings at several points, once each, and compare the throughput of a flow by cell."""
        wanted = tuple(treatments[(*marking, EVERYWHERE)] for marking in markings)
        one_each = replace(campaign, design=replace(campaign.design, treatments=wanted, replications=1))
        measured = (
            run([short(one_each, [*settings, *fit.runs]) for settings in points], what) if points else []
        )
        return [fit.off(printed, _means(one, markings)) for one in measured]

    def errors(points: Sequence[Point]) -> list[float]:
        return [round(fit.rms(one), 4) for one in off([fit.settings(at) for at in points], fitted, "search")]

    found = search(fit.start, {name: list(levels) for name, levels in fit.levels.items()}, errors, fit.passes)
    best = fit.settings(found.best)
    (everywhere,) = off([best], MARKINGS, "all markings")
    # a reading that is a duration alone would be the point itself again: the duration is the fit's
    readings = {one.id: one.settings_of(campaign.scenario.source) for one in load_readings(pack)}
    others = {
        id_: own for id_, own in readings.items() if not all(setting.startswith("run.") for setting in own)
    }
    under = off([[*best, *own] for own in others.values()], fitted, "readings")
    return {
        "paper": pack.key,
        "command": f"perhop reproduce {pack.key} --calibrate",
        "unit": "standard errors of a printed cell",
        "fitted": {name: list(cells) for name, cells in fit.cells.items()},
        "chosen": found.best,
        "error": {
            "fitted": round(fit.rms(everywhere), 3),
            "held out": round(fit.rms(everywhere, fitted=False), 3),
        },
        "readings": {id_: round(fit.rms(one), 3) for id_, one in zip(others, under, strict=True)},
        "cells": {" ".join(cell): round(value, 2) for cell, value in everywhere.items()},
        "points": [{"parameters": point, "error": error} for point, error in found.tried],
    }


def _means(measured: Measurements, markings: Sequence[str]) -> dict[Cell, float]:
    return {
        (name, c, marking): measured.mean(name, congestion=c, **dict(zip("PAB", marking, strict=True)))
        for name, c, marking in every_cell(markings)
    }
