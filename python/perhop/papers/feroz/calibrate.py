"""The search for what the paper leaves open, one parameter at a time, and its record.

It fits the printed numbers of some tables and is held against the others; no claim and no verdict enters it.
`calibration.toml` says how, and what may be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perhop.papers.feroz.calibration import Errors, Values, search_record
from perhop.papers.feroz.case import Case
from perhop.papers.feroz.log_error import Means, error, table_errors
from perhop.papers.feroz.measure import reader
from perhop.papers.feroz.plan import Runs, runs_of
from perhop.papers.plan import short
from perhop.papers.search import Point
from perhop.papers.study import CampaignRunner


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
        The record, as `perhop.papers.feroz.calibration.search_record` gives it.
    """
    made = runs_of(plan.pack)
    fit = made.fit
    cases = [replace(case, replications=fit.replications) for case in plan.cases if case.table != "extra"]
    fitted = [case for case in cases if case.table in fit.fit]

    def means(own: Sequence[Case], points: Sequence[Values], label: str) -> list[Means]:
        at = {str(place): point for place, point in enumerate(points)}
        asked = [short(one, [f"run.seed={fit.seed}"]) for one in made.campaigns(own, at)]
        return [*reader(own, fit).means(len(points), run(asked, label))]

    def errors(points: Sequence[Point]) -> list[float]:
        label = f"{len(points)} readings of Tables {', '.join(fit.fit)}"
        return [error(fitted, one, fit.offset) for one in means(fitted, points, label)]

    def at_ends(points: Sequence[Values]) -> list[Errors]:
        # enough for a prediction, and the tables at 150 Mbit/s take long
        judged = [replace(case, replications=2) for case in cases]
        found = means(judged, points, "before and after")
        return [table_errors(judged, one, fit.offset) for one in found]

    return search_record(plan.pack.key, fit, errors, at_ends)
