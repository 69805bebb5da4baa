"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from typing import Any

from perhop.papers.pack import load_pack
from perhop.papers.papagiannaki.calibrate import calibrate
from perhop.papers.papagiannaki.document import Reproduction, reduce
from perhop.papers.papagiannaki.page import page_of
from perhop.papers.papagiannaki.plan import KEY, make_plan
from perhop.papers.plan import Plan, Results
from perhop.papers.study import CampaignRunner, Study, Summary


class Papagiannaki(Study[Plan, Reproduction]):
    """Which mark acknowledgments should carry."""

    key = KEY
    title = "Which mark should acknowledgments carry? The study of Papagiannaki and others, again"

    def plan(self, quick: bool) -> Plan:
        """List the campaigns."""
        return make_plan(quick)

    def reduce(self, plan: Plan, results: Results, command: str, results_version: int) -> Reproduction:
        """Turn what the campaigns measured into rows and verdicts."""
        return reduce(plan, results, command, results_version)

    def page(self, plan: Plan, outcome: Reproduction) -> str:
        """Return the page: claims, tables, models, figures, strategies, what the paper's tables refute."""
        return page_of(plan, outcome, self.title)

    def summary(self, outcome: Reproduction) -> Summary:
        """Return the numbers that the command prints: shares of variation and Table 8."""
        whole = super().summary(outcome)
        return Summary(
            whole.title, whole.columns, tuple(row for row in whole.rows if row[0] in ("3", "5", "8"))
        )

    def calibrate(self, run: CampaignRunner) -> dict[str, Any]:
        """Search what the paper does not give."""
        return calibrate(load_pack(KEY), run)


STUDY = Papagiannaki()
