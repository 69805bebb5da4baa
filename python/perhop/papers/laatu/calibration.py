"""What the paper leaves open, fitted in the open: which values come nearest to one part of its tables.

`calibration.toml` names the free parameters, their values, and the printed numbers that are fitted. Every
combination is run both ways of marking; the error on the numbers that are not fitted stands beside the fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from perhop.papers.laatu.measure import Run, run_quantities
from perhop.papers.laatu.plan import DURATION_S, Plan, job, make_plan
from perhop.papers.laatu.setup import MARKINGS, Marking, Setup
from perhop.papers.pack import Pack
from perhop.papers.study import Runner


@dataclass(frozen=True)
class Calibration:
    """A fit, as `calibration.toml` states it.

    Attributes
    ----------
    parameters
        Values of each free parameter, a field of `Setup`.
    marking
        The way of marking whose numbers are fitted.
    fitted, predicted
        Quantities of that marking that are fitted; quantities that are compared for either marking.
    independent
        How many of the fitted quantities do not follow from the others: the degrees of freedom.
    stated
        What the paper does say: only combinations with these values can be chosen.
    replications
        Runs of each combination and marking.
    """

    parameters: dict[str, tuple[Any, ...]]
    marking: Marking
    fitted: tuple[str, ...]
    predicted: tuple[str, ...]
    independent: int
    stated: dict[str, Any]
    replications: int

    def points(self) -> list[dict[str, Any]]:
        """List every combination once, the last parameter fastest; those with the same set-up are one."""
        found: dict[Setup, dict[str, Any]] = {}
        for values in product(*self.parameters.values()):
            point = dict(zip(self.parameters, values, strict=True))
            found.setdefault(setup_at(point, self.marking), point)
        return list(found.values())

    def admits(self, point: Mapping[str, Any]) -> bool:
        """Whether a combination is what the paper says where it says something."""
        return all(point[name] == value for name, value in self.stated.items())


def load_calibration(pack: Pack) -> Calibration:
    """Read `calibration.toml` of the pack."""
    table = pack.toml("calibration.toml")
    return Calibration(
        {one["name"]: tuple(one["values"]) for one in table["parameter"]},
        table["fit"]["marking"],
        tuple(table["fit"]["quantities"]),
        tuple(table["predict"]["quantities"]),
        table["fit"]["independent"],
        table["stated"],
        table["fit"]["replications"],
    )


def setup_at(point: Mapping[str, Any], marking: Marking) -> Setup:
    """Give the set-up of a combination; `rtt_ms` is of the measured flows."""
    changed = dict(point)
    if "rtt_ms" in changed:
        rtt = float(changed.pop("rtt_ms"))
        changed["rtts_ms"] = (rtt,)
    if changed.get("background") == "constant":
        changed.pop("background_rtt_ms", None)
    elif "background_rtt_ms" in changed:
        changed["background_rtt_ms"] = float(changed["background_rtt_ms"])
    return replace(Setup(marking), **changed)


def relative_error(
    simulated: Mapping[str, float], published: Mapping[str, float], names: Sequence[str]
) -> float:
    """Root of the mean square of the relative distances from the printed numbers."""
    return math.sqrt(
        sum(((simulated[name] - published[name]) / published[name]) ** 2 for name in names) / len(names)
    )


def calibrate(run: Runner) -> dict[str, Any]:
    """Run every combination and return the record: each with its errors, the nearest first named."""
    plan = make_plan()
    stated = load_calibration(plan.pack)
    points = stated.points()
    jobs = [
        job(plan.pack, setup_at(point, marking), "calibration", k, 1, DURATION_S)
        for point in points
        for marking in MARKINGS
        for k in range(stated.replications)
    ]
    kept = run(jobs, f"calibration of laatu, {len(jobs)} runs")
    n = stated.replications
    tried = []
    for place, point in enumerate(points):
        means = {
            marking: means_of(kept[(2 * place + side) * n : (2 * place + side + 1) * n])
            for side, marking in enumerate(MARKINGS)
        }
        tried.append(point_record(plan, stated, point, means))
    nearest = sorted(tried, key=lambda one: float(one["fit_error"]))
    return {
        "paper": plan.pack.key,
        "command": "perhop reproduce laatu --calibrate",
        "fitted": {
            "marking": stated.marking,
            "quantities": list(stated.fitted),
            "independent": stated.independent,
            "free": len(stated.parameters) - len(stated.stated),
        },
        "predicted": list(stated.predicted),
        "replications": n,
        "stated": stated.stated,
        "chosen": next(one for one in nearest if stated.admits(one["parameters"])),
        "nearest": nearest[0],
        "points": tried,
    }


def means_of(runs: Sequence[Run]) -> dict[str, float]:
    """Average the quantities of some runs."""
    each = [run_quantities(run) for run in runs]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def point_record(
    plan: Plan, stated: Calibration, point: dict[str, Any], means: Mapping[Marking, Mapping[str, float]]
) -> dict[str, Any]:
    """Give one combination's errors, on what is fitted and on the rest, and what was simulated."""
    shown = tuple(dict.fromkeys((*stated.fitted, *stated.predicted)))
    errors: dict[str, float] = {}
    for marking in MARKINGS:
        rest = [
            name for name in stated.predicted if not (marking == stated.marking and name in stated.fitted)
        ]
        errors[marking] = round(relative_error(means[marking], plan.published[marking], rest), 4)
    own = plan.published[stated.marking]
    return {
        "parameters": point,
        "fit_error": round(relative_error(means[stated.marking], own, stated.fitted), 4),
        "prediction_error": errors,
        "simulated": {
            marking: {name: round(means[marking][name], 4) for name in shown} for marking in MARKINGS
        },
    }
