"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from perhop.papers.feroz.calibrate import calibrate
from perhop.papers.feroz.document import reduce
from perhop.papers.feroz.measure import whole_runs
from perhop.papers.feroz.page import TITLE, page_of
from perhop.papers.feroz.plan import make_plan
from perhop.papers.study import Study

STUDY = Study(
    "feroz",
    TITLE,
    make_plan,
    reduce,
    page_of,
    whole=lambda plan, results: whole_runs(plan.cases, results.drawn),
    calibrate=lambda run: calibrate(make_plan(), run),
)
