"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perhop.papers.feroz.calibrate import calibrate
from perhop.papers.feroz.document import Reproduction, reduce
from perhop.papers.feroz.measure import whole_runs
from perhop.papers.feroz.page import page_of
from perhop.papers.feroz.plan import Runs, make_plan
from perhop.papers.plan import Results
from perhop.papers.study import CampaignRunner, Study


class Feroz(Study[Runs, Reproduction]):
    """A TCP-friendly traffic marker."""

    key = "feroz"
    title = "A TCP-friendly traffic marker: the study of Feroz, Kalyanaraman and Rao, again"

    def plan(self, quick: bool) -> Runs:
        """List the runs of the tables and of the sweeps."""
        return make_plan(quick)

    def reduce(self, plan: Runs, results: Results, command: str, results_version: int) -> Reproduction:
        """Turn what was measured into rows and verdicts."""
        return reduce(plan, results, command, results_version)

    def page(self, plan: Runs, outcome: Reproduction) -> str:
        """Return the page."""
        return page_of(self.title, plan, outcome)

    def whole(self, plan: Runs, results: Results) -> Mapping[str, Mapping[str, float]]:
        """Reduce the traced runs."""
        return whole_runs(plan.cases, results.drawn)

    def calibrate(self, run: CampaignRunner) -> dict[str, Any]:
        """Search what the paper leaves open again."""
        return calibrate(make_plan(), run)


STUDY = Feroz()
