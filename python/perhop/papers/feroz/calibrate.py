"""The search for what the paper leaves open, one parameter at a time, and its record.

It fits the printed numbers of some tables and is held against the others; no claim and no verdict enters it.
`calibration.toml` says how, and what may be tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perhop.papers.feroz.measure import Numbers, quantities
from perhop.papers.feroz.plan import Case, Plan
from perhop.papers.feroz.readings import Parameter, Readings, Value

OFFSETS = {"timeouts": 1.0, "losses_per_s": 0.01, "goodput": 0.0, "cov": 0.0, "obtained": 0.0}
"""Added to both sides before logarithms are taken, so that a zero counts as something."""

Means = Mapping[str, Mapping[str, float]]
"""Per case id and quantity, the mean over the replications."""

Run = Callable[[Sequence[tuple[Case, Readings]], str], list[dict[str, float]]]
"""Runs cases under readings; gives the mean of each quantity."""


def log_error(ours: float, published: float, offset: float = 0.0) -> float:
    """Give |ln((ours + offset) / (published + offset))|.

    >>> round(log_error(2.0, 1.0), 3), round(log_error(0.5, 1.0), 3)
    (0.693, 0.693)
    """
    if not ours + offset > 0:  # nor where there is no value
        return math.inf
    return abs(math.log((ours + offset) / (published + offset)))


def error(cases: Sequence[Case], means: Sequence[Mapping[str, float]]) -> float:
    """Give the mean error over the printed quantities of some cases."""
    terms = [
        log_error(found[quantity], value, OFFSETS[quantity])
        for case, found in zip(cases, means, strict=True)
        for quantity, value in case.published.items()
    ]
    return sum(terms) / len(terms)


def ratio_error(cases: Sequence[Case], means: Sequence[Mapping[str, float]]) -> float:
    """Give the mean error of the ratios between markers: the first case of each figure over the others.

    The levels of Tables 2 and 3 exceed their links and can be compared with nothing.
    """
    by_row: dict[str, list[tuple[Case, Mapping[str, float]]]] = {}
    for case, found in zip(cases, means, strict=True):
        by_row.setdefault(case.row, []).append((case, found))
    terms = []
    for (first, ours), *others in by_row.values():
        for case, theirs in others:
            for quantity, value in case.published.items():
                c = OFFSETS[quantity]
                measured = (
                    (ours[quantity] + c) / (theirs[quantity] + c) if theirs[quantity] + c > 0 else math.inf
                )
                terms.append(log_error(measured, (first.published[quantity] + c) / (value + c)))
    return sum(terms) / len(terms)


def search(
    parameters: Sequence[Parameter],
    measure: Callable[[list[dict[str, Value]]], list[float]],
    passes: int,
    least_gain: float,
) -> tuple[dict[str, Value], float, list[dict[str, Any]]]:
    """Go through the parameters, again and again, and take the best value of each, where it gains enough.

    Parameters
    ----------
    parameters
        What is searched has `search`; the others stay as they are before.
    measure
        Gives the error of each of several readings.
    passes
        At most.
    least_gain
        By this part the error must fall: less may be the luck of a few replications.

    Returns
    -------
    tuple
        The readings, their error, and a record of every step: parameter, errors by value, what was taken.
    """
    here: dict[str, Value] = {parameter.name: parameter.before for parameter in parameters}
    known: dict[tuple[Value, ...], float] = {}
    steps: list[dict[str, Any]] = []
    for number in range(1, passes + 1):
        before = dict(here)
        for parameter in (each for each in parameters if each.search):
            values = parameter.searched
            points = [{**here, parameter.name: value} for value in values]
            new = [point for point in points if tuple(point.values()) not in known]
            for point, found in zip(new, measure(new) if new else [], strict=True):
                known[tuple(point.values())] = found
            errors = [known[tuple(point.values())] for point in points]
            stays = errors[values.index(here[parameter.name])]
            best = min(errors)
            if best < (1 - least_gain) * stays:
                here[parameter.name] = values[errors.index(best)]
            steps.append(
                {
                    "pass": number,
                    "parameter": parameter.name,
                    "errors": [[value, round(found, 4)] for value, found in zip(values, errors, strict=True)],
                    "taken": here[parameter.name],
                }
            )
        if here == before:
            break
    return here, known[tuple(here.values())], steps


def calibrate(plan: Plan, run: Run) -> dict[str, Any]:
    """Search, and hold the result against the tables that were not fitted.

    Parameters
    ----------
    plan
        The full plan; its cases, parameters and search are used.
    run
        Runs cases under readings, with the replications and the seed of the search.

    Returns
    -------
    dict
        The record: how it was searched, every step, the readings before and after, the errors of both.
    """
    cases = [
        replace(case, replications=plan.search.replications) for case in plan.cases if case.table != "extra"
    ]
    fitted = [case for case in cases if case.table in plan.search.fit]

    def measure(points: list[dict[str, Value]]) -> list[float]:
        wanted = [(case, point) for point in points for case in fitted]
        label = f"{len(points)} readings of Tables {', '.join(plan.search.fit)}"
        found = run(wanted, label)
        size = len(fitted)
        return [error(fitted, found[k * size : (k + 1) * size]) for k in range(len(points))]

    before: dict[str, Value] = {parameter.name: parameter.before for parameter in plan.parameters}
    passes, least_gain = plan.search.most_passes, plan.search.least_gain
    after, fitted_error, steps = search(plan.parameters, measure, passes, least_gain)
    unbounded = [replace(parameter, only_swept=()) for parameter in plan.parameters]
    other, other_error, other_steps = search(unbounded, measure, passes, least_gain)
    # enough for a prediction, and the tables at 150 Mbit/s take long
    judged = [replace(case, replications=2) for case in cases]
    return {
        "paper": plan.pack.key,
        "command": f"perhop reproduce {plan.pack.key} --calibrate",
        "fit": list(plan.search.fit),
        "replications": plan.search.replications,
        "seed": plan.search.seed,
        "least_gain": least_gain,
        "before": before,
        "after": after,
        "error": round(fitted_error, 4),
        "steps": steps,
        "other": {"after": other, "error": round(other_error, 4), "steps": other_steps},
        "errors": {
            "before": table_errors(judged, run([(case, before) for case in judged], "before")),
            "after": table_errors(judged, run([(case, after) for case in judged], "after")),
        },
    }


def table_errors(cases: Sequence[Case], means: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Give for each table its error, and for Tables 1 to 5 that of the ratios between markers."""
    found: dict[str, dict[str, float]] = {}
    for table in dict.fromkeys(case.table for case in cases):
        own = [(case, mean) for case, mean in zip(cases, means, strict=True) if case.table == table]
        inside, values = [case for case, _ in own], [mean for _, mean in own]
        found[table] = {
            "levels": round(error(inside, values), 4),
            "ratios": round(ratio_error(inside, values), 4),
        }
    return found


def mean_quantities(case: Case, runs: Sequence[Numbers]) -> dict[str, float]:
    """Give the mean of each quantity over the replications of a case."""
    each = [quantities(case, run) for run in runs]
    return {name: sum(one[name] for one in each) / len(each) for name in each[0]}
