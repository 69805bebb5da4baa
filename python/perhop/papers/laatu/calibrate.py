"""What the paper leaves open, fitted in the open: which values come nearest to one part of its tables.

Every combination of `combinations.toml` is run with both ways of marking; the error on the numbers that are
not fitted stands beside the fit, which `calibration.toml` states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.papers.laatu.responses import MARKINGS, Case, published_values
from perhop.papers.pack import Pack


def relative_error(
    simulated: Mapping[str, float], published: Mapping[str, float], names: Sequence[str]
) -> float:
    """Root of the mean square of the relative distances from the printed numbers."""
    off = [(simulated[name] - published[name]) / published[name] for name in names]
    return math.sqrt(sum(one * one for one in off) / len(off))


def record(pack: Pack, tried: Campaign, cases: Mapping[tuple[str, ...], Case]) -> dict[str, Any]:
    """Give what is recorded of combinations, whose last factor is the marking, the nearest first named."""
    table, published = pack.toml("calibration.toml"), published_values(pack)
    (*names, _), stated, predicted = tried.design.names, table["stated"], table["predict"]["quantities"]
    marking, fitted = table["fit"]["marking"], table["fit"]["quantities"]
    points: list[dict[str, Any]] = []
    for levels in dict.fromkeys(levels[:-1] for levels in cases):
        found, errors = {}, {}
        for one in MARKINGS:
            found[one] = {name: cases[*levels, one].mean(name) for name in predicted}
            rest = [name for name in predicted if not (one == marking and name in fitted)]
            errors[one] = round(relative_error(found[one], published[one], rest), 4)
        values = [int(level) if level.isdigit() else level for level in levels]
        points.append(
            {
                "parameters": dict(zip(names, values, strict=True)),
                "fit_error": round(relative_error(found[marking], published[marking], fitted), 4),
                "prediction_error": errors,
                "simulated": {
                    one: {name: round(value, 4) for name, value in own.items()} for one, own in found.items()
                },
            }
        )
    nearest = sorted(points, key=lambda one: one["fit_error"])
    return {
        "paper": pack.key,
        "command": f"perhop reproduce {pack.key} --calibrate",
        "fitted": {**table["fit"], "free": len(names) - len(stated)},
        "predicted": predicted,
        "replications": tried.design.replications,
        "stated": stated,
        "chosen": next(one for one in nearest if stated.items() <= one["parameters"].items()),
        "nearest": nearest[0],
        "points": points,
    }
