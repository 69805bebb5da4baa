"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.experiment.response import Response
from perhop.papers.pack import load_pack
from perhop.papers.papagiannaki.cells import CLASSES
from perhop.papers.papagiannaki.document import Reproduction, reduce
from perhop.papers.papagiannaki.plan import KEY, Plan, campaign_of, make_plan
from perhop.papers.study import Runner, Study, Summary, check_run
from perhop.run import AnyJob, Result


class Papagiannaki(Study[Plan, Reproduction]):
    """Which mark acknowledgments should carry."""

    key = KEY
    title = "Which mark should acknowledgments carry? The study of Papagiannaki and others, again"

    def plan(self, quick: bool) -> Plan:
        """List the campaigns."""
        return make_plan(quick)

    def at_fit(self, plan: Plan) -> Plan:
        """Leave out the readings, which take most of the time."""
        told = "the readings of what the paper leaves open: a verdict is that of the fitted point alone"
        return replace(plan, campaigns=plan.campaigns[:1], readings=(), left_out=(*plan.left_out, told))

    def campaigns(self, plan: Plan) -> Sequence[Campaign]:
        """Run the fitted point and every reading in one store."""
        return plan.campaigns

    def keep(self, job: AnyJob, result: Result) -> dict[tuple[str, str], float]:
        """Keep what a flow of each class got at each congestion, for the calibration."""
        check_run(job, result)
        return {
            (response.name, c): float(value or 0.0)
            for response in _responses()
            for (c,), value in response.evaluate(result).items()
        }

    def reduce(self, plan: Plan, kept: Sequence[Any], command: str, results_version: int) -> Reproduction:
        """Turn what the campaigns measured into rows and verdicts."""
        return reduce(plan, kept, command, results_version)

    def page(self, plan: Plan, outcome: Reproduction) -> str:
        """Return the page: claims, tables, models, figures, strategies, what the paper's tables refute."""
        from perhop.report.acks import render_acks

        return render_acks(plan, outcome, self.title)

    def summary(self, outcome: Reproduction) -> Summary:
        """Return the numbers that the command prints: shares of variation and Table 8."""
        whole = super().summary(outcome)
        return Summary(
            whole.title, whole.columns, tuple(row for row in whole.rows if row[0] in ("3", "5", "8"))
        )

    def calibrate(self, run: Runner) -> dict[str, Any]:
        """Search what the paper does not give."""
        from perhop.papers.papagiannaki.calibrate import calibrate

        return calibrate(load_pack(KEY), run)


@cache
def _responses() -> tuple[Response, ...]:
    return tuple(one for one in campaign_of(load_pack(KEY)).responses if one.name in CLASSES)


STUDY = Papagiannaki()
