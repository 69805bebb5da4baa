"""The search for what the paper leaves open, one parameter at a time, and its record.

It fits the printed numbers of some tables and is held against the others; no claim and no verdict enters it.
`calibration.toml` says how, and what may be tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perhop.papers.feroz.case import Calibration, Case, Values, load_calibration
from perhop.papers.feroz.measure import measure
from perhop.papers.feroz.plan import Runs, campaigns
from perhop.papers.plan import short
from perhop.papers.search import Point, Searched, search
from perhop.papers.study import CampaignRunner

OFFSETS = {"timeouts": 1.0, "losses_per_s": 0.01, "goodput": 0.0, "cov": 0.0, "obtained": 0.0}
"""Added to both sides before logarithms are taken, so that a zero counts as something."""

Means = Mapping[str, Mapping[str, float]]
"""Per case id and quantity, the mean over the replications."""


def log_error(ours: float, published: float, offset: float = 0.0) -> float:
    """Give |ln((ours + offset) / (published + offset))|.

    >>> round(log_error(2.0, 1.0), 3), round(log_error(0.5, 1.0), 3)
    (0.693, 0.693)
    """
    if not ours + offset > 0:  # nor where there is no value
        return math.inf
    return abs(math.log((ours + offset) / (published + offset)))


def error(cases: Sequence[Case], means: Means) -> float:
    """Give the mean error over the printed quantities of some cases."""
    terms = [
        log_error(means[case.id][quantity], value, OFFSETS[quantity])
        for case in cases
        for quantity, value in case.published.items()
    ]
    return sum(terms) / len(terms)


def ratio_error(cases: Sequence[Case], means: Means) -> float:
    """Give the mean error of the ratios between markers: the first case of each row over the others.

    The levels of Tables 2 and 3 exceed their links and can be compared with nothing.
    """
    terms, firsts = [], dict[str, Case]()
    for case in cases:
        first = firsts.setdefault(case.row, case)
        for quantity, value in case.published.items() if case is not first else ():
            c = OFFSETS[quantity]
            ours, theirs = (means[one.id][quantity] + c for one in (first, case))
            ratio = ours / theirs if theirs > 0 else math.inf
            terms.append(log_error(ratio, (first.published[quantity] + c) / (value + c)))
    return sum(terms) / len(terms)


def table_errors(cases: Sequence[Case], means: Means) -> dict[str, dict[str, float]]:
    """Give for each table its error and that of the ratios between markers."""
    tables = {
        table: [one for one in cases if one.table == table]
        for table in dict.fromkeys(one.table for one in cases)
    }
    return {
        table: {"levels": round(error(own, means), 4), "ratios": round(ratio_error(own, means), 4)}
        for table, own in tables.items()
    }


def calibrate(plan: Runs, run: CampaignRunner) -> dict[str, Any]:
    """Search, and hold the result against the tables that were not fitted.

    Parameters
    ----------
    plan
        The full plan.
    run
        Runs campaigns in one store: many points leave many cases as they are, for a bucket has no gains.

    Returns
    -------
    dict
        The record: how it was searched, every step, the readings before and after, the errors of both.
    """
    fit = load_calibration(plan.pack)
    cases = [replace(case, replications=fit.replications) for case in plan.cases if case.table != "extra"]
    fitted = [case for case in cases if case.table in fit.fit]

    def errors(points: Sequence[Point]) -> list[float]:
        label = f"{len(points)} readings of Tables {', '.join(fit.fit)}"
        return [error(fitted, one) for one in means(plan, fit, fitted, points, run, label)]

    before = {one.name: one.before for one in fit.parameters}

    def searched(swept_too: bool) -> Searched:
        values = {one.name: one.values if swept_too else one.searched for one in fit.parameters if one.search}
        return search(before, values, errors, fit.most_passes, fit.least_gain)

    found, other = searched(False), searched(True)
    # enough for a prediction, and the tables at 150 Mbit/s take long
    judged = [replace(case, replications=2) for case in cases]
    at_ends = means(plan, fit, judged, [before, found.best], run, "before and after")
    return {
        "paper": plan.pack.key,
        "command": f"perhop reproduce {plan.pack.key} --calibrate",
        "fit": list(fit.fit),
        "replications": fit.replications,
        "seed": fit.seed,
        "least_gain": fit.least_gain,
        "before": before,
        "after": found.best,
        "error": round(found.error, 4),
        "steps": found.steps,
        "other": {"after": other.best, "error": round(other.error, 4), "steps": other.steps},
        "errors": {
            when: table_errors(judged, one) for when, one in zip(("before", "after"), at_ends, strict=True)
        },
    }


def means(
    plan: Runs,
    fit: Calibration,
    cases: Sequence[Case],
    points: Sequence[Values],
    run: CampaignRunner,
    label: str,
) -> Sequence[Means]:
    """Run cases at several points and give the mean of each quantity at each."""
    at = {str(place): point for place, point in enumerate(points)}
    asked = [short(one, [f"run.seed={fit.seed}"]) for one in campaigns(plan.pack, fit, cases, at)]
    found = [dict[str, dict[str, float]]() for _ in points]
    for measured in run(asked, label):
        for place, own in enumerate(found):
            m = measure(cases, str(place), measured, {}, fit.fit)
            own |= {
                id_: {name: float(one.mean()) for name, one in of.items()} for id_, of in m.values.items()
            }
    return found
