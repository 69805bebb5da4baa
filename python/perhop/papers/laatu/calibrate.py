"""The fit of what the paper leaves open: the values nearest to one part of its tables.

Every combination of `combinations.toml` is run with both ways of marking; the error on the numbers that are
not fitted stands beside the fit, which `calibration.toml` states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.papers.fit import BASE, fit_record
from perhop.papers.laatu.responses import MARKINGS, Case, published_values
from perhop.papers.pack import Pack

NEAREST = "nearest"
"""Name of the combination with the least error, be it against what the paper says."""


def relative_error(
    simulated: Mapping[str, float], published: Mapping[str, float], names: Sequence[str]
) -> float:
    """Return the root mean square of the relative distances from the printed numbers."""
    off = [(simulated[name] - published[name]) / published[name] for name in names]
    return math.sqrt(sum(one * one for one in off) / len(off))


def record(pack: Pack, tried: Campaign, cases: Mapping[tuple[str, ...], Case]) -> dict[str, Any]:
    """Return the record of the combinations, whose last factor is the marking."""
    table, published = pack.toml("calibration.toml"), published_values(pack)
    (*names, _), stated, predicted = tried.design.names, table["stated"], table["predict"]["quantities"]
    marking, fitted = table["fit"]["marking"], table["fit"]["quantities"]
    points = list[dict[str, Any]]()
    for levels in dict.fromkeys(levels[:-1] for levels in cases):
        found, errors = {}, {}
        for one in MARKINGS:
            found[one] = {name: cases[*levels, one].mean(name) for name in predicted}
            rest = [name for name in predicted if not (one == marking and name in fitted)]
            errors[one] = round(relative_error(found[one], published[one], rest), 4)
        points.append(
            {
                "fit": BASE,
                "levels": [int(level) if level.isdigit() else level for level in levels],
                "error": round(relative_error(found[marking], published[marking], fitted), 4),
                "held out": errors,
                "simulated": {
                    one: {name: round(value, 4) for name, value in own.items()} for one, own in found.items()
                },
            }
        )
    every = [(dict(zip(names, one["levels"], strict=True)), one) for one in points]
    every.sort(key=lambda one: one[1]["error"])
    admitted = [one for one in every if stated.items() <= one[0].items()]
    fits = {
        name: {"chosen": point, "error": one["error"], "held out": one["held out"]}
        for name, (point, one) in ((BASE, admitted[0]), (NEAREST, every[0]))
    }
    return fit_record(
        pack,
        fitted,
        fits,
        points,
        marking=marking,
        independent=table["fit"]["independent"],
        free=len(names) - len(stated),
        predicted=predicted,
        replications=tried.design.replications,
        stated=stated,
    )
