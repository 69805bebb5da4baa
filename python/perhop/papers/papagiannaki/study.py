"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from dataclasses import replace

from perhop.papers.pack import load_pack
from perhop.papers.papagiannaki.calibrate import calibrate
from perhop.papers.papagiannaki.document import Reproduction, reduce
from perhop.papers.papagiannaki.page import TITLE, page_of
from perhop.papers.papagiannaki.plan import KEY, make_plan
from perhop.papers.study import Study, Summary, published_rows


def summary(outcome: Reproduction) -> Summary:
    """Return the numbers that the command prints: shares of variation and Table 8."""
    whole = published_rows(outcome)
    return replace(whole, rows=tuple(row for row in whole.rows if row[0] in ("3", "5", "8")))


STUDY = Study(
    KEY,
    TITLE,
    make_plan,
    reduce,
    page_of,
    summary,
    calibrate=lambda run: calibrate(load_pack(KEY), run),
)
