"""The search for what the paper leaves open, one parameter at a time, and its record.

It fits the printed numbers of some tables and is held against the others; no claim and no verdict enters it.
`calibration.toml` says how, and what may be tried. The error of a number is |ln(ours / published)|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perhop.papers.feroz.calibration import Values, load_calibration
from perhop.papers.feroz.cases import Case
from perhop.papers.feroz.measure import means_of
from perhop.papers.feroz.plan import CaseRuns, Runs
from perhop.papers.fit import BASE, Point, Search, fit_record
from perhop.papers.plan import short
from perhop.papers.study import CampaignRunner

SECOND = "second fit"
"""Name of the search that may take values that are only swept."""

Means = Mapping[str, Mapping[str, float]]
"""Mean over the replications, by case id and quantity."""

Offset = Mapping[str, float]
"""Addend to both sides by quantity, so that a zero counts; 0 where it is not named."""


def calibrate(plan: Runs, run: CampaignRunner) -> dict[str, Any]:
    """Search the parameters, and compare the result with the tables that were not fitted.

    `run` keeps what is run: many points leave many cases as they are, for a bucket has no gains.
    """
    fit = load_calibration(plan.pack)
    made = CaseRuns(plan.pack, fit)
    cases = [replace(case, replications=fit.replications) for case in plan.cases if case.table != "extra"]
    fitted = [case for case in cases if case.table in fit.fit]
    # enough for a prediction, and the tables at 150 Mbit/s take long
    judged = [replace(case, replications=2) for case in cases]

    def means(own: Sequence[Case], points: Sequence[Values], label: str) -> list[Means]:
        at = {str(place): point for place, point in enumerate(points)}
        asked = [short(one, [f"run.seed={fit.seed}"]) for one in made.campaigns(own, at)]
        return [*means_of(own, len(points), run(asked, label))]

    def errors(points: Sequence[Point]) -> list[float]:
        label = f"{len(points)} readings of Tables {', '.join(fit.fit)}"
        return [error(fitted, one, fit.offset) for one in means(fitted, points, label)]

    fits, points = dict[str, Any](), list[dict[str, Any]]()
    for name in (BASE, SECOND):
        values = {
            one: own.searched if name == BASE else tuple(own.levels) for one, own in fit.parameters.items()
        }
        found, passes = Search(fit.before, errors, fit.least_gain), 1
        while found.go_through(values) and passes < fit.most_passes:
            passes += 1
        fits[name] = {**found.found(), "passes": passes}
        points += found.points(name)
    ends = means(judged, [fit.before, fits[BASE]["chosen"]], "before and after")
    return fit_record(
        plan.pack,
        fit.fit,
        fits,
        points,
        before=fit.before,
        replications=fit.replications,
        seed=fit.seed,
        least_gain=fit.least_gain,
        errors={
            when: table_errors(judged, one, fit.offset)
            for when, one in zip(("before", "after"), ends, strict=True)
        },
    )


def log_error(ours: float, published: float, offset: float = 0.0) -> float:
    """Return |ln((ours + offset) / (published + offset))|.

    >>> round(log_error(2.0, 1.0), 3), round(log_error(0.5, 1.0), 3)
    (0.693, 0.693)
    """
    if not ours + offset > 0:  # nor where there is no value
        return math.inf
    return abs(math.log((ours + offset) / (published + offset)))


def error(cases: Sequence[Case], means: Means, offset: Offset) -> float:
    """Return the mean error over the printed quantities of some cases."""
    terms = [
        log_error(means[case.id][quantity], value, offset.get(quantity, 0.0))
        for case in cases
        for quantity, value in case.published.items()
    ]
    return sum(terms) / len(terms)


def ratio_error(cases: Sequence[Case], means: Means, offset: Offset) -> float:
    """Return the mean error of ratios between markers: each row's first case over the others.

    For levels that can be compared with nothing, such as printed ones that exceed their links.
    """
    terms, firsts = [], dict[str, Case]()
    for case in cases:
        first = firsts.setdefault(case.row, case)
        for quantity, value in case.published.items() if case is not first else ():
            c = offset.get(quantity, 0.0)
            ours, theirs = (means[one.id][quantity] + c for one in (first, case))
            ratio = ours / theirs if theirs > 0 else math.inf
            terms.append(log_error(ratio, (first.published[quantity] + c) / (value + c)))
    return sum(terms) / len(terms)


def table_errors(cases: Sequence[Case], means: Means, offset: Offset) -> dict[str, dict[str, float]]:
    """Return the error of each table, and that of its ratios between markers."""
    kinds: dict[str, Callable[[Sequence[Case], Means, Offset], float]]
    kinds = {"levels": error, "ratios": ratio_error}
    return {
        table: {
            kind: round(of([one for one in cases if one.table == table], means, offset), 4)
            for kind, of in kinds.items()
        }
        for table in dict.fromkeys(one.table for one in cases)
    }
