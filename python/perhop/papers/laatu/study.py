"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perhop.papers.laatu.document import Reproduction, reduce
from perhop.papers.laatu.measure import Run, read
from perhop.papers.laatu.plan import DURATION_S, WARMUP_S, Plan, make_plan
from perhop.papers.study import ListedStudy, Runner, check_run
from perhop.run import AnyJob, Result


class Laatu(ListedStudy[Plan, Reproduction]):
    """Per-flow against aggregate marking of TCP flows."""

    key = "laatu"
    title = "A marker for each flow, or one for all: the study of Laatu, Harju and Loula, again"

    def plan(self, quick: bool) -> Plan:
        """List the runs."""
        return make_plan(quick)

    def keep(self, job: AnyJob, result: Result) -> Run:
        """Keep what each flow got."""
        check_run(job, result)
        return read(result, measured_s(job[2]))

    def reduce(self, plan: Plan, kept: Sequence[Any], command: str, results_version: int) -> Reproduction:
        """Turn the runs into rows and verdicts."""
        return reduce(plan, kept, command, results_version)

    def page(self, plan: Plan, outcome: Reproduction) -> str:
        """Return the page: claims, tables, figures, other meters, sweeps."""
        from perhop.report.marking import render_marking

        return render_marking(plan, outcome, self.title)

    def calibrate(self, run: Runner) -> dict[str, Any]:
        """Run every combination of what the paper leaves open."""
        from perhop.papers.laatu.calibration import calibrate

        return calibrate(run)


def measured_s(overrides: Sequence[str]) -> float:
    """Time after the warm-up of a run with these overrides."""
    duration = DURATION_S
    for one in overrides:
        if one.startswith("run.duration="):
            duration = float(one.removeprefix("run.duration=").removesuffix("s"))
    return duration - WARMUP_S


STUDY = Laatu()
